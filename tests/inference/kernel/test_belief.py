"""What compiled code believes about the observations to come is what every model says of itself."""

import numpy as np
import pytest
from pytest import approx

from adabypass import (
    AdaBypass,
    AutoBypass,
    Bypass,
    EvidenceBypass,
    Forecaster,
    PassiveAggressive,
    Regressor,
    SequentialKalman,
)
from adabypass.inference import multistep

ROUNDING = 1e-10
HORIZON = 7
MODELS = [
    AutoBypass(),
    AutoBypass(intercept=False),
    AdaBypass(),
    Bypass(),
    SequentialKalman(),
    EvidenceBypass(),
    PassiveAggressive(),
]


def check(forecaster: Forecaster, exog: np.ndarray) -> None:
    cell = forecaster._cell
    assert cell is not None
    spec, model = forecaster._spec, forecaster.model
    features = np.zeros((HORIZON, spec.n_features(exog.shape[1])))
    features[:, : int(spec.design.bias)] = 1.0
    features[:, spec.design.lag_columns.stop :] = exog
    past = spec.past(cell.row, exog.shape[1])
    expected = multistep.moments(model.linear_mixture(), spec.design, past, features)
    found = cell.forecast_steps(exog)
    found, expected = (each[:, each["weight"][0] > 0] for each in (found, expected))
    for name in ("weight", "mean", "signal_var", "noise_scale", "epsilon", "family"):
        size = np.nanmax(np.abs(expected[name]), initial=0.0, where=np.isfinite(expected[name]))
        assert found[name] == approx(expected[name], rel=ROUNDING, abs=ROUNDING * size, nan_ok=True), name


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("difference", [0, 1])
@pytest.mark.parametrize("n_seen", [4, 12, 90])
def test_the_compiled_belief_is_that_of_the_model(model: Regressor, difference: int, n_seen: int) -> None:
    rng = np.random.default_rng(5)
    y, exog = 50.0 + np.cumsum(rng.normal(size=n_seen)), rng.normal(size=(n_seen + HORIZON, 2))
    y[-3] = np.nan
    forecaster = Forecaster(model, lags=[1, 2], difference=difference)
    for value, row in zip(y, exog[:n_seen], strict=True):
        forecaster.update(value, row)
    check(forecaster, exog[n_seen:])


@pytest.mark.parametrize("value", [0.0, 7.0])
def test_a_bank_that_knows_no_scale_yet_believes_in_no_change(value: float) -> None:
    forecaster = Forecaster(lags=1)
    for _ in range(5):
        forecaster.update(value)
    check(forecaster, np.empty((HORIZON, 0)))
