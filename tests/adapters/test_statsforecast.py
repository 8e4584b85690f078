"""AutoBypass is a model of statsforecast, and its numbers are the forecaster's; most tests do without it."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adabypass import Forecaster
from adabypass.adapters.statsforecast import AutoBypass
from adabypass.errors import NotReadyError, ParameterError
from tests.hourly import PAST, rmse

RNG = np.random.default_rng(0)
N, SEASON = 96, 12
T = np.arange(N)
Y = 100 + T + 10 * np.sin(2 * np.pi * T / SEASON) + RNG.normal(size=N)
X = RNG.normal(size=(N + 6, 2))


def forecaster() -> Forecaster:
    return Forecaster(lags=2, seasonal_lags=[SEASON])


def model() -> AutoBypass:
    return AutoBypass(SEASON, lags=2)


def as_lists(columns: Any) -> dict[str, list[float]]:
    return {name: values.tolist() for name, values in columns.items()}


def test_by_itself_it_is_the_automatic_forecaster() -> None:
    own = Forecaster()
    own.learn(Y)
    for given, period in ((AutoBypass(), own.period), (AutoBypass(1), ()), (AutoBypass(SEASON), (SEASON,))):
        fitted = given.fit(Y)
        assert fitted.forecaster_ is not None
        assert fitted.forecaster_.period == period
    assert AutoBypass().fit(Y).predict(5)["mean"].tolist() == own.forecast(5).mean.tolist()


def test_a_day_is_found_and_forecast_as_by_the_forecaster() -> None:
    own = Forecaster()
    own.learn(PAST)
    fitted = AutoBypass().fit(PAST)
    assert fitted.forecaster_ is not None
    assert fitted.forecaster_.period == own.period == (24,)
    means = fitted.predict(24)["mean"]
    assert means.tolist() == own.forecast(24).mean.tolist()
    assert rmse(means) < 3.0


@pytest.mark.parametrize("is_exog", [False, True])
def test_numbers_equal_those_of_the_forecaster(is_exog: bool) -> None:
    known, future = (X[:N], X[N:]) if is_exog else (None, None)
    own = forecaster()
    trace = own.run(Y, known)
    expected = own.forecast(6, future)
    columns = model().fit(Y, known).predict(6, future, level=[95, 80])
    assert list(columns) == ["mean", "lo-95", "lo-80", "hi-80", "hi-95"]
    assert columns["mean"].tolist() == expected.mean.tolist()
    for level in (80, 95):
        low, high = expected.interval(level / 100)
        assert (columns[f"lo-{level}"].tolist(), columns[f"hi-{level}"].tolist()) == (low.tolist(), high.tolist())
    at_once = model().forecast(Y, 6, known, future, level=[80, 95], fitted=True)
    assert all(at_once[name].tolist() == columns[name].tolist() for name in columns)
    np.testing.assert_array_equal(at_once["fitted"][SEASON:], trace.mean)
    np.testing.assert_array_equal(at_once["fitted-lo-80"][SEASON:], trace.predictive.interval(0.8)[0])
    assert np.isnan(at_once["fitted"][:SEASON]).all()
    in_sample = model().fit(Y, known).predict_in_sample()["fitted"]
    np.testing.assert_array_equal(in_sample, at_once["fitted"])


@pytest.mark.parametrize("is_exog", [False, True])
def test_going_forward_equals_fitting_anew_and_leaves_the_model(is_exog: bool) -> None:
    known, future = (X[:N], X[N:]) if is_exog else (None, None)
    fitted = model().fit(Y[:60], None if known is None else known[:60])
    before = as_lists(fitted.predict(2, None if known is None else known[60:62]))
    ahead = fitted.forward(Y, 6, known, future, level=[90])
    assert as_lists(ahead) == as_lists(model().forecast(Y, 6, known, future, level=[90]))
    assert as_lists(fitted.predict(2, None if known is None else known[60:62])) == before
    other = fitted.forward(Y + 1, 6, known, future)
    assert as_lists(other) == as_lists(model().forecast(Y + 1, 6, known, future))
    assert "fitted" in fitted.forward(Y, 6, known, future, fitted=True)


def test_gaps_are_forecast_over() -> None:
    gaps = np.where(np.arange(N) % 9 == 4, np.nan, Y)
    fitted = model().fit(gaps[:70])
    assert as_lists(fitted.forward(gaps, 3)) == as_lists(model().forecast(gaps, 3))


def test_a_new_model_is_fitted_apart() -> None:
    first = model()
    second = first.new().fit(Y)
    assert repr(second) == repr(AutoBypass()) == "AutoBypass"
    assert first.forecaster_ is None
    calls: list[Callable[[], object]] = [lambda: first.predict(1), first.predict_in_sample, lambda: first.forward(Y, 1)]
    for call in calls:
        with pytest.raises(NotReadyError, match="call fit first"):
            call()


def test_intervals_that_the_model_cannot_give_are_refused() -> None:
    fitted = model().fit(Y)
    with pytest.raises(ParameterError, match="fitted=True"):
        fitted.predict_in_sample(level=[90])
    fitted.prediction_intervals = "conformal"
    assert list(fitted.predict(1)) == ["mean"]
    with pytest.raises(ParameterError, match="prediction_intervals is 'conformal', but AutoBypass has a distribution"):
        fitted.predict(1, level=[90])


def test_nothing_of_statsforecast_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsforecast", None)
    assert model().fit(Y).predict(1)["mean"].shape == (1,)


@pytest.fixture
def statsforecast() -> Any:
    return pytest.importorskip("statsforecast", reason="statsforecast is not installed; `make test-hosts` tests it")


@pytest.fixture
def frame() -> Any:
    days = pd.date_range("2020-01-01", periods=N, freq="MS")
    parts = [pd.DataFrame({"unique_id": name, "ds": days, "y": scale * Y}) for name, scale in (("a", 1.0), ("b", 5.0))]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.filterwarnings("ignore")  # of pandas, about what statsforecast does
def test_it_runs_beside_statsforecast_s_own_models(statsforecast: Any, frame: Any) -> None:
    from statsforecast.models import SeasonalNaive  # noqa: PLC0415

    both = statsforecast.StatsForecast(models=[model(), SeasonalNaive(SEASON)], freq="MS")
    ahead = both.forecast(df=frame, h=6, level=[90], fitted=True)
    expected = model().forecast(Y, 6, level=[90])
    first = ahead[ahead["unique_id"] == "a"]
    assert first["AutoBypass"].tolist() == expected["mean"].tolist()
    assert first["AutoBypass-lo-90"].tolist() == expected["lo-90"].tolist()
    assert "AutoBypass-hi-90" in both.forecast_fitted_values().columns
    both.fit(frame)
    pd.testing.assert_frame_equal(both.predict(h=6, level=[90]), ahead)


@pytest.mark.filterwarnings("ignore")
def test_cross_validation_without_a_refit_gives_the_same_numbers(statsforecast: Any, frame: Any) -> None:
    alone = statsforecast.StatsForecast(models=[model()], freq="MS")
    anew, forward = (alone.cross_validation(df=frame, h=3, n_windows=8, level=[90], refit=r) for r in (True, False))
    pd.testing.assert_frame_equal(anew, forward)
    errors = (anew["y"] - anew["AutoBypass"]).abs()
    assert errors[anew["unique_id"] == "a"].mean() < 3.0
    assert len(anew) == 2 * 8 * 3


@pytest.mark.filterwarnings("ignore")
def test_exogenous_columns_are_used(statsforecast: Any, frame: Any) -> None:
    frame["sun"] = np.tile(X[:N, 0], 2)
    frame["y"] += 20 * frame["sun"]
    future = pd.DataFrame({"unique_id": ["a", "b"], "ds": pd.Timestamp("2028-01-01"), "sun": [3.0, 3.0]})
    alone = statsforecast.StatsForecast(models=[model()], freq="MS")
    means = [
        alone.forecast(df=frame, h=1, X_df=future.assign(sun=value))["AutoBypass"].to_numpy() for value in (0.0, 3.0)
    ]
    assert means[1] - means[0] == pytest.approx([60.0, 60.0], rel=0.2)
