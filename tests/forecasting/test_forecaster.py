"""A forecaster makes features of a series' past, and learns as its model does."""

import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass import (
    AdaBypass,
    AutoBypass,
    Bypass,
    Forecaster,
    Naive,
    PassiveAggressive,
    Regressor,
    SequentialKalman,
    load_dataset,
)
from adabypass.errors import (
    ParameterError,
    ShapeError,
)
from tests.forecasting.series import autoregression, every_model, with_gaps


@every_model
def test_lags_and_bias_are_the_features_of_the_paper(make: Callable[[], Regressor]) -> None:
    y = load_dataset("nile").y
    """AutoBypass, that is, as it learns y itself alone: what is many steps ahead is linear in y."""
    forecaster, model = Forecaster(make()), make()
    if isinstance(model, AutoBypass):
        model = AutoBypass(transform="none")
    X = y[:-1, None] if isinstance(model, AutoBypass) else np.column_stack([np.ones(662), y[:-1]])
    expected = model.run(X, y[1:])
    trace = forecaster.run(y)
    assert trace.first == 1
    np.testing.assert_array_equal(trace.mean, expected.mean)
    np.testing.assert_array_equal(trace.log_score, expected.log_score)


@every_model
@pytest.mark.parametrize("difference", [0, 1])
def test_run_is_the_loop_of_predict_and_update_bit_for_bit(make: Callable[[], Regressor], difference: int) -> None:
    y, exog = with_gaps(autoregression([0.6, 0.2], 80, 0), 0.2, 1), np.random.default_rng(2).normal(size=(80, 1))
    whole, steps = (Forecaster(make(), lags=[1, 3], difference=difference) for _ in range(2))
    trace = whole.run(y, exog)
    means, variances = [], []
    for value, known in zip(y, exog, strict=True):
        if steps.is_ready:
            p = steps.predict(known)
            means.append(p.mean)
            variances.append(p.var)
        steps.update(value, known)
    assert trace.mean.tobytes() == np.array(means).tobytes()
    assert trace.var.tobytes() == np.array(variances).tobytes()
    assert whole.__getstate__()["row"].tobytes() == steps.__getstate__()["row"].tobytes()


def test_differencing_forecasts_the_level() -> None:
    y = np.arange(50.0) * 2 + np.random.default_rng(0).normal(0, 0.01, 50)
    forecaster = Forecaster(lags=1, difference=1)
    forecaster.run(y)
    assert forecaster.forecast(5).mean == approx(100.0 + 2 * np.arange(5), abs=0.5)


def test_seasons_are_lags() -> None:
    assert Forecaster(lags=2, seasonal_lags=24).lags == (1, 2, 24)
    assert Forecaster(lags=[3], seasonal_lags=[7, 14]).lags == (3, 7, 14)
    t = np.arange(400)
    y = np.sin(2 * np.pi * t / 24) + np.random.default_rng(0).normal(0, 0.05, 400)
    forecaster = Forecaster(lags=1, seasonal_lags=24)
    forecaster.run(y)
    assert forecaster.forecast(24).mean == approx(np.sin(2 * np.pi * np.arange(400, 424) / 24), abs=0.25)


def test_exogenous_columns_are_learned_and_asked_for() -> None:
    rng = np.random.default_rng(0)
    exog = rng.normal(size=(400, 2))
    y = exog @ [2.0, -1.0] + rng.normal(0, 0.1, 400)
    forecaster = Forecaster(lags=1, exog=["rain", "sun"])
    forecaster.run(y, exog)
    assert forecaster.forecast(2, exog=[[1.0, 0.0], [0.0, 1.0]]).mean == approx([2.0, -1.0], abs=0.1)
    with pytest.raises(ShapeError, match=r"exog is missing, but this forecaster has 2 exogenous columns \(rain, sun\)"):
        forecaster.predict()
    with pytest.raises(ShapeError, match=r"exog has shape \(1, 3\), but must be \(1, 2\)"):
        forecaster.predict([1.0, 2.0, 3.0])


