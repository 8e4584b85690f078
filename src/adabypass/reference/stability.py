"""Weights of lags that do not let a series explode: equations (K.9)-(K.11)."""

from math import sqrt

import numpy as np

from adabypass.numerics.limits import MAX_RESPONSE
from adabypass.state.linear_mixture import LinearMixture
from adabypass.state.past import Design
from adabypass.validation import Floats


def stabilisation(mixture: LinearMixture, design: Design, horizon: int) -> list[tuple[Floats, float]]:
    """Return, for each component, the factors of the lags' mean weights, and that of their deviations."""
    if not design.lags:
        return [(np.empty(0), 1.0) for _ in mixture.share]
    n_steps = max(horizon, 2 * design.n_values, 30)
    first = int(design.bias) + int(mixture.intercept)
    at = np.arange(first, first + len(design.lags))
    means = [mean[at] for mean in mixture.mean]
    typical = np.zeros(len(at))
    for share, mean in zip(mixture.share, means, strict=True):
        typical += share * mean
    doubt = 0.0
    for share, mean, cov in zip(mixture.share, means, mixture.cov, strict=True):
        doubt += share * float(np.sum((mean - typical) ** 2) + np.trace(cov[np.ix_(at, at)]))
    # Growth is taken for real where two standard deviations less of it would still be growth.
    bound = max(growth(typical, design.lags, n_steps) - 2 * sqrt(doubt), 1.0)
    answers = []
    for mean, cov, drift in zip(means, mixture.cov, mixture.drift, strict=True):
        rho = growth(mean, design.lags, n_steps)
        damping = np.array([min(bound / rho, 1.0) ** lag for lag in design.lags])  # (K.9)
        spread = float(np.trace((cov + horizon * drift)[np.ix_(at, at)]))
        room = max((1 - rho) / 3, 0.7 / horizon)
        answers.append((damping, min(room / sqrt(max(spread, 1e-300)), 1.0)))  # (K.11)
    return answers


def growth(weights: Floats, lags: tuple[int, ...], n_steps: int) -> float:
    """Return the factor by which an impulse grows in a step, in the long run."""
    if len(lags) == 1:
        return float(max(abs(float(weights[0])), 1e-300) ** (1 / lags[0]))
    response = [1.0]
    for step in range(1, n_steps):
        value = sum(float(w) * response[step - lag] for w, lag in zip(weights, lags, strict=True) if lag <= step)
        response.append(min(max(value, -MAX_RESPONSE), MAX_RESPONSE))
    half = n_steps // 2
    early, late = max(map(abs, response[:half])), max(map(abs, response[half:]))
    return float((max(late, 1e-300) / early) ** (1 / half))
