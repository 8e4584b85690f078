"""Forecasters are scored on what they said before they saw it."""

import numpy as np
import pytest

from adabypass import AutoBypass, Forecaster, SequentialKalman, load_dataset
from adabypass.errors import ParameterError, SeriesWarning, ShapeError
from adabypass.evaluation import compare, evaluate

NILE = load_dataset("nile").y


def test_a_model_that_is_evaluated_keeps_what_it_has_learned() -> None:
    model = AutoBypass()
    model.run(NILE[:99, None], NILE[1:100])
    evaluate(NILE[100:200], model)
    assert model.n_seen == 99


def test_a_list_is_compared_under_the_names_of_its_models() -> None:
    result = compare(
        NILE[:100], [AutoBypass(), SequentialKalman(), SequentialKalman(), Forecaster(SequentialKalman(), lags=[2])]
    )
    names = ["AutoBypass", "SequentialKalman", "SequentialKalman 2", "Forecaster(SequentialKalman(), lags=[2])"]
    assert [line.name for line in result.lines[:4]] == names
    with pytest.raises(ParameterError, match="there is nothing to compare"):
        compare(NILE, [])


def test_a_short_series_is_scored_without_a_test_of_the_difference() -> None:
    with pytest.warns(SeriesWarning, match="only 7 forecasts are scored"):
        result = compare(NILE[:12], {"auto": AutoBypass(), "SKF": SequentialKalman()}, skip=5)
    assert [line.difference for line in result.lines] == [None, None]
    assert all(np.isfinite(line.scores["mae"]) for line in result.lines)


def test_exogenous_values_of_another_length_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"exog has shape \(7, 1\), but must be \(100, n_exog\)"):
        evaluate(NILE[:100], None, exog=NILE[:7])


@pytest.mark.parametrize("every", [None, 7])
def test_exogenous_values_are_as_many_as_observations(every: int | None) -> None:
    with pytest.raises(ShapeError, match=r"exog has shape \(30, 2\), but must be \(40, n_exog\)"):
        evaluate(NILE[:40], Forecaster(lags=1), exog=np.ones((30, 2)), every=every)


@pytest.mark.parametrize(
    ("forecasters", "words"),
    [
        (Forecaster(lags=1), "forecasters is Forecaster"),
        ("auto", "forecasters is 'auto'"),
        (np.ones(2), "forecasters is arr"),
    ],
)
def test_what_is_no_list_of_forecasters_is_refused(forecasters: object, words: str) -> None:
    with pytest.raises(ParameterError, match=words + ".*but must be a list of forecasters or models, or a dict"):
        compare(NILE, forecasters)  # type: ignore[arg-type]


def test_arguments_that_are_not_data_are_checked_too() -> None:
    with pytest.raises(ParameterError, match="progress is 5, but must be a function, or None"):
        evaluate(NILE, None, progress=5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="skip is -1, but must be a whole number"):
        compare(NILE, [AutoBypass()], skip=-1)
    with pytest.raises(ParameterError, match=r"step is \[1\], but forecasts from 1 to 1 steps ahead"):
        evaluate(NILE[:60], None).trace([1])  # type: ignore[arg-type]
