"""Forecasts of the automatic forecaster: those of structures, mixed where there are any with those of regressions."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from adabypass.errors import ParameterError
from adabypass.model.crps_integral import LEVELS, N_LEVELS, integrate_crps
from adabypass.model.limits import LARGEST
from adabypass.model.mixtures import Mixture
from adabypass.model.protocol import check_level, check_probability, check_values, plain
from adabypass.model.student_mixture import StudentMixture
from adabypass.validation import Floats, check_rng, check_size

CLOSEST = 1e-9
"""The search for a quantile ends when its probability is this near,"""
MAX_TRIES = 60
"""or after this many rounds of false position, and as many as there are halvings of a floating-point number."""
CHUNK = 256
"""So many mixed forecasts are searched at a time, as each is copied for each level."""


class Pooled:
    """A forecast, or many, some of which mix a forecast of structures with those of regressions.

    Parameters
    ----------
    structures : StudentMixture
        Many forecasts.
    at : array (n_pooled,) of positions
        Which of them are mixed with others, in ascending order.
    share : array (n_pooled, 1 + n_regressions)
        Shares of the structures and of each regression there; they add up to 1.
    regressions : sequence of Mixture
        n_pooled forecasts each; where the share is 0, they may say nothing, and nothing is asked of them.
    is_single : bool
        Whether this is one forecast, whose answers are numbers.
    """

    is_point = False

    def __init__(
        self,
        structures: StudentMixture,
        at: Any,
        share: Floats,
        regressions: Sequence[Mixture],
        *,
        is_single: bool = False,
    ) -> None:
        self.structures, self.at, self.share = structures, np.asarray(at, dtype=np.intp), np.asarray(share)
        self.regressions = tuple(_filled(each, self.share[:, 1 + k] > 0.0) for k, each in enumerate(regressions))
        self._is_single = is_single

    def __len__(self) -> int:
        return len(self.structures.share)

    def __repr__(self) -> str:
        if not self._is_single:
            return f"Pooled({len(self)} forecasts)"
        return f"Pooled(mean={self.mean:.6g}, sd={self.sd:.6g})"

    def __getitem__(self, chosen: Any) -> "Pooled":
        """Choose among many forecasts, as an array would."""
        positions = np.arange(len(self))[chosen]
        wanted = np.atleast_1d(positions)
        place = np.full(len(self), -1)
        place[self.at] = np.arange(len(self.at))
        kept = place[wanted]
        rows = kept[kept >= 0]
        return Pooled(
            self.structures[wanted],
            np.flatnonzero(kept >= 0),
            self.share[rows],
            [each[rows] for each in self.regressions],
            is_single=np.ndim(positions) == 0,
        )

    @staticmethod
    def joined(forecasts: Sequence["Pooled | StudentMixture"]) -> "Pooled | StudentMixture":
        """Return many forecasts made of several; all have as many regressions, or none."""
        parts = [each for each in forecasts if isinstance(each, Pooled)]
        tables = [each.structures if isinstance(each, Pooled) else each for each in forecasts]
        whole = tables[0].joined(tables[1:])
        if not parts:
            return whole
        starts = np.cumsum([0, *(len(each.share) for each in tables)])
        if len({len(each.regressions) for each in parts}) > 1:
            raise ParameterError("the forecasts cannot be joined: they mix different numbers of models.")
        at = [each.at + start for each, start in zip(forecasts, starts, strict=False) if isinstance(each, Pooled)]
        regressions = [_joined([each.regressions[k] for each in parts]) for k in range(len(parts[0].regressions))]
        share = np.concatenate([each.share for each in parts])
        return Pooled(whole, np.concatenate(at), share, regressions)

    def _mix(self, of_structures: Floats, of_regression: Callable[[Mixture], Floats]) -> Floats:
        """Return what is linear in the distribution: of the structures, or mixed."""
        found = np.array(of_structures, dtype=np.float64)
        total = self.share[:, 0] * found[self.at]
        for share, each in self._shared():
            total = total + share * of_regression(each)
        found[self.at] = total
        return found

    def _shared(self) -> list[tuple[Floats, Mixture]]:
        """Return the regressions that have a share anywhere, with their shares."""
        parts = zip(self.share.T[1:], self.regressions, strict=True)
        return [(share, each) for share, each in parts if (share > 0.0).any()]

    def _out(self, values: Any) -> Any:
        return plain(values[..., 0]) if self._is_single else values

    @property
    def is_known(self) -> Any:
        """Whether anything is known about the observation."""
        known = np.asarray(self.structures.is_known)
        return bool(known[0]) if self._is_single else known

    @property
    def mean(self) -> Any:
        """Expected value: see `StudentMixture.mean`."""
        return self._out(self._mean())

    def _mean(self) -> Floats:
        return self._mix(self.structures.mean, lambda each: each.mean)

    @property
    def median(self) -> Any:
        """The value that is exceeded with probability one half."""
        return self.quantile(0.5)

    @property
    def var(self) -> Any:
        """Variance: see `StudentMixture.mean`."""
        return self._out(self._var())

    def _var(self) -> Floats:
        mean, inner = self._mean(), self.structures.mean
        with np.errstate(over="ignore"):
            apart = np.where(mean == inner, 0.0, (inner - mean) ** 2)
            var = self._mix(self.structures.var + apart, lambda each: each.var + (each.mean - mean[self.at]) ** 2)
        return np.where(np.isinf(self.structures.var), var, np.minimum(var, LARGEST))

    @property
    def sd(self) -> Any:
        """Standard deviation: see `StudentMixture.mean`."""
        return self._out(np.sqrt(self._var()))

    def cdf(self, y: Any) -> Any:
        """Return the probability of a value up to `y`."""
        return self._at_each(y, lambda x: self._mix(self.structures.cdf(x), lambda each: each.cdf(x[self.at])))

    def sf(self, y: Any) -> Any:
        """Return the probability of a value above `y`."""
        return self._at_each(y, lambda x: self._mix(self.structures.sf(x), lambda each: each.sf(x[self.at])))

    def pit(self, y: Any) -> Any:
        """Return the probability integral transform of `y`."""
        return self.cdf(y)

    def pdf(self, y: Any) -> Any:
        """Return the density at `y`."""
        return plain(np.exp(self.logpdf(y)))

    def logpdf(self, y: Any) -> Any:
        """Return the log density at `y`; of a value that has a probability of its own, the log of that."""

        def at(x: Floats) -> Floats:
            found = np.array(self.structures.logpdf(x))
            parts = [(self.share[:, 0], found[self.at])]
            parts += [(share, each.logpdf(x[self.at])) for share, each in self._shared()]
            best = np.max([np.where(share > 0.0, part, -np.inf) for share, part in parts], axis=0)
            with np.errstate(invalid="ignore", under="ignore"):
                total = sum(share * np.exp(np.minimum(part - best, 0.0)) for share, part in parts)
                found[self.at] = best + np.log(total)
            return found

        return self._at_each(y, at)

    def _at_each(self, y: Any, function: Any) -> Any:
        """Apply a function of one value for each forecast; a single forecast takes an array of any shape."""
        values = np.asarray(check_values(y, () if self._is_single else (len(self),)), dtype=np.float64)
        if not self._is_single:
            return function(np.ascontiguousarray(np.broadcast_to(values, (len(self),))))
        found = np.array([function(np.array([each]))[0] for each in values.ravel()])
        return plain(found.reshape(values.shape))

    def quantile(self, q: Any) -> Any:
        """Return the value that is exceeded with probability 1 - q: of n forecasts shape (n,), or (*q.shape, n)."""
        levels = check_probability(q)
        flat = np.ascontiguousarray(levels.reshape(-1))
        found = np.reshape(self.structures.quantile(flat), (flat.size, len(self)))
        for first in range(0, len(self.at), CHUNK):
            at = self.at[first : first + CHUNK]
            found[:, at] = self[at]._search(flat, found[:, at])
        answer = found.reshape((*levels.shape, len(self)))
        return plain(answer[..., 0]) if self._is_single else answer

    def _search(self, levels: Floats, of_structures: Floats) -> Floats:
        """Return quantiles of forecasts that are all mixed, shape (n_levels, n), by the rule of false position.

        A mixture's quantile lies between the least and the largest of its parts'. An end of the bracket that stays
        where it is for a second time counts for half as much (the Illinois rule). What takes too long, where parts
        differ by many orders of magnitude, is halved in the order of floating-point numbers.
        """
        parts = [of_structures, *self._quantiles(levels, of_structures)]
        low, high = (np.ascontiguousarray(ends(parts, axis=0).T) for ends in (np.min, np.max))
        cdf, wanted = partial(self._cdf_table, slice(None), is_rough=False), levels
        below, above = cdf(low) - wanted, cdf(high) - wanted
        found = np.where(np.abs(below) <= np.abs(above), low, high)
        is_open = np.isfinite(low) & np.isfinite(high) & (np.minimum(np.abs(below), np.abs(above)) > CLOSEST)
        low, high = np.where(is_open, low, 0.0), np.where(is_open, high, 0.0)
        moved = np.zeros(found.shape)  # which end moved last: -1 the lower, 1 the upper
        for tries in range(MAX_TRIES + 66):
            if not is_open.any():
                break
            step = np.where(is_open, below / np.where(is_open, below - above, 1.0), 0.0)
            middle = np.clip(low + step * (high - low), low, high) if tries < MAX_TRIES else _halfway(low, high)
            middle = np.where(is_open, middle, found)
            error = cdf(middle) - wanted
            side = np.where(error > 0.0, 1.0, -1.0)
            is_open &= (np.abs(error) > CLOSEST) & (low < middle) & (middle < high)
            below = np.where(side < 0.0, error, np.where(moved > 0.0, 0.5 * below, below))
            above = np.where(side > 0.0, error, np.where(moved < 0.0, 0.5 * above, above))
            low, high = np.where(side < 0.0, middle, low), np.where(side > 0.0, middle, high)
            found, moved = middle, side
        return np.asarray(found.T)

    def _quantiles(self, levels: Floats, otherwise: Floats) -> list[Floats]:
        """Return quantiles of each regression, shape (n_levels, n), or those given where it has no share."""
        return [np.where(share > 0.0, each.quantile(levels), otherwise) for share, each in self._shared()]

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that holds the observation with probability `level`."""
        level = check_level(level)
        low, high = self.quantile(np.array([(1 - level) / 2, (1 + level) / 2]))
        return plain(low), plain(high)

    def crps(self, y: Any) -> Any:
        """Return the continuous ranked probability score at `y`."""

        def at(x: Floats) -> Floats:
            alone = np.setdiff1d(np.arange(len(self)), self.at)
            found = np.empty(len(self))
            if len(alone):
                found[alone] = self.structures[alone].crps(x[alone])
            if len(self.at):
                found[self.at] = self[self.at]._integrated_crps(x[self.at])
            return found

        return self._at_each(y, at)

    def _integrated_crps(self, y: Floats) -> Floats:
        """Return the score of forecasts that are all mixed, integrated between quantiles of their parts."""
        levels = LEVELS[::2]
        own = self.structures.quantile(levels)
        points = np.concatenate([own, *self._quantiles(levels, own)])
        return integrate_crps(self._cdf_table, points, y)

    def _cdf_table(self, chosen: Any, x: Floats, is_rough: bool = True) -> Floats:
        """Return the distribution function of some forecasts that are all mixed, each at many values."""
        share = self.share[chosen]
        total = share[:, :1] * self.structures._cdf_table(chosen, x, is_rough)
        for k, each in enumerate(self.regressions):
            if share[:, 1 + k].any():
                total = total + share[:, 1 + k : 2 + k] * each._cdf_table(chosen, x)
        return np.asarray(total)

    def entropy(self) -> Any:
        """Return the expected negative log density, from quantiles."""
        levels = (np.arange(N_LEVELS) + 0.5) / N_LEVELS
        many = self[np.arange(len(self))]
        points = np.reshape(many.quantile(levels), (N_LEVELS, -1))
        return self._out(-np.mean([many.logpdf(row) for row in points], axis=0))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values."""
        shape = tuple(np.atleast_1d(check_size(size, len(self))).astype(int)) if size is not None else ()
        rng = check_rng(rng)
        found = np.reshape(self.structures.sample(rng, shape or (1,)), (*(shape or (1,)), len(self)))
        chosen = rng.uniform(size=(*found.shape[:-1], len(self.at), 1))
        which = (chosen > self.share.cumsum(axis=1)).sum(axis=-1)
        for k, each in enumerate(self.regressions):
            if not (which == 1 + k).any():
                continue
            drawn = np.reshape(each.sample(rng, found.shape[:-1]), which.shape)
            found[..., self.at] = np.where(which == 1 + k, drawn, found[..., self.at])
        found = found if size is not None else found[0]
        return plain(found[..., 0]) if self._is_single else found


def _halfway(low: Floats, high: Floats) -> Floats:
    """Return numbers with as many floating-point numbers between them and `low` as between them and `high`."""
    first, last = (np.where((bits := each.view(np.int64)) < 0, _LOWEST - bits, bits) for each in (low, high))
    middle = (first >> 1) + (last >> 1) + (first & last & 1)
    return np.asarray(np.where(middle < 0, _LOWEST - middle, middle).view(np.float64))


_LOWEST = np.iinfo(np.int64).min


def _filled(forecasts: Mixture, has_share: Any) -> Mixture:
    """Return the forecasts, with one that has a share in place of each that has none: these may be empty records."""
    if has_share.all() or not has_share.any():
        return forecasts
    return forecasts[np.where(has_share, np.arange(len(has_share)), np.argmax(has_share))]


def _joined(forecasts: Sequence[Mixture]) -> Mixture:
    packing = forecasts[0].packing
    assert packing is not None
    mean, var, record = (
        np.concatenate([getattr(each, name) for each in forecasts]) for name in ("mean", "var", "record")
    )
    return Mixture.packed(record, packing, mean, var)
