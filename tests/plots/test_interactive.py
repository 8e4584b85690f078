"""The twins with plotly draw what matplotlib draws."""

from typing import Any

import numpy as np
import pytest

from adabypass import AutoBypass, Forecaster, Naive, PassiveAggressive, load_dataset
from adabypass.errors import ParameterError

go = pytest.importorskip("plotly.graph_objects")
from adabypass.plots import interactive  # noqa: E402

NILE = load_dataset("nile")


def named(fig: Any, name: str) -> Any:
    return next(each for each in fig.data if each.name == name)


def test_a_fan_has_the_intervals_of_the_forecast() -> None:
    forecaster = Forecaster(lags=1)
    forecaster.learn(NILE.y)
    ahead = forecaster.forecast(6)
    fig = interactive.fan(ahead, NILE)
    low, high = ahead.interval(0.9)
    assert named(fig, "90 % interval").y == pytest.approx(np.concatenate([high, low[::-1]]))
    assert list(named(fig, "forecast").x) == list(range(1285, 1291))
    assert len(named(fig, "observed").y) == 50
    assert fig.layout.yaxis.title.text == "m"


def test_a_history_is_thinned_out_and_leaves_gaps_blank() -> None:
    y = np.tile(NILE.y, 5)
    y[1000:1400] = np.nan
    trace = AutoBypass().run(np.ones((len(y), 1)), y)
    fig = interactive.history(trace)
    assert len(named(fig, "observed").y) == 1_500
    assert all(np.isfinite(each.y).all() for each in fig.data if each.name.endswith("interval"))


def test_a_figure_that_is_given_is_drawn_on() -> None:
    model = Naive()
    trace = model.run(NILE.y[:50])
    own = go.Figure()
    assert interactive.fan(model.forecast(3), fig=own) is own
    n = len(own.data)
    assert interactive.history(trace, fig=own) is own
    assert len(own.data) > n


def test_points_have_no_intervals() -> None:
    forecaster = Forecaster(PassiveAggressive(), lags=1)
    trace = forecaster.run(NILE.y[:50])
    for fig in (interactive.fan(forecaster.forecast(2)), interactive.history(trace)):
        assert not [each for each in fig.data if each.name.endswith("interval")]


def test_components_are_those_of_the_explanation() -> None:
    forecaster = Forecaster(period=12)
    y = 10.0 + np.sin(np.arange(120) * np.pi / 6)
    forecaster.learn(y)
    fig = interactive.components(forecaster.explain(6, y=y))
    titles = [each.text for each in fig.layout.annotations]
    assert titles == ["the series", "level", "season of 12 steps"]
    with pytest.raises(ParameterError, match="must be what explain"):
        interactive.components("nothing")  # type: ignore[arg-type]
