"""The estimators within scikit-learn: pipelines, searches, data frames, other processes; and beside its own."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pytest import approx

pytest.importorskip("sklearn", reason="scikit-learn is not installed; pip install 'adabypass[sklearn]'")

import joblib
import sklearn
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import SGDRegressor
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adabypass import AdaBypass, EvidenceBypass, PassiveAggressive, load_dataset
from adabypass.adapters.sklearn import AutoBypassRegressor, BypassRegressor, LagTransformer
from adabypass.errors import ParameterError

RNG = np.random.default_rng(1)
X = RNG.normal(size=(300, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.3 * RNG.normal(size=300)

TAKES_C_AS_ETA0 = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
VARIANTS: Any = {"pa1": "PA-I", "pa2": "PA-II"}
SAME_UPDATES = 1e-12
"""The same few hundred updates, in other orders of addition."""


def sgd(learning_rate: str, C: float, epsilon: float) -> Any:
    """Return scikit-learn's passive-aggressive regression, of one pass in order."""
    return SGDRegressor(
        loss="epsilon_insensitive", penalty=None, learning_rate=learning_rate, eta0=C, epsilon=epsilon,
        fit_intercept=False, shuffle=False, max_iter=1, tol=None,
    )  # fmt: skip


@pytest.mark.skipif(not TAKES_C_AS_ETA0, reason="SGDRegressor takes C, as eta0, from scikit-learn 1.8 on")
@pytest.mark.parametrize("learning_rate", ["pa1", "pa2"])
@pytest.mark.parametrize(("C", "epsilon"), [(1.0, 0.1), (0.05, 0.0), (0.3, 1.0)])
def test_passive_aggressive_numbers_equal_scikit_learn_s(learning_rate: Any, C: float, epsilon: float) -> None:
    theirs = sgd(learning_rate, C, epsilon).fit(X, Y)
    ours = BypassRegressor(PassiveAggressive(VARIANTS[learning_rate], C, epsilon), fit_intercept=False).fit(X, Y)
    assert ours.coef_ == approx(theirs.coef_, rel=SAME_UPDATES, abs=SAME_UPDATES)
    assert ours.predict(X) == approx(theirs.predict(X), rel=SAME_UPDATES, abs=SAME_UPDATES)


@pytest.mark.parametrize(("name", "loss"), [("pa1", "epsilon_insensitive"), ("pa2", "squared_epsilon_insensitive")])
@pytest.mark.filterwarnings("ignore:.*PassiveAggressiveRegressor:FutureWarning")
def test_numbers_equal_those_of_the_deprecated_class(name: Any, loss: str) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    if not hasattr(linear_model, "PassiveAggressiveRegressor"):
        pytest.skip("this scikit-learn has no PassiveAggressiveRegressor any more")
    theirs = linear_model.PassiveAggressiveRegressor(C=0.2, epsilon=0.1, loss=loss, fit_intercept=False)
    ours = BypassRegressor(PassiveAggressive(VARIANTS[name], C=0.2, epsilon=0.1), fit_intercept=False)
    for i in range(50):  # a row at a time: partial_fit of theirs shuffles the rows that it is given
        theirs.partial_fit(X[i : i + 1], Y[i : i + 1])
        ours.partial_fit(X[i : i + 1], Y[i : i + 1])
    assert ours.coef_ == approx(theirs.coef_, rel=SAME_UPDATES, abs=SAME_UPDATES)


def test_the_intercept_is_a_constant_feature() -> None:
    """scikit-learn's intercept is none: it leaves the constant out of the norm that the step is divided by."""
    ones = np.column_stack([X, np.ones(len(X))])
    without = BypassRegressor(PassiveAggressive(), fit_intercept=False).fit(ones, Y)
    with_one = BypassRegressor(PassiveAggressive()).fit(X, Y)
    assert [*with_one.coef_, with_one.intercept_] == without.coef_.tolist()


def test_it_is_the_last_step_of_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), BypassRegressor(EvidenceBypass(noise_scale=0.3)))
    pipeline.fit(X[:200], Y[:200])
    assert pipeline.score(X[200:], Y[200:]) > 0.95
    mean, sd = pipeline.predict(X[200:], return_std=True)
    assert mean.shape == sd.shape == (100,)


