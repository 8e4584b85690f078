"""The paper's second study: wind speed, 10 minutes ahead, and here up to 6 hours ahead as well."""

from collections.abc import Callable
from math import nan
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from adabypass.datasets import load_dataset
from adabypass.distributions.predictive import Predictive
from adabypass.evaluation.prequential import Plan, forecast_along
from adabypass.forecasting import Forecaster
from adabypass.regressors import AdaBypass, AutoBypass, Bypass, Regressor, SequentialKalman
from adabypass.results.trace import Trace
from adabypass.validation import Floats, check_int

SUBSTITUTE = (
    "The paper's series, of a Danish wind turbine, is not public. This substitute has its length and step, 40,174 "
    "values 10 minutes apart, and comes from La Haute Borne in France: the paper's figures are for orientation only."
)
AHEAD_SETTING = (
    "From one value in 37, so that none overlap and every time of day has its turn; one-step forecasts iterated, gaps "
    "left open, SKF with noise variance 1. It is assumed that the series does not explode: a weight of the last value "
    "that has drifted above 1, but not for certain, counts as 1 from the second step on."
)
MAX_LAGS = 36
MAX_HORIZON = 36
"""Six hours."""
SKIP = 20
"""Number of forecasts at the beginning that are not scored."""
EVERY = 37
"""Forecasts many steps ahead start from one value in so many: none overlap, and every time of day has its turn."""
TWO_DAYS = 288
CHUNK = 200
"""How many forecasts are scored between two reports of progress."""

Progress = Callable[[int, int], None]
Advance = Callable[[int], None]


class Score(NamedTuple):
    """How good forecasts were; nan where that is not known."""

    n: int
    """How many forecasts count."""
    rmse: float
    mad: float
    """Median absolute error."""
    mae: float
    log_likelihood: float = nan
    """A sum."""
    crps: float = nan
    """A mean."""
    coverage_90: float = nan
    """Share of the observations within the central interval that should hold 90 % of them."""


class Result(NamedTuple):
    """One line of the table."""

    model: str
    how: str
    """What was done; for a line of the paper, that it is one."""
    score: Score
    seconds: float | None
    """What all forecasts and updates took, without the scoring."""
    trace: Trace | None


class Ahead(NamedTuple):
    """A model's forecasts of many steps."""

    model: str
    how: str
    scores: list[Score]
    """Of the forecasts 1, 2, ... steps ahead."""
    n_origins: int
    """How many times so many steps were forecast."""


class Study(NamedTuple):
    """All that the study shows."""

    results: list[Result]
    ahead: list[Ahead]
    """Empty if the horizon is one step."""
    time: "np.ndarray[Any, np.dtype[Any]]"
    """When each observation was made that was forecast."""
    lags: int
    repeated: Score
    """Of repeating the last value, which has no distribution."""

    @property
    def headline(self) -> Trace:
        """The run that the figure shows: AutoBypass, on the same series as the paper's models."""
        return next(r.trace for r in self.results if r.model == "AutoBypass" and r.trace is not None)

    @property
    def setting(self) -> str:
        """What was done."""
        return (
            f"AR({self.lags}) with a bias; {len(self.time):,} forecasts, one step of 10 minutes ahead. All models see "
            "the same series, its gaps filled by straight lines, the paper's models minus its mean; the last line "
            "leaves the gaps open instead (without CRPS, which takes the longest, to save half the time). Scored are "
            f"the {self.repeated.n:,} measured values after the first {SKIP} forecasts. RMSE, MAD (median absolute "
            "error), MAE and CRPS (a mean) are in m/s, LL is the sum of the log scores, coverage that of 90 % "
            "intervals; the time is without scoring."
        )

    @property
    def remark(self) -> str:
        """Where AutoBypass is ahead of BYPASS and where not, and what the simplest forecast gives."""
        ahead, behind = self.against_bypass()
        words = f"AutoBypass is ahead of BYPASS in {_listed(ahead)}"
        words += f", and not in {_listed(behind)}." if behind else "."
        r = self.repeated
        return f"{words} The last value repeated has RMSE {r.rmse:.3f}, MAD {r.mad:.3f} and MAE {r.mae:.3f}."

    def against_bypass(self) -> tuple[list[str], list[str]]:
        """Return the names of the scores in which AutoBypass is ahead of BYPASS, and the others."""
        by_line = {(r.model, r.how): _losses(r.score) for r in self.results if r.trace is not None}
        auto, bypass = by_line["AutoBypass", "gaps filled"], by_line["BYPASS", "to convergence"]
        ahead = [name for name in auto if auto[name] < bypass[name]]
        return ahead, [name for name in auto if name not in ahead]


