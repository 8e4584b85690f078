"""Forecasts that mix Gaussians with noise of several families."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from adabypass.errors import NotANumberError, ParameterError, ShapeError
from adabypass.model import crps, entropy, mixture, noise, quantiles
from adabypass.model.component import COMPONENT, Components, Target, check_components
from adabypass.model.limits import LARGEST, LARGEST_HYPERPARAMETER
from adabypass.model.moments import MixtureMoments
from adabypass.model.near import keep_near
from adabypass.model.noise import Family
from adabypass.model.packing import Packing
from adabypass.model.protocol import Number, check_level, check_probability, check_values, plain
from adabypass.validation import Floats, check_array, check_rng, check_size, shown


def _quantile_each(forecasts: Any, q: Floats, packing: Packing | None = None) -> Floats:
    """Return quantiles of forecasts, none of which depends on the forecast before."""
    return quantiles.quantile(forecasts, q, packing, 1)


DEVIATES = np.linspace(-6.0, 6.0, 241)
"""Normal deviates of the levels between which a function of quantiles is integrated, by the trapezoidal rule."""
CRPS_REACH = 3.0
"""Deviates up to which the CRPS counts where the log of y has a share: further out a log may have no mean."""
NEGLIGIBLE_SHARE = 1e-6
"""Of the log and the root, below which they move no score."""


def _crps(table: Components, y: Floats) -> Floats:
    """Return the score: in closed form, or by quantiles where the log or the root of y has a share."""
    return _by_target(crps.crps, _crps_of_quantiles, table, y)


def _crps_of_quantiles(table: Components, y: Floats) -> Floats:
    """Return twice the integral of the quantile loss over the levels up to `CRPS_REACH` deviates."""
    deviates, total = DEVIATES[np.abs(DEVIATES) <= CRPS_REACH], np.zeros(len(table))
    for level, weight in zip(*_levels(deviates), strict=True):
        error = y - quantiles.quantile(table, np.full(len(table), level))
        total += 2.0 * weight * np.where(error > 0.0, level * error, (level - 1.0) * error)
    return total


def _entropy(table: Components, _: Floats) -> Floats:
    """Return the expected negative log density: by quantiles where the log or the root of y has a share."""
    return _by_target(lambda own, _: entropy.entropy(own), _entropy_of_quantiles, table, np.zeros(len(table)))


def _entropy_of_quantiles(table: Components, _: Floats) -> Floats:
    total = np.zeros(len(table))
    for level, weight in zip(*_levels(DEVIATES), strict=True):
        total -= weight * mixture.logpdf(table, quantiles.quantile(table, np.full(len(table), level)))
    return total


def _levels(deviates: Floats) -> tuple[Floats, Floats]:
    """Return the levels of normal deviates, and the weights with which they stand for all levels between."""
    weight = np.exp(-0.5 * deviates**2) / np.sqrt(2.0 * np.pi) * (deviates[1] - deviates[0])
    weight[[0, -1]] *= 0.5
    return np.asarray(ndtr(deviates)), weight


def _by_target(plain: Any, transformed: Any, table: Components, at: Floats) -> Floats:
    """Call one function with the forecasts that are about y itself alone, another with the rest."""
    is_own, found = table["target"] == Target.IDENTITY, np.empty(len(table))
    if is_own.all():
        return np.asarray(plain(table, at))
    is_plain = np.where(is_own, 0.0, table["weight"]).sum(axis=1) <= NEGLIGIBLE_SHARE
    if is_plain.any():
        own = table[is_plain]
        own["weight"] = np.where(is_own[is_plain], own["weight"], 0.0)
        own["weight"] /= own["weight"].sum(axis=1, keepdims=True)
        found[is_plain] = plain(own, at[is_plain])
    if not is_plain.all():
        found[~is_plain] = transformed(table[~is_plain], at[~is_plain])
    return found


READ_RECORDS = frozenset({quantiles.cdf, quantiles.sf, quantiles.quantile, _quantile_each})
"""Compiled functions that take records as they are, and need no components."""

CHUNK = 64
"""So many forecasts go to compiled code between two looks for Ctrl-C: some tenths of a second at most."""


class Mixture(MixtureMoments):
    """A forecast that mixes components: each a Gaussian plus insensitive, Gaussian or heavy-tailed noise.

    A component may be the distribution of the log or the root of y: then mean and variance are those that y would have
    if all such components together were a normal, whose variance, of a log, counts up to 1.

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
        own = components.copy() if isinstance(components, np.ndarray) else components
        self._fill_from(check_components(own))

    @staticmethod
    def of(
        *,
        weight: ArrayLike,
        mean: ArrayLike,
        signal_var: ArrayLike = 0.0,
        noise_scale: ArrayLike = 0.0,
        epsilon: ArrayLike = 0.0,
        family: ArrayLike = Family.GAUSSIAN,
        target: ArrayLike = Target.IDENTITY,
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
        target : Target, or an array of it
            What of y a component is the distribution of: y itself, its log or its root.
        """
        names = COMPONENT.names or ()
        given = (weight, mean, signal_var, noise_scale, epsilon, family, target)
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

    @staticmethod
    def packed(record: Floats, packing: Packing, mean: Any, var: Any) -> "Mixture":
        """Return the mixture that a model forecasts, kept as a record, or many of them: nothing is checked."""
        forecast = Mixture.__new__(Mixture)
        forecast._fill_record(record, packing, mean, var)
        return forecast

    def __reduce__(self) -> Any:
        if self.record is not None:
            return Mixture.packed, (self.record, self.packing, self.mean, self.var)
        return Mixture.unchecked, (self.components, self.mean, self.var)

    @staticmethod
    def made(components: Components) -> "Mixture":
        """Return the mixture of components that a model forecasts: nothing is checked.

        A component of hardly any share does not carry its mean and variance away: equation (230).
        """
        forecast = Mixture.__new__(Mixture)
        forecast._fill_from(components)
        forecast._keep_moments_near()
        return forecast

    def _fill_from(self, components: Components) -> None:
        """Set the fields of a mixture that is being made, with the moments of its components."""
        many = components.ndim == 2
        mean, var = mixture.moments(np.ascontiguousarray(components if many else components[None]))
        self._fill_components(components, *((mean, var) if many else (mean[0], var[0])))

    def _keep_moments_near(self) -> None:
        """Keep means near where the forecasts are: equation (230)."""
        table = np.atleast_2d(self.components)
        likeliest = np.take_along_axis(table, table["weight"].argmax(axis=1)[:, None], axis=1)
        mean, var = np.atleast_1d(self.mean, self.var)
        many = Mixture.unchecked(table, mean, var)
        mean, var = keep_near(many, mean, var, mixture.moments(np.ascontiguousarray(likeliest))[1])
        self._fill_components(self.components, *((mean[0], var[0]) if self._is_single else (mean, var)))

    def __repr__(self) -> str:
        if not self._is_single:
            return f"{type(self).__name__}({len(self.mean)} forecasts)"
        return f"{type(self).__name__}(mean={self.mean:.6g}, sd={self.sd:.6g})"

    def __getitem__(self, chosen: Any) -> "Mixture":
        """Choose among many forecasts, as an array would."""
        mean, var = self.mean[chosen], self.var[chosen]
        if self.record is not None and self.packing is not None:
            return Mixture.packed(self.record[chosen], self.packing, mean, var)
        return Mixture.unchecked(self.components[chosen], mean, var)

    @property
    def _is_single(self) -> bool:
        return isinstance(self.mean, float)

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
        if type(q) is float and 0.0 <= q <= 1.0 and self._is_single:
            return self._each(quantiles.quantile, q)
        values = check_probability(q)
        if self._is_single or values.ndim == 0:
            return self._each(quantiles.quantile, values)
        rows = [self._each(quantiles.quantile, value) for value in values.reshape(-1)]
        return np.reshape(rows, (*values.shape, len(self.mean)))

    def quantile_each(self, q: ArrayLike) -> Floats:
        """Return quantiles of many forecasts, (len(q), n), each as a single forecast would have it, to the last digit.

        `quantile` begins each search where the one before it ended, which is quicker where forecasts are alike.
        """
        return np.array([self._each(_quantile_each, value) for value in check_probability(q).reshape(-1)])

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that holds the observation with probability `level`: see `Predictive`."""
        level = check_level(level)
        low, high = interval_tails(level)
        if start is not None:
            _check_start(start)
        if self.record is not None and self.packing is not None and self._is_single:
            return quantiles.interval(self.record, self.packing, low, high, start)
        return self.quantile(low), self.quantile(high)

    def crps(self, y: Number) -> Any:
        """Return the continuous ranked probability score at `y`: smaller is better, in the units of y.

        Where the log or the root of y has a share, it counts quantiles within three normal deviates: further out the
        tail of a log, however improbable, would be all of the score.
        """
        return self._each(_crps, y)

    def pit(self, y: Number) -> Any:
        """Return the probability integral transform of `y`: uniform over a stream if the forecasts are calibrated."""
        return self.cdf(y)

    def entropy(self) -> Any:
        """Return the expected negative log density: the negative log score that the forecast expects of itself."""
        return self._each(_entropy, 0.0)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values: `size` of a single forecast, or of many, `size` rows of one value each."""
        rng, table = check_rng(rng), np.atleast_2d(self.components)
        shape = check_size(size, len(table))
        forecast = np.zeros(shape, dtype=int)
        if not self._is_single:
            forecast = forecast[..., None] + np.arange(len(table))
        shares = table["weight"].cumsum(axis=1)
        chosen = (rng.random(forecast.shape)[..., None] * shares[forecast, -1:] > shares[forecast]).sum(axis=-1)
        parts = table[forecast, chosen]
        eta = parts["noise_scale"] * noise.sample(parts["family"], parts["epsilon"], rng)
        drawn = parts["mean"] + np.sqrt(parts["signal_var"]) * rng.normal(size=forecast.shape) + eta
        with np.errstate(over="ignore"):
            drawn = np.where(parts["target"] == Target.LOG, np.exp(drawn), drawn)
        drawn = np.where(parts["target"] == Target.ROOT, drawn * np.abs(drawn), drawn)
        return plain(np.clip(drawn, -LARGEST, LARGEST))

    def _each(self, function: Callable[..., Floats], at: ArrayLike) -> Any:
        """Call a compiled function with one value for each forecast, or with many for a single forecast.

        It gets a part of them at a time, so that Ctrl-C is heard in between.
        """
        if self._is_single and isinstance(at, float) and isfinite(at):  # as a rule, and without the work for arrays
            return float(self._call(function, np.array([at]), 0)[0])
        values = np.asarray(check_values(at, () if self._is_single else (len(self.mean),)))
        flat = np.ascontiguousarray(values.reshape(-1) if self._is_single else np.broadcast_to(values, len(self.mean)))
        done = np.empty(len(flat))
        for i in range(0, len(flat), CHUNK):
            done[i : i + CHUNK] = self._call(function, flat[i : i + CHUNK], i)
        return plain(done.reshape(values.shape)) if self._is_single else done

    def _cdf_table(self, chosen: Any, y: Floats) -> Floats:
        """Return the distribution function of some of many forecasts, each at many values (n_chosen, n_values)."""
        if self.record is not None and self.packing is not None:
            return quantiles.cdf_table(np.ascontiguousarray(self.record[chosen]), y, self.packing)
        return quantiles.cdf_table(np.ascontiguousarray(self.components[chosen]), y)

    def _call(self, function: Callable[..., Floats], at: Floats, first: int) -> Floats:
        """Call a compiled function with as many of the forecasts as there are values, from the first on."""
        stop = first + len(at)
        if self.record is None or self.packing is None:
            chosen = self.components if self._is_single else self.components[first:stop]
            return function(self._repeated(chosen, len(at)), at)
        records = self.record if self._is_single else self.record[first:stop]
        if function in READ_RECORDS:
            return function(self._repeated(records, len(at)), at, self.packing)
        chosen = self.components if self._is_single else self.packing.expand(records)
        return function(self._repeated(chosen, len(at)), at)

    def _repeated(self, chosen: Any, n: int) -> Any:
        """Return a table of n forecasts: those chosen, or a single one n times."""
        return np.ascontiguousarray(np.broadcast_to(chosen, (n, *chosen.shape)) if self._is_single else chosen)


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
        components["family"], components["target"] = Family.INSENSITIVE, Target.IDENTITY
        return components


def interval_tails(level: float) -> tuple[float, float]:
    """Return the probabilities below the bounds of a central interval."""
    return (1 - level) / 2, (1 + level) / 2


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
