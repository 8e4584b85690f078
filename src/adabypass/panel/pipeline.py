"""From a table to results: each series by itself, those that fail reported beside the others' results."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from adabypass.errors import AdabypassError, ParameterError
from adabypass.forecasting import Baseline, Forecaster
from adabypass.model.forecast import Forecast
from adabypass.panel.ahead import check_levels
from adabypass.panel.series import Series, SeriesTable
from adabypass.regressors import Regressor
from adabypass.tables import Column, ZonedTimes

T = TypeVar("T")
_SIDES = ("lower", "upper")
FILL_MISSING = 'choose missing="mean" or missing="last"'
"""How Python's interface advises about a missing exogenous value; a command has words of its own."""


class Failure(NamedTuple):
    """A series that could not be processed."""

    series: str
    """Its id; "" if the table holds one series."""
    error: AdabypassError

    def __str__(self) -> str:
        return f'series "{self.series}": {self.error}' if self.series else str(self.error)


class Outcome(NamedTuple, Generic[T]):
    """Results of the series that could be processed, and the reasons of those that could not."""

    results: list[tuple[Series, T]]
    failures: list[Failure]


class Forecasts(NamedTuple):
    """Forecasts of every series of a table."""

    columns: dict[str, Column]
    """id, time, mean, sd and the bounds of the intervals, the series below each other."""
    failures: list[Failure]
    first: tuple[Series, Forecast]
    """The first series and its forecast, to be drawn."""


def each_series(
    panel: SeriesTable, work: Callable[[Series], T], progress: Callable[[int], None] | None = None
) -> Outcome[T]:
    """Process every series of a panel; a series that raises an error of this library does not stop the others.

    Parameters
    ----------
    panel : SeriesTable
        The series of a table.
    work : function of a Series
    progress : function, optional
        Called after each series with the number of series done since the last call: 1.

    Raises
    ------
    AdabypassError
        If every series fails: the first one's error.
    """
    results: list[tuple[Series, T]] = []
    failures: list[Failure] = []
    for name in panel.names:
        try:
            series = panel.series(name)
            results.append((series, work(series)))
        except AdabypassError as error:
            failures.append(Failure(name, error))
        if progress is not None:
            progress(1)
    if not results:
        first = failures[0]
        many = f"none of the {len(failures)} series could be processed; the first: " if len(failures) > 1 else ""
        raise type(first.error)(f"{many}{first}") from first.error
    return Outcome(results, failures)


def forecast_series(
    panel: SeriesTable,
    horizon: int,
    forecaster: Forecaster | Baseline | Regressor | None = None,
    levels: float | Sequence[float] = (0.9,),
    *,
    progress: Callable[[int], None] | None = None,
    remedy: str = FILL_MISSING,
) -> Forecasts:
    """Forecast every series of a panel, each with a forecaster of its own.

    Parameters
    ----------
    panel : SeriesTable
        The series of a table.
    horizon : int
    forecaster : Forecaster, Baseline or Regressor, optional
        Each series gets a copy of it that has seen nothing. A new `Forecaster()` if None.
    levels : sequence of numbers between 0 and 1
        Probabilities of the intervals.
    progress : function, optional
        Called after each series with the number of series done since the last call: 1.
    remedy : str
        What the error about a missing exogenous value advises besides filling it.
    """
    levels = check_levels(levels)
    panel.columns.check_against(["mean", "sd", *(f"{side}_{100 * level:g}" for level in levels for side in _SIDES)])
    template = as_forecaster(forecaster).copy()
    template.reset()
    first: list[tuple[Series, Forecast]] = []

    def work(series: Series) -> dict[str, Column]:
        each = template.copy()
        if each.missing == "raise":
            series.check_exog(horizon, remedy)
        each.run(series.y, series.exog, keep_predictive=False)
        ahead = each.forecast(horizon, series.exog_ahead(horizon))
        time = series.as_column(series.following(horizon))
        if not first:
            first.append((series, ahead))
        return {panel.columns.time or "step": time, **ahead.columns(levels)}

    outcome = each_series(panel, work, progress)
    columns: dict[str, Column] = {}
    if panel.columns.id is not None:
        columns[panel.columns.id] = panel.ids([series.name for series, _ in outcome.results], horizon)
    parts = [part for _, part in outcome.results]
    columns |= {name: _concatenate([part[name] for part in parts]) for name in parts[0]}
    return Forecasts(columns, outcome.failures, first[0])


def as_forecaster(given: Forecaster | Baseline | Regressor | None) -> Forecaster | Baseline:
    """Return a forecaster or a baseline as it is, a model in a forecaster with the default lags; a new one for None."""
    if isinstance(given, Forecaster | Baseline):
        return given
    if given is not None and not isinstance(given, Regressor):
        raise ParameterError(
            f"forecaster is {given!r}, but must be a forecaster such as Forecaster(lags=2), or a model such as "
            "AutoBypass()."
        )
    return Forecaster(None if given is None else given.copy())  # the copy, since a forecaster's model starts anew


def _concatenate(parts: Sequence[Column]) -> Column:
    zoned = [part for part in parts if isinstance(part, ZonedTimes)]
    return ZonedTimes.concatenate(zoned) if zoned else np.concatenate([np.asarray(part) for part in parts])
