"""River's own checks pass without a skip, and the numbers are those of AutoBypass."""

import math
import pickle
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pytest import approx

pytest.importorskip("river", reason="River is not installed; pip install 'adabypass[river]'")

from river import checks

from adabypass import AutoBypass
from adabypass.adapters.river import (
    AutoBypassAnomalyDetector,
    AutoBypassForecaster,
    AutoBypassRegressor,
)
from adabypass.errors import MissingExtraError, NotANumberError, NotFiniteError, ShapeError

RNG = np.random.default_rng(0)
N = 150
X = RNG.normal(size=(N, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 300.0, 0.0, 0.0]
Y = X @ [2.0, 0.3, 5.0, -1.0] + RNG.normal(size=N)
NAMES = ["sun", "pressure", "rain", "wind"]
ROWS = [dict(zip(NAMES, x, strict=True)) for x in X.tolist()]
LATE = "wind"
REORDERED = 1e-9
"""Relative: the same sums in another order."""

ESTIMATORS = [
    AutoBypassRegressor(),
    AutoBypassRegressor(learn_intercept=False),
    AutoBypassRegressor(period=7),
    AutoBypassForecaster(),
    AutoBypassForecaster(lags=(1, 3), difference=1),
    AutoBypassAnomalyDetector(),
]
CHECKS = [(estimator, check) for estimator in ESTIMATORS for check in checks.yield_checks(estimator)]


@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[f"{type(each).__name__}-{check.__name__}" for each, check in CHECKS]
)
def test_it_passes_river_s_checks(estimator: Any, check: Any) -> None:
    check(estimator.clone())


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_no_check_is_skipped(estimator: Any) -> None:
    assert estimator._unit_test_skips() == set()
    checks.check_estimator(estimator)


@pytest.mark.parametrize(("learn_intercept", "period"), [(True, 1), (False, 1), (True, 7)])
def test_numbers_equal_those_of_auto_bypass(learn_intercept: bool, period: int) -> None:
    model = AutoBypass(intercept=learn_intercept, period=period)
    regressor = AutoBypassRegressor(learn_intercept, period)
    for row, x, y in zip(ROWS, X, Y, strict=True):
        forecast = model.predict(x)
        assert regressor.predict_one(row) == (0.0 if math.isnan(forecast.mean) else forecast.mean)
        model.update(x, y)
        regressor.learn_one(row, y)
    forecast = regressor.predict_one(ROWS[0], with_dist=True)
    assert (forecast.mean, forecast.var) == (model.predict(X[0]).mean, model.predict(X[0]).var)
    interval = regressor.predict_interval_one(ROWS[0], 0.8)
    assert (interval.lower, interval.upper) == model.predict(X[0]).interval(0.8)


def fixed(rows: list[dict[str, float]], y: Any) -> list[Any]:
    """Return the forecasts of a model that knows all features from the beginning, and sees 0 for those absent."""
    table = np.array([[row.get(name, 0.0) for name in NAMES] for row in rows])
    return [AutoBypass().run(table, y).predictive[i] for i in range(len(rows))]


def growing(rows: list[dict[str, float]], y: Any) -> list[Any]:
    """Return the forecasts of River's regressor before each row."""
    regressor, forecasts = AutoBypassRegressor(), []
    for row, target in zip(rows, y, strict=True):
        forecasts.append(regressor.predict_one(row, with_dist=True))
        regressor.learn_one(row, target)
    return forecasts


def assert_equal(ours: list[Any], theirs: list[Any]) -> None:
    for attribute in ("mean", "var"):
        expected = [getattr(each, attribute) for each in theirs]
        assert [getattr(each, attribute) for each in ours] == approx(expected, rel=REORDERED, nan_ok=True)


def test_the_order_of_features_makes_no_difference() -> None:
    rng = np.random.default_rng(1)
    shuffled = [{name: row[name] for name in rng.permutation(NAMES).tolist()} for row in ROWS]
    assert_equal(growing(shuffled, Y), fixed(ROWS, Y))


def test_a_feature_that_disappears_is_0() -> None:
    rng = np.random.default_rng(2)
    rows = [{name: value for name, value in row.items() if i == 0 or rng.random() < 0.8} for i, row in enumerate(ROWS)]
    assert_equal(growing(rows, Y), fixed(rows, Y))


@pytest.mark.parametrize("at", [1, 5, 12, 19])
def test_features_that_come_within_the_warm_up_give_the_fixed_numbers_after_it(at: int) -> None:
    rows = [{name: value for name, value in row.items() if i >= at or name != LATE} for i, row in enumerate(ROWS)]
    ours, theirs = growing(rows, Y), fixed(rows, Y)
    assert_equal(ours[:at], theirs[:at])
    assert_equal(ours[20:], theirs[20:])


def test_a_feature_that_comes_later_changes_nothing_until_it_is_not_0() -> None:
    rows: list[dict[str, float]] = [{name: row[name] for name in NAMES if name != LATE} for row in ROWS]
    rows = [row | ({LATE: 0.0} if i >= 60 else {}) for i, row in enumerate(rows)]
    assert_equal(growing(rows, Y), fixed(rows, Y))


