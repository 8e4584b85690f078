"""Every instruction set gives the same bits, so that a model that was saved on one machine goes on on another."""

import os
import subprocess
import sys

import pytest

from adabypass.simd import dispatch

SCRIPT = """
import hashlib
import numpy as np
from adabypass import AdaBypass, AutoBypass, Bypass, EvidenceBypass, Forecaster, SequentialKalman, load_dataset

rng = np.random.default_rng(0)
digest = hashlib.sha256()

def note(*arrays):
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype=float).tobytes())

for n_features in (1, 2, 5, 13):
    X = rng.normal(size=(150, n_features)) * 10.0 ** rng.uniform(-3, 3, n_features)
    y = X @ rng.normal(size=n_features) + rng.standard_t(2, 150)
    y[::9] = np.nan
    y[100] = 1e12
    auto = AutoBypass(), AutoBypass(intercept=False), EvidenceBypass()
    for model in (*auto, AdaBypass(), Bypass(), SequentialKalman()):
        trace = model.run(X, y)
        note(trace.mean, trace.var, trace.log_score, model.__getstate__()["row"])
        forecast = model.predict(X[0])
        note([forecast.quantile(q) for q in (0.001, 0.05, 0.5, 0.99)], [forecast.cdf(1.0), forecast.sf(1.0)])
for model in (AdaBypass(), Bypass(), EvidenceBypass(), SequentialKalman()):     # with updates that wait
    X, y = rng.normal(size=(100, 71)), rng.normal(size=100)
    trace = model.run(X, y, keep_weights=True)
    note(trace.mean, trace.var, trace.weights_mean, trace.weights_var, model.__getstate__()["row"])
series = load_dataset("nile").y[:200].copy()
series[50:70] = np.nan
forecaster = Forecaster(lags=3)
trace = forecaster.run(series)
note(trace.mean, trace.var)
print(digest.hexdigest())
"""


def digest(instruction_set: str) -> str:
    env = {**os.environ, dispatch.VARIABLE: instruction_set}
    return subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=env, check=True).stdout


@pytest.mark.skipif(len(dispatch.available()) < 2, reason="this machine runs one instruction set only")
def test_every_instruction_set_gives_the_same_bits() -> None:
    assert len({digest(name) for name in dispatch.available()}) == 1
