"""What the answer to a row holds: its forecast, and that of the next steps; as values, JSON or CSV."""

import csv
import io
import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import isnan, nan
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adabypass.data.text import printable
from adabypass.distributions import evaluate
from adabypass.distributions.base import interval_names, interval_tails
from adabypass.distributions.mixture import Mixture
from adabypass.distributions.record import RecordLayout
from adabypass.panel.learning import Rows, StepOutput
from adabypass.results.changes import FALSE_ALARMS, standardised
from adabypass.results.columns import quantile_name
from adabypass.streaming.cache import SeriesCache
from adabypass.streaming.ids import id_of
from adabypass.streaming.rows import Row, key_parts
from adabypass.validation import Floats, Integers

FIELDS = ("mean", "sd", "interval", "quantiles", "log_score", "surprise", "anomaly", "change")
DEFAULT_FIELDS = ("mean", "sd", "interval")
NUMBERS = ("mean", "sd", "interval", "quantiles")
"""Fields that every forecast has; others may be null, or no numbers."""
ALARMS = ("anomaly", "change")
"""The last fields of an answer, in their order, which need what a monitor remembers of the series."""
MAX_EVENTS = 1000
"""Flagged rows that are remembered."""
AHEAD = "forecast"
"""Name of the forecast of the next steps in an answer."""
Column: TypeAlias = Sequence[Any]


