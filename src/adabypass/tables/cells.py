"""One column's cells as numbers, times or text; the first that cannot be is named by its row."""

import re
from collections.abc import Callable, Sequence
from datetime import date
from math import isnan
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from adabypass.errors import BadCellError, TimeOrderError
from adabypass.validation import Floats

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Cells: TypeAlias = Array | Sequence[Any]

MISSING = frozenset(["", "NA", "N/A", "n/a", "na", "NaN", "nan", "NAN", "null", "NULL", "None", "none"])
"""What a cell of text holds where there is no value."""

_ISO = re.compile(
    r"\s*(\d{4}-\d\d(?:-\d\d(?:[T ]\d\d(?::\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?)?)?)\s*(Z|z|[+-]\d\d(?::?\d\d)?)?\s*",
    re.ASCII,
)
_TIME_HINT = "write times as in 2014-02-01 or 2014-02-01T13:30 (ISO 8601), or as plain numbers"


class Place(NamedTuple):
    """Where a column stands, to be named in errors."""

    column: str
    source: str = ""
    """The file's name; nothing for a data frame."""
    lines: Sequence[int] | None = None
    """The line of the file on which each row ends."""

    def refuse(self, index: int, what: str) -> NoReturn:
        """Raise the error about the cell of row `index + 1`."""
        line = "" if self.lines is None or self.lines[index] == index + 1 else f" (line {self.lines[index]})"
        source = f"{self.source}: " if self.source else ""
        raise BadCellError(f'{source}row {index + 1}, column "{self.column}": {what}{line}')


def numbers(cells: Cells, place: Place) -> Floats:
    """Make float64 numbers of cells: nan where there is no value; infinities are refused."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        values = np.ascontiguousarray(cells, dtype=np.float64)
    else:
        cells = as_list(cells)
        fast = _floats(cells)
        if fast is None:
            fast = _floats([None if isinstance(cell, str) and cell in MISSING else cell for cell in cells])
        # A conversion of the whole column is fast; the bad cell is looked for only when that fails.
        values = fast if fast is not None else np.array([number(cell, i, place) for i, cell in enumerate(cells)])
    infinite = np.isinf(values)
    if infinite.any():
        at = int(np.flatnonzero(infinite)[0])
        place.refuse(at, f"{show(cells[at])} is infinite or too large; leave the cell blank if the value is missing")
    return values


def times(cells: Cells, place: Place) -> Array:
    """Make times of cells: datetime64 in UTC of dates, int64 or float64 of plain numbers."""
    values = cells if isinstance(cells, np.ndarray) and cells.dtype.kind in "iufM" else _times_of_list(cells, place)
    if values.dtype.kind == "u":
        values = values.astype(np.int64)
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
    blank = np.isnat(values) if values.dtype.kind == "M" else ~np.isfinite(values)
    if blank.any():
        at = int(np.flatnonzero(blank)[0])
        place.refuse(at, f"{show(cells[at])} is no time, but every row needs one")
    return _compact_dates(values) if values.dtype.kind == "i" else values


def text(cells: Cells) -> list[str]:
    """Make text of cells; nothing where there is no value."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        return ["" if stamp == "NaT" else str(stamp) for stamp in np.datetime_as_string(cells)]
    return ["" if is_missing(cell) else str(cell) for cell in as_list(cells)]


def check_increasing(times: Array, name: str, rows: Sequence[int] | None = None) -> None:
    """Check that each time is later than the one before it.

    Parameters
    ----------
    times : array (n,)
        Numbers or datetime64.
    name : str
        The column they come from.
    rows : sequence of n whole numbers, optional
        The row each of them stands in, counted from 1; by default 1, 2, 3, ...
    """
    late = np.flatnonzero(~(times[1:] > times[:-1]))
    if not len(late):
        return
    at = int(late[0]) + 1
    before, row = (at, at + 1) if rows is None else (rows[at - 1], rows[at])
    if times[at] == times[at - 1]:
        raise TimeOrderError(
            f'row {row}, column "{name}": {times[at]} is also the time of row {before}; keep one row for each time, '
            "or name the column that tells the series apart."
        )
    raise TimeOrderError(
        f'row {row}, column "{name}": {times[at]} is earlier than {times[at - 1]} in row {before}; '
        f'sort the rows by "{name}".'
    )


def as_list(cells: Cells) -> list[Any]:
    """Make Python objects of cells."""
    return cells.tolist() if isinstance(cells, np.ndarray) else list(cells)


def is_missing(cell: object) -> bool:
    """Tell whether a cell is None or nan."""
    return cell is None or (isinstance(cell, float) and isnan(cell))


