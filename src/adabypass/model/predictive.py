"""What a model says about the next observation before it is seen.

A predictive may hold one forecast (numbers) or a whole trace of them (arrays): every method takes and gives either.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import pi
from os import cpu_count
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from adabypass.errors import ParameterError, PointForecastError, ShapeError
from adabypass.model import mixture, noise
from adabypass.model.limits import LARGEST
from adabypass.validation import Floats

Number: TypeAlias = float | Floats

SQRT_2PI = (2.0 * pi) ** 0.5
SQRT_PI = pi**0.5
MANY_FORECASTS = 500
"""Fewer are not worth a thread of their own."""


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

    def __getitem__(self, chosen: Any) -> "Predictive":
        """Choose among many forecasts, as an array would."""

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

    def entropy(self) -> Any:
        """Give the expected negative log density: the negative log score that the forecast expects of itself."""

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values."""

    def plus(self, shift: Any, var: Any = 0.0) -> "Predictive":
        """Give the forecast of a sum: of this and an independent normal with mean `shift` and variance `var`."""


class Normal:
    """A Gaussian forecast.

    Parameters
    ----------
    mean, var
        Numbers, or arrays of one shape; var above 0.

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
        if isinstance(var, float) and not var > 0.0:
            raise ParameterError(f"var is {var!r}, but a normal distribution's variance is above 0.")
        self.mean = mean
        self.var = var

    def __getitem__(self, chosen: Any) -> "Normal":
        """Choose among many forecasts, as an array would."""
        return Normal(self.mean[chosen], self.var[chosen])

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
        _check_quantile(q)
        return _plain(self.mean + self.sd * ndtri(q))

    def interval(self, level: float = 0.9) -> tuple[Any, Any]:
        """Central interval that holds the observation with probability `level`."""
        _check_level(level)
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

    def entropy(self) -> Any:
        """Give the expected negative log density: the negative log score that the forecast expects of itself."""
        return _plain(0.5 + np.log(self.sd * SQRT_2PI))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values."""
        return rng.normal(self.mean, self.sd, size)

    def plus(self, shift: Any, var: Any = 0.0) -> "Normal":
        """Give the forecast of a sum: of this and an independent normal with mean `shift` and variance `var`."""
        return Normal(_saturate(self.mean + shift), _saturate(self.var + var))


