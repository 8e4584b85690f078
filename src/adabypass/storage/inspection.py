"""What a saved model, a stream's folder or a journal holds, in plain values, without making a model of it."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from adabypass.errors import StateError
from adabypass.files import FilePath
from adabypass.numerics.limits import MAX_COUNT
from adabypass.snapshots import container
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.versions import FORMAT, OLDEST_FORMAT
from adabypass.storage import folder, journal
from adabypass.storage.positions import unpack

MAX_ATTEMPTS = 10
"""How often the folder of a running stream is read again because a new snapshot came in between."""
MAX_IDS = 20
"""Ids of series that are listed."""


def inspect(path: FilePath) -> dict[str, Any]:
    """Return what a file or folder holds: its kind, settings, counts and arrays.

    The checksum is checked, and that the header is one; whether the model can go on is found by `load`.

    Parameters
    ----------
    path
        A saved model, the folder of `adabypass stream --state`, or the snapshot in it.
    """
    place = Path(path)
    if not place.is_dir():
        return describe(container.read(place), os.stat(place).st_size)
    found, size = _read_at_once(place)
    whole = describe(found.snapshot, size)
    whole |= {"journal": _journal(found.journal, whole)}
    return whole | _totals(found, whole)


def _read_at_once(place: Path) -> tuple[folder.FolderContent, int]:
    """Return what a folder holds, and the size of its snapshot, also while a stream replaces one after another."""
    for _ in range(MAX_ATTEMPTS):
        before = _identity(place)
        found = folder.read(place)
        # A journal goes when the next snapshot is there: as long as there is none, it was read with its snapshot.
        if _identity(place) == before:
            break
    if found is None:
        raise StateError(f"{place} holds no state: there is no {folder.SNAPSHOT} in it.")
    return found, os.stat(place / folder.SNAPSHOT).st_size


def _identity(place: Path) -> tuple[int, int] | None:
    """Return what distinguishes the newest snapshot from those before it; None if there is none."""
    try:
        newest = os.stat(place / folder.SNAPSHOT)
    except FileNotFoundError:
        return None
    return newest.st_ino, newest.st_mtime_ns


def describe(snapshot: Snapshot, size: int) -> dict[str, Any]:
    """Return what a snapshot of `size` bytes holds."""
    header = dict(snapshot.header)
    layout = header.pop("layout", None)
    number = header.get("format")
    is_read = isinstance(number, int) and OLDEST_FORMAT <= number <= FORMAT
    found = {"file": snapshot.name, "bytes": size, "is_readable": is_read, **header}
    if isinstance(layout, list):
        found["fields"] = {str(each[0]): each[1] for each in layout if isinstance(each, list) and len(each) == 2}
    found["arrays"] = {name: list(array.shape) for name, array in snapshot.arrays.items()}
    found["numbers_not_finite"] = sum(
        int(array.size - np.isfinite(array).sum()) for array in snapshot.arrays.values() if array.dtype.kind == "f"
    )
    if header.get("kind") == "Stream" and "keys" in snapshot.arrays:
        ids = snapshot.arrays["keys"].tobytes().decode("utf-8", "replace").split("\n")[:-1]
        found["ids"] = [each for each in ids if each][:MAX_IDS]
    return found


def _totals(found: folder.FolderContent, whole: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of snapshot and journal together: what a stream that is resumed here has learned."""
    known = found.snapshot.arrays.get("keys", np.empty(0, np.uint8)).tobytes().decode("utf-8", "replace")
    keys = dict.fromkeys(known.split("\n")[:-1]) | {record.key: None for record, _ in found.journal.records()}
    n_saved = Header(found.snapshot.header, found.snapshot.name).whole("n_learned", maximum=int(MAX_COUNT))
    totals = {"n_learned": n_saved + found.journal.n_records, "n_series": len(keys)}
    if whole.get("positions") is None:
        totals["row"] = whole["journal"]["last_row"]
    return totals | {"ids": [each for each in keys if each][:MAX_IDS]}


def _journal(found: journal.JournalContents, whole: dict[str, Any]) -> dict[str, Any]:
    last = found.last
    has_positions = whole.get("positions") is not None
    return {
        "n_records": found.n_records,
        "last_row": whole.get("row") if last is None or has_positions else last.row,
        "last_position": list(unpack(last.row)) if last is not None and has_positions else None,
        "last_time": None if last is None else last.time,
        "torn_bytes": found.n_torn,
    }
