"""sktime's own checks pass, and the numbers are those of the forecaster."""

import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sktime", reason="sktime is not installed; `make test-hosts` tests it")

import pandas as pd
from sktime.forecasting.model_evaluation import evaluate
from sktime.split import ExpandingWindowSplitter
from sktime.utils.estimator_checks import check_estimator

from adabypass import Forecaster
from adabypass.adapters.sktime import AutoBypassForecaster
from adabypass.errors import MissingExtraError, ParameterError
from tests.hourly import PAST, rmse

RNG = np.random.default_rng(0)
N = 120
MONTHS = pd.period_range("2010-01", periods=N + 6, freq="M")
T = np.arange(N)
Y = pd.Series(100 + T + 10 * np.sin(2 * np.pi * T / 12) + RNG.normal(size=N), index=MONTHS[:N], name="sold")
X = pd.DataFrame(RNG.normal(size=(N + 6, 2)), columns=["sun", "rain"], index=MONTHS)

pytestmark = pytest.mark.filterwarnings("ignore")  # of sktime and pandas, about each other


def test_it_passes_sktime_s_checks() -> None:
    """On the class, and on every set of its parameters."""
    results = check_estimator(AutoBypassForecaster, verbose=False)
    assert len(results) > 1000
    assert {name: result for name, result in results.items() if result != "PASSED"} == {}


def test_a_day_is_found_and_forecast_as_by_the_forecaster() -> None:
    own = Forecaster()
    own.learn(PAST)
    forecaster = AutoBypassForecaster()
    forecaster.fit(pd.Series(PAST[:900]))
    forecaster.update(pd.Series(PAST[900:], index=range(900, 1200)))
    means = forecaster.predict(list(range(1, 25)))
    assert forecaster.forecaster_.period == own.period == (24,)
    assert means.tolist() == own.forecast(24).mean.tolist()
    assert rmse(means) < 3.0


@pytest.mark.parametrize("is_exog", [False, True])
def test_numbers_equal_those_of_the_forecaster_also_after_updates(is_exog: bool) -> None:
    known, future = (X[:N], X[N:]) if is_exog else (None, None)
    own = Forecaster(lags=2, seasonal_lags=[12])
    own.run(Y, known)
    expected = own.forecast(6, future)
    forecaster = AutoBypassForecaster(sp=12, lags=2)
    forecaster.fit(Y[:80], None if known is None else known[:80])
    forecaster.update(Y[80:90], None if known is None else known[80:90])
    forecaster.update(Y[90:], None if known is None else known[90:], update_params=False)
    fh = [1, 3, 6]
    at = np.array(fh) - 1
    means = forecaster.predict(fh, future)
    assert means.tolist() == expected.mean[at].tolist()
    assert means.index.tolist() == MONTHS[N:][at].tolist()
    assert means.name == "sold"
    assert forecaster.predict_var(fh, future)["sold"].tolist() == expected.var[at].tolist()
    quantiles = forecaster.predict_quantiles(fh, future, alpha=[0.1, 0.9])
    assert quantiles.to_numpy().T.tolist() == expected.quantile(np.array([0.1, 0.9]))[:, at].tolist()
    low, high = expected.interval(0.9)
    interval = forecaster.predict_interval(fh, future, coverage=0.9).to_numpy()
    assert interval == pytest.approx(np.column_stack([low, high])[at], rel=1e-9)


def test_whole_distributions_are_forecast() -> None:
    pytest.importorskip("skpro", reason="skpro is not installed")
    forecaster = AutoBypassForecaster(lags=2).fit(Y)
    distribution = forecaster.predict_proba([1, 2])
    expected = forecaster.forecaster_.forecast(2)
    assert distribution.mean()["sold"].tolist() == expected.mean.tolist()
    assert distribution.ppf(0.9)["sold"].tolist() == expected.quantile(0.9).tolist()


def test_missing_values_are_forecast_over() -> None:
    gaps = Y.where(T % 9 != 4)
    own = Forecaster(period=12)
    own.run(gaps)
    assert AutoBypassForecaster().fit(gaps).predict([1]).tolist() == own.forecast(1).mean.tolist()


def test_the_season_follows_from_dates_or_is_found() -> None:
    numbered = Y.reset_index(drop=True)
    dated, plain = AutoBypassForecaster().fit(Y), AutoBypassForecaster().fit(numbered)
    assert dated.forecaster_.period == plain.forecaster_.period == (12,)
    found = Forecaster()
    found.learn(Y)
    assert plain.predict([1, 2, 12]).tolist() == found.forecast(12).mean[[0, 1, 11]].tolist()
    assert AutoBypassForecaster(sp=1).fit(Y).forecaster_.period == ()


def test_every_step_needs_its_row_of_x() -> None:
    forecaster = AutoBypassForecaster().fit(Y, X[:N])
    with pytest.raises((ParameterError, ValueError), match="X"):
        forecaster.predict([3], X[N + 2 : N + 3])


def test_it_is_evaluated_by_updates_as_by_fits() -> None:
    splitter = ExpandingWindowSplitter(fh=[1, 2, 3], initial_window=90, step_length=5)
    scores = [evaluate(AutoBypassForecaster(sp=12), splitter, Y, strategy=strategy) for strategy in ("refit", "update")]
    columns = [each.filter(like="test_").iloc[:, 0] for each in scores]
    assert columns[0].tolist() == columns[1].tolist()


@pytest.mark.parametrize("is_exog", [False, True])
def test_what_was_learned_is_not_learned_again(is_exog: bool) -> None:
    known, future = (X[:N], X[N:]) if is_exog else (None, None)
    forecaster: Any = AutoBypassForecaster().set_config(remember_data=False)
    forecaster.fit(Y[:80], None if known is None else known[:80])
    forecaster.update(Y, known).update(Y[100:], None if known is None else known[100:])
    anew = AutoBypassForecaster().fit(Y, known)
    assert forecaster.predict([1, 2], future).tolist() == anew.predict([1, 2], future).tolist()


def test_without_sktime_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "adabypass.adapters.sktime")
    monkeypatch.setitem(sys.modules, "sktime.forecasting.base", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'adabypass\[sktime\]'"):
        import_module("adabypass.adapters.sktime")
