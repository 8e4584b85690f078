"""The CRPS of a mixture is held to a quadrature of its own, and to the closed form for normals."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pytest import approx
from scipy import stats
from scipy.special import erf

from adabypass import Family, Mixture
from adabypass.distributions.component import COMPONENT_FAMILIES
from adabypass.validation import Floats
from tests import oracles

SMOOTHED = tuple(family for family in COMPONENT_FAMILIES if family is not Family.STUDENT)
"""Families of noise that a Gaussian smooths."""
CRPS_ERROR = 1e-4  # of the score: what its quadrature promises for kinks and scales of any kind


def by_quadrature(forecast: Mixture, y: float) -> float:
    """Integrate the squared difference of distribution functions."""
    t, weights = oracles.mixture_nodes(forecast.components, y)
    return float(weights @ np.where(t < y, forecast.cdf(t), forecast.sf(t)) ** 2)


def of_normals(weight: Floats, mean: Floats, sd: Floats, y: float) -> float:
    """Grimit et al. 2006, equation 5: the CRPS of a mixture of normals."""

    def distance(m: Floats, s: Floats) -> Floats:
        return np.asarray(2 * s * stats.norm.pdf(m / s) + m * erf(m / s / np.sqrt(2)))

    both = distance(mean[:, None] - mean, np.hypot(sd[:, None], sd))
    return float(weight @ distance(y - mean, sd) - 0.5 * weight @ both @ weight)


def random_mixture(rng: np.random.Generator, n: int, low: float, high: float) -> Mixture:
    family = rng.choice(list(SMOOTHED), n)
    return Mixture.of(
        weight=rng.dirichlet(np.full(n, rng.choice([0.1, 1.0]))),
        mean=rng.normal(size=n) * 10.0 ** rng.uniform(low, high),
        signal_var=100.0 ** rng.uniform(low, high, n),
        noise_scale=10.0 ** rng.uniform(low, high, n),
        epsilon=np.where(family == Family.INSENSITIVE, 10.0 ** rng.uniform(-1.5, 1.3, n), 0.0),
        family=family,
    )


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3, 8]), st.sampled_from([(-1.0, 1.0), (-3.0, 6.0)]))
def test_crps_is_the_integral_of_the_squared_difference_of_distributions(
    seed: int, n: int, scales: tuple[float, float]
) -> None:
    """For scales spread over nine decades as for similar ones."""
    rng = np.random.default_rng(seed)
    forecast = random_mixture(rng, n, *scales)
    part = forecast.components[rng.integers(n)]
    y = float(part["mean"] + rng.normal() * np.sqrt(part["signal_var"]))
    assert forecast.crps(y) == approx(by_quadrature(forecast, y), rel=CRPS_ERROR)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 8, 55]), st.booleans())
def test_crps_of_normals_equals_its_closed_form(seed: int, n: int, are_rare: bool) -> None:
    """Among them mixtures whose wide parts are rare: most of E |Y - y| then cancels."""
    rng = np.random.default_rng(seed)
    weight = rng.dirichlet(np.full(n, rng.choice([0.05, 0.1, 1.0])))
    if are_rare:
        weight *= 1e-4
        weight[0] += 1 - weight.sum()
    mean, sd = rng.normal(size=n) * 10.0 ** rng.uniform(-1, 3), 10.0 ** rng.uniform(-3, 6, n)
    share = rng.uniform(size=n)
    forecast = Mixture.of(weight=weight, mean=mean, signal_var=share * sd**2, noise_scale=np.sqrt(1 - share) * sd)
    y = float(mean[0] + sd[0] * rng.normal())
    exact = of_normals(weight, mean, sd, y)
    assert forecast.crps(y) == approx(exact, rel=CRPS_ERROR, abs=1e-13 * forecast.sd)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 0.01, 0.1, 1.0 - 1e-7, 1.0, 1.0 + 3e-6, 3.0, 1e3])
@pytest.mark.parametrize("signal_var", [0.0, 1e-6, 1.0, 1e6])
def test_crps_of_two_insensitive_parts_of_any_ratio_equals_quadrature(scale: float, signal_var: float) -> None:
    forecast = Mixture.of(
        weight=[0.4, 0.6],
        mean=[0.0, 0.7],
        signal_var=signal_var,
        noise_scale=[1.0, scale],
        epsilon=[0.3, 2.0],
        family=Family.INSENSITIVE,
    )
    assert forecast.crps(0.5) == approx(by_quadrature(forecast, 0.5), rel=CRPS_ERROR)


@example(1e-160)
@given(st.floats(-290, 290).map(lambda e: 10.0**e))
def test_crps_and_entropy_follow_the_unit(unit: float) -> None:
    def forecast(unit: float) -> Mixture:
        with np.errstate(under="ignore"):
            return Mixture.of(
                weight=[0.2, 0.3, 0.5],
                mean=np.array([0.0, 1.0, 3.0]) * unit,
                noise_scale=np.array([1.0, 0.2, 5.0]) * unit,
                epsilon=[1.0, 0.0, 0.0],
                family=[Family.INSENSITIVE, Family.GAUSSIAN, Family.HEAVY],
            )

    assert forecast(unit).crps(2.0 * unit) == approx(unit * forecast(1.0).crps(2.0), rel=CRPS_ERROR)
    assert forecast(unit).entropy() == approx(forecast(1.0).entropy() + np.log(unit), abs=4e-5)  # twice its tolerance


def test_a_flat_top_without_bound_has_a_score() -> None:
    forecast = Mixture.of(
        weight=[0.5, 0.5], mean=0.0, noise_scale=[1e-100, 1e-7], epsilon=[1e100, 1e7], family=Family.INSENSITIVE
    )
    assert forecast.crps(0.0) == approx(1 / 6, rel=CRPS_ERROR)  # as two uniforms on [-1, 1]
