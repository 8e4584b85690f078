"""A panel learns from a long data frame what the forecasters learn from its series."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from adabypass import AutoBypass, Forecaster, Panel, forecast
from adabypass.errors import TimeOrderError
from tests.panel.test_panel import walks

DAYS = np.arange("2024-01-01", "2024-03-01", dtype="M8[D]")


def long_frame() -> pd.DataFrame:
    y = walks(3, len(DAYS), missing=0.0)
    ids, days = np.repeat(["b", "a", "c"], len(DAYS)), np.tile(DAYS, 3)
    return pd.DataFrame({"unique_id": ids, "ds": days, "y": y.reshape(-1)}).sort_values(["ds", "unique_id"])


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_long_frame_is_learned_series_by_series(convert: object) -> None:
    frame = long_frame()
    given = convert(frame.drop(frame.index[[17, 40]]))  # type: ignore[operator]
    panel = Panel(Forecaster(lags=2), n_threads=2)
    trace = panel.run_frame(given)
    assert trace is not None
    assert panel.ids == ["a", "b", "c"]
    for name in panel.ids:
        y = frame[frame.unique_id == name].y.to_numpy().copy()
        y[[i for i, row in enumerate(frame[frame.unique_id == name].index) if row in frame.index[[17, 40]]]] = np.nan
        single = Forecaster(lags=2)
        expected = single.run(y, keep_predictive=False)
        chosen = np.array(trace.ids) == name
        assert_array_equal(trace.y[chosen], y)
        assert_array_equal(trace.mean[chosen][2:], expected.mean)
        assert panel[name].to_bytes() == single.to_bytes()


def test_a_frame_goes_on_where_the_last_one_ended() -> None:
    frame = long_frame()
    halves, whole = Panel(Forecaster(lags=1)), Panel(Forecaster(lags=1))
    for part in (frame[frame.ds < "2024-02-01"], frame[frame.ds >= "2024-02-01"]):
        halves.run_frame(part, keep_trace=False)
    whole.run_frame(frame, keep_trace=False)
    assert halves.to_bytes() == whole.to_bytes()


def test_columns_of_a_frame_are_the_features_of_a_model() -> None:
    rng = np.random.default_rng(2)
    y, X = rng.normal(size=60), rng.normal(size=(60, 2))
    panel = Panel(AutoBypass())
    panel.run_frame({"unique_id": [1, 2] * 30, "y": y, "u": X[:, 0], "v": X[:, 1]}, exog=["u", "v"])
    model = AutoBypass()
    model.run(X[1::2], y[1::2])
    assert panel[2].to_bytes() == model.to_bytes()


def test_times_out_of_order_are_refused_and_nothing_is_learned() -> None:
    panel = Panel(Forecaster(lags=1))
    with pytest.raises(TimeOrderError):
        panel.run_frame({"unique_id": list("aabb"), "ds": [1, 2, 2, 1], "y": [1.0, 2.0, 3.0, 4.0]})
    assert len(panel) == 0


def test_many_series_of_a_frame_are_forecast_as_by_themselves() -> None:
    frame = long_frame()
    found = forecast(frame, 5, Forecaster(lags=1), levels=(0.8,))
    for name in "abc":
        single = Forecaster(lags=1)
        single.run(frame[frame.unique_id == name].y.to_numpy())
        own = single.forecast(5)
        rows = found[found.unique_id == name]
        assert_array_equal(rows["mean"], own.mean)
        assert_array_equal(rows["upper_80"], own.interval(0.8)[1])


def test_the_number_of_threads_changes_no_forecast_of_a_frame() -> None:
    y = np.random.default_rng(5).normal(size=(30, 40)).cumsum(axis=1)
    frame = pd.DataFrame({"unique_id": np.repeat(np.arange(30), 40), "y": y.reshape(-1)})
    one, three = (forecast(frame, 3, Forecaster(lags=1), n_threads=n) for n in (1, 3))
    pd.testing.assert_frame_equal(one, three, check_exact=True)
    with pytest.raises(ValueError, match="n_threads"):
        forecast(frame, 3, n_threads=0)


@pytest.mark.parametrize("days", [180, 300, 500])
def test_a_cycle_of_the_calendar_does_not_spoil_a_forecast(days: int) -> None:
    rng = np.random.default_rng(days)
    errors: dict[str, list[float]] = {"": [], "year": []}
    for _ in range(8):
        level = 50 * np.exp(rng.normal(0, 0.01, days + 28).cumsum())
        y = rng.poisson(level * np.resize([0.9, 0.85, 0.9, 1.0, 1.2, 1.5, 0.7], days + 28))
        frame = {"ds": np.datetime64("2023-03-06") + np.arange(days), "y": y[:days].astype(float)}
        for cycle, found in errors.items():
            ahead = forecast(frame, 28, calendar=[cycle] if cycle else [])
            found.append(float(np.abs(ahead["median"] - y[days:]).mean()))
    assert np.mean(errors["year"]) < 1.01 * np.mean(errors[""])


def test_a_cycle_is_a_season_beside_a_period_that_was_chosen() -> None:
    t = np.arange(900)
    y = 100 + 30 * np.sin(2 * np.pi * t / 365.25) + np.resize([0.0, 0, 0, 0, 0, 20, 20], 900)
    frame = {"ds": np.datetime64("2022-01-03") + t[:800], "y": y[:800]}

    def error(calendar: list[str]) -> float:
        ahead = forecast(frame, 60, Forecaster(period=7), calendar=calendar)
        return float(np.abs(ahead["mean"] - y[800:860]).mean())

    assert error(["year"]) < 0.5 * error([])
    week = forecast(frame, 5, Forecaster(period=7), calendar=["week"])
    assert_array_equal(week["mean"], forecast(frame, 5, Forecaster(period=7))["mean"])
