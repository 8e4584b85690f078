"""The forecaster behind an adapter whose library speaks of a season and lags."""

from collections.abc import Sequence
from typing import Any

from adabypass.forecasting import Forecaster
from adabypass.state.series import Missing

Lags = int | Sequence[int] | None


def make_forecaster(season: Any, lags: Lags, difference: int, missing: Missing) -> Forecaster:
    """Return a `Forecaster()` with this season, found in the data if None; with lags, AutoBypass on these and it."""
    if lags is None and difference == 0:
        return Forecaster(period=season, missing=missing)
    seasonal = None if season in (None, 1) else season
    return Forecaster(lags=lags, seasonal_lags=seasonal, difference=difference, missing=missing)
