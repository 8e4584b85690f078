"""Missing observations: forecasts take their place, and what is not known of them is counted."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass import (
    Forecaster,
    PassiveAggressive,
    Regressor,
)
from adabypass.errors import (
    ShapeError,
)
from adabypass.validation import Floats
from tests.forecasting.series import MODELS, autoregression, every_model, with_gaps


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
    assert np.flatnonzero(~trace.is_known).tolist() == [0]  # the model has learned from nothing yet
    assert np.isfinite(trace.mean[1:]).all()


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.6), st.integers(1, 4), st.integers(-12, 12))
def test_gaps_and_units_never_make_it_stumble(seed: int, share: float, lags: int, power: int) -> None:
    y = 10.0**power * with_gaps(autoregression([0.7], 60, seed), share, seed)
    y[:lags] = 10.0**power
    forecaster = Forecaster(lags=lags)
    trace = forecaster.run(y)
    ahead = forecaster.forecast(30)
    assert trace.is_known[np.cumsum(np.isfinite(trace.y)) - np.isfinite(trace.y) > 0].all()
    for values in (trace.mean[trace.is_known], trace.var[trace.is_known]):
        assert np.isfinite(values).all()
    if np.isfinite(trace.y).any():
        for values in (ahead.mean, ahead.var, *ahead.interval(0.9)):
            assert np.isfinite(values).all()
        assert (ahead.var > 0).all()


@pytest.mark.parametrize("make", [*MODELS, PassiveAggressive])
@pytest.mark.parametrize("unit", [1e-300, 1e150, 1e200, 1e300])
@pytest.mark.parametrize("difference", [0, 2])
def test_gaps_in_any_unit_give_finite_forecasts(make: Callable[[], Regressor], unit: float, difference: int) -> None:
    y = autoregression([0.7], 80, 0) * unit
    y[[1, 5, *range(20, 40), 60, 79]] = np.nan
    forecaster = Forecaster(make(), lags=2, difference=difference)
    trace, ahead = forecaster.run(y), forecaster.forecast(5)
    known = trace.is_known
    assert known.sum() >= len(known) - 4  # all after the first observation of the differenced series
    answers = [trace.mean[known], ahead.mean]
    if not forecaster.is_point:
        paths = forecaster.forecast(5, method="paths", n_paths=20, rng=0)
        answers += [trace.var[known], ahead.var, *ahead.interval(0.9), paths.mean, paths.var, *paths.interval(0.9)]
    for values in answers:
        assert np.isfinite(values).all()


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
