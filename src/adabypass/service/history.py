"""The newest answers of each series, in SQLite: what pages show, and what a reader who was away catches up with.

What the stream has learned is in its own file and needs none of this. An answer is written after its row was learned;
whatever is missing after a crash comes again when the stream is resumed, with the same numbers.
"""

import json
import sqlite3
import threading
import uuid
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from adabypass.errors import StateError

NAME = "answers.sqlite"
FORMAT = 1
PRUNE_EVERY = 64
"""Answers of a series between two removals of its oldest ones."""
MAX_KEYS = 100_000
"""Idempotency keys that are remembered."""
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE series (id TEXT PRIMARY KEY, number INTEGER NOT NULL, title TEXT, unit TEXT) WITHOUT ROWID;
CREATE TABLE answers (number INTEGER PRIMARY KEY, series INTEGER NOT NULL, time TEXT NOT NULL, flag TEXT,
    body TEXT NOT NULL);
CREATE INDEX answers_of_series ON answers (series, number);
CREATE INDEX answers_at ON answers (series, time);
CREATE INDEX answers_flagged ON answers (series, number) WHERE flag IS NOT NULL;
CREATE TABLE keys (key TEXT PRIMARY KEY, asked TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER, body TEXT);
"""


class SeriesEntry(NamedTuple):
    """A series as a person has described it."""

    id: str
    title: str | None
    unit: str | None


class Kept(NamedTuple):
    """One answer: its number in the stream, its series, and all that it says as JSON."""

    number: int
    id: str
    time: str
    flag: str | None
    """"anomaly", "change" or both; None for most."""
    body: str


class Request(NamedTuple):
    """A request with an idempotency key."""

    asked: str
    """Checksum of what it asked for."""
    first: int
    """Number of the row before its own."""
    body: str | None
    """What was answered; None if the process ended before it was."""


class History:
    """Answers by number and series.

    Parameters
    ----------
    folder : Path, optional
        None: in memory.
    keep : int
        Answers of each series.
    """

    def __init__(self, folder: Path | None, keep: int) -> None:
        self.keep, self._lock = keep, threading.Lock()
        self._file = sqlite3.connect(
            ":memory:" if folder is None else folder / NAME, check_same_thread=False, isolation_level=None
        )
        self._file.execute("PRAGMA trusted_schema=OFF")
        self._file.execute("PRAGMA journal_mode=WAL")
        self._file.execute("PRAGMA synchronous=NORMAL")  # a killed process loses nothing
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            self._file.close()
            raise StateError(
                f"{NAME} in {folder} is damaged ({error}); move it away: only the answers for pages are lost."
            ) from error
        self._numbers = dict(self._file.execute("SELECT id, number FROM series"))
        self._names = {number: id for id, number in self._numbers.items()}
        self._since_pruned: dict[int, int] = {}

    def _open(self) -> None:
        version = self._file.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            self._file.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version={FORMAT}; COMMIT;")
            self._file.execute("INSERT INTO meta VALUES ('instance', ?)", (uuid.uuid4().hex,))
        elif version != FORMAT:
            raise StateError(f"{NAME} has format {version}, but this version reads {FORMAT}; move it away.")
        self.instance: str = self._file.execute("SELECT value FROM meta WHERE name='instance'").fetchone()[0]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    def register(self, id: str, title: str | None = None, unit: str | None = None) -> None:
        """Describe a series, known or not."""
        with self._lock:
            self._number(id)
            self._file.execute("UPDATE series SET title=?, unit=? WHERE id=?", (title, unit, id))

    def entries(self) -> list[SeriesEntry]:
        """Return all series, in the order in which they came."""
        with self._lock:
            rows = self._file.execute("SELECT id, title, unit FROM series ORDER BY number")
            return [SeriesEntry(*row) for row in rows]

    def add(self, answers: Iterable[Kept]) -> None:
        """Keep answers; those that are there stay as they are."""
        with self._lock, closing(self._file.cursor()) as cursor:
            cursor.execute("BEGIN")
            try:
                self._add(cursor, answers)
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
            cursor.execute("COMMIT")

    def _add(self, cursor: sqlite3.Cursor, answers: Iterable[Kept]) -> None:
        for number, id, time, flag, body in answers:
            series = self._number(id)
            cursor.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", (number, series, time, flag, body))
            self._since_pruned[series] = self._since_pruned.get(series, 0) + 1
            if self._since_pruned[series] >= PRUNE_EVERY:
                self._prune(cursor, series)

    def _prune(self, cursor: sqlite3.Cursor, series: int) -> None:
        self._since_pruned[series] = 0
        cursor.execute(
            "DELETE FROM answers WHERE series=?1 AND number <= "
            "(SELECT number FROM answers WHERE series=?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
            (series, self.keep),
        )

    def _number(self, id: str) -> int:
        found = self._numbers.get(id)
        if found is None:
            found = 1 + max(self._names, default=0)
            self._file.execute("INSERT INTO series (id, number) VALUES (?, ?)", (id, found))
            self._numbers[id], self._names[found] = found, id
        return found

    def newest(self, id: str, n: int, before: int | None = None) -> list[str]:
        """Return the newest answers of a series in the order of their rows, as JSON.

        Parameters
        ----------
        n : int
        before : int, optional
            Only answers to rows before this number.
        """
        with self._lock:
            rows = self._file.execute(
                "SELECT body FROM answers WHERE series=? AND number<? ORDER BY number DESC LIMIT ?",
                (self._numbers.get(id, -1), 1 << 62 if before is None else before, n),
            )
            return [row[0] for row in rows][::-1]

    def flagged(self, id: str, n: int) -> list[str]:
        """Return the newest answers of a series that are anomalies or changes, as JSON, the newest first."""
        with self._lock:
            rows = self._file.execute(
                "SELECT body FROM answers WHERE series=? AND flag IS NOT NULL ORDER BY number DESC LIMIT ?",
                (self._numbers.get(id, -1), n),
            )
            return [row[0] for row in rows]

    def at(self, id: str, time: str) -> str | None:
        """Return the answer to the row of a series that had this time, as JSON."""
        with self._lock:
            row = self._file.execute(
                "SELECT body FROM answers WHERE series=? AND time=?", (self._numbers.get(id, -1), time)
            ).fetchone()
            return None if row is None else str(row[0])

    def after(self, number: int, ids: Sequence[str] | None, n: int) -> list[Kept]:
        """Return the next answers after a row, of all series or of some."""
        with self._lock:
            if ids is None:
                rows = self._file.execute("SELECT * FROM answers WHERE number>? ORDER BY number LIMIT ?", (number, n))
                return [self._kept(row) for row in rows]
            wanted = [self._numbers[id] for id in ids if id in self._numbers]
            marks = ",".join("?" * len(wanted))
            rows = self._file.execute(
                f"SELECT * FROM answers WHERE number>? AND series IN ({marks}) ORDER BY number LIMIT ?",
                (number, *wanted, n),
            )
            return [self._kept(row) for row in rows]

    def _kept(self, row: Sequence[Any]) -> Kept:
        number, series, time, flag, body = row
        return Kept(number, self._names.get(series, ""), time, flag, body)

    def was_pruned(self, number: int, ids: Sequence[str] | None) -> bool:
        """Return whether answers after a row may have been removed again."""
        with self._lock:
            wanted = list(self._numbers) if ids is None else [id for id in ids if id in self._numbers]
            for id in wanted:
                first, n = self._file.execute(
                    "SELECT min(number), count(*) FROM answers WHERE series=?", (self._numbers[id],)
                ).fetchone()
                if n >= self.keep and first > number + 1:
                    return True
            return False

    def forget(self, id: str) -> None:
        """Forget a series, and all answers about it."""
        with self._lock, closing(self._file.cursor()) as cursor:
            number = self._numbers.pop(id, None)
            if number is None:
                return
            self._names.pop(number)
            cursor.execute("BEGIN")
            cursor.execute("DELETE FROM answers WHERE series=?", (number,))
            cursor.execute("DELETE FROM series WHERE id=?", (id,))
            cursor.execute("COMMIT")

    def has_answers(self, id: str) -> bool:
        """Return whether there are answers about a series."""
        return bool(self.newest(id, 1))

    def request(self, key: str) -> Request | None:
        """Return the request that had an idempotency key."""
        with self._lock:
            row = self._file.execute("SELECT asked, first, body FROM keys WHERE key=?", (key,)).fetchone()
            return None if row is None else Request(*row)

    def begin_request(self, key: str, asked: str, first: int) -> None:
        """Note a request before its rows are learned."""
        with self._lock:
            self._file.execute("INSERT OR REPLACE INTO keys (key, asked, first) VALUES (?, ?, ?)", (key, asked, first))
            self._file.execute(
                "DELETE FROM keys WHERE rowid <= (SELECT max(rowid) FROM keys) - ?", (MAX_KEYS,)
            )  # fmt: skip

    def end_request(self, key: str, body: str | None) -> None:
        """Note what was answered; None: nothing was learned."""
        with self._lock:
            if body is None:
                self._file.execute("DELETE FROM keys WHERE key=?", (key,))
            else:
                self._file.execute("UPDATE keys SET body=? WHERE key=?", (body, key))

    def pending_requests(self) -> list[tuple[str, int]]:
        """Return key and first row of the requests that were not answered when the process ended."""
        with self._lock:
            return list(self._file.execute("SELECT key, first FROM keys WHERE body IS NULL"))


def flag_of(answer: dict[str, Any]) -> str | None:
    """Return what kind of flag an answer has."""
    flags = [name for name in ("anomaly", "change") if answer.get(name)]
    return ",".join(flags) or None


def dumps(value: Any) -> str:
    """Return JSON; numbers that it does not have become null."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if -1e999 < value < 1e999 else None
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value
