"""Rulers to lay along time: marks at one distance, or on one day of every month."""

import re
from contextlib import suppress
from datetime import timedelta
from math import isfinite
from numbers import Real
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from adabypass.errors import IrregularTimeError
from adabypass.tables.cells import Array
from adabypass.validation import Floats

Step: TypeAlias = float | str | timedelta | np.timedelta64
LAST_DAY = 31
FEWEST_WORKDAYS = 10
"""Of a series of fewer days, chance may have left out the weekends."""

_UNITS: dict[str, tuple[int, Any]] = {
    "s": (1, "s"), "sec": (1, "s"), "second": (1, "s"), "m": (1, "m"), "min": (1, "m"), "minute": (1, "m"),
    "h": (1, "h"), "hour": (1, "h"), "d": (1, "D"), "day": (1, "D"), "w": (1, "W"), "week": (1, "W"),
    "month": (1, "M"), "quarter": (3, "M"), "year": (12, "M"),
}  # fmt: skip
_WORDS: dict[Any, str] = {"s": "second", "m": "minute", "h": "hour", "D": "day", "W": "week", "M": "month", "Y": "year"}


class Even(NamedTuple):
    """Marks at one distance: `start`, and `steps` steps from there to `start + span`."""

    start: Any
    span: Any
    steps: int = 1

    def places(self, time: Array) -> Floats:
        """Tell between which marks times lie, as fractional numbers of marks."""
        places: Floats = (time - self.start) / self.span * self.steps
        return places

    def marks(self, number: "np.ndarray[Any, np.dtype[np.int64]]") -> Array:
        """Give the times of the marks with these numbers."""
        if isinstance(self.span, float | np.floating):
            floats: Array = self.start + number * self.span / self.steps
            return floats
        # In whole units, and in two parts, since span times number may overflow.
        size, unit = _in_units(self.span)
        whole, rest = divmod(size, self.steps)
        times: Array = self.start + (number * whole + np.rint(number * rest / self.steps).astype(np.int64)) * unit
        return times

    def stretched_over(self, time: Array) -> Self:
        """Give the frequency whose steps, as many as there are between the times, fill their span."""
        many = int(np.maximum(np.rint(np.diff(time) / (self.span / self.steps)), 1).sum())
        return type(self)(self.start, time[-1] - time[0], many)

    def __str__(self) -> str:
        return step_in_words(self.span / self.steps)


class Months(NamedTuple):
    """Marks every `step` months, on one day of the month at one time of the day."""

    start: np.datetime64
    """The first month."""
    step: int
    day: int
    """The last of the month, if it is shorter."""
    since_midnight: np.timedelta64
    dtype: "np.dtype[Any]"

    @classmethod
    def of(cls, time: Array) -> "Months | None":
        """Find the frequency on which dates lie that are whole months apart; None if they are not."""
        month = time.astype("M8[M]")
        apart = np.diff(month).astype(np.int64)
        if (apart < 1).any():
            return None
        step = int(most_common(apart)) if len(apart) else 1
        unit = np.datetime_data(time.dtype)[0]
        if unit in "YM":
            return cls(month[0], step, 1, np.timedelta64(0, "D"), time.dtype)
        date = time.astype("M8[D]")
        since_midnight = time - date
        day = (date - month.astype("M8[D]")).astype(np.int64) + 1
        last = _length(month)
        the_day = LAST_DAY if (day == last).all() else int(day.max())
        if (since_midnight != since_midnight[0]).any() or (day != np.minimum(the_day, last)).any():
            return None
        return cls(month[0], step, the_day, since_midnight[0], time.dtype)

    def places(self, time: Array) -> Floats:
        """Tell between which marks the months of times lie, as fractional numbers of marks."""
        places: Floats = (time.astype("M8[M]") - self.start).astype(np.int64) / self.step
        return places

    def marks(self, number: "np.ndarray[Any, np.dtype[np.int64]]") -> Array:
        """Give the times of the marks with these numbers."""
        month = self.start + (number * self.step).astype("m8[M]")
        if np.datetime_data(self.dtype)[0] in "YM":
            # Months of a year cannot be told in years.
            return month.astype(self.dtype if self.step % 12 == 0 else "M8[M]")
        date = month.astype("M8[D]") + (np.minimum(self.day, _length(month)) - 1).astype("m8[D]")
        times: Array = (date + self.since_midnight).astype(self.dtype)
        return times

    def __str__(self) -> str:
        return step_in_words(np.timedelta64(self.step, "M"))


