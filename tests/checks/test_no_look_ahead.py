"""No forecast depends on what came after it: of every function that makes one, and of every kind of forecaster."""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass import AutoBypass, Baseline, Drift, Forecaster, Naive, Panel, SeasonalNaive, compare, evaluate, forecast
from tests.cli.in_process import stream

N, HORIZON = 90, 3
T = np.arange(N)
X = np.random.default_rng(1).normal(size=(N, 1))
DAYS = np.datetime64("2023-01-01") + T
MAKERS: dict[str, Callable[[], Forecaster | Baseline]] = {
    "Forecaster()": Forecaster,
    "a period": lambda: Forecaster(period=7),
    "two periods": lambda: Forecaster(period=[7, 30.5]),
    "positive": lambda: Forecaster(support="positive"),
    "lags": lambda: Forecaster(lags=2),
    "seasonal lags": lambda: Forecaster(lags=1, seasonal_lags=(7,), difference=1),
    "Naive": Naive,
    "Drift": Drift,
    "SeasonalNaive": lambda: SeasonalNaive(7),
}
WITH_EXOG: dict[str, Callable[[], Forecaster]] = {"Forecaster()": Forecaster, "lags": lambda: Forecaster(lags=2)}


def series(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    y: np.ndarray = 30.0 + 4.0 * np.sin(2 * np.pi * T / 7) + rng.normal(size=N).cumsum() + rng.normal(size=N)
    y[rng.integers(10, N, size=4)] = np.nan
    return y


def changed(y: np.ndarray, at: int, seed: int) -> np.ndarray:
    """Return the series with other values from `at` on, some missing, of another season and another size."""
    rng = np.random.default_rng(seed + 1)
    other = 1000.0 * np.cos(2 * np.pi * T / 5) + rng.normal(size=N)
    return np.where(at > T, y, np.where(rng.uniform(size=N) < 0.1, np.nan, other))


def of_evaluation(result: object, at: int) -> list[np.ndarray]:
    """Return mean and quantiles of the forecasts that were made before `at`, at each step."""
    found = []
    for step in range(1, HORIZON + 1):
        n = int(np.sum(result.origins < at))  # type: ignore[attr-defined]
        trace = result.trace(step)  # type: ignore[attr-defined]
        found += [trace.mean[:n], trace.predictive.quantile(0.9)[:n]]
    return found


def forecasts(make: Callable[[], Forecaster | Baseline], y: np.ndarray, at: int, x: np.ndarray | None) -> list[object]:
    """Return every forecast of times up to `at` that knows the values before it alone."""
    trace = make().run(y) if x is None else make().run(y, x)
    n = at - trace.first + 1
    found: list[object] = [trace.mean[:n], trace.sd[:n], trace.predictive.quantile(0.1)[:n]]
    single, steps = make(), []
    for i, value in enumerate(y[: at + 1]):
        known = () if x is None else (x[i],)
        before = single.step(value, *known)
        steps.append(np.nan if before is None else before.mean)
    found.append(np.array(steps))
    ahead = make()
    if x is None:
        ahead.run(y[:at])
    else:
        ahead.run(y[:at], x[:at])
    found.append((ahead.forecast(HORIZON) if x is None else ahead.forecast(HORIZON, x[at : at + HORIZON])).mean)
    return found


AT = st.integers(25, N - HORIZON - 1)
SEED = st.integers(0, 1000)


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=3, deadline=None)
@given(at=AT, seed=SEED)
def test_a_series(name: str, at: int, seed: int) -> None:
    y = series(seed)
    pair = [forecasts(MAKERS[name], each, at, None) for each in (y, changed(y, at, seed))]
    for one, other in zip(*pair, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", WITH_EXOG)
@settings(max_examples=3, deadline=None)
@given(at=AT, seed=SEED)
def test_a_series_with_exogenous_columns(name: str, at: int, seed: int) -> None:
    y = series(seed)
    pair = [forecasts(WITH_EXOG[name], each, at, X) for each in (y, changed(y, at, seed))]
    for one, other in zip(*pair, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=2, deadline=None)
@given(at=AT, seed=SEED)
def test_evaluate_and_compare(name: str, at: int, seed: int) -> None:
    y, pair = series(seed), []
    for each in (y, changed(y, at, seed)):
        beside = compare(each, {"it": MAKERS[name]()}, horizon=HORIZON, every=2, skip=5, baselines=False)
        frame = pd.DataFrame({"day": DAYS, "y": each})
        pair.append(
            of_evaluation(evaluate(each, MAKERS[name](), horizon=HORIZON, every=1, skip=5), at)
            + of_evaluation(evaluate(frame, MAKERS[name](), time="day", horizon=HORIZON, every=3, skip=5), at)
            + of_evaluation(beside.evaluations["it"], at)
        )
    for one, other in zip(*pair, strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=3, deadline=None)
@given(at=AT, seed=SEED)
def test_panels_and_streams(at: int, seed: int) -> None:
    y, pair = series(seed), []
    for each in (y, changed(y, at, seed)):
        panel, light = Panel().run(np.stack([each, y])), Panel(Forecaster(lags=1)).run(each[None])
        assert panel is not None
        assert light is not None
        rows = "".join(f"{value!r}\n" if np.isfinite(value) else "nan\n" for value in each.tolist())
        done = stream("--fields", "mean", given="y\n" + rows)
        answers = [json.loads(line)["mean"] for line in done.out.splitlines()]
        assert len(answers) > at
        pair.append([panel.mean[0, : at + 1], panel.mean[1], light.mean[0, : at + 1], answers[: at + 1]])
    for one, other in zip(*pair, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_value_is_learned_once_it_came() -> None:
    """The forecasts that the tests above compare do follow the data."""
    y = series(0)
    one, other = (forecast(each, HORIZON)["mean"] for each in (y, changed(y, 60, 0)))
    assert not np.isclose(one, other).any()


def test_a_regressor() -> None:
    y = np.nan_to_num(series(3), nan=30.0)
    one, other = (AutoBypass().run(X, each) for each in (y, np.where(T < 50, y, -9e3)))
    n = 50 - one.first + 1
    np.testing.assert_array_equal(one.mean[:n], other.mean[:n])
    assert (one.mean[n:] != other.mean[n:]).all()
