"""The series of a table, one or many, each on a regular grid of time."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from adabypass.data import Array, Column, Grid, Table, ZonedTimes, calendar_features, regular_grid
from adabypass.data.cells import as_list, text
from adabypass.data.times import show_time
from adabypass.data.zones import Times, Zone
from adabypass.errors import NotEnoughDataError
from adabypass.forecasting import Baseline, Forecaster
from adabypass.panel.columns import Columns
from adabypass.validation import Floats


class Series(NamedTuple):
    """One series on a regular grid; nan where nothing was observed."""

    name: str
    """The id as text; "" if the table holds one series."""
    y: Floats
    exog: Floats | None
    """Of the columns, then of public holidays."""
    time: Array | None
    """In UTC where there is a zone; None where rows have no time but their order."""
    future_exog: Floats | None
    """Exogenous values of the rows at the end that have no target yet."""
    columns: Columns
    rows: "np.ndarray[Any, np.dtype[np.int64]]"
    """The row of the table at each time, those of `future_exog` included, counted from 0; -1 where there is none."""
    table: Table
    frequency: Any = None
    """Of the times; None where there are none."""
    zone: Zone | None = None
    zone_as_text: bool = False
    """Whether times with a zone came as text."""

    def exog_of(self, template: Forecaster | Baseline) -> Floats | None:
        """Return the exogenous values that a forecaster learns from: with cycles, unless it has them as seasons."""
        if self.time is None or template._learns_cycles or not self.columns.cycles:
            return self.exog
        return _beside(self.exog, calendar_features(self.local(self.time), self.columns.cycles)[0])

    def following(self, n: int) -> Array:
        """Return the next `n` times, in UTC where there is a zone; without times, the rows' numbers from 1."""
        if self.time is None:
            return len(self.y) + 1 + np.arange(n)
        times: Array = self.frequency.times(len(self.y) + np.arange(n))
        return times

    def local(self, time: Array) -> Array:
        """Return times in UTC in the local time of the series' zone, to be drawn."""
        return time if self.zone is None else self.zone.to_local(time)

    def as_column(self, time: Array) -> Column:
        """Return times with the series' zone, if it has one, to be written or put into a data frame."""
        return time if self.zone is None else ZonedTimes.of(time, self.zone, self.zone_as_text)

    def exog_ahead(self, horizon: int, template: Forecaster | Baseline) -> Floats | None:
        """Return the exogenous values of the next `horizon` steps, as `exog_of` those seen."""
        found = None
        if self.columns.exog:
            given = np.empty((0, 0)) if self.future_exog is None else self.future_exog
            if len(given) < horizon:
                raise NotEnoughDataError(
                    f"{horizon} steps ahead need as many rows of {', '.join(self.columns.exog)} after the last "
                    f'"{self.columns.target}", with that cell blank; there are {len(given)}.'
                )
            found = given[:horizon]
        if not self.columns.calendar:
            return found
        names = self.columns.holidays if template._learns_cycles else (*self.columns.holidays, *self.columns.cycles)
        return _beside(found, calendar_features(self.local(self.following(horizon)), names)[0])

    def with_known_exog(self, template: Forecaster | Baseline, horizon: int, remedy: str) -> "Series":
        """Return the series with exogenous values that a forecaster can do with, up to `horizon` steps ahead.

        Where neither the forecaster nor `columns.missing` says what becomes of missing ones, rows that are absent have
        the values of the row before, and a blank cell is refused.

        Parameters
        ----------
        template : Forecaster or Baseline
        horizon : int
        remedy : str
            What the error advises besides filling the value, in the words of the caller's interface.
        """
        if self.exog is None or not self.columns.exog or template.missing != "raise":
            return self
        filled = self._with_absent_rows() if self.columns.missing is None else self
        filled._check_exog(horizon, remedy)
        return filled

    @property
    def n_absent(self) -> int:
        """How many rows are absent, up to the first one that is yet to come: each a time without an observation."""
        return int(np.count_nonzero(self._is_absent))

    @property
    def _is_absent(self) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """Where rows are absent; those after the first one that is yet to come are not looked at."""
        n = len(self.y)
        ahead = np.flatnonzero(self.rows[n:] >= 0)
        return np.asarray(self.rows[: n + int(ahead[0]) if len(ahead) else n] < 0)

    def _with_absent_rows(self) -> "Series":
        """Return the series with the exogenous values of the row before where a row is absent."""
        absent, n = self._is_absent, len(self.columns.exog)
        if self.exog is None or self.future_exog is None or not absent.any():
            return self
        source = np.arange(len(self.rows))
        source[: len(absent)] = np.maximum.accumulate(np.where(absent, 0, source[: len(absent)]))
        every = np.concatenate([self.exog[:, :n], self.future_exog])[source]
        exog = np.column_stack([every[: len(self.y)], self.exog[:, n:]])
        return self._replace(exog=exog, future_exog=every[len(self.y) :])

    def _check_exog(self, horizon: int, remedy: str) -> None:
        """Check that no exogenous value is missing, up to `horizon` steps ahead."""
        assert self.exog is not None
        known = self.exog[:, : len(self.columns.exog)]
        ahead = np.empty((0, known.shape[1])) if self.future_exog is None else self.future_exog[:horizon]
        missing = np.argwhere(np.isnan(np.concatenate([known, ahead])))
        if not len(missing):
            return
        at, column = (int(i) for i in missing[0])
        name = self.columns.exog[column]
        if self.rows[at] >= 0:
            self.table.raise_bad_cell(name, int(self.rows[at]), f"is blank; fill it, or {remedy}")
        source = f"{self.table.source}: " if self.table.source else ""
        time = show_time(self.frequency.times(np.array([at]))[0], self.zone)  # only times leave rows out
        raise NotEnoughDataError(
            f'{source}there is no row for {time} (column "{self.columns.time}"), so "{name}" is not known then; '
            f"add the row, or {remedy}."
        )


