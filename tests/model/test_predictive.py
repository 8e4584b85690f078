"""Forecasts say what their distribution says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy import stats
from scipy.integrate import quad

from adabypass import Mixture, Normal, Point
from adabypass.errors import ParameterError, PointForecastError
from adabypass.model.component import COMPONENT
from adabypass.model.noise import Family
from adabypass.model.predictive import from_components
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
    assert ours.logcdf(y) == approx(theirs.logcdf(y), abs=1e-300)
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
    with pytest.raises(ParameterError, match=r"0\.9 means 90 %"):
        Normal(0.0, 1.0).interval(level)


def test_a_quantile_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ParameterError, match="between 0 and 1"):
        Normal(0.0, 1.0).quantile(1.5)


def test_huge_surprises_have_finite_scores() -> None:
    forecast = Normal(0.0, 1e-10)
    assert np.isfinite([forecast.logpdf(1e300), forecast.crps(1e300), forecast.cdf(-1e300)]).all()


@pytest.mark.parametrize("name", ["var", "sd", "pdf", "logpdf", "cdf", "quantile", "interval", "crps", "pit", "sample"])
def test_a_point_forecast_says_why_it_has_no_distribution(name: str) -> None:
    with pytest.raises(PointForecastError, match=f"forecasts a point, so it has no {name}"):
        getattr(Point(1.0, model="PassiveAggressive"), name)


def test_a_point_forecast_has_no_other_attributes_either() -> None:
    assert not hasattr(Point(1.0, model="PassiveAggressive"), "colour")


def test_forecasts_read_well() -> None:
    assert repr(Normal(1.0, 4.0)) == "Normal(mean=1, sd=2)"
    assert repr(Normal(np.zeros(3), np.ones(3))) == "Normal(3 forecasts)"
    assert repr(Point(1.5, model="PassiveAggressive")) == "Point(mean=1.5)"


@pytest.mark.parametrize(
    ("family", "noise_scale", "kind"),
    [
        (Family.GAUSSIAN, 2.0, Normal),
        (Family.HEAVY, 2.0, Mixture),
        (Family.INSENSITIVE, 2.0, Mixture),
        (Family.GAUSSIAN, np.nan, Point),
    ],
)
def test_a_single_component_becomes_the_forecast_of_its_family(family: Family, noise_scale: float, kind: type) -> None:
    components = np.zeros((3, 1), COMPONENT)
    components["weight"], components["noise_scale"], components["family"] = 1.0, noise_scale, family
    assert type(from_components(components, "a model")) is kind
