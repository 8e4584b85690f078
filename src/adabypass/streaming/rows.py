"""Rows of a stream: what a record of the input says, as values."""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from math import isfinite, isinf, isnan, nan
from typing import Any, NamedTuple, NoReturn, Protocol, TypeAlias

from adabypass.data import cells
from adabypass.data.times import parse_time
from adabypass.errors import BadCellError, ParameterError
from adabypass.streaming.clock import Time

MAX_ID_LENGTH = 10_000
"""Characters of the id of a series."""
FILL_MISSING = "choose --missing mean or --missing last"
"""What is advised about a missing exogenous value."""
TIME_HINT = "write times as in 2014-02-01 or 2014-02-01T13:30 (ISO 8601), or as plain numbers"
TARGET = "target"
"""Column of an answer that says which of several targets it is about."""


class Row(NamedTuple):
    """A row that a stream learns."""

    number: int
    """The number of its record in the input, from 1; or the position of its message in a topic."""
    key: str
    """The id of its series as JSON; "" if there is only one series."""
    time: str
    """Its time as JSON; "" if records have no time, and in a step of a gap, for which there is no record."""
    y: float
    """The observation; nan if it is missing."""
    exog: list[float] | None
    """Exogenous values, if there are any."""


Observations: TypeAlias = tuple[Sequence[tuple[str, float]], list[float] | None, Time | None, Any]
"""What a record holds: for each target the id of its series as JSON, and its value; the exogenous values; its time, and
the same as it came, None if records have no time."""


