"""What `adabypass stream` makes of its input: ids and targets of several columns, gaps, far times and late rows."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass import Forecaster, load_dataset
from adabypass.errors import ParameterError
from tests.cli.in_process import Done, stream
from tests.cli.test_stream_state import done, killed_after

NILE = load_dataset("nile").y.tolist()


def answers(run: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done(run).splitlines()]


def csv_of(header: str, rows: list[Any]) -> str:
    return "".join(f"{','.join(map(str, row))}\n" for row in [header.split(","), *rows])


MACHINES = [(i, "ab"[i % 2], f"web-{i % 3}", NILE[i], 100 + NILE[i + 200]) for i in range(90)]
WHO = ("--id", "dc,host", "--time", "ts")


def test_several_targets_of_several_ids_are_series_each() -> None:
    found = answers(stream("--target", "cpu,mem", *WHO, given=csv_of("ts,dc,host,cpu,mem", MACHINES)))
    assert [list(each)[:5] for each in found[:2]] == [["ts", "dc", "host", "target", "y"]] * 2
    assert [(each["target"], each["y"]) for each in found[:2]] == [("cpu", NILE[0]), ("mem", 100 + NILE[200])]
    for target, at in (("cpu", 3), ("mem", 4)):
        alone = csv_of("ts,dc,host,y", [(*row[:3], row[at]) for row in MACHINES])
        mine = [{name: each[name] for name in each if name != "target"} for each in found if each["target"] == target]
        assert mine == answers(stream(*WHO, given=alone))


def test_names_with_dots_lead_into_nested_json() -> None:
    nested = [
        {"ts": ts, "labels": {"dc": dc, "k8s.io/host": host}, "metrics": {"cpu": cpu}, "m.x": mem}
        for ts, dc, host, cpu, mem in MACHINES
    ]
    given = "".join(f"{json.dumps(each)}\n" for each in nested)
    options = ("--target", "metrics.cpu", "--id", "labels.dc,labels.k8s.io/host", "--exog", "m.x", "--missing", "last")
    found = answers(stream(*options, given=given))
    flat = csv_of("labels.dc,labels.k8s.io/host,metrics.cpu,m.x", [row[1:] for row in MACHINES])
    assert found == answers(stream(*options, given=flat))
    absent = given.replace('"cpu"', '"gpu"', 60).replace('"gpu"', '"cpu"', 59)
    assert 'row 60: there is no column "metrics.cpu"' in str(stream(*options, given=absent).error)


TIMED = ("--time", "t", "--lags", "1")


def hours(*every: int) -> str:
    return csv_of("t,y", [(f"2024-01-{1 + hour // 24:02d}T{hour % 24:02d}:00", NILE[hour]) for hour in every])


def test_the_steps_of_a_gap_pass_as_missing_values(tmp_path: Path) -> None:
    seen = [*range(30), *range(130, 160)]
    found = answers(stream(*TIMED, "--freq", "hour", "--state", tmp_path / "s", given=hours(*seen)))
    judge, expected = Forecaster(lags=1), []
    for hour in range(160):
        forecast = judge.step(NILE[hour] if hour in seen else float("nan"))
        if hour in seen:
            expected.append(forecast.mean if forecast is not None and forecast.is_known else None)
    assert [each["mean"] for each in found] == expected
    assert len(found) == 60


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--freq", "hour"], "--freq needs --time"),
        (["--max-jump", "hour"], "--max-jump needs --time"),
        (["--time", "t", "--max-jump", "2 months"], "has no fixed length; give it in days or weeks"),
        (["--time", "t", "--freq", "day", "--exog", "x"], "choose --missing mean or --missing last"),
        (["--bad-rows", "f"], "--bad-rows needs --on-bad-row skip or missing"),
        (["--only", "surprise"], "surprise is not among anomaly, change"),
        (["--only", "anomaly", "--model", "pa"], "this model forecasts points: --only has no flags"),
        (["--rotate", "100MB", "--out", "a.csv"], "--rotate needs --state"),
        (["--rotate", "0", "--out", "a.csv"], "is not a size above 0; write one as in 100MB"),
        (["--target", ","], "--target names no column"),
        (["--target", "y,target", "--id", "target"], 'would have two columns "target"'),
        (["--target", "y,y"], '--target names the column "y" twice'),
        (["--exog", "y"], 'the column "y" is in --target and in --exog: its values would be known before'),
        (["--time", "t", "--forget-after", "soon"], "--forget-after is 'soon', which is not a span of time"),
        (["--forget-after", "1 day"], "--forget-after (rows, as they have no time) is '1 day'"),
        (["--time", "t", "--forget-after", "1 month"], "--forget-after is 1 month, which has no fixed length"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], says: str) -> None:
    refused = stream(*options, given="y\n1\n")
    assert refused.code == 2
    assert says in " ".join(refused.err.split())


def test_a_span_in_another_unit_than_times_ends_the_stream() -> None:
    refused = stream(*TIMED, "--freq", "hour", given="t,y\n1,1\n2,2\n")
    assert "--freq is hour, but times are numbers; write a number." in str(refused.error)


@pytest.mark.parametrize(
    ("time", "span", "says"),
    [
        ("2024-01-01", "30", '--forget-after is 30, but times are dates; write a span such as "10 minutes".'),
        ("5", "1 day", "--forget-after is 1 day, but times are numbers; write a number."),
    ],
)
def test_a_span_to_forget_after_that_does_not_fit_the_times_is_named(time: str, span: str, says: str) -> None:
    refused = stream(*TIMED, "--forget-after", span, given=f"t,y\n{time},1\n")
    assert isinstance(refused.error, ParameterError)
    assert says in str(refused.error)


def test_two_rows_in_one_step_are_refused() -> None:
    given = csv_of("t,y", [(0, 1), (60, 2), (70, 3), (121, 4)])
    found = stream(*TIMED, "--freq", "60", "--on-bad-row", "skip", given=given)
    assert [each["t"] for each in answers(found)] == ["0", "60", "121"]
    assert '"70" is less than half of --freq 60 after "60", the time of the row before it' in found.err


def test_a_wrong_clock_silences_nobody() -> None:
    rows: list[Any] = [(i, "ab"[i % 2], NILE[i]) for i in range(40)]
    wrong = [*rows[:20], (4102444800, "a", 1.0), (4102444900, "b", 1.0), *rows[20:]]
    options = ("--time", "t", "--id", "k", "--on-bad-row", "skip")
    found = stream(*options, "--max-jump", "1000", given=csv_of("t,k,y", wrong))
    assert answers(found) == answers(stream(*options, given=csv_of("t,k,y", rows)))
    assert "Rows that could not be read, and were skipped: 2." in found.err
    without = stream(*options, given=csv_of("t,k,y", wrong))
    assert "Rows that came late, and were left out: 20." in without.err


def test_late_rows_end_only_a_stream_that_is_to_fail() -> None:
    given = csv_of("t,y", [(1, 1), (3, 2), (2, 3), (3, 4), (4, 5)])
    assert 'row 3, column "t": "2" is not later than "3"' in str(stream("--time", "t", given=given).error)
    skipped = stream("--time", "t", "--on-bad-row", "skip", given=given)
    assert [each["t"] for each in answers(skipped)] == ["1", "3", "4"]
    assert "Rows that came late, and were left out: 2." in skipped.err
    assert "could not be read" not in skipped.err


SHUFFLED = st.lists(st.integers(0, 8), min_size=60, max_size=60)


def late_by(delays: list[int]) -> list[tuple[int, str, float]]:
    """Return rows in the order in which they come, each later by its delay."""
    rows = [(i, "abc"[i % 3], NILE[i]) for i in range(len(delays))]
    return sorted(rows, key=lambda row: row[0] + delays[row[0]])


@settings(max_examples=20, deadline=None)
@given(SHUFFLED)
def test_rows_that_are_late_within_the_window_are_sorted_in(delays: list[int]) -> None:
    options = ("--time", "t", "--id", "k", "--lags", "1")
    found = stream(*options, "--reorder-window", "9", given=csv_of("t,k,y", late_by(delays)))
    whole = stream(*options, given=csv_of("t,k,y", late_by([0] * 60)))
    assert sorted(done(found).splitlines()) == sorted(done(whole).splitlines())


@settings(max_examples=20, deadline=None)
@given(delays=SHUFFLED, cut=st.integers(0, 60), window=st.integers(2, 6), every=st.sampled_from([1, 7, 1000]))
def test_rows_that_were_held_back_when_a_stream_was_killed_are_not_lost(
    delays: list[int], cut: int, window: int, every: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The window is too short for some rows: these are late in both runs, and in no run learned."""
    folder = tmp_path_factory.mktemp("state") / "s"
    rows = late_by(delays)
    options = ["--time", "t", "--id", "k", "--lags", "1", "--on-bad-row", "skip", "--reorder-window", str(window)]
    whole = done(stream(*options, given=csv_of("t,k,y", rows))).splitlines()
    killed = killed_after(folder, options, csv_of("t,k,y", rows[:cut]), every).splitlines()
    rest = done(stream(*options, "--state", folder, given=csv_of("t,k,y", rows))).splitlines()
    assert killed + rest == whole