def show(cell: object) -> str:
    """Quote a cell, briefly."""
    shown = f'"{cell}"' if isinstance(cell, str) else str(cell)
    return shown if len(shown) <= 60 else shown[:56] + "..." + '"' * isinstance(cell, str)


def _floats(cells: list[Any]) -> Floats | None:
    """Convert all cells at once, or none."""
    if any("_" in cell for cell in cells if isinstance(cell, str)):  # Python would read 1_000 as a number
        return None
    try:
        values = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return values if values.shape == (len(cells),) else None


def number(cell: object, index: int, place: Place) -> float:
    """Make a number of one cell, of row `index + 1`: nan where there is no value."""
    if cell is None or (isinstance(cell, str) and cell.strip() in MISSING):
        return np.nan
    try:
        if isinstance(cell, str) and "_" in cell:
            raise ValueError
        return float(cell)  # type: ignore[arg-type]
    except OverflowError:
        place.refuse(index, f"{show(cell)} is too large")
    except (TypeError, ValueError):
        comma = isinstance(cell, str) and re.fullmatch(r"\s*[+-]?[\d.' ]*,[\d.,' ]*\s*", cell)
        place.refuse(
            index, f"{show(cell)} is not a number" + "; write a decimal point, and no separators" * bool(comma)
        )


def _times_of_list(cells: Cells, place: Place) -> Array:
    cells = as_list(cells)
    blank = next((i for i, cell in enumerate(cells) if cell is None or (isinstance(cell, str) and cell in MISSING)), -1)
    if blank >= 0:
        place.refuse(blank, "is blank, but every row needs a time")
    if not any(isinstance(cell, bool) for cell in cells):
        for kind in (int, float):
            plain = _plain_numbers(cells, kind)
            if plain is not None:
                return plain
    return _iso(cells, place)


def _plain_numbers(cells: list[Any], kind: Callable[[Any], Any]) -> Array | None:
    try:
        if kind is int and any(isinstance(cell, float) for cell in cells):
            return None
        return np.array([kind(cell) for cell in cells], dtype=np.int64 if kind is int else np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def _compact_dates(values: Array) -> Array:
    """Read 20140131 as a date, if the whole column can be: as step numbers, a month would end in a gap of 70."""
    year, month, day = values // 10000, values // 100 % 100, values % 100
    if not ((year >= 1800) & (year < 2200) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all():
        return values
    months = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    return days if (days.astype("M8[M]") == months).all() else values


def _iso(cells: list[Any], place: Place) -> Array:
    """Read dates and date-times of ISO 8601; those with a zone are converted to UTC."""
    stamps = [cell if isinstance(cell, str) else _iso_text(cell) for cell in cells]
    found = [_ISO.fullmatch(stamp) for stamp in stamps]
    for i, match in enumerate(found):
        if match is None:
            place.refuse(i, f"{show(cells[i])} is not a time; {_TIME_HINT}")
    parts = [match.groups() for match in found if match is not None]
    try:
        local = _stamps([stamp.replace(",", ".") for stamp, _ in parts])
    except ValueError:
        _find_impossible(stamps, parts, place)
    zoned = [zone is not None for _, zone in parts]
    if not any(zoned):
        return local
    if not all(zoned):
        at = zoned.index(not zoned[0])
        place.refuse(at, f"{show(cells[at])} has {'no' if zoned[0] else 'a'} zone, unlike the rows before it")
    in_utc: Array = local - np.array([_offset(zone) for _, zone in parts], dtype="m8[m]")
    return in_utc


def _stamps(texts: list[str]) -> Array:
    """Read times, in the unit of the finest of them."""
    if max(map(len, texts)) > len("2014-02-01T13:30:00.123456") and not all("1678" < t[:4] < "2262" for t in texts):
        texts = [t[:26] for t in texts]  # nanoseconds since 1970 do not reach so far
    return np.array(texts, dtype="datetime64")


def _iso_text(cell: object) -> str:
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def _find_impossible(stamps: list[str], parts: list[tuple[Any, ...]], place: Place) -> NoReturn:
    for i, (stamp, _) in enumerate(parts):
        try:
            np.datetime64(stamp.replace(",", "."))
        except ValueError:
            place.refuse(i, f"{show(stamps[i])} is not in the calendar")
    raise AssertionError("a time that can be read alone can be read among others")


def _offset(zone: str) -> int:
    """Tell the minutes by which a zone is ahead of UTC."""
    if zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (-1 if zone[0] == "-" else 1) * (60 * int(digits[:2]) + int(digits[2:]))
