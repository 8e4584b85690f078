"""Which series of a stream are forgotten: those that have had no row for a while, and the longest idle of too many.

Whether a series is forgotten depends on the rows of the stream alone, not on when the store is written: a stream that
was killed and resumed forgets the same series before the same rows as one that was not.
"""

from datetime import timedelta
from heapq import nsmallest
from numbers import Real
from typing import Any

import numpy as np

from adabypass.data.freq import as_freq
from adabypass.errors import IrregularTimeError, ParameterError, StateError
from adabypass.streaming.cache import SeriesCache, checked_time
from adabypass.validation import check_int, shown

MIN_ROUND = 1000
"""Rows of the stream between two searches for series to forget, at least."""
SHARE_OF_ROUND = 4
"""The next search comes when as many rows were learned as a fourth of the series."""
MAX_SERIES = 1 << 40


class Forgetting:
    """The rules by which series are forgotten.

    Parameters
    ----------
    forget_after : number, timedelta or text, optional
        A series that has had no row for longer is forgotten: a span of time, or a number of rows of the stream if rows
        have no time.
    max_series : int, optional
        Of more series the longest idle are forgotten.
    has_time : bool
        Whether rows have times.
    """

    def __init__(self, forget_after: Any, max_series: int | None, *, has_time: bool) -> None:
        self.max_series = None
        if max_series is not None:
            self.max_series = check_int(max_series, "max_series", minimum=1, maximum=MAX_SERIES)
        self.span: Any = None if forget_after is None else _span(forget_after, has_time=has_time)
        self.by_time = has_time and self.span is not None
        self.newest_cell = ""
        self.newest_time: Any = None
        """The latest time of the stream's rows, as JSON and as a value."""
        self.next_round = MIN_ROUND
        """How many rows were learned when series to forget are searched for."""

    def __bool__(self) -> bool:
        return self.span is not None or self.max_series is not None

    def restore(self, newest_cell: str, next_round: int) -> None:
        """Go on from what the store has."""
        self.next_round = next_round
        if newest_cell and self.by_time:
            self.newest_cell, self.newest_time = newest_cell, checked_time(newest_cell)

    def note_time(self, cell: str) -> None:
        """Note the time of a row that comes next."""
        time = checked_time(cell)
        if self.newest_time is None or self._since(time, self.newest_time) > 0 * self.span:
            self.newest_cell, self.newest_time = cell, time

    def is_idle(self, newest: int, n_learned: int) -> bool:
        """Return whether a series, whose newest row was the one of this place, has had none for too many rows."""
        return n_learned - newest > int(self.span)

    def is_old(self, cell: str) -> bool:
        """Return whether a time is too long ago."""
        if not cell or self.newest_time is None:
            return False
        return bool(self._since(self.newest_time, checked_time(cell)) > self.span)

    def _since(self, later: Any, earlier: Any) -> Any:
        try:
            return later - earlier
        except TypeError:
            raise StateError(
                f"the times {shown(later)} and {shown(earlier)} cannot be compared; forget_after= needs times that are "
                "all dates, or all numbers."
            ) from None

    def search(self, series: SeriesCache, n_learned: int) -> None:
        """Forget all series that are to be forgotten now."""
        if self.by_time:
            _drop(series, [key for key, cell, _ in series.known() if self.is_old(cell)])
        elif self.span is not None:
            _drop(series, [key for key, _, newest in series.known() if self.is_idle(newest, n_learned)])
        excess = 0 if self.max_series is None else series.n_series - self.max_series
        if excess > 0:
            longest_idle = nsmallest(excess, ((newest, key) for key, _, newest in series.known()))
            _drop(series, [key for _, key in longest_idle])
        self.next_round = n_learned + max(MIN_ROUND, series.n_series // SHARE_OF_ROUND)


def _drop(series: SeriesCache, keys: list[str]) -> None:
    for key in keys:
        series.drop(key)


def _span(forget_after: Any, *, has_time: bool) -> Any:
    """Return after how much time, or after how many rows, a series is forgotten."""
    if not has_time:
        return check_int(forget_after, "forget_after (rows, as they have no time)", minimum=1, maximum=1 << 53)
    is_number = isinstance(forget_after, Real) and not isinstance(forget_after, bool)
    try:
        found = as_freq(forget_after, dates=not is_number)
    except IrregularTimeError as error:
        what = str(error).replace("freq is", "forget_after is")
        raise ParameterError(what) from None
    if is_number:
        return found
    if np.datetime_data(found.dtype)[0] in "YM":
        raise ParameterError(
            f'forget_after is {forget_after!r}, but months differ in length; pass days: "30 days", say.'
        )
    span: timedelta = found.astype("m8[us]").item()
    return span
