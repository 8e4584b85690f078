"""The kernel's evidence equals the reference everywhere, and mpmath's quadrature where it is tried."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass.distributions.families import evidence, flexible_evidence
from adabypass.numerics import noise
from adabypass.numerics.noise import Family
from adabypass.reference import evidence as reference
from adabypass.validation import Floats
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
    shares, sds = (np.array(values) for values in noise.NORMALS[family])
    exact = oracles.normals_evidence(d, v, shares, np.zeros_like(sds), sds)
    assert log_density == approx(exact.log_density, rel=1e-10, abs=1e-10)
    assert shift == approx(exact.shift, rel=1e-8, abs=1e-8 * exact.var**0.5)
    assert var == approx(exact.var, rel=1e-8)
    assert scale_slope == approx(exact.scale_slope, rel=1e-8, abs=1e-8)


@st.composite
def flexible_shares(draw: st.DrawFn) -> Floats:
    """Shares of the normals of flexible noise, some of them next to nothing."""
    sizes = np.array([draw(powers(-9, 0)) for _ in noise.FLEXIBLE_NORMALS.start])
    return np.asarray(sizes / sizes.sum())


@settings(max_examples=1000)
@given(flexible_shares(), distances, powers(-12, 12))
@example(noise.FLEXIBLE_NORMALS.start, 0.0, 1.0)
@example(noise.FLEXIBLE_NORMALS.start, 1e4, 1e12)
def test_flexible_evidence_equals_reference(shares: Floats, d: float, v: float) -> None:
    log_density, shift, var, scale_slope, epsilon_slope = flexible_evidence(shares, d, v)
    expected = reference.flexible(d, v, shares)
    assert log_density == approx(expected.log_density, rel=1e-10, abs=1e-10)
    assert shift == approx(expected.shift, rel=1e-8, abs=1e-8 * expected.var**0.5)
    assert var == approx(expected.var, rel=1e-8)
    assert scale_slope == approx(expected.scale_slope, rel=1e-8, abs=1e-9)
    assert epsilon_slope == 0.0


@given(flexible_shares(), st.floats(-300, 300), powers(-6, 6))
def test_flexible_evidence_equals_quadrature(shares: Floats, d: float, v: float) -> None:
    log_density, shift, var, scale_slope, _ = flexible_evidence(shares, d, v)
    centers, sds, _ = noise.FLEXIBLE_NORMALS
    exact = oracles.normals_evidence(d, v, shares, centers - shares @ centers, sds)
    assert log_density == approx(exact.log_density, rel=1e-10, abs=1e-10)
    assert shift == approx(exact.shift, rel=1e-8, abs=1e-8 * exact.var**0.5)
    assert var == approx(exact.var, rel=1e-8)
    assert scale_slope == approx(exact.scale_slope, rel=1e-8, abs=1e-8)


@given(flexible_shares(), distances, powers(12, 99))
def test_flexible_evidence_is_finite_however_far_out(shares: Floats, d: float, size: float) -> None:
    for each in (flexible_evidence(shares, size, abs(d)), flexible_evidence(shares, -size, size * size)):
        assert np.isfinite(each).all()
        assert each[2] >= 0.0


@given(powers(12, 90), powers(0, 8), st.sampled_from([-1.0, 1.0]))
def test_however_far_out_the_shift_is_the_variance(d: float, v: float, sign: float) -> None:
    """Where the second form of (G.3) has lost every digit."""
    assert evidence(Family.INSENSITIVE, sign * d, v, 1.25)[1] == approx(-sign * v)
