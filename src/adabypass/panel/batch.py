"""Some series of a table at a time: run, and forecast, as one panel."""

from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

import numpy as np

from adabypass.data import Column
from adabypass.data.periods import cycle_periods, periods_of
from adabypass.errors import AdabypassError
from adabypass.forecasting import Baseline, Forecaster
from adabypass.forecasting.observations import too_short
from adabypass.panel.panel import Panel
from adabypass.panel.series import Series, SeriesTable
from adabypass.panel.threads import in_threads
from adabypass.results.forecast import Forecast
from adabypass.validation import Floats


class Failure(NamedTuple):
    """A series that could not be processed."""

    series: str
    """Its id; "" if the table holds one series."""
    error: AdabypassError

    def __str__(self) -> str:
        return f'series "{self.series}": {self.error}' if self.series else str(self.error)


class PreparedSeries(NamedTuple):
    """A series that can be run, and the exogenous values to come."""

    series: Series
    exog_ahead: Floats | None


class Batch:
    """Forecasts of the series of a table, collected batch after batch.

    Parameters
    ----------
    template : Forecaster or Baseline
        That has seen nothing.
    horizon, levels, quantiles, n_threads, progress, remedy
        As of `forecast_series`.
    """

    def __init__(
        self,
        template: Forecaster | Baseline,
        horizon: int,
        levels: tuple[float, ...],
        quantiles: tuple[float, ...],
        n_threads: int,
        progress: Callable[[int], None] | None,
        remedy: str,
    ) -> None:
        self._template, self._horizon, self._n_threads = template, horizon, n_threads
        self._levels, self._quantiles = levels, quantiles
        self._progress, self._remedy = progress, remedy
        self.names: list[str] = []
        """Of the series that were forecast."""
        self.times: list[Column] = []
        """What follows the times of each."""
        self.parts: list[dict[str, Floats]] = []
        """Columns of the forecasts of each batch."""
        self.first: tuple[Series, Forecast] | None = None
        """The first series that was forecast, and its forecast."""
        self._following: dict[tuple[int, int], Column] = {}
        self._has_rows = isinstance(template, Forecaster) and template._engine.has_moments

    def forecast(self, table: SeriesTable, names: list[str]) -> list[Failure]:
        """Forecast these series; return those that could not be."""
        failed: dict[str, AdabypassError] = {}
        ready: list[PreparedSeries] = []
        for name in names:
            try:
                ready.append(self._prepared(table.series(name)))
            except AdabypassError as error:
                failed[name] = error
        if ready:
            failed |= self._run(ready) if self._has_rows else self._run_singly(ready)
        if self._progress is not None and failed:
            self._progress(len(failed))
        return [Failure(name, failed[name]) for name in names if name in failed]

    def _prepared(self, series: Series) -> PreparedSeries:
        """Return a series with the exogenous values to come; refuse one whose values are missing."""
        series = series.with_known_exog(self._template, self._horizon, self._remedy)
        return PreparedSeries(series, series.exog_ahead(self._horizon, self._template))

    def _run(self, ready: list[PreparedSeries]) -> dict[str, AdabypassError]:
        """Run and forecast series as one panel; return the errors of those that are too short."""
        assert isinstance(self._template, Forecaster)
        panel = Panel(self._template, n_threads=self._n_threads)
        seen = (each.series.exog_of(self._template) for each in ready)
        exog = [each for each in seen if each is not None]
        n_forecast = panel._run_series([each.series.y for each in ready], np.concatenate(exog) if exog else None)
        done = np.flatnonzero(n_forecast)
        if len(done):
            ahead = [each.exog_ahead for each in (ready[i] for i in done) if each.exog_ahead is not None]
            table = np.array(ahead) if ahead else None
            found = panel.forecast(
                self._horizon, table, ids=done, levels=self._levels, quantiles=self._quantiles, progress=self._progress
            )  # fmt: skip
            self.parts.append(found.columns())
            for i in done.tolist():
                self.names.append(ready[i].series.name)
                self.times.append(self._times(ready[i].series))
        if len(done) and self.first is None:
            first = ready[int(done[0])]
            single = panel[int(done[0])]
            assert isinstance(single, Forecaster)
            self.first = first.series, single.forecast(self._horizon, first.exog_ahead)
        n_needed = panel._engine.n_needed
        short = (ready[i].series for i in np.flatnonzero(n_forecast == 0).tolist())
        return {series.name: too_short(series.y, n_needed) for series in short}

    def _run_singly(self, ready: list[PreparedSeries]) -> dict[str, AdabypassError]:
        """Run and forecast one series after another: baselines, and automatic forecasters with periods of their own."""
        failed: dict[str, AdabypassError] = {}

        def work(each: PreparedSeries) -> tuple[Forecast, dict[str, Floats]] | AdabypassError:
            twin = copy_for(each.series, self._template)
            try:
                twin.run(each.series.y, each.series.exog_of(twin), keep_predictive=False)
                ahead = twin.forecast(self._horizon, each.exog_ahead)
            except AdabypassError as error:
                return error
            return ahead, ahead.columns(self._levels, self._quantiles)

        with closing(in_threads(work, ready, self._n_threads)) as outcomes:
            for (series, _), found in zip(ready, outcomes, strict=True):
                if isinstance(found, AdabypassError):
                    failed[series.name] = found
                    continue
                ahead, columns = found
                self.names.append(series.name)
                self.times.append(self._times(series))
                self.parts.append(columns)
                self.first = self.first or (series, ahead)
                if self._progress is not None:
                    self._progress(1)
        return failed

    def _times(self, series: Series) -> Column:
        """Return the times that follow a series; those that end together share them."""
        if series.time is None or series.zone is not None:
            return series.as_column(series.following(self._horizon))
        key = id(series.frequency), len(series.y)  # the frequency is kept by the table
        if key not in self._following:
            self._following[key] = series.as_column(series.following(self._horizon))
        return self._following[key]


def copy_for(series: Series, template: Forecaster | Baseline) -> Forecaster | Baseline:
    """Return a copy of the template; one that has seen nothing gets periods, where it may.

    Parameters
    ----------
    series : Series
        Its times suggest periods, and its columns say which cycles of the calendar to learn.
    template : Forecaster or Baseline
    """
    if template.n_seen:
        return template.copy()
    return template._with_period(periods_of(series.frequency), cycle_periods(series.frequency, series.columns.cycles))