class AnswerFormat(NamedTuple):
    """What an answer consists of."""

    fields: tuple[str, ...] = DEFAULT_FIELDS
    level: float = 0.9
    """Of the interval."""
    quantiles: tuple[float, ...] = ()
    false_alarms: float = FALSE_ALARMS
    """Maximum rate of false alarms, per row."""
    key: str | tuple[str, ...] | None = None
    """Column, or columns, with the id of a series, passed through."""
    time: str | None = None
    """Column that is passed through."""
    horizon: int = 0
    """Number of steps that are forecast after a row; 0 for none."""
    levels: tuple[float, ...] = ()
    """Of the intervals of these steps; that of `level` if empty."""
    every: int = 1
    """Rows of a series between two such forecasts."""
    is_point: bool = False
    """Whether forecasts are points."""

    @property
    def has_alarms(self) -> bool:
        """Whether an answer says if its value is an anomaly, or what has changed."""
        return any(name in self.fields for name in ALARMS)

    def columns(self) -> list[str]:
        """Return the names of what follows the observation, without the forecast of the next steps."""
        return [column for field in self.fields for column in self.columns_of(field)]

    def columns_of(self, field: str) -> list[str]:
        """Return the names of the columns of a field."""
        named = {"interval": list(interval_names(self.level)), "quantiles": [*map(quantile_name, self.quantiles)]}
        return named.get(field, [field])

    def columns_ahead(self) -> list[str]:
        """Return the names of what is forecast of each of the next steps; none if nothing is."""
        if not self.horizon:
            return []
        bounds = [name for level in self.levels_ahead for name in interval_names(level)]
        return ["mean"] if self.is_point else ["mean", *bounds]

    @property
    def levels_ahead(self) -> tuple[float, ...]:
        """Levels of the intervals of the next steps."""
        return self.levels or (self.level,)

    def header(self, *, is_flat: bool = False) -> list[str]:
        """Return the names of all columns of an answer; those of the next steps one by one if it is flat."""
        passed = [*([] if self.time is None else [self.time]), *self.keys]
        ahead = [AHEAD] if self.horizon else []
        if is_flat:
            ahead = [f"{name}_ahead_{step}" for step in range(1, self.horizon + 1) for name in self.columns_ahead()]
        return [*passed, "y", *self.columns(), *ahead]

    @property
    def n_passed(self) -> int:
        """How many columns of the input an answer begins with, before the observation."""
        return (self.time is not None) + len(self.keys)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns with the id of a series."""
        return self.key if isinstance(self.key, tuple) else () if self.key is None else (self.key,)


class Event(NamedTuple):
    """A row that was flagged; within the stream, its id and its time are JSON."""

    number: int
    id: Any
    """Id of its series; None where there is but one."""
    time: Any
    """Its time as it came; None if rows have none."""
    y: float
    what: str
    """`anomaly`, or what has changed: `level`, `noise` or `slope`."""


Encode: TypeAlias = Callable[[Sequence[Row], Sequence[bool], Sequence[Column]], list[Any]]
"""Makes the answers to rows: of the rows, whether each has a forecast, and the columns of those that have."""


class Answerer:
    """Answers rows of many series, to the last digit as each series would be answered alone, row by row.

    Parameters
    ----------
    wanted : AnswerFormat
        What an answer consists of.
    series : SeriesCache
        They learn the rows.
    encode : function
        Makes of rows, and of the columns of their answers, what is returned.
    """

    def __init__(self, wanted: AnswerFormat, series: SeriesCache, encode: Encode) -> None:
        self._wanted, self._series, self._encode = wanted, series, encode
        self._engine = series.engine
        self._record_layout: RecordLayout | None = self._engine.record_layout if "interval" in wanted.fields else None
        """Of forecasts whose intervals are searched for where that of the series' row before has ended."""
        self.events: deque[Event] = deque(maxlen=MAX_EVENTS)
        """Rows that were flagged, the newest ones."""

    def answer(self, rows: Sequence[Row], slots: Rows, first: int) -> list[Any]:
        """Learn rows; return the answer to each.

        Parameters
        ----------
        slots : array
            Of the series of each row. With a forecast of the next steps, a series has one row at most.
        first : int
            How many rows the stream has learned with the first of these.
        """
        bounds = np.empty((0 if self._record_layout is None else len(rows), 2))
        finish = None if self._record_layout is None else self._interval_finder(self._record_layout, slots, bounds)
        y = np.array([row[3] for row in rows])
        exog = np.array([row[4] for row in rows]) if self._series.n_exog else None
        record = self._series.learn(slots, y, exog, finish)
        self._series.note_rows(slots, first)
        is_known = ~np.isnan(record.seen[:, 0])
        known: Any = slice(None) if is_known.all() else np.flatnonzero(is_known)
        forecasts = Forecasts(
            self._wanted,
            self._engine.predictive(record.seen[known], record.records[known]),
            y[known],
            None if self._record_layout is None else bounds[known],
        )
        plain = [name for name in self._wanted.fields if name not in ALARMS]
        columns = [column for name in plain for column in forecasts.columns(name)]
        if self._wanted.has_alarms:
            drifts = record.learned[known, 0] if record.learned.size else np.full(len(forecasts.standardised[0]), nan)
            columns += self._alarms(rows, np.flatnonzero(is_known), slots[known], forecasts, drifts)
        if self._wanted.horizon:
            columns.append(self._ahead(slots[known]))
        return self._encode(rows, is_known.tolist(), columns)

    def _interval_finder(self, layout: RecordLayout, slots: Rows, bounds: Floats) -> Callable[[StepOutput, Rows], None]:
        """Return the function that finds the intervals of rows that were learned."""
        low, high = interval_tails(self._wanted.level)

        def find(record: StepOutput, chosen: Rows) -> None:
            evaluate.intervals(record.records, layout, low, high, chosen, slots, self._series.starts, bounds)

        return find

    def _alarms(
        self, rows: Sequence[Row], known: Integers, slots: Integers, forecasts: "Forecasts", drifts: Floats
    ) -> list[Column]:
        """Return the columns of the fields that come last: whether each row is an anomaly, and what changed with it."""
        anomalies, changes = list[bool | None](), list[str | None]()
        deviates, errors, sds = (each.tolist() for each in forecasts.standardised)
        every = zip(known.tolist(), slots.tolist(), deviates, errors, sds, drifts.tolist(), strict=True)
        for at, slot, deviate, error, sd, drift in every:
            monitor = self._series.monitors[slot]
            change = monitor.update_standardised(deviate, error, sd, drift)
            changes.append(None if change is None else change.kind)
            anomalies.append(None if isnan(deviate) else monitor.is_anomaly)
            for is_found, what in ((monitor.is_anomaly, "anomaly"), (change is not None, changes[-1])):
                if is_found and not isnan(deviate):
                    number, key, time, y, _ = rows[at]
                    self.events.append(Event(number, key, time, y, str(what)))
        columns: dict[str, Column] = {"anomaly": anomalies, "change": changes}
        return [columns[name] for name in ALARMS if name in self._wanted.fields]

    def _ahead(self, slots: Rows) -> Column:
        """Return the forecast of the next steps after each row, by names; None where none is due."""
        wanted = self._wanted
        is_due = self._series.n_rows[slots] % wanted.every == 0
        due = slots[is_due]
        found = self._series.forecast(due, wanted.horizon, wanted.levels_ahead)
        values = [found.mean, *(bound for both in found.intervals.values() for bound in both)]
        each = zip(*(table.tolist() for table in values), strict=True)
        names = wanted.columns_ahead()
        return [dict(zip(names, next(each), strict=True)) if now else None for now in is_due.tolist()]


