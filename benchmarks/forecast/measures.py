"""Scores of a forecast: all from its point forecast and the same nineteen quantiles, so that every rival has them."""

from typing import NamedTuple

import numpy as np

from adabypass.validation import Floats
from benchmarks.forecast.problems import Problem

PROBABILITIES = np.arange(1, 20) / 20
"""Of the quantiles that every rival is asked for: 5 %, 10 % ... 95 %."""
LEVEL = 0.9
"""Of the interval between the outermost two."""


class Outlook(NamedTuple):
    """What a rival said about one problem."""

    point: Floats
    """The point forecast, shape (horizon,)."""
    quantiles: Floats
    """Shape (19, horizon)."""
    seconds: float
    """Of processor time, to learn and to forecast."""
    mean: Floats | None = None
    """Where it is looked at apart from the point forecast, shape (horizon,)."""


ABSURD = "absurd means"
"""How many means leave the range of the training part by more than that range; of rivals that tell their means."""
MEASURES = ("MASE", "sMAPE", "CRPS", "held by 90 %", "interval score", "seconds")


def score(problem: Problem, outlook: Outlook) -> dict[str, float]:
    """Score a forecast against what came; all but sMAPE and coverage in units of MASE's scale.

    CRPS is twice the mean pinball loss over the quantiles; the interval score is the width of the 90 % interval, and
    20 times as much as an observation lies outside.
    """
    y, scale = problem.test, problem.scale or 1.0
    error = y - outlook.quantiles
    pinball = np.maximum(PROBABILITIES[:, None] * error, (PROBABILITIES[:, None] - 1) * error)
    low, high = outlook.quantiles[0], outlook.quantiles[-1]
    outside = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    size = np.abs(y) + np.abs(outlook.point)
    values = (
        np.mean(np.abs(y - outlook.point)) / scale,
        100 * np.mean(2 * np.abs(y - outlook.point) / np.where(size > 0, size, 1.0)),
        2 * np.mean(pinball) / scale,
        np.mean((low <= y) & (y <= high)),
        np.mean(high - low + 2 / (1 - LEVEL) * outside) / scale,
        outlook.seconds,
    )
    found = dict(zip(MEASURES, map(float, values), strict=True))
    return found if outlook.mean is None else found | {ABSURD: float(n_absurd(problem.train, outlook.mean))}


def n_absurd(train: Floats, values: Floats) -> int:
    """Return how many values leave the range of the training part by more than that range."""
    low, high = train.min(), train.max()
    return int(np.count_nonzero((values < low - (high - low)) | (values > high + (high - low))))
