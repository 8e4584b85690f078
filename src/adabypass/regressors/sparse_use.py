"""Which form of a model features choose, and how its cell takes them: found out without changing anything."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from adabypass.kernels.cell import Cell
from adabypass.kernels.sparse_bank_cell import SparseBankCell
from adabypass.kernels.sparse_cell import SparseCell
from adabypass.regressors.sparse import (
    SparseRows,
    check_n_features,
    nonzero_row,
    nonzero_rows,
    sparse_row,
    sparse_stream,
)
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.spec import Spec
from adabypass.validation import Floats, Integers, check_features, check_stream, check_width

MOST_FEATURES = 30_000
"""A full covariance of so many weights takes 3.6 GB."""
MOST_SPARSE_NUMBERS = 100_000_000
"""Rows of so many numbers take 0.8 GB."""


def cell_type(spec: Spec) -> Any:
    """Return the class of a model's cell."""
    if not spec.is_sparse:
        return Cell
    return SparseBankCell if isinstance(spec, AutoBypassSpec) else SparseCell


def most_features(spec: Spec) -> int:
    """Return how many features a model may have."""
    if not spec.is_sparse:
        return MOST_FEATURES
    return MOST_SPARSE_NUMBERS // (spec.row_size(2) - spec.row_size(1))


def is_sparse(x: object) -> bool:
    """Return whether features are given as the few that are not 0."""
    return isinstance(x, Mapping) or hasattr(x, "tocsr")


def opens(cell: Any, x: object) -> bool:
    """Return whether the features of a model that has seen nothing but their number may still be sparse ones."""
    if not is_sparse(x):
        return False
    spec: Spec = cell.spec
    is_open = isinstance(spec, AutoBypassSpec) and not spec.sparse and spec.covariance != "full"
    return is_open and cell.row[0] == 0


class Given(NamedTuple):
    """Features of one observation, or of a stream, after the conversion: from here on no code but ours is run."""

    source: object
    """What was given."""
    dense: Floats | None
    """Shape (n_features,), or (n, n_features)."""
    sparse: SparseRows | None
    """If the features were given as sparse ones; then `dense` is None."""
    targets: Floats | None = None
    """Of a stream."""

    @property
    def n_features(self) -> int | None:
        """How many features there are; None if a dict does not say it."""
        if self.sparse is not None:
            return self.sparse.n_features
        return None if self.dense is None else self.dense.shape[-1]

    def of(self, cell: Any) -> tuple[Any, ...]:
        """Return the features as a cell takes them; refuse those that it does not have."""
        if not cell.spec.is_sparse:
            table = self.dense if self.dense is not None else check_features(self.source, None)  # which refuses them
            if self.targets is not None:
                check_width(table, cell.n_features)
            return (table,)
        if self.targets is not None and self.dense is not None:
            check_width(self.dense, cell.n_features)
        if self.sparse is not None:
            rows = self.sparse
        else:
            assert self.dense is not None
            rows = nonzero_row(self.dense) if self.targets is None else nonzero_rows(self.dense)
        check_n_features(rows, cell.n_features)
        return rows[:3] if self.targets is not None else rows[1:3]


def read_sparse(n_features: int, x: object) -> tuple[Integers, Floats]:
    """Return indices and values of the features of one observation, for a model of sparse features."""
    rows = sparse_row(x) if is_sparse(x) else nonzero_row(check_features(x, None))
    check_n_features(rows, n_features)
    return rows.indices, rows.values


def read_row(spec: Spec, cell: Any, x: object) -> Given:
    """Convert the features of one observation for a model with this spec and this cell, which do not change."""
    if is_sparse(x) and _takes_sparse(spec, cell, x):
        return Given(x, None, sparse_row(x))
    return Given(x, check_features(x, None), None)


def read_stream(spec: Spec, cell: Any, X: object, y: object) -> Given:
    """Convert the features and targets of a stream for a model with this spec and this cell, which do not change."""
    if hasattr(X, "tocsr") and _takes_sparse(spec, cell, X):
        rows, targets = sparse_stream(X, y)
        return Given(X, None, rows, targets)
    table, targets = check_stream(X, y)
    return Given(X, table, None, targets)


def _takes_sparse(spec: Spec, cell: Any, x: object) -> bool:
    """Return whether a model would take features that are given as sparse ones."""
    shape = getattr(x, "shape", None)
    n_features = shape[-1] if isinstance(shape, tuple) and shape and isinstance(shape[-1], int) else None
    return _chosen(spec, cell, x, n_features).is_sparse


def chosen_spec(spec: Spec, cell: Any, given: Given) -> Spec:
    """Return the spec of the model that takes these features: of its cell, if they leave it as it is.

    Parameters
    ----------
    spec : Spec
        That the model was given.
    cell : Cell or SparseCell, optional
        Of the model, if it has met features before.
    """
    return _chosen(spec, cell, given.source if given.sparse is not None else None, given.n_features)


def _chosen(spec: Spec, cell: Any, x: object, n_features: int | None) -> Spec:
    if cell is not None:
        kept: Spec = replace(cell.spec, sparse=True) if opens(cell, x) else cell.spec
        return kept
    if isinstance(spec, AutoBypassSpec) and is_sparse(x):
        return replace(spec, sparse=True) if spec.covariance != "full" else spec
    return spec if n_features is None else spec.for_features(n_features)


def moments(cell: Any) -> tuple[Floats, Floats]:
    """Return the mean and the variance of each weight, as copies."""
    layout, row, n = cell.spec.layout, cell.row, cell.n_features
    mean, var, common = (layout.view(row, name, n_features=n) for name in ("mean", "var", "common_var"))
    return mean.copy(), var + common
