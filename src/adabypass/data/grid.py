"""The regular grid of a series' times, and the times that follow."""

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from adabypass.data.cells import Array
from adabypass.data.freq import Freq, as_freq, in_words, most_common
from adabypass.data.frequencies import (
    Frequency,
    Integers,
    LocalFrequency,
    MonthlyFrequency,
    RegularFrequency,
    WorkdayFrequency,
)
from adabypass.data.times import check_increasing, show_time
from adabypass.data.zones import Zone
from adabypass.errors import IrregularTimeError, NotFiniteError, ShapeError, TimeRangeError
from adabypass.validation import Floats, check_array, check_int

TOLERANCE = 0.01
"""How far from the grid an observation may be, in steps: clocks jitter, and decimal years are rounded."""
MAX_GRID_SIZE = 20_000_000
MAX_GAP, MAX_GAP_PER_ROW = 1000, 10
"""A gap of more than 1000 steps, and of more than 10 steps for every row, is taken for a mistake."""


class Grid(NamedTuple):
    """A regular grid of times, and the observations' positions on it."""

    time: Array
    """Every time of the grid, from the first observation to the last."""
    position: Integers
    """The number of each observation's time on the grid, from 0."""
    frequency: Frequency

    def fill(self, values: object) -> Floats:
        """Return values, (n,) or (n, k), one row for each observation, on the grid; nan where there is none."""
        array = check_array(values, "values")
        if array.ndim == 0 or len(array) != len(self.position):
            raise ShapeError(
                f"values has shape {array.shape}, but there are {len(self.position)} observations; pass one row for "
                "each."
            )
        filled = np.full((len(self.time), *array.shape[1:]), np.nan)
        filled[self.position] = array
        return filled


class _Column(NamedTuple):
    """Times to be put on a grid, and what errors call them."""

    time: Array
    name: str
    rows: Sequence[int] | None
    zone: Zone | None
    source: str
    """The file they come from; "" for none."""

    @property
    def label(self) -> str:
        """What errors call the column."""
        return f'{self.source}: column "{self.name}"' if self.source else f'column "{self.name}"'

    def cell(self, at: int) -> str:
        """Return what errors call the time at a position."""
        where = f"{self.source}: " if self.source else ""
        return f'{where}row {self.row(at)}, column "{self.name}": {self.show(self.time[at])}'

    def row(self, at: int) -> int:
        return at + 1 if self.rows is None else self.rows[at]

    def show(self, time: Any) -> str:
        return show_time(time, self.zone)


def regular_grid(
    time: Array,
    freq: Freq | None = None,
    *,
    name: str = "time",
    rows: Sequence[int] | None = None,
    zone: Zone | None = None,
    source: str = "",
) -> Grid:
    """Find the regular grid of a series of times.

    A gap of more than 1000 steps that is also longer than 10 steps for every row is refused: one mistyped time would
    make a grid of millions.

    Parameters
    ----------
    time : array (n,)
        Increasing numbers or datetime64.
    freq : number, timedelta or text, optional
        Distance of grid times; the most common difference if not given. For dates also text, such as "10 minutes",
        "day", "month" or "3 months". Dates on one day of the month, or all on the last, are whole months apart,
        however long the months. Daily dates that leave out every weekend are workdays apart.
    name : str
        What errors call the column of times.
    rows : sequence of n whole numbers, optional
        The rows that errors name; by default 1, 2, 3, ...
    zone : Zone, optional
        The zone of the times, which are in UTC. Days and months are counted in its local time, so that midnights stay
        midnights as clocks change; hours and less in UTC.
    source : str
        The file that errors name; "" for none.

    Examples
    --------
    >>> grid = regular_grid(np.array([622, 623, 625]))
    >>> grid.time
    array([622, 623, 624, 625])
    >>> grid.fill([11.6, 10.9, 11.2])
    array([11.6, 10.9,  nan, 11.2])
    >>> regular_grid(np.array(["2014-01-31", "2014-02-28", "2014-04-30"], "M8[D]")).time.astype(str).tolist()
    ['2014-01-31', '2014-02-28', '2014-03-31', '2014-04-30']
    """
    frequency, position = _measure(_Column(_checked(time, name, source), name, rows, zone, source), freq)
    return Grid(frequency.times(np.arange(position[-1] + 1)), position, frequency)


