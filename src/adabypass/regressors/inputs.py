"""Features as users pass them: dense, or mostly 0 and then given as dicts or as rows of SciPy sparse matrices.

What features choose, such as the form of a model that has met none, is found out here without changing anything.
"""

from collections.abc import Mapping
from operator import index, itemgetter
from typing import Any, NamedTuple

import numpy as np

from adabypass.errors import NotANumberError, NotFiniteError, ShapeError
from adabypass.kernels.runner import DenseRunner, Runner
from adabypass.kernels.sparse import SparseBankRunner, SparseRunner
from adabypass.kernels.step import Kernel
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.spec import Spec
from adabypass.validation import Floats, Integers, check_array, check_features, check_stream, check_width, shown

MAX_FEATURES = 30_000
"""Maximum number of features of a model with a full covariance, which then takes 3.6 GB."""
MAX_SPARSE_NUMBERS = 100_000_000
"""Maximum number of numbers in the row of a model with a diagonal covariance, which then takes 0.8 GB."""
MAX_INDEX = 1 << 31
"""Of a feature: more than any model has."""


class SparseRows(NamedTuple):
    """Rows in compressed form: row t has the features `indices[begin[t]:begin[t + 1]]`, in ascending order."""

    begin: Integers
    indices: Integers
    values: Floats
    n_features: int | None
    """None if that is not known: a dict does not say how many features there are."""


def sparse_row(x: Any) -> SparseRows:
    """Return one observation's features: a dict of index and value, or a SciPy sparse row."""
    if isinstance(x, Mapping):
        pairs = sorted(((_index(at), value) for at, value in x.items()), key=itemgetter(0))
        indices = np.array([at for at, _ in pairs], dtype=np.intp)
        values = check_array([value for _, value in pairs], "x")
        if values.shape != indices.shape or (type(x) is not dict and (np.diff(indices) == 0).any()):
            raise ShapeError(f"x is {shown(x)}, but must have one number for each feature.")
        return _checked(SparseRows(np.array([0, len(indices)]), indices, values, None))
    matrix = x if getattr(x, "ndim", 2) == 2 else x.reshape(1, -1)
    n_rows, n_features = _shape(matrix)
    if n_rows != 1:
        raise ShapeError(
            f"x has shape {(n_rows, n_features)}, but one observation's features are one row; pass shape (1, n)."
        )
    return _compressed(matrix, n_rows, n_features)


def sparse_stream(X: Any, y: object) -> tuple[SparseRows, Floats]:
    """Return the features, given as a sparse matrix, and targets of a whole stream, checked, as copies."""
    targets = check_array(y, "y", copy=True)
    if targets.ndim != 1:
        raise ShapeError(f"y has shape {targets.shape}, but must be (n,), one number for each row of X.")
    if np.isinf(targets).any():
        at = int(np.flatnonzero(np.isinf(targets))[0])
        raise NotFiniteError(f"y[{at}] is {targets[at]}, but must be finite, or nan if the observation is missing.")
    n_rows, n_features = _shape(X)
    if n_rows != len(targets):
        raise ShapeError(f"X has {n_rows} rows and y has {len(targets)}; each row of X needs its y.")
    return _compressed(X, n_rows, n_features), targets


def nonzero_row(vector: Floats) -> SparseRows:
    """Return the numbers of a vector, all finite, that are not 0."""
    indices = np.flatnonzero(vector)
    return SparseRows(np.array([0, len(indices)]), indices, vector[indices], len(vector))


def nonzero_rows(table: Floats) -> SparseRows:
    """Return the numbers of a table (n, n_features), all finite, that are not 0."""
    row, indices = np.nonzero(table)
    return SparseRows(_begin(row, len(table)), np.ascontiguousarray(indices), table[row, indices], table.shape[1])


def _compressed(X: Any, n_rows: int, n_features: int) -> SparseRows:
    """Return copies of the numbers of a sparse matrix of this shape, with ascending indices.

    SciPy's compiled code trusts the arrays of a matrix, whatever was written to them. So as a rule it is not called,
    and otherwise they are checked before.
    """
    row, column, values = _coordinates(X, n_rows, n_features)
    if not len(row) == len(column) == values.size or values.ndim != 1:
        raise ShapeError(f"a sparse matrix has {len(row)} indices for {values.size} values; build it anew.")
    _check_range(row, n_rows)
    _check_range(column, n_features)
    place = row * n_features + column
    if (place[1:] <= place[:-1]).any():
        order = np.argsort(place, kind="stable")
        first = np.flatnonzero(np.diff(place[order], prepend=-1))
        values = np.add.reduceat(values[order], first)  # a feature that is given twice is the sum of both, as in SciPy
        row, column = row[order][first], column[order][first]
    return _checked(SparseRows(_begin(row, n_rows), column, values, n_features))


