"""A forecaster builds features from a series' past, bridges gaps, and looks many steps ahead."""

import pickle
import tracemalloc
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx
from scipy.stats import norm

from adabypass import (
    AdaBypass,
    AutoBypass,
    Bypass,
    EvidenceBypass,
    Forecaster,
    PassiveAggressive,
    Regressor,
    SequentialKalman,
    load_dataset,
)
from adabypass.errors import (
    AdabypassError,
    NotEnoughDataError,
    NotFiniteError,
    NotReadyError,
    ParameterError,
    ShapeError,
)
from adabypass.inference import multistep
from adabypass.model.linear_mixture import LinearMixture
from adabypass.model.noise import Family
from adabypass.model.past import Design, Past
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


def kalman_optimum(y: Floats, weights: list[float]) -> Floats:
    """Means of the filter that knows the truth, gaps and all."""
    p = len(weights)
    F = np.vstack([weights, np.eye(p)[:-1]])
    m, P, means = np.zeros(p), 10.0 * np.eye(p), []
    for seen in y:
        m, P = F @ m, F @ P @ F.T
        P[0, 0] += 1.0
        means.append(m[0])
        if not np.isnan(seen):
            gain = P[:, 0] / P[0, 0]
            m, P = m + gain * (seen - m[0]), P - np.outer(gain, P[0])
    return np.array(means)


@every_model
def test_lags_and_bias_are_the_features_of_the_paper(make: Callable[[], Regressor]) -> None:
    y = load_dataset("nile").y
    forecaster, model = Forecaster(make()), make()
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
    assert paths.mean == approx(moments.mean, abs=5 * moments.sd.max() / 200_000**0.5 + 0.02 * moments.sd.max())
    assert paths.sd == approx(moments.sd, rel=0.03)  # a Gaussian closure, not exact beyond the second step


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
            low, high = forecaster.forecast(20, method=method, n_paths=4000, rng=seed).interval(0.9)  # type: ignore[arg-type]
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


@pytest.mark.parametrize("weights", [[0.8], [1.2, -0.4]])
def test_a_third_missing_costs_little(weights: list[float]) -> None:
    truth = autoregression(weights, 4000, 7)
    y = with_gaps(truth, 0.3, 8)
    trace = Forecaster(lags=len(weights)).run(y)
    skip = 200
    target = truth[trace.first :][skip:]
    best = kalman_optimum(y, weights)[trace.first :][skip:]
    ratio = np.sqrt(np.mean((trace.mean[skip:] - target) ** 2) / np.mean((best - target) ** 2))
    assert ratio < 1.05
    low, high = trace.predictive[skip:].interval(0.9)
    assert np.mean((low <= target) & (target <= high)) == approx(0.9, abs=0.015)  # 3,800 forecasts: se 0.5 %


@every_model
def test_a_run_of_missing_values_widens_the_forecast(make: Callable[[], Regressor]) -> None:
    forecaster = Forecaster(make())
    forecaster.run(autoregression([0.9], 300, 0))
    widths = []
    for _ in range(6):
        widths.append(forecaster.predict().sd)
        forecaster.update(np.nan)
    assert (np.diff(widths) > 0).all()


def test_a_series_may_begin_with_gaps() -> None:
    y = autoregression([0.5], 60, 0)
    y[[0, 1, 3, 4]] = np.nan
    trace = Forecaster(lags=4).run(y)
    assert trace.first == 6  # two leading gaps are dropped, then four lags
    assert np.isfinite(trace.mean).all()


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.6), st.integers(1, 4), st.integers(-12, 12))
def test_gaps_and_units_never_make_it_stumble(seed: int, share: float, lags: int, power: int) -> None:
    y = 10.0**power * with_gaps(autoregression([0.7], 60, seed), share, seed)
    y[:lags] = 10.0**power
    forecaster = Forecaster(lags=lags)
    trace = forecaster.run(y)
    ahead = forecaster.forecast(30)
    for values in (trace.mean, trace.var, ahead.mean, ahead.var, *ahead.interval(0.9)):
        assert np.isfinite(values).all()
    assert (ahead.var > 0).all()


def test_fast_drifting_filters_do_not_make_the_far_future_explode() -> None:
    forecaster = Forecaster()
    forecaster.run(load_dataset("nile").y)
    ahead, spread = forecaster.forecast(100), np.std(load_dataset("nile").y)
    assert ahead.mean[-1] == approx(11.5, abs=0.5)
    assert ahead.sd[-1] < 2 * spread


