"""The judge of answers: every series alone, one row after another, by a `Forecaster` of its own."""

import json
from math import isnan, nan, sqrt
from typing import Any

import numpy as np

from adabypass import Forecaster
from adabypass.reference.alarms import Monitor
from adabypass.validation import Floats

KINDS = ("level", "noise", "slope")


def row_of(forecaster: Forecaster) -> Floats:
    """Return the row of a forecaster that has seen something."""
    assert forecaster._runner is not None
    row: Floats = forecaster._runner.row
    return row


def columns_of(wanted: Any) -> list[str]:
    """Return the names of what follows the observation: written out, not asked of what is judged."""
    names: list[str] = []
    for field in wanted.fields:
        if field == "interval":
            names += [f"{side}_{100.0 * wanted.level:g}" for side in ("lower", "upper")]
        elif field == "quantiles":
            names += [f"quantile_{100.0 * q:g}" for q in wanted.quantiles]
        else:
            names.append(field)
    return names


class Alone:
    """One series.

    Parameters
    ----------
    wanted
        Has `fields`, `level`, `quantiles`, `false_alarms`, `key` and `time`.
    template : Forecaster
    n_exog : int
    """

    def __init__(self, wanted: Any, template: Forecaster, n_exog: int) -> None:
        self._wanted, self.forecaster = wanted, template.copy()
        self.interval_starts, self.monitor = np.array([-1.0, 1.0]), Monitor(wanted.false_alarms)
        self._positions = template._engine.learned_positions(("drift",), n_exog)

    def values(self, y: float, exog: list[float] | None) -> list[Any]:
        """Learn a row; return the observation, and what was forecast of it."""
        forecast, wanted = self.forecaster.step(y, exog), self._wanted
        seen = None if isnan(y) else y
        if forecast is None or not forecast.is_known:
            return [seen, *[None] * len(columns_of(wanted))]
        values: list[Any] = [seen]
        alarms: dict[str, Any] = {}
        if "anomaly" in wanted.fields or "change" in wanted.fields:
            error = nan if isnan(y) else (y - forecast.mean) / forecast.sd
            surprise = float(forecast.surprise(y))
            is_changed, is_flagged = self.monitor.update(surprise, float(error), float(forecast.sd), self._drift())
            alarms["anomaly"] = None if isnan(y) else is_flagged
            newest = self.monitor.newest
            alarms["change"] = KINDS[newest.kind - 1] if is_changed and newest is not None else None
        for name in wanted.fields:
            values += [alarms[name]] if name in alarms else self._field(name, forecast, y)
        return values

    def _field(self, name: str, forecast: Any, y: float) -> list[Any]:
        if name in ("mean", "sd"):
            return [float(forecast.mean) if name == "mean" else sqrt(forecast.var)]
        if name == "interval":
            return [float(each) for each in forecast.interval(self._wanted.level, start=self.interval_starts)]
        if name == "quantiles":
            return [float(each) for each in forecast.quantile(np.array(self._wanted.quantiles))]
        if isnan(y):
            return [None]
        if name == "log_score":
            return [float(forecast.logpdf(y))]
        return [forecast.surprise(y)]

    def _drift(self) -> float:
        return float(row_of(self.forecaster)[self._positions[0]]) if self._positions else nan


class OneByOne:
    """The series of a stream.

    Attributes
    ----------
    series : dict
        By id, as JSON.
    """

    def __init__(self, wanted: Any, template: Forecaster, n_exog: int = 0) -> None:
        self._settings = wanted, template, n_exog
        self.series: dict[str, Alone] = {}

    def line(self, key: str, y: float, exog: list[float] | None = None, time: object = None) -> str:
        """Learn a row of a series; return its answer as a JSON line."""
        wanted = self._settings[0]
        if key not in self.series:
            self.series[key] = Alone(*self._settings)
        answer = {} if wanted.time is None else {wanted.time: time}
        if wanted.key is not None:
            answer[wanted.key] = json.loads(key)
        names = ["y", *columns_of(wanted)]
        return json.dumps(answer | dict(zip(names, self.series[key].values(y, exog), strict=True))) + "\n"

    def bits(self) -> dict[str, bytes]:
        """Return the bytes of what a stream keeps of each series."""
        return {
            key: row_of(each.forecaster).tobytes() + each.interval_starts.tobytes() for key, each in self.series.items()
        }
