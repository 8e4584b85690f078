"""Rows for a service in this process: standard input, a file that grows, or a series that is replayed."""

import io
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from math import inf, isnan
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from adabypass.data.cells import as_list
from adabypass.data.reading import read_table
from adabypass.data.rows import open_rows
from adabypass.datasets import NAMES, load_dataset
from adabypass.errors import AdabypassError, TableError
from adabypass.service.errors import RefusedError
from adabypass.service.requests import Observation
from adabypass.streaming.ids import id_of
from adabypass.streaming.operations import LimitedNotes
from adabypass.streaming.records import RecordSource
from adabypass.streaming.rows import Columns, RowParser, SourceLocation
from adabypass.streaming.sources import MAX_LINES, ArrivingInput, StopSignals

BATCH = 2_000
"""Rows that are learned at once, if they are there."""
POLL_SECONDS = 0.2
"""Between two looks at a file that grows."""

Learn = Callable[[list[Observation]], None]


class Replay(NamedTuple):
    """A series that is replayed."""

    records: list[dict[str, Any]]
    columns: Columns
    title: str | None = None
    unit: str | None = None


class Feeder:
    """Makes observations of records.

    Parameters
    ----------
    columns : Columns
        Which are read. Without a time, the rows of each series are numbered.
    name : str
        Of the series, where records have no id and one target.
    learn : function
        Takes observations.
    last_time : function
        Returns the time of the newest observation of a series; None if there is none.
    note : function
        Takes a message about a row that is left out.
    """

    def __init__(
        self, columns: Columns, name: str, learn: Learn, last_time: Callable[[str], Any], note: Callable[[str], None]
    ) -> None:
        self._columns, self._name, self._learn, self._last_time = columns, name, learn, last_time
        self._note = LimitedNotes(note)
        self._numbers: dict[str, int] = {}
        self._waiting: list[Observation] = []
        self.stop = Event()

    def follow(self, file: BinaryIO, source: str) -> None:
        """Learn the rows of a file as they come, until it ends."""
        arriving = cast(BinaryIO, ArrivingInput(file, self._flush, StopSignals(), None, lambda: inf))
        rows = open_rows(arriving, source, max_lines=MAX_LINES, on_bad_row=self._refuse)
        self._take(rows.select(self._columns.read), rows)

    def replay(self, replayed: Replay, speed: float) -> None:
        """Learn records, so many a second."""
        source = RecordSource(self._columns)
        self._take(self._paced(source.read(replayed.records), speed), source)

    def _paced(self, records: Iterator[Sequence[Any]], speed: float) -> Iterator[Sequence[Any]]:
        begun = time.monotonic()
        for at, record in enumerate(records):
            wait = begun + at / speed - time.monotonic()
            if wait > 0.0:
                self._flush()
                if self.stop.wait(wait):
                    return
            yield record

    def _take(self, records: Iterator[Sequence[Any]], place: SourceLocation) -> None:
        """Learn records; those that cannot be read are left out."""
        parser = RowParser(place, self._columns, "raise", False)
        for record in records:
            try:
                values, _, parsed, cell = parser.parse(record)
            except TableError as error:
                self._refuse(error)
                continue
            when = cell if isinstance(parsed, datetime) else parsed
            for key, y in values:
                id = self._id(key)
                at = self._number(id) if self._columns.time is None else when
                self._waiting.append(Observation(id, at, None if isnan(y) else y))
            if len(self._waiting) >= BATCH:
                self._flush()
        self._flush()

    def _id(self, key: str) -> str:
        """Return the id of a series as text."""
        found = id_of(key)
        if found is None:
            return self._name
        return "/".join(map(str, found)) if isinstance(found, tuple) else str(found)

    def _number(self, id: str) -> int:
        """Return the number of the next row of a series."""
        if id not in self._numbers:
            last = self._last_time(id)
            self._numbers[id] = int(last) if isinstance(last, int | float) else 0
        self._numbers[id] += 1
        return self._numbers[id]

    def _flush(self) -> None:
        """Learn what waits."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            self._learn(waiting)
        except (RefusedError, AdabypassError) as error:
            if len(waiting) == 1:
                self._note(f"left out: {error}")
                return
            for each in waiting:  # one of them is wrong; the others are learned
                self._waiting = [each]
                self._flush()

    def _refuse(self, error: TableError) -> None:
        self._note(f"left out: {error}")


class GrowingFile(io.RawIOBase):
    """A file to which others append; reading waits at its end.

    Parameters
    ----------
    path : Path
    stop : Event
        Set, it ends the file.
    """

    def __init__(self, path: Path, stop: Event) -> None:
        self._file, self._stop = path.open("rb", buffering=0), stop

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1, /) -> bytes:
        """Return what was appended, when something was; nothing after `stop`."""
        while not self._stop.is_set():
            found = self._file.read(size)
            if found:
                return found
            self._stop.wait(POLL_SECONDS)
        return b""

    def close(self) -> None:
        self._file.close()
        super().close()


def replay_of(source: str, columns: Columns) -> Replay:
    """Return what is to be replayed: a data set of the library, or the rows of a file."""
    if source in NAMES and not Path(source).exists():
        found = load_dataset(source)
        times = found.time.tolist() if found.time.dtype.kind != "M" else np.datetime_as_string(found.time).tolist()
        records = [{"time": when, source: y} for when, y in zip(times, found.y.tolist(), strict=True)]
        return Replay(records, Columns((source,), (), "time"), found.description, found.units)
    table = read_table(source)
    every = [as_list(table.cells(name)) for name in columns.read]
    records = [dict(zip(columns.read, row, strict=True)) for row in zip(*every, strict=True)]
    return Replay(records, columns)