class Workdays(NamedTuple):
    """Marks on every day from Monday to Friday: holidays among them are gaps, weekends are not."""

    start: np.datetime64
    dtype: "np.dtype[Any]"

    @classmethod
    def of(cls, time: Array) -> "Workdays | None":
        """Find the frequency of dates that leave out every weekend, and little else; None if they do not."""
        date = time.astype("M8[D]")
        if len(date) < FEWEST_WORKDAYS or (time != date).any() or not np.is_busday(date).all():
            return None
        days = int(np.busday_count(date[0], date[-1])) + 1
        return cls(date[0], time.dtype) if len(date) > 0.5 * days else None

    def places(self, time: Array) -> Floats:
        """Tell how many workdays times lie after the first."""
        return np.busday_count(self.start, time.astype("M8[D]")).astype(np.float64)

    def marks(self, number: "np.ndarray[Any, np.dtype[np.int64]]") -> Array:
        """Give the times of the marks with these numbers."""
        return np.busday_offset(self.start, number).astype(self.dtype)

    def __str__(self) -> str:
        return "1 workday"


Frequency: TypeAlias = Even | Months | Workdays


def as_step(step: Step, dates: bool) -> Any:
    """Check a step: a timedelta64 for dates, a number otherwise."""
    found: Any = _in_time(step) if dates else _in_numbers(step)
    if not found > type(found)(0):
        raise IrregularTimeError(f"step is {step!r}, but must be greater than 0.")
    return found


def most_common(differences: Array) -> Any:
    """Give the most common difference; the smallest of those that are equally common."""
    rounded = differences
    if differences.dtype.kind == "f":
        # Differences of decimal fractions differ in their last digits.
        rounded = np.round(differences / differences.min(), 3)
    _, first, count = np.unique(rounded, return_index=True, return_counts=True)
    return differences[first[np.argmax(count)]]


def step_in_words(step: Any) -> str:
    """Write a step as a person would say it: "10 minutes", "1 month", "0.25"."""
    if not isinstance(step, np.timedelta64):
        return f"{step:.6g}"
    for unit in reversed(_WORDS):
        months = np.datetime_data(step.dtype)[0] in "YM"
        if (unit in "YM") == months and step % np.timedelta64(1, unit) == np.timedelta64(0, unit):
            many = int(step / np.timedelta64(1, unit))
            return f"{many} {_WORDS[unit]}{'s' * (many != 1)}"
    return f"{step / np.timedelta64(1, 's'):.9g} seconds"


def _in_numbers(step: Step) -> int | float:
    number: Any = step
    with suppress(ValueError):
        number = float(step) if isinstance(step, str) else step
    if isinstance(number, bool) or not isinstance(number, Real) or not isfinite(number):
        raise IrregularTimeError(f"step is {step!r}, but the times are numbers; give a number.")
    size = float(number)
    return int(size) if size.is_integer() else size


def _in_time(step: Step) -> np.timedelta64:
    if isinstance(step, timedelta):
        return np.timedelta64(step)
    if isinstance(step, np.timedelta64) and np.datetime_data(step.dtype)[0] != "generic" and not np.isnat(step):
        return step
    found = re.fullmatch(r"\s*(\d*)\s*([a-z]+?)s?\s*", step.lower()) if isinstance(step, str) else None
    if found is None or found[2] not in _UNITS:
        raise IrregularTimeError(
            f'step is {step!r}, but the times are dates; give a timedelta, or text such as "10 minutes", "hour", '
            '"day", "week", "month", "quarter" or "year".'
        )
    times, unit = _UNITS[found[2]]
    return np.timedelta64(times * int(found[1] or 1), unit)


def _in_units(span: Any) -> tuple[int, Any]:
    """Tell a span as a whole number of its unit, exactly, and that unit."""
    if not isinstance(span, np.timedelta64):
        return int(span), 1
    unit: Any
    unit, many = np.datetime_data(span.dtype)
    return int(span.astype(np.int64)) * many, np.timedelta64(1, unit)


def _length(month: Array) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Tell how many days each month has."""
    days: Array = (month + np.timedelta64(1, "M")).astype("M8[D]") - month.astype("M8[D]")
    return days.astype(np.int64)
