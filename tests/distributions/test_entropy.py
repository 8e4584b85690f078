"""The entropy of a mixture is held to quadrature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass import Family, Mixture
from tests import oracles
from tests.distributions.test_crps import random_mixture
from tests.mixtures import insensitive


def by_quadrature(forecast: Mixture) -> float:
    t, weights = oracles.mixture_nodes(forecast.components)
    logs = forecast.logpdf(t)
    return -float(weights @ (np.exp(logs) * logs))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 5]), st.sampled_from([(-1.0, 1.0), (-3.0, 6.0)]))
def test_entropy_is_the_expected_negative_log_density(seed: int, n: int, scales: tuple[float, float]) -> None:
    forecast = random_mixture(np.random.default_rng(seed), n, *scales)
    assert forecast.entropy() == approx(by_quadrature(forecast), abs=1e-4)


@pytest.mark.parametrize(("apart", "scale", "error"), [(10.0, 1e-3, 1e-4), (1e3, 1e-4, 1e-4), (1e9, 1e-4, 1e-3)])
def test_the_entropy_of_two_peaks_far_apart_is_that_of_one_and_of_the_choice(
    apart: float, scale: float, error: float
) -> None:
    """At 1e9 two numbers are a thousandth of the scale apart."""
    one = insensitive(0.0, scale**2, scale, 1.0)
    two = Mixture.of(
        weight=[0.5, 0.5],
        mean=[0.0, apart],
        signal_var=scale**2,
        noise_scale=scale,
        epsilon=1.0,
        family=Family.INSENSITIVE,
    )
    assert two.entropy() == approx(one.entropy() + np.log(2), abs=error)
