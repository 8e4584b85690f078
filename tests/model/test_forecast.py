"""A forecast of many steps is made of one distribution for each of them, and of nothing else."""

from typing import Any

import numpy as np
import pytest

from adabypass import Forecast, Normal, Point
from adabypass.errors import NotANumberError, ParameterError, ShapeError

STEPS = Normal(np.zeros(3), np.ones(3))


@pytest.mark.parametrize(
    ("predictive", "error", "words"),
    [
        (None, ParameterError, "predictive is None, but must be forecasts: a Normal, an Insensitive, a Mixture or a"),
        (np.zeros(3), ParameterError, r"predictive is array\(\[0., 0., 0.\]\), but must be forecasts"),
        (Normal, ParameterError, "predictive is <class 'adabypass.model.normal.Normal'>, but must be forecasts"),
        (Forecast(STEPS), ParameterError, "but must be forecasts"),
        (Normal(0.0, 1.0), ShapeError, r"predictive is Normal\(mean=0, sd=1\), which is one forecast; pass many"),
        (Point(2.0, "PassiveAggressive"), ShapeError, r"predictive is Point\(mean=2\), which is one forecast"),
    ],
)
def test_what_is_not_a_sequence_of_forecasts_is_refused(predictive: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        Forecast(predictive)


@pytest.mark.parametrize(
    ("paths", "error", "words"),
    [
        (np.zeros((5, 2)), ShapeError, r"paths have shape \(5, 2\), but must have shape \(n_paths, 3\)"),
        (np.zeros(3), ShapeError, r"paths have shape \(3,\)"),
        ("paths", NotANumberError, "paths is 'paths', but must be made of numbers"),
    ],
)
def test_paths_have_a_value_for_each_step(paths: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        Forecast(STEPS, paths)


@pytest.mark.parametrize("paths", [2.0, np.zeros(3), np.zeros((1, 3)), np.zeros((2, 3, 1))])
def test_a_forecast_from_paths_needs_two_of_them(paths: Any) -> None:
    with pytest.raises(ShapeError, match="at least 2 draws of each of n forecasts"):
        Forecast.from_paths(paths)


def test_a_point_for_each_step_is_a_forecast() -> None:
    assert Forecast(Point(np.arange(3.0), "PassiveAggressive")).is_point