def test_weights_that_may_not_explode_turn_about_where_the_series_is() -> None:
    belief = LinearMixture(
        share=np.ones(1),
        mean=np.array([[2.0, 1.02]]),
        cov=np.array([[[0.0, 0.0], [0.0, 0.0004]]]),  # 1.02 may well be 1
        drift=np.zeros((1, 2, 2)),
        noise_scale=np.ones(1),
        epsilon=np.zeros(1),
        family=np.array([Family.GAUSSIAN]),
        fading=np.zeros(1),
        fade=np.zeros(1),
        x_center=np.array([100.0]),
        y_center=100.0,
        intercept=True,
    )
    past = Past(np.array([1100.0]), np.empty(0, np.int64), np.empty((0, 0)))
    steps = multistep.moments(belief, Design((1,)), past, np.zeros((2, 1)))
    # 22 up in the first step, as in the second but for Cov(w, y) = 0.0004 * 1000; about the centre it would be 2.
    assert steps["mean"][:, 0] == approx([1122.0, 1144.4])


@pytest.mark.parametrize("method", ["moments", "paths"])
def test_seasons_that_grow_go_on_growing(method: Literal["moments", "paths"]) -> None:
    t = np.arange(1012)
    truth = (100 + t) * (1 + 0.2 * np.sin(2 * np.pi * t / 12))
    forecaster = Forecaster(lags=[1, 12])
    forecaster.run(truth[:1000] + np.random.default_rng(4).normal(size=1000))
    error = forecaster.forecast(horizon=12, method=method, rng=1).mean - truth[1000:]
    assert abs(error.mean()) < 3.0


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


def test_a_missing_exogenous_value_is_refused_or_filled_as_agreed() -> None:
    exog, y = np.array([[1.0], [2.0], [3.0], [np.nan]]), np.arange(4.0)
    with pytest.raises(NotFiniteError, match="exog is missing in row 3, column 'rain'; fill it, or choose missing="):
        Forecaster(exog=["rain"]).run(y, exog)
    for missing, value in (("mean", 2.0), ("last", 3.0)):
        filled, given_value = Forecaster(missing=missing), Forecaster()  # type: ignore[arg-type]
        filled.run(y, exog)
        given_value.run(y, np.array([[1.0], [2.0], [3.0], [value]]))
        np.testing.assert_array_equal(filled.model.weights.mean, given_value.model.weights.mean)


def test_a_refused_series_leaves_the_forecaster_as_it_was() -> None:
    forecaster = Forecaster()
    forecaster.run([1.0, 2.0, 1.5])
    before = forecaster.predict().mean
    with pytest.raises(NotFiniteError):
        forecaster.run([1.0, np.inf])
    with pytest.raises(AdabypassError):
        forecaster.run([1.0, 2.0], exog=[[np.nan], [1.0]])
    assert forecaster.predict().mean == before
    assert forecaster.n_seen == 2


def test_forecasts_wait_for_the_lags() -> None:
    forecaster = Forecaster(lags=3)
    with pytest.raises(NotReadyError, match="forecasts begin when 3 observations are there, and 0 are"):
        forecaster.predict()
    with pytest.raises(NotEnoughDataError, match="y has 2 observations, but forecasts begin after 3"):
        forecaster.run([1.0, 2.0])
    forecaster.run([1.0, 2.0, 3.0, 4.0])
    assert np.isfinite(forecaster.forecast(2).mean).all()


def test_a_point_model_forecasts_points() -> None:
    forecaster = Forecaster(PassiveAggressive())
    trace = forecaster.run([1.0, 2.0, np.nan, 3.0, 2.0])
    assert np.isfinite(trace.mean).all()
    assert len(forecaster.forecast(4)) == 4
    assert "sd" not in forecaster.forecast(4).columns()
    with pytest.raises(ParameterError, match="PassiveAggressive forecasts points"):
        forecaster.forecast(4, method="paths")


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ParameterError, match="this AutoBypass has an intercept of its own"):
        Forecaster(bias=False)
    with pytest.raises(ParameterError, match="lags is -1"):
        Forecaster(lags=-1)
    with pytest.raises(ParameterError, match="missing is 'zero'"):
        Forecaster(missing="zero")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="model is 'auto'"):
        Forecaster("auto")  # type: ignore[arg-type]


def test_the_same_seed_draws_the_same_paths() -> None:
    forecaster = Forecaster()
    forecaster.run(load_dataset("nile").y[:100])
    first, second = (forecaster.forecast(5, method="paths", n_paths=10, rng=3).paths for _ in range(2))
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first, second)


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
    forecaster = Forecaster()
    forecaster.run(load_dataset("nile").y[:100])
    frame = forecaster.forecast(3).to_frame(levels=(0.5, 0.9), backend=backend)  # type: ignore[arg-type]
    assert list(frame.columns) == ["step", "mean", "sd", "lower_50", "upper_50", "lower_90", "upper_90"]


