"""What an operator sees of a stream: rows that could not be read, messages at a bounded rate, and counts."""

import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from math import inf
from time import monotonic, process_time, time
from typing import Any, Protocol

from adabypass.errors import TableError
from adabypass.files import errors_naming, replace_file, write_all
from adabypass.streaming.intake import Counts

BURST, BURST_SECONDS = 20, 60.0
"""How many messages of one kind are passed on within so many seconds."""
MAX_RECORD = 100_000
"""Characters of a record that are kept of one that could not be read."""
PREFIX = "adabypass_stream"


class LimitedNotes:
    """Passes on the first messages of a minute, and counts the others.

    Parameters
    ----------
    note : function
        Takes a message.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._began, self._n = -inf, 0

    def __call__(self, message: str) -> None:
        """Pass on a message, or count it."""
        if monotonic() - self._began >= BURST_SECONDS:
            self.report()
            self._began = monotonic()
        self._n += 1
        if self._n <= BURST:
            self._note(message)

    def report(self) -> None:
        """Say how many messages were counted only."""
        if self._n > BURST:
            self._note(f"and {self._n - BURST} more such messages within a minute.")
        self._n = 0


class BadRows(Protocol):
    """Where records go that could not be read."""

    def add(self, letter: str) -> None:
        """Add a record, as a JSON object."""

    def flush(self) -> None:
        """Write out all that were added."""

    def close(self) -> None:
        """Write out all that were added, the last ones."""


def bad_row(error: TableError, place: Mapping[str, int]) -> str:
    """Return what is kept of a record that could not be read, as a JSON object; `place` says where it was."""
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return json.dumps({"at": when, **place, "error": str(error), "record": error.record[:MAX_RECORD]})


class BadRowsFile:
    """A file of JSON lines to which records are added that could not be read; after a crash some may be in it twice."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._waiting: list[str] = []
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)

    def add(self, letter: str) -> None:
        """Add a record, as a JSON object."""
        self._waiting.append(f"{letter}\n")

    def flush(self) -> None:
        """Write out all that were added."""
        if self._waiting:
            content = "".join(self._waiting).encode("utf-8", "backslashreplace")
            self._waiting.clear()
            with errors_naming(self._path):
                write_all(self._descriptor, content)

    def close(self) -> None:
        """Write out all that were added, the last ones."""
        self.flush()
        os.close(self._descriptor)


class Statistics:
    """Counts of a stream, as a line now and then, and as a file for Prometheus.

    Parameters
    ----------
    counts : Counts
    n_series : function
        Returns the number of series.
    seconds : float
        Between two lines.
    note : function, optional
        Takes the line.
    path : str, optional
        Of the file: text in Prometheus' format, as the textfile collector of its node_exporter reads it.
    """

    def __init__(
        self, counts: Counts, n_series: Callable[[], int], seconds: float, note: Callable[[str], None] | None,
        path: str | None,
    ) -> None:  # fmt: skip
        self._counts, self._n_series, self._seconds, self._note, self._path = counts, n_series, seconds, note, path
        self._due = monotonic() + seconds
        self._before = (0, process_time())
        self._row_seconds = 0.0
        self._newest = 0.0

    def due(self) -> float:
        """Return in how many seconds the next report is due."""
        return self._due - monotonic()

    def report(self) -> None:
        """Write the line and the file."""
        self._due = monotonic() + self._seconds
        counts, (n, used) = self._counts, self._before
        self._before = counts.new, process_time()
        if counts.new > n:
            self._row_seconds, self._newest = (self._before[1] - used) / (counts.new - n), time()
        if self._note is not None:
            self._note(
                f"stats: rows={counts.new} series={self._n_series()} us_per_row={1e6 * self._row_seconds:.1f} "
                f"anomalies={counts.anomalies} changes={counts.changes} late={counts.late} bad={counts.bad} "
                f"gap_steps={counts.steps}"
            )
        if self._path is not None:
            replace_file(self._metrics().encode(), self._path)

    def _metrics(self) -> str:
        """Return the counts in Prometheus' text format."""
        counts = self._counts
        every: list[tuple[str, str, str, Any]] = [
            ("rows_total", "counter", "Rows learned since the start of the process.", counts.new),
            ("anomalies_total", "counter", "Rows flagged as anomalies.", counts.anomalies),
            ("changes_total", "counter", "Changes of regime reported.", counts.changes),
            (
                "late_rows_total",
                "counter",
                "Rows refused because they were not later than the row before.",
                counts.late,
            ),
            ("bad_rows_total", "counter", "Records that could not be read.", counts.bad),
            ("gap_steps_total", "counter", "Steps of gaps that passed without a row.", counts.steps),
            ("series", "gauge", "Series in the state.", self._n_series()),
            ("row_seconds", "gauge", "Processor time a row, of the rows since the last report.", self._row_seconds),
            ("newest_row_timestamp_seconds", "gauge", "Time of the clock when rows were last learned.", self._newest),
        ]
        return "".join(
            f"# HELP {PREFIX}_{name} {what}\n# TYPE {PREFIX}_{name} {kind}\n{PREFIX}_{name} {value}\n"
            for name, kind, what, value in every
        )