class Columns(NamedTuple):
    """Which columns of a record mean what."""

    targets: tuple[str, ...]
    """Columns that are forecast, each as a series of its own."""
    ids: tuple[str, ...] = ()
    """Columns that say to which series a record belongs."""
    time: str | None = None
    exog: tuple[str, ...] = ()

    def check(self, name: Callable[[str], str] = str) -> None:
        """Refuse a column that is named twice: its values would be learned twice, or be known before their forecast.

        Parameters
        ----------
        name : function
            Returns what errors call an argument.
        """
        for argument, columns in (("target", self.targets), ("exog", self.exog), ("key", self.ids)):
            twice = next((column for column in columns if columns.count(column) > 1), None)
            if twice is not None:
                raise ParameterError(f'{name(argument)} names the column "{twice}" twice; leave one of them out.')
        known = next((column for column in self.exog if column in self.targets), None)
        if known is not None:
            raise ParameterError(
                f'the column "{known}" is in {name("target")} and in {name("exog")}: its values would be known before '
                "they are forecast; leave it out of one of them."
            )

    def describe(self) -> dict[str, Any]:
        """Return what the store says of them."""
        ids = list(self.keys) if len(self.keys) > 1 else self.keys[0] if self.keys else None
        return {"target": ",".join(self.targets), "id": ids, "time": self.time, "inputs": list(self.exog)}

    @property
    def read(self) -> list[str]:
        """The columns that are read, in the order in which `RowParser` takes their cells."""
        return [*self.targets, *self.exog, *self.ids, *([] if self.time is None else [self.time])]

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of an answer that name its series."""
        return self.ids if len(self.targets) == 1 else (*self.ids, TARGET)


class SourceLocation(Protocol):
    """Where the newest record is, for errors about its cells."""

    @property
    def row(self) -> int:
        """Its number, from 1; 0 if the source says which record it is."""

    @property
    def line(self) -> int:
        """The number of its line."""

    @property
    def source(self) -> str:
        """What errors call the input."""

    def is_header_again(self) -> bool:
        """Return whether the newest record, which could not be read, is a header."""


class RowParser:
    """Makes values of the cells of records.

    Parameters
    ----------
    place : SourceLocation
        Where the newest record is.
    columns : Columns
    missing : str
        What becomes of a blank cell of an exogenous column; it is refused if that is "raise".
    bad_is_missing : bool
        Whether a cell that is not a number counts as blank.

    Attributes
    ----------
    parse : function
        Returns the `Observations` of the cells of a record; raises a `BadCellError` if it has none.
    n_taken_as_missing : int
        Cells so far that were not numbers and counted as blank.
    """

    def __init__(self, place: SourceLocation, columns: Columns, missing: str, bad_is_missing: bool) -> None:
        self._place, self._columns = place, columns
        self._refuses_blank, self._bad_is_missing = missing == "raise", bad_is_missing
        is_simple = len(columns.targets) == 1 and not columns.exog and not columns.ids and columns.time is None
        self.parse: Callable[[Sequence[Any]], Observations] = self._only_target if is_simple else self._all_columns
        self._key: Callable[[Sequence[Any]], Any] = self._id if len(columns.keys) < 2 else self._compound_id
        self.n_taken_as_missing = 0

    def _only_target(self, record: Sequence[Any]) -> Observations:
        return (("", self._number(record[0], self._columns.targets[0])),), None, None, None

    def _all_columns(self, record: Sequence[Any]) -> Observations:
        targets, ids, time, exog = self._columns
        n = len(targets)
        end = n + len(exog)
        known = [self._number(cell, name) for cell, name in zip(record[n:end], exog, strict=True)] if exog else None
        if known is not None and self._refuses_blank and any(map(isnan, known)):
            bad = next(i for i, value in enumerate(known) if isnan(value))
            self.refuse(exog[bad], f"is blank; fill it, or {FILL_MISSING}")
        values: Sequence[tuple[str, float]]
        if n == 1:
            y = self._number(record[0], targets[0])
            values = ((self._key(record[end : end + len(ids)]) if ids else "", y),)
        else:
            given = record[end : end + len(ids)]
            values = [
                (self._key((*given, target)), self._number(cell, target))
                for cell, target in zip(record[:n], targets, strict=True)
            ]
        if time is None:
            return values, known, None, None
        cell = record[-1]
        try:
            return values, known, parse_time(cell), cell
        except BadCellError:
            self.refuse(time, f"{cells.show(cell)} is not a time; {TIME_HINT}")

    def _number(self, cell: Any, name: str) -> float:
        """Return a cell as a number: nan where it is blank or says that there is no value."""
        if type(cell) is str:
            try:
                value = float(cell)  # most cells are plain numbers
            except ValueError:
                value = nan
            if isfinite(value) and "_" not in cell:
                return value
        try:
            value = cells.number(cell, self._place.row - 1, cells.Location(name, self._place.source))
            if isinf(value):
                self.refuse(name, f"{cells.show(cell)} {cells.TOO_LARGE}")
        except BadCellError:
            if not self._bad_is_missing or self._place.is_header_again():
                raise
            self.n_taken_as_missing += 1
            return nan
        return value

    def _id(self, ids: Sequence[Any]) -> str:
        """Return the id of a series as JSON, so that 1 and "1" are different series."""
        text = self._id_part(ids[0], self._columns.keys[0])
        self._check_length(text)
        return text

    def _compound_id(self, ids: Sequence[Any]) -> str:
        """Return the id of a series that several columns name, as a JSON array."""
        if all(type(cell) is str for cell in ids):
            text = _text_ids(tuple(ids))
            if text is not None:
                self._check_length(text)
                return text
        parts = [self._id_part(cell, name) for cell, name in zip(ids, self._columns.keys, strict=True)]
        text = f"[{', '.join(parts)}]"
        self._check_length(text)
        return text

    def _id_part(self, cell: Any, name: str) -> str:
        if cells.is_missing(cell) or (isinstance(cell, str) and not cell.strip()):
            self.refuse(name, "is blank, but every row needs the id of its series; fill it")
        try:
            return as_json(cell) if type(cell) is str else json.dumps(cell, allow_nan=False)
        except ValueError:  # 1e400, which Python reads as infinity
            self.refuse(name, f"{cells.show(cell)} holds a number that is too large; write the id as text")
        except TypeError:
            self.refuse(name, f"{cells.show(cell)} is no id; write it as text or a number")

    def _check_length(self, text: str) -> None:
        if len(text) > MAX_ID_LENGTH:
            self.refuse(
                ",".join(self._columns.ids or self._columns.keys),
                f"has {len(text)} characters, too many for an id; at most {MAX_ID_LENGTH} will do",
            )

    def refuse(self, name: str, what: str) -> NoReturn:
        """Raise the error about a cell of the newest record."""
        cells.raise_bad_cell(name, self._place.row, what, self._place.source, self._place.line)


def as_json(value: Any) -> str:
    """Return a value as JSON."""
    return encode_basestring_ascii(value) if type(value) is str else json.dumps(value)


@lru_cache(maxsize=100_000)
def _text_ids(ids: tuple[str, ...]) -> str | None:
    """Return texts as a JSON array; None if one of them is blank."""
    return json.dumps(ids) if all(each.strip() for each in ids) else None


@lru_cache(maxsize=100_000)
def key_parts(key: str, n: int) -> tuple[str, ...]:
    """Return the id of a series as the JSON of each of its `n` columns."""
    return (key,)[:n] if n < 2 else tuple(json.dumps(each) for each in json.loads(key))
