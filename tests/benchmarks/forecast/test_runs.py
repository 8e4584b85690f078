"""Rivals that fail are left out, what was forecast is kept, and the tables show it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.forecast.__main__ import problems
from benchmarks.forecast.cache import Cache
from benchmarks.forecast.contestants import MEDIAN
from benchmarks.forecast.measures import Outlook
from benchmarks.forecast.page import frequency_table, save_scores, summary_table
from benchmarks.forecast.problems import Problem
from benchmarks.forecast.rivals import Rival, median_of, one_by_one, ours
from benchmarks.forecast.runs import measure
from pytest import approx

from adabypass import Forecaster

RNG = np.random.default_rng(0)
SERIES = [
    Problem(f"s{i}", "somewhere", ("monthly", "yearly")[i % 2], 1, RNG.normal(size=60).cumsum(), RNG.normal(size=3))
    for i in range(20)
]


def constant(value: float, calls: list[str] | None = None) -> Any:
    def forecast(problem: Problem) -> tuple[Any, Any]:
        if calls is not None:
            calls.append(problem.name)
        if problem.name == "s3" and value < 0:
            raise ValueError("this library cannot")
        return np.full(3, value), np.full((19, 3), value)

    return one_by_one(forecast)


def test_a_rival_that_fails_is_shown_without_what_it_failed_on(tmp_path: Path) -> None:
    scores = measure(SERIES, [Rival("good", constant(1.0)), Rival("bad", constant(-1.0))], Cache(tmp_path / "c"))
    assert set(scores["good"]) - set(scores["bad"]) == {"s3"}
    assert "bad (without 1 series on which it failed)" in summary_table(scores, SERIES)
    assert "monthly (10)" in frequency_table(scores, SERIES, "CRPS")
    save_scores(scores, SERIES, tmp_path / "scores.csv")
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 1 + 20 + 19


def test_a_rival_that_forecast_too_few_is_left_out_of_a_mean(tmp_path: Path) -> None:
    scores = measure(SERIES, [Rival("good", constant(1.0))], Cache(tmp_path / "c"))
    scores["few"] = {name: found for name, found in scores["good"].items() if name in ("s0", "s2")}
    scores["months"] = {each.name: scores["good"][each.name] for each in SERIES if each.frequency == "monthly"}
    assert "few" not in summary_table(scores, SERIES) + frequency_table(scores, SERIES, "CRPS")
    assert "months" not in summary_table(scores, SERIES)
    row = next(line for line in frequency_table(scores, SERIES, "CRPS").splitlines() if line.startswith("| months"))
    assert [bool(cell.strip()) for cell in row.split("|")[2:5]] == [False, False, True]


def test_forecasts_of_other_libraries_are_made_once(tmp_path: Path) -> None:
    calls: list[str] = []
    rival = Rival("other", constant(2.0, calls), "numpy")
    first = measure(SERIES, [rival], Cache(tmp_path / "c.jsonl"))
    made = len(calls)
    assert measure(SERIES, [rival], Cache(tmp_path / "c.jsonl")) == first
    assert len(calls) == made
    changed = [SERIES[0]._replace(train=SERIES[0].train + 1.0)]
    measure(changed, [rival], Cache(tmp_path / "c.jsonl"))
    assert len(calls) > made, "the same name, but other values"


def test_a_cut_line_of_the_cache_is_left_out(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c.jsonl")
    cache.add(SERIES[0], "other", "1", Outlook(np.ones(3), np.ones((19, 3)), 1.0))
    cache.add(SERIES[1], "other", "1", None)
    with (tmp_path / "c.jsonl").open("a") as file:
        file.write('{"problem": "s2", "dig')
    again = Cache(tmp_path / "c.jsonl")
    kept = again.get(SERIES[0], "other", "1")
    assert kept is not None
    assert kept.point == approx(1.0)
    assert again.has(SERIES[1], "other", "1")
    assert again.get(SERIES[1], "other", "1") is None
    assert not again.has(SERIES[2], "other", "1")


def test_the_median_is_that_of_points_and_of_quantiles() -> None:
    parts = [Outlook(np.full(2, float(i)), np.full((19, 2), float(10 * i)), 1.0) for i in (1, 2, 3, 10)]
    found = median_of(parts)
    assert found.point == approx(2.5)
    assert found.quantiles == approx(25.0)
    assert found.seconds == 4.0
    rivals = [Rival(name, constant(1.0)) for name in ("AutoETS", "AutoARIMA", "AutoTheta", "AutoCES")]
    assert MEDIAN in measure(SERIES, rivals, Cache(Path("no such file")))


def test_our_point_forecast_is_the_median() -> None:
    ((problem, outlook),) = ours(lambda _: Forecaster(lags=1))(SERIES[:1])
    assert problem is SERIES[0]
    assert outlook is not None
    assert outlook.quantiles.shape == (19, 3)
    assert (np.diff(outlook.quantiles, axis=0) > 0).all()
    assert outlook.point == approx(outlook.quantiles[9])


def test_absent_data_are_skipped_with_a_word(tmp_path: Path, capsys: Any) -> None:
    given: Sequence[Problem] = list(problems(["m"], tmp_path / "absent.csv.gz"))
    assert given == []
    assert "skipped" in capsys.readouterr().err
