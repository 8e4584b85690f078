"""The paper's third study, statistical arbitrage: one asset's price explained by another's, and the spread traded.

The model is y = w x + noise, w the hedge ratio. The spread is the error of the forecast of y, its band the standard
deviation of that forecast, or of the noise alone. `fit` runs a model over the prices, `trade` follows rules on what it
said, `run` is the whole study.
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, get_args

import numpy as np

from adabypass.errors import PriceError, UnknownNameError
from adabypass.experiments.backtest import COSTS_BP_DEFAULT, Backtest, Band, Metrics, Rules, backtest
from adabypass.experiments.performance import Interval
from adabypass.experiments.prices import Prices, gold_silver, prices
from adabypass.regressors import AdaBypass, AutoBypass, Bypass, Regressor, SequentialKalman
from adabypass.results.trace import Trace
from adabypass.validation import Floats

ModelName = Literal["auto", "ada", "bypass", "skf"]

__all__ = [
    "Backtest",
    "Band",
    "Fit",
    "Prices",
    "Reading",
    "Result",
    "Rules",
    "Study",
    "fit",
    "gold_silver",
    "prices",
    "run",
    "trade",
]

LABELS: dict[ModelName, str] = {"ada": "ADA-BYPASS", "bypass": "BYPASS", "skf": "SKF", "auto": "AutoBypass"}
RULES = Rules(entry=1.0, exit=1.0, costs_bp=0.0)
"""Those of the study; the paper mentions no costs."""
ENTRIES = (0.5, 1.0, 1.5)
COSTS_BP = (0.0, COSTS_BP_DEFAULT)
WAITS = (1, 50)
"""Other days of waiting that the readings are tried with."""
SEED = 1509_02438
"""Of the bootstrap, so that a study prints the same intervals every time."""

CHOICES = (
    "The paper names the model, the prices and three results; everything else is a choice.",
    "The spread is the error of the forecast of y; no intercept, as in the paper's equation. The band is one standard "
    "deviation, and the paper's words allow two: of the forecast of y (predictive), and of the spread itself, which in "
    "its model is the noise (noise: the root of 1/<beta> before that day).",
    "A side is held while the spread lies outside one standard deviation: entry and exit at the band, the rule of the "
    "book that the paper cites (E. Chan, Algorithmic Trading).",
    "One unit of y is held against as many of x as the hedge ratio at that close says, both legs together worth the "
    "capital, rebalanced at every close.",
    "What the close of a day decides earns the return of the next day. Nothing is decided on the first 20 days, on "
    "which the models know little (the book's rule has no such pause). Idle capital earns no interest.",
    "Costs are basis points of the value traded in either leg, rebalancing included.",
    "Sharpe is the daily mean over the daily standard deviation times the root of 252, with a 90 % interval of the "
    "stationary block bootstrap (mean block 20 days). Drawdown days are the longest time below a peak.",
    "The choices were settled with the paper's figures for GLD and GDX in sight, so only the sensitivities below, and "
    "other pairs, say how much depends on them.",
)


class Fit(NamedTuple):
    """What a model said about the prices, day by day."""

    prices: Prices
    model: str
    trace: Trace
    hedge_ratio: Floats
    """Units of x that explain one unit of y, after each close."""
    hedge_sd: Floats
    """Standard deviation of the hedge ratio."""

    @property
    def spread(self) -> Floats:
        """How far each price y was from its forecast, made with the x of that day and the hedge ratio before it."""
        return self.trace.y - self.trace.mean

    def band_sd(self, band: Band) -> Floats:
        """Return the standard deviation in which the spread is judged, as known before each close."""
        return self.trace.sd if band == "predictive" else _noise_sd(self.trace)


class Result(NamedTuple):
    """One line of the table."""

    model: str
    how: str
    """What was done; for a line of the paper, that it is one."""
    costs_bp: float
    sharpe: float
    sharpe_interval: Interval | None
    max_drawdown: float
    drawdown_days: int
    metrics: Metrics | None
    """None for a line of the paper, which gives no more."""


class Sensitivity(NamedTuple):
    """What becomes of the Sharpe ratios, without costs, under other choices."""

    y: str
    """Name of the leg that is explained."""
    intercept: bool
    exit: float
    entry: float
    sharpe: dict[str, float]
    """By model."""


class Reading(NamedTuple):
    """What one reading of the paper's sentence gives: a model, a band and an exit."""

    model: str
    how: str
    band: Band
    exit: float
    metrics: Metrics
    """Without costs, after the study's days of waiting."""
    sharpe_after_costs: float
    """At 5 basis points."""
    sharpe_by_wait: dict[int, float]
    """Without costs, by days of waiting."""


