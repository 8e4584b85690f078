"""Series out of tables: one or many, each on a regular grid of time, and their forecasts as a table."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from adabypass import tables, timegrid
from adabypass.errors import AdabypassError, ParameterError, ShapeError
from adabypass.forecasting import Forecaster
from adabypass.tables import Array, Table
from adabypass.validation import Floats, check_int

TIME, ID, TARGET = "ds", "unique_id", "y"
"""What the columns of a long frame are called, unless it is said otherwise."""


class Columns(NamedTuple):
    """Which columns mean what."""

    target: str = TARGET
    time: str | None = None
    """None takes `ds` if there is such a column, and otherwise the order of the rows."""
    id: str | None = None
    """None takes `unique_id` if there is such a column."""
    exog: tuple[str, ...] = ()
    calendar: tuple[str, ...] = ()
    """Periods whose sine and cosine are features: "day", "week", "year"."""
    step: Any = None
    """Between two times; the most common difference if None."""

    def found_in(self, table: Table) -> "Columns":
        """Choose the columns of time and of identity by their usual names, if they are there."""
        time = TIME if self.time is None and TIME in table else self.time
        key = ID if self.id is None and ID in table else self.id
        if self.calendar and time is None:
            raise ParameterError("calendar needs a column of times; say which one it is.")
        return self._replace(time=time, id=key)


class Series(NamedTuple):
    """One series on a regular grid; nan where nothing was observed."""

    name: str
    y: Floats
    exog: Floats | None
    time: Array | None
    """None where rows have no time but their order."""
    future_exog: Floats | None
    """Exogenous values of the rows at the end that have no target yet."""
    columns: Columns

    def following(self, n: int) -> Array:
        """Give the next `n` times; without times, the numbers of the rows from 1."""
        if self.time is None:
            return len(self.y) + 1 + np.arange(n)
        return timegrid.following(self.time, n, self.columns.step, name=self.columns.time or "time")

    def exog_ahead(self, horizon: int) -> Floats | None:
        """Exogenous values of the next `horizon` steps, calendar and all."""
        parts = []
        if self.columns.exog:
            given = np.empty((0, 0)) if self.future_exog is None else self.future_exog
            if len(given) < horizon:
                raise ShapeError(
                    f"{horizon} steps ahead need as many rows of {', '.join(self.columns.exog)} after the last "
                    f'"{self.columns.target}", with that cell blank; there are {len(given)}.'
                )
            parts.append(given[:horizon])
        if self.columns.calendar:
            parts.append(timegrid.calendar(self.following(horizon), self.columns.calendar)[0])
        return np.column_stack(parts) if parts else None


def split(table: Table, columns: Columns) -> Iterator[Series]:
    """Take a table apart into its series, in the order in which they first appear."""
    columns = columns.found_in(table)
    target = table.numbers(columns.target)
    time = None if columns.time is None else table.times(columns.time)
    exog = np.column_stack([table.numbers(name) for name in columns.exog]) if columns.exog else None
    if columns.id is None:
        yield _series("", np.arange(len(table)), target, time, exog, columns)
        return
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(table.text(columns.id)):
        rows.setdefault(name, []).append(row)
    for name, chosen in rows.items():
        yield _series(name, np.array(chosen), target, time, exog, columns)


def _series(
    name: str, rows: Array, target: Floats, time: Array | None, exog: Floats | None, columns: Columns
) -> Series:
    y, x = target[rows], None if exog is None else exog[rows]
    if np.isnan(y).all():
        raise ShapeError(f'there is nothing to learn from: every "{columns.target}"{_of(name)} is blank.')
    grid_time = None
    if time is not None:  # the rows ahead too, so that what they say goes with its time
        numbers = [int(row) + 1 for row in rows]
        stamps = time[rows]
        grid = timegrid.regular(stamps, _one_step(stamps, columns), name=str(columns.time), rows=numbers)
        y, grid_time = grid.fill(y), grid.time
        x = None if x is None else grid.fill(x)
    future = None
    if x is not None:  # rows at the end with a blank target are there for what they say of the future
        n = len(y) - int(np.argmax(~np.isnan(y[::-1])))
        y, x, future = y[:n], x[:n], x[n:]
        grid_time = None if grid_time is None else grid_time[:n]
    if columns.calendar and grid_time is not None:
        cycles = timegrid.calendar(grid_time, columns.calendar)[0]
        x = cycles if x is None else np.column_stack([x, cycles])
    return Series(name, y, x, grid_time, future, columns)


@contextmanager
def about(series: Series) -> Iterator[None]:
    """Say in errors which of many series they are about."""
    try:
        yield
    except AdabypassError as error:
        if not series.name:
            raise
        raise type(error)(f'series "{series.name}": {error}') from error


def refuse_blanks(table: Table, columns: Columns) -> None:
    """Refuse an exogenous cell that is blank beside a target, by its row and column in the table."""
    observed = ~np.isnan(table.numbers(columns.target))
    for name in columns.exog:
        blank = np.flatnonzero(observed & np.isnan(table.numbers(name)))
        if len(blank):
            table.refuse(name, int(blank[0]), "blank; fill it, or choose missing as 'mean' or 'last'")


def names(given: str | Sequence[str]) -> tuple[str, ...]:
    """Take names, or a single one."""
    return (given,) if isinstance(given, str) else tuple(given)


def _one_step(time: Array, columns: Columns) -> Any:
    """Choose any step where a single time tells none."""
    if columns.step is None and len(time) == 1:
        return 1 if time.dtype.kind != "M" else np.timedelta64(1, "D")
    return columns.step


def _of(name: str) -> str:
    return f' of "{name}"' if name else ""


def forecast(
    data: Any,
    horizon: int,
    forecaster: Forecaster | None = None,
    *,
    target: str = TARGET,
    time: str | None = None,
    id: str | None = None,
    exog: Sequence[str] = (),
    calendar: Sequence[str] = (),
    levels: Sequence[float] = (0.9,),
) -> Any:
    """Forecast every series of a data frame, and give the forecasts as a frame of the same kind.

    Parameters
    ----------
    data : pandas, polars or pyarrow frame, dict of arrays, or an array (n,)
        One row for each observation; many series may stand below each other. Times that are not regular but for gaps
        are refused, gaps are missing observations.
    horizon : whole number from 1
    forecaster : Forecaster, optional
        Each series gets a fresh copy of it. A new `Forecaster()` if not given.
    target, time, id : str
        Names of columns: `y`, and `ds` and `unique_id` if they are there.
    exog : list of str
        Exogenous columns. Their future values stand in rows at the end whose target is blank.
    calendar : list of "day", "week", "year"
        Cycles of the calendar to learn, by their sine and cosine.
    levels
        Of the intervals.

    Returns
    -------
    frame
        `id` and `time` (times with a zone in UTC), `mean`, `sd`, and `lower_90`, `upper_90` for each level. Of an
        array, a dict.

    Examples
    --------
    >>> import polars as pl
    >>> from adabypass import load_dataset
    >>> nile = load_dataset("nile")
    >>> forecast(pl.DataFrame({"ds": nile.time, "y": nile.y}), horizon=2).columns
    ['ds', 'mean', 'sd', 'lower_90', 'upper_90']
    """
    horizon = check_int(horizon, "horizon", minimum=1, maximum=100_000)
    table = tables.from_frame({TARGET: data} if isinstance(data, np.ndarray) and data.ndim == 1 else data)
    columns = Columns(target, time, id, names(exog), names(calendar)).found_in(table)
    if forecaster is None or forecaster.missing == "raise":
        refuse_blanks(table, columns)
    parts = []
    for series in split(table, columns):
        model = fresh(forecaster)
        with about(series):
            model.run(series.y, series.exog)
            ahead = model.forecast(horizon, series.exog_ahead(horizon))
        parts.append(rows(series, ahead.columns(levels), series.following(horizon)))
    answer = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if columns.id is not None and table.holds_integers(columns.id):
        answer[columns.id] = answer[columns.id].astype(np.int64)
    return table.like(answer)


def fresh(forecaster: Forecaster | None) -> Forecaster:
    """Make a forecaster with the same settings that has seen nothing."""
    if forecaster is None:
        return Forecaster()
    twin = forecaster.copy()
    twin.reset()
    return twin


def rows(series: Series, values: dict[str, Floats], time: Array) -> dict[str, Array]:
    """Put the series' name and the times before the values."""
    head: dict[str, Array] = {}
    if series.columns.id is not None:
        head[series.columns.id] = np.array([series.name] * len(time))
    head[series.columns.time or "step"] = time
    return head | values
