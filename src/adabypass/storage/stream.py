"""The state of a stream of many series: learned row by row, journaled, saved, and resumed after a crash."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from adabypass.errors import StateError
from adabypass.files import FilePath
from adabypass.forecasting import Forecaster
from adabypass.forecasting.changes import SIZE as CHANGES_SIZE
from adabypass.forecasting.changes import ChangeMonitor
from adabypass.forecasting.rows import row_of, with_row
from adabypass.forecasting.state import describe_settings
from adabypass.model.limits import LARGEST_COUNT
from adabypass.regressors.state import check_layout
from adabypass.snapshots.container import Array, Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.versions import heading
from adabypass.storage.arrays import check_array, checkpoints, lines, stacked, texts
from adabypass.storage.folder import StateFolder
from adabypass.storage.journal import Record, pack
from adabypass.storage.models import STREAM
from adabypass.storage.positions import Positions
from adabypass.validation import Floats, shown

MOST_ROWS = int(LARGEST_COUNT)
NO_DEVIATES = (-1.0, 1.0)
"""Where the search for an interval's bounds starts."""


class Series:
    """One series of a stream: its forecaster, and what its answers need besides."""

    __slots__ = ("answer", "changes", "deviates", "forecaster", "last_cell", "last_time", "resumed_time")

    def __init__(self, forecaster: Forecaster, deviates: Floats, changes: ChangeMonitor | None) -> None:
        self.forecaster, self.deviates, self.changes = forecaster, deviates, changes
        self.answer: Callable[..., Any]
        """Learns a row, and returns its answer."""
        self.last_cell = ""
        """Time of the newest row that was learned, as JSON; "" if rows have no time."""
        self.last_time: Any = None
        """The same as a number or a datetime."""
        self.resumed_time: Any = None
        """The same when the stream was resumed: rows up to it were learned before."""


class Answers(Protocol):
    """A file or a topic of answers that gets, when a stream is resumed, the answers that it lacks, and none twice."""

    def resume(self, header: Header | None) -> None:
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


