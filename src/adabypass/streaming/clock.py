"""The rules of time of a stream: which times are believed, how long rows are held back, how many steps a gap has."""

from calendar import monthrange
from collections import deque
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from adabypass.data.freq import as_freq, in_words
from adabypass.errors import IrregularTimeError, ParameterError
from adabypass.validation import shown

Time: TypeAlias = float | datetime
"""A time that can be compared: a finite number, or a date and time in UTC without its zone."""
N_WITNESSES = 10
"""Rows, one after another, that must agree on a time that is far ahead before it is believed."""
N_RIVALS = 2
"""The same while nothing but the first row of a stream speaks against it."""
N_ALONE = 1000
"""Rows of the leading series, without one of another in between, after which its time is that of the stream."""
SEASONS = 10_080
"""Minutes of a week: a multiple of 7, 12, 24, 96, 144, 168, 288, 1440 and 2016, so of most seasons."""
MAX_GAP_STEPS = 2 * SEASONS
"""Steps of a gap that pass as missing values; of a longer one, whole multiples of SEASONS are left out."""
MAX_HELD = 1_000_000
"""Rows that a window holds back at most."""
_DAYS_OF_A_MONTH = 31


class Span:
    """A span of time as a user gives it, for times that are numbers or dates.

    Parameters
    ----------
    value : number, timedelta or text
        Text is a number, or such as "10 minutes".
    name : str
        What errors call it.
    is_fixed : bool
        Whether months are refused, whose lengths differ.
    """

    def __init__(self, value: Any, name: str, *, is_fixed: bool = False) -> None:
        self.text = _as_text(value)
        self._name = name
        self._sizes: dict[bool, Any] = {}
        for dates in (False, True):
            try:
                found = as_freq(value, dates)
            except IrregularTimeError:
                continue
            self._sizes[dates] = _plain(found) if dates else found
        if not self._sizes:
            raise ParameterError(
                f'{name} is {value!r}, which is not a span of time; write one such as "90 seconds", "10 minutes" or '
                '"1 day", or a number above 0 if times are numbers.'
            )
        if is_fixed and isinstance(self._sizes.get(True), int):
            raise ParameterError(f"{name} is {self.text}, which has no fixed length; give it in days or weeks.")

    def of(self, time: Time) -> Any:
        """Return the span in the unit of a time: a number, a timedelta, or whole months as an int for dates."""
        is_date = isinstance(time, datetime)
        if is_date not in self._sizes:
            raise ParameterError(
                f"{self._name} is {self.text}, but times are "
                + ('dates; write a span such as "10 minutes".' if is_date else "numbers; write a number.")
            )
        return self._sizes[is_date]

    def __str__(self) -> str:
        return f"{self._name} {self.text}"


def _as_text(value: Any) -> str:
    """Return a span as text that is read as the same span."""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.12g} seconds"
    if isinstance(value, np.timedelta64) and not np.isnat(value) and np.datetime_data(value.dtype)[0] != "generic":
        return in_words(value)
    return value if isinstance(value, str) else shown(value)


def _plain(span: Any) -> timedelta | int:
    """Return a timedelta64 as a timedelta, or as a number of months."""
    months = np.datetime_data(span.dtype)[0] == "M"
    return int(span.astype(np.int64)) * np.datetime_data(span.dtype)[1] if months else span.astype("m8[us]").item()


