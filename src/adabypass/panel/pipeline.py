"""From a table to results: each series by itself, those that fail reported beside the others' results."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

import numpy as np

from adabypass.data import Column, ZonedTimes
from adabypass.errors import AdabypassError, ParameterError
from adabypass.forecasting import Baseline, Forecaster
from adabypass.panel.ahead import check_levels, check_quantiles
from adabypass.panel.batch import Batch, Failure
from adabypass.panel.series import Series, SeriesTable
from adabypass.panel.threads import check_threads, in_threads
from adabypass.regressors import Regressor
from adabypass.results.columns import column_names
from adabypass.results.forecast import Forecast

T = TypeVar("T")
FILL_MISSING = 'choose missing="mean" or missing="last"'
"""How Python's interface advises about a missing exogenous value; a command has words of its own."""
KEEP_LAST = 'pass missing="last"'
"""How it advises to agree with what is done about absent rows."""
BATCH = 4096
"""Series whose forecasters are in memory at a time."""


class SeriesResults(NamedTuple, Generic[T]):
    """Results of the series that could be processed, and the reasons of those that could not."""

    results: list[tuple[Series, T]]
    failures: list[Failure]


class Forecasts(NamedTuple):
    """Forecasts of every series of a table."""

    columns: dict[str, Column]
    """Columns id, time, mean, sd and the bounds of the intervals, one series after another."""
    failures: list[Failure]
    first: tuple[Series, Forecast]
    """The first series and its forecast, to be drawn."""


def map_series(panel: SeriesTable, work: Callable[[Series], T], *, n_threads: int | None = 1) -> SeriesResults[T]:
    """Process every series of a panel; a series that raises an error of this library does not stop the others.

    Parameters
    ----------
    panel : SeriesTable
        The series of a table.
    work : function of a Series
    n_threads : int, optional
        By how many threads `work` is called; as many as there are processors if None.

    Raises
    ------
    AdabypassError
        If every series fails: the first one's error.
    """
    results: list[tuple[Series, T]] = []
    failures: list[Failure] = []

    def attempt(name: str) -> tuple[Series, T] | Failure:
        try:
            series = panel.series(name)
            return series, work(series)
        except AdabypassError as error:
            return Failure(name, error)

    with closing(in_threads(attempt, panel.names, check_threads(n_threads))) as outcomes:
        for found in outcomes:
            if isinstance(found, Failure):
                failures.append(found)
            else:
                results.append(found)
    if not results:
        _raise_first(failures)
    return SeriesResults(results, failures)


def forecast_series(
    table: SeriesTable,
    horizon: int,
    forecaster: Forecaster | Baseline | Regressor | None = None,
    levels: float | Sequence[float] = (0.9,),
    quantiles: float | Sequence[float] = (),
    *,
    n_threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    remedy: str = FILL_MISSING,
) -> Forecasts:
    """Forecast every series of a table, each as by a forecaster of its own, in compiled code.

    Parameters
    ----------
    table : SeriesTable
    horizon : int
    forecaster : Forecaster, Baseline or Regressor, optional
        Each series gets a copy of it that has seen nothing. A new `Forecaster()` if None.
    levels : sequence of numbers between 0 and 1
        Probabilities of the intervals.
    quantiles : sequence of numbers between 0 and 1
        Probabilities of quantiles, besides the median.
    n_threads : int, optional
        By default as many as there are processors.
    progress : function, optional
        Called now and then with the number of series done since the last call.
    remedy : str
        What the error about a missing exogenous value advises besides filling it.
    """
    levels, quantiles = check_levels(levels), check_quantiles(quantiles)
    table.columns.check_against(column_names(levels, quantiles))
    template = as_forecaster(forecaster).copy()
    template.reset()
    batch = Batch(template, horizon, levels, quantiles, check_threads(n_threads), progress, remedy)
    failures: list[Failure] = []
    for start in range(0, len(table), BATCH):
        failures += batch.forecast(table, table.names[start : start + BATCH])
    if batch.first is None:
        _raise_first(failures)
    columns: dict[str, Column] = {}
    if table.columns.id is not None:
        columns[table.columns.id] = table.ids(batch.names, horizon)
    columns[table.columns.time or "step"] = _concatenate(batch.times)
    columns |= {name: np.concatenate([part[name] for part in batch.parts]) for name in batch.parts[0]}
    return Forecasts(columns, failures, batch.first)


def as_forecaster(given: Forecaster | Baseline | Regressor | None, **settings: Any) -> Forecaster | Baseline:
    """Return a forecaster or a baseline, a model in a forecaster with the default lags; a new forecaster for None.

    `settings` that are not None fill those that the forecaster was not given. One that was given another is refused,
    and so is one that has no use for them.
    """
    chosen = {name: value for name, value in settings.items() if value is not None}
    if isinstance(given, Forecaster | Baseline):
        return given._with_settings(chosen)
    if given is not None and not isinstance(given, Regressor):
        raise ParameterError(
            f"forecaster is {given!r}, but must be a forecaster such as Forecaster(lags=2), or a model such as "
            "AutoBypass()."
        )
    model = None if given is None else given.copy()  # the copy, since a forecaster's model starts anew
    return Forecaster(model)._with_settings(chosen)


def _raise_first(failures: list[Failure]) -> NoReturn:
    """Raise the error of the first of all series, since none could be processed."""
    first = failures[0]
    many = f"none of the {len(failures)} series could be processed; the first: " if len(failures) > 1 else ""
    raise type(first.error)(f"{many}{first}") from first.error


def _concatenate(parts: Sequence[Column]) -> Column:
    zoned = [part for part in parts if isinstance(part, ZonedTimes)]
    return ZonedTimes.concatenate(zoned) if zoned else np.concatenate([np.asarray(part) for part in parts])