def test_a_feature_that_comes_later_starts_at_its_prior() -> None:
    """Ten times the variance of y in its own units, which are those of its first value."""
    regressor = AutoBypassRegressor()
    rows = [{name: row[name] for name in NAMES if name != LATE} for row in ROWS]
    for row, y in zip(rows[:100], Y[:100] - Y[0], strict=True):  # of either sign, so that its log is not learned
        regressor.learn_one(row, y)
    without, before = regressor.predict_one(rows[100], with_dist=True), pickle.dumps(regressor)
    with_it = regressor.predict_one(rows[100] | {LATE: 7.0}, with_dist=True)
    assert pickle.dumps(regressor) == before
    assert regressor.predict_one(rows[100] | {LATE: 7.0}) == with_it.mean == approx(without.mean)
    assert regressor.model is not None
    twin = regressor.model.copy()
    twin.add_features(1, were_zero=True)
    assert twin.predict([*rows[100].values(), 7.0]).var == with_it.var
    unit = with_it.components["signal_var"] - without.components["signal_var"]
    y_scale = twin._spec.layout.scalar(twin._runner.row, "y_scale")  # type: ignore[union-attr]
    assert unit.min() == approx(twin._spec.prior_var * y_scale**2, rel=1e-3)  # of filters whose slopes hardly drift


def test_late_features_are_learned() -> None:
    regressor = AutoBypassRegressor()
    for i, (row, y) in enumerate(zip(ROWS * 4, [*Y, *Y, *Y, *Y], strict=True)):
        regressor.learn_one({name: value for name, value in row.items() if i >= N or name != LATE}, y)
    assert regressor.features == NAMES
    assert regressor.model is not None
    assert regressor.model.weights.mean == approx([2.0, 0.3, 5.0, -1.0], abs=1.0)


def test_rows_without_features_are_forecast_too() -> None:
    regressor = AutoBypassRegressor()
    assert regressor.predict_one({}) == 0.0
    assert not regressor.predict_one({}, with_dist=True).is_known
    assert (regressor.predict_interval_one({}).lower, regressor.predict_interval_one({}).upper) == (-math.inf, math.inf)
    for y in Y:
        regressor.learn_one({}, y)
    assert regressor.predict_one({}) == approx(Y.mean(), abs=Y.std())
    regressor.learn_one({"sun": 1.0}, 1.0)
    assert regressor.predict_one({"rain": 1.0, "sun": 2.0}, with_dist=True).is_known


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_learning_many_rows_equals_learning_one_by_one(frame: Any) -> None:
    series = {pd.DataFrame: pd.Series, pl.DataFrame: pl.Series}[frame]
    one, many = AutoBypassRegressor(), AutoBypassRegressor()
    for row, y in zip(ROWS, Y, strict=True):
        one.learn_one(row, y)
    many.learn_many(frame(ROWS[:50]), series(Y[:50]))
    many.learn_many(frame([{name: row[name] for name in reversed(NAMES)} for row in ROWS[50:]]), series(Y[50:]))
    assert many.predict_one(ROWS[0], with_dist=True).var == one.predict_one(ROWS[0], with_dist=True).var
    forecasts = many.predict_many(frame(ROWS[:9]))
    assert isinstance(forecasts, series)
    assert forecasts.to_list() == [one.predict_one(row) for row in ROWS[:9]]
    assert AutoBypassRegressor().predict_many(frame(ROWS[:2])).to_list() == [0.0, 0.0]


def test_predictions_keep_the_index_of_the_frame() -> None:
    regressor = AutoBypassRegressor()
    frame = pd.DataFrame(ROWS, index=range(100, 100 + N))
    regressor.learn_many(frame, pd.Series(Y))
    assert regressor.predict_many(frame.iloc[:3]).index.tolist() == [100, 101, 102]
    regressor.learn_many(frame.iloc[:0], pd.Series(Y[:0]))


def test_text_and_missing_values_are_refused_with_the_remedy() -> None:
    regressor = AutoBypassRegressor()
    regressor.learn_one({"sun": 1.0}, 1.0)
    before = pickle.dumps(regressor)
    calls: list[Callable[[Any], Any]] = [
        lambda x: regressor.learn_one(x, 1.0),
        lambda x: regressor.predict_one(x, with_dist=True),
    ]
    for call in calls:
        with pytest.raises(NotANumberError, match=r"the feature 'sky' is 'blue'.*OneHotEncoder"):
            call({"sun": 1.0, "sky": "blue"})
        with pytest.raises(NotFiniteError, match=r"the feature 'sun' is nan.*StatImputer"):
            call({"sun": math.nan})
        with pytest.raises(NotFiniteError, match="the feature 'sun' is None"):
            call({"sun": None})
    with pytest.raises(ShapeError):
        regressor.learn_one({"rain": 1.0}, [1.0, 2.0])  # type: ignore[arg-type]
    assert pickle.dumps(regressor) == before


def test_without_river_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "adabypass.adapters.river")
    monkeypatch.setitem(sys.modules, "river.base", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'adabypass\[river\]'"):
        import_module("adabypass.adapters.river")
