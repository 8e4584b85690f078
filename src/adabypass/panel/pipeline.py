"""From a table to results: each series by itself, those that fail reported beside the others' results."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from adabypass.errors import AdabypassError, ParameterError
from adabypass.forecasting import Forecaster
from adabypass.model.forecast import Forecast
from adabypass.panel.series import Panel, Series
from adabypass.regressors import Regressor
from adabypass.tables import Array
from adabypass.validation import Floats

T = TypeVar("T")
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

    columns: dict[str, Array]
    """id, time, mean, sd and the bounds of the intervals, the series below each other."""
    failures: list[Failure]
    first: tuple[Series, Forecast]
    """The first series and its forecast, to be drawn."""


def each_series(panel: Panel, work: Callable[[Series], T], progress: Callable[[int], None] | None = None) -> Outcome[T]:
    """Process every series of a panel; a series that raises an error of this library does not stop the others.

    Parameters
    ----------
    panel : Panel
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


def forecast_panel(
    panel: Panel,
    horizon: int,
    forecaster: Forecaster | Regressor | None = None,
    levels: Sequence[float] = (0.9,),
    *,
    progress: Callable[[int], None] | None = None,
    remedy: str = FILL_MISSING,
) -> Forecasts:
    """Forecast every series of a panel, each with a forecaster of its own.

    Parameters
    ----------
    panel : Panel
    horizon : int
    forecaster : Forecaster or Regressor, optional
        Each series gets a copy of it that has seen nothing. A new `Forecaster()` if None.
    levels : sequence of numbers between 0 and 1
        Probabilities of the intervals.
    progress : function, optional
        Called after each series with the number of series done since the last call: 1.
    remedy : str
        What the error about a missing exogenous value advises besides filling it.
    """
    template = as_forecaster(forecaster).copy()
    template.reset()
    first: list[tuple[Series, Forecast]] = []

    def work(series: Series) -> dict[str, Array]:
        each = template.copy()
        if each.missing == "raise":
            series.check_exog(horizon, remedy)
        each.run(series.y, series.exog)
        ahead = each.forecast(horizon, series.exog_ahead(horizon))
        rows = _rows(series, ahead.columns(levels), series.following(horizon))
        if not first:
            first.append((series, ahead))
        return rows

    outcome = each_series(panel, work, progress)
    parts = [part for _, part in outcome.results]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if panel.columns.id is not None and panel.table.holds_integers(panel.columns.id):
        columns[panel.columns.id] = columns[panel.columns.id].astype(np.int64)
    return Forecasts(columns, outcome.failures, first[0])


def as_forecaster(given: Forecaster | Regressor | None) -> Forecaster:
    """Return a forecaster as it is, a model in a forecaster with the default lags, or a new one for None."""
    if isinstance(given, Forecaster):
        return given
    if given is not None and not isinstance(given, Regressor):
        raise ParameterError(
            f"forecaster is {given!r}, but must be a forecaster such as Forecaster(lags=2), or a model such as "
            "AutoBypass()."
        )
    return Forecaster(None if given is None else given.copy())  # the copy, since a forecaster's model starts anew


def _rows(series: Series, values: dict[str, Floats], time: Array) -> dict[str, Array]:
    """Return the columns of a series' forecasts: its id and times before the values."""
    head: dict[str, Array] = {}
    if series.columns.id is not None:
        head[series.columns.id] = np.array([series.name] * len(time))
    head[series.columns.time or "step"] = time
    return head | values
