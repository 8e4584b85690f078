"""Forecasts of a series from its own past, one step ahead and many; baselines."""

from adabypass.forecasting.baselines import Baseline, Drift, Naive, SeasonalNaive
from adabypass.forecasting.forecaster import Forecaster

__all__ = ["Baseline", "Drift", "Forecaster", "Naive", "SeasonalNaive"]
