"""What an operator does to the folder of a stream, from the command line."""

import csv
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass import Forecaster, Stream, load
from adabypass.errors import AdabypassError, LockedError, StateError
from adabypass.streaming import folder
from adabypass.streaming.ids import find_key, key_of, panel_id
from adabypass.streaming.store import Store
from adabypass.streaming.store_reader import StoreReader
from tests.cli.in_process import program, run
from tests.streaming.judge import OneByOne, judged, row_of, rows
from tests.streaming.test_store import changed, killed, opened

N = 120


def done(*arguments: Any) -> str:
    found = run(*arguments)
    assert found.code == 0, (found.err, found.error)
    return found.out


def refused(*arguments: Any) -> str:
    found = run(*arguments)
    assert found.code == 2 or isinstance(found.error, AdabypassError | OSError), found
    return found.err + str(found.error)


def stopped(path: Path, given: list[dict[str, Any]] | None = None) -> Path:
    with opened(path) as stream:
        stream.learn(rows(N) if given is None else given)
    return path


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path / folder.DATABASE)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_check_reads_all_of_a_folder(tmp_path: Path) -> None:
    path = killed(tmp_path / "s")
    assert "is sound: 3 series, 120 rows learned, 8 of them since" in done("state", "check", path)
    change(path, "UPDATE memory SET row = zeroblob(length(row)) WHERE number = 1")
    assert "the checksum of series" in refused("state", "check", path)


def test_check_and_backup_of_a_stream_that_is_running(tmp_path: Path) -> None:
    given = rows(N)
    with opened(tmp_path / "s") as stream:
        stream.learn(given[:70])
        stream.learn(given[70:100])
        assert "100 rows learned" in done("state", "check", tmp_path / "s")
        done("state", "backup", tmp_path / "s", tmp_path / "copy")
        stream.learn(given[100:])
    with opened(tmp_path / "copy") as stream:
        assert stream.n_learned == 100
        found = [answer.to_dict() for answer in stream.learn(given[100:])]
    assert found == judged(given, OneByOne(Forecaster(lags=1)))[100:]
    assert "holds a state already" in refused("state", "backup", tmp_path / "s", tmp_path / "copy")


def test_repair_keeps_the_series_that_fit(tmp_path: Path) -> None:
    path = stopped(tmp_path / "s")
    before = load(path)
    change(path, "UPDATE memory SET row = zeroblob(length(row)) WHERE number = 1")
    (name,) = sqlite3.connect(path / folder.DATABASE).execute("SELECT key FROM series WHERE number = 1").fetchone()
    found = run("state", "repair", path)
    assert f"given up: series {json.loads(name)!r}" in found.err
    assert (path / "stream.sqlite.damaged").exists()
    after = load(path)
    assert sorted(after.ids) == sorted(set(before.ids) - {json.loads(name)})
    for id in after.ids:
        assert np.array_equal(row_of(after[id]), row_of(before[id]))
    assert "is sound: 2 series" in done("state", "check", path)


def test_repair_keeps_the_newest_rows_up_to_the_damage(tmp_path: Path) -> None:
    path = killed(tmp_path / "s", n=103)
    change(path, "UPDATE inputs SET data = zeroblob(length(data)) WHERE number = (SELECT max(number) - 2 FROM inputs)")
    found = run("state", "repair", path)
    assert "given up: the rows of the last 3 commits" in found.err
    with opened(path) as stream:
        n = stream.n_learned
        assert n < 103
        found_answers = [answer.to_dict() for answer in stream.learn(rows(N)[n:])]
    assert found_answers == judged(rows(N), OneByOne(Forecaster(lags=1)))[n:]


def test_repair_goes_on_from_a_log_that_was_cut(tmp_path: Path) -> None:
    path = killed(tmp_path / "s")
    (path / folder.SHARED).unlink()
    (path / folder.LOG).unlink()
    assert "commits were made" in refused("state", "drop", path, "--id", "series 1")
    assert program("state", "repair", path).returncode == 3
    with opened(path) as stream:
        found = [answer.to_dict() for answer in stream.learn(rows(N)[stream.n_learned :])]
        assert stream.n_learned == N
    assert found == judged(rows(N), OneByOne(Forecaster(lags=1)))[N - len(found) :]


