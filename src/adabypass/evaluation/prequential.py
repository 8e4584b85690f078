"""Prequential evaluation: each forecast is made before its target is seen, one step ahead or many."""

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from adabypass.data import frames
from adabypass.data.freq import Freq
from adabypass.distributions.predictive import concatenate
from adabypass.errors import NotEnoughDataError, ParameterError
from adabypass.evaluation.observations import observations
from adabypass.forecasting import Baseline, Forecaster
from adabypass.panel.batch import copy_for
from adabypass.panel.columns import TARGET
from adabypass.panel.pipeline import as_forecaster
from adabypass.regressors import Regressor
from adabypass.results.trace import Scores, Trace
from adabypass.validation import Floats, Integers, check_function, check_int, shown

SKIP = 20
"""How many forecasts are not scored: those from which every model learns what the series is like at all."""
MAX_SKIP = 1_000_000_000
MAX_HORIZON = 100_000
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

    @property
    def n_origins(self) -> int:
        """From how many origins forecasts were made."""
        return len(self.origins)

    @property
    def n_skipped(self) -> int:
        """How many forecasts, from the first, are not scored since they are made from hardly any data: `skip`."""
        return self.skip

    def n_left_out(self, step: int = 1) -> int:
        """Return how many more are not scored: their target is missing, or they knew nothing of it."""
        return self.n_origins - self.n_skipped - self.n_scored(step)

    def counts(self, step: int = 1) -> str:
        """Return in words how many forecasts `step` steps ahead are scored, and how many are not.

        Examples
        --------
        >>> from adabypass import Naive, load_dataset
        >>> evaluate(load_dataset("nile").y, Naive(), horizon=4, every=10).counts(4)
        '45 of 65 forecasts scored, after every 10th observation; the first 20 skipped'
        """
        scored = self.n_scored(step)
        stride = f", after every {_ordinal(self.every)} observation" if self.every > 1 else ""
        apart = [f"the first {self.n_skipped} skipped"] if self.n_skipped > 1 else []
        apart += ["the first skipped"] if self.n_skipped == 1 else []
        if n := self.n_left_out(step):
            apart.append(f"{n} left out whose target is missing or of which nothing was known")
        reasons = f"; {', '.join(apart)}" if apart else ""
        return f"{scored} of {self.n_origins} forecast{'s' * (self.n_origins != 1)} scored{stride}{reasons}"

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
        return "\n".join([self.counts(max(self.traces)), *lines])

    def columns(self) -> dict[str, Any]:
        """Return what a table shows: for each step the counts and the scores."""
        steps = list(self.traces)
        counts = {
            "step": np.array(steps),
            "n_origins": np.full(len(steps), self.n_origins),
            "n_scored": np.array([self.n_scored(step) for step in steps]),
            "n_skipped": np.full(len(steps), self.n_skipped),
            "n_left_out": np.array([self.n_left_out(step) for step in steps]),
        }
        scores = [self.scores(step) for step in steps]
        names = [name for name in scores[0] if name not in ("n", "n_left_out")]
        return counts | {name: np.array([each[name] for each in scores]) for name in names}

    def to_frame(self, backend: frames.Backend = "pandas") -> Any:
        """Return counts and scores as a data frame, one row for each step ahead; `trace(step)` has the forecasts.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
        """
        return frames.make(self.columns(), backend)


def evaluate(
    data: object,
    forecaster: Forecaster | Baseline | Regressor | None = None,
    exog: object = None,
    *,
    target: str = TARGET,
    time: str | None = None,
    calendar: str | Sequence[str] = (),
    freq: Freq | None = None,
    horizon: int = 1,
    every: int | None = None,
    skip: int = SKIP,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Score a forecaster prequentially: each forecast is made before its target is seen, and scored when it is.

    The forecaster itself stays as it is; a copy learns.

    Parameters
    ----------
    data : array (n,), or a data frame that holds one series
        nan where the observation is missing.
    forecaster : Forecaster, or a model to be put in one
        A new `Forecaster()` if None.
    exog : array (n, n_exog), or names of columns, optional
        Their values at the targets are taken as known when the forecast is made.
    target, time : str
        Columns of a frame: `y`, and `ds` if it is there, or an index of dates. A `Forecaster()` takes its periods from
        the times.
    calendar : list of "day", "week", "year", or public holidays as in "holidays:DE"
        Cycles that a forecaster learns; they need a frame with times.
    freq : number, timedelta or text such as "month", optional
        Time between observations of a frame; the most common one if not given.
    horizon : int
        Forecasts 1 to `horizon` steps ahead are scored.
    every : int, optional
        Number of observations between two forecasts. By default after each of them or, where that would be
        more than 20,000 forecasts (observations times `horizon`), the smallest number that keeps to this limit; but
        from 50 origins at least.
    skip : int
        How many forecasts are not scored, from the first.
    progress : function, optional
        Called now and then with the number of observations done since the last call.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset
    >>> result = evaluate(load_dataset("nile").y, Forecaster(lags=1))
    >>> round(result.scores()["coverage_90"], 3), result.n_scored()
    (0.922, 642)
    """
    check_function(progress, "progress")
    series, known, frequency = observations(data, exog, target, time, calendar, freq)
    copy = copy_for(frequency, as_forecaster(forecaster))
    steps = check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON)
    skip = check_int(skip, "skip", minimum=0, maximum=MAX_SKIP)
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


def _default_stride(n: int, steps: int) -> int:
    """Return after how many observations a forecast is made, if the caller leaves it open."""
    return max(1, min(ceil(n * steps / AFFORDABLE), (n - steps) // MIN_ORIGINS))


def _ordinal(n: int) -> str:
    """Return "2nd" for 2."""
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


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
