"""Mixture forecasts: components are normal, insensitive or Student's t.

`Mixture` has the operations; its fields are those of its base `MixtureMoments`, in record.pxd and record.pyx, so that
compiled code can make a forecast without a call to Python.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from adabypass.distributions import evaluate, families
from adabypass.distributions.base import (
    Distribution,
    Number,
    check_level,
    check_probability,
    check_values,
    interval_tails,
    plain,
)
from adabypass.distributions.component import COMPONENT, UNBOUNDED, Components, MixtureExtras, Target, check_components
from adabypass.distributions.moments import keep_near, likeliest_moments, mixture_moments
from adabypass.distributions.record import MixtureMoments, RecordLayout
from adabypass.errors import ParameterError, ShapeError
from adabypass.numerics import noise
from adabypass.numerics.limits import MAX_VALUE
from adabypass.numerics.noise import Family
from adabypass.validation import Floats, check_array, check_rng, check_size, shown


class Mixture(Distribution, MixtureMoments):
    """A mixture, or an array of them, as a forecast: components are normals with noise of a family, or Student's t.

    It may also have an atom at 0, and bounds, and be of counts: its `extras`. It holds its components, or a record from
    which they are made when they are needed (`record`, `record_layout`); see `MixtureMoments`. A component may describe
    the log or the root of y: mean and variance are then computed as if all such components together were one normal,
    whose variance, for the log, is limited to 1.

    Parameters
    ----------
    components : array of `COMPONENT` (n_components,), or (n, n_components) for many forecasts
        See adabypass.distributions.component; `Mixture.of` makes it from one array for each field. The mixture
        weights of a forecast add up to 1; weights, variances and scales are not below 0.

    Examples
    --------
    >>> p = Mixture.of(weight=[0.9, 0.1], mean=[0.0, 5.0], signal_var=[1.0, 4.0])
    >>> p.mean
    0.5
    >>> round(p.quantile(0.95), 2)
    5.0
    """

    __slots__ = ()

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
        dof: ArrayLike = 0.0,
        zero_share: ArrayLike = 0.0,
        support: tuple[float, float] = UNBOUNDED,
        reserve: ArrayLike = 0.0,
    ) -> "Mixture":
        """Make a mixture from one array for each field of its components.

        Parameters
        ----------
        weight : array (n_components,), or (n, n_components) for many forecasts
            Mixture weights, not below 0; they add up to 1 in each forecast.
        mean, signal_var
            Mean and variance of each component's Gaussian.
        noise_scale
            Scale of the noise that is added to the Gaussian.
        epsilon
            Half-width of the flat top of insensitive noise, in units of `noise_scale`.
        family : Family, or an array of it
        target : Target, or an array of it
            Quantity that a component describes: y itself, its log or its root.
        dof
            Degrees of freedom of components that are Student's t distributions.
        zero_share : number, or array (n,)
            Probability that the value is exactly 0.
        support : pair of numbers
            Lower and upper bound, to which values outside are clipped. All components must be Student's t.
        reserve : number, or array (n,)
            Above 0 the value is a count: what is drawn from the components is rounded, and at least 0, or 1 where
            `zero_share` is above 0. The reserve is the probability that `logpdf` keeps back for values that are none.
        """
        names = COMPONENT.names or ()
        given = (weight, mean, signal_var, noise_scale, epsilon, family, target, dof)
        arrays = [check_array(values, name) for name, values in zip(names, given, strict=True)]
        try:
            fields = np.broadcast_arrays(*arrays)
        except ValueError as error:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(names, arrays, strict=True))
            raise ShapeError(f"the fields have the shapes {shapes}, which do not broadcast; pass one shape.") from error
        components = np.empty(fields[0].shape, COMPONENT)
        for name, values in zip(names, fields, strict=True):
            if name in ("family", "target") and (values != np.floor(values)).any():
                raise ParameterError(f"{name} is {shown(values)}, but must be one of {name.capitalize()}.")
            components[name] = values
        atoms, kept_back = check_array(zero_share, "zero_share"), check_array(reserve, "reserve")
        if not atoms.any() and not kept_back.any() and tuple(support) == UNBOUNDED:
            return Mixture(components)
        bounds = _check_support(support, check_components(components))
        return Mixture.bounded(
            components,
            _check_shares(atoms, components, "zero_share"),
            bounds,
            _check_shares(kept_back, components, "reserve", 0.5) if kept_back.any() else None,
        )

    @staticmethod
    def bounded(
        components: Components, zero_share: Any, support: tuple[float, float], reserve: Any = None
    ) -> "Mixture":
        """Make a mixture of Student's t distributions with atoms at 0, bounds or of counts, without checks."""
        n = 1 if components.ndim == 1 else len(components)
        atoms, *rest = (
            np.ascontiguousarray(np.broadcast_to(np.asarray(each, dtype=np.float64), (n,)))
            for each in ([zero_share] if reserve is None else [zero_share, reserve])
        )
        return Mixture.with_extras(components, MixtureExtras(atoms, support, reserve=rest[0] if rest else None))

    @staticmethod
    def with_extras(components: Components, extras: MixtureExtras) -> "Mixture":
        """Make a mixture with extras, without checks."""
        forecast = Mixture.__new__(Mixture)
        forecast._fill_extras(components, extras)
        return forecast

    @staticmethod
    def unchecked(components: Components, mean: Any, var: Any) -> "Mixture":
        """Make a mixture of known mean and variance, without checks."""
        forecast = Mixture.__new__(Mixture)
        forecast._fill_components(components, mean, var)
        return forecast

    @staticmethod
    def from_record(record: Floats, layout: RecordLayout, mean: Any, var: Any) -> "Mixture":
        """Make one mixture from a record, or many from records, without checks."""
        forecast = Mixture.__new__(Mixture)
        forecast._fill_record(record, layout, mean, var)
        return forecast

    def __reduce__(self) -> Any:
        if self.extras is not None:
            return Mixture.with_extras, (self.components, self.extras)
        if self.record is not None:
            return Mixture.from_record, (self.record, self.record_layout, self.mean, self.var)
        return Mixture.unchecked, (self.components, self.mean, self.var)

    @staticmethod
    def made(components: Components) -> "Mixture":
        """Make a model's mixture from components, without checks.

        Components of negligible weight do not dominate its mean and variance: equation (J.7).
        """
        forecast = Mixture.__new__(Mixture)
        forecast._fill_from(components)
        forecast._keep_moments_near()
        return forecast

    def _fill_from(self, components: Components) -> None:
        """Set components and moments of a mixture under construction."""
        many = components.ndim == 2
        mean, var = families.moments(np.ascontiguousarray(components if many else components[None]))
        self._fill_components(components, *((mean, var) if many else (mean[0], var[0])))

    def _keep_moments_near(self) -> None:
        """Limit mean and variance to the central interval: equation (J.7)."""
        table = np.atleast_2d(self.components)
        mean, var = np.atleast_1d(self.mean, self.var)
        mean, var = keep_near(Mixture.unchecked(table, mean, var), mean, var, likeliest_moments(table)[1])
        self._fill_components(self.components, *((mean[0], var[0]) if self._is_single else (mean, var)))

    def _find_moments(self) -> tuple[Any, Any]:
        """Compute mean and variance of a mixture with extras.

        The mean of the components is limited to their central interval of 99.9 %, so that one of negligible weight does
        not dominate it. The other forecasts of a pool contribute their own moments.
        """
        assert self.extras is not None
        mean, var = own_mean, own_var = self._own_moments(self.extras)
        if self.extras.share is not None and self.extras.pooled_at is not None:
            at = np.flatnonzero(self.extras.pooled_at >= 0)
            row = self.extras.pooled_at[at]
            shares, parts = self.extras.share[row].T, [part[row] for part in self.extras.parts]
            means = [own_mean[at], *(np.where(share > 0, part.mean, 0.0) for share, part in _pairs(shares, parts))]
            variances = [own_var[at], *(np.where(share > 0, part.var, 0.0) for share, part in _pairs(shares, parts))]
            mean, var = own_mean.copy(), own_var.copy()
            mean[at] = sum(share * each for share, each in zip(shares, means, strict=True))
            with np.errstate(over="ignore"):
                apart = [np.where(share > 0, each - mean[at], 0.0) ** 2 for share, each in _pairs(shares, means, 0)]
                spread = zip(shares, variances, apart, strict=True)
                var[at] = np.minimum(sum(share * (each + distance) for share, each, distance in spread), MAX_VALUE)
        if self.extras.reserve is not None and (self.extras.reserve > 0.0).any():
            mean, var = self._count_moments(self.extras, mean, var)
        return (mean[0], var[0]) if self._is_single else (mean, var)

    def _count_moments(self, extras: MixtureExtras, mean: Floats, var: Floats) -> tuple[Floats, Floats]:
        """Return the moments of counts, (G.18); of counts with many values those without rounding, but not below 0."""
        summed_mean, summed_var = evaluate.count_moments(self._table, self.record_layout, extras)
        is_summed = ~np.isnan(summed_mean)
        mean, var = np.where(is_summed, summed_mean, mean), np.where(is_summed, summed_var, var)
        rest = np.flatnonzero((extras.reserves > 0.0) & ~is_summed & ~np.isnan(mean))
        table = np.atleast_2d(self.components)[rest]
        if len(rest) and not extras.is_pool and (table["family"] == Family.STUDENT.value).all():
            bounds = max(extras.support[0], 0.0), extras.support[1]
            wide = Mixture.with_extras(table, extras.choose(rest)._replace(reserve=None, support=bounds))
            mean[rest], var[rest] = wide.mean, wide.var
        mean[rest] = np.maximum(mean[rest], 0.0)
        return mean, var

    def _own_moments(self, extras: MixtureExtras) -> tuple[Floats, Floats]:
        """Compute mean and variance of the components with atoms and bounds."""
        table = np.ascontiguousarray(np.atleast_2d(self.components))
        is_known, atom = ~np.isnan(table["mean"][:, 0]), np.clip(0.0, *extras.support)
        with np.errstate(over="ignore", invalid="ignore"):
            mean, var = mixture_moments(table, extras.support)
            kept = 1.0 - extras.zero_share
            first = kept * mean + extras.zero_share * atom
            second = kept * (var + np.where(kept > 0.0, mean - first, 0.0) ** 2)
            second = second + extras.zero_share * np.where(extras.zero_share > 0.0, first - atom, 0.0) ** 2
        own = Mixture.with_extras(table, MixtureExtras(extras.zero_share, extras.support))
        first, second = np.where(is_known, first, np.nan), np.where(is_known, np.minimum(second, MAX_VALUE), np.inf)
        return keep_near(own, first, second, likeliest_moments(table, extras.support)[1])

    @property
    def is_known(self) -> Any:
        """Whether anything is known about the observation; if not, the mean is nan and the variance inf."""
        if self.extras is None:
            return super().is_known
        known = ~np.isnan(np.atleast_2d(self.components)["mean"][:, 0])
        if self.extras.share is not None and self.extras.pooled_at is not None:
            at = np.flatnonzero(self.extras.pooled_at >= 0)
            row = self.extras.pooled_at[at]
            for share, part in _pairs(self.extras.share.T, self.extras.parts):
                known[at] &= (share[row] == 0.0) | np.atleast_1d(part.is_known)[row]
        return bool(known[0]) if self._is_single else known

    def __repr__(self) -> str:
        if not self._is_single:
            return f"{type(self).__name__}({len(self)} forecasts)"
        return f"{type(self).__name__}(mean={self.mean:.6g}, sd={self.sd:.6g})"

    def __len__(self) -> int:
        """Return the number of forecasts."""
        if self._is_single:
            raise TypeError("a single forecast has no length; pass arrays of shape (n, n_components) for many.")
        if self.extras is not None:
            return len(self.extras.zero_share)
        return len(self.mean)

    def __getitem__(self, chosen: Any) -> "Mixture":
        """Select among many forecasts, with the index of an array of one dimension."""
        positions = np.arange(len(self))[chosen]
        if positions.ndim > 1:
            raise ShapeError(f"the index has shape {positions.shape}, but must be a number, a slice, or of shape (n,).")
        if self.extras is not None:
            return Mixture.with_extras(self.components[positions], self.extras.choose(np.atleast_1d(positions)))
        mean, var = self.mean[chosen], self.var[chosen]
        if self.record is not None and self.record_layout is not None:
            return Mixture.from_record(self.record[chosen], self.record_layout, mean, var)
        return Mixture.unchecked(self.components[chosen], mean, var)

    def logpdf(self, y: Number) -> Any:
        """Return the log density at `y`, or the log probability of an atom. It is never below -1e300."""
        return self._at(evaluate.logpdf, y)

    def cdf(self, y: Number) -> Any:
        """Return the cumulative distribution function at `y`."""
        return self._at(evaluate.cdf, y)

    def sf(self, y: Number) -> Any:
        """Return the survival function at `y`."""
        return self._at(evaluate.sf, y)

    def crps(self, y: Number) -> Any:
        """Return the continuous ranked probability score at `y`: smaller is better, in the units of y.

        It is integrated numerically: the relative error is about 1e-6, and up to 1e-4 where components differ by many
        orders of magnitude. Tails of components of the log are cut at 10,000 times the width between the quantiles of
        0.01 and 99.99 %, since the log of Student's t distribution would make any score infinite.
        """
        return self._at(evaluate.crps, y)

    def entropy(self) -> Any:
        """Return the differential entropy: the expected negative log density."""
        return self._at(evaluate.entropy, 0.0)

    def quantile(self, q: ArrayLike) -> Any:
        """Return the value up to which the observation lies with probability `q`: see `Predictive`."""
        levels = check_probability(q)
        found = self._quantiles(levels)
        if self._is_single:
            return plain(found.reshape(levels.shape))
        return found.reshape((*levels.shape, len(self)))

    def quantile_each(self, q: ArrayLike) -> Floats:
        """Return quantiles of many forecasts, shape (len(q), n), bit for bit equal to those of each forecast alone.

        `quantile` starts each search where the previous one ended, which is faster where forecasts are alike.
        """
        return self._quantiles(check_probability(q), restart=1)

    def _quantiles(self, levels: Floats, restart: int = 0) -> Floats:
        flat = np.ascontiguousarray(levels.reshape(-1))
        return evaluate.quantile(self._table, flat, self.record_layout, self.extras, restart)

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that contains the observation with probability `level`: see `Predictive`."""
        if start is not None:
            _check_start(start)
        if self.record is not None and self.record_layout is not None and self._is_single:
            return evaluate.interval(self.record, self.record_layout, *interval_tails(check_level(level)), start)
        return super().interval(level)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values: `size` of a single forecast; for n forecasts, `size` rows of n values."""
        rng, table = check_rng(rng), np.atleast_2d(self.components)
        shape = check_size(size, len(table))
        forecast = np.zeros(shape, dtype=int)
        if not self._is_single:
            forecast = forecast[..., None] + np.arange(len(table))
        shares = table["weight"].cumsum(axis=1)
        chosen = (rng.random(forecast.shape)[..., None] * shares[forecast, -1:] > shares[forecast]).sum(axis=-1)
        drawn = _draw(table[forecast, chosen], rng)
        return plain(drawn if self.extras is None else _draw_extras(self.extras, drawn, forecast, rng))

    @property
    def _table(self) -> Any:
        """Components or records for compiled code, one row for each forecast."""
        table = self.components if self.record is None else self.record
        return np.ascontiguousarray(table[None] if self._is_single else table)

    def _at(self, function: Callable[..., Floats], at: ArrayLike) -> Any:
        """Evaluate a compiled function at one value for each forecast, or at many for a single forecast."""
        is_single = self._is_single
        if is_single and isinstance(at, float) and isfinite(at):  # fast path
            return float(function(self._table, np.array([at]), self.record_layout, self.extras)[0])
        values = np.asarray(check_values(at, () if is_single else (len(self),)))
        flat = np.ascontiguousarray(values.reshape(-1) if is_single else np.broadcast_to(values, len(self)))
        found = function(self._table, flat, self.record_layout, self.extras)
        return plain(found.reshape(values.shape)) if is_single else found