def test_a_far_horizon_takes_no_more_memory_than_its_answer() -> None:
    forecaster = Forecaster(lags=2)
    forecaster.run(autoregression([0.5, 0.2], 100, 0))
    tracemalloc.start()
    ahead = forecaster.forecast(1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6  # bytes; covariances of all pairs of steps would take 350 MB
    assert ahead.mean[:20] == approx(forecaster.forecast(20).mean, rel=0.2)


@pytest.mark.parametrize("lags", [[1, 2], [2, 5], [3]])
def test_gaps_among_the_lags_are_carried_ahead_as_draws_say(lags: list[int]) -> None:
    forecaster = Forecaster(AutoBypass(), lags=lags)
    y = autoregression([0.4, 0.2], 600, 3)
    y[[595, 597, 598]] = np.nan
    forecaster.run(y)
    moments, paths = forecaster.forecast(7), forecaster.forecast(7, method="paths", n_paths=100_000, rng=0)
    assert paths.mean == approx(moments.mean, abs=0.03 * moments.sd.max())
    assert paths.sd == approx(moments.sd, rel=0.04)


@pytest.mark.parametrize("make", [*MODELS, PassiveAggressive])
@pytest.mark.parametrize("unit", [1e-300, 1e150, 1e200, 1e300])
@pytest.mark.parametrize("difference", [0, 2])
def test_gaps_in_any_unit_give_finite_forecasts(make: Callable[[], Regressor], unit: float, difference: int) -> None:
    y = autoregression([0.7], 80, 0) * unit
    y[[1, 5, *range(20, 40), 60, 79]] = np.nan
    forecaster = Forecaster(make(), lags=2, difference=difference)
    trace, ahead = forecaster.run(y), forecaster.forecast(5)
    answers = [trace.mean, ahead.mean]
    if not forecaster.is_point:
        paths = forecaster.forecast(5, method="paths", n_paths=20, rng=0)
        answers += [trace.var, ahead.var, *ahead.interval(0.9), paths.mean, paths.var, *paths.interval(0.9)]
    for values in answers:
        assert np.isfinite(values).all()


def test_the_largest_numbers_can_be_differenced() -> None:
    y = np.array([1.7e308, -1.7e308] * 6)
    whole, steps = Forecaster(difference=1), Forecaster(difference=1)
    trace = whole.run(y)
    for value in y:
        steps.step(value)
    assert np.isfinite(trace.mean).all()
    np.testing.assert_array_equal(trace.y, y[2:])
    assert steps.predict().mean == whole.predict().mean


@pytest.mark.parametrize("step", ["update", "step"])
def test_a_refused_observation_leaves_the_forecaster_as_it_was(step: str) -> None:
    forecaster = Forecaster(exog=["rain"])
    forecaster.run([1.0, 2.0, 1.5], [[0.0], [1.0], [2.0]])
    before = pickle.dumps(forecaster)
    for y, exog in ((99.0, None), (99.0, [np.nan]), (99.0, [1.0, 2.0]), (np.inf, [7.0]), ("a", [7.0])):
        with pytest.raises(AdabypassError):
            getattr(forecaster, step)(y, exog)
        assert pickle.dumps(forecaster) == before


def test_what_comes_later_does_not_change_a_forecast() -> None:
    y = autoregression([0.6, 0.2], 40, 0)
    y[[3, 4, 6, 9]] = np.nan
    later = y.copy()
    later[-1] = 1e12
    usual, changed = Forecaster(lags=2).run(y), Forecaster(lags=2).run(later)
    np.testing.assert_array_equal(usual.mean, changed.mean)
    np.testing.assert_array_equal(usual.var, changed.var)


def test_exogenous_columns_alone_will_do_gaps_and_all() -> None:
    rng = np.random.default_rng(0)
    exog = rng.normal(size=(200, 2))
    y = exog @ [1.0, 2.0] + rng.normal(0, 0.1, 200)
    y[[0, 3, 50, 199]] = np.nan
    forecaster = Forecaster(lags=0)
    forecaster.run(y, exog)
    assert forecaster.forecast(2, [[1.0, 0.0], [0.0, 1.0]]).mean == approx([1.0, 2.0], abs=0.1)
    with pytest.raises(ShapeError, match="neither lags nor exogenous columns"):
        Forecaster(lags=0).run([1.0, 2.0, 3.0])


def test_settings_that_would_fail_later_are_refused_at_once() -> None:
    assert Forecaster(exog="rain").exog == ("rain",)
    with pytest.raises(ParameterError, match="exog is 3, but must be a list of names"):
        Forecaster(exog=3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="100000 lags are too many: a model has at most 30000 features"):
        Forecaster(lags=100_000)
    with pytest.raises(NotEnoughDataError, match="y has 3 observations, but all are missing"):
        Forecaster().run([np.nan] * 3)
