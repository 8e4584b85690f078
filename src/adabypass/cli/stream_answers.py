"""Answers to rows that came together: learned at once by a panel, in all processors."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import isnan, nan
from typing import Any

import numpy as np

from adabypass.cli.stream_output import AnswerFormat, Encode
from adabypass.distributions import evaluate
from adabypass.distributions.base import interval_tails
from adabypass.distributions.mixture import Mixture
from adabypass.distributions.record import RecordLayout
from adabypass.panel.learning import Rows, StepOutput
from adabypass.results.changes import standardised
from adabypass.storage.series import Row, StreamPanel
from adabypass.validation import Floats, Integers

Column = Sequence[Any]
ALARMS = ("anomaly", "change")
"""The last fields of an answer, in their order, which need what a monitor remembers of the series."""


class Answerer:
    """Answers rows of many series, to the last digit as each series would be answered alone, row by row.

    Parameters
    ----------
    wanted : AnswerFormat
        What an answer consists of.
    series : StreamPanel
        They learn the rows.
    encode : function
        Makes of rows, and of the columns of their answers, what is written.
    """

    def __init__(self, wanted: AnswerFormat, series: StreamPanel, encode: Encode) -> None:
        self._wanted, self._series, self._encode = wanted, series, encode
        self._engine = series.engine
        self._record_layout: RecordLayout | None = self._engine.record_layout if "interval" in wanted.fields else None
        """Of forecasts whose intervals are searched for where that of the series' row before has ended."""

    def answer(self, rows: list[Row]) -> list[Any]:
        """Learn rows; return the answer to each."""
        bounds = np.empty((0 if self._record_layout is None else len(rows), 2))
        finish = None if self._record_layout is None else self._interval_finder(self._record_layout, bounds)
        y = np.array([row[3] for row in rows])
        record, numbers = self._series.learn(rows, y, finish)
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
            columns += self._alarms(numbers[known], forecasts, drifts)
        return self._encode(rows, is_known.tolist(), columns)

    def _interval_finder(self, layout: RecordLayout, bounds: Floats) -> Callable[[StepOutput, Rows, Rows], None]:
        """Return the function that finds the intervals of rows that were learned."""
        low, high = interval_tails(self._wanted.level)

        def find(record: StepOutput, numbers: Rows, chosen: Rows) -> None:
            evaluate.intervals(record.records, layout, low, high, chosen, numbers, self._series.interval_starts, bounds)

        return find

    def _alarms(self, numbers: Integers, forecasts: "Forecasts", drifts: Floats) -> list[Column]:
        """Return the columns of the fields that come last: whether each row is an anomaly, and what changed with it."""
        anomalies, changes = list[bool | None](), list[str | None]()
        deviates, errors, sds = (each.tolist() for each in forecasts.standardised)
        rows = zip(numbers.tolist(), deviates, errors, sds, drifts.tolist(), strict=True)
        for number, deviate, error, sd, drift in rows:
            monitor = self._series.monitors[number]
            change = monitor.update_standardised(deviate, error, sd, drift)
            changes.append(None if change is None else change.kind)
            anomalies.append(None if isnan(deviate) else monitor.is_anomaly)
        columns: dict[str, Column] = {"anomaly": anomalies, "change": changes}
        return [columns[name] for name in ALARMS if name in self._wanted.fields]


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
