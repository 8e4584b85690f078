"""Forecasts that mix Student's t distributions of the values, or of their logs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from adabypass.errors import ParameterError
from adabypass.model import clipped, t_mixture
from adabypass.model.crps_integral import LEVELS, N_LEVELS, integrate_crps
from adabypass.model.limits import LARGEST, LARGEST_LOG, LARGEST_LOG_VAR, LEAST_DOF
from adabypass.model.near import keep_near
from adabypass.model.protocol import check_level, check_probability, check_values, plain
from adabypass.validation import Floats, check_rng, check_size

N_INNER_OF_FEW = 8
"""Nodes between two of the points that a score is integrated by: there are few points."""
_PARTS = ("share", "location", "scale", "dof", "zero_share")


class StudentMixture:
    """A forecast, or many, that mix Student's t distributions of the value or of its log.

    Parameters
    ----------
    share, location, scale, dof : arrays (n_components,), or (n, n_components) for many forecasts
        Mixture weights, which add up to 1; centres, scales and degrees of freedom of the components.
    is_log : array (n_components,) of flags
        Whether a component is the distribution of the value's log.
    zero_share : number, or array (n,)
        Probability that the value is exactly 0, besides the components.
    support : pair of numbers
        What lies beyond these bounds is moved to the bound: no quantile, draw or mean lies outside.

    Examples
    --------
    >>> p = StudentMixture([0.5, 0.5], [0.0, 2.0], [1.0, 1.0], [10.0, 10.0], [False, False])
    >>> p.mean, round(p.cdf(1.0), 6), round(p.quantile(0.5), 6)
    (1.0, 0.5, 1.0)
    """

    is_point = False

    def __init__(
        self,
        share: Any,
        location: Any,
        scale: Any,
        dof: Any,
        is_log: Any,
        *,
        zero_share: Any = 0.0,
        support: tuple[float, float] = (-np.inf, np.inf),
    ) -> None:
        arrays = [np.asarray(each, dtype=np.float64) for each in (share, location, scale, dof)]
        self._is_single = max(each.ndim for each in arrays) == 1
        tables = np.broadcast_arrays(*(np.atleast_2d(each) for each in arrays))
        self.share, self.location, self.scale, self.dof = (np.ascontiguousarray(each) for each in tables)
        self.is_log = np.ascontiguousarray(is_log, dtype=np.uint8)
        self.zero_share = np.broadcast_to(np.asarray(zero_share, dtype=np.float64), (len(self.share),)).copy()
        self.support = (float(support[0]), float(support[1]))

    def __repr__(self) -> str:
        if not self._is_single:
            return f"StudentMixture({len(self.share)} forecasts)"
        return f"StudentMixture(mean={self.mean:.6g}, sd={self.sd:.6g})"

    def __getitem__(self, chosen: Any) -> "StudentMixture":
        """Choose among many forecasts, as an array would."""
        parts = (self.share[chosen], self.location[chosen], self.scale[chosen], self.dof[chosen])
        return StudentMixture(*parts, self.is_log, zero_share=self.zero_share[chosen], support=self.support)

    def joined(self, others: Sequence["StudentMixture"]) -> "StudentMixture":
        """Return many forecasts: these, then those of the others, whose components have the same meaning."""
        every = [self, *others]
        if any(each.support != self.support or (each.is_log != self.is_log).any() for each in others):
            raise ParameterError("the forecasts cannot be joined: their components or their supports differ.")
        share, location, scale, dof, zero_share = (
            np.concatenate([getattr(each, name) for each in every]) for name in _PARTS
        )
        return StudentMixture(share, location, scale, dof, self.is_log, zero_share=zero_share, support=self.support)

    @property
    def _parts(self) -> tuple[Floats, Floats, Floats, Floats, Any]:
        return self.share, self.location, self.scale, self.dof, self.is_log

    @property
    def _is_plain(self) -> bool:
        """Whether neither 0 nor a bound has a probability of its own."""
        return not self.zero_share.any() and self.support == (-np.inf, np.inf)

    def _out(self, values: Any) -> Any:
        return plain(values[..., 0]) if self._is_single else values

    @property
    def is_known(self) -> Any:
        """Whether anything is known about the observation."""
        known = np.isfinite(self.scale).all(axis=1)
        return bool(known[0]) if self._is_single else known

    @property
    def mean(self) -> Any:
        """Expected value. A component of the log counts as a lognormal whose log has its variance, up to 1.

        It lies within the central interval of 99.9 %: a component of hardly any share does not carry it away.
        """
        return self._out(self._moments()[0])

    @property
    def median(self) -> Any:
        """The value that is exceeded with probability one half."""
        return self.quantile(0.5)

    @property
    def var(self) -> Any:
        """Variance; see `mean`."""
        return self._out(self._moments()[1])

    @property
    def sd(self) -> Any:
        """Standard deviation; see `mean`."""
        return self._out(np.sqrt(self._moments()[1]))

    def _moments(self) -> tuple[Floats, Floats]:
        known = np.isfinite(self.scale).all(axis=1)
        low, high = self.support
        with np.errstate(over="ignore", invalid="ignore"):
            mean, var = self._component_moments()
            kept, atom = 1.0 - self.zero_share, np.clip(0.0, low, high)
            first = kept * np.sum(self.share * mean, axis=1) + self.zero_share * atom
            apart = np.where(self.share > 0.0, mean - first[:, None], 0.0)
            at_zero = np.where(self.zero_share > 0.0, first - atom, 0.0)
            second = kept * np.sum(self.share * (var + apart**2), axis=1) + self.zero_share * at_zero**2
        first, second = np.where(known, first, np.nan), np.where(known, np.minimum(second, LARGEST), np.inf)
        likeliest = np.take_along_axis(var, self.share.argmax(axis=1)[:, None], axis=1)[:, 0]
        return keep_near(self, first, second, likeliest)

    def _component_moments(self) -> tuple[Floats, Floats]:
        """Return mean and variance of each component, moved to the bounds where it lies beyond them."""
        is_log, dof = self.is_log.astype(bool), np.maximum(self.dof, LEAST_DOF)
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.minimum(self.scale**2 * dof / (dof - 2.0), LARGEST)
            log_var = np.minimum(spread, LARGEST_LOG_VAR)
            log_mean = np.exp(np.clip(self.location + 0.5 * log_var, -LARGEST_LOG, LARGEST_LOG))
            own, of_log = (self.location, spread), (log_mean, np.expm1(log_var) * log_mean**2)
            if self.support != (-np.inf, np.inf):
                own = clipped.student_moments(self.location, self.scale, dof, *self.support)
                of_log = clipped.lognormal_moments(self.location, log_var, *self.support)
            return np.where(is_log, of_log[0], own[0]), np.minimum(np.where(is_log, of_log[1], own[1]), LARGEST)

    def cdf(self, y: Any) -> Any:
        """Return the probability of a value up to `y`."""
        return self._tail(y, is_upper=False)

    def sf(self, y: Any) -> Any:
        """Return the probability of a value above `y`."""
        return self._tail(y, is_upper=True)

    def pit(self, y: Any) -> Any:
        """Return the probability integral transform of `y`."""
        return self.cdf(y)

    def _tail(self, y: Any, *, is_upper: bool) -> Any:
        def at(values: Floats) -> Floats:
            found = t_mixture.cdf(*self._parts, np.ascontiguousarray(values), is_upper)
            low, high = self.support
            found = np.where(values < low, float(is_upper), np.where(values >= high, float(not is_upper), found))
            atom = values < 0.0 if is_upper else values >= 0.0
            return np.where(np.isnan(values), np.nan, (1.0 - self.zero_share) * found + self.zero_share * atom)

        return self._at_each(y, at)

    def pdf(self, y: Any) -> Any:
        """Return the density at `y`."""
        return plain(np.exp(self.logpdf(y)))

    def logpdf(self, y: Any) -> Any:
        """Return the log density at `y`; of a value that has a probability of its own, the log of that."""

        def at(values: Floats) -> Floats:
            found = t_mixture.logpdf(*self._parts, np.ascontiguousarray(values))
            if self._is_plain:
                return np.where(np.isnan(values), np.nan, found)
            low, high = self.support
            tails = [t_mixture.cdf(*self._parts, np.full(len(values), end), end == high) for end in self.support]
            with np.errstate(divide="ignore"):
                found = np.where(values <= low, np.log(tails[0]), np.where(values >= high, np.log(tails[1]), found))
                found = found + np.log1p(-self.zero_share)
                found = np.where((values == 0.0) & (self.zero_share > 0.0), np.log(self.zero_share), found)
            inside = (values >= low) & (values <= high)
            return np.where(np.isnan(values), np.nan, np.where(inside, np.maximum(found, -LARGEST), -LARGEST))

        return self._at_each(y, at)

    def _at_each(self, y: Any, function: Any) -> Any:
        """Apply a function of one value for each forecast; a single forecast takes an array of any shape."""
        values = np.asarray(check_values(y, () if self._is_single else (len(self.share),)), dtype=np.float64)
        if not self._is_single:
            return function(np.broadcast_to(values, (len(self.share),)))
        found = np.array([function(np.array([each]))[0] for each in values.ravel()])
        return plain(found.reshape(values.shape))

    def quantile(self, q: Any) -> Any:
        """Return the value that is exceeded with probability 1 - q: of n forecasts shape (n,), or (*q.shape, n)."""
        levels = check_probability(q)
        wanted = np.broadcast_to(levels.reshape(-1), (len(self.share), levels.size))
        known = np.isfinite(self.scale).all(axis=1)
        found = np.full(wanted.shape, np.nan)
        if known.any():
            found[known] = self._quantiles(wanted, known)
        answer = found.T.reshape((*levels.shape, len(self.share)))
        return plain(answer[..., 0]) if self._is_single else answer

    def _quantiles(self, wanted: Floats, chosen: Any) -> Floats:
        """Return quantiles of the chosen forecasts, shape (n_chosen, n_levels)."""
        parts = (self.share[chosen], self.location[chosen], self.scale[chosen], self.dof[chosen], self.is_log)
        atom, wanted = self.zero_share[chosen][:, None], wanted[chosen]
        inner, is_zero = wanted, np.zeros(wanted.shape, dtype=bool)
        if atom.any():
            below = (1.0 - atom) * t_mixture.cdf(*parts, np.zeros(len(wanted)), False)[:, None]
            is_zero = (atom > 0.0) & (wanted >= below) & (wanted <= below + atom)
            kept = np.maximum(1.0 - atom, 1e-12)
            inner = np.clip(np.where(wanted > below, wanted - atom, wanted) / kept, 0.0, 1.0)
        inside = np.clip(inner, 1e-15, 1.0 - 1e-15)
        found = t_mixture.quantile(*parts, np.ascontiguousarray(np.where(is_zero, 0.5, inside)))
        found = np.where(inner <= 0.0, -np.inf, np.where(inner >= 1.0, np.inf, found))
        if self.is_log.all():
            found = np.maximum(found, 0.0)
        return np.clip(np.where(is_zero, 0.0, found), *self.support)

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that holds the observation with probability `level`."""
        level = check_level(level)
        low, high = self.quantile(np.array([(1 - level) / 2, (1 + level) / 2]))
        return plain(low), plain(high)

    def crps(self, y: Any) -> Any:
        """Return the continuous ranked probability score at `y`."""

        def at(values: Floats) -> Floats:
            return self._crps(values) if self._is_plain else self._crps_of_levels(values)

        return self._at_each(y, at)

    def _crps(self, y: Floats) -> Floats:
        points = np.reshape(self.quantile(LEVELS), (len(LEVELS), -1))
        return integrate_crps(self._cdf_table, points, y, N_INNER_OF_FEW)

    def _cdf_table(self, chosen: Any, x: Floats, is_rough: bool = True) -> Floats:
        """Return the distribution function of some forecasts, each at many values, if rough to 1e-5 or so."""
        share, location, scale, dof, is_log = self._parts
        parts = share[chosen], location[chosen], scale[chosen], dof[chosen]
        return t_mixture.cdf_table(*parts, is_log, x, is_rough)

    def _crps_of_levels(self, y: Floats) -> Floats:
        """Return twice the mean pinball loss of many quantiles."""
        levels = (np.arange(N_LEVELS) + 0.5) / N_LEVELS
        error = y - np.reshape(self.quantile(levels), (N_LEVELS, -1))
        return np.asarray(2.0 * np.mean(np.maximum(levels[:, None] * error, (levels[:, None] - 1.0) * error), axis=0))

    def entropy(self) -> Any:
        """Return the expected negative log density, from quantiles."""
        levels = (np.arange(N_LEVELS) + 0.5) / N_LEVELS
        points = np.reshape(self.quantile(levels), (N_LEVELS, -1))
        return self._out(-np.mean([self[:].logpdf(row) for row in points], axis=0))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values."""
        shape = check_size(size, len(self.share)) if size is not None else ()
        wanted = check_rng(rng).uniform(size=(*np.atleast_1d(shape).astype(int), len(self.share)))
        flat = wanted.reshape(-1, len(self.share)).T
        found = self._quantiles(flat, np.ones(len(self.share), dtype=bool)).T.reshape(wanted.shape)
        return plain(found[..., 0]) if self._is_single else found
