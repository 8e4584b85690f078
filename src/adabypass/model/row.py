"""Where each number of a model's memory sits in its row of float64.

A row is, in this order: `n_seen`, the scalars, the vectors (one number a feature), the symmetric matrices. A matrix is
kept as its lower triangle, row after row, so it is symmetric whatever happens, and a new feature goes to its end.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from adabypass.validation import Floats


@dataclass(frozen=True)
class Layout:
    """The names of what a row holds.

    Parameters
    ----------
    scalars
        Names of single numbers, after `n_seen`, which every row has first.
    vectors
        Names of vectors of `n_features` numbers. The first is the mean of the weights.
    matrices
        Names of symmetric matrices of `n_features` rows. The first, if any, is the covariance of the weights.
    """

    scalars: tuple[str, ...]
    vectors: tuple[str, ...] = ("mean",)
    matrices: tuple[str, ...] = ()

    def size(self, n_features: int) -> int:
        """Count the numbers of a row."""
        return 1 + len(self.scalars) + len(self.vectors) * n_features + len(self.matrices) * triangle(n_features)

    def new_row(self, n_features: int, scalars: Mapping[str, float]) -> Floats:
        """Make a row of a model that has seen nothing: weights known to be 0, their gradient as the paper starts it."""
        row = np.zeros(self.size(n_features))
        for name, value in scalars.items():
            row[1 + self.scalars.index(name)] = value
        if "cov_gradient" in self.matrices:
            row[self._matrix_slice("cov_gradient", n_features)] = pack(np.eye(n_features))
        return row

    def scalar(self, row: Floats, name: str) -> float:
        """Read a scalar."""
        return float(row[1 + self.scalars.index(name)])

    def vector(self, row: Floats, name: str, n_features: int) -> Floats:
        """Copy a vector out of the row."""
        return row[self._vector_slice(name, n_features)].copy()

    def matrix(self, row: Floats, name: str, n_features: int) -> Floats:
        """Copy a symmetric matrix out of the row."""
        return unpack(row[self._matrix_slice(name, n_features)], n_features)

    def grown(self, row: Floats, n_features: int, more: int, fresh: Floats) -> Floats:
        """Copy a row into a `fresh` one with `more` features: what was learned stays, new weights start afresh."""
        wide = fresh.copy()
        head = 1 + len(self.scalars)
        wide[:head] = row[:head]
        for name in self.vectors:
            start = self._vector_slice(name, n_features + more).start
            wide[start : start + n_features] = row[self._vector_slice(name, n_features)]
        for name in self.matrices:
            start = self._matrix_slice(name, n_features + more).start
            wide[start : start + triangle(n_features)] = row[self._matrix_slice(name, n_features)]
        return wide

    def _vector_slice(self, name: str, n_features: int) -> slice:
        start = 1 + len(self.scalars) + self.vectors.index(name) * n_features
        return slice(start, start + n_features)

    def _matrix_slice(self, name: str, n_features: int) -> slice:
        first = 1 + len(self.scalars) + len(self.vectors) * n_features
        start = first + self.matrices.index(name) * triangle(n_features)
        return slice(start, start + triangle(n_features))


def triangle(n_features: int) -> int:
    """Count the numbers of a lower triangle."""
    return n_features * (n_features + 1) // 2


def pack(matrix: Floats) -> Floats:
    """Keep the lower triangle of a symmetric matrix, row after row."""
    packed: Floats = matrix[np.tril_indices(len(matrix))]
    return packed


def unpack(packed: Floats, n_features: int) -> Floats:
    """Make the symmetric matrix of a packed lower triangle."""
    matrix = np.zeros((n_features, n_features))
    matrix[np.tril_indices(n_features)] = packed
    return matrix + np.tril(matrix, -1).T
