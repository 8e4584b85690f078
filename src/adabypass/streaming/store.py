"""The store of a stream: series, the rows learned since the last checkpoint, and how far it has come, in SQLite.

    meta      settings, and progress as of the last checkpoint: JSON with a checksum
    series    id, number, time of the newest row, counts: small, so that a million of them are read in a second
    memory    the row of each series, where the search for its interval ended, and the memory of its monitor
    inputs    batches of rows that were learned since the last checkpoint, one for each commit, with checksums

A commit adds one batch. A checkpoint writes the series that changed and deletes the batches, in one transaction.
Nothing in the file is executed: its schema must be the one below, to the letter.
"""

import errno
import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, NoReturn, Self
from urllib.parse import quote

from adabypass.errors import LockedError, StateError
from adabypass.files import FilePath, open_own
from adabypass.snapshots import container
from adabypass.snapshots.header import Header
from adabypass.snapshots.versions import FORMAT, base_header, library_version
from adabypass.streaming.folder import DATABASE, LOG, CommitCount, check_folder, lock_folder, required_commits
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
SYNC_INTERVAL = 1.0
"""Seconds that may pass before what was committed is flushed to the disk, unless every commit is."""
MAX_VALUE_BYTES = 1 << 28
"""Bytes of one value of a table, at most."""
MAX_META_BYTES = 1 << 22
MAX_NUMBER = 1 << 53
SMALL_BYTES = 1 << 25
"""Files up to this size are checked as a whole whenever they are opened; of larger ones all but the table `memory`,
whose rows are checked as they are read."""
LOG_PAGES = 4096
"""Pages of the write-ahead log after which SQLite moves them into the database: 16 MB."""
LOG_BYTES = 1 << 26
"""Size of the log that stays after a large checkpoint."""
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
        return self._refuse(f"the checksum of series {shown(key)} does not fit")

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
        if _checksum_of(number, data, positions) != checksum:
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


