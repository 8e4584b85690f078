"""One column's cells as times: dates of ISO 8601 and of data frames, with their zone, or plain numbers."""

import re
import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from adabypass.data.cells import MISSING, Array, Cells, Location, as_list, show
from adabypass.data.zones import ObservedOffsets, Times, Zone, ZonedTimes, coarsest, offset_text
from adabypass.errors import BadCellError, TimeOrderError, UnknownNameError

MAX_CLOCK_CHANGE = np.timedelta64(3, "h")
"""Offsets of one series that differ by more are those of different zones."""

MAX_FLOAT = sys.float_info.max
"""Largest time that is a number: so large a one can still be compared with any other, and written."""
_ISO = re.compile(
    r"\s*(\d{4}-\d\d(?:-\d\d(?:[T ]\d\d(?::\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?)?)?)"
    r"\s*(Z|z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?\s*",
    re.ASCII,
)
_HINT = "write times as in 2014-02-01 or 2014-02-01T13:30 (ISO 8601), or as plain numbers"


def times(cells: Cells, location: Location) -> Times:
    """Return cells as times: datetime64 for dates, in UTC where they have a zone; int64 or float64 for numbers."""
    if isinstance(cells, ZonedTimes):
        found = Times(cells.utc, None if cells.zone is None else Zone.named(cells.zone), cells.as_text)
    elif isinstance(cells, np.ndarray) and cells.dtype.kind in "iufM":
        found = Times(cells)
    else:
        found = _from_list(as_list(cells), location)
    values = found.values
    if values.dtype.kind == "u":
        _check_within_int64(values, location)
        values = values.astype(np.int64)
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
    blank = np.isnat(values) if values.dtype.kind == "M" else ~np.isfinite(values)
    if blank.any():
        at = int(np.flatnonzero(blank)[0])
        location.raise_bad_cell(at, f"{show(cells[at])} is no time, but every row needs one")
    return found._replace(values=_compact_dates(values) if values.dtype.kind == "i" else values)


def check_increasing(
    times: Array, name: str, rows: Sequence[int] | None = None, zone: Zone | None = None, source: str = ""
) -> None:
    """Check that each time is later than the one before it.

    Parameters
    ----------
    times : array (n,)
        Numbers or datetime64.
    name : str
        The column they come from.
    rows : sequence of n whole numbers, optional
        The row of each of them, counted from 1; by default 1, 2, 3, ...
    zone : Zone, optional
        In which errors show the times, which are in UTC.
    source : str
        The file that errors name; "" for none.
    """
    late = np.flatnonzero(~(times[1:] > times[:-1]))
    if not len(late):
        return
    at = int(late[0]) + 1
    before, row = (at, at + 1) if rows is None else (rows[at - 1], rows[at])
    where = f"{source}: " if source else ""
    shown, shown_before = show_time(times[at], zone), show_time(times[at - 1], zone)
    if times[at] == times[at - 1]:
        raise TimeOrderError(
            f'{where}row {row}, column "{name}": {shown} is also the time of row {before}; keep one row for each time, '
            "or name the column of ids if there are several series."
        )
    raise TimeOrderError(
        f'{where}row {row}, column "{name}": {shown} is earlier than {shown_before} in row {before}; '
        f'sort the rows by "{name}".'
    )


def show_time(time: Any, zone: Zone | None = None) -> str:
    """Return one time for an error: ISO 8601 without needless zeros, with the offset of its zone."""
    if not isinstance(time, np.datetime64):
        return str(time)
    stamp = str(time) if zone is None else ZonedTimes.of(np.array([time]), zone)[0]
    return re.sub(r"(T\d\d:\d\d(?::\d\d)?)\.0+(?!\d)", r"\1", stamp)


def parse_time(cell: object) -> int | float | datetime:
    """Return one time as a finite number, or as a datetime without a zone, in UTC if there was one.

    A cell of text is read as `times` reads it, in a column of which nothing more is known yet. A datetime has
    microseconds: digits beyond are dropped.

    Examples
    --------
    >>> parse_time("2014-02-01T13:30+01:00"), parse_time("17")
    (datetime.datetime(2014, 2, 1, 12, 30), 17)
    """
    number: object = cell
    if isinstance(cell, str):
        try:
            number = int(cell) if "_" not in cell else cell
        except ValueError:
            try:
                number = float(cell)
            except ValueError:
                return _parse_iso(cell)
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not is_number or not -MAX_FLOAT <= number <= MAX_FLOAT:  # type: ignore[operator]
        raise BadCellError(f"{show(cell)} is not a time.")
    return number  # type: ignore[return-value]


def _parse_iso(text: str) -> datetime:
    """Return a date or a date-time of ISO 8601 as a datetime."""
    match = _ISO.fullmatch(text)
    if match is None:
        raise BadCellError(f"{show(text)} is not a time.")
    stamp, offset = match.groups()
    try:
        local = datetime.fromisoformat(stamp if len(stamp) > len("2014-02") else f"{stamp}-01")
        return local if offset is None else local - _ahead_of_utc(offset)
    except ValueError:
        raise BadCellError(f"{show(text)} is not a time: it is not in the calendar.") from None
    except OverflowError:
        raise BadCellError(f"{show(text)} is not a time: in UTC, it is beyond the calendar.") from None


def _check_within_int64(values: Array, location: Location) -> None:
    beyond = np.flatnonzero(values > np.iinfo(np.int64).max)
    if len(beyond):
        at = int(beyond[0])
        location.raise_bad_cell(at, f"{values[at]} is too large for a time; the largest is 2^63 - 1")


