"""A normal forecast says what its distribution says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy import stats
from scipy.integrate import quad

from adabypass import Normal
from adabypass.errors import ParameterError, ShapeError
from tests.strategies import powers

numbers = st.floats(-100, 100)


@given(numbers, powers(-2, 2), numbers)
def test_normal_equals_scipy(mean: float, sd: float, y: float) -> None:
    ours, theirs = Normal(mean, sd**2), stats.norm(mean, sd)
    assert ours.sd == approx(sd)
    assert ours.pdf(y) == approx(theirs.pdf(y))
    assert ours.logpdf(y) == approx(theirs.logpdf(y))
    assert ours.cdf(y) == approx(theirs.cdf(y), abs=1e-300)
    assert ours.pit(y) == ours.cdf(y)
    assert ours.sf(y) == approx(theirs.sf(y), abs=1e-300)
    assert ours.quantile(0.3) == approx(theirs.ppf(0.3))
    assert ours.interval(0.8) == approx(theirs.interval(0.8))


@given(st.floats(-5, 5), powers(-1, 1))
def test_crps_is_the_integral_of_the_squared_difference_of_distributions(y: float, sd: float) -> None:
    forecast = Normal(1.0, sd**2)
    below = quad(lambda v: forecast.cdf(v) ** 2, 1.0 - 12 * sd, y)[0] if y > 1.0 - 12 * sd else 0.0
    above = quad(lambda v: forecast.sf(v) ** 2, y, max(y, 1.0 + 12 * sd))[0]
    if y > 1.0 - 12 * sd:
        assert forecast.crps(y) == approx(below + above, rel=1e-5, abs=1e-8)


def test_a_trace_of_forecasts_gives_arrays_and_one_gives_numbers() -> None:
    mean, var, y = np.array([1.0, 2.0]), np.array([0.25, 4.0]), np.array([1.5, -3.0])
    many = Normal(mean, var)
    for name in ("pdf", "logpdf", "cdf", "sf", "crps", "pit"):
        single = [getattr(Normal(float(m), float(v)), name)(float(at)) for m, v, at in zip(mean, var, y, strict=True)]
        assert all(type(value) is float for value in single)
        assert getattr(many, name)(y) == approx(single)


def test_samples_have_the_forecast_s_moments() -> None:
    draws = Normal(3.0, 4.0).sample(np.random.default_rng(0), 100_000)
    assert draws.mean() == approx(3.0, abs=0.03)  # five standard errors
    assert draws.var() == approx(4.0, rel=0.03)


@pytest.mark.parametrize("level", [0.0, 1.0, 90, -0.5])
def test_a_level_that_is_no_probability_is_refused(level: float) -> None:
    with pytest.raises(ParameterError, match=r"pass 0\.9 for 90 %"):
        Normal(0.0, 1.0).interval(level)


def test_a_quantile_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ParameterError, match="between 0 and 1"):
        Normal(0.0, 1.0).quantile(1.5)


def test_huge_surprises_have_finite_scores() -> None:
    forecast = Normal(0.0, 1e-10)
    assert np.isfinite([forecast.logpdf(1e300), forecast.crps(1e300), forecast.cdf(-1e300)]).all()


def test_normal_forecasts_read_well() -> None:
    assert repr(Normal(1.0, 4.0)) == "Normal(mean=1, sd=2)"
    assert repr(Normal(np.zeros(3), np.ones(3))) == "Normal(3 forecasts)"


@pytest.mark.parametrize(
    ("mean", "var"),
    [
        (0, -1),
        (0.0, 0.0),
        (0.0, np.nan),
        (np.nan, 1.0),
        (0.0, np.inf),
        (np.inf, 1.0),
        (np.zeros(2), np.array([1.0, -1.0])),
        (np.array([0.0, np.nan]), np.ones(2)),
    ],
)
def test_moments_that_no_normal_has_are_refused(mean: float, var: float) -> None:
    with pytest.raises(ParameterError, match="a normal distribution has a finite mean and a variance above 0"):
        Normal(mean, var)


def test_moments_of_different_shapes_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"mean has shape \(3,\), var has shape \(\), but all must be numbers"):
        Normal(np.zeros(3), 1.0)


def test_quantiles_have_a_row_for_each_probability() -> None:
    one, many = Normal(0.0, 4.0), Normal(np.arange(4.0), np.ones(4))
    assert one.quantile([0.1, 0.5, 0.9]) == approx([one.quantile(q) for q in (0.1, 0.5, 0.9)])
    assert many.quantile([0.1, 0.5, 0.9]).shape == (3, 4)
    assert many.quantile([0.1, 0.5, 0.9])[2] == approx(many.quantile(0.9))
