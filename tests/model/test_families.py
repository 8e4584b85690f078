"""The kernel's evidence equals the reference everywhere, and mpmath's quadrature where it is tried."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass.inference.reference import evidence as reference
from adabypass.model import noise
from adabypass.model.families import evidence
from adabypass.model.noise import Family
from tests import oracles
from tests.strategies import powers

distances = st.builds(lambda size, sign: sign * size, powers(-6, 4), st.sampled_from([-1.0, 1.0]))


@settings(max_examples=2000)
@given(distances, powers(-12, 12), powers(-6, 3))
@example(0.0, 1.0, 1.25)
@example(1.25, 1e-12, 1.25)
@example(1e4, 1e12, 1e-6)
@example(1000.0, 1e-6, 1000.0)
def test_evidence_equals_reference(d: float, v: float, epsilon: float) -> None:
    log_density, shift, var, scale_slope, epsilon_slope = evidence(Family.INSENSITIVE, d, v, epsilon)
    expected = reference.evidence(Family.INSENSITIVE, d, v, epsilon)
    rounding = 4e-16 * abs(d) / v**0.5  # of d + v in the reference, in standard deviations
    assert log_density == approx(expected.log_density, rel=1e-10, abs=1e-10 + rounding)
    assert shift == approx(expected.shift, rel=1e-8, abs=1e-8 * expected.var**0.5)
    assert var == approx(expected.var, rel=1e-8)
    assert scale_slope == approx(expected.scale_slope, rel=1e-8, abs=1e-10)
    assert epsilon_slope == approx(expected.epsilon_slope, rel=1e-8, abs=1e-10)


@settings(max_examples=40)
@given(distances, powers(-12, 12), powers(-6, 3))
@example(1e4, 1e12, 1e-6)
def test_evidence_equals_mpmath(d: float, v: float, epsilon: float) -> None:
    log_density, shift, var, scale_slope, epsilon_slope = evidence(Family.INSENSITIVE, d, v, epsilon)
    exact = oracles.insensitive_evidence(d, v, epsilon)
    assert log_density == approx(exact.log_density, rel=1e-10, abs=1e-10)
    assert shift == approx(exact.shift, rel=1e-8, abs=1e-8 * exact.var**0.5)
    assert var == approx(exact.var, rel=1e-8)
    assert scale_slope == approx(exact.scale_slope, rel=1e-8, abs=1e-10)
    assert epsilon_slope == approx(exact.epsilon_slope, rel=1e-8, abs=1e-10)


@settings(max_examples=1000)
@given(st.sampled_from(list(noise.NORMALS)), distances, powers(-12, 12))
@example(Family.HEAVY, 0.0, 1.0)
@example(Family.HEAVY, 1e4, 1e12)
def test_evidence_of_normals_equals_reference(family: Family, d: float, v: float) -> None:
    log_density, shift, var, scale_slope, epsilon_slope = evidence(family, d, v, 0.0)
    expected = reference.evidence(family, d, v, 0.0)
    assert log_density == approx(expected.log_density, rel=1e-10, abs=1e-10)
    assert shift == approx(expected.shift, rel=1e-8, abs=1e-8 * expected.var**0.5)
    assert var == approx(expected.var, rel=1e-8)
    assert scale_slope == approx(expected.scale_slope, rel=1e-8, abs=1e-10)
    assert epsilon_slope == 0.0


@given(st.sampled_from(list(noise.NORMALS)), st.floats(-300, 300), powers(-6, 6))
def test_evidence_of_normals_equals_quadrature(family: Family, d: float, v: float) -> None:
    log_density, shift, var, scale_slope, _ = evidence(family, d, v, 0.0)
    exact = oracles.normals_evidence(d, v, noise.NORMALS[family])
    assert log_density == approx(exact.log_density, rel=1e-10, abs=1e-10)
    assert shift == approx(exact.shift, rel=1e-8, abs=1e-8 * exact.var**0.5)
    assert var == approx(exact.var, rel=1e-8)
    assert scale_slope == approx(exact.scale_slope, rel=1e-8, abs=1e-8)


@given(powers(12, 90), powers(0, 8), st.sampled_from([-1.0, 1.0]))
def test_however_far_out_the_shift_is_the_variance(d: float, v: float, sign: float) -> None:
    """Where the second form of (40) has lost every digit."""
    assert evidence(Family.INSENSITIVE, sign * d, v, 1.25)[1] == approx(-sign * v)
