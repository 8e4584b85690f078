"""`run` and `step` of every regressor equal `predict` and `update`, bit for bit."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass.errors import NotFiniteError
from adabypass.kernels.runner import DenseRunner
from tests.checks.regressors import Make, bits, every_regressor, row_of, trained
from tests.strategies import Stream, powers, streams


@every_regressor
@given(stream=streams(max_features=30, max_length=15))
@settings(max_examples=40)
def test_run_equals_the_loop_bit_for_bit(make: Make, stream: Stream) -> None:
    looped, ran = make(), make()
    trace = ran.run(stream.X, stream.y)
    for t, (x, y) in enumerate(zip(stream.X, stream.y, strict=True)):
        forecast = looped.predict(x)
        assert bits(forecast.mean) == bits(trace.mean[t])
        if not forecast.is_point:
            assert bits(forecast.var) == bits(trace.var[t])
            assert bits(forecast.cdf(1.0)) == bits(trace.predictive[t].cdf(1.0))
        looped.update(x, y)
        assert list(trace.history) == list(looped.parameters)
        for name, values in trace.history.items():
            assert bits(values[t]) == bits(looped.parameters[name])
    assert row_of(looped) == row_of(ran)


@every_regressor
@given(stream=streams(max_features=30, max_length=15))
@settings(max_examples=20)
def test_a_run_keeps_the_weights_of_the_loop(make: Make, stream: Stream) -> None:
    """Bit for bit, but for a bank: in a run its mean over its filters is a compiled sum, in `weights` one of NumPy."""
    looped = make()
    trace = make().run(stream.X, stream.y, keep_weights=True)
    assert trace.weights_mean is not None
    for t, (x, y) in enumerate(zip(stream.X, stream.y, strict=True)):
        looped.update(x, y)
        is_bank, mean, var = looped._spec.n_linears > 1, looped.weights.mean, looped.weights_var
        assert trace.weights_mean[t] == approx(mean) if is_bank else bits(trace.weights_mean[t]) == bits(mean)
        if var is not None:
            assert trace.weights_var is not None
            assert trace.weights_var[t] == approx(var) if is_bank else bits(trace.weights_var[t]) == bits(var)


@every_regressor
@pytest.mark.parametrize("n_features", [33, 70, 710])
def test_run_equals_the_loop_with_many_features_bit_for_bit(make: Make, n_features: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(70, n_features)), rng.normal(size=70)
    y[[5, 40]] = np.nan
    looped, ran, kept = make(), make(), make()
    trace, with_weights = ran.run(X, y), kept.run(X, y, keep_weights=True)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        forecast = looped.predict(x)
        assert bits(forecast.mean) == bits(trace.mean[t]) == bits(with_weights.mean[t])
        if not forecast.is_point:
            assert bits(forecast.var) == bits(trace.var[t]) == bits(with_weights.var[t])
        looped.update(x, target)
    assert row_of(looped) == row_of(ran) == row_of(kept)


@every_regressor
def test_step_is_predict_then_update_bit_for_bit(make: Make) -> None:
    model, twin = trained(make), trained(make)
    for x, y in (([1.0, 2.0, 3.0], 4.0), ([0.5, -1.0, 2.0], np.nan), ([1.0, 0.0, 0.0], -2.0)):
        expected = twin.predict(x)
        twin.update(x, y)
        assert bits(model.step(x, y).mean) == bits(expected.mean)
        assert row_of(model) == row_of(twin)
    with pytest.raises(NotFiniteError):
        model.step([1.0, 2.0, 3.0], np.inf)
    assert row_of(model) == row_of(twin)


@every_regressor
def test_predicting_changes_nothing(make: Make) -> None:
    model = trained(make)
    before = row_of(model)
    model.predict([1.0, 2.0, 3.0])
    assert row_of(model) == before


@every_regressor
def test_a_missing_observation_only_lets_time_pass(make: Make) -> None:
    model = trained(make)
    weights, parameters, n_seen = model.weights, dict(model.parameters), model.n_seen
    model.update([1.0, 2.0, 3.0], np.nan)
    assert np.array_equal(model.weights.mean, weights.mean)
    assert model.parameters == parameters
    assert model.n_seen == n_seen
    if weights.cov is not None:
        assert model.weights.cov is not None
        assert np.linalg.eigvalsh(model.weights.cov - weights.cov).min() > 0.0  # uncertainty grows in every direction


@every_regressor
def test_run_lets_other_threads_work(make: Make) -> None:
    """This thread takes turns while nothing but compiled code runs in the other: with the lock held there are none."""
    X = np.random.default_rng(0).normal(size=(50_000, 8))
    y = X[:, 0].copy()
    model = make()
    runner = DenseRunner(model._kernel, model._spec, model._spec.new_row(8), 8)
    turns, taken = 0, 0

    def run() -> None:
        nonlocal taken
        for _ in range(200):  # a busy machine may run nothing else beside this thread's fast runs at first
            before = turns
            runner.run(X, y, False, False)
            taken = turns - before
            if taken:
                break

    running = threading.Thread(target=run)
    running.start()
    while running.is_alive():
        turns += 1
    assert taken


@every_regressor
@settings(max_examples=25)
@given(scale=powers(-323, 300), keep_predictive=st.booleans(), seed=st.integers(0, 100))
def test_forecasts_of_y_of_any_size_have_a_variance(make: Make, scale: float, keep_predictive: bool, seed: int) -> None:
    """Squares of tiny numbers are 0, but no forecast is certain."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 1)), scale * rng.normal(size=30)
    trace = make().run(X, y, keep_predictive=keep_predictive)
    known = trace.is_known
    if not trace.predictive.is_point:
        assert (trace.var[known] > 0.0).all()
        assert np.isfinite(trace.var[known]).all()
