"""The store of a stream as it is read: series, rows since the last checkpoint, and how far it has come, in SQLite.

    meta      settings, and progress as of the last checkpoint: JSON with a checksum
    series    id, number, time of the newest row, counts: small, so that a million of them are read in a second
    memory    the row of each series, where the search for its interval ended, and the memory of its monitor
    inputs    batches of rows that were learned since the last checkpoint, one for each commit, with checksums

A commit adds one batch. A checkpoint writes the series that changed and deletes the batches, in one transaction.
Nothing in the file is executed: its schema must be the one below, to the letter.
"""

import errno
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self
from urllib.parse import quote

from adabypass.errors import LockedError, StateError
from adabypass.files import FilePath
from adabypass.snapshots import container
from adabypass.snapshots.header import Header
from adabypass.snapshots.versions import FORMAT, library_version
from adabypass.streaming.folder import DATABASE, LOG, check_folder, required_commits
from adabypass.streaming.ids import find_key
from adabypass.validation import shown

KIND = "Stream"
APPLICATION = 0x61646162
"""What the file says of itself: "adab" in ASCII."""
SCHEMA = {
    "inputs": "CREATE TABLE inputs (number INTEGER PRIMARY KEY, data BLOB, positions TEXT, checksum INTEGER)",
    "memory": "CREATE TABLE memory (number INTEGER PRIMARY KEY, row BLOB, monitor BLOB, checksum INTEGER)",
    "meta": "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT, checksum INTEGER)",
    "series": "CREATE TABLE series (number INTEGER PRIMARY KEY, key TEXT UNIQUE, time TEXT, n_rows INTEGER, "
    "newest INTEGER)",
}
INDEXES = ("sqlite_autoindex_meta_1", "sqlite_autoindex_series_1")
MAX_VALUE_BYTES = 1 << 28
"""Bytes of one value of a table, at most."""
MAX_META_BYTES = 1 << 22
MAX_NUMBER = 1 << 53
PAGE_SIZE = 4096
SMALL_BYTES = 1 << 25
"""Files up to this size are checked as a whole whenever they are opened; of larger ones all but the table `memory`,
whose rows are checked as they are read."""
CACHE_KB = 32_768
BUSY_SECONDS = 30.0


class SavedSeries(NamedTuple):
    """What is kept of one series."""

    number: int
    key: str
    """Its id as JSON; "" where there is but one series."""
    time: str
    """Time of its newest row as JSON; "" if rows have no time."""
    n_rows: int
    """Rows that it has learned."""
    newest: int
    """How many rows the stream had learned when it learned its newest."""
    row: bytes
    """Its row of numbers, then where the search for its interval ended."""
    monitor: bytes | None
    """Memory of what watches it for changes, if anything does."""

    @property
    def checksum(self) -> int:
        """Checksum of all of it."""
        start = zlib.crc32(f"{self.number},{self.key},{self.time},{self.n_rows},{self.newest}".encode())
        return zlib.crc32(self.monitor or b"", zlib.crc32(self.row, start))