class Steps:
    """How many steps pass between two rows of a series.

    Parameters
    ----------
    freq : Span
        Time between two rows.
    period : int, optional
        Steps of a season, which a long gap must not shift.
    """

    def __init__(self, freq: Span, period: int | None = None) -> None:
        self._freq = freq
        self._cycle = SEASONS - SEASONS % period if period and period <= SEASONS else SEASONS

    def between(self, last: Time, time: Time) -> int:
        """Return how many steps lie between two rows, none of which has a row; -1 if both are in one step."""
        step = self._freq.of(time)
        if isinstance(time, datetime) and isinstance(step, int):
            assert isinstance(last, datetime)
            months = 12 * (time.year - last.year) + time.month - last.month
            exact: float = (months + (time.day - last.day) / _DAYS_OF_A_MONTH) / step
        else:
            exact = (time - last) / step  # type: ignore[operator]
        n = round(min(exact, 1e15)) - 1
        return n if n < MAX_GAP_STEPS else self._cycle + n % self._cycle

    def after(self, last: Time, n: int) -> Time:
        """Return the time `n` steps after another one; in a shorter month, that of its last day."""
        step = self._freq.of(last)
        if not (isinstance(last, datetime) and isinstance(step, int)):
            return last + n * step  # type: ignore[no-any-return]
        years, month = divmod(last.month - 1 + n * step, 12)
        year = last.year + years
        return last.replace(year=year, month=month + 1, day=min(last.day, monthrange(year, month + 1)[1]))

    @property
    def text(self) -> str:
        """The span of a step as text."""
        return self._freq.text

    def describe(self, last: str) -> str:
        """Return what is wrong with a row that is in the same step as the one before it, at a time as JSON."""
        return f"is less than half of {self._freq} after {last}, the time of the row before it"


class StreamTime:
    """What time it is in a stream: the newest time that two of its series have reached.

    One wrong clock does not move it. A stream of which only one series is left has the time of that one, when that has
    had `N_ALONE` rows without one of another series in between.
    """

    def __init__(self) -> None:
        self._first: tuple[Time, str, str] | None = None
        self._second: tuple[Time, str, str] | None = None
        """The series with the newest times: the time of its newest row, the same as JSON, and its key."""
        self._n_alone = 0

    @property
    def now(self) -> Time | None:
        """That time; None as long as there is none."""
        found = self._first if self._n_alone >= N_ALONE else self._second
        return None if found is None else found[0]

    def note(self, time: Time, cell: str, key: str) -> None:
        """Note the time of a row, the same as JSON, and the key of its series."""
        found, first, second = (time, cell, key), self._first, self._second
        if first is None or key == first[2]:
            self._first = found
            self._n_alone += 1
        elif time > first[0]:  # type: ignore[operator]
            self._first, self._second, self._n_alone = found, first, 1
        else:
            self._n_alone = 0
            if second is None or key == second[2] or time > second[0]:  # type: ignore[operator]
                self._second = found
        first, second = self._first, self._second
        if first is not None and second is not None and second[0] > first[0]:  # type: ignore[operator]
            self._first, self._second, self._n_alone = second, first, 0

    def describe(self) -> list[Any]:
        """Return all of it as JSON has it."""
        return [*(each and list(each[1:]) for each in (self._first, self._second)), self._n_alone]

    def restore(self, leaders: list[tuple[Time, str, str] | None], n_alone: int) -> None:
        """Go on from what was described: the two series, and the number."""
        (self._first, self._second), self._n_alone = leaders, n_alone