class Forecasts:
    """Forecasts of rows, of each of which something is known.

    Parameters
    ----------
    wanted : AnswerFormat
    predictive : Predictive
        Of all rows.
    y : array
        The observations.
    bounds : array (n, 2), optional
        Of the intervals, where they are known already.
    """

    def __init__(self, wanted: AnswerFormat, predictive: Any, y: Floats, bounds: Floats | None) -> None:
        self._wanted, self._predictive, self._y, self._bounds = wanted, predictive, y, bounds
        self._functions: dict[str, Callable[[], Sequence[Column]]] = {
            "mean": self._mean, "sd": self._sd, "interval": self._intervals, "quantiles": self._quantiles,
            "log_score": self._log_scores, "surprise": self._surprises,
        }  # fmt: skip

    def columns(self, name: str) -> Sequence[Column]:
        """Return the columns of a field."""
        return self._functions[name]()

    def _mean(self) -> Sequence[Column]:
        return [self._predictive.mean.tolist()]

    def _sd(self) -> Sequence[Column]:
        return [np.sqrt(self._predictive.var).tolist()]

    def _intervals(self) -> Sequence[Column]:
        if self._bounds is not None:
            return self._columns(self._bounds.T)
        if isinstance(self._predictive, Mixture):
            return self._columns(self._predictive.quantile_each(np.array(interval_tails(self._wanted.level))))
        return self._columns(self._predictive.interval(self._wanted.level))

    def _quantiles(self) -> Sequence[Column]:
        wanted, predictive = np.array(self._wanted.quantiles), self._predictive
        is_mixture = isinstance(predictive, Mixture)
        return self._columns(predictive.quantile_each(wanted) if is_mixture else predictive.quantile(wanted))

    def _log_scores(self) -> Sequence[Column]:
        return [self._where_seen(self._predictive.logpdf(self._y))]

    def _surprises(self) -> Sequence[Column]:
        return [self._where_seen(self.standardised[0])]

    @cached_property
    def standardised(self) -> tuple[Floats, Floats, Floats]:
        """What monitors are given: surprises, errors in standard deviations, and these."""
        return standardised(self._predictive, self._y)

    def _where_seen(self, values: Any) -> Column:
        """Return values as a column, without those of observations that are missing."""
        is_missing = np.isnan(self._y)
        return [None if absent else value for value, absent in zip(values.tolist(), is_missing.tolist(), strict=True)]

    @staticmethod
    def _columns(values: Iterable[Floats]) -> Sequence[Column]:
        return [column.tolist() for column in values]


