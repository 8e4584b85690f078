"""Forecasts many steps ahead: the uncertainty of all that they are made of, and no explosions."""

import tracemalloc
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from pytest import approx
from scipy.stats import norm

from adabypass import (
    AutoBypass,
    Forecaster,
    Regressor,
    SequentialKalman,
    load_dataset,
)
from tests.forecasting.series import autoregression, every_model


@every_model
@pytest.mark.parametrize("difference", [0, 1, 2])
def test_the_first_step_ahead_is_what_predict_says(make: Callable[[], Regressor], difference: int) -> None:
    forecaster = Forecaster(make(), lags=2, difference=difference)
    forecaster.run(autoregression([0.8], 60, 0))
    ahead, one = forecaster.forecast(3), forecaster.predict()
    assert ahead.mean[0] == approx(one.mean, rel=1e-9)
    assert ahead.var[0] == approx(one.var, rel=1e-9)
    assert ahead.interval(0.9)[0][0] == approx(one.interval(0.9)[0], rel=1e-6)


def test_a_known_autoregression_is_carried_ahead_by_hand() -> None:
    """Weights that are known exactly give the textbook's means and variances."""
    forecaster = Forecaster(SequentialKalman(noise_var=1.0), lags=1, bias=False)
    forecaster.run([2.0, 1.0])
    state = forecaster.__getstate__()
    state["row"][-4:] = [0.0, 1.0, 0.5, 0.0]  # no drift, noise 1, weight 0.5 without variance
    forecaster.__setstate__(state)
    ahead = forecaster.forecast(3)
    assert ahead.mean == approx([0.5, 0.25, 0.125])
    assert ahead.var == approx([1.0, 1.25, 1.3125])


def test_moments_of_uncertain_weights_agree_with_draws() -> None:
    model = SequentialKalman(noise_var=0.5)
    forecaster = Forecaster(model, lags=2)
    forecaster.run(autoregression([0.5, 0.2], 40, 3))
    moments, paths = forecaster.forecast(6), forecaster.forecast(6, method="paths", n_paths=200_000, rng=0)
    assert paths.mean == approx(moments.mean, abs=5 * moments.sd.max() / 200_000**0.5)
    assert paths.sd == approx(moments.sd, rel=0.01)  # a Gaussian closure, not exact beyond the second step


@pytest.mark.parametrize("weights", [[0.8], [0.9], [1.2, -0.4]])
@pytest.mark.parametrize("method", ["moments", "paths"])
def test_intervals_far_ahead_hold_what_they_promise(weights: list[float], method: str) -> None:
    """Coverage under the true distribution of the future, which is known: no luck in it but that of the past."""
    order, horizons = len(weights), (1, 5, 20)
    F = np.vstack([weights, np.eye(order)[:-1]])
    covered: dict[int, list[float]] = {h: [] for h in horizons}
    for seed in range(8):
        y = autoregression(weights, 2500, seed)
        forecaster = Forecaster(lags=order)
        forecaster.run(y[:1500])
        for origin in range(1500, 2500, 100):
            low, high = forecaster.forecast(20, method=method, n_paths=1000, rng=seed).interval(0.9)  # type: ignore[arg-type]
            state, response = y[origin - order : origin][::-1], np.eye(order)[0]
            var = 0.0
            for h in range(1, 21):
                state = F @ state
                var += response[0] ** 2
                response = F @ response
                if h in horizons:
                    truth = norm(state[0], var**0.5)
                    covered[h].append(truth.cdf(high[h - 1]) - truth.cdf(low[h - 1]))
            forecaster.run(y[origin : origin + 100])
    for h in horizons:
        assert 0.885 <= np.mean(covered[h]) <= 0.915, (h, np.mean(covered[h]))


def test_fast_drifting_filters_do_not_make_the_far_future_explode() -> None:
    forecaster = Forecaster(lags=1)
    forecaster.run(load_dataset("nile").y)
    ahead, spread = forecaster.forecast(100), np.std(load_dataset("nile").y)
    assert ahead.mean[-1] == approx(11.5, abs=0.5)
    assert ahead.sd[-1] < 2 * spread


@pytest.mark.parametrize("method", ["moments", "paths"])
def test_seasons_that_grow_go_on_growing(method: Literal["moments", "paths"]) -> None:
    t = np.arange(1012)
    truth = (100 + t) * (1 + 0.2 * np.sin(2 * np.pi * t / 12))
    forecaster = Forecaster(lags=[1, 12])
    forecaster.run(truth[:1000] + np.random.default_rng(4).normal(size=1000))
    error = forecaster.forecast(horizon=12, method=method, rng=1).mean - truth[1000:]
    assert abs(error.mean()) < 3.0


def test_the_same_seed_draws_the_same_paths() -> None:
    forecaster = Forecaster(lags=1)
    forecaster.run(load_dataset("nile").y[:100])
    first, second = (forecaster.forecast(5, method="paths", n_paths=10, rng=3).paths for _ in range(2))
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first, second)


def test_a_far_horizon_takes_no_more_memory_than_its_answer() -> None:
    forecaster = Forecaster(lags=2)
    forecaster.run(autoregression([0.5, 0.2], 100, 0))
    tracemalloc.start()
    ahead = forecaster.forecast(1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6  # bytes; covariances of all pairs of steps would take 350 MB
    near = forecaster.forecast(20)
    # Weights are kept from exploding up to the horizon, so a farther one damps them by a little more.
    assert np.abs(ahead.mean[:20] - near.mean).max() < 0.01 * near.sd.min()
    assert ahead.sd[:20] == approx(near.sd, rel=0.01)


@pytest.mark.parametrize("lags", [[1, 2], [2, 5], [3]])
def test_gaps_among_the_lags_are_carried_ahead_as_draws_say(lags: list[int]) -> None:
    n_paths = 100_000
    forecaster = Forecaster(AutoBypass(), lags=lags)
    y = autoregression([0.4, 0.2], 600, 3)
    y[[595, 597, 598]] = np.nan
    forecaster.run(y)
    moments = forecaster.forecast(7)
    for step in (1, 2, 4, 7):  # drawn by the shares at the last step
        paths = forecaster.forecast(step, method="paths", n_paths=n_paths, rng=0)
        assert paths.mean[-1] == approx(moments.mean[step - 1], abs=4 * moments.sd[step - 1] / n_paths**0.5)
        assert paths.sd[-1] == approx(moments.sd[step - 1], rel=0.03)  # a few draws of the widest components move it
        (low, high), (drawn_low, drawn_high) = moments.interval(0.9), paths.interval(0.9)
        assert drawn_high[-1] - drawn_low[-1] == approx(high[step - 1] - low[step - 1], rel=0.01)
