"""Counts and intermittent demand: the mean, and what to keep in stock, beside models made for them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from adabypass.validation import Floats
from benchmarks.forecast import demand
from benchmarks.forecast.contestants import STATSFORECAST, automatic
from benchmarks.forecast.measures import ABSURD, PROBABILITIES, Outlook, n_absurd
from benchmarks.forecast.page import absurd_line, table
from benchmarks.forecast.problems import Problem
from benchmarks.forecast.rivals import Found, Rival, one_by_one
from benchmarks.forecast.summary import Scores, mean, names_of

SERVICE_LEVELS = (0.95, 0.99)
"""How often the stock is to suffice."""
QUANTILES = np.append(PROBABILITIES, 0.99)
"""Every rival is asked for those of CRPS, which end at 95 %, and for this one."""
MEASURES = (
    "CRPS", "RMSE", "loss at 95 %", "loss at 99 %", "suffices, of 95 %", "suffices, of 99 %", "held by 90 %", "seconds",
)  # fmt: skip
ROUNDING = 1e-6
"""Quantiles that miss a whole number by less, as those that were kept do, reach it."""
CONFORMAL_SHARE = 0.5
"""Of the training part, on which the models without intervals of their own learn those of their errors."""


def problems() -> Iterator[Problem]:
    """Return the counts of flights if they are installed, and simulated demand."""
    with suppress(ImportError):
        yield from demand.flights()
    yield from demand.simulated()


def score(problem: Problem, outlook: Outlook) -> dict[str, float]:
    """Score a forecast, in units of the mean of the training part; its point is the mean.

    RMSE is that of the mean over the horizon; a loss is the pinball loss of the quantile.
    """
    y, scale = problem.test, float(problem.train.mean()) or 1.0
    error = y - outlook.quantiles
    pinball = np.maximum(QUANTILES[:, None] * error, (QUANTILES[:, None] - 1) * error).mean(axis=1) / scale
    low, stocks = outlook.quantiles[0] - ROUNDING, outlook.quantiles[-2:] + ROUNDING
    values = (
        2 * pinball[:-1].mean(),
        np.sqrt(np.mean((y - outlook.point) ** 2)) / scale,
        *pinball[-2:],
        *np.mean(y <= stocks, axis=1),
        np.mean((low <= y) & (y <= stocks[0])),
        outlook.seconds,
    )
    found = dict(zip(MEASURES, map(float, values), strict=True))
    return found | {ABSURD: float(n_absurd(problem.train, outlook.point))}


def our_forecast(problem: Problem) -> tuple[Floats, Floats]:
    """Return the mean and the quantiles of the automatic forecaster."""
    forecaster = automatic(problem)
    forecaster.run(problem.train, keep_predictive=False)
    ahead = forecaster.forecast(problem.horizon)
    return ahead.mean, ahead.quantile(QUANTILES)


def all_past_values(problem: Problem) -> tuple[Floats, Floats]:
    """Return the mean and the quantiles of all past values."""
    ahead = np.ones(problem.horizon)
    quantiles = np.quantile(problem.train, QUANTILES, method="inverted_cdf")
    return problem.train.mean() * ahead, quantiles[:, None] * ahead


def statsforecast(make: Callable[[Any, Problem], Any]) -> Callable[[Sequence[Problem]], Found]:
    """Return a run of a model of statsforecast; what is below 0 is moved there, for demand is not negative."""

    def forecast(problem: Problem) -> tuple[Floats, Floats]:
        from statsforecast import models  # noqa: PLC0415  (an extra of the benchmark)

        levels = [*range(10, 100, 10), 98]
        found = make(models, problem).forecast(problem.train, problem.horizon, level=levels)
        middle = np.asarray(found["mean"], dtype=np.float64)
        low = [found[f"lo-{level}"] for level in reversed(levels[:-1])]
        high = [found[f"hi-{level}"] for level in levels]
        return np.maximum(middle, 0.0), np.maximum(np.array([*low, middle, *high], dtype=np.float64), 0.0)

    return one_by_one(forecast)


def conformal(problem: Problem) -> Any:
    """Return how statsforecast makes intervals for models that have none: from errors on windows of the past."""
    from statsforecast.utils import ConformalIntervals  # noqa: PLC0415  (an extra of the benchmark)

    n_windows = int(CONFORMAL_SHARE * len(problem.train)) // problem.horizon
    return ConformalIntervals(h=problem.horizon, n_windows=n_windows)


def tsb(models: Any, problem: Problem) -> Any:
    """Return TSB with the smoothing of statsforecast's examples."""
    return models.TSB(alpha_d=0.2, alpha_p=0.2, prediction_intervals=conformal(problem))


