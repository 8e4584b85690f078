"""Prequential evaluation: each forecast is made before its target is seen, one step ahead or many."""

from collections.abc import Callable
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from adabypass.distributions.predictive import concatenate
from adabypass.errors import NotEnoughDataError, ParameterError
from adabypass.forecasting import Baseline, Forecaster
from adabypass.forecasting.forecaster import MAX_HORIZON
from adabypass.results.trace import Scores, Trace
from adabypass.validation import Floats, Integers, check_int, shown

SKIP = 20
"""Number of observations at the beginning from which every model learns what the series is like at all."""
MAX_SKIP = 1_000_000_000
MAX_EVERY = 10_000_000
AFFORDABLE = 20_000
"""How many forecasts, each step ahead counted, are made by default: some 10 seconds and 50 MB for AutoBypass."""
MIN_ORIGINS = 50
"""Minimum number of origins from which forecasts are made by default, even if they are not affordable."""
LOSSES: dict[str, Callable[[Trace], Any]] = {
    "log": lambda trace: -trace.log_score,
    "crps": lambda trace: trace.crps,
    "squared": lambda trace: (trace.y - trace.mean) ** 2,
    "absolute": lambda trace: np.abs(trace.y - trace.mean),
}


class Counts(NamedTuple):
    """What became of forecasts of one series, some steps ahead."""

    n_origins: int
    """From how many origins forecasts were made."""
    n_scored: int
    """How many are scored: those that knew something of what was observed."""
    n_skipped: int
    """How many are not scored since they are made from too few observations."""
    n_left_out: int
    """How many more are not scored: their target is missing, or they knew nothing of it."""


class SeriesScores(NamedTuple):
    """The scores of one series among many, whose forecasts would take too much memory."""

    by_step: dict[int, tuple[Counts, Scores]]
    every: int
    skip: int

    @property
    def horizon(self) -> int:
        """How many steps ahead the farthest forecast is."""
        return max(self.by_step)

    def counts(self, step: int) -> Counts:
        """Return how many forecasts `step` steps ahead are scored, and how many are not."""
        return self.by_step[step][0]

    def scores(self, step: int) -> Scores:
        """Return the scores of the forecasts `step` steps ahead."""
        return self.by_step[step][1]


class SeriesForecasts(NamedTuple):
    """Forecasts of one series, each made before its target was seen."""

    traces: dict[int, Trace]
    """The forecasts by the number of steps ahead, and what was observed then."""
    origins: Integers
    """How many observations had been seen when each forecast was made."""
    every: int
    """How many observations there are from one forecast's origin to the next."""
    skip: int
    """Number of observations at the beginning: forecasts made from fewer are not scored."""

    @property
    def horizon(self) -> int:
        """How many steps ahead the farthest forecast is."""
        return max(self.traces)

    @property
    def n_skipped(self) -> int:
        """How many forecasts are not scored since they are made from fewer than `skip` observations."""
        return self.traces[1].n_skipped(self.skip)

    def skipping(self, skip: int) -> "SeriesForecasts":
        """Return the same forecasts, scored where they are made from `skip` observations or more."""
        if skip > self.origins[-1]:
            raise NotEnoughDataError(
                f"there is nothing to score: the first {skip} observations are skipped, but the last forecast is made "
                f"from {self.origins[-1]}; give a longer series, or a smaller skip."
            )
        return self._replace(skip=skip)

    def counts(self, step: int) -> Counts:
        """Return how many forecasts `step` steps ahead are scored, and how many are not."""
        trace, n_skipped = self.traces[step], self.n_skipped
        n_scored = int(np.count_nonzero((~np.isnan(trace.y) & trace.is_known)[n_skipped:]))
        return Counts(len(self.origins), n_scored, n_skipped, len(self.origins) - n_skipped - n_scored)

    def scores(self, step: int) -> Scores:
        """Compute the scores of the forecasts `step` steps ahead."""
        return self.traces[step].scores(skip=self.skip)

    def losses(self, step: int, loss: str) -> Floats:
        """Return the loss of each forecast; nan where the target is missing, or the forecast knew nothing of it."""
        trace = self.traces[step]
        losses = np.asarray(LOSSES[check_loss(loss)](trace))
        return np.where(trace.is_known, losses, np.nan)[self.n_skipped :]

    def scored(self) -> SeriesScores:
        """Compute all scores, and leave the forecasts behind."""
        by_step = {step: (self.counts(step), self.scores(step)) for step in self.traces}
        return SeriesScores(by_step, self.every, self.skip)


