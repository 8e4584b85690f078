"""The series of a stream: as many in memory as there is room for, those used longest ago in the store only."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adabypass.data.times import parse_time
from adabypass.errors import AdabypassError, StateError, UnknownNameError
from adabypass.forecasting import Forecaster
from adabypass.panel.ahead import forecast_ahead
from adabypass.panel.ids import check_distinct
from adabypass.panel.learning import NOTHING, Rows, StepOutput
from adabypass.panel.panel import Panel
from adabypass.panel.results import PanelForecast
from adabypass.results.changes import ChangeMonitor
from adabypass.streaming.store_reader import SavedSeries, StoreReader
from adabypass.validation import Floats, Integers, shown

START_OF_SEARCH = (-1.0, 1.0)
"""Where the search for an interval's bounds starts."""
MAX_ROWS = 4096
"""Rows that are learned at once: their forecasts take 14 MB."""
MAX_VALUES = 1 << 20
"""Numbers of such rows: where there are thousands of exogenous columns, fewer rows are learned at once."""
EVICTED_SHARE = 8
"""One of so many series leaves when there is no more room."""


class Series:
    """What is known of one series besides its row of numbers."""

    __slots__ = ("cell", "key", "number", "slot")

    def __init__(self, key: str, number: int, slot: int) -> None:
        self.key, self.number = key, number
        """The id as JSON, and how many series came before."""
        self.slot = slot
        """Place of its row in memory."""
        self.cell = ""
        """Time of its newest row, as JSON; "" if rows have no time."""

    @property
    def time(self) -> Any:
        """The same as a number or a datetime; None if rows have no time."""
        return checked_time(self.cell) if self.cell else None


