"""Forecasts by a location and a scale in closed form: the normal and Student's t distribution."""

from math import inf, isfinite, pi
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, betaln, ndtr, ndtri, psi, stdtr, stdtrit

from adabypass.distributions.base import (
    MAX_DEVIATE,
    Distribution,
    Number,
    check_alike,
    check_level,
    check_probability,
    check_values,
    plain,
)
from adabypass.distributions.record import Moments
from adabypass.errors import ParameterError
from adabypass.numerics.limits import MAX_VALUE
from adabypass.validation import Floats, check_rng, check_size

SQRT_2PI = (2.0 * pi) ** 0.5
SQRT_PI = pi**0.5
FAR_TAIL = 1e-12
"""Tail probability below which a quantile of Student's t is computed by the incomplete beta function."""
MAX_SCALE = 1e149
"""Upper end of the scale of Student's t: its variance must not exceed 1e300."""


class LocationScale(Distribution, Moments):
    """A symmetric distribution that is moved to a mean and stretched by a scale."""

    __slots__ = ()

    @property
    def scale(self) -> Any:
        """Unit of the standard form: the standard deviation, unless a subclass has another."""
        return self.sd

    def _standard_cdf(self, z: Any) -> Any:
        """Return the distribution function at mean 0 and scale 1."""
        raise NotImplementedError

    def _standard_quantile(self, q: Any) -> Any:
        """Return quantiles at mean 0 and scale 1."""
        raise NotImplementedError

    @property
    def median(self) -> Any:
        """Quantile 0.5, which equals the mean."""
        return self.mean

    def _standardise(self, y: Number) -> Any:
        values = check_values(y, np.shape(self.mean))
        with np.errstate(over="ignore"):
            return np.clip((values - self.mean) / self.scale, -MAX_VALUE, MAX_VALUE)

    def cdf(self, y: Number) -> Any:
        """Return the cumulative distribution function at `y`."""
        return plain(self._standard_cdf(self._standardise(y)))

    def sf(self, y: Number) -> Any:
        """Return the survival function at `y`."""
        return plain(self._standard_cdf(-self._standardise(y)))

    def quantile(self, q: ArrayLike) -> Any:
        """Return the value up to which the observation lies with probability `q`: see `Predictive`."""
        probability = check_probability(q)
        deviate = self._standard_quantile(probability[..., None] if np.ndim(self.mean) else probability)
        with np.errstate(invalid="ignore"):  # where nothing is known
            return plain(self.mean + self.scale * deviate)

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that contains the observation with probability `level`."""
        reach = plain(self.scale * self._standard_quantile(0.5 + check_level(level) / 2))
        return self.mean - reach, self.mean + reach

    def _draw_shape(self, size: int | tuple[int, ...] | None) -> tuple[int, ...] | None:
        many = np.shape(self.mean)
        return None if size is None else (*check_size(size, *many), *many)


class Normal(LocationScale):
    """A normal distribution, or an array of them, as a forecast.

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
            mean, var = check_alike(mean=mean, var=var)
            is_valid = (np.isfinite(mean) & (var > 0) & (var < inf)) | (np.isnan(mean) & (var == inf))
            _refuse(is_valid, "a normal distribution has a finite mean and a variance above 0", mean=mean, var=var)
        self._fill(mean, var)

    @staticmethod
    def unchecked(mean: Any, var: Any) -> "Normal":
        """Make a normal of numbers that the library computed, without checks."""
        forecast = Normal.__new__(Normal)
        forecast._fill(mean, var)
        return forecast

    def __reduce__(self) -> Any:
        return type(self), (self.mean, self.var)

    def __getitem__(self, chosen: Any) -> "Normal":
        """Select among many forecasts, with the index of an array."""
        return Normal.unchecked(self.mean[chosen], self.var[chosen])

    def __repr__(self) -> str:
        if np.ndim(self.mean):
            return f"Normal({len(self.mean)} forecasts)"
        return f"Normal(mean={self.mean:.6g}, sd={self.sd:.6g})"

    def _standard_cdf(self, z: Any) -> Any:
        return ndtr(z)

    def _standard_quantile(self, q: Any) -> Any:
        return ndtri(q)

    def surprise(self, y: Number) -> Any:
        """Return how surprising `y` is: its distance from the mean in standard deviations, up to 38."""
        return plain(np.clip(self._standardise(y), -MAX_DEVIATE, MAX_DEVIATE))

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that contains the observation with probability `level`."""
        reach = self.sd * float(ndtri(0.5 + check_level(level) / 2))  # as inherited, in fewer calls
        return self.mean - reach, self.mean + reach

    def logpdf(self, y: Number) -> Any:
        """Return the log density at `y`: the log score. It is never below -1e300."""
        z = self._standardise(y)
        with np.errstate(over="ignore"):
            return plain(np.maximum(-0.5 * z * z - np.log(self.sd * SQRT_2PI), -MAX_VALUE))

    def crps(self, y: Number) -> Any:
        """Return the continuous ranked probability score at `y`: smaller is better, in the units of y."""
        z = self._standardise(y)
        with np.errstate(over="ignore"):
            density = np.exp(-0.5 * z * z) / SQRT_2PI
            return plain(np.minimum(self.sd * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / SQRT_PI), MAX_VALUE))

    def entropy(self) -> Any:
        """Return the differential entropy: the expected negative log density."""
        return plain(np.where(self.is_known, 0.5 + np.log(self.sd * SQRT_2PI), np.nan))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values: `size` of a single forecast; for n forecasts, `size` rows of n values."""
        return check_rng(rng).normal(self.mean, self.sd, self._draw_shape(size))


