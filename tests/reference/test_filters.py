"""Noise that follows the level: (H.30). Filters in differences are regressions in differences: (H.14)-(H.19)."""

import numpy as np
import pytest
from pytest import approx
from scipy import stats

from adabypass.reference.filters import Anchor, level_log, level_log_slope
from adabypass.reference.linear_gaussian import Weights
from adabypass.reference.walks import direction, explain
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.bank_table import LevelLaw
from adabypass.validation import Floats

ROUNDING = 1e-9


def anchor_of(n: int) -> Anchor:
    return Anchor(np.zeros(n), np.ones(n), np.zeros(n), np.ones(n))


def learn(weights: Weights, z: Floats, y: float, noise_var: float) -> tuple[Weights, float]:
    """Condition Gaussian weights on one observation with Gaussian noise; return also its log density."""
    Pz = weights.cov @ z
    var = z @ Pz + noise_var
    error = y - z @ weights.mean
    posterior = Weights(weights.mean + Pz * error / var, weights.cov - np.outer(Pz, Pz) / var)
    return posterior, float(stats.norm.logpdf(error, 0.0, np.sqrt(var)))


@pytest.mark.parametrize("seed", range(5))
def test_log_densities_add_up_to_that_of_all_changes(seed: int) -> None:
    """With normal noise: y_1 is of level and slopes, each later change of the slopes and the features' moves."""
    rng = np.random.default_rng(seed)
    n, n_features, noise_var = 12, 3, 0.7
    X, y = rng.normal(size=(n, n_features)).cumsum(axis=0), rng.normal(size=n).cumsum()
    Z, spec = np.column_stack([np.ones(n), X]), AutoBypassSpec()
    weights, total = Weights(np.zeros(n_features + 1), 10.0 * np.eye(n_features + 1)), 0.0
    for z, target in zip(Z, y, strict=True):
        weights, log_density = learn(weights, z, target, noise_var)
        weights = explain(weights, z, target, direction(z, anchor_of(n_features), spec))
        total += log_density
    moves = np.vstack([Z[0], np.diff(Z, axis=0)])  # the level's column of a change is 0
    cov = 10.0 * moves @ moves.T + noise_var * np.eye(n)
    assert total == approx(stats.multivariate_normal(np.zeros(n), cov).logpdf(np.diff(y, prepend=0.0)), rel=ROUNDING)
    slopes_cov = np.linalg.inv(0.1 * np.eye(n_features + 1) + moves.T @ moves / noise_var)[1:, 1:]
    assert weights.cov[1:, 1:] == approx(slopes_cov, rel=ROUNDING)
    assert Z[-1] @ weights.mean == approx(y[-1], rel=ROUNDING)
    assert Z[-1] @ weights.cov @ Z[-1] == approx(0.0, abs=ROUNDING)


def test_without_an_intercept_one_slope_is_the_newest_ratio() -> None:
    spec, z, anchor = AutoBypassSpec(intercept=False), np.array([2.0]), anchor_of(1)
    weights = explain(Weights(np.array([0.3]), np.array([[5.0]])), z, 7.0, direction(z, anchor, spec))
    assert weights.mean == approx([3.5])
    assert weights.cov == approx(np.zeros((1, 1)), abs=ROUNDING)


def test_without_an_intercept_small_features_hardly_move_the_slopes() -> None:
    """A feature near 0 says nothing of its slope: it does not move to the ratio of y and next to nothing."""
    spec, anchor = AutoBypassSpec(intercept=False), anchor_of(2)
    for z in (np.zeros(2), np.array([1e-9, -1e-9]), np.array([0.01, 0.02])):
        u = direction(z, anchor, spec)
        assert np.abs(u).max() <= np.abs(z).max() / (spec.min_mean_square * 2) + ROUNDING
    large = np.array([3.0, -1.0])
    assert large @ direction(large, anchor, spec) == approx(1.0)


@pytest.mark.parametrize("law", [LevelLaw.EXPONENTIAL, LevelLaw.LINEAR])
@pytest.mark.parametrize("slope", [-0.4, 0.0, 1 / 3, 2.0])
@pytest.mark.parametrize("level", [-3.0, -0.7, 0.0, 1.9])
def test_the_slope_by_which_the_level_is_learned_is_the_derivative(law: LevelLaw, slope: float, level: float) -> None:
    step = 1e-6
    difference = level_log(slope + step, level, law) - level_log(slope - step, level, law)
    assert level_log_slope(slope, level, law) == approx(difference / (2 * step), rel=1e-6, abs=1e-8)


def test_linear_noise_is_proportional_to_the_distance_from_a_point() -> None:
    scale = [np.exp(level_log(0.5, level, LevelLaw.LINEAR)) for level in (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0)]
    assert scale[3] == 1.0
    assert scale == approx([0.5, 0.0, 0.5, 1.0, 1.5, 2.0], abs=0.1)
    assert scale[1] == approx(0.1 / np.hypot(1.0, 0.1))
