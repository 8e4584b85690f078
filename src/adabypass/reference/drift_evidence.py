"""Drift rates judged by their forecasts many steps ahead: equations (N.28)-(N.31)."""

from collections.abc import Sequence

import numpy as np

from adabypass.reference.multistep import damped, regressors
from adabypass.reference.shares import Horizon, at_step, evidence_table, judge_horizon, log_density, shares
from adabypass.reference.stability import stabilisation
from adabypass.state import series as design_of
from adabypass.state import structures
from adabypass.state.linear_mixture import LinearMixture
from adabypass.state.past import Design, Past
from adabypass.validation import Floats


def means(mixture: LinearMixture, design: Design, past: Past, groups: Sequence[int], horizon: int) -> Floats:
    """Return what the likeliest filter of every group expects `horizon` steps ahead."""
    factors = stabilisation(mixture, design, max(design_of.HORIZONS))
    found = []
    for group in range(1 + max(groups)):
        members = np.flatnonzero(np.array(groups) == group)
        k = int(members[np.argmax(mixture.share[members])])
        found.append(_mean(mixture, k, design, past, factors[k][0], horizon))
    return np.array(found)


def _mean(mixture: LinearMixture, k: int, design: Design, past: Past, damping: Floats, horizon: int) -> float:
    n_weights, n_values = mixture.mean.shape[1], len(past.values)
    first = int(design.bias) + int(mixture.intercept)
    lags = np.arange(first, first + len(design.lags))
    weights, joint = mixture.mean[k], np.concatenate([np.zeros(n_weights), past.values[::-1], np.zeros(horizon)])
    features = np.concatenate([np.ones(int(design.bias)), np.zeros(len(design.lags))])
    for step in range(horizon):
        if step == 1:
            weights = damped(mixture, k, design, past, lags, damping)
        here = n_weights + n_values + step
        _, r = regressors(mixture, design, features, joint, n_weights, here)
        base = sum(-design.taps[j + 1] * joint[here - 1 - j] for j in range(design.difference))
        joint[here] = mixture.y_center + base + weights @ r  # (N.28)
    return float(joint[-1])


def judge(horizon: Horizon, expected: Floats, y: float) -> Horizon:
    """Learn from forecasts of a value that has been seen."""
    error, dof, score = y - expected, horizon.dof, None
    square = error**2
    if dof >= design_of.MIN_SQUARES:
        scale = horizon.square_sum / dof
        score, square = log_density(error, scale, dof), np.minimum(square, structures.MAX_SURPRISE * scale)
    return judge_horizon(horizon, score, square, design_of.EVIDENCE_DISCOUNT)  # (N.29), (N.30)


def filter_shares(horizons: Sequence[Horizon], share: Floats, groups: Sequence[int], step: int) -> Floats:
    """Return the shares of all filters at a step ahead, from those of one step."""
    total = np.bincount(groups, share)
    table = evidence_table(horizons, np.log(np.maximum(total, design_of.MIN_SHARE)))
    weight = shares(at_step(table, design_of.HORIZONS, step), total > 0)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(weight[list(groups)] * share / total[list(groups)]))  # (N.31)
