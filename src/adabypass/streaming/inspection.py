"""What a saved model or a stream's folder holds, in plain values."""

import os
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from adabypass.files import FilePath
from adabypass.snapshots import container
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.versions import FORMAT, OLDEST_FORMAT
from adabypass.streaming.batches import unpack
from adabypass.streaming.folder import DATABASE
from adabypass.streaming.ids import find_key, id_of, panel_id
from adabypass.streaming.store_reader import StoreReader
from adabypass.streaming.view import learned

MAX_IDS = 20
"""Ids of series that are listed."""


def inspect(path: FilePath) -> dict[str, Any]:
    """Return what a file or folder holds: its kind, settings, counts and arrays.

    The checksum of a file is checked, and that the header is one; whether the model can go on is found by `load`. Of a
    folder the tables are checked, and the rows since the last checkpoint.

    Parameters
    ----------
    path
        A saved model, or the folder of a stream, which may be running.
    """
    place = Path(path)
    if not place.is_dir():
        return _of_file(container.read(place), os.stat(place).st_size)
    with StoreReader(place) as store:
        return _of_store(store)


def inspect_series(path: FilePath, id: str) -> dict[str, Any]:
    """Return what the folder of a stream holds of one series: counts, its newest time, and its forecaster.

    Parameters
    ----------
    path
    id : str
        As text; parts have slashes between them: see `panel_id`.
    """
    with StoreReader(path) as store:
        learner = learned(store)
        series = learner.series
        key = find_key(id, lambda each: series.find(each) is not None, (each for each, *_ in series.known()))
        forecaster = series.panel([key], [panel_id(key)])[panel_id(key)]
        known = series[key]
        return {
            "id": id_of(key),
            "n_rows": int(series.n_rows[known.slot]),
            "time": id_of(known.cell),
            "rows_since": learner.n_learned - int(series.newest[known.slot]),
            "forecaster": forecaster,
        }


def _of_file(snapshot: Snapshot, size: int) -> dict[str, Any]:
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
    return found


def _of_store(store: StoreReader) -> dict[str, Any]:
    place = store.folder / DATABASE
    header, progress = store.settings.named_values(), store.progress.named_values()
    settings = dict(header["settings"])
    n_exog, layout = settings["n_exog"], settings.pop("layout")
    positions, last = progress.get("positions"), int(progress["row"])
    counts: Counter[str] = Counter()
    for data, moved in store.inputs():
        rows = unpack(data, n_exog)
        counts.update(row.key for row in rows)
        last = rows[-1].number if rows else last
        positions = moved if moved is not None else positions
    n_since, new = counts.total(), [key for key in counts if store.number_of(key) is None]
    ids = [key for _, key, *_ in islice(store.summaries(), MAX_IDS)] + new
    return {
        "file": str(store.folder),
        "bytes": sum(each.stat().st_size for each in place.parent.glob(f"{place.name}*")),
        "is_readable": True,
        "kind": header["kind"],
        "version": header["version"],
        "format": header["format"],
        "n_learned": int(progress["n_learned"]) + n_since,
        "row": last if positions is None else None,
        "n_since_checkpoint": n_since,
        "n_series": store.n_series + len(new),
        "ids": [id_of(key) for key in ids[:MAX_IDS] if key],
        "positions": positions,
        "settings": settings,
        "fields": {name: shape for name, shape in layout},
    }
