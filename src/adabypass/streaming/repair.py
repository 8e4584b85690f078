"""What can still be read of a damaged folder: series whose checksums fit, and rows up to the first damage."""

import os
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from adabypass.errors import StateError
from adabypass.files import FilePath, sync_folder
from adabypass.streaming.batches import unpack
from adabypass.streaming.folder import COMMITS, DATABASE, LOG, SHARED, lock_folder, required_commits
from adabypass.streaming.ids import id_of
from adabypass.streaming.learner import Learner
from adabypass.streaming.store import Store
from adabypass.streaming.store_reader import MAX_NUMBER, SavedSeries, StoreReader

DAMAGED = f"{DATABASE}.damaged"
LOG_HEAD, FRAME_HEAD, SALTS = 32, 24, slice(8, 16)
"""Bytes before the frames of a write-ahead log, and before the page of each; where a frame has its log's salts."""
PAGE_SIZE_AT = 16
MAX_PAGES = 1 << 32


class Repaired(NamedTuple):
    """What a repair has kept, and what it has given up."""

    n_series: int
    lost_ids: list[Any]
    """Series that could not be read, and begin anew."""
    n_kept: int
    """Rows since the last checkpoint that could be read."""
    n_lost: int
    """Commits after them that could not."""


def repair(path: FilePath) -> Repaired:
    """Keep what can be read of a damaged folder: each series whose checksum fits, and rows up to the first damage.

    The damaged file stays beside the new one, with its log, as `stream.sqlite.damaged`, then `.damaged.2`.
    """
    folder = Path(path)
    if not (folder / DATABASE).exists():
        raise StateError(f"{path} holds no state of a stream: there is no {DATABASE} in it.")
    locked = lock_folder(folder)
    work = Path(mkdtemp(prefix=".repair-", dir=folder))
    try:
        found, best = _best_copy(folder, work)
        damaged = next(each for each in _names(folder) if not each.exists() and not _log_of(each).exists())
        os.replace(folder / DATABASE, damaged)
        if (folder / LOG).exists() and (folder / LOG).stat().st_size:
            os.replace(folder / LOG, _log_of(damaged))
        for name in (LOG, SHARED):
            (folder / name).unlink(missing_ok=True)
        os.replace(best / DATABASE, folder / DATABASE)
        (folder / COMMITS).unlink(missing_ok=True)
        sync_folder(folder)
        return found
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(locked)


def _names(folder: Path) -> Iterator[Path]:
    """Yield the names that a damaged file may take."""
    yield folder / DAMAGED
    for number in range(2, 1 << 30):
        yield folder / f"{DAMAGED}.{number}"


def _log_of(database: Path) -> Path:
    """Return where SQLite looks for the log of a file."""
    return database.with_name(f"{database.name}-wal")


def _best_copy(folder: Path, work: Path) -> tuple[Repaired, Path]:
    """Write a new store of what can be read; return what was found, and its folder.

    SQLite reads a log up to its first damage. What comes after that is mostly whole, and is read as well: whether it is
    right is told by the checksums of series and rows, as it always is.
    """
    n_required = required_commits(folder)
    sources = [folder]
    if (folder / LOG).exists():
        whole = work / "whole log"
        whole.mkdir()
        if _apply_log(folder, whole / DATABASE):
            sources.append(whole)
    copies: list[tuple[Repaired, Path]] = []
    errors: list[StateError] = []
    for number, source in enumerate(sources):
        try:
            with closing(_DamagedStore(source, n_required)) as old:
                copies.append((_copy_readable(old, work / str(number)), work / str(number)))
        except StateError as error:
            errors.append(error)
    if not copies:
        raise errors[0]
    return max(copies, key=lambda copy: (copy[0].n_series, copy[0].n_kept, -copy[0].n_lost))


