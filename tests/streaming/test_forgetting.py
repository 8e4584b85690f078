"""Series that are idle, or too many, are forgotten: the same before the same rows, wherever a stream was cut."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adabypass import Forecaster, Stream
from adabypass.errors import ParameterError
from adabypass.streaming import forgetting
from tests.streaming.judge import OneByOne, rows


def judged_with_idle(given: list[dict[str, Any]], span: float) -> list[dict[str, Any]]:
    """Forget each series that has had no row for longer than `span`, by the times of all rows."""
    judge = OneByOne(Forecaster(lags=1))
    newest: dict[Any, float] = {}
    answers = []
    for row in given:
        id, t = row["k"], row["t"]
        if id in newest and t - newest[id] > span:
            del judge.series[id]
        newest[id] = t
        y = float("nan") if row["y"] is None else row["y"]
        answers.append({"id": id, "time": t, **judge.answer(id, y)})
    return answers


def learned(path: Path | None, given: list[dict[str, Any]], cuts: list[int], batch: int, **options: Any) -> list[Any]:
    """Learn rows by a stream that is closed, or killed, at these places in turn."""
    found: list[Any] = []
    for turn, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(given)], strict=True)):
        stream = Stream(path, Forecaster(lags=1), key="k", **options)
        for at in range(start, stop, batch):
            found += stream.learn(given[at : min(at + batch, stop)])
        if turn % 2 == 0 and path is not None:
            stream._store.close()  # type: ignore[union-attr]  # as a killed process leaves it
        else:
            stream.close()
    return [answer.to_dict() for answer in found]


@pytest.mark.parametrize("cuts", [[], [50, 333, 340, 700]], ids=str)
@pytest.mark.parametrize("batch", [1, 64])
@pytest.mark.parametrize("max_memory", [1, 1 << 29])
def test_idle_series_begin_anew(
    tmp_path: Path, cuts: list[int], batch: int, max_memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting, "MIN_ROUND", 100)
    given = rows(900, n_series=40)
    found = learned(tmp_path, given, cuts, batch, time="t", forget_after=60, max_memory=max_memory, checkpoint_every=90)
    expected = judged_with_idle(given, 60)
    assert found == expected
    assert found != judged_with_idle(given, 1e9)


@pytest.mark.parametrize("cuts", [[], [100, 301, 350]], ids=str)
@pytest.mark.parametrize("batch", [1, 50])
def test_one_wrong_clock_makes_nobody_else_forgotten(
    tmp_path: Path, cuts: list[int], batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting, "MIN_ROUND", 20)
    given = rows(600, n_series=5)
    wrong = [*given[:300], {"k": "wrong", "t": 10**9, "y": 1.0}, *given[300:]]
    found = learned(tmp_path, wrong, cuts, batch, time="t", forget_after=200, checkpoint_every=90)
    assert [each for each in found if each["id"] != "wrong"] == judged_with_idle(given, 200)


def test_series_are_forgotten_by_the_time_of_the_only_one_that_is_left() -> None:
    given = [{"k": id, "t": 0, "y": 1.0} for id in "abcdef"] + [{"k": "a", "t": i, "y": 1.0} for i in range(1, 3000)]
    with Stream(None, Forecaster(lags=1), key="k", time="t", forget_after=100) as stream:
        stream.learn(given)
        assert stream.ids == ["a"]


@pytest.mark.parametrize("limit", [1, 10, 50])
@pytest.mark.parametrize("batch", [1, 7, 900])
def test_there_are_at_most_a_fourth_more_series_than_the_limit(limit: int, batch: int) -> None:
    given = [{"k": i * i % 901, "y": 1.0} for i in range(1800)]
    with Stream(None, Forecaster(lags=1), key="k", max_series=limit) as stream:
        for at in range(0, len(given), batch):
            stream.learn(given[at : at + batch])
            assert len(stream) <= limit + limit // 4


@pytest.mark.parametrize(
    ("span", "time", "message"),
    [
        (30, datetime(2024, 1, 1), 'forget_after is 30, but times are dates; write a span such as "10 minutes"'),
        (timedelta(days=1), 5, "forget_after is .*, but times are numbers; write a number"),
        ("1 hour", 5, "forget_after is 1 hour, but times are numbers; write a number"),
    ],
)
def test_a_span_that_does_not_fit_the_times_is_refused_before_anything_is_learned(
    tmp_path: Path, span: Any, time: Any, message: str
) -> None:
    with Stream(tmp_path, Forecaster(lags=1), time="t", forget_after=span) as stream:
        for _ in range(2):
            with pytest.raises(ParameterError, match=message):
                stream.learn({"t": time, "y": 1.0})
        assert stream.n_learned == 0


def test_idle_series_leave_the_folder(tmp_path: Path) -> None:
    given = [{"k": i, "y": 1.0} for i in range(5000)]
    with Stream(tmp_path, Forecaster(lags=1), key="k", forget_after=100) as stream:
        stream.learn(given)
        assert len(stream) < 2500
        assert 4999 in stream
        assert 1000 not in stream
    with Stream(tmp_path, Forecaster(lags=1), key="k", forget_after=100) as stream:
        assert len(stream.ids) == len(stream) < 2500


def test_spans_of_dates_are_text_or_timedeltas() -> None:
    start = datetime(2024, 1, 1)
    given = [{"k": id, "t": start + timedelta(hours=at), "y": 1.0} for id, at in
             [("a", 0), ("a", 1), ("a", 2), ("b", 60), ("a", 61), ("b", 62)]]  # fmt: skip
    for span, known in [("2 days", 1), (timedelta(days=3), 4), ("60 hours", 4)]:
        with Stream(None, Forecaster(lags=1), key="k", time="t", forget_after=span) as stream:
            stream.learn(given)
            assert stream.panel(["a"]).n_seen.tolist() == [known - 1]


@pytest.mark.parametrize("max_memory", [1, 1 << 29])
def test_the_longest_idle_of_too_many_are_forgotten_wherever_a_stream_was_cut(tmp_path: Path, max_memory: int) -> None:
    rng = np.random.default_rng(0)
    given = [{"k": int(each), "y": float(each % 7)} for each in rng.geometric(0.01, size=6000)]
    options: dict[str, Any] = {"max_series": 100, "max_memory": max_memory}
    whole = learned(tmp_path / "whole", given, [], 500, **options)
    cut = learned(tmp_path / "cut", given, [10, 1234, 2000, 2001, 4321], 77, checkpoint_every=300, **options)
    assert cut == whole
    with Stream(tmp_path / "cut", Forecaster(lags=1), key="k", max_series=100) as stream:
        newest = list(dict.fromkeys(row["k"] for row in reversed(given)))
        assert set(newest[:90]) <= set(stream.ids)
        assert len(stream) <= 300
    assert len({answer["id"] for answer in whole}) > 400