def _beside(exog: Floats | None, features: Floats) -> Floats | None:
    """Return exogenous values with features of the calendar after them; None if there are neither."""
    if not features.shape[1]:
        return exog
    return features if exog is None else np.column_stack([exog, features])


class SeriesTable:
    """The series of a table, in the order in which they first appear; each is made when it is asked for.

    Parameters
    ----------
    table : Table
    columns : Columns
        Which columns mean what. Every row needs an id, if there is a column of ids.
    """

    def __init__(self, table: Table, columns: Columns) -> None:
        self.table, self.columns = table, columns.found_in(table)
        self._target = table.numbers(self.columns.target)
        self._times = None if self.columns.time is None else table.zoned_times(self.columns.time)
        exog = [table.numbers(name) for name in self.columns.exog]
        self._exog = np.column_stack(exog) if exog else None
        self._n_absent: dict[str, int] = {}  # of the series that were asked for
        self._grids: dict[tuple[str, bytes], Grid] = {}
        self._rows = {"": np.arange(len(table))} if self.columns.id is None else _rows_by_id(table, self.columns.id)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def names(self) -> list[str]:
        """The ids of the series, as text."""
        return list(self._rows)

    def ids(self, names: list[str], repeats: int) -> Array:
        """Return the ids of series as they are in the table (numbers are numbers), each `repeats` times."""
        cells = self.table.cells(str(self.columns.id))
        first = [int(self._rows[name][0]) for name in names]
        if isinstance(cells, np.ndarray) and cells.dtype.kind != "O":
            return np.repeat(cells[first], repeats)
        objects = as_list(cells)
        chosen = np.empty(len(first), dtype=object)
        chosen[:] = [objects[row] for row in first]
        return np.repeat(np.array(list(chosen)) if all(isinstance(each, str) for each in chosen) else chosen, repeats)

    def series(self, name: str) -> Series:
        """Return a series on its grid of time."""
        rows, columns = self._rows[name], self.columns
        y, x = self._target[rows], None if self._exog is None else self._exog[rows]
        if np.isnan(y).all():
            raise NotEnoughDataError(f'there is nothing to learn from: every "{columns.target}" is blank.')
        grid, times = None, None if self._times is None else self._times.take(rows)
        if times is not None:  # the rows ahead too, so that each value goes with its time
            grid = self._grid(times, rows)
            y, x = grid.fill(y), None if x is None else grid.fill(x)
            on_grid = np.full(len(y), -1)
            on_grid[grid.position] = rows
            rows = on_grid
        future = None
        if x is not None:  # rows at the end with a blank target hold the exogenous values of the future
            n = len(y) - int(np.argmax(~np.isnan(y[::-1])))
            y, x, future = y[:n], x[:n], x[n:]
        if grid is None or times is None:
            self._n_absent[name] = 0
            return Series(name, y, x, None, future, columns, rows, self.table)
        time = grid.time[: len(y)]
        if columns.calendar:
            local = time if times.zone is None else times.zone.to_local(time)
            calendar_features(local[:1], columns.cycles)  # which refuses names that there are not
            x = _beside(x, calendar_features(local, columns.holidays)[0])
        found = Series(
            name, y, x, time, future, columns, rows, self.table, grid.frequency, times.zone, times.as_text
        )  # fmt: skip
        self._n_absent[name] = found.n_absent if columns.exog else 0
        return found

    def remarks(self, templates: Iterable[Forecaster | Baseline], remedy: str) -> list[str]:
        """Return in words what a user of these forecasters should know of the data.

        Parameters
        ----------
        templates : forecasters
        remedy : str
            How to agree with what is done about absent rows, in the words of the caller's interface.
        """
        forecasters = [each for each in templates if isinstance(each, Forecaster)]
        return [*self._absent_rows(forecasters, remedy), *self._outside({each.support for each in forecasters})]

    def _outside(self, supports: Iterable[tuple[float, float]]) -> list[str]:
        """Return in words how many observations lie outside the bounds of forecasts."""
        found, y = [], self._target[np.concatenate([self._rows[name] for name in self._n_absent])]
        seen = y[~np.isnan(y)]
        for low, high in supports:
            n = int(np.count_nonzero((seen < low) | (seen > high)))
            if n:
                found.append(
                    f"{n} of {len(seen)} observations lie{'s' * (n == 1)} outside the support, from {low:g} to "
                    f"{high:g}, which no forecast leaves; give a wider one, or none."
                )
        return found

    def _absent_rows(self, templates: list[Forecaster], remedy: str) -> list[str]:
        """Return in words how many rows are absent, where the row before stands in for them."""
        n = sum(self._n_absent.values())
        if not n or self.columns.missing is not None or all(each.missing != "raise" for each in templates):
            return []
        n_series = sum(each > 0 for each in self._n_absent.values())
        of = f", in {n_series} of {len(self)} series" if len(self) > 1 else ""
        rows = f"{n} row{'s are' if n > 1 else ' is'} absent{of}"
        return [
            f'{rows}: there "{self.columns.target}" is missing, and {", ".join(self.columns.exog)} as in the row '
            f"before; {remedy} to agree."
        ]

    def _grid(self, times: Times, rows: Any) -> Grid:
        """Return the grid of a series; series with the same times share it, as those of a panel mostly do."""
        values, freq = times.values, self.columns.freq
        key = (values.dtype.str, values.tobytes())
        if times.zone is None and key in self._grids:
            return self._grids[key]
        if freq is None and len(values) == 1:  # a single time has no frequency, and needs none
            freq = 1 if values.dtype.kind != "M" else np.timedelta64(1, "D")
        numbers, source = [int(row) + 1 for row in rows], self.table.source
        grid = regular_grid(
            values, freq, name=str(self.columns.time), rows=numbers, zone=times.zone, source=source
        )  # fmt: skip
        if times.zone is None:
            self._grids[key] = grid
        return grid


