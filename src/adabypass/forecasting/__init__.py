"""Forecasts of a series from its own past: lags, exogenous features, missing values, many steps ahead."""

from adabypass.forecasting.forecaster import Forecaster

__all__ = ["Forecaster"]