def following_times(
    time: Array,
    n: int,
    freq: Freq | None = None,
    *,
    name: str = "time",
    rows: Sequence[int] | None = None,
    zone: Zone | None = None,
    source: str = "",
) -> Array:
    """Return the next `n` times on the grid that `regular` finds.

    Examples
    --------
    >>> following_times(np.array(["2013-12", "2014-01"], "M8[M]"), 2)
    array(['2014-02', '2014-03'], dtype='datetime64[M]')
    """
    frequency, position = _measure(_Column(_checked(time, name, source), name, rows, zone, source), freq)
    return frequency.times(position[-1] + 1 + np.arange(check_int(n, "n", minimum=1, maximum=MAX_GRID_SIZE)))


def _measure(column: _Column, freq: Freq | None) -> tuple[Frequency, Integers]:
    """Find the frequency of the times, and each one's position."""
    check_increasing(column.time, column.name, column.rows, column.zone, column.source)
    frequency = _frequency(column, None if freq is None else as_freq(freq, column.time.dtype.kind == "M"))
    exact = frequency.positions(column.time)
    _check_gaps(column, frequency, exact)
    position = np.rint(exact).astype(np.int64)
    off_grid = np.flatnonzero(_is_off_grid(exact))
    if len(off_grid):
        _raise_off_grid(column, int(off_grid[0]), frequency, float(exact[off_grid[0]]))
    return frequency, position


def _is_off_grid(exact: Floats) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    position = np.rint(exact)
    return (np.abs(exact - position) > TOLERANCE) | (np.diff(position, prepend=-1) < 1)


def _check_gaps(column: _Column, frequency: Frequency, exact: Floats) -> None:
    n = len(exact)
    gaps = np.diff(exact)
    if n > 1 and gaps.max() > max(MAX_GAP, MAX_GAP_PER_ROW * n):
        at = int(np.argmax(gaps)) + 1
        raise IrregularTimeError(
            f"{column.cell(at)} is {gaps[at - 1]:,.0f} "
            f"steps of {frequency} after {column.show(column.time[at - 1])} in row {column.row(at - 1)}, a gap far "
            f"longer than the series of {n} rows; correct the time, leave out the rows before or after the gap, or "
            "give a longer freq."
        )
    if exact[-1] >= MAX_GRID_SIZE:
        raise IrregularTimeError(
            f"{column.label} spans {exact[-1]:,.0f} steps of {frequency}, more than {MAX_GRID_SIZE:,}; "
            "give a longer freq."
        )


def _checked(time: Array, name: str, source: str) -> Array:
    name = f"{source}: {name}" if source else name
    time = np.asarray(time)
    if time.ndim != 1 or not len(time) or time.dtype.kind not in "iufM":
        raise ShapeError(
            f"{name} is an array of shape {time.shape} and type {time.dtype}, but must be a vector of at least one "
            "number or datetime64."
        )
    unknown = np.flatnonzero(np.isnat(time) if time.dtype.kind == "M" else ~np.isfinite(time))
    if len(unknown):
        raise NotFiniteError(f"{name}[{unknown[0]}] is {time[unknown[0]]}, but every time must be known.")
    if time.dtype.kind == "u":
        if int(time.max()) >= 2**63:
            raise TimeRangeError(f"{name} holds {time.max()}, but the largest time is 2^63 - 1.")
        time = time.astype(np.int64)
    if time.dtype.kind in "iM" and _is_too_wide(time):
        coarse = time.astype("M8[us]") if time.dtype.kind == "M" else time
        if (coarse != time).any() or _is_too_wide(coarse):
            raise TimeRangeError(
                f"{name} goes from {time.min()} to {time.max()}, too far apart to be counted in 64 bits; "
                "use a coarser unit of time."
            )
        return coarse
    return time