def test_a_grid_search_over_models_and_hyperparameters() -> None:
    grid = [
        {"model": [PassiveAggressive(), PassiveAggressive("PA-II")], "model__C": [0.01, 1.0]},
        {"model": [EvidenceBypass()], "model__noise_scale": [0.3, 3.0]},
    ]
    search = GridSearchCV(BypassRegressor(), grid, cv=TimeSeriesSplit(3)).fit(X, Y)
    assert search.best_params_["model__noise_scale"] == 0.3
    assert search.best_estimator_.model_.hyperparameters["noise_scale"] == 0.3
    assert search.best_estimator_.predict(X[:1]).shape == (1,)


def test_folds_in_the_order_of_time_score_well() -> None:
    assert min(cross_val_score(AutoBypassRegressor(), X, Y, cv=TimeSeriesSplit(4))) > 0.9


def test_a_transformed_target() -> None:
    regressor = TransformedTargetRegressor(AutoBypassRegressor(), func=np.log, inverse_func=np.exp)
    assert regressor.fit(X, np.exp(Y)).score(X, np.exp(Y)) > 0.5


@pytest.mark.parametrize("regressor", [AutoBypassRegressor(), BypassRegressor(AdaBypass())], ids=repr)
def test_what_was_learned_survives_pickle_and_joblib(regressor: Any, tmp_path: Path) -> None:
    regressor = clone(regressor).fit(X[:200], Y[:200])
    joblib.dump(regressor, tmp_path / "model")
    twins = [pickle.loads(pickle.dumps(regressor)), joblib.load(tmp_path / "model")]
    for each in (regressor, *twins):
        each.partial_fit(X[200:], Y[200:])
    assert {tuple(each.predict(X[:5])) for each in (regressor, *twins)} == {tuple(regressor.predict(X[:5]))}


def test_names_of_columns_are_kept_and_checked() -> None:
    frame = pd.DataFrame(X, columns=["sun", "wind", "rain"])
    regressor = AutoBypassRegressor().fit(frame, pd.Series(Y))
    assert regressor.feature_names_in_.tolist() == ["sun", "wind", "rain"]
    assert regressor.predict(frame).tolist() == AutoBypassRegressor().fit(X, Y).predict(X).tolist()
    with pytest.raises(ValueError, match="feature names"):
        regressor.predict(frame[["wind", "sun", "rain"]])


def test_lags_have_names_and_come_as_frames() -> None:
    frame = pd.DataFrame({"load": [1.0, 2.0, 3.0, 4.0], "sun": [5.0, 6.0, 7.0, 8.0]})
    lags = LagTransformer([2, 1], fill_value=-1.0).set_output(transform="pandas")
    table = lags.fit_transform(frame)
    assert table.columns.tolist() == ["load_lag1", "sun_lag1", "load_lag2", "sun_lag2"]
    assert table["load_lag1"].tolist() == [-1.0, 1.0, 2.0, 3.0]
    assert table["sun_lag2"].tolist() == [-1.0, -1.0, 5.0, 6.0]
    assert LagTransformer([2, 1], fill_value=-1.0).fit(frame.to_numpy()).get_feature_names_out().tolist() == [
        "x0_lag1", "x1_lag1", "x0_lag2", "x1_lag2",
    ]  # fmt: skip


def test_lags_go_on_after_the_rows_that_were_fitted() -> None:
    series = np.arange(10.0)[:, None]
    lags = LagTransformer(3, follows_fit=True).fit(series[:7])
    whole = LagTransformer(3).fit_transform(series)
    assert lags.transform(series[7:]).tolist() == whole[7:].tolist()
    short = LagTransformer(3, follows_fit=True, fill_value=np.nan).fit(series[:2])
    np.testing.assert_array_equal(short.transform(series[2:3]), [[1.0, 0.0, np.nan]])


@pytest.mark.parametrize("lags", [0, -1, [], [-1], 1.5, "two", [1, 0.5], None])
def test_lags_that_are_none_are_refused(lags: Any) -> None:
    with pytest.raises(ParameterError, match="lags"):
        LagTransformer(lags).fit(X)


def test_lags_and_a_regressor_forecast_a_series() -> None:
    minima = load_dataset("nile").y
    pipeline = make_pipeline(LagTransformer(2, follows_fit=True), AutoBypassRegressor())
    pipeline.fit(minima[:, None], minima)
    assert 10.5 < pipeline.predict([[np.nan]])[0] < 12.0
