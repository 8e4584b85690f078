"""The reference's evidence equals mpmath's quadrature, and its limits are the ones they should be."""

from math import log

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass.numerics.noise import NORMALS, Family
from adabypass.reference.evidence import Evidence, insensitive, normals
from tests import oracles
from tests.strategies import powers

distances = st.builds(lambda size, sign: sign * size, powers(-6, 4), st.sampled_from([-1.0, 1.0]))


@settings(max_examples=60)
@given(distances, powers(-12, 12), powers(-6, 3))
@example(0.0, 1.0, 1.25)
@example(1.25, 1e-12, 1.25)
@example(1e4, 1e12, 1e-6)
@example(1000.0, 1e-6, 1000.0)
@example(-1e4, 1e4, 1e3)
def test_evidence_equals_mpmath(d: float, v: float, epsilon: float) -> None:
    check(insensitive(d, v, epsilon), oracles.insensitive_evidence(d, v, epsilon))


def check(ours: Evidence, exact: oracles.ExactEvidence) -> None:
    """Compare; what is near 0 by symmetry is measured against the posterior's standard deviation."""
    log_density, shift, var, _, scale_slope, epsilon_slope, _ = ours
    assert log_density == approx(exact.log_density, rel=1e-10, abs=1e-10)
    assert shift == approx(exact.shift, rel=1e-8, abs=1e-8 * exact.var**0.5)
    assert var == approx(exact.var, rel=1e-8)
    assert scale_slope == approx(exact.scale_slope, rel=1e-8, abs=1e-10)
    assert epsilon_slope == approx(exact.epsilon_slope, rel=1e-8, abs=1e-10)


@given(distances, powers(-3, 3))
def test_narrow_flat_top_is_laplace_noise(d: float, v: float) -> None:
    """With ε → 0 the evidence is that of Laplace noise: a Gaussian convolved with it, symmetric in d."""
    narrow, narrower = insensitive(d, v, 1e-9), insensitive(d, v, 1e-12)
    assert narrow.log_density == approx(narrower.log_density, abs=1e-8)
    assert insensitive(-d, v, 1e-9).log_density == approx(narrow.log_density, abs=1e-8)


@given(st.floats(-0.9, 0.9), powers(-8, -4))
def test_inside_a_wide_flat_top_nothing_is_learned(share: float, v: float) -> None:
    """Passive: a residual well inside the flat top leaves the belief as it was, at a density of 1/(2(1+ε))."""
    epsilon = 5.0
    seen = insensitive(share * epsilon, v, epsilon)
    assert seen.shift == approx(0.0, abs=1e-12)
    assert seen.var == approx(v)
    assert seen.log_density == approx(-log(2 * (1 + epsilon)))


@given(powers(1.5, 4), powers(-3, 0))
def test_a_gross_outlier_moves_the_mean_by_a_bounded_amount(d: float, v: float) -> None:
    """Aggressive, but no more than that: beyond the flat top the shift is v, however far away y is."""
    assert insensitive(d, v, 1.25).shift == approx(-v, rel=1e-6)


@given(powers(12, 90), powers(0, 8), st.sampled_from([-1.0, 1.0]))
def test_however_far_out_the_shift_is_the_variance(d: float, v: float, sign: float) -> None:
    """Where the second form of (G.3) has lost every digit."""
    assert insensitive(sign * d, v, 1.25).shift == approx(-sign * v)


@given(distances, powers(-6, 6))
def test_gaussian_evidence_is_the_normal_density(d: float, v: float) -> None:
    seen = normals(d, v, NORMALS[Family.GAUSSIAN])
    assert seen.log_density == approx(-0.5 * (np.log(2 * np.pi * (1 + v)) + d**2 / (1 + v)))
    assert d + seen.shift == approx(d / (1 + v), abs=1e-9 * abs(d))
    assert seen.var == approx(v / (1 + v))
    step = 1e-5
    wider, narrower = (
        normals(d / np.exp(s), v / np.exp(2 * s), NORMALS[Family.GAUSSIAN]).log_density - s for s in (step, -step)
    )
    assert seen.scale_slope == approx((wider - narrower) / (2 * step), rel=1e-4, abs=1e-4)
