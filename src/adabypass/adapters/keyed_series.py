"""One series among millions on an engine that keeps state by key: what its new rows add to it, and are answered with.

Nothing of an engine is imported. Between two batches a series is a `KeyedState`, plain values that any of them stores.
"""

from typing import Any, NamedTuple

import numpy as np

from adabypass.data.grid import MAX_GAP
from adabypass.forecasting import Forecaster
from adabypass.results.columns import column_names
from adabypass.saved import from_bytes
from adabypass.validation import Floats, Integers


class KeyedState(NamedTuple):
    """All that is kept of a series between two batches."""

    snapshot: bytes
    """`Forecaster.to_bytes()`: with the number of its format, so that a newer version of the library reads it."""
    time: int
    """Of the newest row that was learned."""
    n_late: int
    n_duplicate: int
    """Rows that were dropped since the last answer: 0, but for a state that was kept when such rows had none."""


class Rows(NamedTuple):
    """Some rows of a series, in any order."""

    time: Integers
    """In a unit that `KeyedForecaster.span` is in, too."""
    y: Floats
    exog: Floats | None
    """(n, n_exog)"""


class Answer(NamedTuple):
    """What the new rows of a series are answered with."""

    time: Integers
    columns: dict[str, Any]
    """Arrays as long as `time`."""
    state: KeyedState


class KeyedForecaster(NamedTuple):
    """How every series of a stream is forecast.

    Rows are learned in the order of time. A row that is not newer than all that was learned in earlier batches is
    dropped: as a duplicate if it has the time of the newest, else as late. If several
    rows of a batch have the same time, the one with the smallest value is learned, and the others are duplicates: a
    batch that is repeated after a crash then gives the same answers, whatever the order of its rows.
    """

    template: Forecaster
    """That has seen nothing."""
    levels: tuple[float, ...]
    span: float | None = None
    """Time between two observations: a longer time, rounded to whole steps, is a gap of missing observations. After
    more than 1000 of them the series starts anew. None: each row is the next observation, whatever its time."""
    horizon: int | None = None
    """None: every row is answered with the forecast that was made before it. Else the newest row is answered with
    forecasts of this many steps after it."""

    @property
    def names(self) -> list[str]:
        """The columns of a forecast."""
        return column_names(self.levels, is_point=self.template.is_point)

    def answer(self, state: KeyedState | None, rows: Rows) -> Answer | None:
        """Learn the new rows of a series, and answer them; None if nothing is left of them, and nothing is kept.

        If all of them were dropped, one row of the answer counts them, with the time of the newest row that was
        learned, step 0, and nan otherwise: whoever adds the counts up must not wait for a row that may never come.
        """
        rows, n_late, n_duplicate = _newer(rows, None if state is None else state.time)
        if state is not None:
            n_late, n_duplicate = n_late + state.n_late, n_duplicate + state.n_duplicate
        if not len(rows.time):
            if state is None:
                return None
            return self._only_counts(state._replace(n_late=0, n_duplicate=0), n_late, n_duplicate)
        forecaster = self._resumed(state)
        before = None if state is None else state.time
        found = np.full((len(rows.time), len(self.names)), np.nan)
        for i, n_missing in enumerate(self._gaps(rows.time, before)):
            if n_missing > MAX_GAP:
                forecaster = self.template.copy()
            else:
                self._pass(forecaster, n_missing, rows)
            found[i] = self._step(forecaster, rows, i)
        kept = KeyedState(forecaster.to_bytes(), int(rows.time[-1]), 0, 0)
        if self.horizon is None:
            columns: dict[str, Any] = {"y": rows.y, **dict(zip(self.names, found.T, strict=True))}
            return self._counted(rows.time, columns, n_late, n_duplicate, kept)
        if not (forecaster.is_ready and forecaster.n_seen):
            return self._only_counts(kept, n_late, n_duplicate)
        steps = np.arange(1, self.horizon + 1)
        columns = {"step": steps, **forecaster.forecast(self.horizon).columns(self.levels)}
        return self._counted(np.full(self.horizon, kept.time), columns, n_late, n_duplicate, kept)

    def _resumed(self, state: KeyedState | None) -> Forecaster:
        if state is None:
            return self.template.copy()
        forecaster = from_bytes(state.snapshot)
        assert isinstance(forecaster, Forecaster)
        return forecaster

    def _gaps(self, time: Integers, before: int | None) -> list[int]:
        """Return how many observations are missing before each row."""
        if self.span is None:
            return [0] * len(time)
        apart = np.diff(time, prepend=time[0] if before is None else before) / self.span
        n_missing: list[int] = (np.maximum(np.rint(apart), 1) - 1).astype(np.int64).tolist()
        return n_missing

    @staticmethod
    def _pass(forecaster: Forecaster, n_missing: int, rows: Rows) -> None:
        """Learn that observations are missing."""
        unknown = None if rows.exog is None else np.full(rows.exog.shape[1], np.nan)
        for _ in range(n_missing):
            forecaster.update(np.nan, unknown)

    def _step(self, forecaster: Forecaster, rows: Rows, i: int) -> list[Any]:
        """Learn a row, and return the forecast that was made before."""
        forecast = forecaster.step(rows.y[i], None if rows.exog is None else rows.exog[i])
        if forecast is None or not forecast.is_known:
            return [np.nan] * len(self.names)
        if self.template.is_point:
            return [forecast.mean]
        bounds = (bound for level in self.levels for bound in forecast.interval(level))
        return [forecast.mean, forecast.median, forecast.sd, *bounds]

    def _only_counts(self, state: KeyedState, n_late: int, n_duplicate: int) -> Answer:
        """Return an answer without forecasts: one row if rows were dropped, else none."""
        n = int(n_late + n_duplicate > 0)
        first: dict[str, Any] = {"y": np.full(n, np.nan)} if self.horizon is None else {"step": np.zeros(n, np.int64)}
        columns = first | {name: np.full(n, np.nan) for name in self.names}
        return self._counted(np.full(n, state.time, np.int64), columns, n_late, n_duplicate, state)

    @staticmethod
    def _counted(
        time: Integers, columns: dict[str, Any], n_late: int, n_duplicate: int, state: KeyedState
    ) -> Answer:  # fmt: skip
        """Return an answer whose first row shows the dropped rows since the answer before."""
        for name, count in (("n_late", n_late), ("n_duplicate", n_duplicate)):
            columns[name] = np.zeros(len(time), np.int64)
            columns[name][:1] = count
        return Answer(time, columns, state)


def _newer(rows: Rows, before: int | None) -> tuple[Rows, int, int]:
    """Return the rows that are newer than all before, one for each time, in its order; and two counts of the others."""
    exog = np.empty((len(rows.time), 0)) if rows.exog is None else rows.exog
    order = np.lexsort([*exog.T, rows.y, rows.time])
    time = rows.time[order]
    is_new = np.diff(time, prepend=time[:1] - 1) > 0
    n_late = 0
    if before is not None:
        n_late = int(np.count_nonzero(time < before))
        is_new &= time > before
    kept = order[is_new]
    n_duplicate = len(order) - len(kept) - n_late
    return Rows(rows.time[kept], rows.y[kept], None if rows.exog is None else rows.exog[kept]), n_late, n_duplicate
