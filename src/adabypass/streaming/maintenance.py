"""What an operator does to the folder of a stream: check, back up, drop, reset, merge and compact."""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import numpy as np

from adabypass.errors import StateError
from adabypass.files import MAX_NAME_LENGTH, FilePath, sync_folder
from adabypass.streaming.cache import START_OF_SEARCH
from adabypass.streaming.folder import DATABASE
from adabypass.streaming.ids import id_of
from adabypass.streaming.learner import Learner
from adabypass.streaming.store import Store
from adabypass.streaming.store_reader import SavedSeries, StoreReader
from adabypass.streaming.view import learned
from adabypass.validation import shown


class Checked(NamedTuple):
    """What a check has found."""

    n_series: int
    n_learned: int
    n_since_checkpoint: int
    """Rows that were learned since the last checkpoint, and fit."""


def check(path: FilePath) -> Checked:
    """Read all of a folder, which may be in use, and learn its newest rows; raise a `StateError` about any damage."""
    with StoreReader(path) as store:
        store.check_all()
        n_before = store.progress.whole("n_learned", maximum=1 << 53)
        learner = learned(store)
        for saved in store.every():
            learner.series.checked(saved)
        return Checked(learner.series.n_series, learner.n_learned, learner.n_learned - n_before)


def backup(path: FilePath, to: FilePath) -> None:
    """Copy a folder, which may be in use, as it is at one moment.

    Parameters
    ----------
    to
        A new folder.
    """
    with StoreReader(path) as store, _new_folder(to) as draft:
        store.copy_to(draft / DATABASE)
        with (draft / DATABASE).open("rb") as file:
            os.fsync(file.fileno())


@contextmanager
def _new_folder(path: FilePath) -> Iterator[Path]:
    """Give the block a folder beside `path`, which takes that place at its end; a failed block leaves nothing."""
    place = Path(path).absolute()
    if (place / DATABASE).exists():
        raise StateError(f"{path} holds a state already; name a new folder, or remove it.")
    if place.is_symlink() or (place.exists() and not (place.is_dir() and not any(place.iterdir()))):
        raise StateError(f"{path} exists, and is not an empty folder; name a new one.")
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".{place.name[:MAX_NAME_LENGTH]}-{token_hex(8)}")
    draft.mkdir()
    try:
        yield draft
        sync_folder(draft)
        os.replace(draft, place)  # which is empty, if it is there: nothing is lost
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_folder(place.parent)


def drop(path: FilePath, ids: Iterable[str]) -> int:
    """Forget series of a stopped stream; return how many."""
    with _closed_store(path) as store:
        gone = sorted({_found(store, id).number for id in ids})
        values = store.progress.named_values()
        store.checkpoint(values | {"n_series": store.n_series - len(gone)}, [], gone)
        return len(gone)


def reset(path: FilePath, ids: Iterable[str]) -> int:
    """Let series of a stopped stream begin anew; the times of their newest rows stay known. Return how many."""
    with _closed_store(path) as store:
        learner = Learner.of_settings(store.settings.part("settings"))
        blank = np.append(learner.series.blank_row, START_OF_SEARCH).astype("<f8").tobytes()
        chosen = {saved.number: saved for saved in (_found(store, id) for id in ids)}
        changed = [saved._replace(n_rows=0, row=blank, monitor=None) for saved in chosen.values()]
        store.checkpoint(store.progress.named_values(), changed, [])
        return len(changed)


def merge(paths: Sequence[FilePath], into: FilePath) -> int:
    """Put the series of several stopped streams into one new folder; return how many.

    The streams have the same settings, rows with times, and no series in common.
    """
    with ExitStack() as stack:
        stores = [stack.enter_context(StoreReader(path)) for path in paths]
        _check_mergeable(stores)
        draft = stack.enter_context(_new_folder(into))
        first = stores[0]
        values = first.progress.named_values()
        values |= {
            "n_learned": sum(each.progress.whole("n_learned", maximum=1 << 53) for each in stores),
            "n_series": sum(each.n_series for each in stores),
            "events": [event for each in stores for event in each.progress.value("events")],
            "row": 0, "positions": None, "answers": None, "stream_time": [None, None, 0], "believed_time": None,
        }  # fmt: skip
        values["next_number"] = values["n_series"]
        every = (saved for each in stores for saved in each.every())
        renumbered = (saved._replace(number=number) for number, saved in enumerate(every))
        with closing(Store(draft, first.settings.named("settings"), values, always=True)) as store:
            store.checkpoint(values, renumbered, [])
        return int(values["n_series"])


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
