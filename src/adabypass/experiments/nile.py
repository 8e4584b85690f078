"""The paper's first study: one-year-ahead forecasts of the Nile's yearly minimum, AD 622-1284."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adabypass.datasets import load_dataset
from adabypass.distributions.predictive import Normal
from adabypass.regressors import AdaBypass, Bypass, Regressor, SequentialKalman
from adabypass.results.trace import Trace
from adabypass.validation import Floats

NILOMETER = (715, 722)
"""A new nilometer was built at Roda in 715; the paper cites changepoints found at 720-722."""

SETTING = (
    "663 yearly minima; AR(1) with a bias, one year ahead. The paper does not say in which unit the models see them, "
    "and since their noise has no scale of its own, the unit is a hidden hyperparameter. Two readings: standardised "
    "(less the mean, over the standard deviation; the value before the first year is 0, the mean, so that all 663 "
    "years are forecast), and centred (metres, less the mean; 662 forecasts). All figures are in metres (the paper's "
    "table says cm, but only metres give its figures). MAD is the median absolute error."
)
REMARK = (
    "The log likelihood is that of the Gaussian forecasts, summed. It depends on the unit: see --unit-plot, and the "
    "guide docs/guides/nile.md. The paper's -754.2 is that of a unit of 0.81 or 0.82 m, and SKF's -971.78 that of 3 m "
    "with a noise variance of 0.016; that shows that both are compatible with the algorithms, not what was done."
)
PAPER_LOG_LIKELIHOOD = -754.2
UNITS = tuple(float(unit) for unit in np.linspace(0.5, 1.5, 41))
"""Units of the picture, in metres."""


class Scored(NamedTuple):
    """A run of one model, told in metres."""

    rmse: float
    mad: float
    mae: float
    log_likelihood: float
    trace: Trace


class Result(NamedTuple):
    """One line of the table."""

    model: str
    reading: str
    """"standardised" or "centred"; for a line of the paper, "paper"."""
    how: str
    """What was done."""
    rmse: float
    mad: float
    mae: float
    log_likelihood: float
    trace: Trace | None


class Study(NamedTuple):
    """All that the study shows."""

    results: list[Result]
    year: "np.ndarray[Any, np.dtype[Any]]"
    """Of the forecasts of the standardised reading: all of them."""
    level_mean: float
    """What was subtracted from the levels, in metres."""

    @property
    def headline(self) -> Trace:
        """The run that the figure shows: ADA-BYPASS to convergence, standardised; in metres, less the mean."""
        return next(r.trace for r in self.results if r.trace is not None)


def run() -> Study:
    """Run every model of the study over the series, the paper's results beside them."""
    nile = load_dataset("nile")
    sd = float(nile.y.std())

    def line(name: str, model: Regressor, how: str, *, standardised: bool) -> Result:
        found = forecast(model, sd) if standardised else forecast(model, 1.0, from_mean=False)
        return Result(name, "standardised" if standardised else "centred", how, *found)

    results = [Result("ADA-BYPASS", "paper", "", 0.72, 0.42, 0.54, PAPER_LOG_LIKELIHOOD, None)]
    for standardised in (True, False):
        results += [
            line("ADA-BYPASS", AdaBypass(), "to convergence", standardised=standardised),
            line("ADA-BYPASS", AdaBypass(max_sweeps=2), "2 sweeps a step", standardised=standardised),
            line("BYPASS", Bypass(), "to convergence", standardised=standardised),
        ]
    results.append(Result("SKF", "paper", "", 0.85, 0.45, 0.62, -971.78, None))
    results += [
        line("SKF", SequentialKalman(), "noise variance 1", standardised=False),
        line("SKF", SequentialKalman(1.15), "noise variance 1.15", standardised=False),
        line("SKF", SequentialKalman(adapt_noise=True), "noise variance adapted", standardised=False),
    ]
    return Study(results, nile.time, float(nile.y.mean()))


def forecast(model: Regressor, unit: float, *, from_mean: bool = True, skip: int = 0) -> Scored:
    """Run a model over the levels less their mean, in this unit, and score it in metres.

    Parameters
    ----------
    model
        One that has seen nothing yet.
    unit : number above 0
        In metres.
    from_mean
        Whether the first year is forecast too, the year before it taken as the mean.
    skip
        So many of the first forecasts are not scored.

    Examples
    --------
    >>> scored = forecast(AdaBypass(), unit=0.8868)
    >>> round(scored.rmse, 3), round(scored.log_likelihood, 1)
    (0.724, -779.1)
    """
    level = load_dataset("nile").y
    z = (level - level.mean()) / unit
    before, y = (np.append(0.0, z[:-1]), z) if from_mean else (z[:-1], z[1:])
    trace = model.run(np.column_stack([np.ones(len(y)), before]), y)
    metres = Trace(unit * trace.y, Normal(unit * trace.mean, unit**2 * trace.var), trace.history)
    scores = metres.scores(skip=skip)
    return Scored(scores["rmse"], scores["mad"], scores["mae"], scores["log_likelihood"], metres)


def log_likelihoods(units: Sequence[float] = UNITS, *, max_sweeps: int | None = None) -> Floats:
    """Compute the log likelihood of ADA-BYPASS in each unit, in metres, over all 663 years."""
    return np.array([forecast(AdaBypass(max_sweeps=max_sweeps), unit).log_likelihood for unit in units])
