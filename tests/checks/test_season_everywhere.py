"""Hourly data without times: wherever they come in, the day is found, and forecast alike; nothing looks ahead."""

import json

import numpy as np
import pytest
from river import time_series

from adabypass import Forecaster, Panel, compare, evaluate, forecast
from adabypass.adapters.river import AutoBypassForecaster
from tests.cli.in_process import stream
from tests.hourly import PAST, T, Y, rmse


@pytest.fixture(scope="module")
def whole() -> Forecaster:
    forecaster = Forecaster()
    forecaster.run(PAST)
    return forecaster


def test_the_day_is_found(whole: Forecaster) -> None:
    told = Forecaster(period=24)
    told.learn(PAST)
    assert whole.period == (24,)
    assert rmse(whole.forecast(24).mean) == rmse(told.forecast(24).mean) < 3.0


def test_one_by_one_and_in_parts_come_to_the_same(whole: Forecaster) -> None:
    single, parts = Forecaster(), Forecaster()
    for value in PAST:
        single.update(value)
    parts.run(PAST[:10])
    parts.learn(PAST[10:700])
    parts.run(PAST[700:], keep_predictive=False)
    assert single.to_bytes() == parts.to_bytes() == whole.to_bytes()


def test_panels_frames_and_river_come_to_the_same(whole: Forecaster) -> None:
    expected = whole.forecast(24).mean
    panel = Panel()
    panel.run(np.stack([PAST, PAST[::-1]]), ids=["a", "b"])
    assert panel["a"].to_bytes() == whole.to_bytes()
    assert np.array_equal(panel.forecast(24, ids=["a"]).mean[0], expected)
    river = AutoBypassForecaster()
    assert isinstance(river, time_series.base.Forecaster)
    for value in PAST:
        river.learn_one(float(value))
    assert river.forecast(24) == expected.tolist()
    assert np.array_equal(forecast(PAST, 24)["mean"], expected)


def test_a_stream_comes_to_the_same() -> None:
    done = stream("--fields", "mean", given="y\n" + "".join(f"{value!r}\n" for value in Y.tolist()))
    answers = [json.loads(line)["mean"] for line in done.out.splitlines()]
    trace = Forecaster().run(Y)
    assert answers[trace.first :] == trace.mean.tolist()


def test_evaluations_come_to_the_same() -> None:
    y = Y[:300]
    result = evaluate(y, Forecaster(), horizon=12, every=7, skip=0)
    beside = compare(y, [Forecaster()], horizon=12, every=7, skip=0, baselines=False)
    framed = evaluate({"y": y}, Forecaster(), horizon=12, every=7, skip=0)
    expected = result.scores(12)["crps"]
    assert beside.lines[0].scores["crps"] == expected
    assert framed.columns()["crps"][11] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("at", [40, 95, 96, 150])
def test_what_comes_later_changes_no_forecast(at: int) -> None:
    """Of any function that makes them: neither a value nor the season that it brings to light."""
    y = Y[:200]
    other = np.where(T[:200] < at, y, 1000.0 * np.sin(2 * np.pi * T[:200] / 7))

    def traces(series: np.ndarray) -> list[np.ndarray]:
        panel = Panel().run(series[None])
        assert panel is not None
        trace = Forecaster().run(series)
        result = evaluate(series, Forecaster(), horizon=3, every=1, skip=0)
        steps = Forecaster()
        singles = [steps.step(value) for value in series]
        return [
            trace.mean[: at - trace.first + 1],
            trace.sd[: at - trace.first + 1],
            np.array([np.nan if each is None else each.mean for each in singles[: at + 1]]),
            panel.mean[0, : at + 1],
            np.stack([result.trace(step).mean[: at - result.origins[0] + 1] for step in (1, 2, 3)]),
        ]

    for one, changed in zip(traces(y), traces(other), strict=True):
        np.testing.assert_array_equal(one, changed)
