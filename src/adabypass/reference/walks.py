"""The random walks that the weights of AutoBypass's bank follow, in standard units.

Filters that differ only in their noise share the weights of a walk.
"""

from math import exp
from typing import NamedTuple

import numpy as np

from adabypass.numerics.limits import MAX_EXPLAINED, MIN_SIGNAL
from adabypass.reference.evidence import move_weights
from adabypass.reference.filters import Anchor
from adabypass.reference.linear_gaussian import Weights, inner
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.bank_table import Setting
from adabypass.validation import Floats


class Walk(NamedTuple):
    """Belief of one walk."""

    weights: Weights
    underperformance_count: int
    consecutive_outliers: int


class Signal(NamedTuple):
    """Mean and variance of z'w."""

    mean: float
    var: float


def drifted(walk: Walk, setting: Setting, slow: float, anchor: Anchor, spec: AutoBypassSpec) -> Weights:
    """Return the weights one step of the walk later: level and slopes drift independently about an anchor.

    `slow` is the mean log noise scale over the filters of the walk.
    """
    weights, jumps = walk.weights, walk.consecutive_outliers >= spec.max_consecutive_outliers
    q = (setting.drift_var + (setting.jump_var if jumps else 0.0)) * exp(2 * slow)  # (H.7), (H.10)
    center, var, own = np.zeros_like(anchor.center), np.ones_like(anchor.var), 1.0
    if setting.anchored:
        center, var = anchor.center, anchor.var
    if setting.differenced:
        center, var, own = anchor.newest, anchor.move_var, 0.0
    if not spec.is_full:
        center = np.zeros_like(center)  # (M.5)
    if not setting.slopes_drift:
        var = np.full_like(var, np.inf)
    slopes = np.diag(1 / var)
    Q = slopes
    if spec.intercept:
        level, cross = np.array([[own + inner(center, center / var)]]), -(center / var)[None]
        Q = np.block([[level, cross], [cross.T, slopes]])  # (H.8), (H.18)
    return Weights(weights.mean, np.asarray(weights.cov + q * Q))


def signal(weights: Weights, z: Floats) -> Signal:
    """Return the mean and variance of z'w."""
    return Signal(inner(z, weights.mean), inner(z, weights.cov @ z))


def direction(z: Floats, anchor: Anchor, spec: AutoBypassSpec) -> Floats:
    """Return the direction in which an error moves weights that must fit an observation: the level, or all slopes."""
    if spec.intercept:
        return np.asarray(np.eye(len(z))[0])
    along = z / anchor.var
    return np.asarray(along / max(inner(z, along), spec.min_mean_square * len(z)))  # (H.14)


def explain(weights: Weights, z: Floats, y: float, u: Floats) -> Weights:
    """Move the weights along `u` in proportion to their residual of y."""
    T = np.eye(len(z)) - np.outer(u, z)
    return Weights(weights.mean + u * (y - inner(z, weights.mean)), np.asarray(T @ weights.cov @ T.T))  # (H.15)


def matched(weights: Floats, moves: Floats, lefts: Floats) -> tuple[float, float]:
    """Return the posterior shift of the mean of z'w and its variance, averaged over filters with these weights."""
    move = inner(weights, moves)  # (H.12)
    return move, inner(weights, lefts + (moves - move) ** 2)  # (H.13)


def learn(prior: Weights, z: Floats, move: float, left: float, is_full: bool) -> Weights:
    """Update the weights so that the mean of z'w moves by `move` and its variance falls to `left`."""
    h = inner(z, prior.cov @ z)
    posterior = move_weights(prior, z, move, min(left, h))
    if is_full or h <= MIN_SIGNAL:
        return posterior
    share, var = min(max(left / h, 1.0 - MAX_EXPLAINED), 1.0), prior.cov.diagonal()
    return posterior._replace(cov=np.diag(var / (1.0 + (1.0 - share) / (share * h) * var * z**2)))  # (M.6)
