"""A table: named columns, asked for as numbers, times or text."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn, TypeAlias

import numpy as np

from adabypass.data import cells, frames
from adabypass.data.cells import Array, Cells, Decimal, Location
from adabypass.data.times import times
from adabypass.data.zones import Times, ZonedTimes
from adabypass.errors import TableError, UnknownNameError
from adabypass.validation import Floats

MAX_COMPARED = 1000
"""Maximum number of names among which the one nearest to a misspelt name is looked for."""
Column: TypeAlias = Array | ZonedTimes
"""A column to be written, or put into a data frame."""


class Table:
    """Named columns of a file or a data frame. Made by `read` and `from_frame`.

    Examples
    --------
    >>> table = from_frame({"date": ["2014-01-01", "2014-01-02"], "y": ["1.5", "NA"]})
    >>> table.names, len(table)
    (['date', 'y'], 2)
    >>> table.numbers("y")
    array([1.5, nan])
    >>> table.times("date")
    array(['2014-01-01', '2014-01-02'], dtype='datetime64[D]')
    """

    def __init__(
        self,
        columns: Mapping[str, Cells],
        *,
        source: str = "",
        lines: Sequence[int] | None = None,
        like: Callable[[Mapping[str, Column]], Any] | None = None,
        time_index: str | None = None,
        decimal: Decimal | None = None,
    ) -> None:
        self._columns = dict(columns)
        self._source, self._lines, self._like = source, lines, _plain_dict if like is None else like
        self._decimal = decimal
        self.time_index = time_index
        """The column that was an index of dates or periods; None if there was none."""
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise TableError(f"the columns have different lengths: {lengths}; each row needs a cell in every column.")
        self._length = next(iter(lengths.values()), 0)
        check_names(list(self._columns), source)
        if not self._length:
            raise TableError(f"{source or 'the table'} has the columns {_listed(self.names)}, but no rows.")

    @property
    def names(self) -> list[str]:
        """The columns' names, in their order."""
        return list(self._columns)

    @property
    def source(self) -> str:
        """The file the table was read from; nothing for a data frame."""
        return self._source

    def __len__(self) -> int:
        return self._length

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __repr__(self) -> str:
        return f"Table({self._source + ': ' if self._source else ''}{self._length} rows of {_listed(self.names)})"

    def numbers(self, name: str) -> Floats:
        """Return a column as float64; nan where a cell is blank, NA, NaN, null or None.

        Raises
        ------
        BadCellError
            If a cell holds something else, or an infinity; its row is counted from 1 below the header.
        """
        return cells.numbers(self._column(name), self._location(name))

    def times(self, name: str) -> Array:
        """Return a column as times: datetime64, or int64 or float64 if it holds plain numbers.

        Dates and date-times are those of ISO 8601; those with a zone are converted to UTC, and `zoned_times` returns
        the zone with them. Whole numbers that are all dates written as 20140131 are dates. A missing time is an error.
        """
        return self.zoned_times(name).values

    def zoned_times(self, name: str) -> Times:
        """Return a column as times, as `times` does, with their zone."""
        return times(self._column(name), self._location(name))

    def text(self, name: str) -> list[str]:
        """Return a column as text; "" where a cell is missing."""
        return cells.text(self._column(name))

    def cells(self, name: str) -> Cells:
        """Return a column's cells as they came: an array, or a list."""
        return self._column(name)

    def raise_bad_cell(self, name: str, row: int, why: str) -> NoReturn:
        """Raise an error about the cell in a row, counted from 0."""
        self._location(name).raise_bad_cell(row, why)

    def like(self, columns: Mapping[str, Column]) -> Any:
        """Return a frame of the kind the table came from; a dict of arrays if it came from a file or a dict."""
        return self._like(columns)

    def _column(self, name: str) -> Cells:
        if name not in self._columns:
            where = f"{self._source}: " if self._source else ""
            raise UnknownNameError(where + no_such_column(str(name), self.names))
        return self._columns[name]

    def _location(self, name: str) -> Location:
        return Location(name, self._source, self._lines, self._decimal)


def from_frame(frame: Any, *, source: str = "") -> Table:
    """Return the columns of a data frame as a table: pandas, polars, a pyarrow table, or a dict of arrays.

    A named index of pandas counts as a column, and so does an index of dates or periods without a name: it is called
    "ds". `table.like` makes frames of the same kind.
    """
    if isinstance(frame, np.ndarray):
        raise TableError(
            f"an array of shape {frame.shape} has no column names; pass a data frame, or a dict of its columns, as in "
            '{"y": array[:, 0]}.'
        )
    if isinstance(frame, Mapping):
        return Table({str(name): _dict_column(str(name), column) for name, column in frame.items()}, source=source)
    columns, time_index = frames.columns(frame)
    check_names([name for name, _ in columns], source)
    return Table(dict(columns), source=source, like=lambda new: frames.make_like(new, frame), time_index=time_index)


def no_such_column(name: str, names: Sequence[str]) -> str:
    """Return the sentence that a column is not there, and which name is the nearest."""
    near = get_close_matches(name, names[:MAX_COMPARED])
    near.sort(key=lambda other: sorted(other.lower()) != sorted(name.lower()))  # letters changed places: likeliest
    hint = f' did you mean "{near[0]}"? The' if near else " the"
    return f'there is no column "{name}";{hint} columns are {_listed(names)}.'


def check_names(names: Sequence[str], source: str) -> None:
    """Check that every column has a name of its own."""
    where = f"{source}: " if source else ""
    if not names:
        raise TableError(f"{where or 'the table '}has no columns.")
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if not name.strip():
            raise TableError(f"{where}column {i + 1} has no name; give it one.")
        if first.setdefault(name, i) != i:
            raise TableError(
                f'{where}columns {first[name] + 1} and {i + 1} are both named "{name}"; rename one of them.'
            )


def _plain_dict(columns: Mapping[str, Column]) -> dict[str, Array]:
    """Return columns as arrays: of text or of Python's datetimes where they have a zone."""
    return {
        name: column
        if isinstance(column, np.ndarray)
        else np.array(column.text() if column.as_text else column.datetimes())
        for name, column in columns.items()
    }


def _dict_column(name: str, column: Any) -> Cells:
    if isinstance(column, np.ma.MaskedArray):
        column = column.tolist()
    elif not isinstance(column, np.ndarray | list | tuple | ZonedTimes):
        column = frames.series_cells(column)
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise TableError(f'column "{name}" has shape {column.shape}, but a column has one dimension.')
    cells_: Cells = column
    return cells_


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:20])
    return shown + f" and {len(names) - 20} more" * (len(names) > 20)
