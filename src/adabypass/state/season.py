"""The row of an automatic forecaster that finds its period in the data: a buffer of the past, then a pool."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from adabypass.distributions.component import UNBOUNDED
from adabypass.distributions.mixture import Mixture
from adabypass.errors import StateError
from adabypass.numerics.limits import MAX_COUNT
from adabypass.state.layout import LINE, Layout, check_count, scalars, vectors
from adabypass.state.pool import PoolSpec, pool_spec
from adabypass.state.series import Missing
from adabypass.state.structures import LONG_PERIOD, Structure
from adabypass.validation import Floats, Integers

N_PAST = 1024
"""Number of the newest observations in which a period is looked for, and which are learned again when it is found."""
PERIODS_SEEN = 3
"""Number of periods that must be in the buffer before a period can be found."""
MIN_PERIOD, MAX_PERIOD = 2, N_PAST // PERIODS_SEEN
MIN_STEPS, MAX_STRIDE = 12, 512
"""The first number of steps after which a period is looked for, and the maximum number between two searches."""
MAX_STEPS = 1 << 40
"""Number of steps up to which they are counted; after it the count goes back by half."""
N_LAGS = 3
"""Lags of the autoregression that a season has to beat."""
MIN_ROWS = 12
"""Minimum number of values, with all of their lags, that it is fitted to; with fewer no season can beat it."""
MAX_WAVES = 4
"""Maximum number of waves of a smooth season; a season of any shape has a value for each step of the period."""
MIN_EVIDENCE = 2.0
"""Log evidence that a period needs, besides the log of the number of periods that were tried, to be taken."""
MIN_GAIN = 3.0
"""Log evidence by which another period must exceed the period so far, to take its place; a divisor may lack it."""
MAX_DEVIATION = 6.0
"""A value counts for no more than this many median absolute deviations: an outlier must not hide a season."""
MIN_NULL_SHARE, MIN_SHARE = 1e-6, 1e-8
"""Minimum fractions of the variance that the autoregression and the season leave unexplained: both may fit exactly."""

HEAD = ("n_seen", "n_steps", "period", "evidence", "found_at")
LAYOUT = Layout(
    (
        *scalars(*HEAD),
        *vectors("past", size="n_past"),
        *vectors("unused", size="n_unused"),
        *vectors("pool", size="n_pool"),
    )
)
"""Layout of the row.

`n_seen` observations were seen in `n_steps` steps. `period` is 0 until one is found, which it was after `found_at`
steps; `evidence` is the log evidence for it when it was last looked for. `past` is a ring buffer of observations with
their exogenous values, in which step t is at t modulo `N_PAST`. `pool` is the row of a forecaster of this period, which
begins at the start of a cache line; what it does not need is 0.
"""


@dataclass(frozen=True)
class SeasonSpec:
    """What an automatic forecaster is told that is not given a period."""

    n_exog: int = 0
    missing: Missing = "raise"
    """What becomes of a missing exogenous value."""
    support: tuple[float, float] = UNBOUNDED
    """Bounds of every forecast."""

    def pool(self, period: int) -> PoolSpec:
        """Return the spec of a forecaster of this period; 0 is none."""
        return pool_spec((period,) if period else (), self.n_exog, self.missing, self.support)

    @cached_property
    def widest(self) -> PoolSpec:
        """The spec of a period with every kind of structure: that of records."""
        return self.pool(MAX_PERIOD)

    @property
    def n_past(self) -> int:
        """Count the numbers of the buffer."""
        return N_PAST * (1 + self.n_exog)

    @property
    def pool_at(self) -> int:
        """Where the row of the pool begins."""
        start = len(HEAD) + self.n_past
        return start + -start % LINE

    @cached_property
    def pool_size(self) -> int:
        """Count the numbers that the row of any period needs."""
        return max(self.pool(period).row_size for period in (LONG_PERIOD, MAX_PERIOD))  # most waves, longest lags

    @property
    def row_size(self) -> int:
        """Count the numbers of a row."""
        return self.pool_at + self.pool_size

    @property
    def n_record(self) -> int:
        """Count the numbers that keep a forecast of one step."""
        return self.widest.n_record

    def predictive(self, record: Floats) -> Mixture:
        """Return the forecast that a record describes, or the forecasts that many do: (n, n_record)."""
        return self.widest.predictive(record)

    def slots(self, period: int) -> Integers:
        """Return the place of each structure of this period among those of a record."""
        place = {_role(each): k for k, each in enumerate(self.widest.structures.structures)}
        assert len(place) == len(self.widest.structures.structures)
        return np.array([place[_role(each)] for each in self.pool(period).structures.structures], dtype=np.intp)

    def current(self, row: Floats) -> tuple[PoolSpec, Floats]:
        """Return the spec of the pool at the end of a row, and a view of the pool's row."""
        spec = self.pool(int(LAYOUT.scalar(row, "period")))
        return spec, row[self.pool_at : self.pool_at + spec.row_size]

    def new_row(self) -> Floats:
        """Return the memory of a forecaster that has seen nothing."""
        return self._blank.copy()

    @cached_property
    def _blank(self) -> Floats:
        row = np.zeros(self.row_size)
        none = self.pool(0)
        row[self.pool_at : self.pool_at + none.row_size] = none.new_row()
        return row

    def shapes(self) -> list[tuple[str, list[int]]]:
        """Return the name and the shape of every field of a row; the pool's are those of the widest."""
        own = LAYOUT.shapes(**self.dims)
        return own + [(f"pool.{name}", shape) for name, shape in self.widest.shapes()]

    @property
    def dims(self) -> dict[str, int]:
        """Dimensions of the row's fields, by name."""
        n_unused = self.pool_at - len(HEAD) - self.n_past
        return {"n_past": self.n_past, "n_unused": n_unused, "n_pool": self.pool_size}

    def check_row(self, row: Floats) -> None:
        """Check the counts of a row that was saved, which compiled code indexes with."""
        for name, most in (("n_seen", int(MAX_COUNT)), ("n_steps", MAX_STEPS - 1), ("found_at", MAX_STEPS)):
            check_count(LAYOUT.scalar(row, name), name, most)
        period = LAYOUT.scalar(row, "period")
        check_count(period, "period", MAX_PERIOD)
        if 0 < period < MIN_PERIOD:
            raise StateError(f"the period of the row is {period:g}, but must be 0 or at least {MIN_PERIOD}.")
        spec, pool = self.current(row)
        spec.check_row(pool)


def _role(structure: Structure) -> tuple[Any, ...]:
    """Return what makes a structure the same one under another period."""
    season = "none" if structure.difference else structure.season  # differences have the season where there is one
    rates = structure.profile and structure.profile.rates
    return structure._replace(season=season, lags=(), lag_prior=(), profile=None), len(structure.lags), rates


Spec = PoolSpec | SeasonSpec


@lru_cache(maxsize=256)
def automatic_spec(
    periods: tuple[float, ...] | None, n_exog: int, missing: Missing, support: tuple[float, float]
) -> Spec:
    """Return the spec; making it anew for each of many series would take longer than to learn some."""
    if periods is not None:
        return pool_spec(periods, n_exog, missing, support)
    return SeasonSpec(n_exog, missing, support)
