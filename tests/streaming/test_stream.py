"""`Stream`: rows in, answers out, each learned once, whatever the batches, the memory and the restarts."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adabypass import AdaBypass, Forecaster, Panel, Stream, load
from adabypass.errors import (
    AdabypassError,
    BadCellError,
    ConcurrentUseError,
    LockedError,
    ParameterError,
    StateError,
    TableError,
    UnknownNameError,
)
from tests.streaming.judge import OneByOne, judged, row_of, rows

N = 300


def answers_of(stream: Stream, given: list[dict[str, Any]], sizes: list[int]) -> list[dict[str, Any]]:
    """Learn rows in batches of these sizes, again and again; return the answers."""
    found, at, turn = [], 0, 0
    while at < len(given):
        size = sizes[turn % len(sizes)]
        found += [answer.to_dict() for answer in stream.learn(given[at : at + size])]
        at, turn = at + size, turn + 1
    return found


@pytest.mark.parametrize("sizes", [[1], [7, 1, 30], [N]], ids=str)
@pytest.mark.parametrize("make", [lambda: Forecaster(lags=2), Forecaster], ids=["lags", "automatic"])
def test_answers_are_those_of_each_series_alone(make: Callable[[], Forecaster], sizes: list[int]) -> None:
    given = rows(N)
    with Stream(None, make(), key="k", time="t") as stream:
        assert answers_of(stream, given, sizes) == judged(given, OneByOne(make()))


def test_answers_with_exogenous_columns_are_those_of_each_series_alone(tmp_path: Path) -> None:
    given, template = rows(N, exog=True), Forecaster(lags=1, exog=["x"])
    with Stream(tmp_path, template, key="k", time="t") as stream:
        assert answers_of(stream, given, [40]) == judged(given, OneByOne(template))


@pytest.mark.parametrize("sizes", [[1], [50]], ids=str)
def test_forecasts_of_the_next_steps_are_those_of_each_series_alone(sizes: list[int]) -> None:
    given = rows(100)
    with Stream(None, Forecaster(lags=1), key="k", time="t", horizon=3) as stream:
        assert answers_of(stream, given, sizes) == judged(given, OneByOne(Forecaster(lags=1), horizon=3))


def test_the_next_steps_are_forecast_after_every_nth_row_of_a_series() -> None:
    with Stream(None, Forecaster(lags=1), horizon=2, every_forecast=4) as stream:
        answers = stream.learn([{"y": float(i % 5)} for i in range(20)])
    assert [i for i, answer in enumerate(answers, 1) if answer.is_known and answer.forecast] == [4, 8, 12, 16, 20]


@pytest.mark.parametrize("max_memory", [1, 1 << 29], ids=["one row in memory", "all rows in memory"])
@pytest.mark.parametrize("checkpoint_every", [1, 17, 10_000])
def test_a_stream_that_is_closed_and_opened_goes_on_as_if_it_had_not_been(
    tmp_path: Path, max_memory: int, checkpoint_every: int
) -> None:
    given = rows(N, n_series=20)
    found = []
    for start in range(0, N, 60):
        with Stream(
            tmp_path, Forecaster(lags=1), key="k", time="t", max_memory=max_memory, checkpoint_every=checkpoint_every
        ) as stream:
            found += answers_of(stream, given[start : start + 60], [1, 25])
    assert found == judged(given, OneByOne(Forecaster(lags=1)))


def test_rows_that_were_learned_before_are_skipped(tmp_path: Path) -> None:
    given = rows(N)
    with Stream(tmp_path, Forecaster(lags=1), key="k", time="t") as stream:
        first = answers_of(stream, given[:200], [50])
        assert stream.learn(given[:200]) == []
        assert (stream.n_skipped, stream.n_late) == (0, 200)
    with Stream(tmp_path, Forecaster(lags=1), key="k", time="t") as stream:
        second = answers_of(stream, given, [50])
        assert (stream.n_skipped, stream.n_late) == (200, 0)
        assert stream.learn({"t": -1, "k": "new", "y": 1.0})[0].y == 1.0
        assert stream.learn({"t": -2, "k": "new", "y": 1.0}) == []
        assert (stream.n_skipped, stream.n_late) == (200, 1)
        assert stream.n_learned == N + 1
    assert first + second == judged(given, OneByOne(Forecaster(lags=1)))


def test_rows_since_the_last_checkpoint_are_learned_again_and_passed_on(tmp_path: Path) -> None:
    given = rows(N)
    stream = Stream(tmp_path, Forecaster(lags=1), key="k", time="t", checkpoint_every=100)
    answers = answers_of(stream, given[:250], [10])
    stream._store.close()  # type: ignore[union-attr]  # as a killed process leaves it
    passed: list[Any] = []
    with Stream(tmp_path, Forecaster(lags=1), key="k", time="t", on_replay=passed.append) as stream:
        assert stream.resumed == (250, 250, 50)
        assert [each.to_dict() for each in passed] == answers[200:]
        assert [each.number for each in passed] == list(range(201, 251))
        answers += answers_of(stream, given[250:], [10])
    assert answers == judged(given, OneByOne(Forecaster(lags=1)))


def test_after_an_error_in_the_block_answers_are_passed_on_again(tmp_path: Path) -> None:
    given = rows(20)
    answers: list[Any] = []

    def write_all() -> None:
        with Stream(tmp_path, Forecaster(lags=1), key="k", time="t") as stream:
            answers.extend(answer.to_dict() for answer in stream.learn(given))
            raise OSError("the disk with the answers is full")

    with pytest.raises(OSError, match="full"):
        write_all()
    passed: list[Any] = []
    with Stream(tmp_path, Forecaster(lags=1), key="k", time="t", on_replay=passed.append) as stream:
        assert stream.n_learned == 20
    assert [each.to_dict() for each in passed] == answers


def test_what_a_stream_knows_of_its_series(tmp_path: Path) -> None:
    given = rows(N)
    judge = OneByOne(Forecaster(lags=1))
    judged(given, judge)
    with Stream(tmp_path, Forecaster(lags=1), key="k", time="t", max_memory=1) as stream:
        stream.learn(given)
        assert sorted(stream.ids) == sorted(judge.series)
        assert len(stream) == 3
        assert "series 1" in stream
        assert "series 4" not in stream
        assert repr(stream) == f"Stream(3 series of AutoBypass, {N} rows learned, in {tmp_path})"
        for id, alone in judge.series.items():
            assert np.array_equal(row_of(stream.series(id)), row_of(alone.forecaster))
            found = stream.forecast(4, ids=[id]).mean[0]
            assert np.array_equal(found, alone.forecaster.forecast(4).mean)
        assert stream.forecast(2).mean.shape == (3, 2)
        with pytest.raises(UnknownNameError, match="no series 'x'"):
            stream.series("x")
    panel = load(tmp_path)
    assert isinstance(panel, Panel)
    assert sorted(panel.ids) == sorted(judge.series)
    for id, alone in judge.series.items():
        assert np.array_equal(row_of(panel[id]), row_of(alone.forecaster))


def test_a_folder_is_read_while_the_stream_goes_on(tmp_path: Path) -> None:
    given = rows(N)
    with Stream(tmp_path, Forecaster(lags=1), key="k", time="t", checkpoint_every=70) as stream:
        for at in range(0, N, 30):
            stream.learn(given[at : at + 30])
            panel, own = load(tmp_path), stream.panel()
            assert sorted(panel.ids) == sorted(own.ids)
            for id in panel.ids:
                assert np.array_equal(row_of(panel[id]), row_of(own[id]))


def test_dropped_and_reset_series_begin_anew(tmp_path: Path) -> None:
    given = rows(N)
    judge = OneByOne(Forecaster(lags=1))
    expected = judged(given[:150], judge)
    with Stream(tmp_path, Forecaster(lags=1), key="k", time="t") as stream:
        found = answers_of(stream, given[:150], [20])
        stream.drop(["series 0"])
        stream.reset("series 1")
        assert sorted(stream.ids) == ["series 1", "series 2"]
        with pytest.raises(UnknownNameError, match="no series 'series 0'"):
            stream.drop("series 0")
    del judge.series["series 0"], judge.series["series 1"]
    expected += judged(given[150:], judge)
    with Stream(tmp_path, Forecaster(lags=1), key="k", time="t") as stream:
        assert stream.learn([row for row in given[:150] if row["k"] == "series 1"]) == []  # their times are known
        found += answers_of(stream, given[150:], [20])
    assert found == expected


@pytest.mark.parametrize("options", [{"fsync": "always"}, {"fsync": "interval"}], ids=str)
def test_a_second_writer_is_refused(tmp_path: Path, options: Any) -> None:
    with Stream(tmp_path, Forecaster(lags=1), **options) as stream:
        with pytest.raises(LockedError, match="in use by another Stream of this process"):
            Stream(tmp_path, Forecaster(lags=1))
        stream.learn([{"y": 1.0}])
    with Stream(tmp_path, Forecaster(lags=1)) as stream:
        assert stream.n_learned == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "z"}, "made with target 'y', but now there is target 'z'"),
        ({"key": None}, "made with id 'k', but now there is no id"),
        ({"time": "u"}, "made with time 't', but now there is time 'u'"),
        ({"forecaster": Forecaster(lags=2)}, "made with lags"),
        ({"forecaster": Forecaster()}, "made with a model with lags, but now there is the automatic forecaster"),
        ({"forecaster": Forecaster(AdaBypass(), lags=1)}, "made with model AutoBypass"),
    ],
    ids=str,
)
def test_a_folder_of_other_settings_is_refused(tmp_path: Path, change: Any, message: str) -> None:
    options: dict[str, Any] = {"forecaster": Forecaster(lags=1), "key": "k", "time": "t"}
    with Stream(tmp_path, **options) as stream:
        stream.learn(rows(9))
    with pytest.raises(StateError, match=message):
        Stream(tmp_path, **(options | change))
    with Stream(tmp_path, **options) as stream:
        assert stream.n_learned == 9


@pytest.mark.parametrize("to_frame", [pd.DataFrame, pl.DataFrame, lambda each: pl.DataFrame(each).to_arrow()])
def test_a_data_frame_is_as_good_as_its_rows(to_frame: Callable[[Any], Any]) -> None:
    given = rows(60)
    with Stream(None, Forecaster(lags=1), key="k", time="t") as stream:
        found = [answer.to_dict() for answer in stream.learn(to_frame(given))]
    assert found == judged(given, OneByOne(Forecaster(lags=1)))


def test_ids_may_have_several_parts_and_times_may_be_dates() -> None:
    frame = pd.DataFrame({
        "dc": ["eu", "us", "eu", "us"] * 5, "host": [1, 1, 2, 2] * 5,
        "ds": pd.date_range("2024-01-01", periods=20, freq="h"), "y": np.arange(20.0),
    })  # fmt: skip
    with Stream(None, Forecaster(lags=1), key=["dc", "host"], time="ds") as stream:
        answers = stream.learn(frame)
        assert stream.ids == [("eu", 1), ("us", 1), ("eu", 2), ("us", 2)]
        assert answers[-1].id == ("us", 2)
        assert answers[-1].time.startswith("2024-01-01T19:00")
        assert stream.panel([("eu", 2)]).ids == ["eu/2"]
        assert stream.learn(frame) == []
        assert stream.learn({"dc": "eu", "host": 1, "ds": "2024-01-02T00:00", "y": 3.0})[0].y == 3.0


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ({"k": "a", "t": 1}, TableError, "row 1 has no 'y'"),
        ({"k": "a", "t": 1, "y": "much"}, BadCellError, 'row 1, column "y": "much" is not a number'),
        ({"k": "a", "t": 1, "y": float("inf")}, BadCellError, "infinite"),
        ({"k": None, "t": 1, "y": 1.0}, BadCellError, 'column "k": is blank'),
        ({"k": "x" * 20_000, "t": 1, "y": 1.0}, BadCellError, "too many for an id"),
        ({"k": "a", "t": "soon", "y": 1.0}, BadCellError, "is not a time"),
        ({"k": "series 1", "t": "2024-01-01", "y": 1.0}, BadCellError, "cannot be compared"),
        ("y", TableError, "must be a dict"),
    ],
    ids=lambda each: str(each)[:30],
)
def test_a_row_that_cannot_be_read_is_refused_and_nothing_is_learned(
    tmp_path: Path, row: Any, error: type[AdabypassError], message: str
) -> None:
    given = rows(40)
    with Stream(tmp_path, Forecaster(lags=1), key="k", time="t") as stream:
        stream.learn(given)
        with pytest.raises(error, match=message):
            stream.learn([row])
        with pytest.raises(error):
            stream.learn([{"k": "series 1", "t": 100, "y": 1.0}, row])
        assert stream.n_learned == 40
        assert len(stream.learn([{"k": "series 1", "t": 100, "y": 1.0}])) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fields": ["mena"]}, "must be among mean, sd"),
        ({"fsync": "never"}, 'must be "interval" or "always"'),
        ({"horizon": -1}, "horizon is -1"),
        ({"level": 90}, "level"),
        ({"max_series": 0}, "max_series is 0"),
        ({"forget_after": "30 days"}, "whole number"),
        ({"forget_after": "two moons", "time": "t"}, "forget_after is 'two moons'"),
        ({"forget_after": "1 month", "time": "t"}, "has no fixed length"),
        ({"exog": ["x"], "horizon": 2}, "not known yet"),
        ({"forecaster": AdaBypass()}, "must be a Forecaster"),
        ({"key": ["a", "a"]}, "several names"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Stream(None, **({"forecaster": Forecaster(lags=1)} | options))


def test_several_threads_may_use_a_stream(tmp_path: Path) -> None:
    given = {f"k{i}": [{"k": f"k{i}", "t": t, "y": float((t * 7 + i) % 11)} for t in range(60)] for i in range(4)}
    found: dict[str, list[Any]] = {}
    with Stream(tmp_path, Forecaster(lags=1), key="k", time="t", checkpoint_every=20) as stream:

        def work(id: str) -> None:
            found[id] = [stream.learn(row)[0].to_dict() for row in given[id]]
            stream.forecast(2, ids=[id])

        threads = [threading.Thread(target=work, args=(id,)) for id in given]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert stream.n_learned == 240
    for id, each in given.items():
        assert found[id] == judged(each, OneByOne(Forecaster(lags=1)))


@pytest.mark.parametrize(
    "use",
    [
        lambda stream: stream.learn([{"y": 1.0}]), lambda stream: stream.forecast(3), lambda stream: stream.ids,
        lambda stream: stream.panel(), lambda stream: stream.series(), lambda stream: "a" in stream,
        lambda stream: stream.drop(["a"]), lambda stream: stream.checkpoint(), lambda stream: stream.release(),
    ],
)  # fmt: skip
def test_a_closed_stream_says_so(tmp_path: Path, use: Callable[[Stream], Any]) -> None:
    stream = Stream(tmp_path, Forecaster(lags=1))
    stream.learn([{"y": 1.0}])
    stream.close()
    stream.close()
    with pytest.raises(StateError, match="this stream is closed"):
        use(stream)


def test_a_stream_without_ids_has_one_series() -> None:
    with Stream(None, Forecaster(lags=1)) as stream:
        stream.learn([{"y": float(i)} for i in range(10)])
        assert stream.ids == [None]
        assert stream.series().n_seen == 9
        assert stream.forecast(3).mean.shape == (1, 3)


def test_flagged_rows_are_remembered_across_restarts(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=200)
    y[150] = 40.0
    options: dict[str, Any] = {"forecaster": Forecaster(lags=1), "time": "t", "fields": ["mean", "anomaly", "change"]}
    with Stream(tmp_path, **options) as stream:
        stream.learn([{"t": i, "y": value} for i, value in enumerate(y.tolist())])
        (found,) = [each for each in stream.anomalies() if each.time == 150]
        assert (found.id, found.y, found.what) == (None, 40.0, "anomaly")
        before = stream.anomalies(), stream.changes()
    with Stream(tmp_path, **options) as stream:
        assert (stream.anomalies(), stream.changes()) == before
    with Stream(tmp_path, **(options | {"fields": ["mean"]})) as stream, pytest.raises(ParameterError, match="fields"):
        stream.anomalies()


def test_a_forked_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with Stream(None, Forecaster(lags=1)) as stream:
        with monkeypatch.context() as patched:
            patched.setattr("adabypass.streaming.stream.os.getpid", lambda: -1)
            with pytest.raises(ConcurrentUseError, match="forked"):
                stream.learn([{"y": 1.0}])
        stream.learn([{"y": 1.0}])


def test_a_folder_of_other_constants_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Stream(tmp_path, Forecaster(lags=1)) as stream:
        stream.learn([{"y": 1.0}])
    monkeypatch.setattr("adabypass.forecasting.lag_engine.LagEngine.design", lambda *_: "others")
    with pytest.raises(StateError, match="by a version of adabypass with other constants; train it anew"):
        Stream(tmp_path, Forecaster(lags=1))
