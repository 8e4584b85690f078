"""Forecasts by Student's t distribution: what is known of a Gaussian quantity whose variance was learned from data."""

from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, betaln, psi, stdtr, stdtrit

from adabypass.distributions.base import Distribution
from adabypass.distributions.protocol import Number, check_level, check_probability, check_values, plain
from adabypass.distributions.record import Moments
from adabypass.errors import ParameterError, ShapeError
from adabypass.numerics.limits import LARGEST
from adabypass.validation import Floats, check_array, check_rng, check_size

FAR_TAIL = 1e-12
"""Probability beyond which a quantile is computed from the tail alone."""
LARGEST_SCALE = 1e149
"""Above it the variance would exceed 1e300."""


class StudentT(Distribution, Moments):
    """A forecast by Student's t distribution.

    Parameters
    ----------
    mean, scale, dof
        Numbers, or arrays (n,) of them: a finite mean, a scale above 0 (no more than 1e149) and degrees of freedom
        above 2, so that there is a variance. A forecast about which nothing is known has mean nan and scale inf.

    Examples
    --------
    >>> p = StudentT(mean=2.0, scale=1.0, dof=4.0)
    >>> p.var
    2.0
    >>> low, high = p.interval(0.9)
    >>> round(low, 3), round(high, 3)
    (-0.132, 4.132)
    """

    __slots__ = ("dof", "scale")

    scale: Any
    dof: Any

    def __init__(self, mean: Number, scale: Number, dof: Number) -> None:
        is_plain = isinstance(mean, float) and isinstance(scale, float) and isinstance(dof, float)
        if not (is_plain and isfinite(mean) and 0.0 < scale <= LARGEST_SCALE and 2.0 < dof < inf):
            mean, scale, dof = _check_parameters(mean, scale, dof)
        self.scale, self.dof = scale, dof
        self._fill(mean, scale * scale * (dof / (dof - 2.0)))

    def __reduce__(self) -> Any:
        return type(self), (self.mean, self.scale, self.dof)

    def __getitem__(self, chosen: Any) -> "StudentT":
        """Choose among many forecasts, as an array would."""
        return StudentT(self.mean[chosen], self.scale[chosen], self.dof[chosen])

    def __repr__(self) -> str:
        if np.ndim(self.mean):
            return f"StudentT({len(self.mean)} forecasts)"
        return f"StudentT(mean={self.mean:.6g}, scale={self.scale:.6g}, dof={self.dof:.6g})"

    @property
    def median(self) -> Any:
        """The value that is exceeded with probability one half: the mean."""
        return self.mean

    def _standardise(self, y: Number) -> Any:
        values = check_values(y, np.shape(self.mean))
        with np.errstate(over="ignore"):
            return np.clip((values - self.mean) / self.scale, -LARGEST, LARGEST)

    def logpdf(self, y: Number) -> Any:
        """Return the log density at `y`: the log score."""
        return plain(_log_density(self._standardise(y), self.dof) - np.log(self.scale))

    def cdf(self, y: Number) -> Any:
        """Return the probability of a value up to `y`."""
        return plain(stdtr(self.dof, self._standardise(y)))

    def sf(self, y: Number) -> Any:
        """Return the probability of a value above `y`."""
        return plain(stdtr(self.dof, -self._standardise(y)))

    def quantile(self, q: ArrayLike) -> Any:
        """Return the value that is exceeded with probability 1 - q: see `Predictive`."""
        probability = check_probability(q)
        deviate = _deviate(probability[..., None] if np.ndim(self.mean) else probability, self.dof)
        with np.errstate(invalid="ignore"):  # where nothing is known
            return plain(self.mean + self.scale * deviate)

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that holds the observation with probability `level`."""
        reach = plain(self.scale * _deviate(0.5 + check_level(level) / 2, self.dof))
        return self.mean - reach, self.mean + reach

    def crps(self, y: Number) -> Any:
        """Return the continuous ranked probability score at `y`: smaller is better, in the units of y.

        The closed form is that of Jordan, Krüger and Lerch (2019), appendix A.2.
        """
        z, dof = self._standardise(y), self.dof
        with np.errstate(over="ignore"):
            density = np.exp(_log_density(z, dof))
            spread = np.exp(betaln(0.5, dof - 0.5) - 2.0 * betaln(0.5, dof / 2.0))
            tail = np.where(density > 0.0, density * z, 0.0) * z  # z * z alone may overflow
            score = z * (2.0 * stdtr(dof, z) - 1.0) + 2.0 / (dof - 1.0) * (density * dof + tail - np.sqrt(dof) * spread)
            return plain(np.minimum(self.scale * score, LARGEST))

    def entropy(self) -> Any:
        """Return the expected negative log density: the negative log score that the forecast expects of itself."""
        dof = self.dof
        standard = (dof + 1.0) / 2.0 * (psi((dof + 1.0) / 2.0) - psi(dof / 2.0)) - _log_density(0.0, dof)
        return plain(np.where(self.is_known, standard + np.log(self.scale), np.nan))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values: `size` of a single forecast, or of many, `size` rows of one value each."""
        many = np.shape(self.mean)
        shape = None if size is None else (*check_size(size, *many), *many)
        with np.errstate(invalid="ignore"):  # where nothing is known
            return plain(self.mean + self.scale * check_rng(rng).standard_t(self.dof, shape))


