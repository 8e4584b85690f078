"""A forecast of many steps is made of one distribution for each of them, and of nothing else."""

from typing import Any

import numpy as np
import pytest
from pytest import approx

from adabypass import Forecast, Normal, Point
from adabypass.errors import NotANumberError, ParameterError, ShapeError

STEPS = Normal(np.zeros(3), np.ones(3))


@pytest.mark.parametrize(
    ("predictive", "error", "words"),
    [
        (None, ParameterError, "predictive is None, but must be forecasts: a Normal, a Mixture or a"),
        (np.zeros(3), ParameterError, r"predictive is array\(\[0., 0., 0.\]\), but must be forecasts"),
        (
            Normal,
            ParameterError,
            "predictive is <class 'adabypass.distributions.normal.Normal'>, but must be forecasts",
        ),
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


def test_probabilities_and_quantiles_of_every_step() -> None:
    forecast = Forecast(Normal(np.array([0.0, 10.0]), np.array([1.0, 4.0])))
    assert forecast.cdf(0.0) == approx([0.5, 2.866515719235352e-07])
    assert forecast.cdf([0.0, 10.0]) == approx(0.5)
    assert forecast.sf([1.0, 12.0]) == approx(1 - forecast.cdf([1.0, 12.0]))
    table = forecast.quantile([0.05, 0.5, 0.95])
    assert table.shape == (3, 2)
    assert forecast.cdf(table[2]) == approx(0.95)
    drawn = Forecast.from_paths(np.random.default_rng(0).normal(size=(5000, 2)))
    assert drawn.cdf(0.0) == approx(0.5, abs=0.03)


def test_a_frame_holds_the_quantiles_that_are_asked_for() -> None:
    forecast = Forecast(Normal(np.array([0.0, 10.0]), np.array([1.0, 4.0])))
    frame = forecast.to_frame(levels=[], quantiles=[0.05, 0.5, 0.975])
    assert list(frame.columns) == ["step", "mean", "median", "sd", "quantile_5", "quantile_50", "quantile_97.5"]
    assert frame["quantile_5"].tolist() == approx(forecast.quantile(0.05).tolist())
    with pytest.raises(ParameterError, match="between 0 and 1"):
        forecast.to_frame(quantiles=[5])
