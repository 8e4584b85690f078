"""SKF, the paper's benchmark: a Kalman filter whose drift is re-estimated at every step (Jazwinski, 1970)."""

from typing import NamedTuple

import numpy as np

from adabypass.numerics.limits import MIN_PREC
from adabypass.reference.linear_gaussian import Weights, condition, drift, inner
from adabypass.state.paper import SequentialKalmanSpec
from adabypass.validation import Floats


class Belief(NamedTuple):
    """Belief of the filter: the weights, and the latest estimates of the two variances."""

    weights: Weights
    drift_var: float
    noise_var: float
    n_seen: int


def start(spec: SequentialKalmanSpec, n_features: int) -> Belief:
    """Return the prior belief."""
    return Belief(Weights(np.zeros(n_features), np.zeros((n_features, n_features))), 0.0, spec.noise_var, 0)


def predict(belief: Belief, x: Floats) -> tuple[float, float]:
    """Return the predictive mean and variance of the observation at `x`."""
    prior = drift(belief.weights, belief.drift_var)
    return inner(x, prior.mean), inner(x, prior.cov @ x) + belief.noise_var  # (F.1)


def update(belief: Belief, x: Floats, y: float, spec: SequentialKalmanSpec) -> Belief:
    """Update the belief with `y` at `x`; if `y` is missing (nan), only the drift is added."""
    if np.isnan(y):
        return belief._replace(weights=drift(belief.weights, belief.drift_var))
    weights, _, noise_var, n_seen = belief
    error = y - inner(x, weights.mean)
    n = inner(x, x)
    unexplained = error**2 - inner(x, weights.cov @ x)
    drift_var = min(max((unexplained - noise_var) / n, 0.0), 1 / MIN_PREC) if n > 0.0 else 0.0  # (F.2)
    posterior, _, _ = condition(drift(weights, drift_var), x, error, noise_var)
    if spec.adapt_noise:
        noise_var += (max(unexplained, 0.0) - noise_var) / (n_seen + 2)  # (F.3)
    return Belief(posterior, drift_var, noise_var, n_seen + 1)