def _deviate(q: Any, dof: Any) -> Any:
    """Return the quantile of the standard distribution; SciPy's `stdtrit` gives inf at 1e-300, far in the tail."""
    p = np.minimum(q, 1.0 - q)
    beyond = betaincinv(dof / 2.0, 0.5, 2.0 * p)
    with np.errstate(divide="ignore"):
        distance = np.where(
            p < FAR_TAIL, np.sqrt(dof * (1.0 - beyond) / beyond), -stdtrit(dof, np.clip(p, FAR_TAIL, 0.5))
        )
    return np.where(q < 0.5, -distance, distance)


def _log_density(z: Any, dof: Any) -> Any:
    """Return the log density of the standard distribution; stable for large `z` and for many degrees of freedom."""
    with np.errstate(over="ignore"):
        squared = z * z / dof
    distance = np.where(np.isinf(squared), 2.0 * np.log(np.maximum(np.abs(z), 1.0)) - np.log(dof), np.log1p(squared))
    return -betaln(0.5, dof / 2.0) - 0.5 * np.log(dof) - (dof + 1.0) / 2.0 * distance


def _check_parameters(mean: Any, scale: Any, dof: Any) -> tuple[Any, Any, Any]:
    """Return the parameters as plain floats, or as arrays of one shape (n,)."""
    means, scales, dofs = (check_array(v, n) for v, n in ((mean, "mean"), (scale, "scale"), (dof, "dof")))
    shape = means.shape
    if len(shape) > 1 or scales.shape != shape or dofs.shape != shape:
        raise ShapeError(
            f"mean has shape {shape}, scale {scales.shape} and dof {dofs.shape}, but all must be numbers, or arrays of "
            "one shape (n,)."
        )
    is_known = np.isfinite(means) & (scales > 0) & (scales <= LARGEST_SCALE)
    is_unknown = np.isnan(means) & (scales == inf)
    wrong = np.flatnonzero(~((is_known | is_unknown) & (dofs > 2) & (dofs < inf)))
    if len(wrong):
        at = int(wrong[0])
        raise ParameterError(
            f"mean is {means.flat[at]}, scale {scales.flat[at]} and dof {dofs.flat[at]}, but Student's t needs a "
            "finite mean, a scale above 0 and degrees of freedom above 2 (mean nan, scale inf: nothing is known)."
        )
    return (means, scales, dofs) if shape else (float(means), float(scales), float(dofs))