def test_repair_of_pages_that_are_torn(tmp_path: Path) -> None:
    given = [{"k": f"k{i % 50}", "t": i, "y": float(i % 7)} for i in range(500)]
    path = stopped(tmp_path / "s", given)
    size = (path / folder.DATABASE).stat().st_size
    n_kept = []
    for at in range(3, 9):
        copy = Path(shutil.copytree(path, tmp_path / f"copy {at}"))
        with (copy / folder.DATABASE).open("r+b") as file:
            file.seek(size * at // 10)
            file.write(bytes(4096))
        found = run("state", "repair", copy)
        assert found.error is None or isinstance(found.error, StateError)
        if found.error is None:
            done("state", "check", copy)
            n_kept.append(len(load(copy)))
    assert max(n_kept) >= 40


def test_repair_leaves_a_sound_folder_as_it_is(tmp_path: Path) -> None:
    path = killed(tmp_path / "s")
    expected = load(tmp_path / "s-work")
    assert "3 series, and 8 rows" in done("state", "repair", path)
    after = load(path)
    for id in expected.ids:
        assert np.array_equal(row_of(after[id]), row_of(expected[id]))


def test_drop_and_reset(tmp_path: Path) -> None:
    path = stopped(tmp_path / "s")
    assert "1 series forgotten" in done("state", "drop", path, "--id", "series 0")
    assert "1 series begin anew" in done("state", "reset", path, "--id", "series 1")
    assert "no series 'series 0'" in refused("state", "drop", path, "--id", "series 0")
    judge = OneByOne(Forecaster(lags=1))
    judged(rows(N), judge)
    del judge.series["series 0"], judge.series["series 1"]
    with opened(path) as stream:
        assert sorted(stream.ids) == ["series 1", "series 2"]
        assert stream.learn([row for row in rows(N) if row["k"] == "series 1"]) == []
        given = rows(2 * N)[N:]
        assert [answer.to_dict() for answer in stream.learn(given)] == judged(given, judge)


def test_a_stream_that_was_killed_must_answer_its_rows_first(tmp_path: Path) -> None:
    path = killed(tmp_path / "s")
    for command in (("drop", path, "--id", "series 1"), ("merge", path, "--into", tmp_path / "new")):
        assert "start it again, so that it answers its newest rows" in refused("state", *command)


def test_merge_puts_the_series_of_several_folders_together(tmp_path: Path) -> None:
    parts = [[row for row in rows(N) if row["k"] == f"series {i}"] for i in range(3)]
    paths = [stopped(tmp_path / str(i), part) for i, part in enumerate(parts)]
    assert "holds 3 series" in done("state", "merge", *paths, "--into", tmp_path / "all")
    judge = OneByOne(Forecaster(lags=1))
    judged(rows(N), judge)
    with opened(tmp_path / "all") as stream:
        assert stream.n_learned == N
        given = rows(2 * N)[N:]
        assert [answer.to_dict() for answer in stream.learn(given)] == judged(given, judge)
    assert "as another folder has" in refused("state", "merge", paths[0], paths[0], "--into", tmp_path / "twice")
    assert not (tmp_path / "twice").exists()
    with Stream(tmp_path / "other", Forecaster(lags=2), key="k", time="t") as stream:
        stream.learn(rows(9))
    assert "settings differ" in refused("state", "merge", paths[0], tmp_path / "other", "--into", tmp_path / "x")


def content(path: Path) -> dict[str, bytes]:
    """Return all files but those that SQLite makes for a reader."""
    found = {str(each.relative_to(path)): each.read_bytes() for each in path.rglob("*") if each.is_file()}
    return {name: data for name, data in found.items() if not name.endswith("-shm") and (data or "-wal" not in name)}


@pytest.mark.parametrize("command", ["merge", "backup"])
def test_a_failed_run_destroys_nothing(tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, mine = stopped(tmp_path / "s"), tmp_path / "mine"
    (mine / "deep").mkdir(parents=True)
    (mine / "deep" / "letter").write_text("dear")
    before = content(tmp_path)
    names = [path, path] if command == "merge" else [path]
    for to in (mine, mine / "deep" / "letter"):
        given = [*names, *(["--into", to] if command == "merge" else [to])]
        assert "name a new" in refused("state", command, *given) or command == "merge"
        assert content(tmp_path) == before
    if command == "merge":
        monkeypatch.setattr(Store, "checkpoint", fails)
    else:
        monkeypatch.setattr(StoreReader, "copy_to", fails)
    to = tmp_path / "new"
    to.mkdir()
    refused("state", command, path, *(["--into", to] if command == "merge" else [to]))
    assert content(tmp_path) == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine", "new", "s"]


def fails(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_second_repair_keeps_what_the_first_has_put_aside(tmp_path: Path) -> None:
    path = stopped(tmp_path / "s")
    first = (path / folder.DATABASE).read_bytes()
    for number in range(3):
        change(path, f"UPDATE memory SET row = zeroblob(length(row)) WHERE number = {number}")
        run("state", "repair", path)
    found = sorted(each.name for each in path.glob("*.damaged*"))
    assert found == ["stream.sqlite.damaged", "stream.sqlite.damaged.2", "stream.sqlite.damaged.3"]
    with sqlite3.connect(path / "stream.sqlite.damaged") as connection:
        assert connection.execute("SELECT count(*) FROM series").fetchone() == (3,)
    assert len(first) == (path / "stream.sqlite.damaged").stat().st_size


@pytest.mark.parametrize("command", ["drop", "reset"])
def test_an_id_that_is_given_twice_counts_once(tmp_path: Path, command: str) -> None:
    path = stopped(tmp_path / "s")
    twice = ("--id", "series 1", "--id", "series 1")
    assert done("state", command, path, *twice).startswith("1 series")
    with opened(path) as stream:
        assert len(stream) == len(stream.ids) == (2 if command == "drop" else 3)
        getattr(stream, command)(["series 0", "series 0"])
    with opened(path) as stream:
        assert len(stream) == len(stream.ids) == (1 if command == "drop" else 3)
    assert "is sound" in done("state", "check", path)


def test_compact_gives_back_the_room_of_forgotten_series(tmp_path: Path) -> None:
    with Stream(tmp_path, Forecaster(lags=1), key="k") as stream:
        stream.learn([{"k": i, "y": 1.0} for i in range(400)])
        stream.drop(list(range(390)))
    before = (tmp_path / folder.DATABASE).stat().st_size
    assert "MB before" in done("state", "compact", tmp_path)
    assert (tmp_path / folder.DATABASE).stat().st_size < before / 10
    assert len(load(tmp_path)) == 10


def test_a_folder_is_forecast(tmp_path: Path) -> None:
    path = killed(tmp_path / "s")
    expected = load(path).forecast(3, levels=[0.8])
    lines = done("forecast", "--state", path, "--horizon", "3", "--level", "80").splitlines()
    assert lines[0] == "k,step,mean,median,sd,lower_80,upper_80"
    assert len(lines) == 1 + 9
    found = dict(zip(lines[0].split(","), lines[4].split(","), strict=True))
    assert (found["k"], found["step"]) == (expected.ids[1], "1")
    assert float(found["mean"]) == expected.mean[1, 0]
    assert done("forecast", "--state", path, "--id", "series 1").count("series 1") == 1
    assert "no series 'series 9'" in refused("forecast", "--state", path, "--id", "series 9")
    assert "--lags does not go with --state" in refused("forecast", "--state", path, "--lags", "2")
    assert "leave FILE out" in refused("forecast", "--state", path, "-")
    assert "name a FILE" in refused("forecast")


@pytest.mark.parametrize("make", [lambda: Forecaster(lags=1), Forecaster], ids=["lags", "automatic"])
def test_a_folder_and_one_of_its_series_are_shown(tmp_path: Path, make: Any) -> None:
    with Stream(tmp_path, make(), key=["dc", "host"], time="t", checkpoint_every=40) as stream:
        for at in range(0, 60, 5):
            stream.learn([{"dc": "eu", "host": i % 2, "t": i, "y": float(i % 5)} for i in range(at, at + 5)])
        shown = done("inspect", tmp_path)
        assert "rows learned                        60" in shown
        assert "of these since the last checkpoint  20" in shown
        assert "eu/0, eu/1" in shown
        assert "newest time" in done("inspect", tmp_path, "--id", "eu/0")
        found = json.loads(done("inspect", tmp_path, "--json"))
        assert (found["n_learned"], found["row"], found["n_series"]) == (60, 60, 2)
        shown = done("inspect", tmp_path, "--id", "eu/1")
        assert "rows learned              30" in shown
        assert "newest time               59" in shown
        assert ("Level" in shown or "level" in shown) if make is Forecaster else "step" in shown
        found = json.loads(done("inspect", tmp_path, "--id", "eu/1", "--json"))
        assert (found["id"], found["n_rows"], found["rows_since"]) == (["eu", 1], 30, 0)


def test_a_changed_file_is_shown_to_be_damaged(tmp_path: Path) -> None:
    path = stopped(tmp_path / "s")
    changed(path / folder.DATABASE, 100)
    assert "damaged" in refused("inspect", path)


PARTS = st.one_of(st.integers(-5, 20), st.text(st.sampled_from('a/",\\1 é'), min_size=1, max_size=4)).filter(
    lambda part: not isinstance(part, str) or bool(part.strip())
)


@given(st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=6, unique_by=repr))
def test_a_compound_id_is_written_in_one_way_which_says_which_it_is(ids: list[tuple[Any, Any]]) -> None:
    keys = [key_of(id) for id in ids]
    texts = [str(panel_id(key)) for key in keys]
    assert len(set(texts)) == len(set(keys))
    for key, text in zip(keys, texts, strict=True):
        assert find_key(text, keys.__contains__, keys) == key


@pytest.mark.parametrize(
    ("freq", "cells", "expected"),
    [
        ("10 minutes", ["2024-01-01T23:45", "2024-01-01T23:55"], ["2024-01-02T00:05:00", "2024-01-02T00:15:00"]),
        ("1 hour", ["2024-01-01T09:00:00+02:00", "2024-01-01T10:00:00+02:00"],
         ["2024-01-01T09:00:00Z", "2024-01-01T10:00:00Z"]),
        ("day", ["2024-02-27", "2024-02-28"], ["2024-02-29", "2024-03-01"]),
        ("month", ["2023-12-31", "2024-01-31"], ["2024-02-29", "2024-03-31"]),
        ("0.5", [1, 1.5], ["2.0", "2.5"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_known", [True, False])
def test_forecasts_of_a_folder_have_the_times_to_come(
    tmp_path: Path, freq: str, cells: list[Any], expected: list[str], is_known: bool
) -> None:
    with Stream(tmp_path, Forecaster(lags=1), time="ts", freq=freq if is_known else None) as stream:
        stream.learn([{"ts": cell, "y": 1.0} for cell in cells])
    options = ["--horizon", "2", "--levels", "50,90", "--quantiles", "10", *([] if is_known else ["--freq", freq])]
    header, *lines = csv.reader(done("forecast", "--state", tmp_path, *options).splitlines())
    assert header[:4] == ["unique_id", "ts", "step", "mean"]
    assert header[-5:] == ["lower_50", "upper_50", "lower_90", "upper_90", "quantile_10"]
    assert [line[1] for line in lines] == expected
    assert "leave one of them out" in refused("forecast", "--state", tmp_path, "--level", "50", "--levels", "50")
    if not is_known:
        assert "ts" not in done("forecast", "--state", tmp_path).splitlines()[0].split(",")
        assert "--freq is soon" in refused("forecast", "--state", tmp_path, "--freq", "soon").replace("'", "")


def test_a_folder_is_forecast_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = killed(tmp_path / "s")
    whole = done("forecast", "--state", path, "--horizon", "2")
    monkeypatch.setattr("adabypass.streaming.view.BLOCK", 2)
    assert done("forecast", "--state", path, "--horizon", "2") == whole


def test_ids_that_a_slash_would_confuse_are_told_apart_wherever_they_are_printed(tmp_path: Path) -> None:
    ids = [("a/b", "c"), ("a", "b/c"), ("eu", "1"), ("eu", 1)]
    with Stream(tmp_path, Forecaster(lags=1), key=["dc", "host"]) as stream:
        stream.learn([{"dc": dc, "host": host, "y": 1.0 + i % 3} for i in range(9) for dc, host in ids])
        names = stream.panel().ids
    assert names == ['"a/b"/c', 'a/"b/c"', 'eu/"1"', "eu/1"]
    assert load(tmp_path).ids == names
    shown = json.loads(done("inspect", tmp_path, "--json"))
    assert [tuple(id) for id in shown["ids"]] == ids
    for name, id in zip(names, ids, strict=True):
        assert json.loads(done("inspect", tmp_path, "--id", name, "--json"))["id"] == list(id)
        (_, *lines) = csv.reader(done("forecast", "--state", tmp_path, "--id", name).splitlines())
        assert [line[0] for line in lines] == [name]
    assert done("state", "drop", tmp_path, "--id", names[0], "--id", names[2]).startswith("2 series")
    assert load(tmp_path).ids == [names[1], names[3]]
    assert "1 series" in done("state", "drop", tmp_path, "--id", "a/b/c")  # nothing else can be meant


@pytest.mark.parametrize("make", [lambda: Forecaster(lags=1), lambda: Forecaster(lags=3), Forecaster])
def test_a_young_series_is_shown_without_numbers_that_are_none(tmp_path: Path, make: Any) -> None:
    with Stream(tmp_path, make(), key="k") as stream:
        for i in range(12):
            stream.learn({"k": "a", "y": float(i * i % 7)})
            shown = done("inspect", tmp_path, "--id", "a")
            assert "nan" not in shown
            assert "inf" not in shown


def test_a_stream_that_is_gone_lets_another_one_have_the_folder(tmp_path: Path) -> None:
    stream = Stream(tmp_path, Forecaster(lags=1))
    stream.learn({"y": 1.0})
    with pytest.raises(LockedError, match="another Stream of this process"):
        Stream(tmp_path, Forecaster(lags=1))
    del stream
    with Stream(tmp_path, Forecaster(lags=1)) as other:
        assert other.n_learned == 1
