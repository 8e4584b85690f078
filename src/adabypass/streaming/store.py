"""The store of a stream as it is written: commits, checkpoints, and a refusal that changes nothing."""

import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

from adabypass.errors import StateError
from adabypass.files import FilePath, open_own
from adabypass.snapshots.versions import FORMAT, base_header
from adabypass.streaming.folder import DATABASE, LOG, CommitCount, check_folder, lock_folder
from adabypass.streaming.store_reader import (
    APPLICATION,
    KIND,
    MAX_META_BYTES,
    PAGE_SIZE,
    SCHEMA,
    SavedSeries,
    StoreReader,
    checksum_of,
)

SYNC_INTERVAL = 1.0
"""Seconds that may pass before what was committed is flushed to the disk, unless every commit is."""
LOG_PAGES = 4096
"""Pages of the write-ahead log after which SQLite moves them into the database: 16 MB."""
LOG_BYTES = 1 << 26
"""Size of the log that stays after a large checkpoint."""


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
        self._process = os.getpid()
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
            for pragma in (f"page_size={PAGE_SIZE}", "auto_vacuum=NONE", "journal_mode=WAL", "synchronous=FULL"):
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
                "INSERT INTO inputs VALUES (?, ?, ?, ?)", (number, data, text, checksum_of(number, data, text))
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
                    (kept, positions, checksum_of(number, kept, positions), number),
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

    def __del__(self) -> None:
        """Let another stream have the folder when this one is gone, which is left as a killed process leaves it."""
        if getattr(self, "_process", None) == os.getpid():
            with suppress(Exception):
                self.close(is_refused=True)
