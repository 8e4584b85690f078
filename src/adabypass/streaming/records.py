"""Records of Python's own objects: dicts, data frames, and whatever yields dicts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from adabypass.data import cells, from_frame
from adabypass.data.rows import OnAbsent, chooser
from adabypass.errors import ParameterError, TableError
from adabypass.streaming.rows import Columns
from adabypass.validation import as_tuple, shown


class RecordSource:
    """Records that a caller passes, one batch after another.

    Parameters
    ----------
    columns : Columns
        Which are read.

    Attributes
    ----------
    row, line : int
        The number of the newest record in its batch, from 1.
    """

    source = ""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.row = self.line = 0
        self._batch: Any = ()

    @property
    def place(self) -> "RecordSource":
        """Where the newest record is."""
        return self

    @property
    def number(self) -> int:
        """The number of the newest record in its batch."""
        return self.row

    def read(self, batch: Any) -> Iterator[Sequence[Any]]:
        """Yield the cells of each record of a batch."""
        self._batch = batch
        return self.select(self._columns.read)

    def select(self, names: Sequence[str], on_absent: OnAbsent | None = None) -> Iterator[Sequence[Any]]:
        """Yield the cells of these columns, for each record of the batch."""
        columns = self._columns
        start = len(columns.targets) + len(columns.exog)
        is_plain = len(names) == start
        self.row = self.line = 0
        for record in _cells(self._batch, names):
            self.row = self.line = self.row + 1
            if is_plain:
                yield record
                continue
            rest = [_plain(cell) for cell in record[start:]]
            yield [*record[:start], *rest]

    def prefix(self, number: int) -> str:
        """Return how an error about the record of this number begins."""
        return f"row {number}, "

    def labels(self, number: int) -> dict[str, int]:
        """Return where the record of this number was, by names."""
        return {"row": number}

    def header_again(self) -> TableError | None:
        """Return None: such records have no header."""
        return None

    def is_header_again(self) -> bool:
        """Return False: such records have no header."""
        return False

    def text(self) -> str:
        """Return nothing: whoever passed the record has it."""
        return ""


def names_of(value: Any, name: str) -> tuple[str, ...]:
    """Return names of columns: of one, of several, or of none."""
    found = () if value is None else (value,) if isinstance(value, str) else as_tuple(value)
    if found is None or not all(isinstance(each, str) and each for each in found) or len(set(found)) < len(found):
        raise ParameterError(f"{name} is {shown(value)}, but must be the name of a column, or several names.")
    return found


def _plain(cell: Any) -> Any:
    """Return an id or a time as JSON has it."""
    plain = cell.item() if isinstance(cell, np.integer | np.floating | np.bool_ | np.str_) else cell
    if isinstance(plain, date):  # also a datetime, and pandas' own
        return plain.isoformat()
    return str(plain) if isinstance(plain, np.datetime64) else plain


def _cells(batch: Any, names: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Yield the cells of these names of each record."""
    if isinstance(batch, Mapping) and not any(_is_column(value) for value in batch.values()):
        batch = [batch]
    if isinstance(batch, list | tuple) or (isinstance(batch, Iterator) and not hasattr(batch, "read_next_batch")):
        yield from _of_dicts(batch, names)
        return
    if hasattr(batch, "__len__") and len(batch) == 0:
        return
    table = from_frame(_as_frame(batch))
    columns = (table.cells(name) for name in names)
    yield from zip(*(cells.as_list(each) if not _is_time(each) else list(each) for each in columns), strict=True)


def _of_dicts(records: Iterable[Any], names: Sequence[str]) -> Iterator[Sequence[Any]]:
    choose = chooser(names)
    for at, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise TableError(f"row {at + 1} is {shown(record)}, but must be a dict of values by name.")
        try:
            yield choose(record if isinstance(record, dict) else dict(record))
        except KeyError as missing:
            raise TableError(
                f"row {at + 1} has no {missing.args[0]!r}, but only {', '.join(map(repr, record))}; pass None "
                "where a value is missing."
            ) from None


def _is_column(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | Mapping)


def _as_frame(batch: Any) -> Any:
    """Return what a frame is made of; a batch of Arrow's is a table of one batch."""
    if type(batch).__module__.partition(".")[0] == "pyarrow":
        import pyarrow  # noqa: PLC0415  (the caller has it)

        if isinstance(batch, pyarrow.RecordBatch):
            return pyarrow.Table.from_batches([batch])
        if isinstance(batch, pyarrow.RecordBatchReader):
            return batch.read_all()
    return batch


def _is_time(column: Any) -> bool:
    """Return whether a column is an array of dates, whose items would lose their unit as Python's objects."""
    return isinstance(column, np.ndarray) and column.dtype.kind == "M"
