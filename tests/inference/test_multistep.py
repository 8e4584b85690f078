"""Forecasts many steps ahead equal the reference, which carries every covariance in full."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass.inference import multistep
from adabypass.inference.reference import multistep as reference
from adabypass.inference.reference import stability
from adabypass.inference.reference.filters import level_log
from adabypass.model.bank_design import LevelLaw
from adabypass.model.linear_mixture import LARGEST_LEVEL, LinearMixture
from adabypass.model.noise import FLEXIBLE_NORMALS, Family
from adabypass.model.past import Design, Past

ROUNDING = 1e-9


@st.composite
def cases(draw: st.DrawFn) -> tuple[LinearMixture, Design, Past, int, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lags = draw(st.sampled_from([(1,), (1, 2), (2, 5), (3,), ()]))
    intercept = draw(st.booleans())
    design = Design(lags, draw(st.integers(0, 2)), bias=not intercept and draw(st.booleans()))
    n_exog = draw(st.integers(0 if lags or design.bias else 1, 2))
    n_features = int(design.bias) + len(lags) + n_exog
    n_weights, n_parts = n_features + intercept, draw(st.integers(1, 3))
    root = rng.normal(size=(n_parts, n_weights, n_weights)) * 0.05
    drift_root = rng.normal(size=(n_parts, n_weights, n_weights)) * 0.01
    mixture = LinearMixture(
        share=rng.dirichlet(np.ones(n_parts)),
        mean=rng.normal(size=(n_parts, n_weights)) * draw(st.sampled_from([0.3, 0.9])),
        cov=root @ root.transpose(0, 2, 1),
        drift=drift_root @ drift_root.transpose(0, 2, 1),
        noise_scale=rng.uniform(0.1, 2.0, n_parts),
        epsilon=np.zeros(n_parts),
        family=rng.choice([Family.GAUSSIAN, Family.HEAVY, Family.FLEXIBLE], n_parts).astype(np.int64),
        fading=rng.normal(size=n_parts) * 0.3,
        fade=rng.uniform(0, 1, n_parts),
        level_slope=rng.normal(size=n_parts) * 0.3,
        level_center=float(rng.normal()),
        level_unit=rng.uniform(0.5, 2.0),
        level_linear=rng.integers(0, 2, n_parts).astype(float) if draw(st.booleans()) else np.zeros(0),
        x_center=rng.normal(size=n_features) if intercept else np.zeros(n_features),
        y_center=float(rng.normal()) if intercept else 0.0,
        intercept=intercept,
        normal_shares=rng.dirichlet(np.ones(len(FLEXIBLE_NORMALS.start))),
        differenced=rng.integers(0, 2, n_parts).astype(float),
        feature_size=rng.uniform(0.5, 2.0, n_features) * (rng.random(n_features) < 0.8),
        least_size=0.25,
        season_logs=0.3 * rng.normal(size=draw(st.integers(1, 4))),
    )
    unknown = np.flatnonzero(rng.random(design.n_values) < 0.4)[::-1]
    spread = rng.normal(size=(len(unknown), len(unknown)))
    past = Past(rng.normal(size=design.n_values), unknown, spread @ spread.T)
    return mixture, design, past, n_features, rng


@settings(max_examples=200, deadline=None)
@given(cases(), st.integers(1, 9))
def test_moments_equal_the_reference(
    case: tuple[LinearMixture, Design, Past, int, np.random.Generator], horizon: int
) -> None:
    mixture, design, past, n_features, rng = case
    features = rng.normal(size=(horizon, n_features))
    features[:, : int(design.bias)] = 1.0
    ours = multistep.moments(mixture, design, past, features)
    first = 0
    for k, theirs in enumerate(reference.moments(mixture, design, past, features)):
        size = np.abs(theirs.mean).max() + np.sqrt(theirs.signal_var.max())
        mean, scale = theirs.mean[:, None], theirs.noise_scale[:, None]
        if mixture.family[k] == Family.FLEXIBLE:  # each of its normals is a component
            centers, sds, _ = FLEXIBLE_NORMALS
            mean, scale = mean + scale * (centers - mixture.normal_shares @ centers), scale * sds
            assert ours["weight"][0, first : first + len(sds)] == approx(mixture.share[k] * mixture.normal_shares)
        here = ours[:, first : first + mean.shape[1]]
        first += mean.shape[1]
        assert here["mean"] == approx(mean, rel=ROUNDING, abs=ROUNDING * (size + scale.max()))
        assert here["signal_var"] == approx(
            np.broadcast_to(theirs.signal_var[:, None], here.shape), rel=ROUNDING, abs=ROUNDING * size**2
        )
        assert here["noise_scale"] == approx(scale, rel=ROUNDING)
    assert first == ours.shape[1]


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
    drawn = multistep.paths(mixture, Design((1,)), past, np.zeros((2, 1)), 200_000, rng)
    assert drawn.mean(axis=0) == approx(moments.mean, abs=5 * np.sqrt(var.max() / 200_000))
    assert drawn.var(axis=0) == approx(var, rel=0.02)


@settings(max_examples=50, deadline=None)
@given(cases(), st.floats(-10, 10))
def test_the_noise_follows_the_level_as_the_reference_says(
    case: tuple[LinearMixture, Design, Past, int, np.random.Generator], at: float
) -> None:
    mixture = case[0]
    level = float(np.clip((at - mixture.level_center) / mixture.level_unit, -LARGEST_LEVEL, LARGEST_LEVEL))
    linear = mixture.level_linear if len(mixture.level_linear) else np.zeros(len(mixture.share))
    laws = [LevelLaw.LINEAR if each else LevelLaw.EXPONENTIAL for each in linear]
    logs = [level_log(slope, level, law) for slope, law in zip(mixture.level_slope, laws, strict=True)]
    expected = mixture.noise_scale * np.exp(np.array(logs) + mixture.season_logs[0])
    assert mixture.scale_at(np.full(len(laws), at)) == approx(expected)
