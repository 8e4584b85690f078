"""The rivals, each as its library recommends it, with the season's period given."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from adabypass.validation import Floats
from benchmarks.forecast.measures import PROBABILITIES, Outlook
from benchmarks.forecast.problems import Problem

Found = Iterator[tuple[Problem, Outlook | None]]
MAX_PERIOD = 24
"""With a longer period AutoETS and AutoARIMA are given no season: the one has none, the other would take minutes."""
APPROXIMATE_FROM = 150
"""AutoARIMA compares models by approximate likelihoods from so many values on, or a period above 12, as in R."""


class Rival(NamedTuple):
    """A way to forecast problems."""

    name: str
    run: Callable[[Sequence[Problem]], Found]
    distribution: str | None = None
    """The package that it comes from, whose version its forecasts are kept by; None for ours, which are not kept."""

    @property
    def version(self) -> str:
        """Version of its package."""
        return "" if self.distribution is None else metadata.version(self.distribution)

    @property
    def is_installed(self) -> bool:
        """Whether its package is there."""
        try:
            return self.version is not None
        except metadata.PackageNotFoundError:
            return False


Forecast = tuple[Floats, Floats] | tuple[Floats, Floats, Floats]
"""The point forecast and the quantiles, and the mean where it is looked at apart."""


def one_by_one(forecast: Callable[[Problem], Forecast]) -> Callable[[Sequence[Problem]], Found]:
    """Return a run over problems of a function that forecasts one."""

    def run(problems: Sequence[Problem]) -> Found:
        for problem in problems[:1]:
            with suppress(Exception):
                forecast(problem)  # once before the clock starts: the first call imports and compiles
        for problem in problems:
            start = time.process_time()
            try:
                point, quantiles, *mean = forecast(problem)
            except Exception:  # a library that fails on a series is shown to have failed, whatever its error
                yield problem, None
                continue
            seconds = time.process_time() - start
            is_finite = bool(np.isfinite(point).all() and np.isfinite(quantiles).all())
            yield problem, Outlook(point, quantiles, seconds, *mean) if is_finite else None

    return run


def statsforecast(make: Callable[[Any, Problem], Any]) -> Callable[[Sequence[Problem]], Found]:
    """Return a run of a model of statsforecast."""

    def forecast(problem: Problem) -> tuple[Floats, Floats]:
        from statsforecast import models  # noqa: PLC0415  (an extra of the benchmark)

        levels = list(range(10, 100, 10))
        found = make(models, problem).forecast(problem.train, problem.horizon, level=levels)
        mean = np.asarray(found["mean"], dtype=np.float64)
        low = [found[f"lo-{level}"] for level in reversed(levels)]
        high = [found[f"hi-{level}"] for level in levels]
        return mean, np.array([*low, mean, *high], dtype=np.float64)

    return one_by_one(forecast)


def short_period(problem: Problem) -> int:
    """Return the period, or 1 if it is longer than AutoETS and AutoARIMA can use."""
    return problem.period if problem.period <= MAX_PERIOD else 1


def auto_arima(models: Any, problem: Problem) -> Any:
    """Return AutoARIMA within limits that let it end."""
    period = short_period(problem)
    is_long = len(problem.train) > APPROXIMATE_FROM or period > 12
    return models.AutoARIMA(season_length=period, approximation=is_long)


def median_of(outlooks: Sequence[Outlook]) -> Outlook:
    """Return the forecast whose point and quantiles are the medians of several."""
    point = np.median([each.point for each in outlooks], axis=0)
    quantiles = np.median([each.quantiles for each in outlooks], axis=0)
    return Outlook(point, quantiles, sum(each.seconds for each in outlooks))


def ours(make: Callable[[Problem], Any]) -> Callable[[Sequence[Problem]], Found]:
    """Return a run of a forecaster of this library; its point forecast is the median."""

    def forecast(problem: Problem) -> Forecast:
        forecaster = make(problem)
        forecaster.run(problem.train, keep_predictive=False)
        ahead = forecaster.forecast(problem.horizon)
        quantiles = ahead.quantile(PROBABILITIES)
        return quantiles[len(quantiles) // 2], quantiles, ahead.mean

    return one_by_one(forecast)
