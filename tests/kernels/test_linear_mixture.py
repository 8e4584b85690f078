"""What compiled code believes about the observations to come is what every model says of itself."""

import numpy as np
import pytest

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
from tests.kernels.test_ahead import assert_equals_reference

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
    assert_equals_reference(forecaster, exog[n_seen:])


@pytest.mark.parametrize("value", [0.0, 7.0])
def test_a_bank_that_knows_no_scale_yet_believes_in_no_change(value: float) -> None:
    forecaster = Forecaster(lags=1)
    for _ in range(5):
        forecaster.update(value)
    assert_equals_reference(forecaster, np.empty((HORIZON, 0)))
