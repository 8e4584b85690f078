"""Times find their grid, gaps are seen, and what lies beside the grid is named."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from adabypass import load_dataset
from adabypass.data import calendar_features, following_times, regular_grid
from adabypass.errors import (
    IrregularTimeError,
    NotANumberError,
    NotFiniteError,
    ParameterError,
    ShapeError,
    TimeOrderError,
    UnknownNameError,
)


def dates(*texts: str, unit: str = "D") -> Any:
    return np.array(texts, dtype=f"M8[{unit}]")


def shown(times: Any) -> list[str]:
    return list(map(str, times))


def test_gaps_are_filled_with_nan() -> None:
    grid = regular_grid(np.array([622, 623, 626]))
    assert grid.time.tolist() == [622, 623, 624, 625, 626]
    assert grid.position.tolist() == [0, 1, 4]
    assert np.array_equal(grid.fill([1.0, 2.0, 3.0]), [1, 2, np.nan, np.nan, 3], equal_nan=True)
    assert grid.fill(np.ones((3, 2))).shape == (5, 2)
    with pytest.raises(ShapeError, match=r"values has shape \(2,\), but there are 3 observations"):
        grid.fill([1.0, 2.0])


def test_the_most_common_difference_is_the_step() -> None:
    days = dates("2014-01-06", "2014-01-07", "2014-01-08", "2014-01-09", "2014-01-10", "2014-01-13")
    grid = regular_grid(days)
    assert len(grid.time) == 8
    assert grid.position.tolist() == [0, 1, 2, 3, 4, 7]
    assert shown(following_times(days, 2)) == ["2014-01-14", "2014-01-15"]


def test_decimal_fractions_lie_on_a_grid_in_spite_of_rounding() -> None:
    assert regular_grid(np.arange(1000) * 0.1).position.tolist() == list(range(1000))
    rounded = np.round(1949 + np.arange(144) / 12, 3)  # 1949.083, 1949.167, 1949.25: differences of 0.083 and 0.084
    grid = regular_grid(rounded)
    assert grid.position.tolist() == list(range(144))
    assert grid.time == approx(1949 + np.arange(144) / 12, abs=1e-3)
    assert following_times(rounded, 1) == approx([1961.0], abs=1e-3)


def test_a_clock_may_jitter_by_a_hundredth_of_a_step() -> None:
    times = dates("2014-01-01T00:00:00", "2014-01-01T00:10:01", "2014-01-01T00:20:00", "2014-01-01T00:39:59", unit="s")
    grid = regular_grid(times)
    assert grid.position.tolist() == [0, 1, 2, 4]
    # The steps fill the whole span: 2399 seconds are four steps of 599.75.
    assert shown(grid.time[1:4]) == ["2014-01-01T00:10:00", "2014-01-01T00:20:00", "2014-01-01T00:29:59"]
    assert shown(following_times(times, 1)) == ["2014-01-01T00:49:59"]
    times[2] += np.timedelta64(30, "s")
    with pytest.raises(IrregularTimeError, match=r'row 3, column "time": 2014-01-01T00:20:30 lies between'):
        regular_grid(times, freq="10 min")


@pytest.mark.parametrize(
    ("times", "step", "whole"),
    [
        (["2014-01-01", "2014-02-01", "2014-04-01"], "month", ["2014-01-01", "2014-02-01", "2014-03-01", "2014-04-01"]),
        (["2014-01-31", "2014-02-28", "2014-03-31", "2014-05-31"], None, 5),
        (["2015-12-31", "2016-01-31", "2016-02-29"], None, 3),
        (["2014-01-30", "2014-02-28", "2014-04-30"], None, ["2014-01-30", "2014-02-28", "2014-03-30", "2014-04-30"]),
        (["2014-03-31", "2014-06-30", "2014-12-31"], None, ["2014-03-31", "2014-06-30", "2014-09-30", "2014-12-31"]),
        (["2012-01-01", "2013-01-01", "2015-01-01"], None, ["2012-01-01", "2013-01-01", "2014-01-01", "2015-01-01"]),
        (["2014-01-15", "2014-04-15"], "month", ["2014-01-15", "2014-02-15", "2014-03-15", "2014-04-15"]),
        (["2014-01-01", "2014-01-29", "2014-02-26", "2014-04-23"], None, 5),
    ],
)
def test_months_are_steps_however_long(times: list[str], step: str | None, whole: Any) -> None:
    grid = regular_grid(dates(*times), step)
    if isinstance(whole, int):
        assert len(grid.time) == whole
    else:
        assert shown(grid.time) == whole
    assert shown(grid.time[grid.position]) == times


def test_what_follows_month_ends_are_month_ends() -> None:
    assert shown(following_times(dates("2014-11-30", "2014-12-31"), 3)) == ["2015-01-31", "2015-02-28", "2015-03-31"]
    at_noon = dates("2014-11-30T12:00", "2014-12-31T12:00", unit="m")
    assert shown(following_times(at_noon, 2)) == ["2015-01-31T12:00", "2015-02-28T12:00"]


def test_months_and_years_of_numpy_are_their_own_steps() -> None:
    assert shown(regular_grid(dates("2014-01", "2014-02", "2014-05", unit="M"), "month").time[3:]) == [
        "2014-04",
        "2014-05",
    ]
    years = dates("2012", "2013", "2015", unit="Y")
    assert shown(regular_grid(years).time) == ["2012", "2013", "2014", "2015"]
    assert shown(following_times(years[:2], 2, "quarter")) == ["2013-04", "2013-07"]


@pytest.mark.parametrize(
    "step",
    ["10 minutes", "10min", "10m", "600 s", timedelta(minutes=10), np.timedelta64(600, "s"), np.timedelta64(10, "m")],
)
def test_a_step_may_be_said_in_many_ways(step: Any) -> None:
    times = dates("2014-01-01T00:00", "2014-01-01T01:00", unit="m")
    assert len(regular_grid(times, step).time) == 7
    assert str(following_times(times, 1, step)[0])[:16] == "2014-01-01T01:10"


def test_a_step_may_be_finer_than_the_times_unit() -> None:
    assert shown(following_times(dates("2014-01-01", "2014-01-02"), 2, "6 hours")) == [
        "2014-01-02T06",
        "2014-01-02T12",
    ]
    assert following_times(np.array([1, 2]), 2, 0.5).tolist() == [2.5, 3.0]
    assert following_times(np.array([1, 2]), 2, "0.5").tolist() == [2.5, 3.0]
    assert following_times(np.array([7]), 2, 3).tolist() == [10, 13]


def test_nanoseconds_are_kept_over_years() -> None:
    time = dates("2014-01-01T00:00:00.000000001", "2015-01-01T00:00:00.000000002", unit="ns")
    step = time[1] - time[0]
    assert (following_times(time, 2, step) == [time[1] + step, time[1] + 2 * step]).all()
    assert (regular_grid(time, step).time == time).all()


def test_the_embedded_series_lie_on_their_grids() -> None:
    wind, gold = load_dataset("wind"), load_dataset("gold_silver")
    assert len(regular_grid(wind.time).time) == len(wind.time)
    days = regular_grid(gold.time)
    assert len(days.time) == len(gold.time)
    assert np.isnan(days.fill(gold.y)).sum() == len(days.time) - 9132


@given(
    start=st.integers(-(10**6), 10**6),
    step=st.integers(1, 10**6),
    kept=st.lists(st.booleans(), min_size=1, max_size=30),
    unit=st.sampled_from(["int", "float", "s", "ms", "ns", "D"]),
)
def test_a_thinned_grid_is_found_again(start: int, step: int, kept: list[bool], unit: str) -> None:
    """Keep some of a grid's times, the first two among them: given the step, their positions are where they were."""
    numbers = start + step * np.flatnonzero([True, True, *kept])
    times: Any = {"int": numbers, "float": numbers.astype(float)}.get(unit)
    given_step: Any = step
    if times is None:
        times, given_step = numbers.astype(f"M8[{unit}]"), np.timedelta64(step, unit)  # type: ignore[call-overload]
    grid = regular_grid(times, given_step)
    assert grid.position.tolist() == np.flatnonzero([True, True, *kept]).tolist()
    assert (grid.time[grid.position] == times).all()
    assert grid.time.dtype == times.dtype


