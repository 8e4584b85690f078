"""What `adabypass stream` writes: the fields of an answer, and how they become JSON lines, CSV or Parquet."""

import csv
import io
import json
from collections.abc import Callable
from math import isnan, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from adabypass.cli.options import ParamType
from adabypass.forecasting import Forecaster
from adabypass.forecasting.changes import ChangeMonitor
from adabypass.forecasting.rows import learned_positions, row_of
from adabypass.model.predictive import Predictive
from adabypass.model.trace import surprise
from adabypass.storage.stream import NO_DEVIATES, Series
from adabypass.validation import Floats

FIELDS = ("mean", "sd", "interval", "quantiles", "log_score", "surprise", "anomaly", "change")
DEFAULT_FIELDS = ("mean", "sd", "interval")


class FieldNames(ParamType):
    """Names of fields with commas between them."""

    name = "fields"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        names = value if isinstance(value, tuple) else tuple(each.strip() for each in value.split(",") if each.strip())
        unknown = [name for name in names if name not in FIELDS]
        if unknown or not names:
            self.fail(f"{', '.join(unknown) or value} is not among {', '.join(FIELDS)}.", param, ctx)
        return tuple(name for name in FIELDS if name in names)


class Percents(ParamType):
    """Probabilities in percent with commas between them, kept as numbers between 0 and 1."""

    name = "percents"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            percents = sorted({float(each) for each in value.split(",")})
        except ValueError:
            percents = [0.0]
        if not all(0.0 < each < 100.0 for each in percents):
            self.fail(f"{value!r} is not a list of percentages above 0 and below 100, such as 5,50,95.", param, ctx)
        return tuple(each / 100.0 for each in percents)


class Wanted(NamedTuple):
    """What an answer consists of."""

    fields: tuple[str, ...]
    level: float
    """Of the interval."""
    quantiles: tuple[float, ...]
    false_alarms: float
    """Share of ordinary rows that are flagged as anomalies."""
    key: str | None
    time: str | None
    """Columns that are passed through."""

    def columns(self) -> list[str]:
        """Return the names of what follows the observation."""
        percent = f"{100 * self.level:g}"
        named = {
            "interval": [f"lower_{percent}", f"upper_{percent}"],
            "quantiles": [f"quantile_{100 * q:g}" for q in self.quantiles],
        }
        return [column for field in self.fields for column in named.get(field, [field])]

    def header(self) -> list[str]:
        """Return the names of all columns of an answer."""
        passed = [name for name in (self.time, self.key) if name is not None]
        return [*passed, "y", *self.columns()]


