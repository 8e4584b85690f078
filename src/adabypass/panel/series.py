"""The series of a table, one or many, each on a regular grid of time."""

from typing import Any, NamedTuple

import numpy as np

from adabypass import timegrid
from adabypass.errors import NotEnoughDataError
from adabypass.panel.columns import Columns
from adabypass.tables import Array, Table
from adabypass.validation import Floats


class Series(NamedTuple):
    """One series on a regular grid; nan where nothing was observed."""

    name: str
    """The id as text; "" if the table holds one series."""
    y: Floats
    exog: Floats | None
    time: Array | None
    """None where rows have no time but their order."""
    future_exog: Floats | None
    """Exogenous values of the rows at the end that have no target yet."""
    columns: Columns
    rows: "np.ndarray[Any, np.dtype[np.int64]]"
    """The row of the table at each time, those of `future_exog` included, counted from 0; -1 where there is none."""
    table: Table

    def following(self, n: int) -> Array:
        """Return the next `n` times; without times, the numbers of the rows, counted from 1."""
        if self.time is None:
            return len(self.y) + 1 + np.arange(n)
        return timegrid.following(self.time, n, self.columns.freq, name=self.columns.time or "time")

    def exog_ahead(self, horizon: int) -> Floats | None:
        """Return the exogenous values of the next `horizon` steps, with the calendar's features."""
        parts = []
        if self.columns.exog:
            given = np.empty((0, 0)) if self.future_exog is None else self.future_exog
            if len(given) < horizon:
                raise NotEnoughDataError(
                    f"{horizon} steps ahead need as many rows of {', '.join(self.columns.exog)} after the last "
                    f'"{self.columns.target}", with that cell blank; there are {len(given)}.'
                )
            parts.append(given[:horizon])
        if self.columns.calendar:
            parts.append(timegrid.calendar(self.following(horizon), self.columns.calendar)[0])
        return np.column_stack(parts) if parts else None

    def check_exog(self, horizon: int, remedy: str) -> None:
        """Check that no exogenous value is missing, up to `horizon` steps ahead.

        Parameters
        ----------
        horizon : int
        remedy : str
            What the error advises besides filling the value, in the words of the caller's interface.
        """
        if self.exog is None or not self.columns.exog:
            return
        known = self.exog[:, : len(self.columns.exog)]
        ahead = np.empty((0, known.shape[1])) if self.future_exog is None else self.future_exog[:horizon]
        missing = np.argwhere(np.isnan(np.concatenate([known, ahead])))
        if not len(missing):
            return
        at, column = (int(i) for i in missing[0])
        name = self.columns.exog[column]
        if self.rows[at] >= 0:
            self.table.raise_bad_cell(name, int(self.rows[at]), f"is blank; fill it, or {remedy}")
        time = self.following(at + 1 - len(self.y))[-1] if at >= len(self.y) else self._time_at(at)
        source = f"{self.table.source}: " if self.table.source else ""
        raise NotEnoughDataError(
            f'{source}there is no row for {time} ("{self.columns.time}"), so "{name}" is not known then; '
            f"add the row, or {remedy}."
        )

    def _time_at(self, at: int) -> Any:
        return at + 1 if self.time is None else self.time[at]


class Panel:
    """The series of a table, in the order in which they first appear; each is made when it is asked for.

    Parameters
    ----------
    table : Table
    columns : Columns
        Which columns mean what.
    """

    def __init__(self, table: Table, columns: Columns) -> None:
        self.table, self.columns = table, columns.found_in(table)
        self._target = table.numbers(self.columns.target)
        self._time = None if self.columns.time is None else table.times(self.columns.time)
        exog = [table.numbers(name) for name in self.columns.exog]
        self._exog = np.column_stack(exog) if exog else None
        self._rows: dict[str, Any] = {}
        if self.columns.id is None:
            self._rows[""] = np.arange(len(table))
        else:
            for row, name in enumerate(table.text(self.columns.id)):
                self._rows.setdefault(name, []).append(row)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def names(self) -> list[str]:
        """The ids of the series."""
        return list(self._rows)

    def n_rows(self, name: str) -> int:
        """Return how many rows of the table a series has."""
        return len(self._rows[name])

    def series(self, name: str) -> Series:
        """Return a series on its grid of time."""
        rows, columns = np.asarray(self._rows[name], dtype=np.int64), self.columns
        y, x = self._target[rows], None if self._exog is None else self._exog[rows]
        if np.isnan(y).all():
            raise NotEnoughDataError(f'there is nothing to learn from: every "{columns.target}" is blank.')
        grid_time = None
        if self._time is not None:  # the rows ahead too, so that each value goes with its time
            stamps = self._time[rows]
            grid = timegrid.regular(
                stamps, _default_freq(stamps, columns), name=str(columns.time), rows=[int(row) + 1 for row in rows]
            )
            y, grid_time = grid.fill(y), grid.time
            x = None if x is None else grid.fill(x)
            on_grid = np.full(len(y), -1)
            on_grid[grid.place] = rows
            rows = on_grid
        future = None
        if x is not None:  # rows at the end with a blank target hold the exogenous values of the future
            n = len(y) - int(np.argmax(~np.isnan(y[::-1])))
            y, x, future = y[:n], x[:n], x[n:]
            grid_time = None if grid_time is None else grid_time[:n]
        if columns.calendar and grid_time is not None:
            cycles = timegrid.calendar(grid_time, columns.calendar)[0]
            x = cycles if x is None else np.column_stack([x, cycles])
        return Series(name, y, x, grid_time, future, columns, rows, self.table)


def _default_freq(time: Array, columns: Columns) -> Any:
    """Return any frequency where a single time has none."""
    if columns.freq is None and len(time) == 1:
        return 1 if time.dtype.kind != "M" else np.timedelta64(1, "D")
    return columns.freq
