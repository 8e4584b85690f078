"""Compiled forecasts many steps ahead equal the reference, which carries every covariance in full."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass import AdaBypass, AutoBypass, Bypass, EvidenceBypass, Forecaster, Regressor, SequentialKalman
from adabypass.validation import Floats
from tests.engines import lag_engine
from tests.mixtures import steps_ahead

ROUNDING = 1e-9
MODELS: list[Regressor] = [
    AutoBypass(),
    AutoBypass(intercept=False),
    AutoBypass(period=4),
    AdaBypass(),
    Bypass(),
    SequentialKalman(),
    EvidenceBypass(drift=0.01),
]


def assert_equals_reference(forecaster: Forecaster, exog: Floats, rounding: float = ROUNDING) -> None:
    """Forecast as many steps as there are rows of exogenous values to come.

    Shares are compared at the first step: those of later ones may follow other evidence (test_series.py).
    """
    runner = forecaster._runner
    assert runner is not None
    spec, (horizon, n_exog) = lag_engine(forecaster).spec, exog.shape
    features = np.zeros((horizon, spec.n_features(n_exog)))
    features[:, : int(spec.design.bias)] = 1.0
    features[:, spec.design.lag_columns.stop :] = exog
    expected = steps_ahead(forecaster.model.linear_mixture(), spec.design, spec.past(runner.row, n_exog), features)
    found = runner.forecast_steps(exog)
    found, expected = (each[:, each["weight"][0] > 0] for each in (found, expected))
    sd = np.sqrt(np.nanmax(expected["signal_var"], initial=0.0))
    assert found["weight"][0] == approx(expected["weight"][0], rel=rounding)
    for name in ("mean", "signal_var", "noise_scale", "epsilon", "family"):
        size = np.nanmax(np.abs(expected[name]), initial=0.0, where=np.isfinite(expected[name]))
        size = size + sd if name == "mean" else size
        assert found[name] == approx(expected[name], rel=rounding, abs=rounding * size, nan_ok=True), name


@settings(max_examples=100, deadline=None)
@given(
    model=st.sampled_from(MODELS), lags=st.sampled_from([[1], [1, 2], [2, 5], [3], []]), difference=st.integers(0, 2),
    n_exog=st.integers(0, 2), horizon=st.integers(1, 9), n_seen=st.integers(20, 60),
    growth=st.sampled_from([0.9, 1.04]), share_missing=st.sampled_from([0.0, 0.3]), seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_forecasts_equal_the_reference(
    model: Regressor, lags: list[int], difference: int, n_exog: int, horizon: int, n_seen: int, growth: float,
    share_missing: float, seed: int,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    n_exog = n_exog if lags else max(n_exog, 1)
    exog, y = rng.normal(size=(n_seen + horizon, n_exog)), np.empty(n_seen)
    last = rng.normal()
    for t in range(n_seen):
        last = growth * last + exog[t].sum() + rng.standard_t(3)
        y[t] = last
    y[rng.random(n_seen) < share_missing] = np.nan
    forecaster = Forecaster(model.copy(), lags=lags, difference=difference)
    for value, row in zip(y, exog, strict=False):
        forecaster.update(value, row)
    assert_equals_reference(forecaster, exog[n_seen:])
