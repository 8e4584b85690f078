"""Moments of clipped values against quadrature."""

from itertools import pairwise

import numpy as np
import pytest
from pytest import approx
from scipy.integrate import quad
from scipy.stats import lognorm, t

from adabypass.distributions import moments

BOUNDS = [(0.0, np.inf), (-np.inf, 1.0), (-1.0, 2.0), (3.0, 4.0), (-9.0, -5.0)]


def judged(density: object, low: float, high: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Return mean and variance of the clipped value, by quadrature between the ends."""
    breaks = (low, high, 0.7, *np.linspace(-20.0, 20.0, 9), -200.0, 200.0)
    inner = sorted({ends[0], *(float(each) for each in breaks if ends[0] < each < ends[1]), ends[1]})

    def moment(power: int, center: float) -> float:
        def integrand(x: float) -> float:
            return float((np.clip(x, low, high) - center) ** power * density.pdf(x))  # type: ignore[attr-defined]

        return sum(quad(integrand, a, b, limit=400)[0] for a, b in pairwise(inner))

    mean = moment(1, 0.0)
    return mean, moment(2, mean)


@pytest.mark.parametrize(("low", "high"), BOUNDS)
@pytest.mark.parametrize("dof", [6.0, 33.0])
def test_moments_of_student_match_quadrature(low: float, high: float, dof: float) -> None:
    mean, var = moments.clipped_student(np.array(0.7), np.array(1.3), np.array(dof), low, high)
    expected = judged(t(dof, 0.7, 1.3), low, high, (-2e4, 2e4))
    assert (float(mean), float(var)) == approx(expected, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize(("low", "high"), BOUNDS)
@pytest.mark.parametrize("log_mean", [-1.0, 0.5])
def test_moments_of_a_lognormal_match_quadrature(low: float, high: float, log_mean: float) -> None:
    mean, var = moments.clipped_lognormal(np.array(log_mean), np.array(0.64), low, high)
    expected = judged(lognorm(0.8, scale=np.exp(log_mean)), low, high, (0.0, 500.0))
    assert (float(mean), float(var)) == approx(expected, rel=1e-5, abs=1e-8)
