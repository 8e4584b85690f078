"""`plot()` of what runs, forecasts, evaluations and explanations return, with the names and dates of the data."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from adabypass import Forecaster, Naive, PassiveAggressive, evaluate, load_dataset, plots
from adabypass.errors import ShapeError
from tests.plots.drawn import in_words, line

NILE = load_dataset("nile")
PNG = b"\x89PNG\r\n"


def forecast(n: int = 120, horizon: int = 5) -> Any:
    forecaster = Forecaster(lags=1)
    forecaster.learn(NILE.y[:n])
    return forecaster.forecast(horizon)


def test_everything_that_can_be_drawn_shows_itself() -> None:
    forecaster = Forecaster()
    trace = forecaster.run(NILE.y[:60])
    for drawn in (
        forecaster.forecast(3).plot(),
        trace.plot(),
        evaluate(NILE.y[:80], Naive()).plot(),
        evaluate(NILE.y[:80], Naive(), horizon=2).plot(),
        forecaster.explain(horizon=2).plot(),
    ):
        assert drawn._repr_png_().startswith(PNG)


def test_a_data_set_brings_its_times_and_its_unit() -> None:
    ax = forecast().plot(NILE._replace(y=NILE.y[:120], time=NILE.time[:120]), title="Nile")
    assert ax.get_ylabel() == "m"
    assert ax.get_title(loc="left") == "Nile"
    assert line(ax, "observed").get_xdata()[-1] == NILE.time[119]
    assert line(ax, "forecast").get_xdata()[0] == NILE.time[119] + 1


def test_a_pandas_series_brings_its_dates_and_its_name() -> None:
    days = pd.date_range("2020-01-01", periods=120)
    ax = forecast().plot(pd.Series(NILE.y[:120], index=days, name="sold $"))
    assert ax.get_ylabel() == r"sold \$"
    assert line(ax, "forecast").get_xdata()[0] == np.datetime64("2020-04-30")
    months = pd.Series(NILE.y[:120], index=pd.period_range("2010-01", periods=120, freq="M"))
    assert line(forecast().plot(months), "observed").get_xdata()[-1] == np.datetime64("2019-12-01")
    assert line(forecast().plot(pd.Series(NILE.y[:120])), "forecast").get_xdata()[0] == 120


def test_given_times_come_before_those_of_the_series() -> None:
    ax = forecast().plot(NILE._replace(y=NILE.y[:120], time=NILE.time[:120]), np.arange(1000, 1120))
    assert line(ax, "forecast").get_xdata()[0] == 1120


def test_a_trace_takes_the_times_of_the_whole_series() -> None:
    trace = Forecaster(lags=5).run(NILE.y[:120])
    assert trace.first > 0
    for time in (NILE.time[:120], NILE.time[trace.first : 120]):
        ax = trace.plot(time, y_label="m", title="Nile")
        assert line(ax, "observed").get_xdata()[0] == NILE.time[trace.first]
        assert (ax.get_ylabel(), ax.get_title(loc="left")) == ("m", "Nile")
    with pytest.raises(ShapeError, match="time has shape"):
        trace.plot(NILE.time[:119])


def test_own_axes_are_drawn_on() -> None:
    own = Figure().subplots(1, 2)
    assert forecast().plot(ax=own[0]) is own[0]
    assert Forecaster().run(NILE.y[:60]).plot(ax=own[1]) is own[1]
    assert evaluate(NILE.y[:80], Naive(), horizon=2).plot(ax=own)[0] is own[0]


def test_an_evaluation_is_drawn_by_step_with_its_levels() -> None:
    result = evaluate(NILE.y[:200], Forecaster(lags=1), horizon=4)
    errors, shares = result.plot()
    assert line(errors, "CRPS").get_ydata() == pytest.approx([result.scores(step)["crps"] for step in range(1, 5)])
    within = line(shares, "90 % interval").get_ydata()
    assert within == pytest.approx([result.scores(step)["coverage_90"] for step in range(1, 5)])
    with pytest.raises(ShapeError, match="there are 1 axes, but 2 are drawn on"):
        result.plot(Figure().subplots())


def test_one_step_of_one_series_is_drawn_as_calibration() -> None:
    assert len(evaluate(NILE.y[:80], Forecaster(lags=1)).plot()) == 3
    frame = pd.DataFrame({"unique_id": np.repeat(["a", "b"], 60), "ds": np.tile(np.arange(60), 2), "y": NILE.y[:120]})
    assert len(evaluate(frame, Forecaster(lags=1)).plot()) == 2


@pytest.mark.parametrize(("n", "bins"), [(30, 3), (75, 7), (600, 20)])
def test_a_histogram_has_bins_for_as_many_observations_as_there_are(n: int, bins: int) -> None:
    trace = Forecaster(lags=1).run(NILE.y[: n + 2])
    assert len(plots.pit(trace).patches) == bins + 1  # the band of chance is one, too


def test_point_forecasts_are_a_line() -> None:
    ax = Forecaster(PassiveAggressive(), lags=1).run(NILE.y[:60]).plot()
    assert in_words(ax) == ["forecast", "observed"]
