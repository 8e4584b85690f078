"""Where in a day, a week or a year times are, in words: 14:00, Monday, May."""

from collections.abc import Callable
from typing import Any

import numpy as np

from adabypass.data.cells import Array
from adabypass.validation import Integers

SECONDS = {"hour": 3600.0, "day": 86_400.0, "week": 604_800.0, "month": 30.4375 * 86_400.0, "year": 365.25 * 86_400.0}
"""Length of each cycle."""
TOLERANCE = 0.012
"""Relative difference up to which a span is taken for a cycle: years have 365 or 366 days, weeks of summer time an hour
less."""
UNIT_TOLERANCE = 0.09
"""The same for a unit of time: months have 28 to 31 days."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
MAX_TIMES_OF_DAY = 48
"""Times of a day up to which each has a name of its own; of more, hours do."""


def cycle_between(start: Any, end: Any) -> str | None:
    """Return the cycle that is as long as the span between two dates: "day", "week" or "year"; None if none is.

    Examples
    --------
    >>> cycle_between(np.datetime64("2024-01-01"), np.datetime64("2024-01-08"))
    'week'
    """
    seconds = float((end.astype("M8[s]") - start.astype("M8[s]")) / np.timedelta64(1, "s"))
    for name in ("day", "week", "year"):
        if abs(seconds / SECONDS[name] - 1.0) <= TOLERANCE:
            return name
    return None


def unit_between(start: Any, end: Any) -> str | None:
    """Return the unit of time that is as long as the span between two dates, "hour", say; None if none is.

    Examples
    --------
    >>> unit_between(np.datetime64("2024-02-01"), np.datetime64("2024-03-01"))
    'month'
    """
    seconds = float((end.astype("M8[s]") - start.astype("M8[s]")) / np.timedelta64(1, "s"))
    units = {"second": 1.0, "minute": 60.0} | SECONDS
    return next((name for name, length in units.items() if abs(seconds / length - 1.0) <= UNIT_TOLERANCE), None)


def positions_in(time: Array, cycle: str) -> tuple[Integers, list[str]]:
    """Return the position of each time in a cycle, as an index of names, and the names, in the order of the cycle.

    Parameters
    ----------
    time : array (n,) of datetime64
    cycle : "hour", "day", "week", "month" or "year"

    Examples
    --------
    >>> index, names = positions_in(np.array(["2024-05-07", "2024-05-06", "2024-05-14"], "M8[D]"), "week")
    >>> index.tolist(), names
    ([1, 0, 1], ['Monday', 'Tuesday'])
    """
    place, name = _IN[cycle](np.asarray(time))
    values, index = np.unique(place, return_inverse=True)
    return index.astype(np.intp), [name(int(value)) for value in values]


def _in_hour(time: Array) -> tuple[Array, Callable[[int], str]]:
    return (time.astype("M8[m]") - time.astype("M8[h]")).astype(np.int64), lambda minute: f"minute {minute}"


def _in_day(time: Array) -> tuple[Array, Callable[[int], str]]:
    minutes = (time.astype("M8[m]") - time.astype("M8[D]")).astype(np.int64)
    if len(np.unique(minutes)) > MAX_TIMES_OF_DAY:
        minutes = minutes // 60 * 60
    return minutes, lambda minute: f"{minute // 60:02d}:{minute % 60:02d}"


def _in_week(time: Array) -> tuple[Array, Callable[[int], str]]:
    days = time.astype("M8[D]").astype(np.int64)
    return (days + 3) % 7, lambda day: WEEKDAYS[day]  # 1970-01-01 was a Thursday


def _in_month(time: Array) -> tuple[Array, Callable[[int], str]]:
    return (time.astype("M8[D]") - time.astype("M8[M]")).astype(np.int64), lambda day: f"day {day + 1}"


def _in_year(time: Array) -> tuple[Array, Callable[[int], str]]:
    return time.astype("M8[M]").astype(np.int64) % 12, lambda month: MONTHS[month]


_IN: dict[str, Callable[[Array], tuple[Array, Callable[[int], str]]]] = {
    "hour": _in_hour, "day": _in_day, "week": _in_week, "month": _in_month, "year": _in_year,
}  # fmt: skip
