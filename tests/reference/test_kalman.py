"""The sequential Kalman filter is held to batch regression, and its drift to a numerical maximiser."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy.optimize import minimize_scalar

from adabypass.reference.kalman import Belief, predict, start, update
from adabypass.reference.linear_gaussian import Weights, condition
from adabypass.state.paper import SequentialKalmanSpec
from tests import oracles
from tests.strategies import Stream, powers, streams


@given(streams(max_features=5), powers(-2, 2))
def test_without_drift_the_filter_is_ridge_regression(stream: Stream, noise_var: float) -> None:
    """Conditioning on each row in turn gives the batch solution of all of them at once."""
    X, y = stream.X, np.nan_to_num(stream.y)
    n_features = X.shape[1]
    weights, log_density = Weights(np.zeros(n_features), np.eye(n_features)), 0.0
    for x, target in zip(X, y, strict=True):
        mean, var = x @ weights.mean, x @ weights.cov @ x + noise_var
        log_density += -0.5 * ((target - mean) ** 2 / var + np.log(2 * np.pi * var))
        weights, _, _ = condition(weights, x, target - mean, noise_var)
    precision = np.eye(n_features) + X.T @ X / noise_var
    assert weights.mean == approx(np.linalg.solve(precision, X.T @ y / noise_var), rel=1e-5, abs=1e-6)
    assert weights.cov == approx(np.linalg.inv(precision), rel=1e-5, abs=1e-8)
    joint = oracles.normal_logpdf(y, np.zeros(len(y)), X @ X.T + noise_var * np.eye(len(y)))
    assert log_density == approx(joint, rel=1e-6, abs=1e-6)


@given(streams(max_features=5, max_length=10), powers(-1, 1))
def test_drift_maximises_the_likelihood_of_the_newest_observation(stream: Stream, noise_var: float) -> None:
    spec = SequentialKalmanSpec(noise_var)
    belief = start(spec, stream.X.shape[1])
    for x, y in zip(stream.X, stream.y, strict=True):
        before, belief = belief, update(belief, x, y, spec)
    if np.isnan(stream.y[-1]):
        return
    x, y = stream.X[-1], stream.y[-1]
    error, n, h = y - x @ before.weights.mean, x @ x, x @ before.weights.cov @ x

    def cost(drift_var: float) -> float:
        var = h + drift_var * n + noise_var
        return float(error**2 / var + np.log(var))

    high = max(4 * error**2 / n, 1e-6)
    best = minimize_scalar(cost, bounds=(0.0, high), method="bounded", options={"xatol": 1e-12 * high})
    assert cost(belief.drift_var) <= min(best.fun, cost(0.0)) + 1e-9


@given(st.integers(1, 5))
def test_a_missing_observation_lets_the_drift_pass_and_nothing_else(n_features: int) -> None:
    before = Belief(Weights(np.ones(n_features), np.eye(n_features)), drift_var=0.5, noise_var=2.0, n_seen=3)
    after = update(before, np.ones(n_features), np.nan, SequentialKalmanSpec())
    assert after.weights.mean == approx(before.weights.mean)
    assert after.weights.cov == approx(1.5 * np.eye(n_features))
    assert after[1:] == before[1:]


def test_adapted_noise_comes_near_the_variance_of_white_noise() -> None:
    rng = np.random.default_rng(0)
    spec = SequentialKalmanSpec(noise_var=1.0, adapt_noise=True)
    belief = start(spec, 1)
    for y in rng.normal(0.0, 3.0, 5000):
        belief = update(belief, np.ones(1), y, spec)
    # The weights chase what was noise, and their error adds to what is left unexplained: some 20 % too much.
    assert 9.0 < belief.noise_var < 12.0
    assert predict(belief, np.ones(1))[1] > belief.noise_var
