"""The rules of time of a stream: which times are believed, how long rows are held back, how many steps a gap has."""

from collections import deque
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from adabypass.data.freq import as_freq
from adabypass.errors import IrregularTimeError, ParameterError

Time: TypeAlias = float | datetime
"""A time that can be compared: a finite number, or a date and time in UTC without its zone."""
N_WITNESSES = 10
"""Rows, one after another, that must agree on a time that is far ahead before it is believed."""
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
    text : str
        A number, or text such as "10 minutes".
    option : str
        What errors call it.
    """

    def __init__(self, text: str, option: str) -> None:
        self.text, self._option = text, option
        self._sizes: dict[bool, Any] = {}
        for dates in (False, True):
            try:
                found = as_freq(text, dates)
            except IrregularTimeError:
                continue
            self._sizes[dates] = _plain(found) if dates else found
        if not self._sizes:
            raise ParameterError(
                f'{option} is {text!r}, which is not a span of time; write one such as "90 seconds", "10 minutes" or '
                '"1 day", or a number above 0 if times are numbers.'
            )

    def of(self, time: Time) -> Any:
        """Return the span in the unit of a time: a number, a timedelta, or whole months as an int for dates."""
        is_date = isinstance(time, datetime)
        if is_date not in self._sizes:
            raise ParameterError(
                f"{self._option} is {self.text}, but times are "
                + ('dates; write a span such as "10 minutes".' if is_date else "numbers; write a number.")
            )
        return self._sizes[is_date]

    @property
    def has_months(self) -> bool:
        """Whether it is whole months, whose lengths differ."""
        return isinstance(self._sizes.get(True), int)


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

    def describe(self, last: str) -> str:
        """Return what is wrong with a row that is in the same step as the one before it, at a time as JSON."""
        return f"is less than half of --freq {self._freq.text} after {last}, the time of the row before it"


class JumpGuard:
    """Refuses times far ahead of all others: one wrong clock must not make all later rows of a series late.

    A time is far ahead if it is more than a span after the newest of the stream and of its own series. It is believed
    when `N_WITNESSES` rows in succession agree on it: then the clock of the world has gone on, as after an outage.

    Parameters
    ----------
    span : Span
    """

    def __init__(self, span: Span) -> None:
        self._span = span
        self._newest: Any = None
        self._witness: Any = None
        self._n_witnesses = 0

    def refusal(self, time: Time, last: Time | None) -> str:
        """Return what is wrong with a time, "" if it is believed.

        Parameters
        ----------
        time
        last
            The newest time of its series; None of a new series.
        """
        newest = self._newest if last is None else last if self._newest is None else max(last, self._newest)
        span = self._span.of(time)
        if newest is not None and time - newest > span:  # type: ignore[operator]
            agrees = self._n_witnesses > 0 and abs(time - self._witness) <= span
            self._witness, self._n_witnesses = time, self._n_witnesses + 1 if agrees else 1
            if self._n_witnesses < N_WITNESSES:
                return f"is more than --max-jump {self._span.text} after {newest}, the newest time so far"
        self._n_witnesses = 0
        self._newest = time if newest is None else max(newest, time)
        return ""


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