class JumpGuard:
    """Refuses times far ahead of all others: one wrong clock must not make all later rows of a series late.

    A time is far ahead if it is more than a span after the newest of the stream and of its own series. It is believed
    when `N_WITNESSES` rows in succession agree on it: then the clock of the world has gone on, as after an outage.

    The first row of a new stream has nothing to be compared with, and is believed for the time being. If two later rows
    agree on another time before any agrees with the first, the first is taken to be `wrong`.

    Parameters
    ----------
    span : Span
    """

    def __init__(self, span: Span) -> None:
        self._span = span
        self.newest: Any = None
        """The newest time that was believed."""
        self.is_confirmed = False
        """Whether a second row agreed with the first one."""
        self._rival: Any = None
        self._witness: Any = None
        self._n_witnesses = 0

    def restore(self, newest: Time | None, *, is_confirmed: bool) -> None:
        """Go on from what a stream has kept."""
        self.newest, self.is_confirmed = newest, is_confirmed and newest is not None

    def check_unit(self, time: Time) -> None:
        """Refuse a time that is a number if the span is one of dates, and the other way round."""
        self._span.of(time)

    def is_wrong(self, time: Time) -> bool:
        """Return whether a time that a series has is far ahead of all that is believed."""
        return self.is_confirmed and self._is_after(time, self.newest)

    def _is_after(self, time: Any, other: Any) -> bool:
        return bool(time - other > self._span.of(time))

    def refusal(self, time: Time, last: Time | None) -> str:
        """Return what is wrong with a time, "" if it is believed.

        Parameters
        ----------
        time
        last
            The newest time of its series; None of a new series.
        """
        if last is not None and not self.is_wrong(last) and (self.newest is None or last > self.newest):
            self.newest = last
        if self.newest is not None and self._is_after(time, self.newest):
            agrees = self._n_witnesses > 0 and abs(time - self._witness) <= self._span.of(time)
            self._witness, self._n_witnesses = time, self._n_witnesses + 1 if agrees else 1
            if self._n_witnesses < (N_WITNESSES if self.is_confirmed else N_RIVALS):
                return f"is more than {self._span} after {self.newest}, the newest time so far"
            self.is_confirmed = True
        self.note(time)
        return ""

    def note(self, time: Time) -> None:
        """Note a time that is believed."""
        self._n_witnesses = 0
        if self.newest is None:
            self.newest = time
        elif self.is_confirmed or not self._is_after(self.newest, time):
            self.is_confirmed, self.newest = True, max(self.newest, time)
        elif self._rival is not None and abs(time - self._rival) <= self._span.of(time):
            self.is_confirmed, self.newest = True, max(time, self._rival)
        else:
            self._rival = time


Held = TypeVar("Held")


class ReorderWindow(Generic[Held]):
    """Rows that are held back until those that come a little late are sorted in.

    A row is released, after all earlier ones of its series, when its series is a span ahead of it, or when the newest
    time of the stream has gone on by a span since it came: a series that has ended keeps nothing back, and one that
    comes later than all others is sorted as well.

    Parameters
    ----------
    span : Span

    Attributes
    ----------
    newest : number, datetime or None
        The newest time of the stream.
    """

    def __init__(self, span: Span) -> None:
        self._span = span
        self.newest: Any = None
        self._n_seen = self._n_held = 0
        self._series: dict[str, list[tuple[Any, int, Held]]] = {}
        self._newest: dict[str, Any] = {}
        self._arrived: deque[tuple[Any, str, Any]] = deque()

    def __len__(self) -> int:
        return self._n_held

    def take(self, key: str, time: Time, row: Held) -> list[Held]:
        """Take a row of a series; return the rows that need wait no longer, those of a series in order of time."""
        self.newest = time if self.newest is None else max(self.newest, time)
        self._newest[key] = max(time, self._newest.get(key, time))
        self._n_seen += 1
        self._n_held += 1
        heappush(self._series.setdefault(key, []), (time, self._n_seen, row))
        self._arrived.append((self.newest, key, time))
        span, released = self._span.of(time), self._release(key, self._span.of(time), None)
        while self.newest - self._arrived[0][0] >= span or self._n_held > MAX_HELD:
            _, key, last = self._arrived.popleft()
            released += self._release(key, span, last)
        return released

    def _release(self, key: str, span: Any, last: Any) -> list[Held]:
        """Return the rows of a series up to a time; if that is None, those that are a span before its newest."""
        heap, newest, released = self._series.get(key, []), self._newest.get(key), []
        while heap and (newest - heap[0][0] >= span if last is None else heap[0][0] <= last):
            released.append(heappop(heap)[2])
        self._n_held -= len(released)
        if not heap:
            self._series.pop(key, None)
            self._newest.pop(key, None)
        return released

    def release_all(self) -> list[Held]:
        """Return all rows, in order of time."""
        every = sorted(each for heap in self._series.values() for each in heap)
        self._series.clear()
        self._newest.clear()
        self._arrived.clear()
        self._n_held = 0
        return [each[2] for each in every]

    def held(self) -> list[Held]:
        """Return the rows that wait, in no order."""
        return [each[2] for heap in self._series.values() for each in heap]