class SavedStream:
    """The series of a stream, kept in a folder.

    Parameters
    ----------
    path
        Of the folder.
    template : Forecaster
        With the settings of every series, untrained.
    options : dict
        What else must be the same whenever the stream is resumed, by name: the names of its columns.
    n_exog : int
        Number of exogenous columns.
    new_series : function
        Makes a series that answers, of a key, a forecaster, deviates and changes.
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
        template: Forecaster,
        options: dict[str, Any],
        n_exog: int,
        new_series: Callable[[str, Forecaster, Floats | None, Floats | None], Series],
        parse_time: Callable[[Any], Any],
        answers: Answers | None = None,
        positions: Positions | None = None,
        *,
        always: bool,
    ) -> None:
        self._template, self._options, self._n_exog = template, options, n_exog
        self._new_series, self._parse_time, self._answers = new_series, parse_time, answers
        self._positions = positions
        self._settings = describe_settings(template._untrained, template._spec, template.exog) | options
        self.series: dict[str, Series] = {}
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

    def record(self, row: int, key: str, time: str, y: float, exog: list[float] | None) -> None:
        """Note a row that was learned; it is written with the next `commit`."""
        journal = self._journal
        journal.append(pack(row, key, time, y, exog))
        self._advance(row, journal.checksum)

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
            self._folder.save(self._header(), self._arrays(), self._checksum if self._is_new else self.checksum)
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
            for record, checksum in found.journal.records():
                self._replay(record, checksum)
        for each in self.series.values():
            each.resumed_time = each.last_time
        self.save()
        return Resumed(self.n_learned, self.row, n_replayed, n_torn)

    def _replay(self, record: Record, checksum: int) -> None:
        """Learn a row of the journal, just as it was learned before."""
        y, *exog = record.values
        if len(exog) != self._n_exog or any(np.isinf(record.values)):
            raise StateError(f"the journal of {self._folder.path} has a row that does not fit its settings.")
        series = self.series.get(record.key)
        if series is None:
            self._check_key(record.key)
            series = self.series[record.key] = self._new_series(record.key, self._template.copy(), None, None)
        cell = self._note_time(series, record.time)
        answer = series.answer(y, exog or None, cell)
        if self._answers is not None:
            self._answers.add(answer, record.row, record.key)
        self._checksum = checksum
        self._advance(record.row, checksum)

    def _check_key(self, key: str) -> None:
        """Check that the key of a series is an id as JSON, or "" where there are no ids."""
        try:
            is_sound = bool(key) == (self._options.get("id") is not None) and (not key or json.loads(key) is not None)
        except (ValueError, RecursionError):
            is_sound = False
        if not is_sound:
            raise StateError(f"{self._folder.path} holds the id {shown(key)}, which is none.")

    def _note_time(self, series: Series, text: str) -> Any:
        """Let a time be the newest of a series; return its cell."""
        if not text:
            return None
        try:
            cell = json.loads(text)
            series.last_cell, series.last_time = text, self._parse_time(cell)
        except (ValueError, RecursionError):
            raise StateError(f"{self._folder.path} holds the time {shown(text)}, which is none.") from None
        return cell

    def _header(self) -> dict[str, Any]:
        spec = self._template._spec
        return heading(STREAM) | {
            "settings": self._settings,
            "row": self.row,
            "n_learned": self.n_learned,
            "n_series": len(self.series),
            "answers_size": None,
            "answers_ends": None,
            **({} if self._answers is None else self._answers.sync()),
            "positions": None if self._positions is None else self._positions.as_header(),
            "checkpoints": [[count, checksum] for count, checksum in self.checkpoints.items()],
            "layout": spec.shapes(self._n_exog),
        }

    def _arrays(self) -> dict[str, Array]:
        every, size = self.series.values(), self._template._spec.row_size(self._n_exog)
        arrays: dict[str, Array] = {
            "rows": stacked((row_of(each.forecaster) for each in every), len(every), size),
            "deviates": stacked((each.deviates for each in every), len(every), 2),
            "keys": lines(self.series),
            "times": lines(each.last_cell for each in every),
        }
        watched = [each.changes.memory for each in every if each.changes is not None]
        return arrays | ({"changes": np.array(watched)} if watched and len(watched) == len(every) else {})

    def _restore(self, snapshot: Snapshot) -> None:
        """Take over what a snapshot holds; refuse one of other settings, or that does not fit together."""
        header = Header(snapshot.header, snapshot.name)
        if header.text("kind") != STREAM:
            header.refuse(f"it holds {header.text('kind')[:40]!r}, not the state of a stream")
        self._check_settings(header)
        spec, n_series = self._template._spec, header.whole("n_series", maximum=MOST_ROWS)
        check_layout(header, spec.shapes(self._n_exog))
        rows = check_array(snapshot, header, "rows", (n_series, spec.row_size(self._n_exog)))
        deviates = check_array(snapshot, header, "deviates", (n_series, 2))
        changes = None
        if "changes" in snapshot.arrays:
            changes = check_array(snapshot, header, "changes", (n_series, CHANGES_SIZE))
        keys, times = (texts(snapshot, header, name, n_series) for name in ("keys", "times"))
        for i, key in enumerate(keys):
            try:
                self._check_key(key)
                spec.check_row(rows[i], self._n_exog)
            except StateError as error:
                header.refuse(f"series {shown(key)}: {str(error).rstrip('.')}")
            forecaster = with_row(self._template, rows[i].copy(), self._n_exog)
            memory = None if changes is None else changes[i]
            series = self._new_series(key, forecaster, deviates[i].copy(), memory)
            self._note_time(series, times[i])
            self.series[key] = series
        if len(self.series) != n_series:
            header.refuse("it holds a series twice")
        self.row, self.n_learned = (header.whole(name, maximum=MOST_ROWS) for name in ("row", "n_learned"))
        self.checkpoints = checkpoints(header)
        if self._answers is not None:
            self._answers.resume(header)
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
    if isinstance(value, dict):
        return f"{name} {value.get('kind')} {shown(value.get('hyperparameters'))}"
    return f"no {name}" if value in (None, "", []) else f"{name} {shown(value)}"
