"""The continuous ranked probability score of any distribution, by numerical integration."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from adabypass.validation import Floats

LEVELS = np.array([1e-4, 0.003, 0.02, 0.07, 0.16, 0.3, 0.5, 0.7, 0.84, 0.93, 0.98, 0.997, 1 - 1e-4])
"""Quantiles between which a distribution is smooth enough."""
N_LEVELS = 256
"""Quantiles that stand for a distribution where there is no formula."""
FARTHEST = 1e4
"""Tails are followed so many times as far as the points reach."""
_INNER = np.polynomial.legendre.leggauss(8)
_OUTER = np.polynomial.legendre.leggauss(32)


def integrate_crps(cdf: Callable[[Floats], Floats], points: Floats, y: Floats) -> Floats:
    """Integrate the squared distance of each distribution from that of y: F² below y, (1 - F)² above.

    Parameters
    ----------
    cdf
        Given values (n,), returns the probability of each distribution up to its value.
    points : array (n_points, n)
        Where each distribution is, down to its tails: between them, and y, it is integrated piece by piece. Distances
        from the last ones grow as sinh.
    y : array (n,)
    """
    target = np.where(np.isnan(y), points[0], y)
    edges = np.sort(np.vstack([points, target]), axis=0)
    total = np.zeros(len(y))

    def add(x: Floats, weight: Floats, is_above: Floats) -> None:
        nonlocal total
        below = np.asarray(cdf(np.ascontiguousarray(x)))
        total = total + weight * np.where(is_above, 1.0 - below, below) ** 2

    for left, right in pairwise(edges):
        for node, weight in zip(*_INNER, strict=True):
            if (left < right).any():
                add(left + 0.5 * (right - left) * (node + 1.0), 0.5 * weight * (right - left), left >= target)
    unit = np.maximum(points.max(axis=0) - points.min(axis=0), 1e-12 * np.abs(points).max(axis=0) + 1e-290)
    half = 0.5 * np.arcsinh(FARTHEST)
    for node, weight in zip(*_OUTER, strict=True):
        t = half * (node + 1.0)
        for end, sign in ((edges[0], -1.0), (edges[-1], 1.0)):
            add(end + sign * unit * np.sinh(t), half * weight * unit * np.cosh(t), np.full(len(y), sign > 0.0))
    return np.where(np.isnan(y), np.nan, total)
