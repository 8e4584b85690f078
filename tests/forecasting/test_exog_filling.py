"""Missing exogenous values of steps ahead are filled as `missing` says: the same forecast as of the filled values."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass import Forecaster, Panel, evaluate, forecast
from adabypass.errors import NotFiniteError, ParameterError, TableError
from adabypass.forecasting.exog_filling import fill_ahead

RNG = np.random.default_rng(3)
N = 60
X = np.where(RNG.random((N, 2)) < 0.1, np.nan, RNG.normal(5.0, 2.0, size=(N, 2)))
Y = np.nan_to_num(X) @ [2.0, -1.0] + RNG.normal(size=N)
AHEAD = np.array([[1.0, np.nan], [np.nan, 4.0], [np.nan, np.nan]])
LAST = X[:, 0][~np.isnan(X[:, 0])][-1], X[:, 1][~np.isnan(X[:, 1])][-1]
FILLED: dict[Any, Any] = {
    "last": np.array([[1.0, LAST[1]], [1.0, 4.0], [1.0, 4.0]]),
    "mean": np.where(np.isnan(AHEAD), np.nanmean(X, axis=0), AHEAD),
}
FORECASTERS = {"automatic": lambda **k: Forecaster(period=1, **k), "lags": lambda **k: Forecaster(lags=1, **k)}


@pytest.mark.parametrize("missing", ["last", "mean"])
@pytest.mark.parametrize("name", FORECASTERS)
@pytest.mark.parametrize("method", ["moments", "paths"])
def test_steps_ahead_are_filled_from_the_past(name: str, missing: Any, method: Any) -> None:
    forecaster = FORECASTERS[name](missing=missing)
    forecaster.run(Y, X)
    before = forecaster.to_bytes()
    found = forecaster.forecast(3, AHEAD, method=method, rng=1)
    expected = forecaster.forecast(3, FILLED[missing], method=method, rng=1)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9)  # a running mean rounds otherwise
    assert forecaster.to_bytes() == before


@pytest.mark.parametrize("missing", ["last", "mean"])
def test_a_panel_fills_each_series_from_its_own_past(missing: Any) -> None:
    panel = Panel(Forecaster(lags=1, missing=missing))
    both = np.stack([X, X[::-1] + 3.0])
    panel.run(np.stack([Y, Y[::-1]]), both, ids=["a", "b"])
    found = panel.forecast(3, np.stack([AHEAD, AHEAD]))
    for i, each in enumerate("ab"):
        single = panel[each]
        assert isinstance(single, Forecaster)
        np.testing.assert_array_equal(found.mean[i], single.forecast(3, AHEAD).mean)
    assert np.abs(found.mean).max() < 100


@pytest.mark.parametrize("name", FORECASTERS)
def test_without_a_choice_they_are_refused(name: str) -> None:
    forecaster = FORECASTERS[name]()
    forecaster.run(Y, np.nan_to_num(X))
    with pytest.raises(NotFiniteError, match="exog is missing in row 0, column 1"):
        forecaster.forecast(3, AHEAD)


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("missing", ["last", "mean"])
@pytest.mark.parametrize("name", FORECASTERS)
def test_an_evaluation_many_steps_ahead_fills_them_too(name: str, missing: Any, horizon: int) -> None:
    found = evaluate(Y, FORECASTERS[name](missing=missing), exog=X, horizon=horizon, every=5, skip=2)
    assert np.isfinite(found.columns()["rmse"]).all()


@settings(max_examples=50)
@given(st.lists(st.lists(st.one_of(st.none(), st.floats(-5, 5)), min_size=2, max_size=2), min_size=1, max_size=6))
def test_filled_values_are_known_and_the_others_stay(rows: list[list[float | None]]) -> None:
    given_ahead = np.array(rows, dtype=float)
    for missing in ("last", "mean"):
        filled = fill_ahead(given_ahead, np.array([1.0, 2.0]), np.array([3.0, 4.0]), missing)
        there = ~np.isnan(given_ahead)
        assert np.isfinite(filled).all()
        np.testing.assert_array_equal(filled[there], given_ahead[there])
        assert set(filled[~there]) <= {1.0, 2.0, 3.0, 4.0, *given_ahead[there]}


def frame() -> dict[str, Any]:
    return {"y": [*Y, np.nan, np.nan], "x": [*X[:, 0], 1.0, np.nan]}


@pytest.mark.parametrize("missing", ["last", "mean"])
def test_forecast_takes_the_advice_of_its_own_message(missing: Any) -> None:
    with pytest.raises(TableError, match='choose missing="mean" or missing="last"'):
        forecast(frame(), 2, exog="x")
    found = forecast(frame(), 2, exog="x", missing=missing)
    np.testing.assert_array_equal(found["mean"], forecast(frame(), 2, Forecaster(missing=missing), exog="x")["mean"])
    with pytest.raises(ParameterError, match="missing"):
        forecast(frame(), 2, exog="x", missing="sometimes")  # type: ignore[arg-type]
