"""A point forecast has a mean, and says why it has nothing else."""

import numpy as np
import pytest

from adabypass import Point
from adabypass.errors import PointForecastError


@pytest.mark.parametrize("name", ["var", "sd", "pdf", "logpdf", "cdf", "quantile", "interval", "crps", "pit", "sample"])
def test_a_point_forecast_says_why_it_has_no_distribution(name: str) -> None:
    with pytest.raises(PointForecastError, match=f"forecasts a point, so it has no {name}"):
        getattr(Point(1.0, model="PassiveAggressive"), name)


def test_a_point_forecast_has_no_other_attributes_either() -> None:
    assert not hasattr(Point(1.0, model="PassiveAggressive"), "colour")


def test_point_forecasts_read_well() -> None:
    assert repr(Point(1.5, model="PassiveAggressive")) == "Point(mean=1.5)"
    assert repr(Point(np.zeros(3), model="PassiveAggressive")) == "Point(3 forecasts)"