def _coordinates(X: Any, n_rows: int, n_features: int) -> tuple[Integers, Integers, Floats]:
    """Return copies of row, column and value of each number of a sparse matrix."""
    form = getattr(X, "format", None)
    if form in ("csr", "csc"):
        minor, values = _integers(X.indices), check_array(X.data, "X", copy=True)
        major = _spread(_integers(X.indptr), len(minor), n_rows if form == "csr" else n_features)
        return (major, minor, values) if form == "csr" else (minor, major, values)
    if form == "coo":
        return _integers(X.row), _integers(X.col), check_array(X.data, "X", copy=True)
    if form == "bsr":
        blocks, (n_high, n_wide) = _integers(X.indices), X.blocksize
        _spread(_integers(X.indptr), len(blocks), n_rows // n_high)
        _check_range(blocks, n_features // n_wide)
    if form == "dia" and len(X.offsets) != len(X.data):
        raise ShapeError(f"a sparse matrix has {len(X.data)} diagonals and {len(X.offsets)} offsets; build it anew.")
    matrix = X.tocsr(copy=True)
    columns = _integers(matrix.indices)
    return _spread(_integers(matrix.indptr), len(columns), n_rows), columns, check_array(matrix.data, "X", copy=True)


def _shape(X: Any) -> tuple[int, int]:
    """Return the shape of a sparse matrix."""
    try:
        n_rows, n_features = (index(each) for each in X.shape)
    except (TypeError, ValueError):
        n_rows, n_features = -1, -1
    if n_rows < 0 or not 0 < n_features <= MAX_INDEX:
        raise ShapeError(
            f"a sparse matrix has shape {shown(getattr(X, 'shape', None))}, but features have shape (n, n_features), "
            f"of at most {MAX_INDEX} features."
        )
    return n_rows, n_features


def _spread(begin: Integers, n: int, n_major: int) -> Integers:
    """Return the row, or column, of each of n numbers, given the position `begin` at which each row begins."""
    if len(begin) != n_major + 1 or begin[0] != 0 or begin[-1] != n or (np.diff(begin) < 0).any():
        raise ShapeError(
            f"the indptr of a sparse matrix is {shown(begin)}, but must be {n_major + 1} numbers that rise from 0 to "
            f"the number of its indices, {n}; build it anew."
        )
    return np.repeat(np.arange(n_major), np.diff(begin))


def _begin(row: Integers, n_rows: int) -> Integers:
    """Return the position of the first number of each row, for numbers sorted by `row`."""
    return np.searchsorted(row, np.arange(n_rows + 1)).astype(np.intp)


def _integers(values: Any) -> Integers:
    """Return a copy of the indices of a sparse matrix."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise NotANumberError(f"the indices of a sparse matrix are {shown(values)}, but must be whole numbers.")
    return np.array(array, dtype=np.intp)


def _check_range(indices: Integers, n: int) -> None:
    wrong = np.flatnonzero((indices < 0) | (indices >= n))
    if len(wrong):
        raise ShapeError(
            f"a sparse matrix has an index {indices[wrong[0]]}, but indices are from 0 to {n - 1}; build it anew."
        )


def _checked(rows: SparseRows) -> SparseRows:
    bad = np.flatnonzero(~np.isfinite(rows.values))
    if len(bad):
        at = int(bad[0])
        raise NotFiniteError(
            f"feature {rows.indices[at]} is {rows.values[at]}, but a feature must be finite; fill it, or leave it out."
        )
    return rows


def _index(at: object) -> int:
    if isinstance(at, bool) or not isinstance(at, int | np.integer) or at < 0:
        raise NotANumberError(f"a feature's index is {shown(at)}, but must be a whole number from 0.")
    if at >= MAX_INDEX:
        raise ShapeError(f"a feature's index is {shown(at)}, but the maximum index of a feature is {MAX_INDEX}.")
    return int(at)


def check_n_features(rows: SparseRows, n_features: int) -> None:
    """Check that rows have the features of a model, and no others."""
    if rows.n_features not in (None, n_features):
        raise ShapeError(
            f"x has {rows.n_features} features, but this model has {n_features}; pass {n_features} features."
        )
    if len(rows.indices) and rows.indices.max() >= n_features:
        raise ShapeError(
            f"x has a feature {rows.indices.max()}, but this model has {n_features}, numbered from 0; build a model "
            "with more, or use add_features."
        )


def new_runner(kernel: Kernel, spec: Spec, row: Floats, n_features: int) -> Runner:
    """Return the runner of a model, which takes over the row."""
    if not spec.is_sparse:
        return DenseRunner(kernel, spec, row, n_features)
    runner = SparseBankRunner if isinstance(spec, AutoBypassSpec) else SparseRunner
    return runner(kernel, spec, row, n_features, read_sparse)


def max_features(spec: Spec) -> int:
    """Return the maximum number of features of a model."""
    if not spec.is_sparse:
        return MAX_FEATURES
    return MAX_SPARSE_NUMBERS // (spec.row_size(2) - spec.row_size(1))


def is_sparse(x: object) -> bool:
    """Return whether features are given as the few that are not 0."""
    return isinstance(x, Mapping) or hasattr(x, "tocsr")


def may_become_sparse(runner: Runner, x: object) -> bool:
    """Return whether a model that has seen nothing but the number of its features becomes one of sparse features."""
    if not is_sparse(x):
        return False
    spec: Spec = runner.spec
    is_open = isinstance(spec, AutoBypassSpec) and not spec.sparse and spec.covariance != "full"
    return is_open and runner.row[0] == 0


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

    @property
    def row(self) -> object:
        """The features of one observation, as a runner takes them."""
        return self.dense if self.sparse is None else self.sparse

    def of(self, runner: Any) -> Any:
        """Return the features of a stream as a runner takes them; refuse those that it does not have."""
        if not runner.spec.is_sparse:
            table = self.dense if self.dense is not None else check_features(self.source, None)  # which refuses them
            check_width(table, runner.n_features)
            return table
        if self.dense is not None:
            check_width(self.dense, runner.n_features)
        rows = nonzero_rows(self.dense) if self.dense is not None else self.sparse
        assert rows is not None
        check_n_features(rows, runner.n_features)
        return rows[:3]


def read_sparse(x: object, n_features: int) -> tuple[Integers, Floats]:
    """Return indices and values of the features of one observation, for a model of sparse features."""
    if not isinstance(x, SparseRows):  # which were checked before
        x = sparse_row(x) if is_sparse(x) else nonzero_row(check_features(x, None))
    check_n_features(x, n_features)
    return x.indices, x.values


def read_row(spec: Spec, runner: Any, x: object) -> Given:
    """Convert the features of one observation for a model with this spec and this runner, which do not change."""
    if is_sparse(x) and _takes_sparse(spec, runner, x):
        return Given(x, None, sparse_row(x))
    return Given(x, check_features(x, None), None)


def read_stream(spec: Spec, runner: Any, X: object, y: object) -> Given:
    """Convert the features and targets of a stream for a model with this spec and this runner, which do not change."""
    if hasattr(X, "tocsr") and _takes_sparse(spec, runner, X):
        rows, targets = sparse_stream(X, y)
        return Given(X, None, rows, targets)
    table, targets = check_stream(X, y)
    return Given(X, table, None, targets)


def _takes_sparse(spec: Spec, runner: Any, x: object) -> bool:
    """Return whether a model would take features that are given as sparse ones."""
    shape = getattr(x, "shape", None)
    n_features = shape[-1] if isinstance(shape, tuple) and shape and isinstance(shape[-1], int) else None
    return _chosen(spec, runner, x, n_features).is_sparse


def chosen_spec(spec: Spec, runner: Any, given: Given) -> Spec:
    """Choose the spec of a model from its features; keep that of its runner if they do not change it.

    Parameters
    ----------
    spec : Spec
        That the model was given.
    runner : Runner, optional
        Of the model, if it has met features before.
    """
    return _chosen(spec, runner, given.source if given.sparse is not None else None, given.n_features)


def _chosen(spec: Spec, runner: Any, x: object, n_features: int | None) -> Spec:
    if runner is not None:
        kept: Spec = runner.spec.as_sparse() if may_become_sparse(runner, x) else runner.spec
        return kept
    if isinstance(spec, AutoBypassSpec) and is_sparse(x):
        return spec.as_sparse() if spec.covariance != "full" else spec
    return spec if n_features is None else spec.for_features(n_features)


def moments(runner: Any) -> tuple[Floats, Floats]:
    """Return the mean and the variance of each weight, as copies."""
    layout, row, n = runner.spec.layout, runner.row, runner.n_features
    mean, var, common = (layout.view(row, name, n_features=n) for name in ("mean", "var", "common_var"))
    return mean.copy(), var + common