class Store(StoreReader):
    """A store that is written; no other process can open it for writing meanwhile.

    Parameters
    ----------
    path
        Of the folder, which is made if there is none.
    settings : dict
        What the stream consists of; kept if the store is new.
    progress : dict
        Of a new stream.
    always : bool
        Whether every commit is flushed to the disk, or what was committed within a second.
    """

    is_writer = True

    def __init__(self, path: FilePath, settings: dict[str, Any], progress: dict[str, Any], *, always: bool) -> None:
        self.folder, self._always = Path(path), always
        self._lock, self._log, self._unflushed_since = -1, -1, None
        self._count: CommitCount | None = None
        self._guard: sqlite3.Connection | None = None
        self._lock = lock_folder(path)
        try:
            check_folder(self.folder)
            self._place = self.folder / DATABASE
            self._count = CommitCount(self.folder)
            self.is_new = self._is_absent() or self._is_blank(self._count.n_commits)
            self._connection = self._connect("mode=rw")
            if self.is_new:
                self._create(settings, progress)
            self._open_log()
            self._read_meta()
        except BaseException:
            self.close(is_refused=True)
            raise

    _unflushed_since: float | None

    def _is_absent(self) -> bool:
        """Return whether there was no file yet, which is made then; refuse a folder whose file was taken away."""
        assert self._count is not None
        if self._place.exists():
            return False
        if self._count.n_commits:
            self._refuse(f"it is missing, after {self._count.n_commits} commits")
        os.close(open_own(self._place, os.O_RDWR | os.O_CREAT))
        return True

    def _is_blank(self, n_required: int) -> bool:
        """Return whether nothing was written to the file yet, as after a crash while it was made; else check it.

        It is only read for that. The connection stays: as long as there is one that reads, SQLite does not move the log
        into the file when another one is closed.
        """
        is_torn = n_required == 0 and self._place.with_name(f"{DATABASE}-journal").exists()  # its first page only
        self._connection = self._guard = self._connect("mode=rw" if is_torn else "mode=ro")
        with self._errors():
            found = [self._one(each) for each in ("SELECT count(*) FROM sqlite_master", "PRAGMA application_id")]
        if found == [0, 0] and n_required == 0:
            return True
        self._check(n_required)
        return False

    def _create(self, settings: dict[str, Any], progress: dict[str, Any]) -> None:
        """Make the tables of a new store."""
        assert self._count is not None
        with self._errors():
            for pragma in ("page_size=4096", "auto_vacuum=NONE", "journal_mode=WAL", "synchronous=FULL"):
                self._execute(f"PRAGMA {pragma}")
            with self._transaction():
                self._execute(f"PRAGMA application_id={APPLICATION}")
                self._execute(f"PRAGMA user_version={FORMAT}")
                for statement in SCHEMA.values():
                    self._execute(statement)
                self._put_meta("settings", base_header(KIND) | {"settings": settings})
                self._put_meta("progress", progress | {"n_series": 0, "n_commits": 0})
            self._execute("PRAGMA wal_checkpoint(TRUNCATE)")  # a log that is lost is then not taken for a new store
        self._count.note(0, is_flushed=True)

    def _open_log(self) -> None:
        """Let the log be flushed by this process."""
        with self._errors():
            self._execute("PRAGMA journal_mode=WAL")
            self._execute(f"PRAGMA synchronous={'FULL' if self._always else 'NORMAL'}")
            self._execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
            self._execute(f"PRAGMA journal_size_limit={LOG_BYTES}")
            self._execute("SELECT count(*) FROM sqlite_master").fetchone()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Do all of the block, or nothing of it."""
        with self._errors():
            self._execute("BEGIN IMMEDIATE")
            try:
                yield
                self._execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._execute("ROLLBACK")
                raise

    def _put_meta(self, name: str, value: dict[str, Any]) -> None:
        text = json.dumps(value, allow_nan=False)
        if len(text) > MAX_META_BYTES:
            raise StateError(f"the {name} of the stream take {len(text)} bytes, but at most {MAX_META_BYTES} are kept.")
        self._execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (name, text, zlib.crc32(text.encode())))

    def append(self, data: bytes, positions: Any = None) -> None:
        """Commit a batch of rows that were learned, and where reading goes on in their source."""
        number = self.n_commits + 1
        text = None if positions is None else json.dumps({"positions": positions})
        with self._errors():
            self._execute(
                "INSERT INTO inputs VALUES (?, ?, ?, ?)", (number, data, text, _checksum_of(number, data, text))
            )
        self._note_commit(number)

    def take_back(
        self, n: int, unpack: Callable[[bytes], Sequence[Any]], pack: Callable[[Sequence[Any]], bytes]
    ) -> None:
        """Cut the last `n` rows off the newest batches, and flush that to the disk.

        Parameters
        ----------
        unpack, pack : function
            Make rows of the bytes of a batch, and bytes of rows.
        """
        with self._transaction():
            number = self.n_commits
            while n > 0 and number >= self._first_batch:
                select = "SELECT data FROM inputs WHERE number = ?"
                rows = unpack(self._one(select, (number,)))
                kept = pack(rows[: max(0, len(rows) - n)])
                positions = self._one("SELECT positions FROM inputs WHERE number = ?", (number - 1,))
                self._execute(
                    "UPDATE inputs SET data = ?, positions = ?, checksum = ? WHERE number = ?",
                    (kept, positions, _checksum_of(number, kept, positions), number),
                )
                n, number = n - len(rows), number - 1
        self.flush(anyway=True)

    def checkpoint(self, progress: dict[str, Any], changed: Iterable[SavedSeries], gone: Sequence[int]) -> None:
        """Write series that changed, forget series by their numbers, and delete the batches of rows: all or nothing."""
        number = self.n_commits + 1
        with self._transaction():
            for table in ("series", "memory"):
                self._connection.executemany(f"DELETE FROM {table} WHERE number = ?", ((each,) for each in gone))
            for each in changed:
                self._execute("INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, ?)", each[:5])
                self._execute("INSERT OR REPLACE INTO memory VALUES (?, ?, ?, ?)", (each[0], *each[5:], each.checksum))
            self._execute("DELETE FROM inputs")
            self._put_meta("progress", progress | {"n_commits": number})
        self._note_commit(number)
        self._first_batch = number + 1

    def _note_commit(self, number: int) -> None:
        assert self._count is not None
        self.n_commits = number
        self._count.note(number, is_flushed=self._always)
        if self._always:
            return
        if self._unflushed_since is None:
            self._unflushed_since = monotonic()
        elif self.flush_due() <= 0.0:
            self.flush()

    def flush_due(self) -> float:
        """Return in how many seconds what was committed is to be flushed to the disk; infinity if it was."""
        since = self._unflushed_since
        return float("inf") if since is None else since + SYNC_INTERVAL - monotonic()

    def flush(self, *, anyway: bool = False) -> None:
        """Flush what was committed to the disk."""
        assert self._count is not None
        if self._unflushed_since is None and not anyway:
            return
        if self._log < 0:
            self._log = open_own(self.folder / LOG, os.O_RDONLY)
        os.fsync(self._log)
        self._unflushed_since = None
        self._count.note(self.n_commits, is_flushed=True)

    def compact(self) -> tuple[int, int]:
        """Give back the room that nothing takes; return the size in bytes before and after."""
        sizes = []
        with self._errors():
            for statement in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM"):
                self._execute(statement)
                sizes.append(self._place.stat().st_size)
            self._execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return sizes[0], self._place.stat().st_size

    def close(self, *, is_refused: bool = False) -> None:
        """Close the store, so that another process can open it.

        Parameters
        ----------
        is_refused : bool
            Whether the files are to stay as they are; otherwise the log is moved into the database.
        """
        connections = [self._guard, getattr(self, "_connection", None)]
        for connection in reversed(connections) if is_refused else connections:
            if connection is not None:
                with suppress(sqlite3.Error):
                    connection.close()
        if self._count is not None:
            self._count.close()
        for descriptor in (self._log, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._log = self._lock = -1


def _checksum_of(number: int, data: bytes, positions: str | None) -> int:
    return zlib.crc32((positions or "").encode("utf-8", "surrogatepass"), zlib.crc32(data, number & 0xFFFFFFFF))
