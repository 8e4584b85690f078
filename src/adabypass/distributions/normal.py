"""Gaussian forecasts."""

from math import inf, isfinite, pi
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from adabypass.distributions.base import Distribution
from adabypass.distributions.protocol import Number, check_level, check_probability, check_values, plain
from adabypass.distributions.record import Moments
from adabypass.errors import ParameterError, ShapeError
from adabypass.numerics.limits import LARGEST
from adabypass.validation import Floats, check_array, check_rng, check_size

SQRT_2PI = (2.0 * pi) ** 0.5
SQRT_PI = pi**0.5


class Normal(Distribution, Moments):
    """A Gaussian forecast.

    Parameters
    ----------
    mean, var
        Finite numbers, or arrays (n,) of them, var above 0. A forecast about which nothing is known has mean nan and
        var inf.

    Examples
    --------
    >>> p = Normal(mean=2.0, var=0.25)
    >>> p.sd
    0.5
    >>> low, high = p.interval(0.9)
    >>> round(low, 3), round(high, 3)
    (1.178, 2.822)
    """

    __slots__ = ()

    def __init__(self, mean: Number, var: Number) -> None:
        if not (isinstance(mean, float) and isinstance(var, float) and 0.0 < var < inf and isfinite(mean)):
            mean, var = _check_moments(mean, var)
        self._fill(mean, var)

    def __reduce__(self) -> Any:
        return type(self), (self.mean, self.var)

    def __getitem__(self, chosen: Any) -> "Normal":
        """Choose among many forecasts, as an array would."""
        return Normal(self.mean[chosen], self.var[chosen])

    @property
    def median(self) -> Any:
        """The value that is exceeded with probability one half: the mean."""
        return self.mean

    def __repr__(self) -> str:
        if np.ndim(self.mean):
            return f"Normal({len(self.mean)} forecasts)"
        return f"Normal(mean={self.mean:.6g}, sd={self.sd:.6g})"

    def _standardise(self, y: Number) -> Any:
        values = check_values(y, np.shape(self.mean))
        with np.errstate(over="ignore"):
            return np.clip((values - self.mean) / self.sd, -LARGEST, LARGEST)

    def logpdf(self, y: Number) -> Any:
        """Return the log density at `y`: the log score. It is never below -1e300."""
        z = self._standardise(y)
        with np.errstate(over="ignore"):
            return plain(np.maximum(-0.5 * z * z - np.log(self.sd * SQRT_2PI), -LARGEST))

    def cdf(self, y: Number) -> Any:
        """Return the probability of a value up to `y`."""
        return plain(ndtr(self._standardise(y)))

    def sf(self, y: Number) -> Any:
        """Return the probability of a value above `y`."""
        return plain(ndtr(-self._standardise(y)))

    def logcdf(self, y: Number) -> Any:
        """Return the log probability of a value up to `y`."""
        return plain(np.maximum(log_ndtr(self._standardise(y)), -LARGEST))

    def quantile(self, q: ArrayLike) -> Any:
        """Return the value that is exceeded with probability 1 - q: see `Predictive`."""
        deviate = ndtri(check_probability(q))
        with np.errstate(invalid="ignore"):  # where nothing is known
            return plain(self.mean + self.sd * (deviate[..., None] if np.ndim(self.mean) else deviate))

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that holds the observation with probability `level`."""
        reach = self.sd * float(ndtri(0.5 + check_level(level) / 2))
        return self.mean - reach, self.mean + reach

    def crps(self, y: Number) -> Any:
        """Return the continuous ranked probability score at `y`: smaller is better, in the units of y."""
        z = self._standardise(y)
        with np.errstate(over="ignore"):
            density = np.exp(-0.5 * z * z) / SQRT_2PI
            return plain(np.minimum(self.sd * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / SQRT_PI), LARGEST))

    def entropy(self) -> Any:
        """Return the expected negative log density: the negative log score that the forecast expects of itself."""
        return plain(np.where(self.is_known, 0.5 + np.log(self.sd * SQRT_2PI), np.nan))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values: `size` of a single forecast, or of many, `size` rows of one value each."""
        many = np.shape(self.mean)
        shape = None if size is None else (*check_size(size, *many), *many)
        return check_rng(rng).normal(self.mean, self.sd, shape)


def _check_moments(mean: Any, var: Any) -> tuple[Any, Any]:
    """Check means and variances that are not two plain floats."""
    means, variances = check_array(mean, "mean"), check_array(var, "var")
    shape = np.shape(mean)
    if np.shape(var) != shape or len(shape) > 1:
        raise ShapeError(
            f"mean has shape {shape} and var {np.shape(var)}, but both must be numbers, or arrays of one shape (n,)."
        )
    is_unknown = np.isnan(means) & (variances == inf)
    wrong = np.flatnonzero(~(is_unknown | (np.isfinite(means) & (variances > 0) & (variances < inf))))
    if len(wrong):
        at = int(wrong[0])
        found = f"mean is {means.flat[at]} and var {variances.flat[at]}" + (f" in forecast {at}" if shape else "")
        raise ParameterError(
            f"{found}, but a normal distribution has a finite mean and a variance above 0 (mean nan and var inf where "
            "nothing is known)."
        )
    return (means, variances) if shape else (float(means.flat[0]), float(variances.flat[0]))
