"""skpro's own checks pass, and the numbers are those of AutoBypass."""

import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from pytest import approx

pytest.importorskip("skpro", reason="skpro is not installed; `make test-hosts` tests it")

import pandas as pd
from skpro.metrics import CRPS
from skpro.utils import check_estimator

from adabypass import AutoBypass, Mixture, Normal
from adabypass.adapters.skpro import AutoBypassRegressor, PredictiveDistribution
from adabypass.errors import MissingExtraError
from tests.mixtures import insensitive

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(120, 3)), columns=["sun", "wind", "rain"])
Y = pd.DataFrame({"load": 5.0 + X.to_numpy() @ [1.0, -2.0, 0.5] + 0.3 * RNG.normal(size=120)})

pytestmark = pytest.mark.filterwarnings("ignore")  # of skpro and pandas, about each other


@pytest.mark.parametrize("kind", [AutoBypassRegressor, PredictiveDistribution])
def test_it_passes_skpro_s_checks(kind: Any) -> None:
    results = check_estimator(kind, verbose=False)
    assert len(results) > 50
    assert {name: result for name, result in results.items() if result != "PASSED"} == {}


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_numbers_equal_those_of_auto_bypass(fit_intercept: bool) -> None:
    model = AutoBypass(intercept=fit_intercept)
    model.run(X[:100].to_numpy(), Y["load"][:100])
    forecasts = [model.predict(x) for x in X[100:].to_numpy()]
    regressor = AutoBypassRegressor(fit_intercept).fit(X[:60], Y[:60]).update(X[60:100], Y[60:100])
    assert regressor.predict(X[100:])["load"].tolist() == [forecast.mean for forecast in forecasts]
    assert regressor.predict_var(X[100:])["load"].tolist() == [forecast.var for forecast in forecasts]
    quantiles = regressor.predict_quantiles(X[100:], alpha=[0.1, 0.9])
    assert quantiles.to_numpy().tolist() == [[each.quantile(0.1), each.quantile(0.9)] for each in forecasts]
    interval = regressor.predict_interval(X[100:], coverage=0.9)
    assert interval.to_numpy() == approx(np.array([each.interval(0.9) for each in forecasts]), rel=1e-12)
    distribution = regressor.predict_proba(X[100:])
    density = distribution.log_pdf(Y[100:])["load"]
    assert density.tolist() == approx([f.logpdf(y) for f, y in zip(forecasts, Y["load"][100:], strict=True)])
    assert distribution.index.tolist() == X.index[100:].tolist()


@pytest.mark.parametrize(
    "predictive",
    [
        Normal(np.array([0.0, 10.0]), np.array([1.0, 4.0])),
        Mixture.of(weight=[[0.2, 0.8]] * 2, mean=[[0.0, 1.0], [5.0, -3.0]], signal_var=2.0),
        insensitive(np.array([0.0, 3.0]), np.array([0.1, 1.0]), 0.5, 1.25),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_distribution_has_the_forecasts_numbers(predictive: Any) -> None:
    distribution, y = PredictiveDistribution(predictive), np.array([0.3, -1.0])
    table = pd.DataFrame(y)
    for ours, theirs in (("cdf", "cdf"), ("pdf", "pdf"), ("logpdf", "log_pdf")):
        assert getattr(distribution, theirs)(table)[0].tolist() == getattr(predictive, ours)(y).tolist()
    assert CRPS().evaluate_by_index(table, distribution).to_numpy().ravel() == approx(predictive.crps(y), rel=1e-9)
    draws = predictive.sample(np.random.default_rng(0), 200_000)
    distance = np.abs(draws[:100_000] - draws[100_000:]).mean(axis=0)
    assert distribution.energy()["energy"].to_numpy() == approx(distance, rel=0.02)
    assert distribution.iloc[[1]].mean().to_numpy() == approx(predictive.mean[1:, None])
    assert distribution.iat[1, 0].ppf(0.3) == predictive[1].quantile(0.3)


def test_where_nothing_is_known_the_mean_is_0() -> None:
    regressor = AutoBypassRegressor().fit(X[:2], 0.0 * Y[:2])
    assert regressor.predict(X[2:3])["load"].tolist() == [0.0]


def test_without_skpro_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "adabypass.adapters.skpro")
    monkeypatch.setitem(sys.modules, "skpro.distributions.base", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'adabypass\[skpro\]'"):
        import_module("adabypass.adapters.skpro")
