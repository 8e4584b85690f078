"""The reference of forecasts many steps ahead, and futures that are drawn, agree with draws of other code."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass.forecasting import multistep
from adabypass.numerics.noise import Family
from adabypass.reference import multistep as reference
from adabypass.reference import stability
from adabypass.reference.filters import level_log
from adabypass.state.bank_table import LevelLaw
from adabypass.state.linear_mixture import MAX_LEVEL_DISTANCE, LinearMixture
from adabypass.state.past import Design, Past


def test_weights_that_may_not_explode_turn_about_where_the_series_is() -> None:
    belief = LinearMixture(
        share=np.ones(1),
        mean=np.array([[2.0, 1.02]]),
        cov=np.array([[[0.0, 0.0], [0.0, 0.0004]]]),  # 1.02 may well be 1
        drift=np.zeros((1, 2, 2)),
        noise_scale=np.ones(1),
        epsilon=np.zeros(1),
        family=np.array([Family.GAUSSIAN]),
        fading=np.zeros(1),
        fade=np.zeros(1),
        level_slope=np.zeros(1),
        level_center=0.0,
        level_unit=1.0,
        x_center=np.array([100.0]),
        y_center=100.0,
        intercept=True,
    )
    past = Past(np.array([1100.0]), np.empty(0, np.int64), np.empty((0, 0)))
    (steps,) = reference.moments(belief, Design((1,)), past, np.zeros((2, 1)))
    # 22 up in the first step, as in the second but for Cov(w, y) = 0.0004 * 1000; about the centre it would be 2.
    assert steps.mean == approx([1122.0, 1144.4])


def simulate(
    mixture: LinearMixture, value: float, n: int, seed: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Draw two steps of an AR(1) whose weight is uncertain and drifts, one path a row, without any code of ours."""
    rng = np.random.default_rng(seed)
    weight = mixture.mean[0, 0] + np.sqrt(mixture.cov[0, 0, 0]) * rng.normal(size=n)
    paths, last = np.empty((n, 2)), np.full(n, value)
    for step in range(2):
        weight = weight + np.sqrt(mixture.drift[0, 0, 0]) * rng.normal(size=n)
        last = weight * last + mixture.noise_scale[0] * rng.normal(size=n)
        paths[:, step] = last
    return paths


def test_the_reference_agrees_with_a_million_draws() -> None:
    """Two steps are exact: there the Gaussian closure has not begun to matter."""
    one = np.ones(1)
    mixture = LinearMixture(
        share=one, mean=np.array([[0.6]]), cov=np.array([[[0.01]]]), drift=np.array([[[0.002]]]), noise_scale=0.5 * one,
        epsilon=0 * one, family=np.array([Family.GAUSSIAN]), fading=0 * one, fade=0 * one, level_slope=0 * one,
        level_center=0.0, level_unit=1.0, x_center=np.zeros(1), y_center=0.0, intercept=False,
    )  # fmt: skip
    past = Past(np.array([2.0]), np.empty(0, np.int64), np.empty((0, 0)))
    assert stability.stabilisation(mixture, Design((1,)), 2)[0][1] == 1.0  # nothing to stabilise
    (moments,) = reference.moments(mixture, Design((1,)), past, np.zeros((2, 1)))
    paths = simulate(mixture, 2.0, 1_000_000, 0)
    var = moments.signal_var + moments.noise_scale**2
    assert paths.mean(axis=0) == approx(moments.mean, abs=5 * np.sqrt(var.max() / 1e6))
    assert paths.var(axis=0) == approx(var, rel=0.01)  # five standard errors of a variance with these tails


@pytest.mark.parametrize(
    ("weights", "lags", "expected"),
    [([0.5], (1,), 0.5), ([0.25], (2,), 0.5), ([1.2, -0.4], (1, 2), 0.4**0.5), ([0.3, 0.8], (1, 2), 1.0569)],
)
def test_growth_is_near_the_largest_root(weights: list[float], lags: tuple[int, ...], expected: float) -> None:
    assert stability.growth(np.array(weights), lags, 400) == approx(expected, rel=0.02)


