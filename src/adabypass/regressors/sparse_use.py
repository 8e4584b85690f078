"""What a model whose covariance is not full does with features that are mostly 0: `predict`, `step` and `run`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from adabypass.errors import ConcurrentUseError, NotReadyError, ParameterError
from adabypass.inference.kernel.cell import Cell
from adabypass.inference.kernel.low_rank_bank_cell import LowRankBankCell
from adabypass.inference.kernel.low_rank_cell import LowRankCell
from adabypass.inference.kernel.sparse_bank_cell import SparseBankCell
from adabypass.inference.kernel.sparse_cell import SparseCell
from adabypass.model import covariance
from adabypass.model.bank import AutoBypassSpec
from adabypass.model.spec import Spec
from adabypass.model.trace import Trace
from adabypass.regressors.sparse import SparseRows, check_n_features, sparse_row, sparse_stream
from adabypass.validation import Floats, check_int, check_target

MOST_FEATURES = 30_000
"""A full covariance of so many weights takes 3.6 GB."""
MOST_SPARSE_NUMBERS = 100_000_000
"""Rows of so many numbers take 0.8 GB."""


def cell_type(spec: Spec) -> Any:
    """Return the class of a model's cell."""
    if isinstance(spec, AutoBypassSpec) and spec.is_sparse:
        return LowRankBankCell if spec.is_low_rank else SparseBankCell
    if spec.is_low_rank:
        return LowRankCell
    return SparseCell if spec.is_sparse else Cell


def most_features(spec: Spec) -> int:
    """Return how many features a model may have."""
    if not spec.is_sparse:
        return MOST_FEATURES
    many = MOST_FEATURES  # so many that a row has no room left over
    per_feature = (spec.row_size(2 * many) - spec.row_size(many)) // many
    return MOST_SPARSE_NUMBERS // per_feature


def choose(model: Any, x: Any) -> bool:
    """Let the first features of a model, one row or many, choose its covariance; return whether it is a sparse one.

    A dict does not say how many features there are, so it chooses nothing but AutoBypass's form for sparse features.
    """
    if isinstance(model._spec, AutoBypassSpec) and (isinstance(x, Mapping) or hasattr(x, "tocsr")):
        if model._spec.covariance != "full":
            model._spec = replace(model._spec, sparse=True)
        return bool(model._spec.is_sparse)
    shape = getattr(x, "shape", None)
    if isinstance(x, list | tuple) and x:
        shape = (len(x[0] if isinstance(x[0], list | tuple) else x),)
    if isinstance(shape, tuple) and shape and isinstance(shape[-1], int):
        model._spec = model._spec.for_features(shape[-1])
    return bool(model._spec.is_sparse)


def opens(model: Any, x: object) -> bool:
    """Return whether a model takes sparse features from now on: an AutoBypass that was given their number alone."""
    if not (isinstance(x, Mapping) or hasattr(x, "tocsr")) or model._cell is None:
        return False
    spec = model._spec
    if not isinstance(spec, AutoBypassSpec) or spec.sparse or spec.covariance == "full" or model.n_seen > 0:
        return False
    model._spec = replace(spec, sparse=True)
    model._build(check_int(model.n_features, "n_features", minimum=1, maximum=most_features(model._spec)))
    return True


def predict(model: Any, x: object) -> Any:
    """Forecast the observation at `x`."""
    rows = sparse_row(x)
    return _cell(model, rows).predict(rows.indices, rows.values)


def step(model: Any, x: object, y: object, want_forecast: bool = True) -> Any:
    """Forecast the observation at `x`, then learn that it was `y`."""
    target, rows = check_target(y), sparse_row(x)
    return _cell(model, rows).step(rows.indices, rows.values, target, want_forecast)


def run(model: Any, X: object, y: object, keep_weights: bool, keep_predictive: bool) -> Trace:
    """Run a stream on a copy of the row, then take that over."""
    if keep_weights:
        raise ParameterError("keep_weights is True, but a trace keeps no weights where the covariance is not full.")
    rows, targets = sparse_stream(X, y)
    before = _cell(model, rows)
    cell = model._new_cell(before.start_run(), before.n_features)
    try:
        history, records = cell.run(rows.begin, rows.indices, rows.values, targets, keep_predictive)
    finally:
        before.end_run()
    if model._cell is not before:
        raise ConcurrentUseError("this model was changed while it ran a stream; what the run learned is dropped.")
    model._cell = cell
    kept = records if keep_predictive else None
    trace: Trace = model._trace(targets, history, np.empty((0, 0)), kept)
    return trace


def moments(model: Any) -> tuple[Floats, Floats]:
    """Return the mean and the variance of each weight, as copies."""
    layout, row, n = model._spec.layout, model._cell.row, model._cell.n_features
    if model._spec.is_low_rank:
        return covariance.moments(layout, row, n)
    mean, var, common = (layout.view(row, name, n_features=n) for name in ("mean", "var", "common_var"))
    return mean.copy(), var + common


def _cell(model: Any, rows: SparseRows) -> Any:
    """Return the model's cell, for features that fit it; if there is none yet, one for as many as the rows have."""
    if model._cell is None:
        if rows.n_features is None:
            raise NotReadyError("a dict does not say how many features there are; give the model n_features.")
        model._build(check_int(rows.n_features, "n_features", minimum=1, maximum=most_features(model._spec)))
    check_n_features(rows, model._cell.n_features)
    return model._cell