def run(lags: int = 1, horizon: int = 1, progress: Progress | None = None, *, length: int | None = None) -> Study:
    """Run every model of the study over the series, the paper's results beside them.

    Parameters
    ----------
    lags : whole number from 1 to 36
        How many values before it each value is forecast from; 1 in the paper.
    horizon : whole number from 1 to 36
        With more than one step, AutoBypass, BYPASS and SKF also forecast so many, from one value in 37.
    progress
        Called with how much of how much is done.
    length : whole number, optional
        How many values of the series to use, from the first on; all of them if not given.
    """
    lags, horizon = (
        check_int(lags, "lags", minimum=1, maximum=MAX_LAGS),
        check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON),
    )
    data = load_dataset("wind")
    n = len(data.y)
    if length is not None:
        n = check_int(length, "length", minimum=lags + SKIP + EVERY + horizon, maximum=n)
    speed = data.y[:n]
    filled = fill(speed)
    counter = _Counter(progress, n if horizon == 1 else 4 * n + 3 * horizon * n // EVERY)
    results = _results(speed, filled, lags, counter.advance)
    ahead = [] if horizon == 1 else _ahead(speed, lags, horizon, counter.advance)
    counter.all_done()
    first = lags + SKIP
    return Study(results, ahead, data.time[lags:n], lags, _errors(speed[first:], filled[first - 1 : -1]))


def _results(speed: Floats, filled: Floats, lags: int, advance: Advance) -> list[Result]:
    """Forecast every value from those before it."""

    def line(
        name: str, how: str, model: Regressor, series: Floats, mean: float = 0.0, *, report: Advance = advance,
        crps: bool = True,
    ) -> Result:  # fmt: skip
        began = perf_counter()
        trace = Forecaster(model, lags=lags).run(series - mean)
        seconds = perf_counter() - began
        trace.y = (speed - mean)[trace.first :]  # a value that was filled in is not scored
        return Result(name, how, score(trace, SKIP, report, crps=crps), seconds, trace)

    def centred(name: str, how: str, model: Regressor) -> Result:
        # Normal forecasts are scored at once: they would only disturb the measure of progress.
        return line(name, how, model, filled, float(filled.mean()), report=lambda _: None)

    return [
        Result("ADA-BYPASS", "paper", Score(40173, 0.6, 0.3, 0.42, -24971.75), None, None),
        centred("ADA-BYPASS", "2 sweeps a step", AdaBypass(max_sweeps=2)),
        centred("ADA-BYPASS", "to convergence", AdaBypass()),
        centred("BYPASS", "2 sweeps a step", Bypass(max_sweeps=2)),
        centred("BYPASS", "to convergence", Bypass()),
        Result("SKF", "paper", Score(40173, 0.64, 0.31, 0.44, -30140.04), None, None),
        centred("SKF", "noise variance 1", SequentialKalman()),
        centred("SKF", "noise variance adapted", SequentialKalman(adapt_noise=True)),
        line("AutoBypass", "gaps filled", AutoBypass(), filled),
        line("AutoBypass", "gaps left open", AutoBypass(), speed, crps=False),
    ]


def _ahead(speed: Floats, lags: int, horizon: int, advance: Advance) -> list[Ahead]:
    """Forecast many steps ahead, gaps left open: a missing lag is replaced by its forecast, as in the paper."""

    def scored(name: str, how: str, model: Regressor, mean: float) -> Ahead:
        forecaster = Forecaster(model, lags=lags)
        found = forecast_along(speed - mean, None, forecaster, Plan(horizon, EVERY, skip=0), advance)
        return Ahead(name, how, [score(trace, 0, advance) for trace in found.traces.values()], len(found.origins))

    mean = float(np.nanmean(speed))
    return [
        scored("AutoBypass", "gaps left open", AutoBypass(), 0.0),
        scored("BYPASS", "to convergence", Bypass(), mean),
        scored("SKF", "noise variance 1", SequentialKalman(), mean),
    ]


def fill(series: Floats) -> Floats:
    """Fill gaps (nan) by straight lines."""
    at, seen = np.arange(len(series)), ~np.isnan(series)
    return np.interp(at, at[seen], series[seen])


def score(trace: Trace, skip: int, advance: Advance, *, crps: bool = True) -> Score:
    """Score the forecasts of what was measured, without the first `skip` of them, and without CRPS if so wanted.

    `Trace.scores`, which skips observations, gives the same and more, without reporting how far it has come.
    """
    seen = np.flatnonzero(~np.isnan(trace.y[skip:])) + skip
    y, predictive = trace.y[seen], trace.predictive[seen]
    pit = predictive.pit(y)
    return _errors(y, predictive.mean)._replace(
        mae=float(np.mean(np.abs(y - predictive.median))),
        log_likelihood=float(trace.log_score[seen].sum()),
        crps=float(_crps(predictive, y, advance).mean()) if crps else nan,
        coverage_90=float(np.mean((pit >= 0.05) & (pit <= 0.95))),
    )


def _errors(y: Floats, mean: Floats) -> Score:
    error = np.abs(y - mean)[~np.isnan(y)]
    return Score(len(error), float(np.sqrt(np.mean(error**2))), float(np.median(error)), float(error.mean()))


def _crps(predictive: Predictive, y: Floats, advance: Advance) -> Floats:
    """Compute the CRPS of each forecast, reporting how many are done."""
    parts: list[Floats] = []
    for at in range(0, len(y), CHUNK):
        parts.append(predictive[at : at + CHUNK].crps(y[at : at + CHUNK]))
        advance(len(parts[-1]))
    return np.concatenate(parts)


def _losses(score: Score) -> dict[str, float]:
    """Return each score by its name, with its sign such that less is better."""
    return {
        "RMSE": score.rmse,
        "MAD": score.mad,
        "MAE": score.mae,
        "LL": -score.log_likelihood,
        "CRPS": score.crps,
        "coverage": abs(score.coverage_90 - 0.9),
    }


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "nothing"


class _Counter:
    """Adds up what is done, and reports it."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._done, self._total = progress, 0, total

    def advance(self, n: int) -> None:
        self._done = min(self._done + n, self._total)  # the total is an estimate
        if self._progress is not None:
            self._progress(self._done, self._total)

    def all_done(self) -> None:
        self.advance(self._total)
