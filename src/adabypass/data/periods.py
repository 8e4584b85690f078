"""The periods that a series of some frequency may have: a day, a week, a year."""

from collections.abc import Sequence

import numpy as np

from adabypass.data.cells import Array
from adabypass.data.cycles import SECONDS
from adabypass.data.frequencies import (
    Frequency,
    LocalFrequency,
    MonthlyFrequency,
    RegularFrequency,
    WorkdayFrequency,
)
from adabypass.data.grid import regular_grid
from adabypass.errors import AdabypassError

DAY, WEEK, DAYS_A_YEAR = SECONDS["day"], SECONDS["week"], SECONDS["year"] / SECONDS["day"]
WORKDAYS = 5
MIN_PERIOD, MAX_PERIOD = 2, 400
"""Periods, in steps, that are taken."""


def periods_of(frequency: Frequency | None) -> tuple[float, ...] | None:
    """Return the periods of a series with such a time between observations, in steps; None of numbers.

    Examples
    --------
    >>> from adabypass.data import regular_grid
    >>> days = np.arange("2024-01-01", "2024-03-01", dtype="M8[D]")
    >>> periods_of(regular_grid(days).frequency)
    (7, 365.25)
    """
    if isinstance(frequency, LocalFrequency):
        frequency = frequency.local
    if isinstance(frequency, WorkdayFrequency):
        return (WORKDAYS,)
    if isinstance(frequency, MonthlyFrequency):
        return _whole([12 / frequency.step])
    if isinstance(frequency, RegularFrequency) and isinstance(frequency.span, np.timedelta64):
        seconds = round(float(frequency.span / np.timedelta64(1, "s")) / frequency.steps, 6)
        named = {WEEK: (52,), DAY: (7, DAYS_A_YEAR)}
        return named.get(seconds) or _whole([DAY / seconds, WEEK / seconds])
    return None


def cycle_periods(frequency: Frequency | None, cycles: Sequence[str]) -> tuple[float, ...]:
    """Return how many steps cycles of the calendar take: "day", "year"; those of less than two are left out.

    Examples
    --------
    >>> from adabypass.data import regular_grid
    >>> days = np.arange("2024-01-01", "2024-03-01", dtype="M8[D]")
    >>> cycle_periods(regular_grid(days).frequency, ["day", "year"])
    (365.25,)
    """
    if isinstance(frequency, LocalFrequency):
        frequency = frequency.local
    if isinstance(frequency, MonthlyFrequency):
        step = SECONDS["month"] * frequency.step
    elif isinstance(frequency, WorkdayFrequency):
        step = WEEK / WORKDAYS
    elif isinstance(frequency, RegularFrequency) and isinstance(frequency.span, np.timedelta64):
        step = float(frequency.span / np.timedelta64(1, "s")) / frequency.steps
    else:
        return ()
    found = (round(SECONDS[each] / step, 6) for each in cycles)
    return tuple(int(each) if each == int(each) else each for each in found if each >= MIN_PERIOD)


def periods_in(time: Array) -> tuple[float, ...] | None:
    """Return the periods that a column of dates suggests, in steps; None of numbers, and of times that are irregular.

    Examples
    --------
    >>> periods_in(np.arange("2024-01", "2026-01", dtype="M8[M]"))
    (12,)
    """
    try:
        return periods_of(regular_grid(time).frequency)
    except AdabypassError:
        return None


def season_of(frequency: Frequency | None) -> int | None:
    """Return the shortest period of a series that is a whole number of steps; None if the times tell none.

    Examples
    --------
    >>> from adabypass.data import regular_grid
    >>> hours = np.arange("2024-01-01", "2024-01-04", dtype="M8[h]")
    >>> season_of(regular_grid(hours).frequency)
    24
    """
    return whole_season(periods_of(frequency))


def whole_season(periods: Sequence[float] | None) -> int | None:
    """Return the shortest of ascending periods that is a whole number of steps; None if there is none."""
    return next((int(period) for period in periods or () if period == int(period)), None)


def _whole(periods: list[float]) -> tuple[float, ...]:
    """Return the periods that are whole numbers of steps, neither too short nor too long."""
    return tuple(int(each) for each in periods if MIN_PERIOD <= each <= MAX_PERIOD and each == int(each))
