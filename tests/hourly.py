"""Hourly data without times: a day that every way in must find, and forecast alike."""

import numpy as np

T = np.arange(1224)
Y = (
    50
    + 20 * np.sin(2 * np.pi * T / 24)
    + 10 * np.cos(4 * np.pi * T / 24)
    + 3 * np.random.default_rng(0).normal(size=1224)
)
PAST, FUTURE = Y[:1200], Y[1200:]


def rmse(means: object) -> float:
    """Return the root mean squared error of forecasts of the day that follows."""
    return float(np.sqrt(np.mean((np.asarray(means) - FUTURE) ** 2)))