class StoreReader:
    """A store that is read: as it is at the moment, while another process may go on writing.

    Parameters
    ----------
    path
        Of the folder.
    """

    is_writer = False
    EVERY = (
        "SELECT series.number, series.key, series.time, series.n_rows, series.newest, memory.row, memory.monitor, "
        "memory.checksum FROM series LEFT JOIN memory ON memory.number = series.number"
    )

    def __init__(self, path: FilePath) -> None:
        self.folder = Path(path)
        check_folder(self.folder)
        self._place = self.folder / DATABASE
        if not self._place.exists():
            raise StateError(f"{path} holds no state of a stream: there is no {DATABASE} in it.")
        n_required = required_commits(self.folder)
        self._connection = self._connect(
            f"mode={'ro' if self._has_log() or os.access(self.folder, os.W_OK) else 'ro&immutable=1'}"
        )
        try:
            with self._errors():
                self._execute("BEGIN")  # one snapshot for all that is read
            self._check(n_required)
        except BaseException:
            self.close()
            raise

    def _has_log(self) -> bool:
        return (self.folder / LOG).exists()

    def _connect(self, mode: str) -> sqlite3.Connection:
        log = self.folder / LOG
        size = self._place.stat().st_size
        if size < PAGE_SIZE and log.exists() and log.stat().st_size > 0:
            # SQLite would take it for new, and delete the log.
            self._refuse(f"it has {size} bytes, less than its first page, though its log, {LOG}, is not empty")
        place = quote(str(self._place.absolute()))
        with self._errors():
            connection = sqlite3.connect(
                f"file:{place}?{mode}", uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS
            )
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
            for pragma in ("trusted_schema=OFF", "cell_size_check=ON", f"cache_size=-{CACHE_KB}", "temp_store=FILE"):
                connection.execute(f"PRAGMA {pragma}")
        return connection

    def _check(self, n_required: int) -> None:
        """Refuse a file that is no store, is damaged, or ends before the last commit that was counted."""
        self._check_file()
        self._read_meta()
        if self.n_commits < n_required:
            self._refuse(
                f"{n_required} commits were made, but it ends after {self.n_commits}: its log, {LOG}, is damaged or "
                "missing, or the file is an older copy"
            )

    def _execute(self, statement: str, values: Any = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def _check_file(self) -> None:
        """Refuse a file that is no store, is of another format, or is damaged."""
        with self._errors():
            application, number = (self._one(f"PRAGMA {name}") for name in ("application_id", "user_version"))
            if application != APPLICATION:
                raise StateError(f"{self._place} is not a store of adabypass; name another folder.")
            if number != FORMAT:
                raise StateError(
                    f"{self._place} is in format {number}, but this version, {library_version()}, reads format "
                    f"{FORMAT}; use the version that wrote it, or let the stream learn its rows again."
                )
            found = {name: sql for name, sql in self._execute("SELECT name, sql FROM sqlite_master LIMIT 20")}
            if found != {**SCHEMA, **dict.fromkeys(INDEXES)}:
                self._refuse("its tables are not those of a store")
            tables = ("meta", "series", "inputs")
            is_small = self._place.stat().st_size <= SMALL_BYTES
            for check in ["integrity_check(1)"] if is_small else [f"integrity_check({name})" for name in tables]:
                answer = self._one(f"PRAGMA {check}")
                if answer != "ok":
                    self._refuse(str(answer).replace("\n", " ")[:200].removeprefix("*** in database main *** "))

    def check_all(self) -> None:
        """Check the structure of the whole file."""
        with self._errors():
            answer = self._one("PRAGMA integrity_check(1)")
        if answer != "ok":
            self._refuse(str(answer).replace("\n", " ")[:200])

    def copy_to(self, path: Path) -> None:
        """Copy the file as it is now."""
        with self._errors(), closing(sqlite3.connect(path)) as copy:
            self._connection.backup(copy)

    def _one(self, statement: str, values: Any = ()) -> Any:
        found = self._execute(statement, values).fetchone()
        return None if found is None else found[0]

    def _read_meta(self) -> None:
        self.settings = self._meta("settings")
        if self.settings.text("kind") != KIND:
            self.settings.refuse("it is not the state of a stream")
        self.progress = progress = self._meta("progress")
        self.n_series = progress.whole("n_series", maximum=MAX_NUMBER)
        self._first_batch = 1 + progress.whole("n_commits", maximum=MAX_NUMBER)
        with self._errors():
            low, high, n = self._execute("SELECT min(number), max(number), count(*) FROM inputs").fetchone()
            self.n_commits = self._first_batch - 1 if n == 0 else high
            if n and (low != self._first_batch or high - low + 1 != n):
                self._refuse(f"of the rows that were learned since the last checkpoint, batches are missing: {n} of "
                             f"{self._first_batch} to {high} are there")  # fmt: skip
            if self._one("SELECT count(*) FROM series") != self.n_series:
                self._refuse(f"it should have {self.n_series} series")

    def _meta(self, name: str) -> Header:
        with self._errors():
            found = self._execute("SELECT value, checksum, length(value) FROM meta WHERE name = ?", (name,)).fetchone()
        if found is None or type(found[0]) is not str or found[2] > MAX_META_BYTES:
            self._refuse(f"its {name} are missing")
        text = found[0].encode("utf-8", "surrogatepass")
        if zlib.crc32(text) != found[1]:
            self._refuse(f"the checksum of its {name} does not fit")
        return Header(container.parse(text, str(self._place)), str(self._place))

    def load(self, key: str) -> SavedSeries | None:
        """Return what is kept of a series; None if it is not there."""
        with self._errors():
            found = self._execute(f"{self.EVERY} WHERE series.key = ?", (key,)).fetchone()
        return None if found is None else self._checked(found)

    def number_of(self, key: str) -> int | None:
        """Return the number of a series; None if it is not there."""
        with self._errors():
            found: int | None = self._one("SELECT number FROM series WHERE key = ?", (key,))
        return found

    def find_key(self, id: str) -> str:
        """Return the key of the series whose id was written as text."""
        has = lambda key: self.number_of(key) is not None  # noqa: E731
        return find_key(id, has, (key for _, key, *_ in self.summaries()))

    def every(self) -> Iterator[SavedSeries]:
        """Yield what is kept of each series, in the order in which they came."""
        with self._errors():
            for found in self._execute(f"{self.EVERY} ORDER BY series.number"):
                yield self._checked(found)

    def summaries(self) -> Iterator[tuple[int, str, str, int, int]]:
        """Yield number, key, time and counts of each series, in the order in which they came."""
        with self._errors():
            for each in self._execute("SELECT number, key, time, n_rows, newest FROM series ORDER BY number"):
                if [*map(type, each)] != [int, str, str, int, int]:
                    self._refuse(f"what it has of series {shown(each[1])} is of other types")
                yield each

    def _checked(self, found: tuple[Any, ...]) -> SavedSeries:
        """Return a series; refuse one whose checksum does not fit."""
        number, key, time, n_rows, newest, row, monitor, checksum = found
        kinds = [type(each) for each in (number, key, time, n_rows, newest, row)]
        if kinds == [int, str, str, int, int, bytes] and type(monitor) in (bytes, type(None)):
            saved = SavedSeries(number, key, time, n_rows, newest, row, monitor)
            if saved.checksum == checksum:
                return saved
        return self._refuse(f"the checksum of series {key or 'without an id'} does not fit")

    def inputs(self) -> Iterator[tuple[bytes, Any]]:
        """Yield the batches that were learned since the last checkpoint, with the positions of their source."""
        with self._errors():
            for number, data, positions, checksum in self._execute("SELECT * FROM inputs ORDER BY number"):
                yield self._checked_batch((number, data, positions, checksum))

    def _checked_batch(self, found: tuple[Any, ...]) -> tuple[bytes, Any]:
        """Return a batch and its positions; refuse one whose checksum does not fit."""
        number, data, positions, checksum = found
        if type(data) is not bytes or type(positions) not in (str, type(None)):
            self._refuse(f"batch {number} of its rows is none")
        if checksum_of(number, data, positions) != checksum:
            self._refuse(f"the checksum of batch {number} of its rows does not fit")
        return data, None if positions is None else self._parsed(positions)

    def _parsed(self, text: str) -> Any:
        return container.parse(text.encode("utf-8", "surrogatepass"), str(self._place))["positions"]

    def _refuse(self, what: str) -> NoReturn:
        raise StateError(
            f"{self._place} is damaged: {what.rstrip('.')}. Bring the folder back from a copy, or let adabypass state "
            "repair keep what can be read."
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise errors of SQLite as ours."""
        try:
            yield
        except sqlite3.Error as error:
            code, text = getattr(error, "sqlite_errorcode", 0) & 0xFF, str(error)
            if code == sqlite3.SQLITE_FULL:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._place)) from error
            if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
                raise OSError(errno.EIO, text, str(self._place)) from error
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise LockedError(f"{self._place} is in use by another program: {text}.") from error
            if code == sqlite3.SQLITE_NOMEM:
                raise MemoryError from error
            self._refuse(text)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def checksum_of(number: int, data: bytes, positions: str | None) -> int:
    """Return the checksum of a batch of rows."""
    return zlib.crc32((positions or "").encode("utf-8", "surrogatepass"), zlib.crc32(data, number & 0xFFFFFFFF))
