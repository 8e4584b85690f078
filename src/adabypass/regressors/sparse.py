"""Features that are mostly 0: dicts of index and value, and rows of SciPy's sparse matrices, as they are."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from adabypass.errors import NotANumberError, NotFiniteError, ShapeError
from adabypass.validation import Floats, Integers, check_array, check_features, shown


class SparseRows(NamedTuple):
    """Rows in compressed form: row t has the features `indices[begin[t]:begin[t + 1]]`, in ascending order."""

    begin: Integers
    indices: Integers
    values: Floats
    n_features: int | None
    """None if that is not known: a dict does not say how many features there are."""


def sparse_row(x: Any) -> SparseRows:
    """Return one observation's features: a dict of index and value, a sparse row of SciPy, or a plain vector."""
    if isinstance(x, Mapping):
        pairs = sorted((_index(index), value) for index, value in x.items())
        indices = np.array([index for index, _ in pairs], dtype=np.intp)
        values = check_array([value for _, value in pairs], "x").reshape(-1)
        return _checked(SparseRows(np.array([0, len(indices)]), indices, values, None))
    if hasattr(x, "tocsr"):
        rows = _compressed(x if getattr(x, "ndim", 2) == 2 else x.reshape(1, -1))
        if len(rows.begin) != 2:
            raise ShapeError(f"x has shape {x.shape}, but one observation's features are one row; pass shape (1, n).")
        return rows
    vector = check_features(x, None)
    indices = np.flatnonzero(vector)
    return SparseRows(np.array([0, len(indices)]), indices, vector[indices], len(vector))


def sparse_stream(X: Any, y: object) -> tuple[SparseRows, Floats]:
    """Return the features and targets of a whole stream, checked, as copies."""
    targets = check_array(y, "y", copy=True)
    if targets.ndim != 1:
        raise ShapeError(f"y has shape {targets.shape}, but must be (n,), one number for each row of X.")
    if np.isinf(targets).any():
        at = int(np.flatnonzero(np.isinf(targets))[0])
        raise NotFiniteError(f"y[{at}] is {targets[at]}, but must be finite, or nan if the observation is missing.")
    if not hasattr(X, "tocsr"):
        from scipy.sparse import csr_array  # noqa: PLC0415  (who has few features needs none)

        table = check_array(X, "X")
        if table.ndim != 2:
            raise ShapeError(f"X has shape {table.shape}, but must be (n, n_features).")
        X = csr_array(table)
    rows = _compressed(X)
    if len(rows.begin) != len(targets) + 1:
        raise ShapeError(f"X has {len(rows.begin) - 1} rows and y has {len(targets)}; each row of X needs its y.")
    return rows, targets


def _compressed(X: Any) -> SparseRows:
    """Return copies of the arrays of a sparse matrix, with ascending indices."""
    matrix = X.tocsr(copy=True)
    matrix.sum_duplicates()
    values = check_array(matrix.data, "X", copy=True)
    begin, indices = (np.array(each, dtype=np.intp) for each in (matrix.indptr, matrix.indices))
    return _checked(SparseRows(begin, indices, values, int(matrix.shape[1])))


def _checked(rows: SparseRows) -> SparseRows:
    bad = np.flatnonzero(~np.isfinite(rows.values))
    if len(bad):
        at = int(bad[0])
        raise NotFiniteError(
            f"feature {rows.indices[at]} is {rows.values[at]}, but a feature must be finite; fill it, or leave it out."
        )
    return rows


def _index(index: object) -> int:
    if isinstance(index, bool) or not isinstance(index, int | np.integer) or index < 0:
        raise NotANumberError(f"a feature's index is {shown(index)}, but must be a whole number from 0.")
    return int(index)


def check_n_features(rows: SparseRows, n_features: int) -> None:
    """Check that rows have the features of a model, and no others."""
    if rows.n_features not in (None, n_features):
        raise ShapeError(f"x has {rows.n_features} features, but this model has {n_features}; pass as many.")
    if len(rows.indices) and rows.indices.max() >= n_features:
        raise ShapeError(
            f"x has a feature {rows.indices.max()}, but this model has {n_features}, numbered from 0; build a model "
            "with more, or use add_features."
        )
