"""What operators can choose: fields, formats, files, and what becomes of bad rows."""

import csv
import io
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from pytest import approx

from adabypass import Forecaster, load_dataset
from adabypass.results.trace import Trace
from tests.cli.in_process import Done, stream
from tests.cli.test_forecasting import COMMAND

NILE = load_dataset("nile").y
GIVEN = "y\n" + "".join(f"{y!r}\n" for y in NILE.tolist())
CLOSE = 1e-9  # one row at a time or all at once: sums in another order


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Forecaster(lags=1).run(NILE)


def rows(done: Done) -> list[dict[str, Any]]:
    assert done.error is None, done.error
    return [json.loads(line) for line in done.out.splitlines()]


def column(answers: list[dict[str, Any]], name: str) -> list[Any]:
    """Return a column without the first two rows, of which nothing was known."""
    return [answer[name] for answer in answers[2:]]


def test_every_field_is_what_the_library_computes(trace: Trace) -> None:
    every = "mean,sd,interval,quantiles,log_score,surprise,anomaly,change"
    answers = rows(stream("--model", "lag", "--fields", every, "--quantiles", "10,50", "--level", "80", given=GIVEN))
    assert list(answers[5]) == [
        "y", "mean", "sd", "lower_80", "upper_80", "quantile_10", "quantile_50", "log_score", "surprise", "anomaly",
        "change",
    ]  # fmt: skip
    assert column(answers, "mean") == approx(trace.mean[1:], rel=CLOSE)
    assert column(answers, "log_score") == approx(trace.log_score[1:], rel=CLOSE)
    assert column(answers, "surprise") == approx(trace.surprise()[1:], rel=1e-6, abs=1e-6)
    quantiles = trace.predictive[np.arange(1, len(trace))].quantile([0.1, 0.5])
    assert column(answers, "quantile_10") == approx(quantiles[0], rel=1e-6)
    assert column(answers, "quantile_50") == approx(quantiles[1], rel=1e-6)
    assert all(answer["mean"] is None and answer["anomaly"] is None for answer in answers[:2])


def test_anomalies_are_as_many_as_the_rate_says() -> None:
    rng = np.random.default_rng(4)
    y = rng.normal(size=3000)
    y[1500] = 25.0
    given = "y\n" + "".join(f"{each}\n" for each in y)
    flags = column(rows(stream("--fields", "anomaly", "--false-alarms", "0.02", given=given)), "anomaly")
    assert 0.01 < np.mean(flags) < 0.035  # 3000 draws: a standard error of 0.0026, and a model that is still learning
    rare = column(rows(stream("--fields", "anomaly", "--false-alarms", "0.0001", given=given)), "anomaly")
    assert rare[1498]
    assert sum(rare) <= 2


@pytest.mark.parametrize("options", [("--lags", "1"), (), ("--lags", "1", "--model", "skf")])
def test_a_change_of_level_or_noise_is_reported_once_and_soon(options: tuple[str, ...]) -> None:
    y = np.random.default_rng(5).normal(size=1000)
    y[500:] = 8.0 * y[500:] if "skf" not in options else y[500:] + 20.0  # whose noise has a fixed scale
    answers = rows(stream(*options, "--fields", "change", given="y\n" + "".join(f"{each}\n" for each in y)))
    alarms = [(number, answer["change"]) for number, answer in enumerate(answers) if answer["change"] is not None]
    near = [(number, kind) for number, kind in alarms if 500 <= number < 540]
    assert near[0][0] < 515
    assert near[0][1] in ("level", "noise")
    assert len(near) <= 2
    assert len(alarms) - len(near) <= (2 if "skf" not in options else 40)