class Plan(NamedTuple):
    """When forecasts are made, how far ahead, and from where on they are scored."""

    horizon: int
    every: int | None
    skip: int

    @classmethod
    def checked(cls, horizon: object, every: object, skip: object) -> "Plan":
        """Return a plan whose parts are valid."""
        return cls(
            check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON),
            None if every is None else check_int(every, "every", minimum=1, maximum=MAX_EVERY),
            check_int(skip, "skip", minimum=0, maximum=MAX_SKIP),
        )


def forecast_along(
    y: Floats,
    exog: Floats | None,
    forecaster: Forecaster | Baseline,
    plan: Plan,
    progress: Callable[[int], None] | None = None,
) -> SeriesForecasts:
    """Forecast a series from one origin after another, while the forecaster learns; it is not copied.

    Parameters
    ----------
    y : array (n,)
    exog : array (n, n_exog), optional
    forecaster : Forecaster or Baseline
    plan : Plan
    progress : function, optional
        Called now and then with the number of observations done since the last call.
    """
    if plan.horizon == 1 and plan.every is None:
        trace = forecaster.run(y, exog)
        if progress is not None:
            progress(len(y))
        found = SeriesForecasts({1: trace}, trace.first + np.arange(len(trace)), 1, 0)
    else:
        stride = _default_stride(len(y), plan.horizon) if plan.every is None else plan.every
        found = _forecast_ahead(forecaster, y, exog, plan.horizon, stride, progress)
    return found.skipping(plan.skip)


def _forecast_ahead(
    forecaster: Forecaster | Baseline,
    series: Floats,
    known: Floats | None,
    steps: int,
    stride: int,
    progress: Callable[[int], None] | None,
) -> SeriesForecasts:
    """Forecast `steps` steps ahead after every `stride` observations; the forecaster learns on the way."""
    forecasts, at = [], 0
    while at < len(series):
        stop = min(at + stride, len(series))
        _advance(forecaster, series[at:stop], None if known is None else known[at:stop])
        if progress is not None:
            progress(stop - at)
        at = stop
        if at + steps <= len(series) and forecaster.is_ready and forecaster.n_seen:
            ahead = forecaster.forecast(steps, None if known is None else known[at : at + steps])
            forecasts.append((at, ahead.predictive))
    if not forecasts:
        raise NotEnoughDataError(f"y has {len(series)} observations: too few to forecast {steps} steps ahead.")
    origins = np.array([origin for origin, _ in forecasts])
    traces = {
        step: Trace(
            y=series[origins + step - 1],
            predictive=concatenate([each[step - 1] for _, each in forecasts]),
            history={},
            first=int(origins[0]) + step - 1,
        )
        for step in range(1, steps + 1)
    }
    for trace in traces.values():
        trace.origins = origins
    return SeriesForecasts(traces, origins, stride, 0)


def _default_stride(n: int, steps: int) -> int:
    """Return after how many observations a forecast is made, if the caller leaves it open."""
    return max(1, min(ceil(n * steps / AFFORDABLE), (n - steps) // MIN_ORIGINS))


def check_loss(loss: str) -> str:
    """Return the name of a loss, checked."""
    if not isinstance(loss, str) or loss not in LOSSES:
        raise ParameterError(f"loss is {shown(loss)}, but must be one of {', '.join(map(repr, LOSSES))}.")
    return loss


def _advance(forecaster: Forecaster | Baseline, y: Floats, exog: Floats | None) -> None:
    """Update the forecaster with some more observations, whether it is ready to forecast or not."""
    if forecaster.is_ready and len(y) > 1:
        forecaster.run(y, exog, keep_predictive=False)
        return
    for i, value in enumerate(y):
        forecaster.update(value, None if exog is None else exog[i])
