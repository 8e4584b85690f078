"""The series of a stream: rows of a panel, and what else is remembered of each of them."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from adabypass.forecasting import Forecaster
from adabypass.panel.learning import NOTHING, Rows, StepOutput
from adabypass.panel.panel import Panel
from adabypass.results.changes import ChangeMonitor
from adabypass.snapshots.container import Array, Snapshot
from adabypass.snapshots.header import Header
from adabypass.state.alarms import SIZE as MONITOR_SIZE
from adabypass.storage.arrays import check_array, lines, stacked, texts
from adabypass.validation import Floats

NO_DEVIATES = (-1.0, 1.0)
"""Where the search for an interval's bounds starts."""
MAX_ROWS = 4096
"""Rows that are learned at once: their forecasts take 14 MB."""
MAX_VALUES = 1 << 20
"""Numbers of such rows: where there are thousands of exogenous columns, fewer rows are learned at once."""
Row: TypeAlias = tuple[int, str, str, float, list[float] | None]
"""A row that is learned: its number in the input; the id of its series as JSON, "" where there is but one; its time as
JSON, "" where rows have none; the observation, nan if it is missing; and exogenous values, if any."""


class Series:
    """What is remembered of one series besides its row of numbers."""

    __slots__ = ("has_met_newest", "last_cell", "last_time", "n_skipped", "number", "resumed_time")

    def __init__(self, number: int) -> None:
        self.number = number
        """Of its row of numbers."""
        self.last_cell = ""
        """Time of its newest row, as JSON; "" if rows have no time."""
        self.last_time: Any = None
        """The same as a number or a datetime."""
        self.resumed_time: Any = None
        """The same when the stream was resumed: rows up to it were learned before."""
        self.n_skipped = 0
        """Rows since then that were not later."""
        self.has_met_newest = False
        """Whether the row of that time was among them."""

    @property
    def is_silent(self) -> bool:
        """Whether rows came since the stream was resumed, none of them new, nor the one that was learned last."""
        return self.n_skipped > 0 and not self.has_met_newest and bool(self.last_time == self.resumed_time)


class StreamPanel:
    """All series of a stream.

    Parameters
    ----------
    template : Forecaster
        With the settings of every series, untrained.
    n_exog : int
        Number of exogenous columns.
    false_alarms : float, optional
        Maximum rate of false alarms, if changes and anomalies are watched for.
    n_threads : int, optional
        By default as many as there are processors.

    Attributes
    ----------
    known : dict
        The series by their ids as JSON, in the order in which they came.
    interval_starts : array, with a row for each series, and more
        Where the search for the bounds of its newest interval ended.
    monitors : list of ChangeMonitor
        Of each series, if changes and anomalies are watched for.
    max_rows : int
        Rows that should be learned at once, for the sake of memory.
    """

    def __init__(
        self, template: Forecaster, n_exog: int, *, false_alarms: float | None = None, n_threads: int | None = None
    ) -> None:
        self.engine, self.n_exog = template._engine, n_exog
        self.max_rows = max(1, min(MAX_ROWS, MAX_VALUES // (1 + n_exog)))
        self.known: dict[str, Series] = {}
        self.interval_starts: Floats = np.empty((0, 2))
        self.monitors: list[ChangeMonitor] = []
        self._false_alarms = false_alarms
        self._watched: Rows = NOTHING
        if false_alarms is not None:
            self._watched = np.array(self.engine.learned_positions(("drift",), n_exog), np.intp)
        self._panel = Panel(template, n_threads=n_threads)
        self._new: list[str] = []

    def __len__(self) -> int:
        return len(self.known)

    def add(self, key: str) -> Series:
        """Return a new series."""
        series = self.known[key] = Series(len(self.known))
        self._new.append(key)
        return series

    def learn(
        self, rows: Sequence[Row], y: Floats, finish: Callable[[StepOutput, Rows, Rows], None] | None
    ) -> tuple[StepOutput, Rows]:
        """Forecast each row, then learn it; return the forecasts, and the number of each row's series.

        Parameters
        ----------
        y : array
            The observations of the rows.
        finish : function, optional
            Called in several threads, when some rows are learned, all those of their series among them: with the
            forecasts so far, the number of each row's series, and which rows these are.
        """
        self._make_room()
        known = self.known
        numbers = np.array([known[row[1]].number for row in rows], np.intp)
        exog = np.array([row[4] for row in rows]) if self.n_exog else None
        then = None if finish is None else lambda record, chosen: finish(record, numbers, chosen)
        return self._panel._step_rows(numbers, y, exog, self._watched, then), numbers

    def _make_room(self) -> None:
        """Give new series rows of numbers; the settings may turn out to be wrong only here."""
        if not self._new:
            return
        self._panel.add(self._new)
        if self._false_alarms is not None:
            self.monitors += [ChangeMonitor(false_alarms=self._false_alarms) for _ in self._new]
        self._new = []
        if len(self.known) > len(self.interval_starts):
            more = np.tile(NO_DEVIATES, (len(self.known), 1))
            self.interval_starts = np.concatenate(
                [self.interval_starts, more]
            )  # at least twice as many, so that it is seldom done

    def arrays(self) -> dict[str, Array]:
        """Return what a snapshot holds of all series."""
        n, every = len(self.known), self.known.values()
        assert len(self._panel) == n
        arrays: dict[str, Array] = {
            "rows": stacked(self._panel._each_row(), n, self.engine.row_size(self.n_exog)),
            "interval_starts": self.interval_starts[:n],
            "keys": lines(self.known),
            "times": lines(each.last_cell for each in every),
        }
        return arrays | ({"monitors": np.array([each.memory for each in self.monitors])} if self.monitors else {})

    def restore(self, snapshot: Snapshot, header: Header, n: int, check: Callable[[str, Floats], None]) -> list[str]:
        """Take over the `n` series of a snapshot; return the newest time of each.

        Parameters
        ----------
        check : function
            Refuses an id, or a row of numbers.
        """
        rows = check_array(snapshot, header, "rows", (n, self.engine.row_size(self.n_exog)))
        interval_starts = check_array(snapshot, header, "interval_starts", (n, 2))
        keys, times = (texts(snapshot, header, name, n) for name in ("keys", "times"))
        for key, row in zip(keys, rows, strict=True):
            check(key, row)
            self.add(key)
        if len(self.known) != n:
            header.refuse("it holds a series twice")
        self._make_room()
        for row, saved in zip(self._panel._each_row(), rows, strict=True):
            row[:] = saved
        self.interval_starts[:n] = interval_starts
        if "monitors" in snapshot.arrays and self._false_alarms is not None:
            memories = check_array(snapshot, header, "monitors", (n, MONITOR_SIZE))
            self.monitors = [ChangeMonitor(memory, false_alarms=self._false_alarms) for memory in memories]
        return times
