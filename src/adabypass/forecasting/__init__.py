"""Forecasts of a series from its own past: lags, exogenous features, missing values, many steps ahead; baselines."""

from adabypass.forecasting.automatic import AutoForecaster
from adabypass.forecasting.baselines import Baseline, Drift, Naive, SeasonalNaive
from adabypass.forecasting.forecaster import Forecaster

__all__ = ["AutoForecaster", "Baseline", "Drift", "Forecaster", "Naive", "SeasonalNaive"]
