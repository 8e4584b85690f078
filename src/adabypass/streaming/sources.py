"""Records as they arrive on standard input, and the signals that end or rotate a stream."""

import io
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from types import FrameType
from typing import Any, BinaryIO, cast

from adabypass.data.reading import STANDARD_INPUT
from adabypass.data.rows import OnAbsent, Rows, open_rows
from adabypass.errors import TableError

READ_BYTES = 1 << 16
"""How much is read at once, if it is there: as much as a pipe holds. Its rows are answered together."""
MAX_LINES = 10
"""Over how many lines a row may go on, in a quoted cell: an unclosed quote must not keep all later rows waiting."""


class Stopped(BaseException):
    """A signal asked the stream to stop; it carries the signal's number."""


class Blocked(Stopped):
    """A signal asked the stream to stop while standard output takes no more answers."""


class StopSignals:
    """Lets SIGTERM and SIGINT stop the stream between two rows, and while it waits for more; notes SIGHUP.

    Attributes
    ----------
    received : int or None
        The signal that is to stop the stream.
    hung_up : bool
        Whether SIGHUP came since this was last set to False; it is noted only after `catch_hangup`.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.hung_up = self.catches_hangup = self.is_waiting = False

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch the signals within the block."""
        before = {number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def catch_hangup(self) -> None:
        """Note SIGHUP from now on, where there is such a signal, instead of ending."""
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda number, frame: setattr(self, "hung_up", True))
            self.catches_hangup = True

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
        """Wait until something can be read; call `idle` whenever it is time for it."""
        # One read1 leaves nothing in the file's own buffer, so that the system knows of all that can be read.
        while (due := idle_due()) < inf and not select.select([self._file], [], [], max(due, 0.0))[0]:
            self._stop.is_waiting = False  # a write is not to be interrupted
            idle()
            self._stop.is_waiting = True
            self._stop.check()


class TextSource:
    """Records of CSV or JSON lines.

    Parameters
    ----------
    file : binary file
    answer, stop, idle, idle_due
        As of `ArrivingInput`.
    on_bad : function
        Takes the error about a record that is none, and its number.
    """

    def __init__(
        self, file: BinaryIO, answer: Callable[[], None], stop: StopSignals, on_bad: Callable[[TableError, int], None],
        idle: Callable[[], None], idle_due: Callable[[], float],
    ) -> None:  # fmt: skip
        self._input = cast(BinaryIO, ArrivingInput(file, answer, stop, idle, idle_due))
        self._on_bad = on_bad
        self._rows: Rows | None = None

    @property
    def place(self) -> Rows:
        """Where the newest record is; the first time it is asked for, the header is read."""
        if self._rows is None:
            self._rows = open_rows(self._input, STANDARD_INPUT, max_lines=MAX_LINES, on_bad_row=self._on_bad_row)
        return self._rows

    @property
    def number(self) -> int:
        """The number of the newest record, from 1; 0 before the header is read."""
        return 0 if self._rows is None else self._rows.row

    def select(self, names: Sequence[str], on_absent: OnAbsent | None = None) -> Iterator[Sequence[Any]]:
        """Yield the cells of these columns, for each record."""
        return self.place.select(names, on_absent)

    def prefix(self, number: int) -> str:
        """Return how an error about the record of this number begins."""
        return f"{STANDARD_INPUT}: row {number}, "

    def labels(self, number: int) -> dict[str, int]:
        """Return where the record of this number was, by names."""
        return {"row": number}

    def header_again(self) -> TableError | None:
        """Return the error about the newest record if it is a header."""
        return self.place.header_again()

    def text(self) -> str:
        """Return the newest record as it came."""
        return self.place.record

    def _on_bad_row(self, error: TableError) -> None:
        self._on_bad(error, self.number)
