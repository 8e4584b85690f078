"""Drift rates judged by their forecasts many steps ahead: equations (196)-(199)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from adabypass.reference.multistep import damped, regressors
from adabypass.reference.stability import stabilisation
from adabypass.state import series as design_of
from adabypass.state.linear_mixture import LinearMixture
from adabypass.state.past import Design, Past
from adabypass.validation import Floats


class Horizon(NamedTuple):
    """What was learned from forecasts so many steps ahead."""

    evidence: Floats
    """Of every drift rate; the best one has 0."""
    square_sum: Floats
    """Of every drift rate: squared errors, discounted."""
    dof: float
    n_judged: float
    """Forecasts that count as evidence, discounted."""


def new(n_groups: int) -> Horizon:
    """Return what is known before any forecast was judged."""
    return Horizon(np.zeros(n_groups), np.zeros(n_groups), 0.0, 0.0)


def means(mixture: LinearMixture, design: Design, past: Past, groups: Sequence[int], horizon: int) -> Floats:
    """Return what the likeliest filter of every group expects so many steps ahead."""
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
        joint[here] = mixture.y_center + base + weights @ r  # (196)
    return float(joint[-1])


def judge(horizon: Horizon, expected: Floats, y: float) -> Horizon:
    """Learn from forecasts of a value that has been seen."""
    square, dof = (y - expected) ** 2, horizon.dof
    is_scored = dof >= design_of.FEWEST_SQUARES
    found = horizon._replace(dof=design_of.SCALE_DISCOUNT * dof + 1)
    if is_scored:
        scale = horizon.square_sum / dof
        constant = gammaln((dof + 1) / 2) - gammaln(dof / 2) - np.log(dof * np.pi * scale) / 2
        score = constant - (dof + 1) / 2 * np.log1p(square / (dof * scale))
        counted = np.maximum(score - score.max(), design_of.LEAST_EVIDENCE)
        evidence = design_of.EVIDENCE_DISCOUNT * horizon.evidence + counted  # (197)
        n_judged = design_of.EVIDENCE_DISCOUNT * horizon.n_judged + 1
        found = found._replace(evidence=evidence - evidence.max(), n_judged=n_judged)
        square = np.minimum(square, design_of.LARGEST_SURPRISE * scale)
    return found._replace(square_sum=design_of.SCALE_DISCOUNT * horizon.square_sum + square)  # (198)


def shares(horizons: Sequence[Horizon], share: Floats, groups: Sequence[int], step: int) -> Floats:
    """Return the shares of all filters so many steps ahead, from those of one step."""
    total = np.bincount(groups, share)
    table = [np.log(np.maximum(total, design_of.LEAST_SHARE))]
    for horizon in horizons:
        own = horizon.n_judged / (horizon.n_judged + design_of.PRIOR_COUNT)
        table.append(own * horizon.evidence + (1 - own) * table[-1])
    places = np.log([1, *design_of.HORIZONS])
    weight = np.exp([np.interp(np.log(step), places, column) for column in np.array(table).T])
    weight = np.where(total > 0, weight, 0.0) / weight[total > 0].sum()
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(weight[list(groups)] * share / total[list(groups)]))  # (199)
