"""Rows out of Python's own objects: dicts, and data frames."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from math import isinf
from typing import Any, NamedTuple

import numpy as np

from adabypass.data import cells, from_frame
from adabypass.data.times import parse_time
from adabypass.errors import BadCellError, ParameterError, TableError
from adabypass.streaming.cache import SeriesCache
from adabypass.streaming.ids import key_of
from adabypass.streaming.rows import Row
from adabypass.validation import as_tuple, shown

MAX_KEY_LENGTH = 10_000
"""Characters of the id of a series, as JSON."""


class Columns(NamedTuple):
    """The names of what a stream reads from its rows."""

    target: str
    key: tuple[str, ...] = ()
    """Names whose values are the id of a series together."""
    time: str | None = None
    exog: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """Return what the store says of them."""
        key = list(self.key) if len(self.key) > 1 else self.key[0] if self.key else None
        return {"target": self.target, "id": key, "time": self.time, "inputs": list(self.exog)}

    def rows(self, records: Any, series: SeriesCache, first: int) -> tuple[list[Row], int]:
        """Return the rows that are new, and how many were not.

        Parameters
        ----------
        records : dict, list of dicts, or data frame
        series : SeriesCache
            A row that is not later than the newest of its series is not new.
        first : int
            Number of the first new row.
        """
        found: list[Row] = []
        newest: dict[str, Any] = {}
        n_skipped = 0
        names = [self.target, *self.exog, *self.key, *([] if self.time is None else [self.time])]
        n_exog = len(self.exog)
        for at, values in enumerate(_cells(records, names)):
            y, *exog = (self._number(value, at, name) for value, name in zip(values[: 1 + n_exog], names, strict=False))
            key = self._key(values[1 + n_exog : 1 + n_exog + len(self.key)], at)
            cell = ""
            if self.time is not None:
                cell, time = self._time(values[-1], at)
                if not self._is_later(time, key, series, newest, at):
                    n_skipped += 1
                    continue
                newest[key] = time
            found.append(Row(first + len(found), key, cell, y, exog or None))
        return found, n_skipped

    @staticmethod
    def _number(value: Any, at: int, name: str) -> float:
        number = cells.number(value, at, cells.Location(name))
        if isinf(number):
            cells.raise_bad_cell(name, at + 1, f"{cells.show(value)} {cells.TOO_LARGE}")
        return number

    def _key(self, values: Sequence[Any], at: int) -> str:
        if not self.key:
            return ""
        for value, name in zip(values, self.key, strict=True):
            if cells.is_missing(value) or (isinstance(value, str) and not value.strip()):
                cells.raise_bad_cell(name, at + 1, "is blank, but every row needs the id of its series; fill it")
        text = key_of(values[0] if len(values) == 1 else list(values))
        if len(text) > MAX_KEY_LENGTH:
            what = f"has {len(text)} characters, too many for an id; at most {MAX_KEY_LENGTH} will do"
            cells.raise_bad_cell(self.key[0], at + 1, what)
        return text

    def _time(self, value: Any, at: int) -> tuple[str, Any]:
        plain = value.item() if isinstance(value, np.integer | np.floating) else value
        plain = plain.isoformat() if isinstance(plain, date) else plain  # also of a datetime, and of pandas
        plain = str(plain) if isinstance(plain, np.datetime64) else plain
        try:
            return json.dumps(plain), parse_time(plain)
        except (BadCellError, TypeError, ValueError):
            what = f"{cells.show(value)} is not a time; pass a datetime, a number, or text as in 2014-02-01T13:30"
            cells.raise_bad_cell(str(self.time), at + 1, what)

    def _is_later(self, time: Any, key: str, series: SeriesCache, newest: dict[str, Any], at: int) -> bool:
        last = newest.get(key)
        if last is None:
            known = series.find(key)
            last = None if known is None else known.time
        try:
            return last is None or bool(time > last)
        except TypeError:
            what = f"{cells.show(time)} cannot be compared with {last}, the time of the row before it"
            cells.raise_bad_cell(str(self.time), at + 1, what)


def names_of(value: Any, name: str) -> tuple[str, ...]:
    """Return names of columns: of one, of several, or of none."""
    found = () if value is None else (value,) if isinstance(value, str) else as_tuple(value)
    if found is None or not all(isinstance(each, str) and each for each in found) or len(set(found)) < len(found):
        raise ParameterError(f"{name} is {shown(value)}, but must be the name of a column, or several names.")
    return found


def _cells(records: Any, names: list[str]) -> Iterator[Sequence[Any]]:
    """Yield the cells of these names of each record."""
    if isinstance(records, Mapping) and not any(hasattr(value, "__len__") and not isinstance(value, str)
                                                for value in records.values()):  # fmt: skip
        records = [records]
    if isinstance(records, list | tuple):
        for at, record in enumerate(records):
            if not isinstance(record, Mapping):
                raise TableError(f"row {at + 1} is {shown(record)}, but must be a dict of values by name.")
            try:
                yield [record[name] for name in names]
            except KeyError as missing:
                raise TableError(
                    f"row {at + 1} has no {missing.args[0]!r}, but only {', '.join(map(repr, record))}; pass None "
                    "where a value is missing."
                ) from None
        return
    if hasattr(records, "__len__") and len(records) == 0:
        return
    table = from_frame(records)
    yield from zip(*(cells.as_list(table.cells(name)) if not _is_time(table.cells(name)) else list(table.cells(name))
                     for name in names), strict=True)  # fmt: skip


def _is_time(column: Any) -> bool:
    """Return whether a column is an array of dates, whose items would lose their unit as Python's objects."""
    return isinstance(column, np.ndarray) and column.dtype.kind == "M"