def _rows_by_id(table: Table, column: str) -> dict[str, Any]:
    """Return the rows of each series; refuse a row without an id, and ids that would be written alike."""
    cells = table.cells(column)
    starts = _run_starts(cells)  # most tables hold one series after another: then few ids are looked at
    firsts: Any = cells
    if len(starts) < len(table):
        firsts = cells[starts] if isinstance(cells, np.ndarray) else [cells[start] for start in starts]
    objects = None if isinstance(cells, np.ndarray) and cells.dtype.kind != "O" else as_list(firsts)
    index: dict[str, int] = {}
    run_codes = np.array([index.setdefault(name, len(index)) for name in text(firsts)], dtype=np.intp)
    is_mixed = objects is not None and len({isinstance(each, str) for each in objects}) > 1
    if is_mixed or any(not name.strip() for name in index):
        _refuse_ids(table, column, text(cells), None if objects is None else as_list(cells))
    codes = np.repeat(run_codes, np.diff([*starts, len(table)]))
    order = np.argsort(codes, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(codes, minlength=len(index)))[:-1]) if index else []
    return dict(zip(index, rows, strict=True))


def _run_starts(cells: Any) -> Any:
    """Return the rows whose id differs from that of the row before, and the first one."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuMU":
        return np.flatnonzero(np.append(True, cells[1:] != cells[:-1])[: len(cells)])
    if isinstance(cells, ZonedTimes):
        return np.arange(len(cells))
    objects = as_list(cells)
    pairs = enumerate(pairwise(objects), start=1)
    starts = [row for row, (a, b) in pairs if a is not b and (type(a) is not type(b) or a != b)]
    return np.array([0, *starts][: len(objects)], dtype=np.intp)


def _refuse_ids(table: Table, column: str, names: list[str], objects: list[Any] | None) -> None:
    """Refuse the first row without an id, or whose id is text where another that is written alike is not."""
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name.strip():
            table.raise_bad_cell(column, row, "is blank, but every row needs the id of its series; fill it")
        before = first.setdefault(name, row)
        if objects is not None and isinstance(objects[row], str) != isinstance(objects[before], str):
            pair = objects[row], objects[before]
            now, then = ("text" if isinstance(each, str) else type(each).__name__ for each in pair)
            table.raise_bad_cell(
                column, row, f"{name} is {now} here, but {then} in row {before + 1}; make all ids of one type"
            )