def _pairs(shares: Any, parts: Any, first: int = 1) -> Any:
    """Pair the shares of a pool, from index `first` on, with its parts."""
    return zip(shares[first:], parts, strict=True)


def _draw(parts: Components, rng: np.random.Generator) -> Floats:
    """Draw a value from each component."""
    is_student = parts["family"] == Family.STUDENT
    eta = noise.sample(np.where(is_student, Family.GAUSSIAN, parts["family"]), parts["epsilon"], rng)
    if is_student.any():
        eta = np.where(is_student, rng.standard_t(np.where(is_student, parts["dof"], 1.0)), eta)
    drawn = parts["mean"] + np.sqrt(parts["signal_var"]) * rng.normal(size=parts.shape) + parts["noise_scale"] * eta
    with np.errstate(over="ignore"):
        drawn = np.where(parts["target"] == Target.LOG, np.exp(drawn), drawn)
    drawn = np.where(parts["target"] == Target.ROOT, drawn * np.abs(drawn), drawn)
    return np.asarray(np.clip(drawn, -MAX_VALUE, MAX_VALUE))


def _draw_extras(extras: MixtureExtras, drawn: Floats, forecast: Any, rng: np.random.Generator) -> Floats:
    """Replace draws from the components by 0, or by draws from the pool, as often as their shares require."""
    if extras.share is not None and extras.pooled_at is not None:
        row = extras.pooled_at[forecast]
        which = (np.asarray(rng.random(drawn.shape))[..., None] > extras.share.cumsum(axis=1)[row]).sum(axis=-1)
        which = np.where(row >= 0, np.minimum(which, extras.share.shape[1] - 1), 0)
        for k, part in enumerate(extras.parts, start=1):
            chosen = which == k
            if chosen.any():
                drawn[chosen] = part[row[chosen]].sample(rng)
    if extras.reserve is not None:
        counts = np.maximum(np.ceil(drawn - 0.5), extras.zero_share[forecast] > 0.0)
        drawn = np.where(extras.reserve[forecast] > 0.0, counts, drawn)
    drawn = np.where(rng.random(drawn.shape) < extras.zero_share[forecast], 0.0, drawn)
    return np.asarray(np.clip(drawn, *extras.support))


