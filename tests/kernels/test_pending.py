"""An update that waits for the next product with its matrix is never seen to wait, and changes no bit."""

import pickle
from typing import Any

import numpy as np
import pytest

from adabypass import AdaBypass, Bypass, EvidenceBypass, SequentialKalman
from adabypass.validation import Floats

MODELS = [Bypass, AdaBypass, SequentialKalman, EvidenceBypass]
SIZES = [31, 32, 33, 40, 71]
"""Numbers of features: updates wait from 32 on."""


def stream(n_features: int, n: int = 12) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(n, n_features))
    y = X @ rng.normal(size=n_features) + rng.standard_t(3, n)
    y[[3, 4, 8]] = np.nan
    X[6] *= 1e40
    return X, y


def row_of(model: Any) -> bytes:
    saved: Floats = model.__getstate__()["row"]
    return saved.tobytes()


def read_nothing(model: Any, x: Floats) -> Any:
    return model


def read_weights(model: Any, x: Floats) -> Any:
    assert np.isfinite(model.weights.cov).all()
    return model


def copy(model: Any, x: Floats) -> Any:
    return model.copy()


def pickle_and_load(model: Any, x: Floats) -> Any:
    return pickle.loads(pickle.dumps(model))


def predict_elsewhere(model: Any, x: Floats) -> Any:
    model.predict(np.ones_like(x))
    return model


def run_no_rows(model: Any, x: Floats) -> Any:
    model.run(np.empty((0, len(x))), np.empty(0))
    return model


@pytest.mark.parametrize("n_features", SIZES)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("between", [read_nothing, read_weights, copy, pickle_and_load, predict_elsewhere, run_no_rows])
def test_what_is_done_between_observations_changes_no_bit(n_features: int, kind: Any, between: Any) -> None:
    X, y = stream(n_features)
    ran, stepped = kind(), kind()
    trace = ran.run(X, y)
    means = []
    for x, target in zip(X, y, strict=True):
        means.append(stepped.predict(x).mean)
        stepped.update(x, target)
        stepped = between(stepped, x)
    assert np.array(means).tobytes() == trace.mean.tobytes()
    assert row_of(stepped) == row_of(ran)


@pytest.mark.parametrize("kind", MODELS)
def test_weights_that_are_kept_are_those_after_each_observation(kind: Any) -> None:
    X, y = stream(40)
    ran, stepped = kind(), kind()
    trace = ran.run(X, y, keep_weights=True)
    for i, (x, target) in enumerate(zip(X, y, strict=True)):
        stepped.update(x, target)
        assert np.array_equal(trace.weights_mean[i], stepped.weights.mean)
        assert np.array_equal(trace.weights_var[i], np.diag(stepped.weights.cov))
    assert row_of(stepped) == row_of(ran)


@pytest.mark.parametrize("kind", MODELS)
def test_an_update_that_waits_is_made_at_the_next_look_at_the_row(kind: Any) -> None:
    X, y = stream(40)
    model = kind()
    model.run(X[:2], y[:2])
    before = row_of(model)
    model.update(X[2], y[2])
    row = model._runner.row.copy()
    assert row.tobytes() != before
    model.predict(X[5])
    assert np.array_equal(model._runner.row, row)
