"""A surprise is the deviate of the tail in which a value lies, exact far out; what goes to JSON has no nan."""

import json
from math import nan

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy import stats

from adabypass import Family, Mixture, Normal, Point, Predictive, StudentT
from adabypass.distributions.empirical import Empirical
from adabypass.errors import PointForecastError

MIXTURE = Mixture.of(weight=[0.3, 0.7], mean=[0.0, 1.0], signal_var=[1.0, 4.0])
HALF_ZERO = Mixture.of(
    weight=[1.0], mean=[2.0], noise_scale=1.0, family=Family.STUDENT, dof=5.0, zero_share=0.6, support=(0.0, np.inf)
)


@given(st.floats(-30, 30))
def test_the_surprise_of_a_normal_is_its_standardised_value(z: float) -> None:
    assert Normal(2.0, 9.0).surprise(2.0 + 3.0 * z) == approx(z, rel=1e-12, abs=1e-12)
    one = Mixture.of(weight=[1.0], mean=[2.0], signal_var=[9.0])
    assert one.surprise(2.0 + 3.0 * z) == approx(z, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("y", [-60.0, -20.0, -3.0, 0.0, 0.9, 5.0, 40.0, 70.0])
def test_the_surprise_of_a_mixture_is_exact_far_in_its_tails(y: float) -> None:
    with mpmath.workdps(50):
        tails = [
            sum(w * mpmath.ncdf(sign * (y - m) / s) for w, m, s in ((0.3, 0.0, 1.0), (0.7, 1.0, 2.0)))
            for sign in (1, -1)
        ]
        tail = min(tails)
        size = float(mpmath.findroot(lambda z: mpmath.log(mpmath.ncdf(-z)) - mpmath.log(tail), abs(y) / 2 + 0.1))
    expected = -size if tails[0] < tails[1] else size
    assert MIXTURE.surprise(y) == approx(expected, rel=1e-8)


@pytest.mark.parametrize("y", [-1e6, -30.0, -1.0, 0.5, 8.0, 1e9])
def test_the_surprise_of_a_student_t_is_that_of_its_tail(y: float) -> None:
    expected = -np.sign(y) * stats.norm.ppf(stats.t(4.0).sf(abs(y)))
    assert StudentT(0.0, 1.0, 4.0).surprise(y) == approx(expected, rel=1e-9)


def test_a_value_out_of_reach_is_38_deviates_off() -> None:
    forecasts: tuple[Predictive, ...] = (Normal(0.0, 1.0), MIXTURE)
    for forecast in forecasts:
        assert forecast.surprise(1e300) == 38.0
        assert forecast.surprise(-1e300) == -38.0


def test_the_probability_of_the_value_itself_counts_in_its_tail() -> None:
    assert HALF_ZERO.surprise(0.0) == 0.0  # the median, whatever lies above it
    above = 1.0 - HALF_ZERO.cdf(3.0)
    assert HALF_ZERO.surprise(3.0) == approx(-stats.norm.ppf(above))
    draws = Empirical(np.repeat([0.0, 0.0, 0.0, 0.0, 1.0], 3).reshape(15, 1))
    assert draws.surprise(0.0)[0] == 0.0
    assert draws.surprise(1.0)[0] == approx(-stats.norm.ppf(0.2))  # not the probability of more than 1, which is 0


def test_one_forecast_gives_numbers_and_many_give_arrays() -> None:
    values = np.array([0.5, -3.0, nan, 90.0])
    many = Mixture.of(weight=[[0.3, 0.7]] * 4, mean=[[0.0, 1.0]] * 4, signal_var=[[1.0, 4.0]] * 4)
    found = many.surprise(values)
    each = [MIXTURE.surprise(float(value)) for value in values]
    assert all(type(one) is float for one in each)
    np.testing.assert_array_equal(found, each)
    assert np.isnan(found).tolist() == [False, False, True, False]
    assert Normal(nan, np.inf).surprise(1.0) is not None
    assert np.isnan(Normal(nan, np.inf).surprise(1.0))


def test_a_point_has_no_surprise() -> None:
    with pytest.raises(PointForecastError, match="so it has no surprise"):
        Point(1.0, model="PassiveAggressive").surprise(1.0)


def test_a_forecast_is_told_in_json() -> None:
    told = Normal(2.0, 9.0).to_dict(level=0.8)
    assert told == {
        "mean": 2.0,
        "sd": 3.0,
        "median": 2.0,
        "lower_80": approx(-1.845, abs=1e-3),
        "upper_80": approx(5.845, abs=1e-3),
    }
    assert json.loads(json.dumps(MIXTURE.to_dict())) == MIXTURE.to_dict()


def test_what_is_unknown_is_null_in_json() -> None:
    told = Normal(np.array([1.0, nan]), np.array([4.0, np.inf])).to_dict()
    assert (told["mean"], told["sd"], told["median"]) == ([1.0, None], [2.0, None], [1.0, None])
    assert told["lower_90"][1] is None
    assert Point(np.array([1.0, nan]), model="x").to_dict() == {"mean": [1.0, None]}
    json.dumps(told, allow_nan=False)