class Answerer:
    """Makes series that answer rows.

    Parameters
    ----------
    wanted : Wanted
    template : Forecaster
        Of every series.
    n_exog : int
        Number of exogenous columns.
    encode : function, optional
        Makes of the values of an answer what is written; by default JSON lines.
    """

    def __init__(self, wanted: Wanted, template: Forecaster, n_exog: int, encode: "Encode | None") -> None:
        self._wanted, self._encode = wanted, encode
        self.is_plain = wanted.fields == DEFAULT_FIELDS and encode is None and wanted.time is None
        """Whether answers are the usual ones, of rows without a time."""
        self._positions = (
            learned_positions(template, ("drift", "noise_scale"), n_exog) if "change" in wanted.fields else None
        )

    def series(self, key: str, forecaster: Forecaster, deviates: Floats | None, changes: Floats | None) -> Series:
        """Return a series that answers, new or as it was saved."""
        monitor = None if self._positions is None else ChangeMonitor(changes)
        made = Series(forecaster, np.array(NO_DEVIATES) if deviates is None else deviates, monitor)
        made.answer = self._plain(made, key) if self.is_plain else self._general(made, key)
        return made

    def _plain(self, series: Series, key: str) -> Callable[..., str]:
        """Return the function that answers a row with mean, sd and interval as JSON: the usual case, made quick."""
        level, step, deviates = self._wanted.level, series.forecaster.step, series.deviates
        start = "{" if not key else f"{{{json.dumps(self._wanted.key)}: {key}, "
        lower, upper = f"lower_{100 * level:g}", f"upper_{100 * level:g}"

        def answer(y: float, exog: list[float] | None, time: object = None) -> str:
            forecast = step(y, exog)
            seen = "null" if isnan(y) else repr(y)
            if forecast is None or not forecast.is_known:
                return f'{start}"y": {seen}, "mean": null, "sd": null, "{lower}": null, "{upper}": null}}\n'
            a, b = forecast.interval(level, start=deviates)
            sd, mean = sqrt(forecast.var), forecast.mean
            return f'{start}"y": {seen}, "mean": {mean!r}, "sd": {sd!r}, "{lower}": {a!r}, "{upper}": {b!r}}}\n'

        return answer

    def _general(self, series: Series, key: str) -> Callable[..., Any]:
        """Return the function that answers a row with any fields, in any format."""
        wanted, step, encode = self._wanted, series.forecaster.step, self._encode or encode_json(self._wanted)
        n_columns = len(wanted.columns())
        compute = [self._field(name, series) for name in wanted.fields if name != "change"]
        name = json.loads(key) if key else None

        def answer(y: float, exog: list[float] | None, time: object = None) -> Any:
            forecast = step(y, exog)
            values: list[Any] = [] if wanted.time is None else [time]
            values += [] if wanted.key is None else [name]
            values.append(None if isnan(y) else y)
            if forecast is None or not forecast.is_known:
                values += [None] * n_columns
            else:
                for each in compute:
                    values += each(forecast, y)
                if self._positions is not None:
                    values.append(self._change(series))
            return encode(values)

        return answer

    def _field(self, name: str, series: Series) -> Callable[[Predictive, float], list[Any]]:
        """Return the function that computes the columns of a field."""
        wanted, deviates = self._wanted, series.deviates
        threshold = float(-ndtri(wanted.false_alarms / 2.0))
        probabilities = np.array(wanted.quantiles)
        functions: dict[str, Callable[[Predictive, float], list[Any]]] = {
            "mean": lambda forecast, y: [float(forecast.mean)],
            "sd": lambda forecast, y: [sqrt(forecast.var)],
            "interval": lambda forecast, y: [float(each) for each in forecast.interval(wanted.level, start=deviates)],
            "quantiles": lambda forecast, y: forecast.quantile(probabilities).tolist(),
            "log_score": lambda forecast, y: [None if isnan(y) else float(forecast.logpdf(y))],
            "surprise": lambda forecast, y: [None if isnan(y) else surprise(forecast, y)],
            "anomaly": lambda forecast, y: [None if isnan(y) else abs(surprise(forecast, y)) > threshold],
        }
        return functions[name]

    def _change(self, series: Series) -> str | None:
        assert self._positions is not None
        assert series.changes is not None
        row = row_of(series.forecaster)
        return series.changes.update(float(row[self._positions[0]]), float(row[self._positions[1]]))


Encode = Callable[[list[Any]], Any]


def encode_json(wanted: Wanted) -> Encode:
    """Return the function that makes a JSON line of values."""
    names = [f"{json.dumps(name)}: " for name in wanted.header()]

    def encode(values: list[Any]) -> str:
        pairs = zip(names, values, strict=True)
        cells = [name + (repr(value) if type(value) is float else json.dumps(value)) for name, value in pairs]
        return f"{{{', '.join(cells)}}}\n"

    return encode


def encode_csv(values: list[Any]) -> str:
    """Return values as a line of CSV."""
    line = io.StringIO(newline="")
    cells = [str(value).lower() if isinstance(value, bool) else value for value in values]
    odd = any(isinstance(cell, str) and "\r" in cell for cell in cells)
    csv.writer(line, lineterminator="\n", quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL).writerow(cells)
    return line.getvalue()
