"""What a mixture may consist of besides its own components."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adabypass.errors import ParameterError
from adabypass.validation import Floats, Integers

if TYPE_CHECKING:
    from adabypass.distributions.mixture import Mixture

UNBOUNDED = (-np.inf, np.inf)


class MixtureExtras(NamedTuple):
    """Atoms, bounds and further mixtures of n forecasts.

    Forecast t is a value of exactly 0 with probability `zero_share[t]`, otherwise drawn from its components, or from
    those of one of the `parts`. Values beyond the bounds are moved to them.
    """

    zero_share: Floats
    """Probability of a value of exactly 0, shape (n,)."""
    support: tuple[float, float] = UNBOUNDED
    """Bounds: no quantile, draw or mean lies beyond them."""
    share: Floats | None = None
    """Of a pool: shares of the forecast's own components and of each part, shape (n_pooled, 1 + n_parts)."""
    pooled_at: Integers | None = None
    """Of a pool: which row of `share` and of the parts is that of each forecast, shape (n,); -1 if it is not pooled."""
    parts: tuple["Mixture", ...] = ()
    """Of a pool: further forecasts, n_pooled each. Those without a share are not looked at."""

    @property
    def is_pool(self) -> bool:
        """Whether there are further forecasts."""
        return self.share is not None

    def choose(self, wanted: Any) -> "MixtureExtras":
        """Return what belongs to chosen forecasts, an array of their positions."""
        if self.share is None or self.pooled_at is None:
            return self._replace(zero_share=self.zero_share[wanted])
        row = self.pooled_at[wanted]
        kept = row[row >= 0]
        if not len(kept):
            return MixtureExtras(self.zero_share[wanted], self.support)
        at = np.where(row >= 0, np.cumsum(row >= 0) - 1, -1)
        parts = tuple(each[kept] for each in self.parts)
        return MixtureExtras(self.zero_share[wanted], self.support, self.share[kept], at, parts)


def join_extras(every: Sequence[MixtureExtras]) -> MixtureExtras:
    """Return what many forecasts consist of that are made of several."""
    if len({each.support for each in every}) > 1:
        raise ParameterError("the forecasts cannot be joined: their supports differ.")
    zero_share, pools = np.concatenate([each.zero_share for each in every]), [each for each in every if each.is_pool]
    if not pools:
        return MixtureExtras(zero_share, every[0].support)
    if len({len(each.parts) for each in pools}) > 1:
        raise ParameterError("the forecasts cannot be joined: they mix different numbers of models.")
    at, start = [], 0
    for each in every:
        at.append(_moved(each.pooled_at, len(each.zero_share), start))
        start += 0 if each.share is None else len(each.share)
    parts = tuple(_join_records([each.parts[k] for each in pools]) for k in range(len(pools[0].parts)))
    share = np.concatenate([each.share for each in pools if each.share is not None])
    return MixtureExtras(zero_share, every[0].support, share, np.concatenate(at), parts)


def _moved(pooled_at: Integers | None, n: int, start: int) -> Integers:
    """Return rows of a pool that follow `start` others."""
    if pooled_at is None:
        return np.full(n, -1)
    return np.where(pooled_at >= 0, pooled_at + start, -1)


def _join_records(forecasts: Sequence["Mixture"]) -> "Mixture":
    first = forecasts[0]
    if first.record_layout is None or any(each.record_layout != first.record_layout for each in forecasts):
        raise ParameterError("the forecasts cannot be joined: they mix models of different kinds.")
    mean, var, record = (
        np.concatenate([getattr(each, name) for each in forecasts]) for name in ("mean", "var", "record")
    )
    return first.from_record(record, first.record_layout, mean, var)