def test_a_point_model_forecasts_points() -> None:
    forecaster = Forecaster(PassiveAggressive())
    trace = forecaster.run([1.0, 2.0, np.nan, 3.0, 2.0])
    assert np.isfinite(trace.mean).all()
    assert len(forecaster.forecast(4)) == 4
    assert "sd" not in forecaster.forecast(4).columns()
    with pytest.raises(ParameterError, match="PassiveAggressive forecasts points"):
        forecaster.forecast(4, method="paths")


def test_copies_and_pickles_go_their_own_way() -> None:
    forecaster = Forecaster(lags=2)
    forecaster.run(with_gaps(autoregression([0.5], 50, 0), 0.2, 0))
    expected = forecaster.forecast(4).mean
    twin, revived = forecaster.copy(), pickle.loads(pickle.dumps(forecaster))
    forecaster.update(100.0)
    np.testing.assert_array_equal(twin.forecast(4).mean, expected)
    np.testing.assert_array_equal(revived.forecast(4).mean, expected)


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_forecast_becomes_a_frame(backend: str) -> None:
    forecaster = Forecaster(lags=1)
    forecaster.run(load_dataset("nile").y[:100])
    frame = forecaster.forecast(3).to_frame(levels=(0.5, 0.9), backend=backend)  # type: ignore[arg-type]
    assert list(frame.columns) == ["step", "mean", "median", "sd", "lower_50", "upper_50", "lower_90", "upper_90"]


def test_what_comes_later_does_not_change_a_forecast() -> None:
    y = autoregression([0.6, 0.2], 40, 0)
    y[[3, 4, 6, 9]] = np.nan
    later = y.copy()
    later[-1] = 1e12
    usual, changed = Forecaster(lags=2).run(y), Forecaster(lags=2).run(later)
    np.testing.assert_array_equal(usual.mean, changed.mean)
    np.testing.assert_array_equal(usual.var, changed.var)


@every_model
def test_a_look_far_ahead_leaves_the_next_forecast_as_it_was(make: Callable[[], Regressor]) -> None:
    forecaster = Forecaster(make(), lags=[1, 2])
    forecaster.run(autoregression([0.6, 0.2], 80, 0))
    before = forecaster.predict()
    forecaster.forecast(5)
    after = forecaster.predict()
    assert before is not None
    assert after is not None
    assert after.mean == before.mean
    if not forecaster.is_point:
        assert after.sd == before.sd


@settings(max_examples=30, deadline=None)
@given(
    model=st.sampled_from([Bypass, AdaBypass, SequentialKalman]), seed=st.integers(0, 2**32 - 1),
    lags=st.integers(1, 3), horizon=st.integers(1, 6),
)  # fmt: skip
def test_iterated_means_are_those_of_one_step_fed_back(
    model: Callable[[], Regressor], seed: int, lags: int, horizon: int
) -> None:
    """The paper's forecast many steps ahead: the weights stay, each mean becomes the newest lag of the next."""
    y = autoregression([0.6], 60, seed)
    forecaster = Forecaster(model(), lags=lags)
    forecaster.run(y)
    before = forecaster.to_bytes()
    learned = forecaster.model
    offset = learned.parameters.get("noise_mean", 0.0)
    values = [float(value) for value in y[::-1]]
    expected = []
    for _ in range(horizon):
        expected.append(float(learned.weights.mean @ [1.0, *values[:lags]]) + offset)
        values.insert(0, expected[-1])
    found = forecaster.forecast(horizon, method="iterated")
    assert found.mean == approx(np.array(expected), rel=1e-9, abs=1e-9)
    assert found.sd[0] == approx(forecaster.predict().sd)
    assert forecaster.to_bytes() == before


def test_only_a_forecaster_from_lags_iterates() -> None:
    y = load_dataset("nile").y[:60]
    automatic, naive = Forecaster(), Naive()
    for each in (automatic, naive):
        each.run(y)
        with pytest.raises(ParameterError, match="'moments' or 'paths'; Forecaster"):
            each.forecast(2, method="iterated")
