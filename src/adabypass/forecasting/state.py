"""A forecaster as plain values: its settings and its row, as a header says them, and the checks of that."""

from typing import Any

from adabypass.errors import AdabypassError, StateError
from adabypass.forecasting.settings import MAX_LAGS, check_names, check_settings
from adabypass.regressors import KINDS, Regressor
from adabypass.regressors.base import MAX_FEATURES
from adabypass.regressors.state import check_row, check_spec, describe_spec
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.versions import base_header
from adabypass.state.series import SeriesSpec
from adabypass.validation import Floats

KIND = "Forecaster"
Names = tuple[str, ...] | None


def describe_settings(untrained: Regressor, spec: SeriesSpec, names: Names) -> dict[str, Any]:
    """Return what a header says of a forecaster before it has seen anything."""
    design = spec.design
    return {
        "model": describe_spec(spec.model, untrained._kind()),
        "lags": list(design.lags),
        "difference": design.difference,
        "bias": design.bias,
        "missing": spec.missing,
        "exog": None if names is None else list(names),
    }


def describe(
    untrained: Regressor, spec: SeriesSpec, names: Names, row: Floats | None, n_exog: int | None
) -> dict[str, Any]:
    """Return the header of a forecaster."""
    header = base_header(KIND) | describe_settings(untrained, spec, names) | {"n_exog": n_exog}
    if row is None or n_exog is None:
        return header | {"n_seen": 0, "feature_names": None, "layout": None}
    return header | {
        "n_seen": int(spec.model_row(row, n_exog)[0]),
        "feature_names": _feature_names(spec, names, n_exog),
        "layout": spec.shapes(n_exog),
    }


def check_header(header: Header) -> tuple[Regressor, SeriesSpec, Names]:
    """Return the untrained model, the spec and the names of the exogenous columns that a header describes."""
    model = header.part("model")
    kind = model.text("kind")
    if kind not in KINDS:
        model.refuse(f"its model is of the kind {kind[:40]!r}, which this version does not have")
    untrained = KINDS[kind]._of_spec(check_spec(model, KINDS[kind]._spec_type, kind))
    names = header.texts_or_none("exog")
    bias = header.flag("bias") or untrained.has_intercept
    lags = header.wholes("lags", minimum=1, maximum=MAX_LAGS)
    missing: Any = header.text("missing")
    try:
        spec = check_settings(untrained, lags, None, header.value("difference"), bias, missing)
        exog = None if names is None else check_names(names)
    except AdabypassError as error:
        header.refuse(str(error).rstrip("."))
    return untrained, spec, exog


def check_snapshot(snapshot: Snapshot) -> tuple[Regressor, SeriesSpec, Names, Floats | None, int | None]:
    """Return the parts of a forecaster, with a copy of the row; refuse what does not fit together."""
    header = Header(snapshot.header, snapshot.name)
    if header.text("kind") != KIND:
        header.refuse(f"it holds {header.text('kind')[:40]!r}, not a Forecaster; use adabypass.load or from_bytes")
    untrained, spec, names = check_header(header)
    n_exog = header.whole_or_none("n_exog", maximum=MAX_FEATURES)
    if n_exog is None:
        return untrained, spec, names, None, None
    check_n_exog(header, spec, names, n_exog)
    row = check_row(snapshot, header, spec.row_size(n_exog), spec.shapes(n_exog))
    try:
        spec.check_row(row, n_exog)
    except StateError as error:
        header.refuse(str(error).rstrip("."))
    return untrained, spec, names, row, n_exog


def check_n_exog(header: Header, spec: SeriesSpec, names: Names, n_exog: int) -> None:
    """Check that a number of exogenous columns fits the settings."""
    if names is not None and len(names) != n_exog:
        header.refuse(f"it has {n_exog} exogenous columns, but {len(names)} names for them")
    if not 1 <= spec.n_features(n_exog) <= MAX_FEATURES:
        header.refuse(f"it has {spec.n_features(n_exog)} features, but a model has 1 to {MAX_FEATURES}")


def _feature_names(spec: SeriesSpec, names: Names, n_exog: int) -> list[str]:
    """Return what each feature of the model is."""
    bias = ["bias"] if spec.design.bias else []
    lags = [f"lag {lag}" for lag in spec.design.lags]
    return bias + lags + list(names or (f"exog {i}" for i in range(n_exog)))