class StudentT(LocationScale):
    """A forecast by Student's t distribution, such as that of a Gaussian whose variance is estimated.

    Parameters
    ----------
    mean, scale, dof
        Numbers, or arrays (n,) of them: a finite mean, a scale above 0 (at most 1e149) and degrees of freedom above 2,
        for which the variance is finite. A forecast about which nothing is known has mean nan and scale inf.

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
        if not (is_plain and isfinite(mean) and 0.0 < scale <= MAX_SCALE and 2.0 < dof < inf):
            mean, scale, dof = check_alike(mean=mean, scale=scale, dof=dof)
            is_known = np.isfinite(mean) & (scale > 0) & (scale <= MAX_SCALE)
            is_valid = (is_known | (np.isnan(mean) & (scale == inf))) & (dof > 2) & (dof < inf)
            rule = "Student's t has a finite mean, a scale above 0 and degrees of freedom above 2"
            _refuse(is_valid, rule, mean=mean, scale=scale, dof=dof)
        self.scale, self.dof = scale, dof
        self._fill(mean, scale * scale * (dof / (dof - 2.0)))

    def __reduce__(self) -> Any:
        return type(self), (self.mean, self.scale, self.dof)

    def __getitem__(self, chosen: Any) -> "StudentT":
        """Select among many forecasts, with the index of an array."""
        return StudentT(self.mean[chosen], self.scale[chosen], self.dof[chosen])

    def __repr__(self) -> str:
        if np.ndim(self.mean):
            return f"StudentT({len(self.mean)} forecasts)"
        return f"StudentT(mean={self.mean:.6g}, scale={self.scale:.6g}, dof={self.dof:.6g})"

    def _standard_cdf(self, z: Any) -> Any:
        return stdtr(self.dof, z)

    def _standard_quantile(self, q: Any) -> Any:
        p, dof = np.minimum(q, 1.0 - q), self.dof
        beyond = betaincinv(dof / 2.0, 0.5, 2.0 * p)
        with np.errstate(divide="ignore"):  # SciPy's stdtrit gives inf at 1e-300, far in the tail
            distance = np.where(
                p < FAR_TAIL, np.sqrt(dof * (1.0 - beyond) / beyond), -stdtrit(dof, np.clip(p, FAR_TAIL, 0.5))
            )
        return np.where(q < 0.5, -distance, distance)

    def _standard_logpdf(self, z: Any) -> Any:
        """Return the log density at mean 0 and scale 1; accurate for large `z` and for many degrees of freedom."""
        dof = self.dof
        with np.errstate(over="ignore"):
            square = z * z / dof
        distance = np.where(np.isinf(square), 2.0 * np.log(np.maximum(np.abs(z), 1.0)) - np.log(dof), np.log1p(square))
        return -betaln(0.5, dof / 2.0) - 0.5 * np.log(dof) - (dof + 1.0) / 2.0 * distance

    def logpdf(self, y: Number) -> Any:
        """Return the log density at `y`: the log score."""
        return plain(self._standard_logpdf(self._standardise(y)) - np.log(self.scale))

    def crps(self, y: Number) -> Any:
        """Return the continuous ranked probability score at `y`: smaller is better, in the units of y.

        The closed form is that of Jordan, Krüger and Lerch (2019), appendix A.2.
        """
        z, dof = self._standardise(y), self.dof
        with np.errstate(over="ignore"):
            density = np.exp(self._standard_logpdf(z))
            spread = np.exp(betaln(0.5, dof - 0.5) - 2.0 * betaln(0.5, dof / 2.0))
            tail = np.where(density > 0.0, density * z, 0.0) * z  # z * z alone may overflow
            score = z * (2.0 * stdtr(dof, z) - 1.0) + 2.0 / (dof - 1.0) * (density * dof + tail - np.sqrt(dof) * spread)
            return plain(np.minimum(self.scale * score, MAX_VALUE))

    def entropy(self) -> Any:
        """Return the differential entropy: the expected negative log density."""
        dof = self.dof
        standard = (dof + 1.0) / 2.0 * (psi((dof + 1.0) / 2.0) - psi(dof / 2.0)) - self._standard_logpdf(0.0)
        return plain(np.where(self.is_known, standard + np.log(self.scale), np.nan))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values: `size` of a single forecast; for n forecasts, `size` rows of n values."""
        with np.errstate(invalid="ignore"):  # where nothing is known
            return plain(self.mean + self.scale * check_rng(rng).standard_t(self.dof, self._draw_shape(size)))


def _refuse(is_valid: Any, rule: str, **parameters: Any) -> None:
    """Raise an error that names the first forecast whose parameters are invalid."""
    wrong = np.flatnonzero(~np.asarray(is_valid))
    if len(wrong):
        at = int(wrong[0])
        values = ", ".join(f"{name} is {np.ravel(each)[at]}" for name, each in parameters.items())
        place = f" in forecast {at}" if np.ndim(is_valid) else ""
        spread = "var" if "var" in parameters else "scale"
        raise ParameterError(f"{values}{place}, but {rule} (mean nan and {spread} inf where nothing is known).")
