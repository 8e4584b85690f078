"""`forecast`, `evaluate` and `compare` give a forecaster the settings that it was not given, by one rule."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adabypass import AutoBypass, Drift, Forecaster, Naive, SeasonalNaive, compare, evaluate, forecast
from adabypass.errors import ParameterError

Y = 30.0 + 5.0 * np.sin(2 * np.pi * np.arange(80) / 11) + np.random.default_rng(0).normal(size=80)
SETTINGS: dict[str, tuple[Any, Any]] = {
    "period": (11, 7),
    "support": ("positive", (0, 90)),
    "missing": ("last", "mean"),
}
"""A value of each, and another one."""


def forecast_mean(given: Any, **settings: Any) -> np.ndarray:
    found: np.ndarray = forecast(Y, 3, given, **settings)["mean"]
    return found


def evaluate_mean(given: Any, **settings: Any) -> np.ndarray:
    return evaluate(Y, given, **settings).trace().mean


def compare_mean(given: Any, **settings: Any) -> np.ndarray:
    beside = None if given is None else {"it": given}
    found = compare(Y, beside, baselines=False, **settings).evaluations
    return next(iter(found.values())).trace().mean


CALLS: list[Callable[..., np.ndarray]] = [forecast_mean, evaluate_mean, compare_mean]
EACH_CALL = pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
EACH_SETTING = pytest.mark.parametrize("name", SETTINGS)


@EACH_CALL
@EACH_SETTING
@pytest.mark.parametrize("given", [None, Forecaster()], ids=["none", "one"])
def test_an_argument_fills_what_is_left_open(call: Callable[..., np.ndarray], name: str, given: Any) -> None:
    value, _ = SETTINGS[name]
    np.testing.assert_array_equal(call(given, **{name: value}), call(Forecaster(**{name: value})))


@EACH_CALL
@EACH_SETTING
def test_the_forecasters_own_value_may_be_said_again(call: Callable[..., np.ndarray], name: str) -> None:
    value, _ = SETTINGS[name]
    own = Forecaster(**{name: value})
    np.testing.assert_array_equal(call(own, **{name: value}), call(own))


@EACH_CALL
@EACH_SETTING
def test_another_value_than_the_forecasters_own_is_refused(call: Callable[..., np.ndarray], name: str) -> None:
    value, other = SETTINGS[name]
    with pytest.raises(ParameterError, match=rf"{name} is .*, but the forecaster is Forecaster\({name}="):
        call(Forecaster(**{name: value}), **{name: other})


@EACH_CALL
@pytest.mark.parametrize("name", ["period", "support"])
@pytest.mark.parametrize("given", [Forecaster(lags=1), AutoBypass(), Naive()], ids=["lags", "model", "baseline"])
def test_a_setting_without_a_use_is_refused(call: Callable[..., np.ndarray], name: str, given: Any) -> None:
    with pytest.raises(ParameterError, match="leave it out"):
        call(given, **{name: SETTINGS[name][0]})


@EACH_CALL
@pytest.mark.parametrize("given", [Forecaster(lags=1), AutoBypass(), Naive(), SeasonalNaive(11)])
def test_missing_is_for_all(call: Callable[..., np.ndarray], given: Any) -> None:
    np.testing.assert_array_equal(call(given, missing="last"), call(given))


@EACH_CALL
def test_a_forecaster_that_has_learned_takes_no_setting(call: Callable[..., np.ndarray]) -> None:
    learned = Forecaster()
    learned.learn(Y)
    with pytest.raises(ParameterError, match="learned already, without period"):
        call(learned, period=11)


def test_of_several_forecasters_those_that_have_a_use_for_a_setting_take_it() -> None:
    several: list[Any] = [Forecaster(), Forecaster(lags=2), Drift()]
    found = compare(Y, several, period=11, support="positive")
    assert [line.name for line in found.lines] == ["Forecaster()", "Forecaster(lags=2)", "Drift"]
    expected = evaluate(Y, Forecaster(period=11, support="positive"))
    np.testing.assert_array_equal(found.evaluations["Forecaster()"].trace().mean, expected.trace().mean)
    assert any(line.name == "SeasonalNaive" for line in compare(Y, [Forecaster(lags=2)], period=11).lines)


@EACH_CALL
def test_a_baseline_has_its_own_period(call: Callable[..., np.ndarray]) -> None:
    np.testing.assert_array_equal(call(SeasonalNaive(11), period=[11.0]), call(SeasonalNaive(11)))
    with pytest.raises(ParameterError, match="period is 7, but that of SeasonalNaive is 11"):
        call(SeasonalNaive(11), period=7)
