"""The kernel's special functions equal mpmath over every size that a stream can bring."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass.numerics.special import bessel_ratio, moments
from tests import oracles
from tests.strategies import powers

locations = st.builds(lambda size, sign: sign * size, powers(-8, 8), st.sampled_from([-1.0, 1.0]))


@settings(max_examples=300)
@given(powers(-30, 30))
@example(1.0)
@example(np.nextafter(1.0, 0.0))
def test_bessel_ratio_equals_mpmath(rho: float) -> None:
    assert bessel_ratio(rho) == approx(oracles.bessel_ratio(rho), rel=1e-12)


@pytest.mark.parametrize("rho", [1e-300, 1e300])
def test_bessel_ratio_is_finite_and_positive_at_the_ends_of_its_range(rho: float) -> None:
    assert bessel_ratio(rho) == approx(oracles.bessel_ratio(rho), rel=1e-12)


@settings(max_examples=1000)
@given(locations, powers(-12, 12), powers(-8, 4))
@example(0.0, 1.0, 1.25)
@example(1e8, 1e12, 1e-8)
def test_truncated_moments_equal_mpmath(location: float, prec: float, half_width: float) -> None:
    mean, var = moments(location, prec, half_width)
    exact_mean, exact_var = oracles.truncated_moments(location, prec, half_width)
    assert mean == approx(exact_mean, abs=1e-10 * half_width)
    assert var == approx(exact_var, rel=1e-8)


@settings(max_examples=1000)
@given(st.floats(-6, 30), powers(-3, 2))
def test_truncated_moments_equal_mpmath_where_the_forms_meet(near: float, width: float) -> None:
    """In standard deviations: where the interval starts, and how wide it is."""
    half_width = width / 2
    location = near + half_width
    mean, var = moments(location, 1.0, half_width)
    exact_mean, exact_var = oracles.truncated_moments(location, 1.0, half_width)
    assert mean == approx(exact_mean, abs=1e-10 * half_width)
    assert var == approx(exact_var, rel=1e-8)


@settings(max_examples=300)
@given(locations, powers(-12, 12), powers(-8, 4))
@example(0.0, 1.0, 1.25)
@example(1e8, 1e12, 1e-8)
def test_moments_with_atoms_equal_mpmath(location: float, prec: float, half_width: float) -> None:
    mean, var = moments(location, prec, half_width, atoms=True)
    exact_mean, exact_var = oracles.atom_moments(location, prec, half_width)
    assert mean == approx(exact_mean, abs=1e-10 * half_width)
    assert var == approx(exact_var, rel=1e-8, abs=1e-12 * half_width**2)


@given(
    st.floats(-1e300, 1e300, allow_subnormal=False),
    powers(-150, 150),
    powers(-100, 100),
)
def test_moments_with_atoms_stay_in_their_range_for_any_size(location: float, prec: float, half_width: float) -> None:
    mean, var = moments(location, prec, half_width, atoms=True)
    assert -half_width <= mean <= half_width
    assert 0.0 <= var <= half_width**2 * (1 + 1e-12)


@given(
    st.floats(-1e300, 1e300, allow_subnormal=False),
    powers(-150, 2.6),
    powers(-100, 100),
)
def test_truncated_moments_stay_in_their_range_for_any_size(location: float, prec: float, half_width: float) -> None:
    mean, var = moments(location, prec, half_width)
    assert -half_width <= mean <= half_width
    assert 0.0 <= var <= half_width**2 * (1 + 1e-12)