class Study(NamedTuple):
    """All that the study shows."""

    prices: Prices
    results: list[Result]
    readings: list[Reading]
    sensitivities: list[Sensitivity]
    headline: tuple[Fit, Backtest]
    """What the figure shows: BYPASS run to convergence, without costs, under the choices above."""


def fit(pair: Prices, model: ModelName | Regressor = "auto", *, intercept: bool = False) -> Fit:
    """Run a model over the prices: each y is forecast from its x before it is learned from.

    Parameters
    ----------
    pair
        What `prices` gave.
    model : "auto", "ada", "bypass", "skf", or a model of your own that has seen nothing yet
    intercept
        Whether y = w x + c. A model without an intercept of its own gets a feature of ones.
    """
    regressor = _regressor(model, intercept) if isinstance(model, str) else model
    features = pair.x[:, None]
    if intercept and not regressor.has_intercept:
        features = np.column_stack([features, np.ones(len(pair.x))])
    trace = regressor.run(features, pair.y, keep_weights=True)
    if trace.weights_mean is None or trace.weights_var is None:
        raise PriceError(f"{regressor!r} forecasts a point, but a band needs a distribution; take another model.")
    label = LABELS[model] if isinstance(model, str) else type(regressor).__name__
    return Fit(pair, label, trace, trace.weights_mean[:, 0], np.sqrt(np.maximum(trace.weights_var[:, 0], 0.0)))


def trade(fitted: Fit, rules: Rules | None = None) -> Backtest:
    """Backtest rules on the forecasts of a model.

    Examples
    --------
    >>> metrics = trade(fit(gold_silver(), "skf"), Rules(entry=1.0, exit=0.0)).metrics
    >>> metrics.n_trades > 100
    True
    """
    pair = fitted.prices
    rules = (Rules() if rules is None else rules).checked()
    return backtest(pair.y, pair.x, fitted.spread, fitted.band_sd(rules.band), fitted.hedge_ratio, rules)


def run(
    pair: Prices,
    *,
    beside_paper: bool = False,
    band: Band = "predictive",
    draws: int = 1000,
    progress: Callable[[int, int], None] | None = None,
) -> Study:
    """Run every model of the study over a pair, and all of them again under other choices.

    Parameters
    ----------
    pair
        What `prices` or `gold_silver` gave.
    beside_paper
        Whether the pair is GLD and GDX, so that the paper's results belong beside it.
    band
        Of the results and sensitivities; the readings show both.
    draws
        How many histories the bootstrap of a Sharpe ratio resamples.
    progress
        Called with how many of how many parts are done.
    """
    lines: list[tuple[ModelName, str, Regressor]] = [
        ("ada", "to convergence", AdaBypass()),
        ("ada", "2 sweeps a step", AdaBypass(max_sweeps=2)),
        ("bypass", "to convergence", Bypass()),
        ("bypass", "2 sweeps a step", Bypass(max_sweeps=2)),
        ("skf", "noise variance 1", SequentialKalman()),
        ("auto", "as it comes", AutoBypass(intercept=False)),
    ]
    settings = [(leg, intercept) for leg in (pair, pair.swapped()) for intercept in (False, True)]
    counter = _Counter(progress, len(lines) + len(settings))
    results, rules = list(PAPER) if beside_paper else [], RULES._replace(band=band)
    fits = {}
    for model, how, regressor in lines:
        fitted = fits[model, how] = fit(pair, regressor)
        results += [_result(LABELS[model], how, trade(fitted, rules._replace(costs_bp=bp)), draws) for bp in COSTS_BP]
        counter.one_more()
    sensitivities: list[Sensitivity] = []
    for leg, intercept in settings:
        sensitivities += _sensitivities(leg, intercept, rules)
        counter.one_more()
    shown = fits["bypass", "to convergence"]._replace(model=LABELS["bypass"])
    readings = [
        reading for model, how in fits if model != "auto" for reading in _readings(LABELS[model], how, fits[model, how])
    ]
    return Study(pair, results, readings, sensitivities, (shown, trade(shown, rules)))


