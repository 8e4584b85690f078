"""What `adabypass stream` reads: standard input as it arrives, signals, and cells as values."""

import io
import json
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from math import inf, isfinite, isinf, isnan, nan
from types import FrameType
from typing import Any, BinaryIO, NoReturn, Protocol, TypeAlias

from adabypass.cli import options
from adabypass.data import cells
from adabypass.data.times import times
from adabypass.errors import BadCellError

TIME_HINT = "write times as in 2014-02-01 or 2014-02-01T13:30 (ISO 8601), or as plain numbers"
MAX_ID_LENGTH = 10_000
"""Characters of the id of a series."""
MAX_FLOAT = sys.float_info.max
"""Largest time that is a number: so large a one can still be compared with any other, and written."""
READ_BYTES = 1 << 16
"""How much is read at once, if it is there: as much as a pipe holds. Its rows are answered together."""


class Stopped(BaseException):
    """A signal asked the stream to stop; it carries the signal's number."""


class Blocked(Stopped):
    """A signal asked the stream to stop while standard output takes no more answers."""


class StopSignals:
    """Lets SIGTERM and SIGINT stop the stream between two rows, and while it waits for more."""

    def __init__(self) -> None:
        self.received: int | None = None
        self.is_waiting = False

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch the signals within the block."""
        before = {number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def check(self) -> None:
        """Stop if a signal has come."""
        if self.received is not None:
            raise Stopped(self.received)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        if self.is_waiting:
            raise Stopped(number)


class ArrivingInput(io.BufferedIOBase):
    """Input that has all answers written out before it waits for more.

    Whoever waits for an answer before sending the next row must have it; rows that came together are answered together.

    Parameters
    ----------
    file : binary file
    answer : function
        Writes out all answers.
    stop : StopSignals
    idle : function, optional
        Called when nothing has come for as long as `idle_due` says.
    idle_due : function, optional
        Returns in how many seconds `idle` is to be called.
    """

    def __init__(
        self,
        file: BinaryIO,
        answer: Callable[[], None],
        stop: StopSignals,
        idle: Callable[[], None] | None = None,
        idle_due: Callable[[], float] | None = None,
    ) -> None:
        self._file, self._read1, self._answer, self._stop = file, getattr(file, "read1", file.read), answer, stop
        try:
            file.fileno()
        except (OSError, ValueError):  # a file in memory: nothing is waited for
            idle = None
        self._idle, self._idle_due = idle, idle_due
        self._arrived, self._at = b"", 0

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1, /) -> bytes:
        if self._at >= len(self._arrived):
            self._answer()
            self._arrived, self._at = self._read(), 0
        begin = self._at
        self._at = len(self._arrived) if size < 0 else begin + size
        return self._arrived[begin : self._at]

    def _read(self) -> bytes:
        """Return what has come, when something has; nothing at the end."""
        self._stop.is_waiting = True
        try:
            self._stop.check()
            if self._idle is not None and self._idle_due is not None:
                self._wait(self._idle, self._idle_due)
            arrived: bytes = self._read1(READ_BYTES)
        finally:
            self._stop.is_waiting = False
        return arrived

    def _wait(self, idle: Callable[[], None], idle_due: Callable[[], float]) -> None:
        """Wait until something can be read, or until it is time for `idle`."""
        due = idle_due()
        if due == inf:
            return
        # One read1 leaves nothing in the file's own buffer, so that the system knows of all that can be read.
        if not select.select([self._file], [], [], max(due, 0.0))[0]:
            self._stop.is_waiting = False  # a write is not to be interrupted
            idle()
            self._stop.is_waiting = True
            self._stop.check()


Observation: TypeAlias = tuple[float, list[float] | None, str, Any, Any]
"""One row as values: y; exogenous values, if any; the id of its series as JSON, "" where there is but one; its
time as a number or a datetime, and as it came, None where rows have none."""


class SourceLocation(Protocol):
    """Where the newest row is, for errors."""

    @property
    def row(self) -> int:
        """Its number, from 1; 0 if the source says which row it is."""

    @property
    def line(self) -> int:
        """The number of its line."""

    @property
    def source(self) -> str:
        """What errors call the input."""

    def is_header_again(self) -> bool:
        """Return whether the newest row, which could not be read, is a header."""


class RowParser:
    """Makes observations of the cells of rows.

    Parameters
    ----------
    place : SourceLocation
        Where the newest row is.
    target, key, time, exog
        Names of the columns.
    missing : str
        What becomes of a blank cell of an exogenous column; it is refused if that is "raise".
    bad_is_missing : bool
        Whether a cell that is no number counts as blank.
    """

    def __init__(
        self, place: SourceLocation, target: str, key: str | None, time: str | None,
        exog: tuple[str, ...], missing: str,
        bad_is_missing: bool,
    ) -> None:  # fmt: skip
        self._place, self._target, self._key, self._time, self._exog = place, target, key, time, exog
        self._refuses_blank, self._bad_is_missing = missing == "raise", bad_is_missing
        self.observation = self._only_target if not exog and key is None and time is None else self._all_columns
        """Returns the values of a row; raises a `BadCellError` if it has none."""
        self.n_taken_as_missing = 0
        """Cells so far that were no numbers and counted as blank."""
        self.names = [target, *exog, *([key] if key is not None else []), *([time] if time is not None else [])]

    def _only_target(self, row: Any) -> Observation:
        return self._number(row[0], self._target), None, "", None, None

    def _all_columns(self, row: Any) -> Observation:
        exog, at = self._exog, len(self._exog) + 1
        y = self._number(row[0], self._target)
        known = [self._number(cell, name) for cell, name in zip(row[1:at], exog, strict=True)] if exog else None
        if known is not None and self._refuses_blank and any(map(isnan, known)):
            bad = next(i for i, value in enumerate(known) if isnan(value))
            self._raise_bad_cell(exog[bad], f"is blank; fill it, or {options.FILL_MISSING}")
        key = "" if self._key is None else self._id(row[at], self._key)
        if self._time is None:
            return y, known, key, None, None
        cell = row[-1]
        return y, known, key, self._time_of(cell, self._time), cell

    def _number(self, cell: Any, name: str) -> float:
        """Return a cell as a number: nan where it is blank or says that there is no value."""
        if type(cell) is str:
            try:
                value = float(cell)  # most cells are plain numbers
            except ValueError:
                value = nan
            if isfinite(value) and "_" not in cell:
                return value
        try:
            value = cells.number(cell, self._place.row - 1, cells.Location(name, self._place.source))
            if isinf(value):
                self._raise_bad_cell(name, f"{cells.show(cell)} {cells.TOO_LARGE}")
        except BadCellError:
            if not self._bad_is_missing or self._place.is_header_again():
                raise
            self.n_taken_as_missing += 1
            return nan
        return value

    def _id(self, cell: Any, key: str) -> str:
        """Return the id of a series as JSON, so that 1 and "1" are different series."""
        if cells.is_missing(cell) or (isinstance(cell, str) and not cell.strip()):
            self._raise_bad_cell(key, "is blank, but every row needs the id of its series; fill it")
        try:
            text = _text_id(cell) if type(cell) is str else json.dumps(cell, allow_nan=False)
        except ValueError:  # 1e400, which Python reads as infinity
            self._raise_bad_cell(key, f"{cells.show(cell)} holds a number that is too large; write the id as text")
        if len(text) > MAX_ID_LENGTH:
            self._raise_bad_cell(
                key, f"has {len(text)} characters, too many for an id; at most {MAX_ID_LENGTH} will do"
            )
        return text

    def _time_of(self, cell: Any, name: str) -> Any:
        try:
            return parse_time(cell)
        except BadCellError:
            self._raise_bad_cell(name, f"{cells.show(cell)} is not a time; {TIME_HINT}")

    def _raise_bad_cell(self, name: str, what: str) -> NoReturn:
        cells.raise_bad_cell(name, self._place.row, what, self._place.source, self._place.line)


@lru_cache(maxsize=100_000)
def _text_id(text: str) -> str:
    """Return a text as JSON: ids come again and again."""
    return json.dumps(text)


def parse_time(cell: Any) -> int | float | datetime:
    """Return a time that can be compared: a finite number, or a datetime without a zone, in UTC if there was one."""
    number: Any = cell
    if isinstance(cell, str):
        try:
            number = int(cell)
        except ValueError:
            try:
                number = float(cell)
            except ValueError:
                return _parse_date(cell)
    if not isinstance(number, int | float) or isinstance(number, bool) or not -MAX_FLOAT <= number <= MAX_FLOAT:
        raise BadCellError(f"{cells.show(cell)} is not a time.")
    return number


def _parse_date(text: str) -> datetime:
    try:
        stamp = datetime.fromisoformat(text.strip())
    except ValueError:  # other dates of ISO 8601, such as 2014-02
        found = times([text], cells.Location("time")).values[0].astype("M8[us]").item()
        if not isinstance(found, datetime):  # a year that Python's calendar lacks
            raise BadCellError(f"{cells.show(text)} is not a time.") from None
        return found
    try:
        return stamp if stamp.tzinfo is None else stamp.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise BadCellError(f"{cells.show(text)} is not a time: in UTC, it is beyond the calendar.") from None
