"""Forecasts stay near the data, whatever the series: properties over families of series."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass import Forecaster, Mixture
from adabypass.state import structures as design
from tests.strategies import examples

LEVELS = np.array([0.0005, 0.01, 0.05, 0.25, 0.5, 0.75, 0.88, 0.89, 0.95, 0.99, 0.9995])
NEAR = 1e-7  # a quantile's probability, as far as the search goes
ROUNDING = 1e-9  # of the ends of a range, a few operations on numbers of its size
NEGLIGIBLE = 1e-6  # part of the data's size that a mean may lie beyond a bound where nearly all values lie
MAX_RANGES = 20.0  # of the data, that the median of 50 drawn paths may lie beyond them after 200 steps


def sparse(rng: np.random.Generator, n: int) -> Any:
    return np.where(rng.uniform(size=n) < rng.uniform(0.3, 0.97), 0.0, 1.0 + rng.poisson(2.5, size=n))


def seasonal(rng: np.random.Generator, n: int) -> Any:
    t, period = np.arange(n), rng.choice([4, 7, 12, 24])
    return 20.0 + 5.0 * np.sin(2 * np.pi * t / period) + rng.choice([0.01, 0.3, 3.0]) * rng.normal(size=n)


def trending(rng: np.random.Generator, n: int) -> Any:
    grown = np.exp(rng.uniform(-0.3, 0.5) * np.arange(n) / n * 10)
    return grown * (1.0 + 0.05 * rng.normal(size=n))


def walking(rng: np.random.Generator, n: int) -> Any:
    return 1e3 + rng.standard_t(3, size=n).cumsum() * rng.choice([0.1, 30.0])


def constant(rng: np.random.Generator, n: int) -> Any:
    return np.full(n, rng.choice([0.0, -3.0, 1e9])) + (rng.uniform(size=n) < 0.05)


def switching(rng: np.random.Generator, n: int) -> Any:
    on = (rng.uniform(size=n) < 0.1).cumsum() % 2
    return 100.0 * on + rng.choice([0.001, 1.0]) * rng.normal(size=n)


def hostile(rng: np.random.Generator, n: int) -> Any:
    return rng.choice([0.0, 1.0, -1.0, 1e-12, 1e12, 3.0], size=n) * rng.choice([1.0, 1e-130, 1e130])


FAMILIES = [sparse, seasonal, trending, walking, constant, switching, hostile]


@st.composite
def series(draw: st.DrawFn) -> Any:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = draw(st.sampled_from(FAMILIES))(rng, draw(st.sampled_from([3, 5, 9, 13, 25, 40, 65, 130])))
    if draw(st.booleans()):
        y[rng.uniform(size=len(y)) < 0.1] = np.nan
    y[:2] = np.where(np.isnan(y[:2]), 1.0, y[:2])
    return y


def check_distribution(forecast: Any, y: np.ndarray) -> None:
    """Quantiles rise, have their probability, and hold the mean between them."""
    quantiles = np.asarray(forecast.quantile(LEVELS))
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles, axis=0) >= 0.0).all()
    mean, size = np.asarray(forecast.mean), np.maximum(np.abs(quantiles).max(axis=0), np.nanmax(np.abs(y)))
    assert (quantiles[0] - NEGLIGIBLE * size <= mean).all()
    assert (mean <= quantiles[-1] + NEGLIGIBLE * size).all()
    for level, row in zip(LEVELS, quantiles, strict=True):
        step = 1e-9 * size + 1e-290
        below, above = np.asarray(forecast.cdf(row - step)), np.asarray(forecast.cdf(row + step))
        assert (below - NEAR <= level).all(), level  # an atom, or a narrow component, may lie between
        assert (level <= above + NEAR).all(), level


@examples(30)
@given(series(), st.sampled_from([None, 4, 7, 12, [4, 20]]), st.sampled_from([None, "positive"]))
def test_automatic_forecasts_stay_near_the_data(y: np.ndarray, period: Any, support: Any) -> None:
    y = y if support is None else np.abs(y)
    forecaster = Forecaster(period=period, support=support)
    forecaster.run(y)
    ahead = forecaster.forecast(horizon=60)
    check_distribution(ahead.predictive, y)
    one = forecaster.predict()
    assert np.isfinite([one.mean, one.sd]).all()


@examples(20)
@given(series(), st.sampled_from([None, 4, 12, [4, 20]]))
def test_no_structure_leaves_the_data_by_more_than_twice_their_range(y: np.ndarray, period: Any) -> None:
    forecaster = Forecaster(period=period)
    forecaster.run(y)
    ahead = forecaster.forecast(horizon=1000)
    low, high = np.nanmin(y), np.nanmax(y)
    beyond = (design.RANGES_BEYOND + ROUNDING) * (high - low) + ROUNDING * max(abs(low), abs(high))
    parts: Any = ahead.predictive
    if low == high or not np.ptp(y[~np.isnan(y)]) > 1e-10 * abs(high):  # it has not moved: its last value
        return
    structures = np.array(parts.components[1:])  # the first step is mixed with regressions
    for k in np.flatnonzero(structures["weight"].max(axis=0) > 0.0):
        alone = structures[:, [k]]
        alone["weight"] = 1.0
        means = np.asarray(Mixture(alone).mean)
        assert (means <= high + beyond).all()
        assert (means >= low - beyond).all()
    assert (np.asarray(ahead.mean[1:]) <= high + beyond).all()
    assert (np.asarray(ahead.mean[1:]) >= low - beyond).all()


@examples(10)
@given(series(), st.sampled_from([None, 7]))
def test_paths_stay_where_the_forecast_is(y: np.ndarray, period: Any) -> None:
    forecaster = Forecaster(period=period)
    forecaster.run(y)
    paths = forecaster.forecast(horizon=200, method="paths", n_paths=50, rng=0)
    assert np.isfinite(np.asarray(paths.mean)).all()
    check_spread(np.asarray(paths.quantile(0.5)), y)


def check_spread(median: np.ndarray, y: np.ndarray) -> None:
    """The middle of the paths is not out of all proportion: they stray as far as drawn weights let them."""
    low, high = np.nanmin(y), np.nanmax(y)
    beyond = MAX_RANGES * (high - low) + ROUNDING * max(abs(low), abs(high))
    if high - low > 1e-10 * abs(high):
        assert (median <= high + beyond).all()
        assert (median >= low - beyond).all()


@examples(30)
@given(series(), st.sampled_from([1, 2, [1, 7]]))
def test_forecasts_from_lags_stay_near_their_own_quantiles(y: np.ndarray, lags: Any) -> None:
    forecaster = Forecaster(lags=lags)
    for each in y:
        forecaster.update(each)
        if forecaster.is_ready and np.asarray(forecaster.predict().is_known).all():
            check_distribution(forecaster.predict(), y)
    if forecaster.is_ready and np.asarray(forecaster.predict().is_known).all():
        check_distribution(forecaster.forecast(horizon=60).predictive, y)


@pytest.mark.parametrize("n_zeros", [20, 400, 3000])
def test_a_series_of_almost_only_zeros_has_its_mean_among_its_quantiles(n_zeros: int) -> None:
    y = np.zeros(n_zeros)
    y[:3] = 1.0, 2.0, 5.0
    forecaster = Forecaster()
    forecaster.run(y)
    check_distribution(forecaster.forecast(horizon=12).predictive, y)
