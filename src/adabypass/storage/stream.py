"""The state of a stream of many series: learned in batches of rows, journaled, saved, and resumed after a crash."""

import json
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from adabypass.errors import StateError
from adabypass.files import FilePath
from adabypass.forecasting.lag_engine import LagEngine
from adabypass.numerics.limits import MAX_COUNT
from adabypass.regressors.state import check_layout
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.versions import base_header
from adabypass.storage.arrays import checkpoints
from adabypass.storage.folder import StateFolder
from adabypass.storage.journal import Record, pack
from adabypass.storage.positions import Positions
from adabypass.storage.series import Row, Series, StreamPanel
from adabypass.validation import Floats, shown

MAX_NUMBER = int(MAX_COUNT)


class Answers(Protocol):
    """A file or a topic of answers that gets, when a stream is resumed, the answers that it lacks, and none twice."""

    def resume(self, position: Any) -> None:
        """Go back to what the header of the snapshot says of it; None if there was no snapshot."""

    def add(self, answer: Any, row: int, key: str) -> object:
        """Add the answer to a row that was learned again, of this number and series."""

    def sync(self) -> dict[str, Any]:
        """Make all answers durable; return what the header says of them: `answers_size` or `answers_ends`."""


class Resumed(NamedTuple):
    """What a stream was resumed with."""

    n_learned: int
    """Rows that were learned before."""
    row: int
    """Number of the last of them in the input."""
    n_replayed: int
    """How many of them were in the journal only."""
    n_torn: int
    """Bytes of a torn tail of the journal, which were cut."""


