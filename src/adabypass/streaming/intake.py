"""From records to rows: read, ordered in time for each series, with the steps of its gaps, each learned once."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from math import nan
from typing import Any, NamedTuple, Protocol, Self

from adabypass.data import cells
from adabypass.data.rows import OnAbsent
from adabypass.data.times import parse_time
from adabypass.errors import BadCellError, TableError, TimeOrderError
from adabypass.streaming.clock import JumpGuard, ReorderWindow, Span, Steps, Time
from adabypass.streaming.rows import Columns, Observations, Row, RowParser, SourceLocation, as_json

MAX_KNOWN = 200_000
"""Series whose newest times are kept in memory; those of others are asked for again."""


class Source(Protocol):
    """Where records come from."""

    @property
    def place(self) -> SourceLocation:
        """Where the newest record is."""

    @property
    def number(self) -> int:
        """The number of the newest record, or the position of its message."""

    def select(self, names: Sequence[str], on_absent: OnAbsent | None = None) -> Iterator[Sequence[Any]]:
        """Yield the cells of these columns, for each record."""

    def prefix(self, number: int) -> str:
        """Return how an error about the record of this number begins."""

    def labels(self, number: int) -> dict[str, int]:
        """Return where the record of this number was, by names."""

    def header_again(self) -> TableError | None:
        """Return the error about the newest record if it is a header."""

    def text(self) -> str:
        """Return the newest record as text."""


class TimeRules(NamedTuple):
    """What the times of records decide, besides their order."""

    steps: Steps | None = None
    """Lets the steps of a gap pass."""
    guard: JumpGuard | None = None
    """Refuses times that are far ahead."""
    window: ReorderWindow[tuple[int, Observations]] | None = None
    """Sorts in records that come a little late."""
    spans: tuple[Span, ...] = ()
    """All spans of these rules, and of those by which series are forgotten, which must fit the times."""

    @classmethod
    def of(
        cls, freq: Any = None, max_jump: Any = None, reorder_window: Any = None, *, period: int | None = None,
        forget_after: Span | None = None, name: Callable[[str], str] = str,
    ) -> Self:  # fmt: skip
        """Return the rules that a user gives.

        Parameters
        ----------
        freq, max_jump, reorder_window : number, timedelta or text, optional
        period : int, optional
            Steps of a season.
        forget_after : Span, optional
        name : function
            Returns what errors call an argument.
        """
        step, jump, window = (
            None if value is None else Span(value, name(argument), is_fixed=argument != "freq")
            for argument, value in (("freq", freq), ("max_jump", max_jump), ("reorder_window", reorder_window))
        )
        return cls(
            None if step is None else Steps(step, period),
            None if jump is None else JumpGuard(jump),
            None if window is None else ReorderWindow(window),
            tuple(span for span in (step, jump, window, forget_after) if span is not None),
        )


class Counts:
    """How many rows were met, and what became of them; a row is a record's value of one target."""

    def __init__(self) -> None:
        self.new = 0
        """Rows that were new, and are learned."""
        self.steps = 0
        """Steps of gaps that passed without a row."""
        self.late = 0
        """Rows that were not later than the newest of their series."""
        self.bad = 0
        """Records that could not be read."""
        self.absent = 0
        """Records that left out a column."""
        self.skipped = 0
        """Rows that were learned before."""
        self.anomalies = self.changes = 0
        """Rows with these flags."""

    def note_bad(self, error: TableError, number: int) -> None:
        """Count a record that is left out."""
        if isinstance(error, TimeOrderError):
            self.late += 1
        else:
            self.bad += 1


class SeriesTime:
    """The newest time of a series."""

    __slots__ = ("cell", "has_met_newest", "n_skipped", "resumed", "time")

    def __init__(self, cell: str) -> None:
        self.cell = cell
        """As JSON; "" if nothing was learned."""
        self.time: Any = parse_time(json.loads(cell)) if cell else None
        self.resumed: Any = self.time
        """The same when the stream was resumed."""
        self.n_skipped = 0
        """Rows since then that were learned before."""
        self.has_met_newest = False
        """Whether the row of that time was among them."""

    @property
    def is_silent(self) -> bool:
        """Whether rows came since the stream was resumed, none of them new, nor the one that was learned last."""
        return self.n_skipped > 0 and not self.has_met_newest and bool(self.time == self.resumed)


