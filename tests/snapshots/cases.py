"""Every kind of model and forecaster that can be saved, and streams for them."""

from collections.abc import Callable

import numpy as np

from adabypass import (
    AdaBypass,
    Baseline,
    Bypass,
    Drift,
    Forecaster,
    Naive,
    Panel,
    Regressor,
    SeasonalNaive,
    SequentialKalman,
)
from adabypass.validation import Floats
from tests.checks.regressors import REGRESSORS

FORECASTERS: dict[str, Callable[[], Forecaster | Baseline]] = {
    "Forecaster": lambda: Forecaster(lags=1),
    "Forecaster, automatic": lambda: Forecaster(period=7),
    "Forecaster, lags": lambda: Forecaster(AdaBypass(), lags=[1, 3, 7], bias=False),
    "Forecaster, differences": lambda: Forecaster(SequentialKalman(adapt_noise=True), lags=2, difference=2),
    "Forecaster, seasonal": lambda: Forecaster(Bypass(), lags=1, seasonal_lags=12),
    "Naive": Naive,
    "SeasonalNaive": lambda: SeasonalNaive(7),
    "Drift": Drift,
}
WITH_EXOG: dict[str, Callable[[], Forecaster]] = {
    "Forecaster, exog": lambda: Forecaster(lags=1, exog=["rain", "wind"], missing="last"),
    "Forecaster, automatic, exog": lambda: Forecaster(exog=["rain", "wind"], missing="last"),
    "Forecaster, exog without names": lambda: Forecaster(SequentialKalman(), lags=0, missing="mean"),
}
EVERY: dict[str, Callable[[], Regressor | Forecaster | Baseline]] = {**REGRESSORS, **FORECASTERS, **WITH_EXOG}


def stream(n: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Return features (n, 2) and a series (n,) with gaps and outliers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 100.0]
    y = 50.0 + X @ [3.0, -0.2] + rng.standard_t(3, n).cumsum() / 5.0
    y[rng.random(n) < 0.1] = np.nan
    return X, y


def learn(name: str, model: Regressor | Forecaster | Baseline | Panel, X: Floats, y: Floats) -> list[object]:
    """Let a model see a part of a stream, step by step; return the bits of its forecasts."""
    seen: list[object] = []
    assert not isinstance(model, Panel)
    for x, each in zip(X, y, strict=True):
        if isinstance(model, Forecaster | Baseline):
            forecast = model.step(each, x if name in WITH_EXOG else None)
        else:
            forecast = model.step(x, each)
        seen.append(None if forecast is None else (float(forecast.mean).hex(), _var(forecast)))
    return seen


def _var(forecast: object) -> str:
    return "" if forecast.is_point else float(forecast.var).hex()  # type: ignore[attr-defined]
