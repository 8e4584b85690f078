"""Every regressor stays finite and sound, whatever finite numbers it is given."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass import AdaBypass, Bypass, EvidenceBypass, Regressor, SequentialKalman
from adabypass.validation import Floats
from tests.checks.regressors import Make, assert_sound, every_regressor, hostile_streams
from tests.strategies import powers

Booleans = np.ndarray[Any, np.dtype[np.bool_]]


def has_size_before(y: Floats) -> Booleans:
    """Return whether there was anything but zeros and gaps before each observation."""
    has_size = ~np.isnan(y) & (y != 0.0)
    return np.asarray(np.cumsum(has_size) - has_size > 0)


@every_regressor
@pytest.mark.parametrize("name", hostile_streams().keys())
def test_hostile_streams_stay_finite(make: Make, name: str) -> None:
    model, stream = make(), hostile_streams()[name]
    has_size = has_size_before(stream.y)
    for part in range(0, len(stream.y), 20):
        trace = model.run(stream.X[part : part + 20], stream.y[part : part + 20])
        known = trace.is_known
        assert known[has_size[part : part + 20]].all()
        assert np.isfinite(trace.mean[known]).all()
        if not trace.predictive.is_point:
            assert np.isfinite(trace.var[known]).all()
            assert (trace.var >= 0).all()
            assert np.isfinite(trace.log_score[known & ~np.isnan(trace.y)]).all()
            if part == 40:  # often enough: a mixture's quantiles take a while
                low, high = trace.predictive[:3].interval(0.9)
                assert (low <= high)[known[:3]].all()
                assert np.isfinite([low, high])[:, known[:3]].all()
        assert_sound(model)


@every_regressor
@settings(max_examples=40)
@given(
    X=st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), min_size=1, max_size=8
    ),
    data=st.data(),
)
def test_any_finite_stream_stays_finite(make: Make, X: list[list[float]], data: st.DataObject) -> None:
    y = data.draw(st.lists(st.floats(allow_infinity=False), min_size=len(X), max_size=len(X)))
    model = make()
    trace = model.run(X, y)
    assert np.isfinite(trace.mean[trace.is_known]).all()
    assert trace.is_known[has_size_before(np.array(y))].all()
    assert_sound(model)


@settings(max_examples=150)
@given(
    kind=st.sampled_from([Bypass, AdaBypass, SequentialKalman, EvidenceBypass]),
    hyperparameters=st.lists(powers(-4, 4), min_size=3, max_size=3),
    seed=st.integers(0, 1000),
    n_features=st.integers(2, 6),
    unit=powers(-3, 9),
    outlier=powers(0, 14),
    shape=st.sampled_from(["signs", "collinear", "constant", "one dead"]),
)
def test_any_hyperparameters_stay_sound_on_hard_features(
    kind: Callable[..., Regressor],
    hyperparameters: list[float],
    seed: int,
    n_features: int,
    unit: float,
    outlier: float,
    shape: str,
) -> None:
    """Large drift, small noise, features that repeat themselves: here rounding alone can make a variance negative."""
    rng = np.random.default_rng(seed)
    X = {
        "signs": np.sign(rng.normal(size=(60, n_features))),
        "collinear": np.outer(rng.normal(size=60), np.arange(1, n_features + 1) / 10),
        "constant": np.ones((60, n_features)),
        "one dead": rng.normal(size=(60, n_features)) * (np.arange(n_features) > 0),
    }[shape] * unit
    y = X.sum(axis=1) + rng.normal(size=60)
    y[20] *= outlier
    model = SequentialKalman(hyperparameters[0]) if kind is SequentialKalman else kind(*hyperparameters)
    for part in range(0, 60, 5):
        assert (model.run(X[part : part + 5], y[part : part + 5]).var > 0).all()
        assert_sound(model)


@pytest.mark.parametrize("make", [SequentialKalman, Bypass, AdaBypass])
def test_a_feature_that_is_never_active_does_not_disturb_the_others(make: Make) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(500), rng.normal(size=500), np.zeros(500)])
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=500)
    y[20] = 1e9
    with_it, without = make().run(X, y), make().run(X[:, :2], y)
    if make is SequentialKalman:  # the others count the number of features in their drift
        assert with_it.sd[-1] == approx(without.sd[-1], rel=1e-3)
    assert with_it.sd[-1] < 10.0
