"""Tables hold series, one or many; forecasts come back in the kind of frame that was given."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pytest import approx

from adabypass import Forecaster, SequentialKalman, forecast, load_dataset
from adabypass.data import from_frame
from adabypass.errors import (
    AdabypassError,
    IrregularTimeError,
    NotEnoughDataError,
    ParameterError,
    TimeOrderError,
    UnknownNameError,
)
from adabypass.panel.columns import Columns
from adabypass.panel.series import SeriesTable

KINDS: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
every_kind = pytest.mark.parametrize("kind", KINDS)


def columns_of(frame: Any) -> dict[str, list[Any]]:
    if isinstance(frame, pa.Table):
        return dict(frame.to_pydict())
    return {name: list(frame[name]) for name in frame.columns}


@every_kind
def test_a_frame_is_answered_in_kind_with_equal_numbers(kind: str) -> None:
    nile = load_dataset("nile")
    answer = forecast(KINDS[kind]({"ds": nile.time, "y": nile.y}), horizon=3)
    forecaster = Forecaster()
    forecaster.run(nile.y)
    expected = forecaster.forecast(3)
    assert isinstance(answer, type(KINDS[kind]({"a": [1]})))
    columns = columns_of(answer)
    assert columns["ds"] == [1285, 1286, 1287]
    assert columns["mean"] == approx(list(expected.mean), rel=1e-12)
    assert columns["upper_90"] == approx(list(expected.interval(0.9)[1]), rel=1e-12)


@every_kind
def test_long_frames_hold_many_series(kind: str) -> None:
    rng = np.random.default_rng(0)
    days = np.arange("2024-01-01", "2024-03-01", dtype="M8[D]").astype("M8[us]")
    y = {"b": rng.normal(5, 1, len(days)), "a": rng.normal(-5, 1, len(days))}
    long = {
        "unique_id": ["b"] * len(days) + ["a"] * len(days),
        "ds": np.concatenate([days, days]),
        "y": np.concatenate([y["b"], y["a"]]),
    }
    columns = columns_of(forecast(KINDS[kind](long), horizon=2, levels=(0.5,)))
    assert columns["unique_id"] == ["b", "b", "a", "a"]  # in the order in which they came
    assert [str(day)[:10] for day in columns["ds"]] == ["2024-03-01", "2024-03-02"] * 2
    alone = Forecaster(period=[7, 365.25])
    alone.run(y["a"])
    assert columns["mean"][2:] == approx(list(alone.forecast(2).mean), rel=1e-12)
    assert list(columns) == ["unique_id", "ds", "mean", "median", "sd", "lower_50", "upper_50"]


def test_an_array_needs_no_names() -> None:
    answer = forecast(np.sin(np.arange(100.0)), horizon=2, forecaster=Forecaster(lags=2))
    assert list(answer) == ["step", "mean", "median", "sd", "lower_90", "upper_90"]
    assert answer["step"].tolist() == [101, 102]
    assert answer["mean"] == approx(np.sin([100, 101]), abs=0.01)


def test_gaps_in_time_are_missing_observations() -> None:
    y = np.random.default_rng(0).normal(size=50).cumsum()
    kept = np.delete(np.arange(50), [20, 21, 33])
    gappy = y.copy()
    gappy[[20, 21, 33]] = np.nan
    by_time = forecast({"ds": kept, "y": y[kept]}, horizon=1)
    by_nan = forecast(gappy, horizon=1)
    assert by_time["mean"] == approx(by_nan["mean"], rel=1e-12)
    assert by_time["ds"].tolist() == [50]


def test_the_future_of_exogenous_columns_stands_below_the_last_target() -> None:
    rng = np.random.default_rng(0)
    rain = rng.normal(size=103)
    y = np.append(3 * rain[:100] + rng.normal(0, 0.1, 100), [np.nan] * 3)
    answer = forecast({"y": y, "rain": rain}, horizon=3, exog=["rain"])
    assert answer["mean"] == approx(3 * rain[100:], abs=0.3)
    with pytest.raises(NotEnoughDataError, match="4 steps ahead need as many rows of rain after the last"):
        forecast({"y": y, "rain": rain}, horizon=4, exog=["rain"])


def test_the_calendar_is_known_ahead() -> None:
    hours = np.arange("2024-01-01", "2024-01-15", dtype="M8[h]")
    of_day = 2 * np.pi * (np.arange(len(hours)) % 24) / 24
    y = np.cos(of_day) + np.random.default_rng(0).normal(0, 0.05, len(hours))
    answer = forecast({"ds": hours, "y": y}, horizon=24, calendar=["day"])
    assert answer["mean"] == approx(np.cos(of_day[:24]), abs=0.15)
    with pytest.raises(ParameterError, match="calendar needs a column of times"):
        forecast({"y": y}, horizon=1, calendar=["day"])


def test_every_series_gets_a_fresh_copy_of_the_forecaster() -> None:
    template = Forecaster(SequentialKalman(), lags=2)
    two = {"unique_id": ["a"] * 30 + ["b"] * 30, "y": np.tile(np.random.default_rng(0).normal(size=30), 2)}
    answer = forecast(two, horizon=1, forecaster=template)
    assert answer["mean"][0] == answer["mean"][1]
    assert template.n_seen == 0


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        ({"ds": [1, 3, 2], "y": [1.0, 2.0, 3.0]}, TimeOrderError, 'row 3, column "ds"'),
        ({"ds": [1, 2, 2], "y": [1.0, 2.0, 3.0]}, TimeOrderError, 'row 3, column "ds"'),
        ({"ds": [1.0, 2.0, 3.0, 3.4], "y": [1.0, 2.0, 3.0, 4.0]}, IrregularTimeError, "row 4"),
        ({"value": [1.0, 2.0]}, UnknownNameError, 'there is no column "y"'),
        ({"y": [np.nan, np.nan]}, NotEnoughDataError, "nothing to learn from"),
        ({"y": [1.0]}, AdabypassError, "y has 1 observations, but forecasts begin after 1"),
    ],
)
def test_what_cannot_be_forecast_is_refused(data: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        forecast(data, horizon=1)


def test_a_constant_series_is_forecast_as_such() -> None:
    answer = forecast({"y": np.full(50, 7.5)}, horizon=3)
    assert answer["mean"] == approx([7.5] * 3)
    assert np.isfinite(answer["sd"]).all()


def test_rows_of_a_series_may_be_anywhere() -> None:
    ids = ["b", "b", "a", "b", "a", "c", "c", "b"]
    for given in (ids, np.array(ids, dtype=object), np.array(ids), [{"a": 1, "b": 2, "c": 3}[each] for each in ids]):
        table = SeriesTable(from_frame({"unique_id": given, "y": np.arange(8.0)}), Columns())
        assert [table.series(name).y.tolist() for name in table.names] == [[0, 1, 3, 7], [2, 4], [5, 6]]


def test_equal_ids_of_other_types_are_other_series() -> None:
    ids = np.array([1, 1, True, True, 1.0, 1], dtype=object)
    table = SeriesTable(from_frame({"unique_id": ids, "y": np.arange(6.0)}), Columns())
    assert {name: table.series(name).y.tolist() for name in table.names} == {"1": [0, 1, 5], "True": [2, 3], "1.0": [4]}
