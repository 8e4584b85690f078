"""scikit-learn's own checks pass, and the numbers are those of the models."""

import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("sklearn", reason="scikit-learn is not installed; pip install 'adabypass[sklearn]'")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from adabypass import AdaBypass, AutoBypass, Bypass, EvidenceBypass, PassiveAggressive, Regressor, SequentialKalman
from adabypass.adapters.sklearn import AutoBypassRegressor, BypassRegressor, LagTransformer
from adabypass.errors import MissingExtraError, ParameterError, PointForecastError

MODELS: list[Regressor] = [
    AdaBypass(), Bypass(), EvidenceBypass(noise_scale=0.5), SequentialKalman(adapt_noise=True),
    PassiveAggressive("PA"), PassiveAggressive(), PassiveAggressive("PA-II", C=0.1),
]  # fmt: skip
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = 5.0 + X @ [1.0, -2.0, 0.5] + 0.3 * RNG.normal(size=120)
AHEAD = RNG.normal(size=(7, 3))

REGRESSORS = [
    *(AutoBypassRegressor(fit_intercept=fit_intercept) for fit_intercept in (True, False)),
    *(BypassRegressor(model, fit_intercept=fit_intercept) for model in MODELS for fit_intercept in (True, False)),
    BypassRegressor(),
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


@pytest.mark.parametrize("given", MODELS, ids=repr)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_numbers_equal_those_of_the_model(given: Regressor, fit_intercept: bool) -> None:
    def features(rows: Any) -> Any:
        return np.column_stack([rows, np.ones(len(rows))]) if fit_intercept else rows

    model = given.copy()
    model.run(features(X), Y)
    regressor = BypassRegressor(given, fit_intercept=fit_intercept).fit(X, Y)
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


def test_what_is_no_model_is_refused() -> None:
    for wrong in ("ada", 3, AdaBypass):
        with pytest.raises(ParameterError, match="but must be a model such as EvidenceBypass"):
            BypassRegressor(wrong).fit(X, Y)  # type: ignore[arg-type]


def test_hyperparameters_of_the_model_are_parameters() -> None:
    regressor = BypassRegressor(PassiveAggressive("PA-II", C=0.3))
    assert set(regressor.get_params()) == {"model", "fit_intercept", "model__variant", "model__C", "model__epsilon"}
    given = regressor.model
    twin = clone(regressor).set_params(model__C=2.0, fit_intercept=False)
    assert twin.get_params()["model__C"] == 2.0
    assert twin.fit(X, Y).model_.hyperparameters == {"variant": "PA-II", "C": 2.0, "epsilon": 0.1}
    assert regressor.get_params()["model__C"] == 0.3, "the other one keeps its own"
    assert regressor.model is given
    assert twin.set_params(model=EvidenceBypass(), model__drift=0.5).get_params()["model__drift"] == 0.5
    assert BypassRegressor().set_params(model__a=7.0).fit(X, Y).model_.hyperparameters["a"] == 7.0
    with pytest.raises(ParameterError, match=r"PassiveAggressive has no hyperparameter 'drift'; it has variant, C"):
        regressor.set_params(model__drift=0.1)
    with pytest.raises(ValueError, match="Invalid parameter 'drift'"):
        regressor.set_params(drift=0.1)


def test_a_model_that_is_given_learns_nothing() -> None:
    model = EvidenceBypass()
    model.run(X, Y)
    before = model.to_bytes()
    anew = BypassRegressor(model, fit_intercept=False).fit(X[:50], Y[:50])
    assert model.to_bytes() == before
    assert anew.model_.n_seen == 50


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "adabypass.adapters.sklearn")
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'adabypass\[sklearn\]'"):
        import_module("adabypass.adapters.sklearn")
