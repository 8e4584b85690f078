"""Which series of a stream are forgotten: those that have had no row for a while, and the longest idle of too many.

Whether a series is forgotten depends on the rows of the stream alone, not on when the store is written: a stream that
was killed and resumed forgets the same series before the same rows as one that was not. By time, a series is forgotten
when the time of the stream (`StreamTime`), or that of its own next row, is too long after its newest: one wrong clock
makes nobody but its own series forgotten.
"""

from heapq import nsmallest
from typing import Any

from adabypass.errors import StateError
from adabypass.snapshots.header import Header
from adabypass.streaming.cache import SeriesCache, checked_time
from adabypass.streaming.clock import Span, StreamTime
from adabypass.streaming.rows import Row
from adabypass.streaming.store_reader import MAX_NUMBER
from adabypass.validation import check_int

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
        Of more series the longest idle are forgotten; a fourth more may be there in between.
    has_time : bool
        Whether rows have times.
    name : str
        What errors call `forget_after`.
    """

    def __init__(
        self, forget_after: Any, max_series: int | None, *, has_time: bool, name: str = "forget_after"
    ) -> None:
        self.max_series = None
        if max_series is not None:
            self.max_series = check_int(max_series, "max_series", minimum=1, maximum=MAX_SERIES)
        self.span: Span | None = None
        self.n_rows: int | None = None
        """After how many rows of the stream a series is forgotten, if rows have no time."""
        if forget_after is not None and has_time:
            self.span = Span(forget_after, name, is_fixed=True)
        elif forget_after is not None:
            self.n_rows = check_int(forget_after, f"{name} (rows, as they have no time)", minimum=1, maximum=1 << 53)
        self.time = StreamTime()
        self.next_round = MIN_ROUND
        """How many rows were learned when series to forget are searched for."""

    def __bool__(self) -> bool:
        return self.span is not None or self.n_rows is not None or self.max_series is not None

    def note(self, row: Row) -> None:
        """Note the time of a row that is learned."""
        if self.span is not None and row[2]:
            self.time.note(checked_time(row[2]), row[2], row[1])

    def is_overfull(self, n_series: int) -> bool:
        """Return whether there is a fourth more series than `max_series`, so that some are to be forgotten."""
        limit = self.max_series
        return limit is not None and n_series > limit + limit // SHARE_OF_ROUND

    def is_idle(self, newest: int, n_learned: int) -> bool:
        """Return whether a series, whose newest row was the one of this place, has had none for too many rows."""
        return self.n_rows is not None and n_learned - newest > self.n_rows

    def is_old(self, cell: str, row_cell: str = "") -> bool:
        """Return whether a series is forgotten, by its newest time, as JSON, and that of its next row, if it has one.

        The time of its own next row counts besides that of the stream.
        """
        if self.span is None or not cell:
            return False
        last: Any = checked_time(cell)
        try:
            times = self.time.now, checked_time(row_cell) if row_cell else None
            ages = [time - last for time in times if time is not None]
        except TypeError:
            raise StateError(
                f"the times {cell} and {row_cell or self.time.now} cannot be compared; times of a stream that forgets "
                "series are all dates, or all numbers."
            ) from None
        return any(age > self.span.of(last) for age in ages)

    def search(self, series: SeriesCache, n_learned: int, n_coming: int) -> None:
        """Forget all series that are to be forgotten now, before a row that begins `n_coming` new ones."""
        if self.span is not None:
            _drop(series, [key for key, cell, _ in series.known() if self.is_old(cell)])
        elif self.n_rows is not None:
            _drop(series, [key for key, _, newest in series.known() if self.is_idle(newest, n_learned)])
        excess = 0 if self.max_series is None else series.n_series + n_coming - self.max_series
        if excess > 0:
            longest_idle = nsmallest(excess, ((newest, key) for key, _, newest in series.known()))
            _drop(series, [key for _, key in longest_idle])
        self.next_round = n_learned + max(MIN_ROUND, series.n_series // SHARE_OF_ROUND)

    def describe(self) -> dict[str, Any]:
        """Return what the store says of it."""
        return {"next_round": self.next_round, "stream_time": self.time.describe()}

    def restore(self, header: Header) -> None:
        """Go on from what the store has."""
        self.next_round = header.whole("next_round", maximum=MAX_NUMBER)
        found = header.value("stream_time")
        if not (isinstance(found, list) and len(found) == 3 and type(found[2]) is int and found[2] >= 0):
            header.refuse('its "stream_time" is not two series and a number')
        self.time.restore([_leader(each, header) for each in found[:2]], found[2])


def _leader(found: Any, header: Header) -> tuple[Any, str, str] | None:
    if found is None:
        return None
    if not (isinstance(found, list) and len(found) == 2 and all(isinstance(each, str) for each in found)):
        header.refuse('its "stream_time" has a series that is none')
    return checked_time(found[0]), found[0], found[1]


def _drop(series: SeriesCache, keys: list[str]) -> None:
    for key in keys:
        series.drop(key)
