"""FLAIR (flaircast): a ridge regression on the level of each period, times a fixed shape of it."""

from typing import Any

import numpy as np

from adabypass.validation import Floats
from benchmarks.forecast.measures import PROBABILITIES
from benchmarks.forecast.problems import Problem

FREQUENCIES = {
    ("yearly", 1): "Y",
    ("other", 1): "Y",  # a series without a season
    ("quarterly", 4): "Q",
    ("monthly", 12): "M",
    ("weekly", 52): "W",
    ("daily", 7): "D",
    ("hourly", 24): "H",
    ("hourly", 48): "30T",
    ("half-hourly", 48): "30T",
    ("10 minutes", 1): "10T",
}
"""Its name for a frequency and a period. It takes periods from the name alone; other series it is not given."""
N_PATHS = 1000
"""Drawn for the quantiles; its default of 200 makes those at 5 % and 95 % rough."""


def forecast(problem: Problem) -> tuple[Floats, Floats]:
    """Return the median and the quantiles of its paths."""
    import flaircast  # noqa: PLC0415  (an extra of the benchmark)

    frequency = FREQUENCIES[problem.frequency, problem.period]
    paths: Any = flaircast.forecast(problem.train, problem.horizon, frequency, n_samples=N_PATHS, seed=0)
    quantiles = np.quantile(paths, PROBABILITIES, axis=0)
    return quantiles[len(quantiles) // 2], quantiles
