"""The regular grid on which times lie, and the times that follow."""

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from adabypass.errors import IrregularTimeError, NotFiniteError, ShapeError
from adabypass.tables.cells import Array, check_increasing
from adabypass.timegrid.frequencies import Even, Frequency, Months, Step, Workdays, as_step, most_common, step_in_words
from adabypass.validation import Floats, check_array, check_int

TOLERANCE = 0.01
"""How far from the grid an observation may lie, in steps: clocks jitter, and decimal years are rounded."""
LARGEST_GRID = 20_000_000


class Grid(NamedTuple):
    """A regular grid of times, and the observations' places on it."""

    time: Array
    """Every time of the grid, from the first observation to the last."""
    place: "np.ndarray[Any, np.dtype[np.int64]]"
    """The number of each observation's time on the grid, from 0."""

    def fill(self, values: object) -> Floats:
        """Put values, (n,) or (n, k), one row for each observation, on the grid; nan where there is none."""
        array = check_array(values, "values")
        if array.ndim == 0 or len(array) != len(self.place):
            raise ShapeError(
                f"values has shape {array.shape}, but there are {len(self.place)} observations; pass one row for each."
            )
        filled = np.full((len(self.time), *array.shape[1:]), np.nan)
        filled[self.place] = array
        return filled


def regular(time: Array, step: Step | None = None, *, name: str = "time", rows: Sequence[int] | None = None) -> Grid:
    """Find the regular grid on which times lie.

    Parameters
    ----------
    time : array (n,)
        Increasing numbers or datetime64.
    step : number, timedelta or text, optional
        Between grid times; the most common difference if not given. For dates also text, such as "10 minutes", "day",
        "month" or "3 months". Dates on one day of the month, or all on the last, are whole months apart, however long
        the months. Daily dates that leave out every weekend are workdays apart.
    name : str
        What errors call the column of times.
    rows : sequence of n whole numbers, optional
        The rows that errors name; by default 1, 2, 3, ...

    Examples
    --------
    >>> grid = regular(np.array([622, 623, 625]))
    >>> grid.time
    array([622, 623, 624, 625])
    >>> grid.fill([11.6, 10.9, 11.2])
    array([11.6, 10.9,  nan, 11.2])
    >>> regular(np.array(["2014-01-31", "2014-02-28", "2014-04-30"], "M8[D]")).time.astype(str).tolist()
    ['2014-01-31', '2014-02-28', '2014-03-31', '2014-04-30']
    """
    frequency, place = _measure(time, step, name, rows)
    return Grid(frequency.marks(np.arange(place[-1] + 1)), place)


def following(
    time: Array, n: int, step: Step | None = None, *, name: str = "time", rows: Sequence[int] | None = None
) -> Array:
    """Give the next `n` times on the grid that `regular` finds.

    Examples
    --------
    >>> following(np.array(["2013-12", "2014-01"], "M8[M]"), 2)
    array(['2014-02', '2014-03'], dtype='datetime64[M]')
    """
    frequency, place = _measure(time, step, name, rows)
    return frequency.marks(place[-1] + 1 + np.arange(check_int(n, "n", minimum=1, maximum=LARGEST_GRID)))


def _measure(
    time: Array, step: Step | None, name: str, rows: Sequence[int] | None
) -> tuple[Frequency, "np.ndarray[Any, np.dtype[np.int64]]"]:
    """Find the frequency on which the times lie, and the number of each one's mark."""
    time = _checked(time, name)
    check_increasing(time, name, rows)
    frequency = _frequency(time, None if step is None else as_step(step, time.dtype.kind == "M"), name)
    exact = frequency.places(time)
    if exact[-1] >= LARGEST_GRID:
        at = int(np.argmax(np.diff(time)))
        raise IrregularTimeError(
            f'column "{name}" spans {exact[-1]:.0f} steps of {frequency}, more than {LARGEST_GRID}; the widest gap is '
            f"from {time[at]} to {time[at + 1]}: correct these, or give a longer step."
        )
    place = np.rint(exact).astype(np.int64)
    beside = np.flatnonzero((np.abs(exact - place) > TOLERANCE) | (np.diff(place, prepend=-1) < 1))
    if len(beside):
        at = int(beside[0])
        _refuse(time[at], at + 1 if rows is None else rows[at], frequency, float(exact[at]), name)
    return frequency, place


def _checked(time: Array, name: str) -> Array:
    time = np.asarray(time)
    if time.ndim != 1 or not len(time) or time.dtype.kind not in "iufM":
        raise ShapeError(
            f"{name} is an array of shape {time.shape} and type {time.dtype}, but must be a vector of at least one "
            "number or datetime64."
        )
    unknown = np.flatnonzero(np.isnat(time) if time.dtype.kind == "M" else ~np.isfinite(time))
    if len(unknown):
        raise NotFiniteError(f"{name}[{unknown[0]}] is {time[unknown[0]]}, but every time must be known.")
    return time.astype(np.int64) if time.dtype.kind == "u" else time


def _frequency(time: Array, step: Any, name: str) -> Frequency:
    """Choose months if dates are whole months apart and no other step is given; otherwise steps of one length."""
    if step is None and len(time) < 2:
        raise IrregularTimeError(f'column "{name}" has one time, {time[0]}, which tells no step; give the step.')
    months = Months.of(time) if time.dtype.kind == "M" else None
    if isinstance(step, np.timedelta64) and np.datetime_data(step.dtype)[0] in "YM":
        if months is None:
            raise IrregularTimeError(
                f'step is {step_in_words(step)}, but the dates of column "{name}" are not all on one day of the month; '
                "give each its month's first day."
            )
        return months._replace(step=int(step / np.timedelta64(1, "M")))
    if step is None and months is not None:
        return months
    workdays = Workdays.of(time) if time.dtype.kind == "M" and step is None else None
    if workdays is not None:
        return workdays
    if step is not None:
        return _even(time[0], step)
    even = _even(time[0], most_common(np.diff(time)))
    stretched = even.stretched_over(time)
    return stretched if _deviation(stretched, time) < min(_deviation(even, time), TOLERANCE) else even


def _even(start: Any, step: Any) -> Even:
    """Lay a frequency whose marks can be told in the unit of the step."""
    if isinstance(step, np.timedelta64):
        fine = np.promote_types(start.dtype, step.dtype.str.replace("m8", "M8"))
        start = start.astype(fine)
        step = step.astype(fine.str.replace("M8", "m8"))
    return Even(start, step)


def _deviation(frequency: Even, time: Array) -> float:
    """Tell how far from a mark the farthest time lies, in steps."""
    places = frequency.places(time)
    return float(np.abs(places - np.rint(places)).max())


def _refuse(time: Any, row: int, frequency: Frequency, exact: float, name: str) -> NoReturn:
    before, after = frequency.marks(np.array([int(np.floor(exact)), int(np.floor(exact)) + 1]))
    raise IrregularTimeError(
        f'row {row}, column "{name}": {time} lies between {before} and {after} on a grid with steps of {frequency}; '
        "round the times to a regular grid, leave that row out, or give another step."
    )
