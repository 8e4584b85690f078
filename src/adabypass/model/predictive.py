"""What a model says about the next observation before it is seen.

A predictive may hold one forecast (numbers) or a whole trace of them (arrays): every method takes and gives either.
"""

from math import pi
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from adabypass.errors import HyperparameterError, PointForecastError
from adabypass.model.limits import LARGEST
from adabypass.model.row import Floats

Number: TypeAlias = float | Floats

SQRT_2PI = (2.0 * pi) ** 0.5
SQRT_PI = pi**0.5


class Predictive(Protocol):
    """What every forecast can be asked."""

    @property
    def mean(self) -> Any:
        """Expected value."""

    @property
    def var(self) -> Any:
        """Variance."""

    @property
    def sd(self) -> Any:
        """Standard deviation."""

    def pdf(self, y: Number) -> Any:
        """Density at `y`."""

    def logpdf(self, y: Number) -> Any:
        """Log density at `y`: the log score."""

    def cdf(self, y: Number) -> Any:
        """Probability of a value up to `y`."""

    def sf(self, y: Number) -> Any:
        """Probability of a value above `y`."""

    def quantile(self, q: Number) -> Any:
        """Value that is exceeded with probability 1 - q."""

    def interval(self, level: float = 0.9) -> tuple[Any, Any]:
        """Central interval that holds the observation with probability `level`."""

    def crps(self, y: Number) -> Any:
        """Continuous ranked probability score at `y`: smaller is better, in the units of y."""

    def pit(self, y: Number) -> Any:
        """Probability integral transform of `y`: uniform over a stream if the forecasts are calibrated."""

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values."""


class Normal:
    """A Gaussian forecast.

    Parameters
    ----------
    mean, var
        Numbers, or arrays of one shape; var >= 0.

    Examples
    --------
    >>> p = Normal(mean=2.0, var=0.25)
    >>> p.sd
    0.5
    >>> low, high = p.interval(0.9)
    >>> round(low, 3), round(high, 3)
    (1.178, 2.822)
    """

    __slots__ = ("mean", "var")

    mean: Any
    var: Any

    def __init__(self, mean: Number, var: Number) -> None:
        self.mean = mean
        self.var = var

    def __repr__(self) -> str:
        if np.ndim(self.mean):
            return f"Normal({len(self.mean)} forecasts)"
        return f"Normal(mean={self.mean:.6g}, sd={self.sd:.6g})"

    @property
    def sd(self) -> Any:
        """Standard deviation."""
        return _plain(np.sqrt(self.var))

    def _standardise(self, y: Number) -> Any:
        with np.errstate(over="ignore"):
            return np.clip((np.asarray(y, dtype=float) - self.mean) / self.sd, -LARGEST, LARGEST)

    def pdf(self, y: Number) -> Any:
        """Density at `y`."""
        return _plain(np.exp(self.logpdf(y)))

    def logpdf(self, y: Number) -> Any:
        """Log density at `y`: the log score. It is never below -1e300."""
        z = self._standardise(y)
        with np.errstate(over="ignore"):
            return _plain(np.maximum(-0.5 * z * z - np.log(self.sd * SQRT_2PI), -LARGEST))

    def cdf(self, y: Number) -> Any:
        """Probability of a value up to `y`."""
        return _plain(ndtr(self._standardise(y)))

    def sf(self, y: Number) -> Any:
        """Probability of a value above `y`."""
        return _plain(ndtr(-self._standardise(y)))

    def logcdf(self, y: Number) -> Any:
        """Log probability of a value up to `y`."""
        return _plain(np.maximum(log_ndtr(self._standardise(y)), -LARGEST))

    def quantile(self, q: Number) -> Any:
        """Value that is exceeded with probability 1 - q."""
        levels = np.asarray(q, dtype=float)
        if not ((levels >= 0) & (levels <= 1)).all():
            raise HyperparameterError(f"q is {q!r}, but a quantile's level lies between 0 and 1.")
        return _plain(self.mean + self.sd * ndtri(levels))

    def interval(self, level: float = 0.9) -> tuple[Any, Any]:
        """Central interval that holds the observation with probability `level`."""
        if not 0 < level < 1:
            raise HyperparameterError(f"level is {level!r}, but must lie between 0 and 1: 0.9 means 90 %.")
        reach = self.sd * ndtri(0.5 + level / 2)
        return _plain(self.mean - reach), _plain(self.mean + reach)

    def crps(self, y: Number) -> Any:
        """Continuous ranked probability score at `y`: smaller is better, in the units of y."""
        z = self._standardise(y)
        with np.errstate(over="ignore"):
            density = np.exp(-0.5 * z * z) / SQRT_2PI
            return _plain(np.minimum(self.sd * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / SQRT_PI), LARGEST))

    def pit(self, y: Number) -> Any:
        """Probability integral transform of `y`: uniform over a stream if the forecasts are calibrated."""
        return self.cdf(y)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values."""
        return rng.normal(self.mean, self.sd, size)


class Point:
    """A forecast without a distribution, from a model that has none.

    Only the mean is there; asking for anything else says why.

    Examples
    --------
    >>> Point(2.0, model="PassiveAggressive").mean
    2.0
    """

    __slots__ = ("_model", "mean")

    mean: Any

    def __init__(self, mean: Number, model: str) -> None:
        self.mean = mean
        self._model = model

    def __repr__(self) -> str:
        if np.ndim(self.mean):
            return f"Point({len(self.mean)} forecasts)"
        return f"Point(mean={self.mean:.6g})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Predictive, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise PointForecastError(
            f"{self._model} forecasts a point, so it has no {name}; use Bypass or AdaBypass for a distribution."
        )


def _plain(value: Any) -> Any:
    """Give a Python float for a single number, an array for many."""
    return float(value) if np.ndim(value) == 0 else value
