"""The continuous ranked probability score of any distribution, by numerical integration."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from adabypass.validation import Floats

LEVELS = np.array([1e-4, 0.003, 0.02, 0.07, 0.16, 0.3, 0.5, 0.7, 0.84, 0.93, 0.98, 0.997, 1 - 1e-4])
"""Quantiles between which a distribution is smooth enough."""
N_LEVELS = 256
"""Quantiles that stand for a distribution where there is no formula."""
FARTHEST = 1e4
"""Tails are followed so many times as far as the points reach."""
N_INNER, N_OUTER = 4, 20
"""Nodes between two points, and in a tail: the score is right to 1e-4 of itself, as a rule to 1e-6."""
CHUNK = 256
"""Forecasts whose nodes are laid out at a time."""
_OUTER = np.polynomial.legendre.leggauss(N_OUTER)


def integrate_crps(cdf: Callable[[Any, Floats], Floats], points: Floats, y: Floats, n_inner: int = N_INNER) -> Floats:
    """Integrate the squared distance of each distribution from that of y: F² below y, (1 - F)² above.

    Parameters
    ----------
    cdf
        Given a slice of the distributions and values (n, n_values), returns the probability of each up to its values.
    points : array (n_points, n)
        Where each distribution is, down to its tails: between them, and y, it is integrated piece by piece. Distances
        from the last ones grow as sinh.
    y : array (n,)
    n_inner : int
        Nodes between two points.
    """
    found = np.empty(len(y))
    for first in range(0, len(y), CHUNK):
        chosen = slice(first, first + CHUNK)
        found[chosen] = _integrate(partial(cdf, chosen), points[:, chosen], y[chosen], n_inner)
    return found


def _integrate(cdf: Callable[[Floats], Floats], points: Floats, y: Floats, n_inner: int) -> Floats:
    target = np.where(np.isnan(y), points[0], y)
    edges = np.sort(np.vstack([points, target]), axis=0)
    left, width = edges[:-1, None], np.diff(edges, axis=0)[:, None]
    node, weight = (each[:, None] for each in np.polynomial.legendre.leggauss(n_inner))
    unit = np.maximum(points.max(axis=0) - points.min(axis=0), 1e-12 * np.abs(points).max(axis=0) + 1e-290)
    half = 0.5 * np.arcsinh(FARTHEST)
    outer, outer_weight = (half * (_OUTER[0] + 1.0))[:, None], (half * _OUTER[1])[:, None]
    far, far_weight = unit * np.sinh(outer), outer_weight * unit * np.cosh(outer)
    x = [(left + 0.5 * width * (node + 1.0)).reshape(-1, len(y)), edges[0] - far, edges[-1] + far]
    weights = [(0.5 * weight * width).reshape(-1, len(y)), far_weight, far_weight]
    is_above = [np.repeat(edges[:-1] >= target, n_inner, axis=0), np.zeros(far.shape, bool), np.ones(far.shape, bool)]
    below = cdf(np.ascontiguousarray(np.vstack(x).T)).T
    total = np.sum(np.vstack(weights) * np.where(np.vstack(is_above), 1.0 - below, below) ** 2, axis=0)
    return np.where(np.isnan(y), np.nan, total)