class Mixture:
    """A forecast that mixes components: each a Gaussian plus insensitive, Gaussian or heavy-tailed noise.

    Parameters
    ----------
    components : array (n_components, 5), or (n, n_components, 5) for many forecasts
        Weight, mean, variance of x'w, noise scale, and epsilon in units of that scale; epsilon -1 is Gaussian noise, -2
        noise with heavy tails.
    mean, var : numbers, or arrays (n,), optional
        Mean and variance of the mixture, if they are known already.
    """

    __slots__ = ("components", "mean", "var")

    components: Floats
    mean: Any
    var: Any

    def __init__(self, components: Floats, mean: Any = None, var: Any = None) -> None:
        if components.ndim not in (2, 3) or components.shape[-1] != 5 or components.dtype != np.float64:
            raise ShapeError(
                f"components are {components.dtype} of shape {components.shape}, but must be float64 of shape "
                "(n_components, 5) or (n, n_components, 5)."
            )
        self.components = components
        if mean is None or var is None:
            mean, var = (self._plain(moment) for moment in mixture.moments(self._table))
        self.mean = mean
        self.var = var

    def __repr__(self) -> str:
        if self.components.ndim == 3:
            return f"{type(self).__name__}({len(self.components)} forecasts)"
        return f"{type(self).__name__}(mean={self.mean:.6g}, sd={self.sd:.6g})"

    def __getitem__(self, chosen: Any) -> "Mixture":
        """Choose among many forecasts, as an array would."""
        return Mixture(self.components[chosen], self.mean[chosen], self.var[chosen])

    @property
    def sd(self) -> Any:
        """Standard deviation."""
        return _plain(np.sqrt(self.var))

    def pdf(self, y: Number) -> Any:
        """Density at `y`."""
        return _plain(np.exp(self.logpdf(y)))

    def logpdf(self, y: Number) -> Any:
        """Log density at `y`: the log score. It is never below -1e300."""
        return self._each(mixture.logpdf, y)

    def cdf(self, y: Number) -> Any:
        """Probability of a value up to `y`."""
        return self._each(mixture.cdf, y)

    def sf(self, y: Number) -> Any:
        """Probability of a value above `y`."""
        return self._each(mixture.sf, y)

    def quantile(self, q: Number) -> Any:
        """Value that is exceeded with probability 1 - q."""
        _check_quantile(q)
        return self._each(mixture.quantile, q)

    def interval(self, level: float = 0.9) -> tuple[Any, Any]:
        """Central interval that holds the observation with probability `level`."""
        _check_level(level)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def crps(self, y: Number) -> Any:
        """Continuous ranked probability score at `y`: smaller is better, in the units of y."""
        return self._each(_in_threads(mixture.crps), y)

    def pit(self, y: Number) -> Any:
        """Probability integral transform of `y`: uniform over a stream if the forecasts are calibrated."""
        return self.cdf(y)

    def entropy(self) -> Any:
        """Give the expected negative log density: the negative log score that the forecast expects of itself."""
        entropy = _in_threads(lambda table, _: mixture.entropy(table))
        return self._plain(entropy(self._table, np.zeros(len(self._table))))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values: `size` of a single forecast, or of many, `size` rows of one value each."""
        table, shape = self._table, () if size is None else (size,) if isinstance(size, int) else tuple(size)
        forecast = np.zeros(shape, dtype=int)
        if self.components.ndim == 3:
            forecast = forecast[..., None] + np.arange(len(table))
        shares = table[..., 0].cumsum(axis=1)
        chosen = (rng.random(forecast.shape)[..., None] * shares[forecast, -1:] > shares[forecast]).sum(axis=-1)
        _, mean, signal_var, scale, epsilon = np.moveaxis(table[forecast, chosen], -1, 0)
        eta = noise.sample(epsilon, rng)
        return _plain(mean + np.sqrt(signal_var) * rng.normal(size=forecast.shape) + scale * eta)

    def plus(self, shift: Any, var: Any = 0.0) -> "Mixture":
        """Give the forecast of a sum: of this and an independent normal with mean `shift` and variance `var`.

        The variance may differ between components.
        """
        components = self.components.copy()
        many = self.components.ndim == 3
        components[..., 1] = _saturate(components[..., 1] + (np.asarray(shift)[..., None] if many else shift))
        components[..., 2] = _saturate(components[..., 2] + (np.atleast_1d(var)[..., None] if many else var))
        return Mixture(components)

    @property
    def _table(self) -> Floats:
        return np.ascontiguousarray(self.components if self.components.ndim == 3 else self.components[None])

    def _plain(self, values: Floats) -> Any:
        return values if self.components.ndim == 3 else float(values[0])

    def _each(self, function: Callable[[Floats, Floats], Floats], at: Number) -> Any:
        """Call a compiled function with one value for each forecast, or with many for a single forecast."""
        values = np.asarray(at, dtype=np.float64)
        if self.components.ndim == 3:
            return function(self._table, np.ascontiguousarray(np.broadcast_to(values, len(self.components))))
        table = np.ascontiguousarray(np.broadcast_to(self._table, (values.size, *self.components.shape)))
        return _plain(function(table, np.ascontiguousarray(values.reshape(-1))).reshape(values.shape))


class Insensitive(Mixture):
    """A Gaussian plus noise with a flat top and Laplace tails.

    Parameters
    ----------
    mean, signal_var
        Mean and variance of x'w: numbers, or arrays of one shape.
    noise_scale, epsilon
        Scale of the noise's tails, and half-width of its flat top in units of that scale.

    Examples
    --------
    >>> p = Insensitive(mean=2.0, signal_var=0.1, noise_scale=0.5, epsilon=1.25)
    >>> low, high = p.interval(0.9)
    >>> round(low, 3), round(high, 3)
    (0.53, 3.47)
    """

    __slots__ = ("epsilon", "noise_scale", "signal_var")

    def __init__(self, mean: Number, signal_var: Number, noise_scale: float, epsilon: float) -> None:
        self.mean = mean
        self.signal_var = signal_var
        self.noise_scale = noise_scale
        self.epsilon = epsilon
        self.var = signal_var + noise_scale**2 * noise.var(epsilon)

    def __getitem__(self, chosen: Any) -> "Insensitive":
        return Insensitive(self.mean[chosen], self.signal_var[chosen], self.noise_scale, self.epsilon)  # type: ignore[index]

    def plus(self, shift: Any, var: Any = 0.0) -> "Insensitive":
        """Give the forecast of a sum: of this and an independent normal with mean `shift` and variance `var`."""
        mean, signal_var = _saturate(self.mean + shift), _saturate(self.signal_var + var)
        return Insensitive(mean, signal_var, self.noise_scale, self.epsilon)

    @property
    def components(self) -> Floats:  # type: ignore[override]
        """The one component, as a mixture has them."""
        parts = np.broadcast_arrays(1.0, self.mean, self.signal_var, self.noise_scale, self.epsilon)
        return np.stack(parts, axis=-1)[..., None, :].astype(np.float64)


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

    def __getitem__(self, chosen: Any) -> "Point":
        """Choose among many forecasts, as an array would."""
        return Point(self.mean[chosen], self._model)

    def plus(self, shift: Any, var: Any = 0.0) -> "Point":
        """Give the forecast of a sum: of this and `shift`."""
        return Point(_saturate(self.mean + shift), self._model)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Predictive, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise PointForecastError(
            f"{self._model} forecasts a point, so it has no {name}; use Bypass or AdaBypass for a distribution."
        )


def _in_threads(function: Callable[[Floats, Floats], Floats]) -> Callable[[Floats, Floats], Floats]:
    """Let a slow compiled function, which releases the interpreter's lock, use every processor on many forecasts."""

    def divided(table: Floats, at: Floats) -> Floats:
        n_threads = min(cpu_count() or 1, len(table) // MANY_FORECASTS)
        if n_threads < 2:
            return function(table, at)
        with ThreadPoolExecutor(n_threads) as pool:
            parts = pool.map(function, np.array_split(table, n_threads), np.array_split(at, n_threads))
            return np.concatenate(list(parts))

    return divided


def concatenate(forecasts: Sequence[Predictive]) -> Predictive:
    """Put forecasts of one model, single ones or many at once, into one row."""
    first = forecasts[0]

    def joined(name: str) -> Floats:
        return np.concatenate([np.atleast_1d(getattr(each, name)) for each in forecasts])

    if isinstance(first, Point):
        return Point(joined("mean"), first._model)
    if isinstance(first, Insensitive):
        return Insensitive(joined("mean"), joined("signal_var"), first.noise_scale, first.epsilon)
    if isinstance(first, Mixture):
        tables = [each._table for each in forecasts if isinstance(each, Mixture)]
        return Mixture(np.concatenate(tables), joined("mean"), joined("var"))
    return Normal(joined("mean"), joined("var"))


def _plain(value: Any) -> Any:
    """Give a Python float for a single number, an array for many."""
    return float(value) if np.ndim(value) == 0 else value


def _saturate(value: Any) -> Any:
    return _plain(np.clip(value, -LARGEST, LARGEST))


def _check_quantile(q: Number) -> None:
    levels = np.asarray(q, dtype=float)
    if not ((levels >= 0) & (levels <= 1)).all():
        raise ParameterError(f"q is {q!r}, but a quantile's level lies between 0 and 1.")


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ParameterError(f"level is {level!r}, but must lie between 0 and 1: 0.9 means 90 %.")
