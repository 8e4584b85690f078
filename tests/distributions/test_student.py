"""A forecast by Student's t says what its distribution says."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy import stats
from scipy.integrate import quad

from adabypass import Normal, StudentT
from adabypass.distributions.predictive import concatenate
from adabypass.errors import NotANumberError, ParameterError, ShapeError
from tests.strategies import powers

numbers = st.floats(-100, 100)


@given(numbers, powers(-2, 2), st.floats(2.5, 200), numbers)
def test_student_equals_scipy(mean: float, scale: float, dof: float, y: float) -> None:
    ours, theirs = StudentT(mean, scale, dof), stats.t(dof, mean, scale)
    assert ours.var == approx(theirs.var())
    assert ours.sd == approx(theirs.std())
    assert ours.pdf(y) == approx(theirs.pdf(y))
    assert ours.logpdf(y) == approx(theirs.logpdf(y))
    assert ours.cdf(y) == approx(theirs.cdf(y), rel=1e-9, abs=1e-300)
    assert ours.sf(y) == approx(theirs.sf(y), rel=1e-9, abs=1e-300)
    assert ours.quantile(0.3) == approx(theirs.ppf(0.3))
    assert ours.interval(0.8) == approx(theirs.interval(0.8))
    assert ours.entropy() == approx(float(theirs.entropy()), rel=1e-8, abs=1e-8)


@given(st.floats(-5, 5), powers(-1, 1), st.floats(2.5, 50))
def test_crps_is_the_integral_of_the_squared_difference_of_distributions(y: float, scale: float, dof: float) -> None:
    forecast = StudentT(1.0, scale, dof)
    below = quad(lambda v: forecast.cdf(v) ** 2, -np.inf, y)[0]
    above = quad(lambda v: forecast.sf(v) ** 2, y, np.inf)[0]
    assert forecast.crps(y) == approx(below + above, rel=1e-5, abs=1e-8)


def test_with_many_degrees_of_freedom_it_is_a_normal() -> None:
    student, normal = StudentT(2.0, 3.0, 1e9), Normal(2.0, 9.0)
    for y in (-4.0, 2.0, 7.5):
        for name in ("logpdf", "cdf", "crps"):
            assert getattr(student, name)(y) == approx(getattr(normal, name)(y), rel=1e-6)
    assert student.quantile([0.01, 0.5, 0.999]) == approx(normal.quantile([0.01, 0.5, 0.999]), rel=1e-6)
    assert student.entropy() == approx(normal.entropy(), rel=1e-6)


def test_extreme_quantiles_and_observations_have_finite_answers() -> None:
    forecast = StudentT(0.0, 1.0, 3.0)
    assert forecast.quantile([0.0, 1.0]).tolist() == [-np.inf, np.inf]
    assert forecast.cdf(forecast.quantile(1e-300)) == approx(1e-300, rel=1e-6)
    for y in (1e200, -1e308):
        assert np.isfinite(forecast.logpdf(y))
        assert np.isfinite(forecast.crps(y))
    assert forecast.crps(1e200) == approx(1e200)


def test_many_forecasts_give_arrays_and_one_gives_numbers() -> None:
    mean, scale, dof = np.array([1.0, 2.0]), np.array([0.5, 4.0]), np.array([3.0, 30.0])
    many, y = StudentT(mean, scale, dof), np.array([1.5, -3.0])
    singles = [StudentT(float(m), float(s), float(d)) for m, s, d in zip(mean, scale, dof, strict=True)]
    for name in ("pdf", "logpdf", "cdf", "sf", "crps", "pit"):
        single = [getattr(each, name)(float(at)) for each, at in zip(singles, y, strict=True)]
        assert all(type(value) is float for value in single)
        assert getattr(many, name)(y) == approx(single)
    assert many.quantile([0.1, 0.9]).shape == (2, 2)
    assert many.quantile(0.1) == approx([each.quantile(0.1) for each in singles])
    joined = concatenate(singles)
    assert isinstance(joined, StudentT)
    assert joined.var == approx(many.var)
    assert pickle.loads(pickle.dumps(many)).dof == approx(dof)


def test_a_forecast_of_which_nothing_is_known_says_so() -> None:
    forecast = StudentT(np.array([np.nan, 1.0]), np.array([np.inf, 1.0]), np.array([3.0, 3.0]))
    assert forecast.is_known.tolist() == [False, True]
    assert np.isinf(forecast.var[0])
    assert np.isnan(forecast.quantile(0.2)[0])
    assert np.isnan(forecast.entropy()[0])


def test_samples_have_the_forecast_s_moments() -> None:
    draws = StudentT(3.0, 2.0, 10.0).sample(np.random.default_rng(0), 100_000)
    assert draws.mean() == approx(3.0, abs=0.04)  # five standard errors
    assert draws.var() == approx(5.0, rel=0.04)


@pytest.mark.parametrize("wrong", [(0.0, 0.0, 3.0), (0.0, 1.0, 2.0), (np.inf, 1.0, 3.0), (0.0, 1e200, 3.0)])
def test_parameters_without_a_variance_are_refused(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(ParameterError, match="degrees of freedom above 2"):
        StudentT(*wrong)


def test_parameters_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(NotANumberError, match="mean is"):
        StudentT([[1.0], [2.0, 3.0]], 1.0, 3.0)  # type: ignore[arg-type]


def test_parameters_of_different_shapes_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"one shape \(n,\)"):
        StudentT(np.zeros(2), np.ones(3), np.ones(2))