def test_weights_that_explain_each_observation_agree_with_a_million_draws() -> None:
    """Two steps of an AR(1) in differences: the level moves by the noise of the first."""
    one, n = np.ones(1), 1_000_000
    mixture = LinearMixture(
        share=one, mean=np.array([[0.3, 0.6]]), cov=np.array([[[0.05, 0.01], [0.01, 0.02]]]), drift=np.zeros((1, 2, 2)),
        noise_scale=0.5 * one, epsilon=0 * one, family=np.array([Family.GAUSSIAN]), fading=0 * one, fade=0 * one,
        level_slope=0 * one, level_center=0.0, level_unit=1.0, x_center=np.zeros(1), y_center=0.0, intercept=True,
        differenced=one,
    )  # fmt: skip
    past = Past(np.array([1.0]), np.empty(0, np.int64), np.empty((0, 0)))
    damping, shrink = stability.stabilisation(mixture, Design((1,)), 2)[0]
    assert damping == approx(1.0)
    assert shrink == 1.0  # nothing to stabilise
    (moments,) = reference.moments(mixture, Design((1,)), past, np.zeros((2, 1)))
    rng = np.random.default_rng(0)
    level, slope = rng.multivariate_normal(mixture.mean[0], mixture.cov[0], n).T
    paths, last = np.empty((n, 2)), np.ones(n)
    for step in range(2):
        error = 0.5 * rng.normal(size=n)
        last = level + slope * last + error
        level, paths[:, step] = level + error, last
    var = moments.signal_var + moments.noise_scale**2
    assert paths.mean(axis=0) == approx(moments.mean, abs=5 * np.sqrt(var.max() / n))
    assert paths.var(axis=0) == approx(var, rel=0.01)  # as above
    stable = mixture.mean, np.ones_like(mixture.mean)
    drawn = multistep.paths(mixture, stable, Design((1,)), past, np.zeros((2, 1)), 200_000, rng)
    assert drawn.mean(axis=0) == approx(moments.mean, abs=5 * np.sqrt(var.max() / 200_000))
    assert drawn.var(axis=0) == approx(var, rel=0.02)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.floats(-10, 10))
def test_the_noise_follows_the_level_as_the_reference_says(seed: int, n_parts: int, at: float) -> None:
    rng, one = np.random.default_rng(seed), np.ones(n_parts)
    mixture = LinearMixture(
        share=one / n_parts, mean=np.zeros((n_parts, 1)), cov=np.zeros((n_parts, 1, 1)),
        drift=np.zeros((n_parts, 1, 1)), noise_scale=rng.uniform(0.1, 2.0, n_parts), epsilon=0 * one,
        family=np.full(n_parts, Family.GAUSSIAN), fading=0 * one, fade=0 * one,
        level_slope=0.3 * rng.normal(size=n_parts), level_center=float(rng.normal()), level_unit=rng.uniform(0.5, 2.0),
        level_linear=rng.integers(0, 2, n_parts).astype(float), x_center=np.zeros(1), y_center=0.0, intercept=False,
        season_logs=0.3 * rng.normal(size=3),
    )  # fmt: skip
    level = float(np.clip((at - mixture.level_center) / mixture.level_unit, -MAX_LEVEL_DISTANCE, MAX_LEVEL_DISTANCE))
    laws = [LevelLaw.LINEAR if each else LevelLaw.EXPONENTIAL for each in mixture.level_linear]
    logs = [level_log(slope, level, law) for slope, law in zip(mixture.level_slope, laws, strict=True)]
    expected = mixture.noise_scale * np.exp(np.array(logs) + mixture.season_logs[0])
    assert mixture.scale_at(np.full(n_parts, at)) == approx(expected)
