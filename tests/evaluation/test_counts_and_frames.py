"""An evaluation says how many forecasts it scored and skipped, and becomes a data frame."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pytest import approx

from adabypass import (
    AutoBypass,
    Forecaster,
    Naive,
    PassiveAggressive,
    SeasonalNaive,
    SequentialKalman,
    compare,
    evaluate,
    load_dataset,
)
from adabypass.errors import MissingExtraError, ParameterError, UnknownNameError

NILE = load_dataset("nile").y


def test_every_origin_is_scored_skipped_or_left_out() -> None:
    y = NILE[:200].copy()
    y[[50, 120]] = np.nan
    found = evaluate(y, SequentialKalman(), horizon=3, every=2, skip=5)
    for step in (1, 2, 3):
        targets = y[found.origins + step - 1]
        assert found.n_skipped == np.count_nonzero(found.origins < 5) == 2
        assert found.n_left_out(step) == np.isnan(targets[2:]).sum()
        assert found.n_scored(step) + found.n_skipped + found.n_left_out(step) == found.n_origins == len(found.origins)
    assert found.counts(1) == (
        "94 of 98 forecasts scored, after every 2nd observation; 2 skipped (made from fewer than 5 observations), 2 "
        "left out whose target is missing or of which nothing was known"
    )
    assert repr(found).startswith(found.counts(3))


def test_an_evaluation_becomes_a_frame_with_a_row_for_each_step() -> None:
    found = evaluate(NILE[:150], Naive(), horizon=4)
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["step"].tolist() == [1, 2, 3, 4]
    n_origins = 150 - 4 - 3  # 4 values before the first forecast, and 3 steps after the last one's first
    n_scored = 150 - 20 - 3
    assert frame["n_origins"].tolist() == [n_origins] * 4
    assert frame["n_scored"].tolist() == [n_scored] * 4
    last = np.array([NILE[origin - 1] for origin in range(20, 20 + n_scored)])
    for step, rmse in zip(range(1, 5), frame["rmse"], strict=True):
        observed = NILE[:150][np.arange(20, 20 + n_scored) + step - 1]
        assert rmse == pytest.approx(np.sqrt(np.mean((last - observed) ** 2)), rel=1e-12)
    assert isinstance(found.to_frame("polars"), pl.DataFrame)
    assert found.to_frame("pyarrow").num_rows == 4
    with pytest.raises((UnknownNameError, MissingExtraError)):
        found.to_frame("excel")  # type: ignore[arg-type]


def test_a_comparison_becomes_a_frame_with_a_row_for_each_model() -> None:
    table = compare(NILE[:200], {"auto": AutoBypass(), "pa": PassiveAggressive()}, loss="absolute")
    frame = table.to_frame("polars")
    assert frame["model"].to_list() == ["auto", "pa", "Naive", "Drift"]
    assert frame["n_scored"].to_list() == [line.n_scored for line in table.lines]
    assert len(set(frame["n_scored"])) == 1, "all are scored on the same observations"
    assert np.isnan(frame["crps"][1]), "a point has no CRPS"
    first, second = table.lines[:2]
    assert second.difference is not None
    assert frame["difference"][1] == second.difference.mean
    assert np.isnan(frame["difference"][0])
    assert frame["rmse"][0] == approx(first.scores["rmse"])
    assert repr(table).startswith(table.evaluations["auto"].counts())


def test_baselines_are_added_unless_one_is_there_or_none_is_wanted() -> None:
    def names(forecasters: object, n: int = 100, **options: Any) -> list[str]:
        table = compare(NILE[:n], forecasters, **options)  # type: ignore[arg-type]
        return [line.name for line in table.lines]

    assert names([SequentialKalman()]) == ["SequentialKalman", "Naive", "Drift"]
    assert names([SequentialKalman(), Naive()]) == ["SequentialKalman", "Naive"]
    assert names([SequentialKalman()], baselines=False) == ["SequentialKalman"]
    assert names([SequentialKalman()], n=12, skip=2) == ["SequentialKalman"]
    assert names(None, period=11)[1:] == ["Naive", "Drift", "SeasonalNaive"]
    assert names({"Drift": SequentialKalman()}) == ["Drift", "Naive"]


def test_times_tell_the_period_of_the_seasonal_baseline() -> None:
    months = pd.DataFrame({"ds": pd.date_range("2014-01-01", periods=60, freq="MS"), "y": NILE[:60]})
    table = compare(months, [SequentialKalman()])
    assert [line.name for line in table.lines] == ["SequentialKalman", "Naive", "Drift", "SeasonalNaive"]
    expected = evaluate(NILE[:60], SeasonalNaive(12)).scores()["crps"]
    assert table.lines[-1].scores["crps"] == expected, "all begin with it, and skip the same"
    assert table.evaluations["SeasonalNaive"].origins[0] == 12 + 3
    short = compare(months[:40], [SequentialKalman()])
    assert [line.name for line in short.lines][-1] == "Drift", "four years are needed"


def test_a_calendar_is_learned_from_a_frame_s_times() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"ds": pd.date_range("2024-01-01", periods=300, freq="h")})
    frame["y"] = 5 * np.sin(2 * np.pi * np.arange(300) / 24) + 0.1 * rng.normal(size=300)
    with_day = evaluate(frame, Forecaster(lags=1), calendar="day", horizon=6, every=5)
    without = evaluate(frame, Forecaster(lags=1), horizon=6, every=5)
    assert with_day.scores(6)["rmse"] < 0.3 * without.scores(6)["rmse"]
    assert compare(frame, [Forecaster(lags=1)], calendar=["day"]).lines[0].scores["rmse"] < 0.2
    sparse = evaluate(frame.iloc[::2], Naive(), freq="hour", skip=0)
    assert sparse.n_left_out() == sparse.n_scored() == 146, "every second hour is missing"
    with pytest.raises(ParameterError, match="calendar needs times"):
        evaluate(frame["y"].to_numpy(), Naive(), calendar="day")