def test_bad_rows_are_kept_in_a_file_and_told_of_in_few_words(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    given = "t,y\n" + "".join(f"{i},{'oops' if i % 2 else i}\n" for i in range(100)) + "5,5\nlast\n"
    options = ("--time", "t", "--on-bad-row", "skip", "--bad-rows", path)
    found = stream(*options, given=given)
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    assert [each["row"] for each in kept] == [*range(2, 101, 2), 101, 102]
    assert kept[0]["record"] == "1,oops\n"
    assert kept[-2]["error"].endswith('"5" is not later than "98", the time of the row before it (line 102)')
    assert found.err.count("skipped: standard input") == 20
    assert "and 32 more such messages within a minute." in found.err
    assert "skipped: 51." in found.err
    done(stream(*options, given="t,y\n1,no\n2,1\n"))
    assert len(path.read_text().splitlines()) == 53


def test_only_flagged_rows_are_answered_and_all_are_learned(tmp_path: Path) -> None:
    given = "y\n" + "".join(f"{100.0 if i in (300, 500) else NILE[i]}\n" for i in range(600))
    options = ("--lags", "1", "--false-alarms", "0.01")
    every = answers(stream(*options, "--fields", "mean,sd,interval,anomaly", given=given))
    flagged = [each for each in every if each["anomaly"]]
    assert 2 <= len(flagged) < 30
    only = stream(*options, "--only", "anomaly", "--state", tmp_path / "s", given=given)
    assert answers(only) == flagged
    again = stream(*options, "--only", "anomaly", "--state", tmp_path / "s", given=given)
    assert (again.out, "skipped: 600." in again.err) == ("", True)


def test_counts_are_reported_and_written_for_prometheus(tmp_path: Path) -> None:
    path = tmp_path / "stream.prom"
    given = csv_of("t,k,y", [(1, "a", 1), (2, "b", 1), (1, "a", 2), (3, "a", "x"), (4, "a", 1)])
    found = stream(
        "--time", "t", "--id", "k", "--on-bad-row", "skip", "--stats", "3600", "--metrics-file", path, given=given
    )
    assert "stats: rows=3 series=2 us_per_row=" in found.err
    assert "late=1 bad=1 gap_steps=0" in found.err
    assert "adabypass_stream_rows_total 3\n" in path.read_text()


def test_help_lists_options_under_headings() -> None:
    text = done(stream("--help"))
    headings = ["Input", "Time", "Model", "Answers", "State", "Kafka", "Operation", "Options"]
    places = [text.index(f"\n{heading}:\n") for heading in headings]
    assert places == sorted(places)
    assert places[1] < text.index("--reorder-window SPAN") < places[2]
    assert places[2] < text.index("--seasonal-lags") < places[3]
