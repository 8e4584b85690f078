"""Mixtures of Student's t distributions against SciPy's and against quadrature, with atoms and bounds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from adabypass import Family, Mixture
from adabypass.distributions.component import Target


def students(share: Any, location: Any, scale: Any, dof: Any, is_log: Any, **more: Any) -> Mixture:
    """Make a mixture of Student's t distributions, some of them of the log."""
    target = np.where(is_log, Target.LOG, Target.IDENTITY)
    return Mixture.of(
        weight=share, mean=location, noise_scale=scale, dof=dof, family=Family.STUDENT, target=target, **more
    )


SHARE, LOCATION, SCALE, DOF = np.array([0.5, 0.3, 0.2]), np.array([0.0, 3.0, -1.0]), np.array([1.0, 0.5, 2.0]), 8.0
PLAIN = students(SHARE, LOCATION, SCALE, DOF, [False] * 3)
MIXED = students([0.4, 0.6], [2.0, 0.8], [0.6, 0.3], [5.0, 30.0], [False, True])


def cdf_of_mixed(y: float) -> float:
    inner = stats.t(30).cdf((np.log(y) - 0.8) / 0.3) if y > 0 else 0.0
    return float(0.4 * stats.t(5).cdf((y - 2.0) / 0.6) + 0.6 * inner)


@pytest.mark.parametrize("y", [-4.0, 0.0, 0.3, 2.0, 9.0])
def test_distribution_and_density_are_those_of_scipy(y: float) -> None:
    parts = stats.t(8, loc=LOCATION, scale=SCALE)
    assert PLAIN.cdf(y) == pytest.approx(SHARE @ parts.cdf(y), rel=1e-10)
    assert PLAIN.sf(y) == pytest.approx(SHARE @ parts.sf(y), rel=1e-10)
    assert PLAIN.logpdf(y) == pytest.approx(np.log(SHARE @ parts.pdf(y)), rel=1e-10)
    assert MIXED.cdf(y) == pytest.approx(cdf_of_mixed(y), rel=1e-10)


def test_densities_integrate_to_one() -> None:
    assert quad(MIXED.pdf, -30, 0)[0] + quad(MIXED.pdf, 0, 60, limit=200)[0] == pytest.approx(1.0, abs=1e-5)


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-6, 1 - 1e-6), st.floats(-5, 5), st.floats(-3, 3), st.floats(2.1, 200))
def test_quantiles_invert_the_distribution(q: float, location: float, log_scale: float, dof: float) -> None:
    p = students([0.7, 0.3], [location, 0.1 * location], [10**log_scale, 0.3], dof, [False, True])
    assert p.cdf(p.quantile(q)) == pytest.approx(q, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("y", [-6.0, -1.0, 0.4, 2.0, 3.1, 40.0])
@pytest.mark.parametrize("p", [PLAIN, MIXED], ids=["plain", "mixed"])
def test_crps_is_the_integral_of_its_definition(p: Mixture, y: float) -> None:
    below, _ = quad(lambda x: p.cdf(x) ** 2, -60, y, limit=400, points=[0.0] if y > 0 else None)
    above, _ = quad(lambda x: p.sf(x) ** 2, y, 120, limit=400, points=[0.0] if y < 0 else None)
    assert p.crps(y) == pytest.approx(below + above, rel=1e-4)


def test_moments_are_those_of_draws() -> None:
    draws = PLAIN.sample(np.random.default_rng(0), 200_000)
    assert PLAIN.mean == pytest.approx(draws.mean(), abs=0.02)
    assert PLAIN.sd == pytest.approx(draws.std(), rel=0.02)


def test_a_zero_has_its_own_probability() -> None:
    p = students([1.0], [4.0], [1.0], [10.0], [False], zero_share=0.6)
    assert p.quantile(0.3) == 0.0
    assert p.quantile(np.array([0.1, 0.5, 0.8])) == pytest.approx([0.0, 0.0, 4.0], abs=1e-3)
    assert p.mean == pytest.approx(1.6)
    assert p.cdf(0.0) - p.cdf(-1e-9) == pytest.approx(0.6)
    assert p.var == pytest.approx(0.4 * (10 / 8 + 16) - 1.6**2)


def test_nothing_lies_outside_the_support() -> None:
    p = students([1.0], [1.0], [2.0], [5.0], [False], support=(0.0, 3.0))
    low, high = p.interval(0.99)
    assert (low, high) == (0.0, 3.0)
    draws = p.sample(np.random.default_rng(1), 1000)
    assert draws.min() == 0.0
    assert draws.max() == 3.0
    assert p.mean == pytest.approx(np.clip(stats.t(5, 1, 2).rvs(200_000, random_state=2), 0, 3).mean(), abs=0.02)
    assert p.cdf(-1e-9) == 0.0
    assert p.cdf(3.0) == 1.0


def test_many_forecasts_answer_as_each_alone() -> None:
    many = students(np.array([SHARE, SHARE]), np.array([LOCATION, LOCATION + 1]), SCALE, DOF, [False] * 3)
    assert many.quantile([0.1, 0.5]).shape == (2, 2)
    assert many.quantile(0.5)[0] == PLAIN.quantile(0.5)
    assert many.crps(np.array([1.0, 2.0])) == pytest.approx([PLAIN.crps(1.0)] * 2, rel=1e-9)
    assert many[1].cdf(2.0) == pytest.approx(PLAIN.cdf(1.0))
    assert np.isnan(many.logpdf(np.array([np.nan, 0.0]))[0])
    assert many.entropy().shape == (2,)
    assert repr(many) == "Mixture(2 forecasts)"


@pytest.mark.parametrize("support", [(-np.inf, np.inf), (0.0, np.inf)])
@pytest.mark.parametrize("zero_share", [0.0, 0.3])
@pytest.mark.parametrize("is_log", [[False] * 3, [False, True, False]])
def test_the_entropy_of_one_forecast_is_that_of_it_among_many(
    is_log: list[bool], zero_share: float, support: tuple[float, float]
) -> None:
    one, many = (
        students(share, LOCATION, SCALE, DOF, is_log, zero_share=zero_share, support=support)
        for share in (SHARE, [SHARE, SHARE])
    )
    assert isinstance(one.entropy(), float)
    assert many.entropy() == pytest.approx([one.entropy()] * 2, rel=1e-12)


@pytest.mark.parametrize("dof", [3.0, 10.0, 1e6])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
def test_the_entropy_of_one_component_is_that_of_its_distribution(scale: float, dof: float) -> None:
    found = students([1.0], [2.0], [scale], [dof], [False]).entropy()
    assert found == pytest.approx(stats.t(dof, 2.0, scale).entropy(), abs=0.03)  # tails beyond the last quantile