class SeriesCache(dict[str, Series]):
    """The series in memory, by id as JSON; asked for another one, it loads it, or begins it anew.

    Parameters
    ----------
    template : Forecaster
        With the settings of every series, untrained.
    n_exog : int
        Number of exogenous columns.
    false_alarms : float, optional
        Maximum rate of false alarms, if changes and anomalies are watched for.
    max_bytes : int
        Memory of the rows; more is taken only while a batch of rows needs it.
    n_threads : int, optional
        By default as many as there are processors.

    Attributes
    ----------
    starts : array (n_slots, 2)
        Where the search for the bounds of each newest interval ended.
    monitors : list of ChangeMonitor
        By slot, if changes and anomalies are watched for.
    n_rows : array (n_slots,)
        Rows that each series has learned.
    newest : array (n_slots,)
        How many rows the stream had learned after the newest of each series.
    """

    def __init__(
        self,
        template: Forecaster,
        n_exog: int,
        *,
        false_alarms: float | None,
        max_bytes: int,
        n_threads: int | None = None,
    ) -> None:
        super().__init__()
        self._template, self.engine, self.n_exog = template, template._engine, n_exog
        self._panel = Panel(template, n_threads=n_threads)
        self._rows, _ = self._panel._started(n_exog)
        self.row_size = self.engine.row_size(n_exog)
        self.max_rows = max(1, min(MAX_ROWS, MAX_VALUES // (1 + n_exog)))
        self.capacity = max(1, max_bytes // (8 * self._rows.store.stride))
        self._watched: Rows = NOTHING
        if false_alarms is not None:
            self._watched = np.array(self.engine.learned_positions(("drift",), n_exog), np.intp)
        self._false_alarms = false_alarms
        self.store: StoreReader | None = None
        self.n_series = self.next_number = 0
        """Series in memory and in the store; the number of the next."""
        self.n_resumed: int | None = None
        """Rows that were learned when the stream was resumed; None before that is done."""
        self.gone: set[int] = set()
        """Numbers of series that the store has, and is to forget."""
        self.gone_keys: set[str] = set()
        self.in_slot: list[Series | None] = []
        self.starts: Floats = np.empty((0, 2))
        self.n_rows: Integers = np.zeros(0, np.int64)
        self.newest: Integers = np.zeros(0, np.int64)
        self._is_dirty = np.zeros(0, bool)
        self.monitors: list[ChangeMonitor] = []

    def __missing__(self, key: str) -> Series:
        found = self._load(key)
        if found is None:
            found = self._take(key, self.next_number)
            self.next_number += 1
            self.n_series += 1
        return found

    def find(self, key: str) -> Series | None:
        """Return a series if there is one, in memory or in the store."""
        return self[key] if key in self or self._is_stored(key) else None

    def _is_stored(self, key: str) -> bool:
        return self.store is not None and key not in self.gone_keys and self._load(key) is not None

    def _load(self, key: str) -> Series | None:
        """Take a series over from the store; None if it is not there."""
        if self.store is None or key in self.gone_keys:
            return None
        saved = self.store.load(key)
        if saved is None:
            return None
        is_own = self.n_resumed is not None and saved.newest > self.n_resumed  # this process has written it
        row, starts, monitor = self.checked(saved, is_own=is_own)
        series = self._take(key, saved.number)
        slot = series.slot
        self.row(slot)[:] = row
        self.starts[slot] = starts
        self.n_rows[slot], self.newest[slot] = saved.n_rows, saved.newest
        if monitor is not None:
            self.monitors[slot] = monitor
        series.cell = saved.time
        return series

    def checked(self, saved: SavedSeries, *, is_own: bool = False) -> tuple[Floats, Floats, ChangeMonitor | None]:
        """Return the row of a saved series, the start of its search and its monitor; refuse what cannot be run."""
        if len(saved.row) != 8 * (self.row_size + 2):
            raise StateError(
                f"series {shown(saved.key)} has a row of {len(saved.row) // 8 - 2} numbers, but the settings need "
                f"{self.row_size}."
            )
        values = np.frombuffer(saved.row, "<f8")
        try:
            if not is_own:
                self.engine.check_row(values[:-2], self.n_exog)
            monitor = None
            if saved.monitor is not None and self._false_alarms is not None:
                monitor = ChangeMonitor(np.frombuffer(saved.monitor, "<f8"), false_alarms=self._false_alarms)
        except (AdabypassError, ValueError) as error:
            raise StateError(f"series {shown(saved.key)}: {str(error).rstrip('.')}.") from error
        return values[:-2], values[-2:], monitor

    def _take(self, key: str, number: int) -> Series:
        """Give a series a slot, whose row begins anew."""
        slot = self._rows.add(1)[0]
        if slot >= len(self.in_slot):
            self._grow()
        self.starts[slot] = START_OF_SEARCH
        self.n_rows[slot] = self.newest[slot] = 0
        self._is_dirty[slot] = False
        if self._false_alarms is not None:
            self.monitors[slot] = ChangeMonitor(false_alarms=self._false_alarms)
        series = self[key] = self.in_slot[slot] = Series(key, number, slot)
        return series

    def _grow(self) -> None:
        n = max(16, len(self.in_slot))
        self.in_slot += [None] * n
        self.starts = np.concatenate([self.starts, np.tile(START_OF_SEARCH, (n, 1))])
        self.n_rows, self.newest = (
            np.concatenate([each, np.zeros(n, np.int64)]) for each in (self.n_rows, self.newest)
        )
        self._is_dirty = np.concatenate([self._is_dirty, np.zeros(n, bool)])
        if self._false_alarms is not None:
            self.monitors += [ChangeMonitor()] * n

    @property
    def blank_row(self) -> Floats:
        """The row of a series of which nothing was seen."""
        return self._rows.new_row

    def row(self, slot: int) -> Floats:
        """Return the row of a slot: its memory, not a copy."""
        row: Floats = self._rows.store.row(slot)
        return row

    def learn(
        self, slots: Rows, y: Floats, exog: object, finish: Callable[[StepOutput, Rows], None] | None
    ) -> StepOutput:
        """Forecast each row, then learn it; return the forecasts.

        Parameters
        ----------
        slots : array
            Of the series of each row.
        finish : function, optional
            Called in several threads, when some rows are learned, all those of their series among them: with the
            forecasts so far, and which rows these are.
        """
        self._is_dirty[slots] = True
        return self._panel._step_rows(slots, y, exog, self._watched, finish)

    def forecast(self, slots: Rows, horizon: int, levels: tuple[float, ...]) -> PanelForecast:
        """Forecast the series in these slots; exogenous values that are not known are filled as the settings say."""
        X = np.full((len(slots), horizon, self.n_exog), np.nan)
        if self.n_exog:
            for each, slot in zip(X, slots.tolist(), strict=True):
                each[:] = self.engine.fill_ahead(self.row(slot), each)
        workers = self._panel._workers(len(slots) * horizon)
        return forecast_ahead(self.engine, self._rows.store, slots, X, workers, (), levels, (), None)

    def note_rows(self, slots: Rows, first: int) -> None:
        """Count rows of these series, of which the first was row `first` of the stream."""
        if len(slots) == 1:  # as a stream has it that waits for each row
            self.n_rows[slots[0]] += 1
            self.newest[slots[0]] = first
            return
        np.add.at(self.n_rows, slots, 1)
        self.newest[slots] = np.arange(first, first + len(slots))

    @property
    def n_dirty(self) -> int:
        """Series that the store has not as they are."""
        return int(np.count_nonzero(self._is_dirty))

    def dirty(self) -> Iterator[SavedSeries]:
        """Yield each series that the store has not as it is."""
        for slot in np.flatnonzero(self._is_dirty).tolist():
            yield self.saved(slot)

    def saved(self, slot: int) -> SavedSeries:
        """Return what is kept of the series in a slot."""
        series = self.in_slot[slot]
        assert series is not None
        content = np.concatenate([self.row(slot), self.starts[slot]]).astype("<f8", copy=False).tobytes()
        monitor = self.monitors[slot].memory.astype("<f8").tobytes() if self.monitors else None
        n_rows, newest = int(self.n_rows[slot]), int(self.newest[slot])
        return SavedSeries(series.number, series.key, series.cell, n_rows, newest, content, monitor)

    def note_saved(self) -> None:
        """Note that the store has every series as it is."""
        self._is_dirty[:] = False
        self.gone.clear()
        self.gone_keys.clear()

    def restart(self, series: Series) -> None:
        """Let a series begin anew; the time of its newest row stays known."""
        slot = series.slot
        self.row(slot)[:] = self._rows.new_row
        self.starts[slot] = START_OF_SEARCH
        self.n_rows[slot] = 0
        self._is_dirty[slot] = True
        if self._false_alarms is not None:
            self.monitors[slot] = ChangeMonitor(false_alarms=self._false_alarms)

    def known(self) -> Iterator[tuple[str, str, int]]:
        """Yield id, newest time and place of the newest row of each series, in memory or not."""
        for key, series in self.items():
            yield key, series.cell, int(self.newest[series.slot])
        if self.store is not None:
            for _, key, cell, _, newest in self.store.summaries():
                if key not in self and key not in self.gone_keys:
                    yield key, cell, newest

    def drop(self, key: str) -> None:
        """Forget a series that there is; the store forgets it with its next checkpoint."""
        series = self.get(key)
        if series is not None:
            self._leave(series)
            number: int | None = series.number
        else:
            number = None if self.store is None else self.store.number_of(key)
        if number is not None:
            self.gone.add(number)
        self.gone_keys.add(key)
        self.n_series -= 1

    def _leave(self, series: Series) -> None:
        del self[series.key]
        self.in_slot[series.slot] = None
        self._is_dirty[series.slot] = False
        self._rows.give_back([series.slot])

    def panel(self, keys: list[str], ids: list[Any]) -> Panel:
        """Return a panel of copies of series; those that are not in memory are read from the store."""
        panel = Panel(self._template, n_threads=self._panel.n_threads)
        missing = next((at for at, key in enumerate(keys) if key not in self and not self._has(key)), None)
        if missing is not None:
            raise UnknownNameError(f"the stream has no series {shown(ids[missing])}.")
        rows, slots = panel._rows_of(check_distinct(ids), self.n_exog)
        for key, slot in zip(keys, slots.tolist(), strict=True):
            rows.store.row(slot)[:] = self.row(self[key].slot) if key in self else self._stored_row(key)
        return panel

    def _has(self, key: str) -> bool:
        return self.store is not None and key not in self.gone_keys and self.store.number_of(key) is not None

    def _stored_row(self, key: str) -> Floats:
        saved = None if self.store is None else self.store.load(key)
        assert saved is not None
        return self.checked(saved)[0]

    @property
    def is_crowded(self) -> bool:
        """Whether so many series have changed that they take more memory than there should be."""
        return len(self) > self.capacity and self.n_dirty > self.capacity

    def make_room(self) -> None:
        """Let series leave memory that were used longest ago, where the store has them as they are."""
        excess = len(self) - self.capacity
        if self.store is None or excess <= 0:
            return
        slots = np.array([series.slot for series in self.values()], np.intp)
        clean = slots[~self._is_dirty[slots]]
        n = min(len(clean), excess + self.capacity // EVICTED_SHARE)
        if n == 0:
            return
        for slot in clean[np.argpartition(self.newest[clean], n - 1)[:n]].tolist():
            series = self.in_slot[slot]
            assert series is not None
            self._leave(series)


def checked_time(text: str) -> Any:
    """Return a time of the store as a number or a datetime."""
    try:
        return parse_time(json.loads(text))
    except (ValueError, RecursionError):
        raise StateError(f"the store holds the time {shown(text)}, which is none.") from None
