"""A covariance that is diagonal less one of low rank: how it is made short again, on dense matrices.

Between two such moments a step is that of the full covariance, so the other references take it. What has to be known
besides is the diagonal that the covariance is less than: the variances that the weights would have, had nothing been
seen since it was made short.
"""

from typing import NamedTuple

import numpy as np

from adabypass.model.covariance import MOST_EXPLAINED, n_buffered, n_columns
from adabypass.validation import Floats


class Buffer(NamedTuple):
    """What the steps since the covariance was last made short have added."""

    diagonal: Floats
    """D: variances of the weights, without what was learned from the columns; shape (n_features,)."""
    n_columns: int
    """Number of observations learned from."""
    n_values: int
    """Number of their features that were not 0."""


def start(cov: Floats) -> Buffer:
    """Return the buffer of a covariance that is diagonal."""
    return Buffer(cov.diagonal().copy(), 0, 0)


def absorb(cov: Floats, buffer: Buffer, x: Floats, drift_var: float | Floats, rank: int) -> tuple[Floats, Buffer]:
    """Return covariance and buffer after a step that made `cov` of an observation at `x`, and added `drift_var`."""
    diagonal, count, size = buffer.diagonal + drift_var, buffer.n_columns + 1, buffer.n_values + np.count_nonzero(x)
    if count < n_columns(rank) and size <= n_buffered(len(x)):
        return cov, Buffer(diagonal, count, int(size))
    return shorten(cov, diagonal, rank)


def pass_time(buffer: Buffer, drift_var: float | Floats) -> Buffer:
    """Return the buffer after a step in which nothing was learned."""
    return buffer._replace(diagonal=buffer.diagonal + drift_var)


def shorten(cov: Floats, diagonal: Floats, rank: int) -> tuple[Floats, Buffer]:
    """Return the covariance as a diagonal less a matrix of `rank`, and its diagonal with an empty buffer."""
    sd = np.sqrt(diagonal)
    unit = np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0.0)
    explained, vectors = np.linalg.eigh((np.diag(diagonal) - cov) * np.outer(unit, unit))  # (176)
    explained = np.clip(explained, 0.0, MOST_EXPLAINED)
    precision = explained / (1.0 - explained)  # (177)
    kept = np.arange(len(explained)) >= len(explained) - rank
    shorter = diagonal / (1.0 + vectors[:, ~kept] ** 2 @ precision[~kept])  # (178)
    W = unit[:, None] * vectors[:, kept] * np.sqrt(precision[kept])
    DW = shorter[:, None] * W
    low = DW @ np.linalg.solve(np.eye(W.shape[1]) + W.T @ DW, DW.T)  # (179)
    return np.diag(shorter) - (low + low.T) / 2.0, Buffer(shorter, 0, 0)
