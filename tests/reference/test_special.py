"""The reference's special functions equal mpmath over every size that a stream can bring."""

from hypothesis import example, given
from hypothesis import strategies as st
from pytest import approx

from adabypass.reference.special import bessel_ratio, truncated_moments
from tests import oracles
from tests.strategies import powers

locations = st.builds(lambda size, sign: sign * size, powers(-8, 8), st.sampled_from([-1.0, 1.0]))


@given(powers(-30, 30))
def test_bessel_ratio_equals_mpmath(rho: float) -> None:
    assert bessel_ratio(rho) == approx(oracles.bessel_ratio(rho), rel=1e-12)


@given(locations, powers(-12, 12), powers(-8, 4))
@example(0.0, 1.0, 1.25)
@example(1e8, 1e12, 1e-8)
def test_truncated_moments_equal_mpmath(location: float, prec: float, half_width: float) -> None:
    mean, var = truncated_moments(location, prec, half_width)
    exact_mean, exact_var = oracles.truncated_moments(location, prec, half_width)
    assert mean == approx(exact_mean, abs=1e-10 * half_width)
    assert var == approx(exact_var, rel=1e-8)


@given(locations, powers(-12, 12), powers(-8, 4))
@example(0.0, 1.0, 1.25)
@example(1e8, 1e12, 1e-8)
def test_moments_with_atoms_equal_mpmath(location: float, prec: float, half_width: float) -> None:
    """Erratum E4: q(μ) is the truncated Gaussian and an atom at either end."""
    mean, var = truncated_moments(location, prec, half_width, atoms=True)
    exact_mean, exact_var = oracles.atom_moments(location, prec, half_width)
    assert mean == approx(exact_mean, abs=1e-10 * half_width)
    assert var == approx(exact_var, rel=1e-8, abs=1e-12 * half_width**2)
