"""What `adabypass stream` writes: the fields of an answer, and how they become JSON lines, CSV or Parquet."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from math import isnan
from typing import Any, NamedTuple

from adabypass.cli.options import ParamType
from adabypass.data.text import printable
from adabypass.distributions.base import interval_names
from adabypass.results.columns import quantile_name
from adabypass.storage.series import Row

FIELDS = ("mean", "sd", "interval", "quantiles", "log_score", "surprise", "anomaly", "change")
DEFAULT_FIELDS = ("mean", "sd", "interval")
NUMBERS = ("mean", "sd", "interval", "quantiles")
"""Fields that every forecast has; others may be null, or no numbers."""


class FieldNames(ParamType):
    """Names of fields with commas between them."""

    name = "fields"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        names = value if isinstance(value, tuple) else tuple(each.strip() for each in value.split(",") if each.strip())
        unknown = [name for name in names if name not in FIELDS]
        if unknown or not names:
            self.fail(f"{', '.join(unknown) or value} is not among {', '.join(FIELDS)}.", param, ctx)
        return tuple(name for name in FIELDS if name in names)


class AnswerFormat(NamedTuple):
    """What an answer consists of."""

    fields: tuple[str, ...]
    level: float
    """Of the interval."""
    quantiles: tuple[float, ...]
    false_alarms: float
    """Maximum rate of false alarms, per row."""
    key: str | None
    time: str | None
    """Columns that are passed through."""

    @property
    def has_alarms(self) -> bool:
        """Whether an answer says if its value is an anomaly, or what has changed."""
        return "anomaly" in self.fields or "change" in self.fields

    def columns(self) -> list[str]:
        """Return the names of what follows the observation."""
        return [column for field in self.fields for column in self.columns_of(field)]

    def columns_of(self, field: str) -> list[str]:
        """Return the names of the columns of a field."""
        named = {"interval": list(interval_names(self.level)), "quantiles": [*map(quantile_name, self.quantiles)]}
        return named.get(field, [field])

    def header(self) -> list[str]:
        """Return the names of all columns of an answer."""
        passed = [name for name in (self.time, self.key) if name is not None]
        return [*passed, "y", *self.columns()]

    @property
    def n_passed(self) -> int:
        """How many columns of the input an answer begins with, before the observation."""
        return (self.time is not None) + (self.key is not None)


Encode = Callable[[Sequence[Row], Sequence[bool], Sequence[Sequence[Any]]], list[Any]]
"""Makes the answers to rows: of the rows, whether each has a forecast, and the columns of those that have."""


def encode_json(wanted: AnswerFormat) -> Encode:
    """Return the function that makes JSON lines."""
    header = [json.dumps(name).replace("%", "%%") for name in wanted.header()]
    passed, names = header[: wanted.n_passed + 1], header[wanted.n_passed + 1 :]
    is_number = [field in NUMBERS for field in wanted.fields for _ in wanted.columns_of(field)]
    kinds = ["%r" if plain else "%s" for plain in is_number]
    start = "{" + ", ".join(f"{name}: %s" for name in passed)
    line = start + "".join(f", {name}: {kind}" for name, kind in zip(names, kinds, strict=True)) + "}\n"
    blank = start + "".join(f", {name}: null" for name in names) + "}\n"

    def encode(rows: Sequence[Row], is_known: Sequence[bool], columns: Sequence[Sequence[Any]]) -> list[str]:
        texts = [column if plain else map(_json, column) for plain, column in zip(is_number, columns, strict=True)]
        given = [*_passed(wanted, rows), ["null" if isnan(row[3]) else repr(row[3]) for row in rows]]
        if all(is_known):  # as a rule
            return [line % values for values in zip(*given, *texts, strict=True)]
        values = zip(*texts, strict=True)
        return [
            line % (*seen, *next(values)) if known else blank % seen
            for seen, known in zip(zip(*given, strict=True), is_known, strict=True)
        ]

    return encode


def encode_values(wanted: AnswerFormat) -> Encode:
    """Return the function that makes lists of values."""
    blank = [None] * len(wanted.columns())

    def encode(rows: Sequence[Row], is_known: Sequence[bool], columns: Sequence[Sequence[Any]]) -> list[list[Any]]:
        values = zip(*columns, strict=True)
        observed = [None if isnan(row[3]) else row[3] for row in rows]
        given = zip(*(map(json.loads, texts) for texts in _passed(wanted, rows)), observed, strict=True)
        return [[*seen, *(next(values) if known else blank)] for seen, known in zip(given, is_known, strict=True)]

    return encode


def encode_csv(wanted: AnswerFormat, *, is_shown: bool = False) -> Encode:
    """Return the function that makes lines of CSV; `is_shown`: for a terminal, as of `csv_line`."""
    values = encode_values(wanted)
    return lambda rows, is_known, columns: [
        csv_line(each, is_shown=is_shown) for each in values(rows, is_known, columns)
    ]


def csv_line(values: Sequence[Any], *, is_shown: bool = False) -> str:
    """Return values as a line of CSV; if it is shown on a terminal, without characters that this would obey."""
    line = io.StringIO(newline="")
    cells = [str(value).lower() if isinstance(value, bool) else value for value in values]
    if is_shown:
        cells = [printable(cell) if isinstance(cell, str) else cell for cell in cells]
    odd = any(isinstance(cell, str) and "\r" in cell for cell in cells)
    csv.writer(line, lineterminator="\n", quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL).writerow(cells)
    return line.getvalue()


def _passed(wanted: AnswerFormat, rows: Sequence[Row]) -> list[list[str]]:
    """Return the columns of the input that are passed through, as JSON."""
    times = [] if wanted.time is None else [[row[2] for row in rows]]
    return times + ([] if wanted.key is None else [[row[1] for row in rows]])


def _json(value: Any) -> str:
    return repr(value) if type(value) is float else json.dumps(value)
