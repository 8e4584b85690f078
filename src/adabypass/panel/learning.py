"""The passes through the rows of a panel: what is learned, and what is forecast one step ahead."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adabypass.errors import NotFiniteError
from adabypass.forecasting.engine import Engine
from adabypass.kernels.rows import RowStore, forecast_rows, step_rows
from adabypass.kernels.runner import Runner
from adabypass.panel.threads import CHUNK, chunks, work_through
from adabypass.validation import Floats

Rows: TypeAlias = np.ndarray[Any, np.dtype[np.intp]]
NOTHING: Rows = np.empty(0, np.intp)
NO_ROWS: Floats = np.empty((0, 0))
ONE, ONE_BEGIN = np.zeros(1, np.intp), np.array([0, 1], np.intp)
"""The order of a single observation, and where it begins and ends."""
BLOCK = 256
"""Forecasts whose whole distributions are in memory at once, where their moments come from these: some 3 MB."""
Finish: TypeAlias = Callable[[Rows], None]
"""Takes the numbers of observations that were learned, in the thread that learned them: no other has their series."""


class StepOutput(NamedTuple):
    """What is kept of observations that are learned: no rows of what is not wanted."""

    seen: Floats
    """Mean, variance and log score of each forecast."""
    records: Floats
    """What keeps the rest of each forecast."""
    watched: Rows = NOTHING
    """Which numbers of a series' row are kept after each observation."""
    learned: Floats = NO_ROWS
    """These numbers."""


def new_record(n: int, n_record: int, *, keep: bool, keep_records: bool, watched: Rows = NOTHING) -> StepOutput:
    """Return room for what is kept of `n` observations, whose forecasts have `n_record` numbers."""
    seen, records = np.empty((n if keep else 0, 3)), np.empty((n if keep_records else 0, n_record))
    return StepOutput(seen, records, watched, np.empty((n if len(watched) else 0, len(watched))))


def forecast_next(engine: Engine, store: RowStore, runners: list[Runner], which: Rows, X: Floats) -> StepOutput:
    """Forecast the next observation of every row."""
    found = new_record(len(which), runners[0].n_record, keep=True, keep_records=True)

    def work(runner: Runner, part: slice) -> int:
        forecast_rows(runner, store, which[part], X[part], found.seen[part], found.records[part])
        if not engine.has_moments:
            _fill_moments(engine, found.seen[part], found.records[part], None)
        return int(part.stop - part.start)

    work_through(chunks(np.arange(len(which) + 1), len(runners)), runners, work, None)
    return found


def _fill_moments(engine: Engine, seen: Floats, records: Floats, y: Floats | None) -> None:
    """Write mean and variance of the forecasts that records hold and, where they have come, scores of observations."""
    could = np.flatnonzero(~np.isnan(records[:, 0]))
    if len(could):
        found = engine.predictive(seen[could], records[could])
        seen[could, 0], seen[could, 1] = found.mean, found.var
        if y is not None:
            seen[could, 2] = found.logpdf(y[could])


def _step_rows(
    engine: Engine,
    runner: Runner,
    store: RowStore,
    which: Rows,
    begin: Rows,
    order: Rows,
    y: Floats,
    X: Floats,
    found: StepOutput,
    n_forecast: Rows,
) -> None:
    """Forecast each observation, then learn it; where moments come from records, a block of these at a time."""
    seen, records, watched, learned = found
    if engine.has_moments or not len(seen):
        step_rows(runner, store, which, begin, order, y, X, seen, records, n_forecast, watched, learned)
        return
    n_forecast[:] = 0
    for start in range(int(begin[0]), int(begin[-1]), BLOCK):
        stop = min(start + BLOCK, int(begin[-1]))
        first = int(begin.searchsorted(start, side="right")) - 1
        last = int(begin.searchsorted(stop, side="left"))
        at, n = order[start:stop], stop - start
        block = new_record(n, runner.n_record, keep=True, keep_records=True, watched=watched)
        targets, counts = y[at], np.zeros(last - first, np.intp)
        step_rows(
            runner, store, which[first:last], np.clip(begin[first : last + 1], start, stop) - start, np.arange(n),
            targets, np.ascontiguousarray(X[at]), block.seen, block.records, counts, watched, block.learned,
        )  # fmt: skip
        _fill_moments(engine, block.seen, block.records, targets)
        n_forecast[first:last] += counts
        seen[at] = block.seen
        if len(records):
            records[at] = block.records
        if len(watched):
            learned[at] = block.learned


