"""scikit-learn's own checks pass, and the numbers are those of the models."""

import sys
from importlib import import_module
from typing import Any, get_args

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("sklearn", reason="scikit-learn is not installed; pip install 'adabypass[sklearn]'")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from adabypass import AutoBypass, PassiveAggressive
from adabypass.adapters.named_models import ModelName, new_model
from adabypass.adapters.sklearn import AutoBypassRegressor, BypassRegressor, LagTransformer
from adabypass.errors import MissingExtraError, ParameterError, PointForecastError

NAMES: tuple[ModelName, ...] = get_args(ModelName)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = 5.0 + X @ [1.0, -2.0, 0.5] + 0.3 * RNG.normal(size=120)
AHEAD = RNG.normal(size=(7, 3))

REGRESSORS = [
    *(AutoBypassRegressor(fit_intercept=fit_intercept) for fit_intercept in (True, False)),
    *(BypassRegressor(name, fit_intercept=fit_intercept) for name in NAMES for fit_intercept in (True, False)),
]
LAGS = [LagTransformer(), LagTransformer([0, 2], fill_value=0.0), LagTransformer(3, follows_fit=True)]

IN_ORDER = "a lag is of the row before: rows in another order, or some of them alone, have other lags"
FOLLOWS = "transform goes on where fit ended, so that it differs from fit_transform of the same rows"


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return what an estimator whose rows depend on each other cannot pass, with the reason."""
    if not isinstance(estimator, LagTransformer):
        return {}
    failures = dict.fromkeys(("check_methods_sample_order_invariance", "check_methods_subset_invariance"), IN_ORDER)
    if estimator.follows_fit:
        failures |= dict.fromkeys(("check_transformer_data_not_an_array", "check_transformer_general"), FOLLOWS)
    return failures


@pytest.mark.filterwarnings("ignore")  # of scikit-learn's checks, about themselves
@parametrize_with_checks([*REGRESSORS, *LAGS], expected_failed_checks=expected_failures)
def test_it_passes_scikit_learn_s_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("estimator", LAGS, ids=repr)
def test_only_checks_that_fail_are_declared_to_fail(estimator: Any) -> None:
    from sklearn.utils.estimator_checks import estimator_checks_generator  # noqa: PLC0415

    declared, failed = expected_failures(estimator), set()
    for each, check in estimator_checks_generator(estimator, legacy=True):
        if check.func.__name__ in declared:
            try:
                check(each)
            except AssertionError:
                failed.add(check.func.__name__)
    assert failed == set(declared)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_numbers_equal_those_of_the_model(name: Any, fit_intercept: bool) -> None:
    def features(rows: Any) -> Any:
        return np.column_stack([rows, np.ones(len(rows))]) if fit_intercept else rows

    model = new_model(name)
    model.run(features(X), Y)
    regressor = BypassRegressor(name, fit_intercept=fit_intercept).fit(X, Y)
    forecasts = [model.predict(x) for x in features(AHEAD)]
    assert regressor.predict(AHEAD).tolist() == [forecast.mean for forecast in forecasts]
    assert [*regressor.coef_, *([regressor.intercept_] if fit_intercept else [])] == model.weights.mean.tolist()
    if model.is_point:
        with pytest.raises(PointForecastError):
            regressor.predict_interval(AHEAD)
        return
    means, sds = regressor.predict(AHEAD, return_std=True)
    assert means.tolist() == [forecast.mean for forecast in forecasts]
    assert sds.tolist() == [forecast.sd for forecast in forecasts]
    assert regressor.predict_interval(AHEAD, 0.8).tolist() == [list(forecast.interval(0.8)) for forecast in forecasts]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_numbers_equal_those_of_auto_bypass(fit_intercept: bool) -> None:
    model = AutoBypass(intercept=fit_intercept)
    model.run(X, Y)
    regressor = AutoBypassRegressor(fit_intercept=fit_intercept).fit(X, Y)
    forecasts = [model.predict(x) for x in AHEAD]
    assert regressor.predict(AHEAD).tolist() == [forecast.mean for forecast in forecasts]
    assert regressor.predict_distribution(AHEAD).mean.tolist() == [forecast.mean for forecast in forecasts]
    assert regressor.predict_interval(AHEAD).tolist() == [list(forecast.interval(0.9)) for forecast in forecasts]
    quantiles = [[forecast.quantile(q) for q in (0.1, 0.6)] for forecast in forecasts]
    assert regressor.predict_quantiles(AHEAD, [0.1, 0.6]).tolist() == quantiles
    assert regressor.coef_.tolist() == model.weights.mean.tolist()
    assert regressor.intercept_ == model.intercept


@pytest.mark.parametrize("regressor", REGRESSORS, ids=repr)
def test_learning_in_parts_equals_learning_at_once(regressor: Any) -> None:
    at_once, in_parts = clone(regressor).fit(X, Y), clone(regressor)
    for start in range(0, len(X), 50):
        in_parts.partial_fit(X[start : start + 50], Y[start : start + 50])
    assert in_parts.predict(AHEAD).tolist() == at_once.predict(AHEAD).tolist()


@pytest.mark.parametrize("regressor", REGRESSORS[:4], ids=repr)
def test_sparse_rows_equal_dense_ones(regressor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adabypass.adapters.sklearn.CHUNK", 50)  # more than one part
    dense = np.where(np.abs(X) > 1, X, 0.0)
    fitted, other = clone(regressor).fit(dense, Y), clone(regressor).fit(sparse.csc_matrix(dense), Y)
    assert fitted.predict(dense).tolist() == other.predict(sparse.coo_array(dense)).tolist()


def test_a_refused_row_leaves_what_was_learned() -> None:
    regressor = AutoBypassRegressor().fit(X, Y)
    before = regressor.predict(AHEAD)
    with pytest.raises(ValueError, match="NaN"):
        regressor.partial_fit([[1.0, np.nan, 2.0]], [1.0])
    with pytest.raises(ValueError, match="2 features"):
        regressor.partial_fit([[1.0, 2.0]], [1.0])
    assert regressor.predict(AHEAD).tolist() == before.tolist()


def test_where_nothing_is_known_the_mean_is_0_and_the_deviation_infinite() -> None:
    regressor = AutoBypassRegressor().fit([[1.0], [2.0]], [0.0, 0.0])
    mean, sd = regressor.predict([[3.0]], return_std=True)
    assert (mean[0], sd[0]) == (0.0, np.inf)
    assert regressor.predict([[3.0]]).tolist() == [0.0]


def test_before_fit_it_says_so() -> None:
    for method in ("predict", "predict_interval", "predict_quantiles", "predict_distribution"):
        with pytest.raises(NotFittedError):
            getattr(AutoBypassRegressor(), method)(AHEAD)


def test_a_hyperparameter_of_another_model_is_refused_by_name() -> None:
    with pytest.raises(ParameterError, match=r"'pa1' has no hyperparameter 'drift'; it has C, epsilon"):
        BypassRegressor("pa1", drift=0.1).fit(X, Y)
    with pytest.raises(ParameterError, match="model is 'nonsense', but must be one of 'ada', 'bypass'"):
        BypassRegressor("nonsense").fit(X, Y)  # type: ignore[arg-type]


def test_hyperparameters_reach_the_model() -> None:
    regressor = BypassRegressor("pa2", C=0.3, epsilon=0.2).fit(X, Y)
    assert isinstance(regressor.model_, PassiveAggressive)
    assert regressor.model_.hyperparameters == {"variant": "PA-II", "C": 0.3, "epsilon": 0.2}


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "adabypass.adapters.sklearn")
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'adabypass\[sklearn\]'"):
        import_module("adabypass.adapters.sklearn")
