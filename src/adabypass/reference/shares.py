"""Discounted evidence and the shares that follow from it, one step ahead and at horizons beyond.

Equations (N.10), (N.11), (N.19)-(N.22), (N.29), (N.30) and (N.24)-(N.27).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from adabypass.state import structures as design
from adabypass.validation import Floats


class Horizon(NamedTuple):
    """What was learned from forecasts a certain number of steps ahead, of several members."""

    evidence: Floats
    """Of every member; the best one has 0."""
    square_sum: Floats
    """Sum of the squared errors of every member, discounted."""
    dof: float
    """Number of squared errors, discounted."""
    n_judged: float
    """Forecasts that count as evidence, discounted."""


def log_density(error: Floats | float, var: Floats | float, dof: Floats | float) -> Floats:
    """Return the log density of Student's t, with its squared scale `var`, at a distance from its center."""
    constant = gammaln((dof + 1) / 2) - gammaln(dof / 2) - np.log(dof * np.pi * var) / 2
    return np.asarray(constant - (dof + 1) / 2 * np.log1p(error**2 / (dof * var)))  # (N.6)


def add_log_scores(evidence: Floats, scores: Floats, discount: float, power: float) -> Floats:
    """Add log scores, nan of a member that made no forecast, to the evidence; the best one has 0."""
    awake = ~np.isnan(scores)
    best = scores[awake].max()
    share = np.exp(evidence[awake] - evidence[awake].max())
    mixed = np.log(share @ np.exp(scores[awake] - best) / share.sum())
    counted = np.maximum(np.where(awake, scores - best, mixed), design.MIN_EVIDENCE)
    found = discount * evidence + power * counted  # (N.10)
    return np.asarray(found - found.max())


def shares(evidence: Floats, has_share: "np.ndarray[Any, np.dtype[np.bool_]] | bool" = True) -> Floats:
    """Return mixture weights of the members that have a share."""
    found = np.where(has_share, np.exp(evidence - evidence.max()), 0.0)
    return np.asarray(found / found.sum())  # (N.11), (N.26)


def log_mixture(share: Floats, scores: Floats) -> float:
    """Return the log density of a mixture, from those of its members: nan where a member has no density."""
    present = (share > 0.0) & ~np.isnan(scores)
    return float(np.logaddexp.reduce(np.log(share[present]) + scores[present]))  # (N.24), (N.27)


def add_pool_scores(evidence: Floats, scores: Floats) -> Floats:
    """Add log scores to the evidence of the structures together, and of each regression.

    Parameters
    ----------
    scores
        nan of a regression that has no share yet; nan of the structures, which come first, where nothing counts.
    """
    if np.isnan(scores[0]):
        return evidence
    return add_log_scores(evidence, scores, design.POOL_DISCOUNT, design.EVIDENCE_POWER)  # (N.25)


def new_horizon(n_members: int) -> Horizon:
    """Return what is known before any forecast was judged."""
    return Horizon(np.zeros(n_members), np.zeros(n_members), 0.0, 0.0)


def judge_horizon(
    horizon: Horizon, scores: Floats | None, squares: Floats, discount: float, power: float = 1.0
) -> Horizon:
    """Learn from log scores, None if they do not count yet, and squared errors of forecasts whose time has come."""
    learned = horizon._replace(
        square_sum=design.SCALE_DISCOUNT * horizon.square_sum + squares, dof=design.SCALE_DISCOUNT * horizon.dof + 1
    )  # (N.20), (N.30)
    if scores is None:
        return learned
    return learned._replace(
        evidence=add_log_scores(horizon.evidence, scores, discount, power), n_judged=discount * horizon.n_judged + 1
    )  # (N.19), (N.29)


def evidence_table(horizons: Sequence[Horizon], one_step: Floats) -> Floats:
    """Return the evidence one step ahead and at every horizon, shape (1 + n_horizons, n_members)."""
    found = [one_step]
    for horizon in horizons:
        own = horizon.n_judged / (horizon.n_judged + design.HORIZON_PRIOR_COUNT)
        found.append(own * horizon.evidence + (1 - own) * found[-1])  # (N.21)
    return np.array(found)


def at_step(table: Floats, horizons: Sequence[int], step: int) -> Floats:
    """Interpolate, by the log of the steps ahead, a table of 1 + n_horizons rows: of one step, then of the horizons."""
    places = np.log2([1, *horizons])
    return np.array([np.interp(np.log2(step), places, column) for column in table.T])  # (N.22)
