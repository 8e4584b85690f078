"""Positions in cycles: a time of day, a weekday, a month."""

import datetime

import numpy as np
import pytest

from adabypass.data.cycles import MAX_TIMES_OF_DAY, cycle_between, positions_in


def test_weekdays_are_those_of_the_calendar() -> None:
    days = np.datetime64("1969-11-03") + np.arange(800)
    index, names = positions_in(days, "week")
    assert [names[i] for i in index] == [each.strftime("%A") for each in days.astype(object)]
    assert names[0] == "Monday"


def test_months_are_those_of_the_calendar_in_their_order() -> None:
    days = np.datetime64("1968-02-01T13", "h") + 24 * np.arange(800)
    index, names = positions_in(days, "year")
    assert [names[i] for i in index] == [each.strftime("%B") for each in days.astype(object)]
    assert names == [datetime.date(2000, month, 1).strftime("%B") for month in range(1, 13)]


def test_only_positions_that_occur_are_named() -> None:
    index, names = positions_in(np.array(["2024-04", "2024-01", "2025-01"], "M8[M]"), "year")
    assert names == ["January", "April"]
    assert index.tolist() == [1, 0, 0]


def test_times_of_day_are_named_by_the_minute_unless_they_are_many() -> None:
    halves = np.datetime64("2024-01-01T00:00") + 30 * np.arange(96)
    index, names = positions_in(halves, "day")
    assert len(names) == MAX_TIMES_OF_DAY
    assert names[index[1]] == "00:30"
    index, names = positions_in(np.datetime64("2024-01-01T00:00") + 5 * np.arange(288), "day")
    assert names == [f"{hour:02d}:00" for hour in range(24)]
    assert (index == np.arange(288) // 12).all()


def test_days_of_the_month_and_minutes_are_counted() -> None:
    assert positions_in(np.array(["2024-02-29"], "M8[D]"), "month")[1] == ["day 29"]
    assert positions_in(np.array(["2024-02-29T07:05"], "M8[m]"), "hour")[1] == ["minute 5"]


@pytest.mark.parametrize(
    ("start", "end", "cycle"),
    [
        ("2024-01-01T00", "2024-01-02T00", "day"),
        ("2024-03-30", "2024-04-06", "week"),
        ("2024-01", "2025-01", "year"),
        ("2023-01-02", "2024-01-01", "year"),  # of 52 weeks
        ("2024-01-01", "2024-01-31", None),
        ("2024-01-01T00", "2024-01-01T12", None),
    ],
)
def test_spans_are_taken_for_the_cycle_that_is_as_long(start: str, end: str, cycle: str | None) -> None:
    assert cycle_between(np.datetime64(start), np.datetime64(end)) == cycle
