"""The calendar as features: the hour of the day, the day of the week, the time of the year, public holidays."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from adabypass.data.cells import Array
from adabypass.data.holidays import PREFIX, is_holiday
from adabypass.errors import NotANumberError, NotFiniteError, UnknownNameError
from adabypass.validation import Floats

UNITS: dict[str, Any] = {"hour": "h", "day": "D", "week": "W", "month": "M", "year": "Y"}


def calendar_features(time: Array, periods: Sequence[str] = ("day", "week", "year")) -> tuple[Floats, list[str]]:
    """Compute where in the day, the week, the year each time is: a sine and a cosine for every period.

    Holidays are one column, which is 1 on each of them.

    Parameters
    ----------
    time : array (n,) of datetime64
    periods : of "hour", "day", "week" (from Monday), "month" and "year"; or "holidays:DE", of any country or part of it

    Returns
    -------
    array (n, n_columns), and its columns' names
        As features, they let a model learn what recurs.

    Examples
    --------
    >>> features, names = calendar_features(np.array(["2014-01-06T06:00"], "M8[m]"), ["day"])
    >>> names, features.round(6).tolist()
    (['day_sin', 'day_cos'], [[1.0, 0.0]])
    """
    time = np.asarray(time)
    if time.dtype.kind != "M":
        raise NotANumberError(f"time is of type {time.dtype}, but a calendar needs dates: pass datetime64.")
    if np.isnat(time).any():
        raise NotFiniteError(f"time[{int(np.flatnonzero(np.isnat(time))[0])}] is NaT, but every time must be known.")
    periods = [periods] if isinstance(periods, str) else list(periods)
    columns: list[Floats] = []
    names: list[str] = []
    for period in periods:
        if isinstance(period, str) and period.startswith(PREFIX):
            columns.append(is_holiday(time, period.removeprefix(PREFIX)))
            names.append(period)
        else:
            turn = 2 * np.pi * _part_passed(time, period)
            columns += [np.sin(turn), np.cos(turn)]
            names += [f"{period}_sin", f"{period}_cos"]
    return np.column_stack(columns) if columns else np.empty((len(time), 0)), names


def _part_passed(time: Array, period: str) -> Floats:
    """Compute which part of the period has passed: 0 at its start, below 1 at its end."""
    if period not in UNITS:
        near = get_close_matches(str(period), UNITS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the periods are {', '.join(UNITS)}, and holidays:DE, say."
        raise UnknownNameError(f"there is no period {period!r}; {hint}")
    fine = np.promote_types(time.dtype, "M8[s]")
    # NumPy's weeks begin on the weekday of 1970-01-01, a Thursday: three days later, they begin on Mondays.
    moment = time.astype(fine) + np.timedelta64(3 if period == "week" else 0, "D")
    start = moment.astype(f"M8[{UNITS[period]}]")
    end = start + np.timedelta64(1, UNITS[period])
    part: Floats = (moment - start.astype(fine)) / (end.astype(fine) - start.astype(fine))
    return part