class Intake:
    """Makes rows of records.

    Parameters
    ----------
    source : Source
    columns : Columns
    missing, on_bad_row : str
        As of the command.
    rules : TimeRules
    last_time : function
        Returns, for the id of a series, the time of the newest row that it has learned, as JSON; "" if there is none.
    on_bad : function
        Takes the error about a record, and its number, if it is not to end the stream.
    counts : Counts
    was_read : function
        Returns whether the record of a number may have been read before the stream was resumed: then a row that is not
        later than what its series had learned by then was learned; otherwise it is late.
    is_whole : bool
        Whether many records are parsed before any is added: then none that was parsed can fail to be compared.

    Attributes
    ----------
    rows : list of Row
        Those that are to be learned next.
    """

    def __init__(
        self, source: Source, columns: Columns, missing: str, on_bad_row: str, rules: TimeRules,
        last_time: Callable[[str], str], on_bad: Callable[[TableError, int], None], counts: Counts,
        was_read: Callable[[int], bool], *, is_whole: bool = False,
    ) -> None:  # fmt: skip
        self._source, self._columns, self._rules, self._last_time = source, columns, rules, last_time
        self._on_bad, self._counts, self._was_read, self._is_whole = on_bad, counts, was_read, is_whole
        self._is_date: bool | None = None
        self.parser = RowParser(source.place, columns, missing, on_bad_row == "missing")
        self.rows: list[Row] = []
        self.series: dict[str, SeriesTime] = {}

    def take(self, record: Sequence[Any]) -> None:
        """Add the rows of a record, and those that it releases; a record that has none goes to `on_bad`."""
        try:
            found = self.parse(record)
        except TableError as error:
            self._refuse(self._source.header_again() or error, self._source.number)
        else:
            self.add(self._source.number, found)

    def parse(self, record: Sequence[Any]) -> Observations:
        """Return what the newest record holds; raise a `TableError` if that cannot be read or compared."""
        found = self.parser.parse(record)
        if self._rules.spans or self._is_whole:
            self._check_unit(found)
        return found

    def add(self, number: int, found: Observations) -> None:
        """Add the rows of a record of this number, and those that it releases."""
        guard, window = self._rules.guard, self._rules.window
        if guard is not None and found[2] is not None:
            key = found[0][0][0]
            what = guard.refusal(found[2], (self.series.get(key) or self._series(key)).time)
            if what:
                error = self._error(BadCellError, number, f"{cells.show(found[3])} {what}")
                self._refuse(self._source.header_again() or error, number)
                return
        if window is None:
            self._accept(number, found)
        elif found[2] is not None:
            self._accept_all(window.take(found[0][0][0], found[2], (number, found)))

    def drop(self, key: str) -> None:
        """Forget the newest time of a series that begins anew."""
        self.series.pop(key, None)

    def release_all(self) -> None:
        """Add the rows that are still held back."""
        if self._rules.window is not None:
            self._accept_all(self._rules.window.release_all())

    def held(self) -> list[int]:
        """Return the numbers of the records that are held back."""
        return [] if self._rules.window is None else [number for number, _ in self._rules.window.held()]

    def forget(self) -> None:
        """Let the memory of newest times stay bounded; all rows must have been learned."""
        if len(self.series) > MAX_KNOWN:
            self.series.clear()

    def _accept_all(self, released: Iterable[tuple[int, Observations]]) -> None:
        for number, found in released:
            self._accept(number, found)

    def _accept(self, number: int, found: Observations) -> None:
        values, exog, time, cell = found
        if time is None:
            for key, y in values:
                self.rows.append(Row(number, key, "", y, exog))
            self._counts.new += len(values)
            return
        text, guard = as_json(cell), self._rules.guard
        for key, y in values:
            series = self.series.get(key) or self._series(key)
            try:
                if guard is not None and series.time is not None and guard.is_wrong(series.time):
                    series.time = series.resumed = None
                if series.time is not None:
                    if not self._is_later(series, time, number, cell):
                        continue
                    if self._rules.steps is not None:
                        self._pass_steps(self._rules.steps, number, key, series, time, cell)
            except TableError as error:
                self._refuse(error, number)
                continue
            series.time, series.cell = time, text
            self.rows.append(Row(number, key, text, y, exog))
            self._counts.new += 1

    def _is_later(self, series: SeriesTime, time: Any, number: int, cell: Any) -> bool:
        """Return whether a row is later than the newest of its series, or was learned before; refuse any other."""
        try:
            if time > series.time:
                return True
            was_learned = series.resumed is not None and time <= series.resumed and self._was_read(number)
        except TypeError:
            what = f"{cells.show(cell)} cannot be compared with {series.cell}, the time of the row before it"
            raise self._error(BadCellError, number, what) from None
        if not was_learned:
            what = f"{cells.show(cell)} is not later than {series.cell}, the time of the row before it"
            raise self._error(TimeOrderError, number, what)
        self._counts.skipped += 1
        series.n_skipped += 1
        series.has_met_newest |= time == series.resumed
        return False

    def _pass_steps(self, steps: Steps, number: int, key: str, series: SeriesTime, time: Time, cell: Any) -> None:
        """Add a missing value for each step between two rows of a series."""
        n = steps.between(series.time, time)
        if n < 0:
            raise self._error(TimeOrderError, number, f"{cells.show(cell)} {steps.describe(series.cell)}")
        if n:
            self.rows += [Row(number, key, "", nan, [nan] * len(self._columns.exog) or None)] * n
            self._counts.steps += n

    def _check_unit(self, found: Observations) -> None:
        """Refuse a time of another kind than those before it, or than the spans of the rules."""
        values, _, time, cell = found
        is_date = isinstance(time, datetime)
        if time is None or (is_date == self._is_date and not self._is_whole):
            return
        known = (self.series.get(values[0][0]) or self._series(values[0][0])).time
        if self._is_date not in (None, is_date) or (known is not None and isinstance(known, datetime) != is_date):
            self.parser.refuse(
                str(self._columns.time), f"{cells.show(cell)} cannot be compared with the times before it; write all "
                "as dates, or all as numbers",
            )  # fmt: skip
        if is_date != self._is_date:
            for span in self._rules.spans:
                span.of(time)
        self._is_date = is_date

    def _series(self, key: str) -> SeriesTime:
        """Return the times of a series that was not met yet."""
        found = self.series[key] = SeriesTime(self._last_time(key))
        return found

    def _error(self, kind: type[TableError], number: int, what: str) -> TableError:
        line = self._source.place.line if number == self._source.place.row else 0
        where = f" (line {line})" if line and line != number else ""
        return kind(f'{self._source.prefix(number)}column "{self._columns.time}": {what}{where}')

    def _refuse(self, error: TableError, number: int) -> None:
        error.record = error.record or (self._source.text() if number == self._source.number else "")
        self._on_bad(error, number)
