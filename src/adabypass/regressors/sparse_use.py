"""What a model with a diagonal covariance does with features that are mostly 0: `predict`, `step` and `run`."""

from typing import Any

import numpy as np

from adabypass.errors import ConcurrentUseError, NotReadyError, ParameterError
from adabypass.inference.kernel.cell import Cell
from adabypass.inference.kernel.sparse_cell import SparseCell
from adabypass.model.spec import Spec
from adabypass.model.trace import Trace
from adabypass.regressors.sparse import SparseRows, check_n_features, sparse_row, sparse_stream
from adabypass.validation import check_int, check_target

MOST_FEATURES = 30_000
"""A full covariance of so many weights takes 3.6 GB."""
MOST_SPARSE_FEATURES = 50_000_000
"""Means and variances of so many take 0.8 GB."""


def cell_type(spec: Spec) -> Any:
    """Return the class of a model's cell."""
    return SparseCell if spec.is_diagonal else Cell


def most_features(spec: Spec) -> int:
    """Return how many features a model may have."""
    return MOST_SPARSE_FEATURES if spec.is_diagonal else MOST_FEATURES


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
        raise ParameterError("keep_weights is True, but a trace keeps no weights where the covariance is diagonal.")
    rows, targets = sparse_stream(X, y)
    before = _cell(model, rows)
    cell = model._new_cell(before.start_run(), before.n_features)
    try:
        history, components = cell.run(rows.begin, rows.indices, rows.values, targets, keep_predictive)
    finally:
        before.end_run()
    if model._cell is not before:
        raise ConcurrentUseError("this model was changed while it ran a stream; what the run learned is dropped.")
    model._cell = cell
    kept = components if keep_predictive else None
    trace: Trace = model._trace(targets, history, np.empty((0, 0)), kept)
    return trace


def _cell(model: Any, rows: SparseRows) -> Any:
    """Return the model's cell, for features that fit it; if there is none yet, one for as many as the rows have."""
    if model._cell is None:
        if rows.n_features is None:
            raise NotReadyError("a dict does not say how many features there are; give the model n_features.")
        model._build(check_int(rows.n_features, "n_features", minimum=1, maximum=MOST_SPARSE_FEATURES))
    check_n_features(rows, model._cell.n_features)
    return model._cell
