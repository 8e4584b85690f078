"""A panel as plain values: its settings, its ids and its rows, as a snapshot holds them, and the checks of that."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from adabypass.errors import ParameterError, StateError
from adabypass.forecasting.engine import Engine
from adabypass.panel.engines import Given, described_engine
from adabypass.panel.ids import check_distinct, check_ids
from adabypass.panel.results import Id
from adabypass.panel.rows import PanelRows
from adabypass.regressors.base import MAX_FEATURES
from adabypass.regressors.state import check_layout
from adabypass.snapshots.container import Array, Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.versions import base_header
from adabypass.validation import Floats

KIND = "Panel"
MAX_SERIES = 1 << 40


def describe(
    engine: Engine, index: dict[Id, int], rows: PanelRows | None, n_inputs: int | None
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a panel's snapshot."""
    header = base_header(KIND) | {"series": engine.describe(), "n_series": len(index), "n_inputs": n_inputs}
    lines = "".join(f"{json.dumps(each)}\n" for each in index)
    ids = np.frombuffer(lines.encode("utf-8", "surrogatepass"), np.uint8)
    if n_inputs is None:
        return header | {"layout": None}, {"ids": ids}
    table = np.empty((len(index), engine.row_size(n_inputs)))
    for at, row in enumerate(index.values()):
        assert rows is not None
        table[at] = rows.store.row(row)
    return header | {"layout": engine.shapes(n_inputs)}, {"ids": ids, "rows": table}


def check_snapshot(snapshot: Snapshot) -> tuple[Given, list[Id], Iterator[Floats], int | None]:
    """Return the parts of a panel; refuse what does not fit together."""
    header = Header(snapshot.header, snapshot.name)
    if header.text("kind") != KIND:
        header.refuse(f"it holds {header.text('kind')[:40]!r}, not a Panel; use adabypass.load or from_bytes")
    given = described_engine(header.part("series"))
    engine = given.engine
    n_series = header.whole("n_series", maximum=MAX_SERIES)
    n_inputs = header.whole_or_none("n_inputs", maximum=MAX_FEATURES)
    ids = _ids(snapshot, header)
    if len(ids) != n_series:
        header.refuse(f"it has {len(ids)} ids for {n_series} series")
    if n_inputs is None:
        if ids:
            header.refuse("it has series, but does not say how long their rows are")
        return given, [], iter(()), None
    if engine.n_inputs not in (None, n_inputs):
        header.refuse(f"its series have {n_inputs} {engine.inputs}, but {engine.n_inputs} are named")
    try:
        size = engine.row_size(n_inputs)
    except ValueError as error:
        header.refuse(str(error).rstrip("."))
    check_layout(header, engine.shapes(n_inputs))
    rows = snapshot.arrays.get("rows")
    if not isinstance(rows, np.ndarray) or rows.dtype != np.float64 or rows.shape != (n_series, size):
        header.refuse(f"its rows do not have the shape {(n_series, size)}")
    for each, row in zip(ids, rows, strict=True):
        try:
            engine.check_row(row, n_inputs)
        except StateError as error:
            header.refuse(f"series {each!r}: {str(error).rstrip('.')}")
    return given, ids, iter(rows), n_inputs


def _ids(snapshot: Snapshot, header: Header) -> list[Id]:
    lines = snapshot.arrays.get("ids")
    if not isinstance(lines, np.ndarray) or lines.dtype != np.uint8:
        header.refuse("it has no ids")
    try:
        texts = lines.tobytes().decode("utf-8", "surrogatepass").split("\n")
        return check_distinct(check_ids([json.loads(text) for text in texts[:-1]]))
    except (ValueError, RecursionError, ParameterError) as error:
        header.refuse(f"its ids are not ids: {str(error)[:80].rstrip('.')}")
