"""Forecasts keep the zone of the times; days and months are counted in local time."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from adabypass import Forecaster, forecast, load_dataset
from adabypass.data import from_frame, read_table, write_table
from adabypass.errors import BadCellError, IrregularTimeError, TimeRangeError
from adabypass.panel.columns import Columns
from adabypass.panel.pipeline import forecast_series
from adabypass.panel.series import SeriesTable

Y = load_dataset("nile").y
BERLIN = "Europe/Berlin"


def ahead(time: Any, horizon: int = 2) -> Any:
    return forecast(pd.DataFrame({"ds": time, "y": Y[: len(time)]}), horizon)["ds"]


@pytest.mark.parametrize(
    ("start", "periods", "freq"),
    [
        ("2024-03-25", 20, "D"),  # local midnights across a clock change
        ("2024-10-20", 20, "D"),
        ("2024-03-30", 72, "h"),  # hours across a clock change
        ("2024-10-26", 72, "h"),
        ("2023-01-01", 20, "MS"),
        ("2023-01-31", 20, "ME"),
        ("2024-03-01", 30, "B"),
        ("2024-02-01", 12, "W"),
        ("2024-03-30 00:00", 40, "12h"),
    ],
)
def test_the_times_that_follow_are_those_of_pandas(start: str, periods: int, freq: str) -> None:
    whole = pd.date_range(start, periods=periods + 3, freq=freq, tz=BERLIN)
    answer = ahead(whole[:periods], 3)
    assert str(answer.dt.tz) == BERLIN
    assert answer.tolist() == whole[periods:].tolist()


def test_days_of_utc_in_another_zone_are_counted_in_utc() -> None:
    whole = pd.date_range("2024-03-25", periods=22, freq="D", tz="UTC").tz_convert(BERLIN)
    assert ahead(whole[:20]).tolist() == whole[20:].tolist()


def test_a_day_that_is_left_out_is_a_gap_in_local_time() -> None:
    days = pd.date_range("2024-03-25", periods=20, freq="D", tz=BERLIN).delete(6)  # the day of the clock change
    table = from_frame(pd.DataFrame({"ds": days, "y": Y[:19]}))
    assert np.flatnonzero(np.isnan(SeriesTable(table, Columns()).series("").y)).tolist() == [6]


def test_other_libraries_keep_the_zone_too() -> None:
    days = pd.date_range("2024-03-25", periods=20, freq="D", tz=BERLIN)
    polars = pl.DataFrame({"ds": days, "y": Y[:20]}).with_columns(pl.col("ds").dt.convert_time_zone(BERLIN))
    assert forecast(polars, 1)["ds"].to_list() == [datetime(2024, 4, 14, tzinfo=ZoneInfo(BERLIN))]
    arrow = forecast(polars.to_arrow(), 1)["ds"]
    assert arrow.type.tz == BERLIN
    assert arrow.to_pylist() == [datetime(2024, 4, 14, tzinfo=ZoneInfo(BERLIN))]
    assert isinstance(arrow, pa.ChunkedArray)


def test_lists_of_aware_datetimes_are_answered_by_such() -> None:
    days = [datetime(2024, 3, 25, tzinfo=ZoneInfo(BERLIN)) + timedelta(days=day) for day in range(20)]
    answer = forecast({"ds": days, "y": Y[:20]}, 1)["ds"][0]
    assert answer == datetime(2024, 4, 14, tzinfo=ZoneInfo(BERLIN))
    assert str(answer.tzinfo) == BERLIN


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([f"2024-07-01T{hour:02}:00+02:00" for hour in range(10, 24)], "2024-07-02T00:00+02:00"),
        ([f"2024-07-{day:02}T00:00Z" for day in range(1, 12)], "2024-07-12T00:00Z"),
        (
            [f"2024-03-{day}T00:00+01:00" for day in range(26, 32)] + ["2024-04-01T00:00+02:00"],
            "2024-04-02T00:00+02:00",
        ),
        (
            [f"2024-10-{day}T00:00+02:00" for day in range(22, 28)] + ["2024-10-28T00:00+01:00"],
            "2024-10-29T00:00+01:00",
        ),
    ],
)
def test_text_with_an_offset_comes_back_with_it(times: list[str], expected: str, tmp_path: Path) -> None:
    data = {"ds": np.array(times), "y": Y[: len(times)]}
    assert forecast(data, 1)["ds"].tolist() == [expected]
    assert forecast(pd.DataFrame(data), 1)["ds"].tolist() == [expected]
    write_table(data, tmp_path / "in.csv")
    found = forecast_series(SeriesTable(read_table(tmp_path / "in.csv"), Columns()), 1)
    write_table(found.columns, tmp_path / "out.csv")
    assert read_table(tmp_path / "out.csv").text("ds") == [expected]


def test_series_may_have_offsets_of_their_own() -> None:
    data = {
        "unique_id": ["a"] * 5 + ["b"] * 5,
        "ds": [f"2024-07-0{day}T00:00{offset}" for offset in ("+02:00", "+01:00") for day in range(1, 6)],
        "y": Y[:10],
    }
    assert forecast(data, 1)["ds"].tolist() == ["2024-07-06T00:00+02:00", "2024-07-06T00:00+01:00"]


def test_the_calendar_is_that_of_local_time() -> None:
    """Noon in Tokyo is 3 in the morning of UTC; the cosine of noon is -1."""
    hours = pd.date_range("2024-01-01 12:00", periods=3, freq="D", tz="Asia/Tokyo")
    table = from_frame(pd.DataFrame({"ds": hours, "y": Y[:3]}))
    series = SeriesTable(table, Columns(calendar=("day",))).series("")
    lags = Forecaster(lags=1)
    seen, future = series.exog_of(lags), series.exog_ahead(1, lags)
    assert seen is not None
    np.testing.assert_allclose(seen, [[0, -1]] * 3, atol=1e-12)
    assert future is not None
    np.testing.assert_allclose(future, [[0, -1]], atol=1e-12)


def test_errors_show_local_time() -> None:
    days = pd.date_range("2024-03-25", periods=9, freq="D", tz=BERLIN)
    odd = days.append(pd.DatetimeIndex(["2024-04-03 05:00"], tz=BERLIN))
    with pytest.raises(IrregularTimeError, match=r"row 10.* 2024-04-03T05:00:00\+02:00 lies between 2024-04-03T00:00"):
        ahead(odd)


def test_offsets_of_different_zones_are_not_one_zone() -> None:
    mixed = ["2024-01-01T00:00+00:00", "2024-01-02T00:00+09:00", "2024-01-03T00:00+00:00"]
    with pytest.raises(IrregularTimeError, match="row 3"):
        forecast({"ds": mixed, "y": Y[:3]}, 1)


def test_nanoseconds_that_end_in_2262_are_continued_in_microseconds() -> None:
    for freq in ("D", "MS", "B"):
        whole = pd.date_range("2262-03-01" if freq != "MS" else "2259-01-01", periods=40, freq=freq, unit="us")
        chosen = whole[whole <= "2262-04-08"]
        answer = ahead(chosen.astype("datetime64[ns]"), 9)
        assert answer.tolist() == pd.date_range(chosen[-1], periods=10, freq=freq, unit="us")[1:].tolist()
    odd = np.datetime64("2262-04-11T00:00:00.000000001") + np.arange(-30, 0) * np.timedelta64(1, "D")
    with pytest.raises(TimeRangeError, match="nanoseconds end in the year 2262; round the times to microseconds"):
        forecast({"ds": odd, "y": Y[:30]}, 5)


def test_three_centuries_in_nanoseconds_are_counted_right() -> None:
    years = np.array([f"{year}-01-01" for year in range(1700, 2250)], "M8[ns]")
    answer = forecast({"ds": years, "y": np.resize(Y, 550)}, 1)
    assert str(answer["ds"][0])[:10] == "2250-01-01"
    days = np.arange("1700-01-01", "2250-01-01", dtype="M8[D]").astype("M8[ns]")[:: 365 * 10]
    assert str(forecast({"ds": days, "y": np.resize(Y, len(days))}, 1)["ds"][0])[:4] == "2259"


def test_times_beyond_all_calendars_and_integers_are_refused() -> None:
    with pytest.raises(TimeRangeError, match="after the year 9999; forecast fewer steps"):
        forecast({"ds": np.arange("9999-12-01", "9999-12-25", dtype="M8[D]"), "y": Y[:24]}, 9)
    with pytest.raises(TimeRangeError, match="after the year 9999"):
        forecast({"ds": np.arange("9990-12", "9999-12", dtype="M8[M]"), "y": Y[:108]}, 9)
    with pytest.raises(TimeRangeError, match="larger than the largest integer, 9223372036854775807; subtract"):
        forecast({"ds": np.arange(2**63 - 31, 2**63 - 1), "y": Y[:30]}, 5)
    assert forecast({"ds": np.arange(2**63 - 31, 2**63 - 1), "y": Y[:30]}, 1)["ds"] == [2**63 - 1]
    with pytest.raises(TimeRangeError, match="too far apart to be counted in 64 bits"):
        forecast({"ds": np.array([-(2**62), 0, 2**62]), "y": Y[:3]}, 1)
    for times in (np.arange(2**63, 2**63 + 30, dtype=np.uint64), [str(2**63 + i) for i in range(30)]):
        with pytest.raises(BadCellError, match=r'row 1, column "ds": "?9223372036854775808"? is too large for a time'):
            forecast({"ds": times, "y": Y[:30]}, 1)
    with pytest.raises(TimeRangeError, match="larger than the largest number"):
        forecast({"ds": np.array([0, 0.8e308, 1.6e308]), "y": Y[:3]}, 2)