def learn(
    engine: Engine,
    store: RowStore,
    runners: list[Runner],
    row_of: Rows,
    y: Floats,
    X: Floats,
    record: StepOutput,
    finish: Finish | None = None,
) -> None:
    """Forecast, then learn, observations that belong to the rows `row_of`, in any order of rows.

    Those of one row are learned in the order in which they came, by one thread.
    """
    if len(row_of) == 1:  # as a stream has it that waits for each row: without the work of sorting
        learn_sorted(engine, store, runners, row_of, ONE_BEGIN, ONE, y, X, record, finish)
        return
    order = np.argsort(row_of, kind="stable").astype(np.intp)
    which, first = np.unique(row_of[order], return_index=True)
    begin = np.append(first, len(order)).astype(np.intp)
    learn_sorted(engine, store, runners, which, begin, order, y, X, record, finish)


def learn_sorted(
    engine: Engine,
    store: RowStore,
    runners: list[Runner],
    which: Rows,
    begin: Rows,
    order: Rows,
    y: Floats,
    X: Floats,
    record: StepOutput,
    finish: Finish | None = None,
    progress: Callable[[int], None] | None = None,
) -> Rows:
    """Learn observations that are sorted by row; return how many of each row could be forecast.

    Parameters
    ----------
    which : array (n,)
        Rows.
    begin : array (n + 1,)
        Where in `order` the observations of each row begin.
    order : array
        Numbers of the observations.
    record : StepOutput
        Filled with what is to be kept.
    finish : function, optional
        Called with the numbers of the observations of some rows, when these are learned.
    """
    n_forecast = np.zeros(len(which), np.intp)

    def work(runner: Runner, part: slice) -> int:
        bounds = begin[part.start : part.stop + 1]
        _step_rows(engine, runner, store, which[part], bounds, order, y, X, record, n_forecast[part])
        if finish is not None:
            finish(order[bounds[0] : bounds[-1]])
        return int(bounds[-1] - bounds[0])

    work_through(chunks(begin, len(runners)), runners, work, progress)
    return n_forecast


def learn_rectangle(
    engine: Engine,
    store: RowStore,
    runners: list[Runner],
    which: Rows,
    y: Floats,
    X: Floats,
    keep: bool,
    progress: Callable[[int], None] | None,
) -> Floats:
    """Learn a rectangle of observations (n_series, n_steps), a part of the series at a time, to save memory.

    Returns mean, variance and log score of each forecast, (n_series * n_steps, 3), or no rows.
    """
    n_series, n_steps = y.shape
    seen = np.empty((y.size if keep else 0, 3))

    def work(runner: Runner, part: slice) -> int:
        n = part.stop - part.start
        place = slice(part.start * n_steps, part.stop * n_steps)
        targets = y[part].reshape(-1).copy()
        check_targets(targets)  # again: the caller may have changed them
        found = StepOutput(seen[place] if keep else seen, np.empty((0, runner.n_record)))
        _step_rows(
            engine, runner, store, which[part], np.arange(n + 1) * n_steps, np.arange(n * n_steps), targets, X[place],
            found, np.empty(n, np.intp),
        )  # fmt: skip
        return int(n * n_steps)

    work_through(chunks(np.arange(n_series + 1) * n_steps, len(runners)), runners, work, progress)
    return seen


def check_targets(y: Floats) -> None:
    """Check that no observation is infinite, a part at a time."""
    flat = y.reshape(-1)
    for start in range(0, len(flat), 64 * CHUNK):
        infinite = np.flatnonzero(np.isinf(flat[start : start + 64 * CHUNK]))
        if len(infinite):
            at = start + int(infinite[0])
            place = ", ".join(str(int(i)) for i in np.unravel_index(at, y.shape))
            raise NotFiniteError(f"y[{place}] is {flat[at]}, but must be finite, or nan if the observation is missing.")
