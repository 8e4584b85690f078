"""What an operator does to the folder of a stream: check, repair, back up, drop, reset, merge and compact."""

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adabypass.errors import StateError
from adabypass.files import FilePath, sync_folder
from adabypass.streaming.batches import unpack
from adabypass.streaming.cache import START_OF_SEARCH
from adabypass.streaming.folder import COMMITS, DATABASE, LOG, SHARED, CommitCount, lock_folder
from adabypass.streaming.ids import id_of
from adabypass.streaming.learner import Learner
from adabypass.streaming.store import SavedSeries, Store, StoreReader
from adabypass.streaming.view import learned
from adabypass.validation import shown

DAMAGED = f"{DATABASE}.damaged"


class Checked(NamedTuple):
    """What a check has found."""

    n_series: int
    n_learned: int
    n_since_checkpoint: int
    """Rows that were learned since the last checkpoint, and fit."""


class Repaired(NamedTuple):
    """What a repair has kept, and what it has given up."""

    n_series: int
    lost_ids: list[Any]
    """Series that could not be read, and begin anew."""
    n_kept: int
    """Rows since the last checkpoint that could be read."""
    n_lost: int
    """Commits after them that could not."""


def check(path: FilePath) -> Checked:
    """Read all of a folder, which may be in use, and learn its newest rows; raise a `StateError` about any damage."""
    with StoreReader(path) as store:
        store.check_all()
        n_before = store.progress.whole("n_learned", maximum=1 << 64)
        learner = learned(store)
        for saved in store.every():
            learner.series.checked(saved)
        return Checked(learner.series.n_series, learner.n_learned, learner.n_learned - n_before)


def repair(path: FilePath) -> Repaired:
    """Keep what can be read of a damaged folder: each series whose checksum fits, and rows up to the first damage.

    The damaged file stays beside the new one, as `stream.sqlite.damaged`.
    """
    folder = Path(path)
    with closing(_Lock(folder)):
        old = _DamagedStore(folder)
        work = folder / "repair"
        shutil.rmtree(work, ignore_errors=True)
        try:
            found = _copy_readable(old, work)
        finally:
            old.close()
        for name in (LOG, SHARED, COMMITS):
            (folder / name).unlink(missing_ok=True)
        os.replace(folder / DATABASE, folder / DAMAGED)
        os.replace(work / DATABASE, folder / DATABASE)
        shutil.rmtree(work)
        sync_folder(folder)
        return found


def _copy_readable(old: "_DamagedStore", work: Path) -> Repaired:
    """Write a new store of what can be read."""
    settings = old.settings.part("settings")
    learner = Learner.of_settings(settings)
    good: dict[int, SavedSeries] = {}
    lost: dict[Any, None] = {}
    for key, saved in old.readable():
        try:
            assert saved is not None
            learner.series.checked(saved)
            good[saved.number] = saved
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
        store.checkpoint(values, (good[number] for number in sorted(good)), [])
        for data, positions in batches:
            store.append(data, positions)
    n_kept = sum(len(unpack(data, learner.series.n_exog)) for data, _ in batches)
    n_missing = old.progress.whole("n_series", maximum=1 << 53) - len(good)
    return Repaired(len(good), list(lost) + [None] * max(0, n_missing - len(lost)), n_kept, n_lost)


