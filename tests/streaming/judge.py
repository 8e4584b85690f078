"""The judge of answers: every series alone, one row after another, by a `Forecaster` of its own."""

from math import isnan, sqrt
from typing import Any

import numpy as np

from adabypass import Forecaster
from adabypass.validation import Floats


class Alone:
    """One series."""

    def __init__(self, template: Forecaster, level: float, horizon: int = 0) -> None:
        self.forecaster, self._level, self._horizon = template.copy(), level, horizon
        self.start = np.array([-1.0, 1.0])

    def answer(self, y: float, exog: list[float] | None = None) -> dict[str, Any]:
        """Learn a row; return its answer."""
        found: dict[str, Any] = {"y": None if isnan(y) else y}
        forecast: Any = self.forecaster.step(y, exog)
        is_known = forecast is not None and forecast.is_known
        names = ("mean", "sd", "lower_90", "upper_90")
        found |= dict.fromkeys(names)
        if is_known:
            low, high = forecast.interval(self._level, start=self.start)
            found |= zip(names, map(float, (forecast.mean, sqrt(forecast.var), low, high)), strict=True)
        if self._horizon:
            found["forecast"] = self._ahead() if is_known else None
        return found

    def _ahead(self) -> dict[str, list[float]]:
        ahead = self.forecaster.forecast(self._horizon)
        low, high = ahead.interval(self._level)
        return {"mean": ahead.mean.tolist(), "lower_90": low.tolist(), "upper_90": high.tolist()}


class OneByOne:
    """Many series, each forgotten when it is told to be."""

    def __init__(self, template: Forecaster, level: float = 0.9, horizon: int = 0) -> None:
        self._settings = template, level, horizon
        self.series: dict[Any, Alone] = {}

    def answer(self, id: Any, y: float, exog: list[float] | None = None) -> dict[str, Any]:
        """Learn a row of a series; return its answer."""
        if id not in self.series:
            self.series[id] = Alone(*self._settings)
        return self.series[id].answer(y, exog)


def rows(n: int, n_series: int = 3, seed: int = 0, *, exog: bool = False) -> list[dict[str, Any]]:
    """Return rows of series that take turns at random, with gaps."""
    rng = np.random.default_rng(seed)
    level = 100.0 + rng.normal(size=n_series).cumsum()
    found = []
    for i in range(n):
        at = int(rng.integers(n_series))
        level[at] += rng.normal()
        y = None if rng.random() < 0.05 else float(level[at])
        row: dict[str, Any] = {"t": i, "k": f"series {at}", "y": y}
        found.append(row | ({"x": float(rng.normal())} if exog else {}))
    return found


def judged(given: list[dict[str, Any]], judge: OneByOne) -> list[dict[str, Any]]:
    """Return the answers of the judge to rows."""
    answers = []
    for row in given:
        exog = [row["x"]] if "x" in row else None
        found = judge.answer(row["k"], float("nan") if row["y"] is None else row["y"], exog)
        answers.append({"id": row["k"], "time": row["t"], **found})
    return answers


def row_of(forecaster: Any) -> Floats:
    """Return the row of a forecaster that has seen something."""
    row: Floats = forecaster._runner.row
    return row
