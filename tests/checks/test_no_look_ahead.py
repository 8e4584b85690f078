"""No forecast depends on what came after it: of every function that makes one, and of every kind of forecaster."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass import (
    AutoBypass,
    Baseline,
    Drift,
    Forecaster,
    Naive,
    Panel,
    SeasonalNaive,
    Stream,
    compare,
    evaluate,
    forecast,
)
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


@pytest.mark.filterwarnings("ignore:.*outside the support")
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


def of_frame(y: np.ndarray, x: np.ndarray, at: int, **options: Any) -> list[np.ndarray]:
    """Return the forecasts, made before `at`, of a frame with dates, of which every 13th row is absent."""
    frame = pd.DataFrame({"day": DAYS, "y": y, "x": x})[T % 13 != 12]
    result = evaluate(frame, horizon=HORIZON, every=2, skip=5, time="day", exog="x", **options)
    return of_evaluation(result, at)


@pytest.mark.filterwarnings("ignore:.*rows are absent")
@pytest.mark.parametrize("make", [Forecaster, lambda: Forecaster(lags=2)], ids=["automatic", "lags"])
@pytest.mark.parametrize("missing", [None, "last", "mean"])
@settings(max_examples=2, deadline=None)
@given(at=AT, seed=SEED)
def test_calendars_and_filled_exogenous_values(
    make: Callable[[], Forecaster], missing: Any, at: int, seed: int
) -> None:
    """Exogenous values are taken as known at the targets; what is filled comes from before."""
    pytest.importorskip("holidays")
    y, x, calendar = series(seed), X[:, 0].copy(), ["week", "year", "holidays:DE"]
    x[T % 7 == 3] = x[T % 7 == 3] if missing is None else np.nan
    later = np.where(at + HORIZON > T, x, 50.0 - x)
    one = of_frame(y, x, at, forecaster=make(), missing=missing, calendar=calendar)
    other = of_frame(changed(y, at, seed), later, at, forecaster=make(), missing=missing, calendar=calendar)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("make", [Forecaster, lambda: Forecaster(lags=2)], ids=["automatic", "lags"])
@settings(max_examples=2, deadline=None)
@given(at=AT, seed=SEED)
def test_updates_paths_and_streams_of_python(make: Callable[[], Forecaster], at: int, seed: int) -> None:
    y, pair = series(seed), []
    for each in (y, changed(y, at, seed)):
        panel = Panel(make())
        panel.update(["a"] * at + ["b"] * N, np.concatenate([each[:at], each]))
        before = panel.predict(["a"])
        trace = panel.step(["a"] * (N - at), each[at:])
        single = make()
        single.learn(each[:at])
        paths = single.forecast(HORIZON, method="paths", n_paths=20, rng=1).paths
        with Stream(None, make(), fields=["mean", "interval"], horizon=HORIZON) as opened:
            answers = opened.learn([{"y": value} for value in each.tolist()])
        told = [answer.to_dict() for answer in answers[: at + 1]]
        ahead = [row.pop("forecast") for row in told[:at]]
        for row in told[at:]:
            del row["forecast"], row["y"]
        pair.append((np.array([before.mean[0], before.var[0], trace.mean[0]]), paths, told, ahead))
    for one, other in zip(*pair, strict=True):
        np.testing.assert_equal(one, other)


@settings(max_examples=2, deadline=None)
@given(at=AT, seed=SEED)
def test_adapters(at: int, seed: int) -> None:
    """Those whose answers lie within the series that they were given; sktime's are all about what comes after it."""
    statsforecast = pytest.importorskip("adabypass.adapters.statsforecast")
    river = pytest.importorskip("adabypass.adapters.river")
    y, pair = series(seed), []
    for each in (y, changed(y, at, seed)):
        fitted = statsforecast.AutoBypass().fit(each).predict_in_sample()["fitted"]
        beside = statsforecast.AutoBypass().forecast(each, HORIZON, level=[90], fitted=True)
        forecaster, told = river.AutoBypassForecaster(), list[list[float]]()
        for value in each[: at + 1].tolist():
            told.append(forecaster.forecast(1) if told else [0.0])
            forecaster.learn_one(value)
        names = [name for name in beside if name.startswith("fitted")]
        assert len(names) == 3
        pair.append([fitted[: at + 1], *(beside[name][: at + 1] for name in names), told[1:]])
    for one, other in zip(*pair, strict=True):
        np.testing.assert_array_equal(one, other)
