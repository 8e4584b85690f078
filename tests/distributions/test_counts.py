"""Forecasts of counts against sums over whole numbers by SciPy."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from adabypass.distributions.mixture import Mixture
from adabypass.distributions.predictive import concatenate
from adabypass.errors import ParameterError
from adabypass.numerics.noise import Family

K = np.arange(0.0, 6000.0)


def mixture(
    mean: Any, scale: Any, dof: Any, weight: Any, zero_share: float = 0.0, reserve: float = 0.02, **more: Any
) -> Mixture:
    return Mixture.of(
        weight=weight, mean=mean, noise_scale=scale, dof=dof, family=Family.STUDENT, zero_share=zero_share,
        reserve=reserve, **more,
    )  # fmt: skip


def masses(mean: Any, scale: Any, dof: Any, weight: Any, zero_share: float = 0.0) -> np.ndarray:
    """Return the probabilities of 0, 1, 2 ...: equation (G.17)."""
    up_to = sum(w * student.cdf(K + 0.5, d, m, s) for w, m, s, d in zip(weight, mean, scale, dof, strict=True))
    if zero_share > 0:
        up_to[0] = 0.0
    found = (1 - zero_share) * np.diff(up_to, prepend=0.0)
    found[0] += zero_share
    return np.asarray(found)


@st.composite
def parameters(draw: st.DrawFn) -> tuple[list[float], list[float], list[float], list[float], float]:
    n = draw(st.integers(1, 3))
    numbers = st.floats(-5, 40), st.floats(0.05, 4), st.floats(15, 60), st.floats(0.05, 1)
    mean, scale, dof, weight = (draw(st.lists(each, min_size=n, max_size=n)) for each in numbers)
    return mean, scale, dof, [w / sum(weight) for w in weight], draw(st.sampled_from([0.0, 0.3, 0.95]))


@settings(max_examples=80, deadline=None)
@given(parameters(), st.integers(0, 60))
def test_it_is_the_rounded_mixture(given_parameters: Any, y: int) -> None:
    mean, scale, dof, weight, zero_share = given_parameters
    p, expected = mixture(mean, scale, dof, weight, zero_share), masses(*given_parameters)
    cdf = expected.cumsum()
    np.testing.assert_allclose(p.cdf(K[:80]), cdf[:80], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(p.sf(K[:80]), 1 - cdf[:80], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(p.cdf(y + 0.7), cdf[y], rtol=1e-7, atol=1e-9)
    assert p.cdf(-0.1) == 0.0
    likely = expected[:80] > 1e-9
    np.testing.assert_allclose(np.exp(p.logpdf(K[:80]))[likely], 0.98 * expected[:80][likely], rtol=1e-4)
    assert p.mean == pytest.approx(expected @ K, rel=5e-3, abs=5e-3)
    assert p.var == pytest.approx(expected @ (K - expected @ K) ** 2, rel=2e-2, abs=1e-3)
    crps = np.sum((cdf - (y <= K)) ** 2)
    assert p.crps(float(y)) == pytest.approx(crps, rel=2e-3, abs=1e-5)
    entropy = -np.sum(expected[expected > 0] * np.log(expected[expected > 0]))
    assert p.entropy() == pytest.approx(entropy, rel=5e-3, abs=5e-3)


@settings(max_examples=80, deadline=None)
@given(parameters(), st.lists(st.floats(0.001, 0.999), min_size=1, max_size=5))
def test_quantiles_are_the_least_counts_that_are_likely_enough(given_parameters: Any, levels: list[float]) -> None:
    mean, scale, dof, weight, zero_share = given_parameters
    p = mixture(mean, scale, dof, weight, zero_share)
    for level in levels:
        found = p.quantile(level)
        assert found == np.floor(found)
        assert found >= 0.0
        assert p.cdf(found) >= level - 1e-9
        assert p.cdf(found - 1.0) <= level + 1e-9


def test_values_that_are_no_counts_have_the_density_that_is_kept_back() -> None:
    p = mixture([3.0], [1.0], [20.0], [1.0])
    for y in (2.5, -1.0, 1e16):
        assert p.logpdf(y) == pytest.approx(np.log(0.02) + student.logpdf(y, 20.0, 3.0, 1.0))


def test_a_wide_count_is_hardly_another_forecast_than_a_continuous_one() -> None:
    p, continuous = (mixture([5000.0], [800.0], [25.0], [1.0], reserve=each) for each in (1e-6, 0.0))
    assert p.mean == pytest.approx(continuous.mean, rel=1e-4)
    assert p.var == pytest.approx(continuous.var, rel=1e-3)
    assert p.crps(4321.0) == pytest.approx(continuous.crps(4321.0), rel=1e-5)
    assert p.entropy() == pytest.approx(continuous.entropy(), abs=1e-4)
    assert p.logpdf(4321.0) == pytest.approx(continuous.logpdf(4321.0), abs=1e-4)
    enormous = mixture([1e12], [1e11], [25.0], [1.0], reserve=1e-6)
    assert enormous.logpdf(1e12) == pytest.approx(student.logpdf(0.0, 25.0, 0.0, 1e11), abs=1e-4)


def test_a_wide_count_is_not_negative() -> None:
    p = mixture([-100.0], [50.0], [25.0], [1.0])
    assert p.mean >= 0.0
    assert p.quantile(0.001) == 0.0
    assert p.mean == pytest.approx(masses([-100.0], [50.0], [25.0], [1.0]) @ K, rel=0.02)


def test_draws_have_its_probabilities() -> None:
    mean, scale, dof, weight = [0.4, 3.0], [0.5, 1.0], [20.0, 20.0], [0.6, 0.4]
    for zero_share in (0.0, 0.4):
        drawn = mixture(mean, scale, dof, weight, zero_share).sample(np.random.default_rng(0), 100_000)
        found = np.array([(drawn == k).mean() for k in range(8)])
        np.testing.assert_allclose(found, masses(mean, scale, dof, weight, zero_share)[:8], atol=0.006)


def test_of_many_each_is_what_it_is_alone() -> None:
    many = Mixture.of(
        weight=np.full((3, 1), 1.0), mean=[[1.0], [2.0], [3.0]], noise_scale=1.0, dof=20.0, family=Family.STUDENT,
        reserve=[0.1, 0.0, 0.2],
    )  # fmt: skip
    alone = [many[i] for i in range(3)]
    for joined in (many, concatenate(alone), pickle.loads(pickle.dumps(many)), many[::-1][::-1]):
        assert joined.quantile(0.83).tolist() == [each.quantile(0.83) for each in alone]
        assert joined.mean.tolist() == [each.mean for each in alone]
    assert many.quantile(0.83)[1] != np.floor(many.quantile(0.83)[1])


def test_a_reserve_that_is_no_probability_is_refused() -> None:
    with pytest.raises(ParameterError, match="reserve"):
        mixture([1.0], [1.0], [20.0], [1.0], reserve=0.9)