@pytest.mark.parametrize(
    ("time", "step", "error", "words"),
    [
        (
            [0, 10, 20, 25],
            None,
            IrregularTimeError,
            'row 4, column "time": 25 lies between 20 and 30 on a grid with steps of 10; round',
        ),
        ([0, 10, 25, 40], 10, IrregularTimeError, 'row 3, column "time": 25 lies between'),
        ([0.0, 0.001, 1.0, 2.0, 3.0], None, IrregularTimeError, "row 2.*steps of 1;"),
        ([5], None, IrregularTimeError, "has one time, 5, which has no frequency; give freq"),
        ([1, 2], 0, IrregularTimeError, "freq is 0, but must be greater than 0"),
        ([1, 2], -1.5, IrregularTimeError, "freq is -1.5, but must be greater than 0"),
        ([1, 2], "month", IrregularTimeError, "freq is 'month', but the times are numbers"),
        ([1, 2], float("nan"), IrregularTimeError, "freq is nan, but the times are numbers"),
        (
            [0, 1, 10**12],
            None,
            IrregularTimeError,
            "row 3.* is 999,999,999,999 steps of 1 after 1 in row 2",
        ),
        (np.arange(21000) * 1000, 1, IrregularTimeError, "spans 20,999,000 steps of 1, more than 20,000,000"),
        ([1, 2, 2], None, TimeOrderError, "row 3.* 2 is also the time of row 2"),
        ([1, 3, 2], None, TimeOrderError, "row 3.* 2 is earlier than 3 in row 2"),
        ([1.0, np.nan], None, NotFiniteError, r"time\[1\] is nan"),
        ([], None, ShapeError, "at least one"),
        ([[1, 2]], None, ShapeError, "must be a vector"),
        (["a", "b"], None, ShapeError, "number or datetime64"),
        (dates("2014-01-01", "NaT"), None, NotFiniteError, r"time\[1\] is NaT"),
        (dates("2014-01-01", "2014-01-02"), 5, IrregularTimeError, 'give a timedelta, or text such as "10 minutes"'),
        (dates("2014-01-01", "2014-01-02"), "5 parsecs", IrregularTimeError, "freq is '5 parsecs'"),
        (dates("2014-01-01", "2014-01-02"), "0 days", IrregularTimeError, "must be greater than 0"),
        (dates("2014-01-01", "2014-02-05"), "month", IrregularTimeError, "freq is 1 month, .* not all on one day"),
        (dates("2014-01-01", "2014-02-01", "2014-03-01"), "2 months", IrregularTimeError, "row 2.*steps of 2 months"),
        (dates("2014-01-01", "2014-01-08", "2014-01-10"), None, IrregularTimeError, "row 2.*steps of 2 days"),
        (
            dates("2014-01-01", "2014-01-08", "2014-01-15", "2014-01-17"),
            None,
            IrregularTimeError,
            "row 4.*steps of 1 week;",
        ),
    ],
)
def test_what_lies_on_no_grid_is_refused(time: Any, step: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        regular_grid(np.array(time), step)


def test_errors_name_the_column_and_the_row_they_are_told() -> None:
    with pytest.raises(IrregularTimeError, match='row 40, column "date": 25'):
        regular_grid(np.array([0, 10, 20, 25]), name="date", rows=[10, 20, 30, 40])
    with pytest.raises(ParameterError, match="n is 0"):
        following_times(np.array([1, 2]), 0)


def test_the_calendar_turns_once_a_period() -> None:
    """6 January 2014 was a Monday; 2012 was a leap year, so that 1 July is day 182 of 366."""
    monday = dates("2014-01-06T00:00", "2014-01-06T18:00", "2014-01-09T12:00", unit="m")
    features, names = calendar_features(monday, ("day", "week"))
    assert names == ["day_sin", "day_cos", "week_sin", "week_cos"]
    assert features[0] == approx([0, 1, 0, 1])
    assert features[1, :2] == approx([-1, 0], abs=1e-12)
    assert features[2] == approx([0, -1, 0, -1], abs=1e-12)
    year, _ = calendar_features(dates("2012-07-01"), ["year"])
    turn = 2 * np.pi * 182 / 366
    assert year[0] == approx([np.sin(turn), np.cos(turn)])


def test_the_calendar_knows_months_and_hours_and_names_everything() -> None:
    features, names = calendar_features(dates("2014-02-15T00:15", unit="m"), ("hour", "month"))
    month = 2 * np.pi * (14 + 15 / 1440) / 28
    assert features[0] == approx([1, 0, np.sin(month), np.cos(month)], abs=1e-12)
    assert calendar_features(dates("2014-02-15"))[0].shape == (1, 6)
    assert calendar_features(dates("2014-02", unit="M"), "year")[1] == ["year_sin", "year_cos"]
    assert calendar_features(dates("2014-02-15"), ())[0].shape == (1, 0)
    assert names == ["hour_sin", "hour_cos", "month_sin", "month_cos"]


def test_a_calendar_needs_dates_and_known_periods() -> None:
    with pytest.raises(NotANumberError, match="time is of type int64, but a calendar needs dates"):
        calendar_features(np.array([1, 2]))
    with pytest.raises(NotFiniteError, match=r"time\[1\] is NaT"):
        calendar_features(dates("2014-01-01", "NaT"))
    with pytest.raises(UnknownNameError, match="no period 'yaer'; did you mean 'year'"):
        calendar_features(dates("2014-01-01"), ["yaer"])
    with pytest.raises(UnknownNameError, match="no period 'x'; the periods are hour, day, week, month, year"):
        calendar_features(dates("2014-01-01"), ["x"])


def test_prices_without_weekends_are_workdays_apart() -> None:
    days = np.busday_offset(np.datetime64("2015-01-01"), np.arange(30))
    holiday = np.delete(days, 12)
    grid = regular_grid(holiday)
    assert grid.time.tolist() == days.tolist()
    assert np.flatnonzero(np.isnan(grid.fill(np.ones(29)))).tolist() == [12]
    assert following_times(holiday, 2).astype(str).tolist() == ["2015-02-12", "2015-02-13"]
    and_a_saturday = np.append(days, np.datetime64("2015-02-14"))
    assert len(regular_grid(and_a_saturday).time) == 45  # then every day counts


def test_a_gap_far_longer_than_the_series_is_refused_with_both_rows() -> None:
    with pytest.raises(
        IrregularTimeError, match='row 4, column "time": 60000 is 59,998 steps of 1 after 2 in row 3, a gap'
    ):
        regular_grid(np.array([0, 1, 2, 60000]))
    seconds = dates(
        "2024-01-01T00:00:00", "2024-01-01T00:00:01", "2024-01-01T00:00:02", "2024-08-01T00:00:03", unit="s"
    )
    with pytest.raises(
        IrregularTimeError, match=r"row 4.*2024-08-01T00:00:03 is 18,403,201 steps of 1 second after 2024-01-01"
    ):
        regular_grid(seconds)
    with pytest.raises(
        IrregularTimeError, match="correct the time, leave out the rows before or after the gap, or give"
    ):
        following_times(seconds, 1)


def test_a_gap_may_be_a_thousand_steps_or_ten_times_the_rows() -> None:
    assert len(regular_grid(np.array([0, 1, 2, 1002])).time) == 1003
    rows = np.append(np.arange(500), 499 + 5010)
    assert len(regular_grid(rows).time) == 5510
    with pytest.raises(IrregularTimeError, match="row 501"):
        regular_grid(np.append(np.arange(500), 499 + 5011))


@pytest.mark.parametrize("freq", ["99999999999999999999 days", "10001 years", "999999999999 weeks"])
def test_a_frequency_longer_than_ten_thousand_years_is_refused(freq: str) -> None:
    with pytest.raises(IrregularTimeError, match="must be less than 10,000 years"):
        regular_grid(dates("2014-01-01", "2014-01-02"), freq)
    with pytest.raises(IrregularTimeError, match=r"freq is 1e\+300, but must be less than 2\^63"):
        regular_grid(np.array([1, 2]), 1e300)
