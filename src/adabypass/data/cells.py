"""One column's cells as numbers or text; the first that cannot be converted is named by its row."""

import re
from collections.abc import Sequence
from math import isnan
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np

from adabypass.data.zones import ZonedTimes
from adabypass.errors import BadCellError
from adabypass.validation import Floats

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Cells: TypeAlias = Array | Sequence[Any] | ZonedTimes

Decimal = Literal[".", ","]
MISSING = frozenset(["", "NA", "N/A", "n/a", "na", "NaN", "nan", "NAN", "null", "NULL", "None", "none"])
"""What a cell of text holds where there is no value."""


class Location(NamedTuple):
    """Where a column comes from, to be named in errors."""

    column: str
    source: str = ""
    """The file's name; "" for a data frame."""
    lines: Sequence[int] | None = None
    """The line of the file on which each row ends."""
    decimal: Decimal | None = None
    """The decimal sign of numbers in text; None where it is a point and the user cannot choose."""

    def raise_bad_cell(self, index: int, what: str) -> NoReturn:
        """Raise the error about the cell of row `index + 1`."""
        raise_bad_cell(self.column, index + 1, what, self.source, None if self.lines is None else self.lines[index])


def raise_bad_cell(column: str, row: int, what: str, source: str = "", line: int | None = None) -> NoReturn:
    """Raise the error about the cell of a row, counted from 1; 0 if the source says which row it is."""
    where = "" if line is None or line == row else f" (line {line})"
    number = f"row {row}, " if row else ""
    raise BadCellError(f'{source + ": " if source else ""}{number}column "{column}": {what}{where}')


def numbers(cells: Cells, location: Location) -> Floats:
    """Return cells as float64 numbers: nan where there is no value; infinities are refused."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        values = np.ascontiguousarray(cells, dtype=np.float64)
    else:
        cells = as_list(cells)
        pointed = cells
        if location.decimal == ",":
            pointed = [_with_point(cell, i, location) for i, cell in enumerate(cells)]
        fast = _floats(pointed)
        if fast is None:
            fast = _floats([None if isinstance(cell, str) and cell in MISSING else cell for cell in pointed])
        # A conversion of the whole column is fast; the bad cell is looked for only when that fails.
        values = fast if fast is not None else np.array([number(cell, i, location) for i, cell in enumerate(cells)])
    infinite = np.isinf(values)
    if infinite.any():
        at = int(np.flatnonzero(infinite)[0])
        location.raise_bad_cell(at, f"{show(cells[at])} {TOO_LARGE}")
    return values


TOO_LARGE = "is infinite or too large; leave the cell blank if the value is missing"


def number(cell: object, index: int, location: Location) -> float:
    """Return one cell, of row `index + 1`, as a number: nan where there is no value."""
    if cell is None or (isinstance(cell, str) and cell.strip() in MISSING):
        return np.nan
    pointed: Any = _with_point(cell, index, location) if location.decimal == "," else cell
    try:
        if isinstance(cell, str) and "_" in cell:  # Python would read 1_000 as a number
            raise ValueError
        return float(pointed)
    except OverflowError:
        location.raise_bad_cell(index, f"{show(cell)} is too large")
    except (TypeError, ValueError):
        comma = isinstance(cell, str) and re.fullmatch(r"\s*[+-]?[\d.' ]*,[\d.,' ]*\s*", cell)
        location.raise_bad_cell(
            index, f"{show(cell)} is not a number" + (_advice(str(cell), location) if comma else "")
        )


def _advice(cell: str, location: Location) -> str:
    """Return what to do about a number with a comma."""
    if location.decimal == "." and cell.count(",") == 1 and "." not in cell:
        return '; if the comma is its decimal sign, pass --decimal ","'
    return "; write a decimal point, and no separators"


def _with_point(cell: Any, index: int, location: Location) -> Any:
    """Return a cell of text with a decimal point instead of its comma; refuse one that has a point."""
    if not isinstance(cell, str):
        return cell
    if "." in cell:
        location.raise_bad_cell(
            index, f'{show(cell)} is not a number with a decimal comma; leave --decimal "," out, or remove the points'
        )
    return cell.replace(",", ".")


def text(cells: Cells) -> list[str]:
    """Return cells as text; "" where there is no value."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        return ["" if stamp == "NaT" else str(stamp) for stamp in np.datetime_as_string(cells)]
    if isinstance(cells, ZonedTimes):
        return ["" if stamp == "NaT" else stamp for stamp in cells]
    return ["" if is_missing(cell) else str(cell) for cell in as_list(cells)]


def as_list(cells: Cells) -> list[Any]:
    """Return cells as Python objects."""
    return cells.tolist() if isinstance(cells, np.ndarray) else list(cells)


def is_missing(cell: object) -> bool:
    """Return whether a cell is None or nan."""
    return cell is None or (isinstance(cell, float) and isnan(cell))


def show(cell: object) -> str:
    """Return a cell for an error: text in quotes, and no more than 60 characters."""
    shown = f'"{cell}"' if isinstance(cell, str) else _digits(cell) if isinstance(cell, int) else str(cell)
    return shown if len(shown) <= 60 else shown[:56] + "..." + '"' * isinstance(cell, str)


def _digits(number: int) -> str:
    # Python refuses to write integers of thousands of digits.
    return str(number) if abs(number) < 10**60 else f"an integer of {int(0.30103 * number.bit_length()) + 1} digits"


def _floats(cells: list[Any]) -> Floats | None:
    """Return all cells as numbers; None if one of them is not a number."""
    if any("_" in cell for cell in cells if isinstance(cell, str)):
        return None
    try:
        values = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return values if values.shape == (len(cells),) else None