class _Lock:
    """The lock of a folder."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = lock_folder(folder)

    def close(self) -> None:
        """Let another process have the folder."""
        os.close(self._descriptor)


class _DamagedStore(StoreReader):
    """A store of which as much is read as can be."""

    n_expected = 0
    """Commits since the last checkpoint, as far as is known."""

    def _check_file(self) -> None:
        """Check nothing: what is read is checked by its checksums."""

    def _read_meta(self) -> None:
        self.settings, self.progress = self._meta("settings"), self._meta("progress")
        self.n_series = self.progress.whole("n_series", maximum=1 << 53)
        self._first_batch = 1 + self.progress.whole("n_commits", maximum=1 << 53)
        with closing(CommitCount(self.folder)) as count:
            self.n_expected = max(0, count.n_commits - self._first_batch + 1)

    def readable(self) -> Iterator[tuple[str | None, SavedSeries | None]]:
        """Yield the id of each series, and what is kept of it; None where that cannot be read."""
        seen: set[int] = set()
        for order in ("ASC", "DESC"):  # what cannot be reached from one end may be from the other
            with suppress(sqlite3.Error):
                for (number,) in self._execute(f"SELECT number FROM memory ORDER BY number {order}"):
                    if number not in seen:
                        seen.add(number)
                        yield self._readable(number)

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


def backup(path: FilePath, to: FilePath) -> None:
    """Copy a folder, which may be in use, as it is at one moment.

    Parameters
    ----------
    to
        A new folder.
    """
    target = Path(to)
    if (target / DATABASE).exists():
        raise StateError(f"{to} holds a state already; name a new folder, or remove it.")
    with StoreReader(path) as store:
        target.mkdir(parents=True, exist_ok=True)
        draft = target / f"{DATABASE}.part"
        draft.unlink(missing_ok=True)
        store.copy_to(draft)
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(draft, target / DATABASE)
    sync_folder(target)


def drop(path: FilePath, ids: Iterable[str]) -> int:
    """Forget series of a stopped stream; return how many."""
    with _closed_store(path) as store:
        gone = [_found(store, id).number for id in ids]
        values = store.progress.named_values()
        store.checkpoint(values | {"n_series": store.n_series - len(gone)}, [], gone)
        return len(gone)


def reset(path: FilePath, ids: Iterable[str]) -> int:
    """Let series of a stopped stream begin anew; the times of their newest rows stay known. Return how many."""
    with _closed_store(path) as store:
        learner = Learner.of_settings(store.settings.part("settings"))
        blank = np.append(learner.series.blank_row, START_OF_SEARCH).astype("<f8").tobytes()
        changed = [_found(store, id)._replace(n_rows=0, row=blank, monitor=None) for id in ids]
        store.checkpoint(store.progress.named_values(), changed, [])
        return len(changed)


def merge(paths: Sequence[FilePath], into: FilePath) -> int:
    """Put the series of several stopped streams into one new folder; return how many.

    The streams have the same settings, rows with times, and no series in common.
    """
    target = Path(into)
    if (target / DATABASE).exists():
        raise StateError(f"{into} holds a state already; name a new folder.")
    stores = [StoreReader(path) for path in paths]
    try:
        _check_mergeable(stores)
        first = stores[0]
        values = first.progress.named_values()
        values |= {
            "n_learned": sum(each.progress.whole("n_learned", maximum=1 << 64) for each in stores),
            "n_series": sum(each.n_series for each in stores),
            "events": [event for each in stores for event in each.progress.value("events")],
            "row": 0, "positions": None, "answers": None, "newest_time": "",
        }  # fmt: skip
        values["next_number"] = values["n_series"]
        every = (saved for each in stores for saved in each.every())
        renumbered = (saved._replace(number=number) for number, saved in enumerate(every))
        with closing(Store(into, first.settings.named("settings"), values, always=True)) as store:
            store.checkpoint(values, renumbered, [])
        return int(values["n_series"])
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    finally:
        for each in stores:
            each.close()


def _check_mergeable(stores: Sequence[StoreReader]) -> None:
    first = stores[0].settings.named("settings")
    keys: set[str] = set()
    for store in stores:
        if store.settings.named("settings") != first:
            store.settings.refuse(f"its settings differ from those of {stores[0].folder}")
        if first["time"] is None:
            store.settings.refuse("its rows have no times, and are recognised by their number in one input")
        if store.progress.value("positions") is not None:
            store.settings.refuse("it has positions in a source, which a merged stream would read anew")
        _check_closed(store)
        for _, key, *_ in store.summaries():
            if key in keys:
                store.settings.refuse(f"it has the series {shown(id_of(key))}, as another folder has")
            keys.add(key)


def compact(path: FilePath) -> tuple[int, int]:
    """Give back the room that forgotten series took; return the size in bytes before and after."""
    with _open_store(path) as store:
        return store.compact()


def _open_store(path: FilePath) -> Store:
    if not (Path(path) / DATABASE).exists():
        raise StateError(f"{path} holds no state of a stream: there is no {DATABASE} in it.")
    return Store(path, {}, {}, always=True)


def _closed_store(path: FilePath) -> Store:
    """Open the store of a stream that was stopped in order, so that all its rows were answered."""
    store = _open_store(path)
    try:
        _check_closed(store)
    except BaseException:
        store.close()
        raise
    return store


def _check_closed(store: StoreReader) -> None:
    if next(store.inputs(), None) is not None:
        store.settings.refuse(
            "its stream was killed, or is running: start it again, so that it answers its newest rows, and stop it"
        )


def _found(store: Store, id: str) -> SavedSeries:
    saved = store.load(store.find_key(id))
    assert saved is not None
    return saved
