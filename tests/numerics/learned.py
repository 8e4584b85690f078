"""What one process for each instruction set says of itself, and has learned: the tests of this folder share it."""

import json
import os
import subprocess
import sys
from functools import cache
from typing import NamedTuple

import pytest

from adabypass.numerics import dispatch

one_worker = pytest.mark.xdist_group("instruction sets")
"""Tests in one process start one interpreter for each instruction set, and not each their own."""

MANY_FEATURES = """
import hashlib
import numpy as np
from adabypass import AdaBypass, Bypass, EvidenceBypass, SequentialKalman
for n in [1, 2, 5, 7, 8, 9, 16, 21, 31, 64, 101]:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(40, n)) * 10.0 ** rng.uniform(-1, 1, n)
    y = X @ rng.normal(size=n) + rng.standard_t(3, 40)
    y[7] = np.nan
    X[11] *= 1e40
    for kind in [SequentialKalman, Bypass, AdaBypass, EvidenceBypass]:
        model = kind()
        trace = model.run(X, y)
        numbers = [trace.mean, trace.var, model.weights.mean, model.weights.cov]
        digest = hashlib.sha256(b"".join(a.tobytes() for a in numbers))
        print(kind.__name__, n, digest.hexdigest())
"""

EVERY_MODEL = """
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

SCRIPTS = ("from adabypass.numerics import dispatch; print(dispatch.in_use())", MANY_FEATURES, EVERY_MODEL)
RUN = """
import contextlib, io, json, sys
printed = []
for script in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(script, {})
    printed.append(out.getvalue().splitlines())
print(json.dumps(printed))
"""


class Learned(NamedTuple):
    """The lines that the scripts print."""

    in_use: list[str]
    many_features: list[str]
    every_model: list[str]


def in_python(code: str, instruction_set: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, dispatch.VARIABLE: instruction_set}
    return subprocess.run(
        [sys.executable, "-c", code], input=given, capture_output=True, text=True, env=env, check=False
    )


@cache
def learned(instruction_set: str) -> Learned:
    done = in_python(RUN, instruction_set, json.dumps(SCRIPTS))
    assert done.returncode == 0, done.stderr
    return Learned(*json.loads(done.stdout))