def _apply_log(folder: Path, to: Path) -> bool:
    """Copy a database with all pages of its log, damaged or not; return whether there were any."""
    log = (folder / LOG).read_bytes()
    shutil.copyfile(folder / DATABASE, to)
    with to.open("r+b") as file:
        size = int.from_bytes(file.read(PAGE_SIZE_AT + 2)[PAGE_SIZE_AT:], "big")
        size = 1 << 16 if size == 1 else size
        if size < 512 or size & (size - 1):
            return False
        frames = [log[at : at + FRAME_HEAD + size] for at in range(LOG_HEAD, len(log) - size, FRAME_HEAD + size)]
        every = [frame[SALTS] for frame in frames]
        salts = max(set(every), key=every.count, default=b"")  # older frames have others
        frames = [frame for frame in frames if frame[SALTS] == salts]
        while frames and not any(frames[-1][4:8]):  # the last frame of a commit has the number of pages
            frames.pop()
        for frame in frames:
            (number,) = struct.unpack_from(">I", frame)
            if 0 < number < min(MAX_PAGES, len(frames) + 1 + os.fstat(file.fileno()).st_size // size):
                file.seek((number - 1) * size)
                file.write(frame[FRAME_HEAD:])
        return bool(frames)


def _copy_readable(old: "_DamagedStore", work: Path) -> Repaired:
    """Write a new store of what can be read."""
    settings = old.settings.part("settings")
    learner = Learner.of_settings(settings)
    good: dict[int, str] = {}
    lost: dict[Any, None] = {}
    for number, key, saved in old.readable():
        try:
            assert saved is not None
            learner.series.checked(saved)
            good[number] = saved.key
        except (AssertionError, StateError):
            lost[id_of(key) if key is not None else None] = None
    batches: list[tuple[bytes, Any]] = []
    with suppress(StateError):
        for data, positions in old.inputs():
            learner.checked(unpack(data, learner.series.n_exog))
            batches.append((data, positions))
    n_lost = max(0, old.n_expected - len(batches))
    values = old.progress.named_values() | {"n_series": len(good)}
    with closing(Store(work, settings.named_values(), values, always=True)) as store:
        store.checkpoint(values, (old.saved(number) for number in sorted(good)), [])
        for data, positions in batches:
            store.append(data, positions)
    n_kept = sum(len(unpack(data, learner.series.n_exog)) for data, _ in batches)
    n_missing = old.progress.whole("n_series", maximum=MAX_NUMBER) - len(good)
    return Repaired(len(good), list(lost) + [None] * max(0, n_missing - len(lost)), n_kept, n_lost)


class _DamagedStore(StoreReader):
    """A store of which as much is read as can be."""

    def __init__(self, path: FilePath, n_required: int) -> None:
        self._n_required = n_required
        super().__init__(path)

    def _check(self, n_required: int) -> None:
        """Check nothing but the settings and the progress: what is read is checked by its checksums."""
        self.settings, self.progress = self._meta("settings"), self._meta("progress")
        self.n_series = self.progress.whole("n_series", maximum=MAX_NUMBER)
        self._first_batch = 1 + self.progress.whole("n_commits", maximum=MAX_NUMBER)
        self.n_expected = max(0, self._n_required - self._first_batch + 1)
        """Commits since the last checkpoint, as far as is known."""

    def readable(self) -> Iterator[tuple[int, str | None, SavedSeries | None]]:
        """Yield number and id of each series, and what is kept of it; None where that cannot be read."""
        seen: set[int] = set()
        for order in ("ASC", "DESC"):  # what cannot be reached from one end may be from the other
            with suppress(sqlite3.Error):
                for (number,) in self._execute(f"SELECT number FROM memory ORDER BY number {order}"):
                    if number not in seen:
                        seen.add(number)
                        yield (number, *self._readable(number))

    def saved(self, number: int) -> SavedSeries:
        """Return what is kept of a series that was readable."""
        _, saved = self._readable(number)
        assert saved is not None
        return saved

    def _readable(self, number: int) -> tuple[str | None, SavedSeries | None]:
        key = None
        with suppress(sqlite3.Error, StateError, ValueError):
            key = self._one("SELECT key FROM series WHERE number = ?", (number,))
            found = self._execute(f"{self.EVERY} WHERE series.number = ?", (number,)).fetchone()
            if found is not None:
                return key, self._checked(found)
        return (key if isinstance(key, str) else None), None

    def inputs(self) -> Iterator[tuple[bytes, Any]]:
        """Yield the batches since the last checkpoint, up to the first that is missing or does not fit."""
        number = self._first_batch
        with suppress(sqlite3.Error):
            while found := self._execute("SELECT * FROM inputs WHERE number = ?", (number,)).fetchone():
                yield self._checked_batch(found)
                number += 1
