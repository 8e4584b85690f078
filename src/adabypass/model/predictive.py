"""What a model says about the next observation before it is seen.

A predictive may hold one forecast (numbers) or a whole trace of them (arrays): every method takes and gives either.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import pi
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from adabypass.errors import ParameterError, PointForecastError
from adabypass.model import crps, entropy, mixture, noise
from adabypass.model.component import COMPONENT, Components, check_components
from adabypass.model.limits import LARGEST
from adabypass.model.noise import Family
from adabypass.validation import Floats

Number: TypeAlias = float | Floats

SQRT_2PI = (2.0 * pi) ** 0.5
SQRT_PI = pi**0.5
CHUNK = 256
"""So many forecasts are scored between two looks for Ctrl-C: some tenths of a second."""


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
    components : array of `COMPONENT` (n_components,), or (n, n_components) for many forecasts
        See adabypass.model.component; `Mixture.of` makes it out of one array for each field. The mixture weights of a
        forecast are not below 0 and add up to 1; variances and scales are not below 0.

    Examples
    --------
    >>> p = Mixture.of(weight=[0.9, 0.1], mean=[0.0, 5.0], signal_var=[1.0, 4.0])
    >>> p.mean
    0.5
    >>> round(p.quantile(0.95), 2)
    5.03
    """

    __slots__ = ("components", "mean", "var")

    components: Components
    mean: Any
    var: Any

    def __init__(self, components: Components) -> None:
        self.components = check_components(components)
        self.mean, self.var = (self._plain(moment) for moment in mixture.moments(self._table))

    @classmethod
    def of(
        cls,
        *,
        weight: ArrayLike,
        mean: ArrayLike,
        signal_var: ArrayLike = 0.0,
        noise_scale: ArrayLike = 0.0,
        epsilon: ArrayLike = 0.0,
        family: ArrayLike = Family.GAUSSIAN,
    ) -> "Mixture":
        """Return the mixture whose components have these fields.

        Parameters
        ----------
        weight : array (n_components,), or (n, n_components) for many forecasts
            Mixture weights: not below 0, and adding up to 1 in each forecast.
        mean, signal_var
            Mean and variance of each component's Gaussian.
        noise_scale
            Scale of the noise that is added to it.
        epsilon
            Half-width of the flat top of insensitive noise, in units of `noise_scale`.
        family : Family, or an array of it
        """
        fields = np.broadcast_arrays(weight, mean, signal_var, noise_scale, epsilon, family)
        components = np.empty(fields[0].shape, COMPONENT)
        for name, values in zip(components.dtype.names or (), fields, strict=True):
            components[name] = values
        return cls(components)

    @classmethod
    def unchecked(cls, components: Components, mean: Any, var: Any) -> "Mixture":
        """Return the mixture that a model forecasts, whose mean and variance it knows already: nothing is checked."""
        forecast = cls.__new__(cls)
        forecast.components, forecast.mean, forecast.var = components, mean, var
        return forecast

    def __repr__(self) -> str:
        if self.components.ndim == 2:
            return f"{type(self).__name__}({len(self.components)} forecasts)"
        return f"{type(self).__name__}(mean={self.mean:.6g}, sd={self.sd:.6g})"

    def __getitem__(self, chosen: Any) -> "Mixture":
        """Choose among many forecasts, as an array would."""
        return Mixture.unchecked(self.components[chosen], self.mean[chosen], self.var[chosen])

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
        return self._each(partial(_in_chunks, crps.crps), y)

    def pit(self, y: Number) -> Any:
        """Probability integral transform of `y`: uniform over a stream if the forecasts are calibrated."""
        return self.cdf(y)

    def entropy(self) -> Any:
        """Give the expected negative log density: the negative log score that the forecast expects of itself."""
        table = self._table
        return self._plain(_in_chunks(lambda part, _: entropy.entropy(part), table, np.zeros(len(table))))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values: `size` of a single forecast, or of many, `size` rows of one value each."""
        table, shape = self._table, () if size is None else (size,) if isinstance(size, int) else tuple(size)
        forecast = np.zeros(shape, dtype=int)
        if self.components.ndim == 2:
            forecast = forecast[..., None] + np.arange(len(table))
        shares = table["weight"].cumsum(axis=1)
        chosen = (rng.random(forecast.shape)[..., None] * shares[forecast, -1:] > shares[forecast]).sum(axis=-1)
        parts = table[forecast, chosen]
        eta = parts["noise_scale"] * noise.sample(parts["family"], parts["epsilon"], rng)
        return _plain(parts["mean"] + np.sqrt(parts["signal_var"]) * rng.normal(size=forecast.shape) + eta)

    def plus(self, shift: Any, var: Any = 0.0) -> "Mixture":
        """Give the forecast of a sum: of this and an independent normal with mean `shift` and variance `var`.

        The variance may differ between components.
        """
        components = self.components.copy()
        many = self.components.ndim == 2
        components["mean"] = _saturate(components["mean"] + (np.asarray(shift)[..., None] if many else shift))
        components["signal_var"] = _saturate(
            components["signal_var"] + (np.atleast_1d(var)[..., None] if many else var)
        )
        return _mixed(components)

    @property
    def _table(self) -> Components:
        return np.ascontiguousarray(self.components if self.components.ndim == 2 else self.components[None])

    def _plain(self, values: Floats) -> Any:
        return values if self.components.ndim == 2 else float(values[0])

    def _each(self, function: Callable[[Components, Floats], Floats], at: Number) -> Any:
        """Call a compiled function with one value for each forecast, or with many for a single forecast."""
        values = np.asarray(at, dtype=np.float64)
        if self.components.ndim == 2:
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
    def components(self) -> Components:  # type: ignore[override]
        """The one component, as a mixture has them."""
        components = np.empty((*np.shape(self.mean), 1), COMPONENT)
        components["weight"], components["mean"] = 1.0, np.asarray(self.mean)[..., None]
        components["signal_var"] = np.asarray(self.signal_var)[..., None]
        components["noise_scale"], components["epsilon"] = self.noise_scale, self.epsilon
        components["family"] = Family.INSENSITIVE
        return components


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


def _in_chunks(function: Callable[[Components, Floats], Floats], table: Components, at: Floats) -> Floats:
    """Call a slow compiled function on a part of the forecasts at a time, so that Ctrl-C is heard in between."""
    parts = [function(table[i : i + CHUNK], at[i : i + CHUNK]) for i in range(0, len(table), CHUNK)]
    return np.concatenate(parts) if parts else np.empty(0)


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
        return Mixture.unchecked(np.concatenate(tables), joined("mean"), joined("var"))
    return Normal(joined("mean"), joined("var"))


def from_components(components: Components, model: str) -> Predictive:
    """Return many forecasts in the family in which their model forecasts one step ahead.

    Parameters
    ----------
    components : array of `COMPONENT` (n, n_components)
        A noise scale of nan means that the model forecasts points.
    model
        Its name, for messages.
    """
    first = components[:, 0]
    if np.isnan(components["noise_scale"]).any():
        return Point(first["mean"].copy(), model)
    if components.shape[1] == 1 and (first["family"] == Family.GAUSSIAN).all():
        return Normal(first["mean"].copy(), first["signal_var"] + first["noise_scale"] ** 2)
    return _mixed(np.ascontiguousarray(components))


def _mixed(components: Components) -> Mixture:
    """Return the mixture of components that the library made itself."""
    forecast = Mixture.unchecked(components, None, None)
    forecast.mean, forecast.var = (forecast._plain(moment) for moment in mixture.moments(forecast._table))
    return forecast


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