def _is_too_wide(time: Array) -> bool:
    numbers = time.astype(np.int64)
    return int(numbers.max()) - int(numbers.min()) >= 2**62


def _frequency(column: _Column, freq: Any) -> Frequency:
    """Choose the frequency: in local time if it counts days or months, in UTC otherwise, and whichever fits."""
    if freq is None and len(column.time) < 2:
        raise IrregularTimeError(
            f"{column.label} has one time, {column.show(column.time[0])}, which has no frequency; give freq."
        )
    if column.zone is None or column.time.dtype.kind != "M":
        return _plain_frequency(column.time, freq, column.label)
    local_time = column.zone.to_local(column.time)
    in_utc: Frequency | None = None
    local: Frequency | None = None
    if (np.diff(local_time) > np.timedelta64(0, "s")).all():
        local = LocalFrequency(_plain_frequency(local_time, freq, column.label), column.zone)
    if local is None or not _counts_months(freq):
        in_utc = _plain_frequency(column.time, freq, column.label)
    candidates = [local, in_utc] if local is not None and local.is_calendar else [in_utc, local]
    found = [each for each in candidates if each is not None]
    return next((each for each in found if not _is_off_grid(each.positions(column.time)).any()), found[0])


def _counts_months(freq: Any) -> bool:
    return isinstance(freq, np.timedelta64) and np.datetime_data(freq.dtype)[0] in "YM"


def _plain_frequency(time: Array, freq: Any, label: str) -> RegularFrequency | MonthlyFrequency | WorkdayFrequency:
    """Choose months if dates are whole months apart and no other freq is given; otherwise one distance."""
    months = MonthlyFrequency.of(time) if time.dtype.kind == "M" else None
    if _counts_months(freq):
        if months is None:
            raise IrregularTimeError(
                f"freq is {in_words(freq)}, but the dates of {label} are not all on one day of the month; "
                "give each its month's first day."
            )
        return months._replace(step=int(freq / np.timedelta64(1, "M")))
    if freq is None and months is not None:
        return months
    workdays = WorkdayFrequency.of(time) if time.dtype.kind == "M" and freq is None else None
    if workdays is not None:
        return workdays
    if freq is not None:
        return _at_one_distance(time[0], freq)
    plain = _at_one_distance(time[0], most_common(np.diff(time)))
    stretched = plain.stretched_over(time)
    return stretched if _deviation(stretched, time) < min(_deviation(plain, time), TOLERANCE) else plain


def _at_one_distance(start: Any, freq: Any) -> RegularFrequency:
    """Return a frequency whose times can be written in the unit of `freq`."""
    if isinstance(freq, np.timedelta64):
        fine = np.promote_types(start.dtype, freq.dtype.str.replace("m8", "M8"))
        start = start.astype(fine)
        freq = freq.astype(fine.str.replace("M8", "m8"))
    return RegularFrequency(start, freq)


def _deviation(frequency: RegularFrequency, time: Array) -> float:
    """Return how far the farthest time is from the grid, in steps."""
    positions = frequency.positions(time)
    return float(np.abs(positions - np.rint(positions)).max())


def _raise_off_grid(column: _Column, at: int, frequency: Frequency, exact: float) -> NoReturn:
    before, after = frequency.times(np.array([int(np.floor(exact)), int(np.floor(exact)) + 1]))
    raise IrregularTimeError(
        f"{column.cell(at)} lies between {column.show(before)} and {column.show(after)} on a grid "
        f"with steps of {frequency}; round the times to a regular grid, leave that row out, or give another freq."
    )