PAPER = (
    Result("ADA-BYPASS", "paper", 0.0, 1.12, None, 0.1461, 375, None),
    Result("SKF", "paper", 0.0, 0.70, None, 0.7305, 567, None),
)
"""The paper's figures. It speaks of no costs."""


class _Counter:
    def __init__(self, progress: Callable[[int, int], None] | None, total: int) -> None:
        self._progress, self._done, self._total = progress, 0, total

    def one_more(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


def _result(model: str, how: str, tested: Backtest, draws: int) -> Result:
    metrics = tested.metrics
    interval = tested.sharpe_interval(np.random.default_rng(SEED), draws=draws)
    costs = tested.rules.costs_bp
    return Result(model, how, costs, metrics.sharpe, interval, metrics.max_drawdown, metrics.drawdown_days, metrics)


def _readings(label: str, how: str, fitted: Fit) -> Iterable[Reading]:
    """Trade one fit by both bands and both exits, and each of these after costs and other waits."""
    for band in get_args(Band):
        for exit_at in (1.0, 0.0):
            rules = RULES._replace(band=band, exit=exit_at)
            after_costs = trade(fitted, rules._replace(costs_bp=COSTS_BP_DEFAULT)).metrics.sharpe
            by_wait = {days: trade(fitted, rules._replace(warm_up_days=days)).metrics.sharpe for days in WAITS}
            yield Reading(label, how, band, exit_at, trade(fitted, rules).metrics, after_costs, by_wait)


def _noise_sd(trace: Trace) -> Floats:
    """Return the standard deviation of the noise that a model knew before each day: infinite before the first."""
    history = trace.history
    if "noise_prec" in history:
        after = history["noise_prec"] ** -0.5
    elif "noise_var" in history:
        after = np.sqrt(history["noise_var"])
    elif "noise_scale" in history:
        after = np.where(history["noise_scale"] > 0.0, history["noise_scale"], np.inf)
    else:
        raise PriceError("this model does not say how wide its noise is; use band='predictive'.")
    return np.append(np.inf, after[:-1])


def _sensitivities(leg: Prices, intercept: bool, study_rules: Rules) -> Iterable[Sensitivity]:
    fits = {label: fit(leg, model, intercept=intercept) for model, label in LABELS.items()}
    for exit_at_band in (True, False):
        for entry in ENTRIES:
            rules = study_rules._replace(entry=entry, exit=entry if exit_at_band else 0.0)
            sharpes = {label: trade(fitted, rules).metrics.sharpe for label, fitted in fits.items()}
            yield Sensitivity(leg.names[0], intercept, rules.exit, entry, sharpes)


def _regressor(model: str, intercept: bool) -> Regressor:
    if model == "auto":
        return AutoBypass(intercept=intercept)
    makers: dict[str, Callable[[], Regressor]] = {"ada": AdaBypass, "bypass": Bypass, "skf": SequentialKalman}
    if model not in makers:
        raise UnknownNameError(f"there is no model {model!r}; the models are: 'auto', 'ada', 'bypass', 'skf'.")
    return makers[model]()