RIVALS = (
    Rival("Forecaster()", one_by_one(our_forecast)),
    Rival("all past values", one_by_one(all_past_values)),
    Rival("CrostonSBA", statsforecast(lambda m, p: m.CrostonSBA(prediction_intervals=conformal(p))), STATSFORECAST),
    Rival("TSB", statsforecast(tsb), STATSFORECAST),
    Rival("ADIDA", statsforecast(lambda m, p: m.ADIDA(prediction_intervals=conformal(p))), STATSFORECAST),
    Rival("IMAPA", statsforecast(lambda m, p: m.IMAPA(prediction_intervals=conformal(p))), STATSFORECAST),
    Rival("AutoETS", statsforecast(lambda m, p: m.AutoETS(season_length=p.period)), STATSFORECAST),
    Rival("Naive", statsforecast(lambda m, p: m.Naive()), STATSFORECAST),
    Rival("SeasonalNaive", statsforecast(lambda m, p: m.SeasonalNaive(p.period)), STATSFORECAST),
)


def markdown(scores: Scores, given: Sequence[Problem]) -> str:
    """Return the section: a table for each kind of series, and one over all."""
    labels = list(dict.fromkeys(problem.source for problem in given))
    groups = {f"All {len(given)} series": names_of(given)}
    for label in labels:
        names = names_of(given, source=label)
        share = np.mean([np.mean(problem.train == 0.0) for problem in given if problem.source == label])
        groups[f"{label[0].upper()}{label[1:]}: {len(names)} series, {100 * share:.0f} % of the values 0"] = names
    text = (
        "## Counts and intermittent demand\n\n"
        "Flights from New York by day in 2013, counted by airport, by airline and airport, and by plane, "
        f"{demand.HORIZON} days ahead from {len(demand.ORIGINS)} origins in July, September and November; and "
        f"simulated demand, {demand.N_AHEAD} months ahead. *RMSE* is that of the mean, *loss* the pinball loss of the "
        "quantile that is to suffice 95 and 99 times in 100, and *suffices* how often it does: with whole numbers more "
        "often than asked is no fault. Losses and RMSE are in units of the mean of the values learned. CrostonSBA, "
        "TSB, ADIDA and IMAPA have no intervals of their own: statsforecast makes them of errors on windows of the "
        "past, here of half of it. What its models put below 0 is moved there. *All past values* are their mean and "
        f"quantiles.{absurd_line(scores, given)}"
    )
    return "\n\n".join([text, *(f"### {title}\n\n{_table(scores, names)}" for title, names in groups.items())])


def _table(scores: Scores, names: Sequence[str]) -> str:
    ranked = sorted(scores, key=lambda rival: np.nan_to_num(mean(scores, rival, names, "CRPS"), nan=np.inf))
    rows = [["", *MEASURES]]
    for rival in ranked:
        rows.append([rival, *(_cell(each, mean(scores, rival, names, each)) for each in MEASURES)])
    return table(rows)


def _cell(measure: str, value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{100 * value:.1f} %" if measure.startswith(("suffices", "held")) else f"{value:.3f}"
