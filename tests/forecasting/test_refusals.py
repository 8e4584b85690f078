"""What cannot be used is refused, with a sentence, and leaves a forecaster as it was."""

import pickle
from typing import Any

import numpy as np
import pytest

from adabypass import AutoBypass, Forecaster
from adabypass.errors import (
    AdabypassError,
    ConcurrentUseError,
    NotEnoughDataError,
    NotFiniteError,
    NotReadyError,
    ParameterError,
)


def test_a_missing_exogenous_value_is_refused_or_filled_as_agreed() -> None:
    exog, y = np.array([[1.0], [2.0], [3.0], [np.nan]]), np.arange(4.0)
    with pytest.raises(NotFiniteError, match="exog is missing in row 3, column 'rain'; fill it, or choose missing="):
        Forecaster(exog=["rain"]).run(y, exog)
    for missing, value in (("mean", 2.0), ("last", 3.0)):
        filled, given_value = Forecaster(lags=1, missing=missing), Forecaster(lags=1)  # type: ignore[arg-type]
        filled.run(y, exog)
        given_value.run(y, np.array([[1.0], [2.0], [3.0], [value]]))
        np.testing.assert_array_equal(filled.model.weights.mean, given_value.model.weights.mean)


def test_a_refused_series_leaves_the_forecaster_as_it_was() -> None:
    forecaster = Forecaster(lags=1)
    forecaster.run([1.0, 2.0, 1.5])
    before = forecaster.predict().mean
    with pytest.raises(NotFiniteError):
        forecaster.run([1.0, np.inf])
    with pytest.raises(AdabypassError):
        forecaster.run([1.0, 2.0], exog=[[np.nan], [1.0]])
    assert forecaster.predict().mean == before
    assert forecaster.n_seen == 2


def test_forecasts_wait_for_the_lags() -> None:
    forecaster = Forecaster(lags=3)
    with pytest.raises(NotReadyError, match="forecasts begin when 3 observations are there, and 0 are"):
        forecaster.predict()
    with pytest.raises(NotEnoughDataError, match="y has 2 observations, but forecasts begin after 3"):
        forecaster.run([1.0, 2.0])
    forecaster.run([1.0, 2.0, 3.0, 4.0])
    assert np.isfinite(forecaster.forecast(2).mean).all()


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ParameterError, match="this AutoBypass has an intercept of its own"):
        Forecaster(bias=False)
    with pytest.raises(ParameterError, match="lags is -1"):
        Forecaster(lags=-1)
    with pytest.raises(ParameterError, match="missing is 'zero'"):
        Forecaster(missing="zero")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="model is 'auto'"):
        Forecaster("auto")  # type: ignore[arg-type]


def test_the_largest_numbers_can_be_differenced() -> None:
    y = np.array([1.7e308, -1.7e308] * 6)
    whole, steps = Forecaster(difference=1), Forecaster(difference=1)
    trace = whole.run(y)
    for value in y:
        steps.step(value)
    assert np.isfinite(trace.mean[1:]).all()
    np.testing.assert_array_equal(trace.y, y[2:])
    assert steps.predict().mean == whole.predict().mean


@pytest.mark.parametrize("step", ["update", "step"])
def test_a_refused_observation_leaves_the_forecaster_as_it_was(step: str) -> None:
    forecaster = Forecaster(exog=["rain"])
    forecaster.run([1.0, 2.0, 1.5], [[0.0], [1.0], [2.0]])
    before = pickle.dumps(forecaster)
    for y, exog in ((99.0, None), (99.0, [np.nan]), (99.0, [1.0, 2.0]), (np.inf, [7.0]), ("a", [7.0])):
        with pytest.raises(AdabypassError):
            getattr(forecaster, step)(y, exog)
        assert pickle.dumps(forecaster) == before


def test_settings_that_would_fail_later_are_refused_at_once() -> None:
    assert Forecaster(exog="rain").exog == ("rain",)
    with pytest.raises(ParameterError, match="exog is 3, but must be a list of names"):
        Forecaster(exog=3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="100000 lags are too many: a model has at most 30000 features"):
        Forecaster(lags=100_000)
    with pytest.raises(NotEnoughDataError, match="y has 3 observations, but all are missing"):
        Forecaster(lags=1).run([np.nan] * 3)


@pytest.mark.parametrize("wrong", [None, 1, "yes", np.ones(3)])
@pytest.mark.parametrize("name", ["keep_weights", "keep_predictive"])
def test_flags_are_true_or_false(name: str, wrong: Any) -> None:
    with pytest.raises(ParameterError, match=f"{name} is .*, but must be True or False"):
        Forecaster(lags=1).run([1.0, 2.0], **{name: wrong})
    with pytest.raises(ParameterError, match=f"{name} is .*, but must be True or False"):
        AutoBypass().run([[1.0]], [1.0], **{name: wrong})


@pytest.mark.parametrize("rng", ["seed", -1, 1.5, np.random])
def test_paths_need_a_seed_or_a_generator(rng: object) -> None:
    forecaster = Forecaster(lags=1)
    forecaster.run([1.0, 2.0, 1.5])
    with pytest.raises(
        ParameterError, match=r"rng is .*, but must be a seed, which is a whole number from 0, or np.random"
    ):
        forecaster.forecast(2, method="paths", rng=rng)  # type: ignore[arg-type]


def test_a_number_that_changes_the_forecaster_while_it_is_read_is_refused() -> None:
    forecaster = Forecaster(lags=1)

    class Changes:
        def __array__(self, dtype: object = None, copy: object = None) -> object:
            forecaster.run([1.0, 2.0, 1.5], [[1.0], [2.0], [1.0]])
            return np.array(1.0)

    with pytest.raises(ConcurrentUseError, match="was changed while its arguments were read; call it again"):
        forecaster.update(Changes())
    assert forecaster.n_seen == 2


@pytest.mark.parametrize("wrong", [np.array(3.5), np.ma.masked, [1, "b"], 2.5])
def test_names_and_lags_are_lists_of_their_kind(wrong: Any) -> None:
    for name in ("lags", "exog", "seasonal_lags"):
        with pytest.raises(ParameterError, match=f"{name} is "):
            Forecaster(**{name: wrong})
    with pytest.raises(ParameterError, match=r"method is .*, but must be"):
        Forecaster(lags=1).forecast(1, method=wrong)


@pytest.mark.parametrize("difference", [np.zeros((2, 3)), -1, 2.5, "a", 99])
def test_a_difference_that_is_no_count_is_refused(difference: Any) -> None:
    with pytest.raises(ParameterError, match=r"(?s)difference is .*, but must be"):
        Forecaster(difference=difference)
