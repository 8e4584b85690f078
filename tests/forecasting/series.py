"""Series and models that the tests of forecasters share."""

from collections.abc import Callable

import numpy as np
import pytest

from adabypass import (
    AdaBypass,
    AutoBypass,
    Bypass,
    EvidenceBypass,
    Regressor,
    SequentialKalman,
)
from adabypass.validation import Floats

MODELS: list[Callable[[], Regressor]] = [AutoBypass, AdaBypass, Bypass, EvidenceBypass, SequentialKalman]
every_model = pytest.mark.parametrize("make", MODELS)


def autoregression(weights: list[float], n: int, seed: int) -> Floats:
    rng, order = np.random.default_rng(seed), len(weights)
    y = np.zeros(n + 100)
    for t in range(order, n + 100):
        y[t] = np.dot(weights, y[t - order : t][::-1]) + rng.normal()
    return y[100:]


def with_gaps(y: Floats, share: float, seed: int) -> Floats:
    gappy = y.copy()
    gappy[np.random.default_rng(seed).random(len(y)) < share] = np.nan
    return gappy
