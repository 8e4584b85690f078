"""Prequential evaluation: each forecast is made before its target is seen, one step ahead or many."""

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from adabypass import tables
from adabypass.errors import NotEnoughDataError, ParameterError
from adabypass.forecasting import Baseline, Forecaster
from adabypass.forecasting.observations import check_exog, check_series
from adabypass.model.predictive import concatenate
from adabypass.model.trace import Scores, Trace
from adabypass.panel.columns import TARGET, Columns, as_names
from adabypass.panel.pipeline import as_forecaster
from adabypass.panel.series import SeriesTable
from adabypass.regressors import Regressor
from adabypass.validation import Floats, Integers, check_function, check_int, shown

SKIP = 20
"""How many forecasts are not scored: those from which every model learns what the series is like at all."""
LARGEST_SKIP = 1_000_000_000
LONGEST_HORIZON = 100_000
AFFORDABLE = 20_000
"""How many forecasts, each step ahead counted, are made by default: some 10 seconds and 50 MB for AutoBypass."""
FEWEST_ORIGINS = 50
"""From so many origins forecasts are made by default, even if they are not affordable."""
LOSSES: dict[str, Callable[[Trace], Any]] = {
    "log": lambda trace: -trace.log_score,
    "crps": lambda trace: trace.crps,
    "squared": lambda trace: (trace.y - trace.mean) ** 2,
    "absolute": lambda trace: np.abs(trace.y - trace.mean),
}


class Evaluation(NamedTuple):
    """Forecasts of a series, each made before its target was seen."""

    traces: dict[int, Trace]
    """The forecasts by the number of steps ahead, and what was observed then."""
    skip: int
    """How many forecasts, from the first, are not scored."""
    origins: Integers
    """How many observations had been seen when each forecast was made."""
    every: int = 1
    """How many observations there are from one forecast's origin to the next."""

    def trace(self, step: int = 1) -> Trace:
        """Return the forecasts `step` steps ahead."""
        if not isinstance(step, int | np.integer) or step not in self.traces:
            raise ParameterError(
                f"step is {shown(step)}, but forecasts from {min(self.traces)} to {max(self.traces)} steps ahead were "
                "evaluated; evaluate with a longer horizon."
            )
        return self.traces[step]

    def scores(self, step: int = 1) -> Scores:
        """Compute the scores of the forecasts `step` steps ahead."""
        return self.trace(step).scores(skip=self.skip)

    def n_scored(self, step: int = 1) -> int:
        """Return how many forecasts `step` steps ahead are scored: those that knew something of what was observed."""
        trace = self.trace(step)
        return int(np.count_nonzero((~np.isnan(trace.y) & trace.is_known)[self.skip :]))

    def losses(self, step: int = 1, loss: str = "log") -> Floats:
        """Return the loss of each forecast; nan where the target is missing, or the forecast knew nothing of it.

        Parameters
        ----------
        step : int
            How many steps ahead.
        loss : "log" (negative log score), "crps", "squared" or "absolute" error
        """
        trace = self.trace(step)
        losses = np.asarray(LOSSES[check_loss(loss)](trace))
        return np.where(trace.is_known, losses, np.nan)[self.skip :]

    def __repr__(self) -> str:
        scores = {step: self.scores(step) for step in self.traces}
        names = next(iter(scores.values()))
        lines = [f"{'step':>4} " + " ".join(f"{name:>14}" for name in names)]
        lines += [f"{step:>4} " + " ".join(f"{each[name]:>14.6g}" for name in names) for step, each in scores.items()]
        return "\n".join(lines)


def evaluate(
    forecaster: Forecaster | Baseline | Regressor | None,
    data: object,
    exog: object = None,
    *,
    target: str = TARGET,
    time: str | None = None,
    horizon: int = 1,
    every: int | None = None,
    skip: int = SKIP,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Score a forecaster prequentially: each forecast is made before its target is seen, and scored when it is.

    The forecaster itself stays as it is; a copy learns.

    Parameters
    ----------
    forecaster : Forecaster, or a model to be put in one
        A new `Forecaster()` if None.
    data : array (n,), or a data frame that holds one series
        nan where the observation is missing.
    exog : array (n, n_exog), or names of columns, optional
        Their values at the targets are taken as known when the forecast is made.
    target, time : str
        Columns of a frame: `y`, and `ds` if it is there, or an index of dates.
    horizon : int
        Forecasts 1 to `horizon` steps ahead are scored.
    every : int, optional
        A forecast is made after every so many observations. By default after each of them or, where that would be
        more than 20,000 forecasts (observations times `horizon`), after so many that it is no more, but from 50
        origins at least.
    skip : int
        How many forecasts are not scored, from the first.
    progress : function, optional
        Called now and then with the number of observations done since the last call.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset
    >>> result = evaluate(Forecaster(lags=1), load_dataset("nile").y)
    >>> round(result.scores()["coverage_90"], 3), result.n_scored()
    (0.921, 642)
    """
    check_function(progress, "progress")
    copy = as_forecaster(forecaster).copy()
    series, known = observations(data, exog, target, time)
    steps = check_int(horizon, "horizon", minimum=1, maximum=LONGEST_HORIZON)
    skip = check_int(skip, "skip", minimum=0, maximum=LARGEST_SKIP)
    if steps == 1 and every is None:
        trace = copy.run(series, known)
        if progress is not None:
            progress(len(series))
        return Evaluation({1: trace}, min(skip, len(trace) - 1), trace.first + np.arange(len(trace)))
    stride = _default_stride(len(series), steps) if every is None else every
    stride = check_int(stride, "every", minimum=1, maximum=10_000_000)
    return _evaluate_ahead(copy, series, known, steps, stride, skip, progress)


def _evaluate_ahead(
    forecaster: Forecaster | Baseline,
    series: Floats,
    known: Floats | None,
    steps: int,
    stride: int,
    skip: int,
    progress: Callable[[int], None] | None,
) -> Evaluation:
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
    return Evaluation(traces, min(skip, len(origins) - 1), origins, stride)  # a short series keeps its last forecast


def observations(data: Any, exog: Any, target: str, time: str | None) -> tuple[Floats, Floats | None]:
    """Return the observations and exogenous values of arrays, or of a frame's columns."""
    if not (isinstance(data, Mapping) or hasattr(data, "columns")):
        series = check_series(data, "data")
        return series, None if exog is None else check_exog(exog, len(series), None, None, "mean")
    panel = SeriesTable(
        tables.from_frame(data), Columns(target, time, None, () if exog is None else as_names(exog, "exog"))
    )
    if len(panel) > 1:
        raise ParameterError(f"the frame holds {len(panel)} series, but they are evaluated one by one; choose one.")
    found = panel.series(panel.names[0])
    return found.y, found.exog


def _default_stride(n: int, steps: int) -> int:
    """Return after how many observations a forecast is made, if the caller leaves it open."""
    return max(1, min(ceil(n * steps / AFFORDABLE), (n - steps) // FEWEST_ORIGINS))


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
