"""What `Stream.learn` takes, and the rules of time in Python: the same as those of the command."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass import Forecaster, Stream
from adabypass.errors import ParameterError
from tests.cli.in_process import run
from tests.streaming.judge import OneByOne, judged, rows

N = 60


def dicts(stream: Stream, given: Any) -> list[Any]:
    return [answer.to_dict() for answer in stream.learn(given)]


@pytest.mark.parametrize(
    "form",
    [
        iter, lambda each: (row for row in each), tuple, pd.DataFrame, pl.DataFrame, pa.Table.from_pylist,
        pa.RecordBatch.from_pylist,
        lambda each: pa.Table.from_pylist(each).to_reader(max_chunksize=7),
    ],
)  # fmt: skip
def test_rows_in_any_form_are_the_same_rows(form: Callable[[Any], Any]) -> None:
    given = rows(N)
    with Stream(None, Forecaster(lags=1), key="k", time="t") as stream:
        assert dicts(stream, form(given)) == judged(given, OneByOne(Forecaster(lags=1)))


def test_names_with_dots_lead_into_nested_dicts() -> None:
    given = [{"host": {"name": row["k"]}, "t": row["t"], "metrics": {"cpu": row["y"]}} for row in rows(N)]
    with Stream(None, Forecaster(lags=1), key="host.name", target="metrics.cpu", time="t") as stream:
        assert dicts(stream, given) == judged(rows(N), OneByOne(Forecaster(lags=1)))
        assert stream.learn(given[0]) == []


def test_each_of_several_targets_is_a_series() -> None:
    one, other = rows(N), [row | {"y": None if row["y"] is None else 2.0 - row["y"]} for row in rows(N)]
    given = [first | {"cpu": first["y"], "mem": second["y"]} for first, second in zip(one, other, strict=True)]
    with Stream(None, Forecaster(lags=1), key="k", target=["cpu", "mem"], time="t") as stream:
        found = dicts(stream, given)
        assert ("series 0", "mem") in stream
    for name, each in (("cpu", one), ("mem", other)):
        expected = [row | {"id": (row["id"], name)} for row in judged(each, OneByOne(Forecaster(lags=1)))]
        assert [row for row in found if row["id"][1] == name] == expected


COMMAND = ["stream", "--time", "t", "--id", "k", "--lags", "1", "--on-bad-row", "skip"]
TIMES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 8), st.sampled_from([0] * 20 + [10**6])), max_size=50)


@settings(max_examples=30, deadline=None)
@given(delays=TIMES, batch=st.integers(1, 60))
def test_rules_of_time_are_those_of_the_command(delays: list[tuple[str, int, int]], batch: int) -> None:
    given = [{"t": 3 * i - late + far, "k": key, "y": float(i * i % 11)} for i, (key, late, far) in enumerate(delays)]
    options: dict[str, Any] = {"freq": 3, "max_jump": 50, "reorder_window": 5}
    arguments = ["--freq", "3", "--max-jump", "50", "--reorder-window", "5"]
    lines = run(*COMMAND, *arguments, given="".join(f"{json.dumps(row)}\n" for row in given)) if given else None
    expected = [json.loads(line) for line in lines.out.splitlines()] if lines else []
    with Stream(None, Forecaster(lags=1), key="k", time="t", **options) as stream:
        found = [answer for at in range(0, len(given), batch) for answer in stream.learn(given[at : at + batch])]
        found += stream.release()
        counts = stream.n_late + stream.n_far
    assert [[each.id, each.time, each.y, each.mean] for each in found] == [
        [each["k"], each["t"], each["y"], each["mean"]] for each in expected
    ]
    assert len(found) + counts == len(given)


def test_rows_that_are_held_back_are_learned_when_the_stream_is_closed(tmp_path: Path) -> None:
    given = [{"t": i, "y": float(i)} for i in (0, 2, 1, 4, 3, 6, 5)]
    with Stream(tmp_path, Forecaster(lags=1), time="t", reorder_window=3) as stream:
        found = [answer.time for answer in stream.learn(given)]
        assert found == [0, 1, 2, 3]
        assert stream.n_learned == 4
    with Stream(tmp_path, Forecaster(lags=1), time="t") as stream:
        assert stream.n_learned == 7


def test_the_steps_of_a_gap_pass() -> None:
    judge, expected = Forecaster(lags=1), []
    times = [*range(20), *range(40, 60)]
    for before, t in pairwise([-1, *times]):
        for _ in range(t - before - 1):
            judge.step(float("nan"))
        forecast: Any = judge.step(float(t * t % 13))
        expected.append(forecast.mean if forecast is not None and forecast.is_known else None)
    with Stream(None, Forecaster(lags=1), time="t", freq=1) as stream:
        found = stream.learn([{"t": t, "y": float(t * t % 13)} for t in times])
        assert [answer.mean for answer in found] == expected
        assert stream.learn({"t": 59.3, "y": 1.0}) == []
        assert stream.n_late == 1


@pytest.mark.parametrize("has_guard_before", [False, True])
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_jump_is_refused_in_the_first_rows_after_a_restart(
    tmp_path: Path, has_guard_before: bool, is_killed: bool
) -> None:
    options: dict[str, Any] = {"key": "k", "time": "t", "max_jump": 100}
    before = options if has_guard_before else {"key": "k", "time": "t"}
    stream = Stream(tmp_path, Forecaster(lags=1), **before)
    for t in range(50):
        stream.learn([{"k": key, "t": t, "y": 1.0} for key in "ab"])
    if is_killed:
        stream._store.close()  # type: ignore[union-attr]
    else:
        stream.close()
    with Stream(tmp_path, Forecaster(lags=1), **options) as stream:
        assert stream.learn([{"k": "new", "t": 10**9, "y": 1.0}, {"k": "a", "t": 10**9 + 5000, "y": 1.0}]) == []
        assert stream.n_far == 2
        assert len(stream.learn([{"k": "a", "t": t, "y": 1.0} for t in range(50, 140)])) == 90


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_wrong_first_row_silences_its_series_for_two_rows_at_most(tmp_path: Path, is_restarted: bool) -> None:
    options: dict[str, Any] = {"key": "k", "time": "t", "max_jump": 100}
    stream = Stream(tmp_path, Forecaster(lags=1), **options)
    assert len(stream.learn({"k": "a", "t": 10**9, "y": 1.0})) == 1
    given = [{"k": "a", "t": t, "y": 1.0} for t in range(90)]
    found = stream.learn(given[:2])
    if is_restarted:
        stream.close()
        stream = Stream(tmp_path, Forecaster(lags=1), **options)
    found += stream.learn(given[2:])
    assert len(found) >= 88
    assert stream.learn({"k": "b", "t": 10**9, "y": 1.0}) == []
    stream.close()


def test_a_jump_guard_heals_a_series_whose_clock_was_wrong_before(tmp_path: Path) -> None:
    with Stream(tmp_path, Forecaster(lags=1), key="k", time="t") as stream:
        stream.learn([{"k": key, "t": t, "y": 1.0} for t in range(50) for key in "abc"])
        stream.learn({"k": "c", "t": 10**9, "y": 1.0})
    with Stream(tmp_path, Forecaster(lags=1), key="k", time="t", max_jump=100) as stream:
        assert len(stream.learn([{"k": "c", "t": t, "y": 1.0} for t in range(50, 60)])) == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"freq": 1}, "freq is 1, but rows have no times; name their column with time="),
        ({"max_jump": "2 months", "time": "t"}, "max_jump is 2 months, which has no fixed length"),
        ({"reorder_window": "soon", "time": "t"}, "reorder_window is 'soon', which is not a span"),
        ({"target": ["y", "y"]}, "target is"),
        ({"target": []}, "target names no column"),
        ({"exog": ["y"]}, '"y" is in target and in exog: its values would be known before they are forecast'),
        ({"freq": 1, "time": "t", "exog": ["x"]}, "missing='last' or missing='mean'"),
    ],
    ids=str,
)
def test_arguments_that_make_no_sense_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Stream(None, Forecaster(lags=1), **options)


def test_a_span_that_does_not_fit_the_times_is_refused() -> None:
    with Stream(None, Forecaster(lags=1), time="t", freq="1 hour") as stream:
        with pytest.raises(ParameterError, match="freq is 1 hour, but times are numbers; write a number"):
            stream.learn({"t": 5, "y": 1.0})
        assert stream.n_learned == 0


def test_newest_times_are_asked_for_again_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adabypass.streaming.intake.MAX_KNOWN", 2)
    given = rows(N, n_series=9)
    with Stream(None, Forecaster(lags=1), key="k", time="t") as stream:
        found = [answer for row in given for answer in dicts(stream, row)]
        assert stream.learn(given) == []
    assert found == judged(given, OneByOne(Forecaster(lags=1)))
