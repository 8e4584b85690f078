"""A table: named columns, asked for as numbers, times or text."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

import numpy as np

from adabypass.errors import TableError, UnknownNameError
from adabypass.tables import cells, frames
from adabypass.tables.cells import Array, Cells, Place
from adabypass.validation import Floats


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
        like: Callable[[Mapping[str, Array]], Any] = dict,
    ) -> None:
        self._columns = dict(columns)
        self._source, self._lines, self._like = source, lines, like
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
        """Give a column as float64; nan where a cell is blank, NA, NaN, null or None.

        Raises
        ------
        BadCellError
            If a cell holds something else, or an infinity; its row is counted from 1 below the header.
        """
        return cells.numbers(self._column(name), self._place(name))

    def times(self, name: str) -> Array:
        """Give a column as times: datetime64, or int64 or float64 if it holds plain numbers.

        Dates and date-times are those of ISO 8601; those with a zone are converted to UTC. Whole numbers that are all
        dates written as 20140131 are dates. A missing time is an error.
        """
        return cells.times(self._column(name), self._place(name))

    def text(self, name: str) -> list[str]:
        """Give a column as text; "" where a cell is missing."""
        return cells.text(self._column(name))

    def holds_integers(self, name: str) -> bool:
        """Whether a column came as whole numbers, not as text."""
        column = self._column(name)
        return isinstance(column, np.ndarray) and column.dtype.kind in "iu"

    def raise_bad_cell(self, name: str, row: int, why: str) -> NoReturn:
        """Raise an error about the cell in a row, counted from 0."""
        self._place(name).refuse(row, why)

    def like(self, columns: Mapping[str, Array]) -> Any:
        """Make a frame of the kind the table came from; a dict, if it came from a file or a dict."""
        return self._like(columns)

    def _column(self, name: str) -> Cells:
        if name not in self._columns:
            where = f"{self._source}: " if self._source else ""
            raise UnknownNameError(where + no_such_column(str(name), self.names))
        return self._columns[name]

    def _place(self, name: str) -> Place:
        return Place(name, self._source, self._lines)


def from_frame(frame: Any, *, source: str = "") -> Table:
    """Take the columns of a data frame: pandas, polars, a pyarrow table, or a dict of arrays.

    A named index of pandas counts as a column. `table.like` makes frames of the same kind.
    """
    if isinstance(frame, np.ndarray):
        raise TableError(
            f"an array of shape {frame.shape} has no column names; pass a data frame, or a dict of its columns, as in "
            '{"y": array[:, 0]}.'
        )
    if isinstance(frame, Mapping):
        return Table({str(name): _dict_column(str(name), column) for name, column in frame.items()}, source=source)
    columns = frames.columns(frame)
    check_names([name for name, _ in columns], source)
    return Table(dict(columns), source=source, like=lambda new: frames.make_like(new, frame))


def no_such_column(name: str, names: Sequence[str]) -> str:
    """Say that a column is not there, and which is the nearest."""
    near = get_close_matches(name, names)
    near.sort(key=lambda other: sorted(other.lower()) != sorted(name.lower()))  # letters changed places: likeliest
    hint = f' did you mean "{near[0]}"? The' if near else " the"
    return f'there is no column "{name}";{hint} columns are {_listed(names)}.'


def check_names(names: Sequence[str], source: str) -> None:
    """Check that every column has a name of its own."""
    where = f"{source}: " if source else ""
    if not names:
        raise TableError(f"{where or 'the table '}has no columns.")
    for i, name in enumerate(names):
        if not name.strip():
            raise TableError(f"{where}column {i + 1} has no name; give it one.")
        if name in names[:i]:
            raise TableError(
                f'{where}columns {names.index(name) + 1} and {i + 1} are both named "{name}"; rename one of them.'
            )


def _dict_column(name: str, column: Any) -> Cells:
    if isinstance(column, np.ma.MaskedArray):
        column = column.tolist()
    elif not isinstance(column, np.ndarray | list | tuple):
        column = frames.series_cells(column)
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise TableError(f'column "{name}" has shape {column.shape}, but a column has one dimension.')
    cells_: Cells = column
    return cells_


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:20])
    return shown + f" and {len(names) - 20} more" * (len(names) > 20)