def test_csv_and_json_lines_hold_the_same() -> None:
    given = "t,k,y\n" + "".join(f'2024-01-{i + 1:02d},"a, ""{i % 2}""",{NILE[i]}\n' for i in range(20))
    options = ("--time", "t", "--id", "k", "--fields", "mean,anomaly")
    objects = rows(stream(*options, given=given))
    table = list(csv.DictReader(io.StringIO(stream(*options, "--format", "csv", given=given).out)))
    assert list(table[0]) == list(objects[0]) == ["t", "k", "y", "mean", "anomaly"]
    assert objects[3]["k"] == table[3]["k"] == 'a, "1"'
    assert objects[3]["t"] == table[3]["t"] == "2024-01-04"
    for row, each in zip(table, objects, strict=True):
        assert row["mean"] == ("" if each["mean"] is None else repr(each["mean"]))
        assert row["anomaly"] == ("" if each["anomaly"] is None else str(each["anomaly"]).lower())


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_file_holds_what_would_have_been_printed(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"answers.{ending}"
    expected = rows(stream(given=GIVEN))
    done = stream("--out", path, given=GIVEN)
    assert (done.error, done.out, done.code) == (None, "", 0)
    if ending == "parquet":
        table = pyarrow.parquet.read_table(path)
        assert table.to_pylist() == expected
        assert table.schema.field("mean").type == pyarrow.float64()
    elif ending == "csv":
        found = list(csv.DictReader(io.StringIO(path.read_text())))
        assert [row["sd"] for row in found] == ["" if row["sd"] is None else repr(row["sd"]) for row in expected]
    else:
        assert [json.loads(line) for line in path.read_text().splitlines()] == expected
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_failed_run_leaves_the_old_file(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"answers.{ending}"
    path.write_text("old")
    failed = stream("--out", path, given="y\n1\n2\noops\n")
    assert failed.error is not None
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_sigterm_completes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    command = [*COMMAND, "stream", "--out", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write(GIVEN[:2000])
        process.stdin.flush()
        part = path.with_name(".answers.csv.part")
        while not part.exists():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    assert path.read_text().startswith("y,mean,sd,lower_90,upper_90\n")


BAD = "k,x,y\na,1,1.5\na,2,oops\na,3\na,4,2.5\n,5,3.5\na,zero,4.5\na,7,inf\na,8,5.5\n"
"""Row 2 has no number, row 3 a cell too few, row 5 no id, row 6 no exogenous number, row 7 no finite number."""


def test_bad_rows_end_the_stream_unless_they_are_skipped() -> None:
    failed = stream("--id", "k", "--exog", "x", given=BAD)
    assert 'row 2, column "y": "oops" is not a number' in str(failed.error)
    skipped = stream("--id", "k", "--exog", "x", "--on-bad-row", "skip", given=BAD)
    assert [row["y"] for row in rows(skipped)] == [1.5, 2.5, 5.5]
    reasons = [line for line in skipped.err.splitlines() if "skipped: standard input: row" in line]
    assert [int(line.split("row ")[1].split()[0].strip(",")) for line in reasons] == [2, 3, 5, 6, 7]
    assert "Rows that could not be read, and were skipped: 5." in skipped.err


def test_what_is_no_number_may_count_as_missing() -> None:
    found = stream("--id", "k", "--exog", "x", "--missing", "last", "--on-bad-row", "missing", given=BAD)
    assert [row["y"] for row in rows(found)] == [1.5, None, 2.5, 4.5, None, 5.5]
    assert found.err.count("skipped: standard input: row") == 2  # a row with a cell too few, and one without an id


@pytest.mark.parametrize(
    ("given", "n_good"),
    [
        (b'{"y": 1}\n{"y": \n{"y": 2}\n[3]\n{"y": 3}\n', 3),
        (b"y\n1\n2\xe9\n3\n4\x00\n5\n", 3),
        (b'a,y\n1,1\n"x"y,2\n3,3\n', 2),
        (b'{"y": 1}\n' + b'{"y": ' + b"[" * 5000 + b'\n{"y": 2}\n', 2),
    ],
)
def test_lines_that_are_no_rows_are_skipped_too(given: bytes, n_good: int) -> None:
    assert stream(given=given).error is not None
    assert len(rows(stream("--on-bad-row", "skip", given=given))) == n_good


def test_times_that_do_not_increase_are_bad_rows() -> None:
    given = "t,y\n2024-01-01,1\n2024-01-03,2\n2024-01-02,3\n2024-01-03,4\n5,5\n2024-02,6\n"
    failed = stream("--time", "t", given=given)
    assert 'row 3, column "t": "2024-01-02" is not later than "2024-01-03"' in str(failed.error)
    skipped = stream("--time", "t", "--on-bad-row", "skip", given=given)
    assert [row["t"] for row in rows(skipped)] == ["2024-01-01", "2024-01-03", "2024-02"]
    assert '"5" cannot be compared with' in skipped.err


@pytest.mark.parametrize("cell", ["", "soon", "nan", "2024-13-01"])
def test_what_is_no_time_is_named(cell: str) -> None:
    assert f'row 1, column "t": "{cell}" is not a time' in str(stream("--time", "t", given=f"t,y\n{cell},1\n").error)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--fields", "median"], "median is not among mean, sd, interval"),
        (["--fields", "sd", "--model", "pa"], "this model forecasts points"),
        (["--fields", "change", "--model", "pa"], "this model forecasts points"),
        (["--false-alarms", "0.5"], "--false-alarms"),
        (["--quantiles", "0,50"], "not a list of percentages"),
        (["--every", "5"], "--every needs --state"),
        (["--out", "a.tsv"], "ends in .csv, .jsonl or .parquet"),
        (["--out", "a.csv", "--format", "jsonl"], "--format jsonl does not fit"),
        (["--out", "a.parquet", "--state", "s"], "a Parquet file cannot grow"),
        (["--time", "mean"], 'an answer would have two columns "mean"'),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], says: str, tmp_path: Path) -> None:
    options = [str(tmp_path / each) if each.startswith("a.") or each == "s" else each for each in options]
    refused = stream(*options, given="y\n1\n")
    assert refused.code == 2
    assert says in " ".join(refused.err.split())
    assert os.listdir(tmp_path) == []
