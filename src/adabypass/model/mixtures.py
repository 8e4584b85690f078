"""Forecasts that mix Gaussians with noise of several families."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from adabypass.errors import NotANumberError, ParameterError, ShapeError
from adabypass.model import crps, entropy, mixture, noise, quantiles
from adabypass.model.component import COMPONENT, Components, check_components
from adabypass.model.limits import LARGEST, LARGEST_HYPERPARAMETER
from adabypass.model.moments import MixtureMoments
from adabypass.model.noise import Family
from adabypass.model.protocol import Number, check_level, check_probability, check_values, plain
from adabypass.validation import Floats, check_array, check_rng, check_size, shown

CHUNK = 64
"""So many forecasts go to compiled code between two looks for Ctrl-C: some tenths of a second at most."""


class Mixture(MixtureMoments):
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
    5.0
    """

    __slots__ = ()

    is_point = False

    def __init__(self, components: Components) -> None:
        self._fill_from(check_components(components))

    @staticmethod
    def of(
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
        names = COMPONENT.names or ()
        given = (weight, mean, signal_var, noise_scale, epsilon, family)
        arrays = [check_array(values, name) for name, values in zip(names, given, strict=True)]
        try:
            fields = np.broadcast_arrays(*arrays)
        except ValueError as error:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(names, arrays, strict=True))
            raise ShapeError(f"the fields have the shapes {shapes}, but must have one shape, or be numbers.") from error
        components = np.empty(fields[0].shape, COMPONENT)
        for name, values in zip(names, fields, strict=True):
            components[name] = values
        return Mixture(components)

    @staticmethod
    def unchecked(components: Components, mean: Any, var: Any) -> "Mixture":
        """Return the mixture that a model forecasts, whose mean and variance it knows already: nothing is checked."""
        forecast = Mixture.__new__(Mixture)
        forecast._fill_components(components, mean, var)
        return forecast

    def __reduce__(self) -> Any:
        return Mixture.unchecked, (self.components, self.mean, self.var)

    @staticmethod
    def made(components: Components) -> "Mixture":
        """Return the mixture of components that the library made itself: nothing is checked."""
        forecast = Mixture.__new__(Mixture)
        forecast._fill_from(components)
        return forecast

    def _fill_from(self, components: Components) -> None:
        """Set the fields of a mixture that is being made, with the moments of its components."""
        many = components.ndim == 2
        mean, var = mixture.moments(np.ascontiguousarray(components if many else components[None]))
        self._fill_components(components, *((mean, var) if many else (mean[0], var[0])))

    def __repr__(self) -> str:
        if self.components.ndim == 2:
            return f"{type(self).__name__}({len(self.components)} forecasts)"
        return f"{type(self).__name__}(mean={self.mean:.6g}, sd={self.sd:.6g})"

    def __getitem__(self, chosen: Any) -> "Mixture":
        """Choose among many forecasts, as an array would."""
        return Mixture.unchecked(self.components[chosen], self.mean[chosen], self.var[chosen])

    @property
    def median(self) -> Any:
        """The value that is exceeded with probability one half: it has the least expected absolute error."""
        return self.quantile(0.5)

    def pdf(self, y: Number) -> Any:
        """Return the density at `y`."""
        return plain(np.exp(self.logpdf(y)))

    def logpdf(self, y: Number) -> Any:
        """Return the log density at `y`: the log score. It is never below -1e300."""
        return self._each(mixture.logpdf, y)

    def cdf(self, y: Number) -> Any:
        """Return the probability of a value up to `y`."""
        return self._each(quantiles.cdf, y)

    def sf(self, y: Number) -> Any:
        """Return the probability of a value above `y`."""
        return self._each(quantiles.sf, y)

    def quantile(self, q: ArrayLike) -> Any:
        """Return the value that is exceeded with probability 1 - q: see `Predictive`."""
        if type(q) is float and 0.0 <= q <= 1.0 and self.components.ndim == 1:
            return self._each(quantiles.quantile, q)
        values = check_probability(q)
        if self.components.ndim == 1 or values.ndim == 0:
            return self._each(quantiles.quantile, values)
        rows = [self._each(quantiles.quantile, value) for value in values.reshape(-1)]
        return np.reshape(rows, (*values.shape, len(self.components)))

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that holds the observation with probability `level`: see `Predictive`."""
        level = check_level(level)
        low, high = (1 - level) / 2, (1 + level) / 2
        if start is None or self.components.ndim == 2:
            return self.quantile(low), self.quantile(high)
        _check_start(start)
        return quantiles.interval(self.components, low, high, start)

    def crps(self, y: Number) -> Any:
        """Return the continuous ranked probability score at `y`: smaller is better, in the units of y."""
        return self._each(crps.crps, y)

    def pit(self, y: Number) -> Any:
        """Return the probability integral transform of `y`: uniform over a stream if the forecasts are calibrated."""
        return self.cdf(y)

    def entropy(self) -> Any:
        """Return the expected negative log density: the negative log score that the forecast expects of itself."""
        return self._each(lambda table, _: entropy.entropy(table), 0.0)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values: `size` of a single forecast, or of many, `size` rows of one value each."""
        rng, table = check_rng(rng), self._table
        shape = check_size(size, len(table))
        forecast = np.zeros(shape, dtype=int)
        if self.components.ndim == 2:
            forecast = forecast[..., None] + np.arange(len(table))
        shares = table["weight"].cumsum(axis=1)
        chosen = (rng.random(forecast.shape)[..., None] * shares[forecast, -1:] > shares[forecast]).sum(axis=-1)
        parts = table[forecast, chosen]
        eta = parts["noise_scale"] * noise.sample(parts["family"], parts["epsilon"], rng)
        return plain(parts["mean"] + np.sqrt(parts["signal_var"]) * rng.normal(size=forecast.shape) + eta)

    @property
    def _table(self) -> Components:
        return np.ascontiguousarray(self.components if self.components.ndim == 2 else self.components[None])

    def _each(self, function: Callable[[Components, Floats], Floats], at: ArrayLike) -> Any:
        """Call a compiled function with one value for each forecast, or with many for a single forecast.

        It gets a part of them at a time, so that Ctrl-C is heard in between.
        """
        components = self.components
        is_single = components.ndim == 1
        if is_single and isinstance(at, float) and isfinite(at):  # as a rule, and without the work for arrays
            return float(function(np.ascontiguousarray(components)[None], np.array([at]))[0])
        values = np.asarray(check_values(at, () if is_single else (len(components),)))
        flat = np.ascontiguousarray(values.reshape(-1) if is_single else np.broadcast_to(values, len(components)))
        done = np.empty(len(flat))
        for i in range(0, len(flat), CHUNK):
            part = flat[i : i + CHUNK]
            chosen = (
                np.broadcast_to(components, (len(part), len(components))) if is_single else components[i : i + CHUNK]
            )
            done[i : i + CHUNK] = function(np.ascontiguousarray(chosen), part)
        return plain(done.reshape(values.shape)) if is_single else done


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
        for value, name in ((noise_scale, "noise_scale"), (epsilon, "epsilon")):
            if not isinstance(value, float | int | np.floating | np.integer):
                raise NotANumberError(f"{name} is {shown(value)}, but must be a number.")
        if not (isinstance(mean, float) and isinstance(signal_var, float)):
            mean, signal_var = _check_signal(mean, signal_var)
        largest = LARGEST_HYPERPARAMETER
        if not (0.0 < noise_scale <= largest and 0.0 <= epsilon <= largest and np.all(np.greater_equal(signal_var, 0))):
            raise ParameterError(
                f"signal_var is {shown(signal_var)}, noise_scale {noise_scale!r} and epsilon {epsilon!r}, but "
                f"noise_scale must be above 0, the others not below 0, and noise_scale and epsilon at most {largest:g}."
            )
        noise_var = min(float(noise_scale) ** 2 * noise.var(float(epsilon)), LARGEST)
        self._fill(mean, signal_var + noise_var)
        self.signal_var = signal_var
        self.noise_scale = float(noise_scale)
        self.epsilon = float(epsilon)

    def __reduce__(self) -> Any:
        return Insensitive, (self.mean, self.signal_var, self.noise_scale, self.epsilon)

    def __getitem__(self, chosen: Any) -> "Insensitive":
        return Insensitive(self.mean[chosen], self.signal_var[chosen], self.noise_scale, self.epsilon)  # type: ignore[index]

    @property
    def components(self) -> Components:
        """The one component, as a mixture has them."""
        components = np.empty((*np.shape(self.mean), 1), COMPONENT)
        components["weight"], components["mean"] = 1.0, np.asarray(self.mean)[..., None]
        components["signal_var"] = np.asarray(self.signal_var)[..., None]
        components["noise_scale"], components["epsilon"] = self.noise_scale, self.epsilon
        components["family"] = Family.INSENSITIVE
        return components


def _check_start(start: object) -> None:
    """Check the array in which a search notes where it ended."""
    if not (isinstance(start, np.ndarray) and start.dtype == np.float64 and start.shape == (2,)):
        raise ParameterError(
            f"start is {shown(start)}, but must be an array of two numbers; pass np.array([-1.0, 1.0])."
        )
    if not (start.flags.writeable and start.flags.c_contiguous):
        raise ParameterError("start must be an array that can be written to, as np.array([-1.0, 1.0]) can.")


def _check_signal(mean: Any, signal_var: Any) -> tuple[Any, Any]:
    """Check means and variances that are not two plain floats."""
    means, variances = check_array(mean, "mean"), check_array(signal_var, "signal_var")
    shape = np.shape(mean)
    if np.shape(signal_var) != shape or len(shape) > 1:
        raise ShapeError(
            f"mean has shape {shape} and signal_var {np.shape(signal_var)}, but both must be numbers, or arrays of one "
            "shape (n,)."
        )
    return (means, variances) if shape else (float(means.flat[0]), float(variances.flat[0]))
