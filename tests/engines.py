"""The engine of a forecaster with lags, as what it is."""

from adabypass import Forecaster
from adabypass.forecasting.lag_engine import LagEngine


def lag_engine(forecaster: Forecaster) -> LagEngine:
    engine = forecaster._engine
    assert isinstance(engine, LagEngine)
    return engine
