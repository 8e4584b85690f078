"""A forecaster as plain values: its engine and its row, as a header says them, and the checks of that."""

from typing import Any

from adabypass.errors import AdabypassError, StateError
from adabypass.forecasting.engine import SeriesEngine
from adabypass.forecasting.lag_engine import LagEngine
from adabypass.forecasting.structure_engine import StructureEngine
from adabypass.regressors.base import MAX_FEATURES
from adabypass.regressors.state import check_row
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.versions import base_header
from adabypass.validation import Floats

KIND = "Forecaster"
ENGINES: dict[str, type[LagEngine] | type[StructureEngine]] = {each.kind: each for each in (LagEngine, StructureEngine)}
"""The engines by the names that headers have for them."""


def describe(engine: SeriesEngine, row: Floats | None, n_exog: int | None) -> dict[str, Any]:
    """Return the header of a forecaster."""
    header = base_header(KIND) | {"engine": engine.describe(), "n_exog": n_exog}
    if row is None or n_exog is None:
        return header | {"n_seen": 0, "feature_names": None, "design": None, "layout": None}
    return header | {
        "n_seen": engine.n_seen(row, n_exog),
        "feature_names": engine.feature_names(n_exog),
        "design": engine.design(n_exog),
        "layout": engine.shapes(n_exog),
    }


def check_engine(header: Header) -> SeriesEngine:
    """Return the engine that a header describes."""
    kind = header.text("kind")
    if kind not in ENGINES:
        header.refuse(f"its engine is {kind[:40]!r}, which this version does not have")
    try:
        return ENGINES[kind].from_header(header)
    except StateError:
        raise
    except AdabypassError as error:
        header.refuse(str(error).rstrip("."))


def check_snapshot(snapshot: Snapshot) -> tuple[SeriesEngine, Floats | None, int | None]:
    """Return the parts of a forecaster, with a copy of the row; refuse what does not fit together."""
    header = Header(snapshot.header, snapshot.name)
    if header.text("kind") != KIND:
        header.refuse(f"it holds {header.text('kind')[:40]!r}, not a Forecaster; use adabypass.load or from_bytes")
    engine = check_engine(header.part("engine"))
    n_exog = header.whole_or_none("n_exog", maximum=MAX_FEATURES)
    if n_exog is None:
        return engine, None, None
    try:
        size = check_size(header, engine, n_exog)
        row = check_row(snapshot, header, size, engine.shapes(n_exog))
        engine.check_row(row, n_exog)
    except StateError:
        raise
    except AdabypassError as error:
        header.refuse(str(error).rstrip("."))
    return engine, row, n_exog


def check_size(header: Header, engine: SeriesEngine, n_exog: int) -> int:
    """Check that a number of exogenous columns fits the settings, and the constants this version's; return the size."""
    if engine.exog is not None and len(engine.exog) != n_exog:
        header.refuse(f"it has {n_exog} exogenous columns, but {len(engine.exog)} names for them")
    size = engine.row_size(n_exog)
    if header.value("design") != engine.design(n_exog):
        header.refuse("it was saved by a version of adabypass with other constants; train it anew")
    return size