def _from_list(cells: list[Any], location: Location) -> Times:
    blank = next((i for i, cell in enumerate(cells) if cell is None or (isinstance(cell, str) and cell in MISSING)), -1)
    if blank >= 0:
        location.raise_bad_cell(blank, "is blank, but every row needs a time")
    if not any(isinstance(cell, bool) for cell in cells):
        for kind in (int, float):
            plain = _plain_numbers(cells, kind, location)
            if plain is not None:
                return Times(plain)
    return _iso(cells, location)


def _plain_numbers(cells: list[Any], kind: Callable[[Any], Any], location: Location) -> Array | None:
    try:
        if kind is int and any(isinstance(cell, float) for cell in cells):
            return None
        pointed = kind is float and location.decimal == ","
        values = [kind(cell.replace(",", ".") if pointed and isinstance(cell, str) else cell) for cell in cells]
    except (TypeError, ValueError, OverflowError):
        return None
    if kind is int:
        beyond = next((i for i, value in enumerate(values) if not -(2**63) <= value < 2**63), -1)
        if beyond >= 0:
            location.raise_bad_cell(beyond, f"{show(cells[beyond])} is too large for a time; the largest is 2^63 - 1")
    return np.array(values, dtype=np.int64 if kind is int else np.float64)


def _compact_dates(values: Array) -> Array:
    """Return 20140131 as a date, if the whole column can be: as numbers, a month would end in a gap of 70."""
    year, month, day = values // 10000, values // 100 % 100, values % 100
    if not ((year >= 1800) & (year < 2200) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all():
        return values
    months = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1).astype("m8[D]")
    return days if (days.astype("M8[M]") == months).all() else values


def _iso(cells: list[Any], location: Location) -> Times:
    """Return dates and date-times of ISO 8601; those with an offset in UTC."""
    stamps = [cell if isinstance(cell, str) else _iso_text(cell) for cell in cells]
    found = [_ISO.fullmatch(stamp) for stamp in stamps]
    for i, match in enumerate(found):
        if match is None:
            location.raise_bad_cell(i, f"{show(cells[i])} is not a time; {_HINT}")
    parts = [match.groups() for match in found if match is not None]
    try:
        local = _stamps([stamp.replace(",", ".") for stamp, _ in parts])
    except ValueError:
        _raise_impossible(stamps, parts, location)
    zoned = [offset is not None for _, offset in parts]
    if not any(zoned):
        return Times(local)
    if not all(zoned):
        at = zoned.index(not zoned[0])
        location.raise_bad_cell(
            at, f"{show(cells[at])} has {'no' if zoned[0] else 'a'} zone, unlike the rows before it"
        )
    offsets = np.array([_offset(offset) for _, offset in parts], dtype="m8[s]")
    utc: Array = local - coarsest(offsets)
    in_utc = all(offset in "Zz" for _, offset in parts)
    zone = Zone.named("UTC") if in_utc else _zone(cells, utc, offsets)
    return Times(utc, zone, all(isinstance(cell, str) for cell in cells))


def _zone(cells: list[Any], utc: Array, offsets: Array) -> Zone:
    """Return the zone of times: the one they name, or one with their offsets."""
    named = {_zone_name(cell) for cell in cells}
    if len(named) == 1 and None not in named:
        try:
            return Zone.named(str(named.pop()))
        except UnknownNameError:  # then by its offsets
            pass
    if (offsets == offsets[0]).all():
        return Zone.named(offset_text(int(offsets[0].astype(np.int64))))
    if offsets.max() - offsets.min() > MAX_CLOCK_CHANGE:
        return Zone.named("UTC")
    return ObservedOffsets(utc, offsets)


def _zone_name(cell: object) -> str | None:
    zone = cell.tzinfo if isinstance(cell, datetime) else None
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)  # zoneinfo's, or pytz's
    return name if isinstance(name, str) else None


def _stamps(texts: list[str]) -> Array:
    """Return times, in the unit of the finest of them."""
    if max(map(len, texts)) > len("2014-02-01T13:30:00.123456") and not all("1678" < t[:4] < "2262" for t in texts):
        texts = [t[:26] for t in texts]  # nanoseconds since 1970 do not reach so far
    return np.array(texts, dtype="datetime64")


def _iso_text(cell: Any) -> str:
    if isinstance(cell, date):
        return cell.isoformat()
    text = str(cell)
    if hasattr(cell, "start_time") and _ISO.fullmatch(text) is None:  # a quarter, week or year of pandas
        return str(cell.start_time.isoformat())
    return text


def _raise_impossible(stamps: list[str], parts: list[tuple[Any, ...]], location: Location) -> NoReturn:
    for i, (stamp, _) in enumerate(parts):
        try:
            np.datetime64(stamp.replace(",", "."))
        except ValueError:
            location.raise_bad_cell(i, f"{show(stamps[i])} is not in the calendar")
    raise AssertionError("a time that can be read alone can be read among others")


@lru_cache(maxsize=100)
def _ahead_of_utc(offset: str) -> timedelta:
    """Return an offset, of which a stream has few, as a difference of times."""
    return timedelta(seconds=_offset(offset))


def _offset(text: str) -> int:
    """Return the seconds by which a zone is ahead of UTC."""
    if text in "Zz":
        return 0
    digits = text[1:].replace(":", "").ljust(6, "0")
    seconds = 3600 * int(digits[:2]) + 60 * int(digits[2:4]) + int(digits[4:])
    return -seconds if text[0] == "-" else seconds