class Answer:
    """The answer to a row: what was forecast of it before it was seen, and what comes next.

    The values are attributes too, by the names of `names`: `answer.mean`, `answer.lower_90`.
    """

    __slots__ = ("_values", "id", "names", "number", "time", "y")

    def __init__(
        self, number: int, id: Any, time: Any, y: float | None, names: tuple[str, ...], values: Sequence[Any] | None
    ) -> None:
        self.number = number
        """Number of the row."""
        self.id = id
        """Id of its series; None where there is but one."""
        self.time = time
        """Its time as it came; None if rows have none."""
        self.y = y
        """The observation; None if it is missing."""
        self.names = names
        """Names of the values: `mean`, `sd`, `lower_90`, `upper_90` ..., and `forecast` of the next steps."""
        self._values = values

    @property
    def is_known(self) -> bool:
        """Whether there was a forecast; there is none as long as a series has too little data."""
        return self._values is not None

    def __getattr__(self, name: str) -> Any:
        try:
            at = self.names.index(name)
        except ValueError:
            raise AttributeError(f"this answer has no {name!r}, but {', '.join(self.names)}; choose fields=.") from None
        return None if self._values is None else self._values[at]

    def to_dict(self) -> dict[str, Any]:
        """Return the id, time, observation and all values by name; None where nothing is known."""
        values = self._values or [None] * len(self.names)
        return {"id": self.id, "time": self.time, "y": self.y, **dict(zip(self.names, values, strict=True))}

    def __repr__(self) -> str:
        whose = ("" if self.id is None else f"id={self.id!r}, ") + (
            "" if self.time is None else f"time={self.time!r}, "
        )
        values = [] if self._values is None else zip(self.names, self._values, strict=True)
        shown = "".join(f", {name}={value:.6g}" for name, value in values if type(value) is float)
        return f"Answer({whose}y={self.y}{shown})"


def encode_answers(wanted: AnswerFormat) -> Encode:
    """Return the function that makes `Answer`s."""
    names = tuple([*wanted.columns(), *([AHEAD] if wanted.horizon else [])])

    def encode(rows: Sequence[Row], is_known: Sequence[bool], columns: Sequence[Column]) -> list[Answer]:
        values = zip(*columns, strict=True)
        return [
            Answer(
                row[0], id_of(row[1]), json.loads(row[2]) if row[2] else None,
                None if isnan(row[3]) else row[3], names, next(values) if known else None,
            )
            for row, known in zip(rows, is_known, strict=True)
        ]  # fmt: skip

    return encode


def encode_json(wanted: AnswerFormat) -> Encode:
    """Return the function that makes JSON lines."""
    header = [json.dumps(name).replace("%", "%%") for name in wanted.header()]
    passed, names = header[: wanted.n_passed + 1], header[wanted.n_passed + 1 :]
    is_number = [field in NUMBERS for field in wanted.fields for _ in wanted.columns_of(field)]
    is_number += [False] if wanted.horizon else []
    kinds = ["%r" if plain else "%s" for plain in is_number]
    start = "{" + ", ".join(f"{name}: %s" for name in passed)
    line = start + "".join(f", {name}: {kind}" for name, kind in zip(names, kinds, strict=True)) + "}\n"
    blank = start + "".join(f", {name}: null" for name in names) + "}\n"

    def encode(rows: Sequence[Row], is_known: Sequence[bool], columns: Sequence[Column]) -> list[str]:
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
    """Return the function that makes lists of values, those of the next steps one by one."""
    n_columns = len(wanted.columns())
    blank = [None] * (len(wanted.header(is_flat=True)) - wanted.n_passed - 1)
    names = wanted.columns_ahead()

    def flat(values: Sequence[Any]) -> list[Any]:
        if not names:
            return list(values)
        *now, ahead = values
        if ahead is None:
            return [*now, *blank[n_columns:]]
        return [*now, *(value for step in zip(*(ahead[name] for name in names), strict=True) for value in step)]

    def encode(rows: Sequence[Row], is_known: Sequence[bool], columns: Sequence[Column]) -> list[list[Any]]:
        values = zip(*columns, strict=True)
        observed = [None if isnan(row[3]) else row[3] for row in rows]
        given = zip(*(map(json.loads, texts) for texts in _passed(wanted, rows)), observed, strict=True)
        return [[*seen, *(flat(next(values)) if known else blank)] for seen, known in zip(given, is_known, strict=True)]

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
    if len(wanted.keys) < 2:
        return times + [[row[1] for row in rows] for _ in wanted.keys]
    parts = [key_parts(row[1], len(wanted.keys)) for row in rows]
    return times + [[part[i] for part in parts] for i in range(len(wanted.keys))]


def _json(value: Any) -> str:
    return repr(value) if type(value) is float else json.dumps(value)