class DurableStream:
    """The series of a stream, kept in a folder.

    Parameters
    ----------
    path
        Of the folder.
    series : StreamPanel
        New, with nothing learned.
    options : dict
        What else must be the same whenever the stream is resumed, by name: the names of its columns.
    learn : function
        Learns rows, and returns the answer to each.
    parse_time : function
        Makes of the cell of a time what can be compared.
    answers : Answers, optional
        Where answers go, if that is a file or a topic: after a crash it gets the answers that it lacks, and none twice.
    positions : Positions, optional
        For an input of several partitions: where reading goes on in each. The number of a row is then its position.
    always : bool
        Whether every commit is flushed to the disk.
    """

    def __init__(
        self,
        path: FilePath,
        series: StreamPanel,
        options: dict[str, Any],
        learn: Callable[[list[Row]], list[Any]],
        parse_time: Callable[[Any], Any],
        answers: Answers | None = None,
        positions: Positions | None = None,
        *,
        always: bool,
    ) -> None:
        self.series, self._options, self._learn = series, options, learn
        self._parse_time, self._answers, self._positions = parse_time, answers, positions
        described = series.engine.describe()
        self._settings = {"engine": described.pop("kind")} | described | options
        self.row = self.n_learned = self._checksum = 0
        self.checkpoints: dict[int, int] = {}
        """The checksum of all records after 1, 2, 4, 8 ... of them: other input is recognised by it."""
        self._folder = StateFolder(path, always=always)
        self._is_new = True
        self.is_failed = False
        """Whether a write failed, so that what is in memory is ahead of what is on the disk."""
        try:
            self.resumed = self._resume()
        except BaseException:
            self._folder.close()
            raise

    def learn(self, rows: list[Row]) -> list[Any]:
        """Learn rows, which are written to the journal with the next `commit`; return the answer to each."""
        try:
            answers = self._learn(rows)
        except BaseException:
            self.is_failed = True  # nobody knows which of them were learned
            raise
        append = self._journal.append
        for row in rows:
            self._advance(row[0], append(pack(*row)))
        return answers

    def _advance(self, row: int, checksum: int) -> None:
        """Count a row that was learned, and note where it was in the input."""
        self.n_learned = count = self.n_learned + 1
        if self._positions is None:
            self.row = row
        else:
            self._positions.advance(row)
            self.row = count
        if count & (count - 1) == 0:
            self.checkpoints[count] = checksum

    @property
    def checksum(self) -> int:
        """Checksum of all rows that were learned, in order."""
        return self._journal.checksum

    def commit(self) -> None:
        """Write all rows that were noted to the journal."""
        try:
            self._journal.commit()
        except BaseException:
            self.is_failed = True
            raise

    def take_back(self, n: int) -> None:
        """Forget the last `n` rows of the newest commit, whose answers could not be written; the stream ends then."""
        self.is_failed = True
        self._journal.take_back(n)

    def sync_due(self) -> float:
        """Return in how many seconds the journal is to be flushed to the disk; infinity if it is."""
        return self._journal.sync_due()

    def sync(self) -> None:
        """Flush the journal to the disk."""
        try:
            self._journal.sync()
        except BaseException:
            self.is_failed = True
            raise

    def save(self) -> None:
        """Write a snapshot of all series, after which the journal begins anew."""
        if not self._is_new:
            self.commit()
        try:
            self._folder.save(self._header(), self.series.arrays(), self._checksum if self._is_new else self.checksum)
            self._journal, self._is_new = self._folder.journal, False
        except BaseException:
            self.is_failed = True
            raise

    def close(self) -> None:
        """Let another process have the folder; what was not committed is dropped."""
        self._folder.close()

    def _resume(self) -> Resumed:
        found = self._folder.read()
        n_replayed = n_torn = 0
        if found is None and self._answers is not None:
            self._answers.resume(None)
        if found is not None:
            self._restore(found.snapshot)
            n_replayed, n_torn = found.journal.n_records, found.journal.n_torn
            every = found.journal.records()
            while some := list(islice(every, self.series.max_rows)):
                self._replay(some)
        for each in self.series.known.values():
            each.resumed_time = each.last_time
        self.save()
        return Resumed(self.n_learned, self.row, n_replayed, n_torn)

    def _replay(self, records: list[tuple[Record, int]]) -> None:
        """Learn rows of the journal, just as they were learned before."""
        rows = [self._row(record) for record, _ in records]
        answers = self._learn(rows)
        for row, answer, (_, checksum) in zip(rows, answers, records, strict=True):
            if self._answers is not None:
                self._answers.add(answer, row[0], row[1])
            self._advance(row[0], checksum)
        self._checksum = records[-1][1]

    def _row(self, record: Record) -> Row:
        """Return the row of a record, the newest of its series."""
        y, *exog = record.values
        if len(exog) != self.series.n_exog or any(np.isinf(record.values)):
            raise StateError(f"the journal of {self._folder.path} has a row that does not fit its settings.")
        series = self.series.known.get(record.key)
        if series is None:
            self._check_key(record.key)
            series = self.series.add(record.key)
        self._note_time(series, record.time)
        return record.row, record.key, record.time, y, exog or None

    def _check_key(self, key: str) -> None:
        """Check that the key of a series is an id as JSON, or "" where there are no ids."""
        try:
            is_sound = bool(key) == (self._options.get("id") is not None) and (not key or json.loads(key) is not None)
        except (ValueError, RecursionError):
            is_sound = False
        if not is_sound:
            raise StateError(f"{self._folder.path} holds the id {shown(key)}, which is none.")

    def _note_time(self, series: Series, text: str) -> None:
        """Let a time be the newest of a series."""
        if not text:
            return
        try:
            series.last_cell, series.last_time = text, self._parse_time(json.loads(text))
        except (ValueError, RecursionError):
            raise StateError(f"{self._folder.path} holds the time {shown(text)}, which is none.") from None

    def _header(self) -> dict[str, Any]:
        return base_header("Stream") | {
            "settings": self._settings,
            "row": self.row,
            "n_learned": self.n_learned,
            "n_series": len(self.series),
            "answers": None if self._answers is None else self._answers.sync(),
            "positions": None if self._positions is None else self._positions.as_header(),
            "checkpoints": [[count, checksum] for count, checksum in self.checkpoints.items()],
            "layout": self.series.engine.shapes(self.series.n_exog),
        }

    def _restore(self, snapshot: Snapshot) -> None:
        """Take over what a snapshot holds; refuse one of other settings, or that does not fit together."""
        header = Header(snapshot.header, snapshot.name)
        if header.text("kind") != "Stream":
            header.refuse(f"it holds {header.text('kind')[:40]!r}, not the state of a stream")
        self._check_settings(header)
        engine, n_exog = self.series.engine, self.series.n_exog
        check_layout(header, engine.shapes(n_exog))

        def check(key: str, row: Floats) -> None:
            try:
                self._check_key(key)
                engine.check_row(row, n_exog)
            except StateError as error:
                header.refuse(f"series {shown(key)}: {str(error).rstrip('.')}")

        times = self.series.restore(snapshot, header, header.whole("n_series", maximum=MAX_NUMBER), check)
        for series, time in zip(self.series.known.values(), times, strict=True):
            self._note_time(series, time)
        self.row, self.n_learned = (header.whole(name, maximum=MAX_NUMBER) for name in ("row", "n_learned"))
        self.checkpoints = checkpoints(header)
        if self._answers is not None:
            self._answers.resume(header.value("answers"))
        if self._positions is not None:
            self._positions.restore(header)
        self._checksum = header.whole("checksum", maximum=(1 << 32) - 1)

    def _check_settings(self, header: Header) -> None:
        saved = header.named("settings")
        for name, value in self._settings.items():
            if saved.get(name) != value:
                header.refuse(
                    f"it was made with {_shown(name, saved.get(name))}, but now there is {_shown(name, value)}; give "
                    "the same options as before, or another folder"
                )


def _shown(name: str, value: Any) -> str:
    if name == "engine":
        return "a model with lags" if value == LagEngine.kind else "the automatic forecaster"
    if isinstance(value, dict):
        return f"{name} {value.get('kind')} {shown(value.get('hyperparameters'))}"
    return f"no {name}" if value in (None, "", []) else f"{name} {shown(value)}"