def _check_shares(shares: Floats, components: Components, name: str, most: float = 1.0) -> Floats:
    """Check a probability of every forecast."""
    expected = components.shape[:-1]
    if shares.shape not in ((), expected):
        raise ShapeError(f"{name} has shape {shares.shape}, but must be a number, or have shape {expected}.")
    if not ((shares >= 0) & (shares <= most)).all():
        raise ParameterError(f"{name} is {shown(shares)}, but this probability lies between 0 and {most:g}.")
    return shares


def _check_support(support: Any, components: Components) -> tuple[float, float]:
    """Check a pair of bounds."""
    bounds = check_array(support, "support")
    if bounds.shape != (2,) or not bounds[0] < bounds[1]:
        raise ParameterError(f"support is {shown(support)}, but must be a pair of numbers, the lower one first.")
    low, high = float(bounds[0]), float(bounds[1])
    if (low, high) != UNBOUNDED and (components["family"] != Family.STUDENT.value).any():
        raise ParameterError(
            f"support is {shown(support)}, but only Student's t distributions can be bounded; pass family=STUDENT."
        )
    return low, high


def _check_start(start: object) -> None:
    """Check the array in which a search stores where it ended."""
    if not (isinstance(start, np.ndarray) and start.dtype == np.float64 and start.shape == (2,)):
        raise ParameterError(
            f"start is {shown(start)}, but must be an array of two numbers; pass np.array([-1.0, 1.0])."
        )
    if not (start.flags.writeable and start.flags.c_contiguous):
        raise ParameterError("start is read-only or not contiguous; pass np.array([-1.0, 1.0]).")
