"""Frequencies: times at one distance, on one day of every month, or on workdays; each also in local time."""

from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from adabypass.data.cells import Array
from adabypass.data.freq import in_words, most_common
from adabypass.data.zones import Zone
from adabypass.errors import TimeRangeError
from adabypass.validation import Floats

LAST_DAY = 31
MIN_WORKDAYS = 10
"""In a series of fewer days, the weekends may be absent by chance."""
LAST_TIME = np.datetime64("9999-12-31", "D")
AFTER_LAST_YEAR = "times follow that are after the year 9999; forecast fewer steps, or use plain numbers as times."
_FIRST_NS, _LAST_NS = np.datetime64("1677-09-22", "D"), np.datetime64("2262-04-10", "D")
_DAY = np.timedelta64(1, "D")

Integers = np.ndarray[Any, np.dtype[np.int64]]


class Frequency(Protocol):
    """Times that follow each other regularly, numbered from 0 at the first observation."""

    def positions(self, time: Array) -> Floats:
        """Return the positions of times, as fractional numbers."""

    def times(self, position: Integers) -> Array:
        """Return the times at these positions."""

    @property
    def is_calendar(self) -> bool:
        """Whether it counts days or months, which a zone's clock changes make longer or shorter."""


class RegularFrequency(NamedTuple):
    """Times at one distance: `steps` of them from `start` to `start + span`."""

    start: Any
    span: Any
    steps: int = 1

    def positions(self, time: Array) -> Floats:
        """Return the positions of times, as fractional numbers."""
        positions: Floats = (time - self.start) / self.span * self.steps
        return positions

    def times(self, position: Integers) -> Array:
        """Return the times at these positions."""
        if isinstance(self.span, float | np.floating) or isinstance(self.start, float | np.floating):
            with np.errstate(over="ignore"):
                floats: Array = self.start + position * self.span / self.steps
            if not np.isfinite(floats).all():
                raise TimeRangeError("times follow that are larger than the largest number; give a shorter freq.")
            return floats
        # In whole units, and in two parts, since span times position may overflow.
        size, unit = _in_units(self.span)
        whole, rest = divmod(size, self.steps)
        coarser = self._in_coarser_unit(-(-int(position.max(initial=0)) * size // self.steps))
        if coarser is not None:
            return coarser.times(position)
        times: Array = self.start + (position * whole + np.rint(position * rest / self.steps).astype(np.int64)) * unit
        return times

    def stretched_over(self, time: Array) -> Self:
        """Return the frequency whose steps, as many as there are between the times, fill their span."""
        many = int(np.maximum(np.rint(np.diff(time) / (self.span / self.steps)), 1).sum())
        return type(self)(self.start, time[-1] - time[0], many)

    @property
    def is_calendar(self) -> bool:
        """Whether it counts whole days."""
        if not isinstance(self.span, np.timedelta64):
            return False
        size, unit = _in_units(self.span)
        return size % self.steps == 0 and bool((size // self.steps) * unit % _DAY == np.timedelta64(0, "D"))

    def __str__(self) -> str:
        return in_words(self.span / self.steps)

    def _in_coarser_unit(self, farthest: int) -> "RegularFrequency | None":
        """Return the same frequency in microseconds if nanoseconds do not reach; None if its own unit reaches.

        Parameters
        ----------
        farthest : int
            An upper bound of the distance from `start`, in the unit of `span`.
        """
        if not isinstance(self.start, np.datetime64):
            if int(self.start) + farthest >= 2**63:
                raise TimeRangeError(
                    f"times follow that are larger than the largest integer, {2**63 - 1}; subtract a number from "
                    "all times."
                )
            return None
        unit, _ = np.datetime_data(self.start.dtype)
        days = farthest * float(_in_units(self.span)[1] / _DAY)
        last_day = float(self.start.astype("M8[D]").astype(np.int64)) + days
        if last_day > float(LAST_TIME.astype(np.int64)):
            raise TimeRangeError(AFTER_LAST_YEAR)
        if unit != "ns" or last_day < float(_LAST_NS.astype(np.int64)):
            return None
        coarse = RegularFrequency(self.start.astype("M8[us]"), self.span.astype("m8[us]"), self.steps)
        if coarse.start != self.start or coarse.span != self.span:
            raise TimeRangeError("nanoseconds end in the year 2262; round the times to microseconds.")
        return coarse


class MonthlyFrequency(NamedTuple):
    """Times every `step` months, on one day of the month at one time of the day."""

    start: np.datetime64
    """The first month."""
    step: int
    day: int
    """The last of the month, if it is shorter."""
    since_midnight: np.timedelta64
    dtype: "np.dtype[Any]"

    @classmethod
    def of(cls, time: Array) -> "MonthlyFrequency | None":
        """Return the frequency of dates that are whole months apart; None if they are not."""
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

    def positions(self, time: Array) -> Floats:
        """Return the positions of the months of times, as fractional numbers."""
        positions: Floats = (time.astype("M8[M]") - self.start).astype(np.int64) / self.step
        return positions

    def times(self, position: Integers) -> Array:
        """Return the times at these positions."""
        month = self.start + (position * self.step).astype("m8[M]")
        if (month > LAST_TIME).any():
            raise TimeRangeError(AFTER_LAST_YEAR)
        if np.datetime_data(self.dtype)[0] in "YM":
            # Months of a year cannot be written in years.
            dates: Array = month.astype(self.dtype if self.step % 12 == 0 else "M8[M]")
            return dates
        date = month.astype("M8[D]") + (np.minimum(self.day, _length(month)) - 1).astype("m8[D]")
        return _at_time_of_day(date, self.since_midnight, self.dtype)

    @property
    def is_calendar(self) -> bool:
        """Months are of the calendar."""
        return True

    def __str__(self) -> str:
        return in_words(np.timedelta64(self.step, "M"))


class WorkdayFrequency(NamedTuple):
    """Times on every day from Monday to Friday: holidays among them are gaps, weekends are not."""

    start: np.datetime64
    dtype: "np.dtype[Any]"

    @classmethod
    def of(cls, time: Array) -> "WorkdayFrequency | None":
        """Return the frequency of dates that leave out every weekend, and little else; None if they do not."""
        date = time.astype("M8[D]")
        if len(date) < MIN_WORKDAYS or (time != date).any() or not np.is_busday(date).all():
            return None
        days = int(np.busday_count(date[0], date[-1])) + 1
        return cls(date[0], time.dtype) if len(date) > 0.5 * days else None

    def positions(self, time: Array) -> Floats:
        """Return how many workdays times are after the first."""
        return np.busday_count(self.start, time.astype("M8[D]")).astype(np.float64)

    def times(self, position: Integers) -> Array:
        """Return the times at these positions."""
        date: Array = np.busday_offset(self.start, position)
        if (date > LAST_TIME).any():
            raise TimeRangeError(AFTER_LAST_YEAR)
        return _at_time_of_day(date, np.timedelta64(0, "D"), self.dtype)

    @property
    def is_calendar(self) -> bool:
        """Workdays are of the calendar."""
        return True

    def __str__(self) -> str:
        return "1 workday"


class LocalFrequency(NamedTuple):
    """A frequency in the local time of a zone, for times in UTC."""

    local: RegularFrequency | MonthlyFrequency | WorkdayFrequency
    zone: Zone

    def positions(self, time: Array) -> Floats:
        """Return the positions of times, as fractional numbers."""
        return self.local.positions(self.zone.to_local(time))

    def times(self, position: Integers) -> Array:
        """Return the times at these positions."""
        return self.zone.to_utc(self.local.times(position))

    @property
    def is_calendar(self) -> bool:
        """Whether it counts days or months."""
        return self.local.is_calendar

    def __str__(self) -> str:
        return str(self.local)


def _at_time_of_day(date: Array, since_midnight: Any, dtype: Any) -> Array:
    """Return dates at a time of the day; in microseconds where nanoseconds do not reach."""
    if np.datetime_data(dtype)[0] == "ns" and ((date < _FIRST_NS) | (date > _LAST_NS)).any():
        if since_midnight != since_midnight.astype("m8[us]"):
            raise TimeRangeError("nanoseconds end in the year 2262; round the times to microseconds.")
        dtype, since_midnight = np.dtype("M8[us]"), since_midnight.astype("m8[us]")
    times: Array = (date + since_midnight).astype(dtype)
    return times


def _in_units(span: Any) -> tuple[int, Any]:
    """Return a span as a whole number of its unit, and that unit."""
    if not isinstance(span, np.timedelta64):
        return int(span), 1
    unit: Any
    unit, many = np.datetime_data(span.dtype)
    return int(span.astype(np.int64)) * many, np.timedelta64(1, unit)


def _length(month: Array) -> Integers:
    """Return how many days each month has."""
    days: Array = (month + np.timedelta64(1, "M")).astype("M8[D]") - month.astype("M8[D]")
    return days.astype(np.int64)
