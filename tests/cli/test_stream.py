"""A stream is answered line by line, each before the next is waited for."""

import json
import subprocess
from typing import IO, Any

import numpy as np
import pytest
from pytest import approx

from adabypass import Forecaster, SequentialKalman, load_dataset
from tests.cli.in_process import program as run
from tests.cli.test_forecasting import COMMAND


def answers(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_answers_are_the_forecasts_made_before() -> None:
    y = load_dataset("nile").y
    rows = answers(
        run("stream", given="year,y\n" + "".join(f"{i},{value!r}\n" for i, value in enumerate(y.tolist()))).stdout
    )
    trace = Forecaster().run(y)
    low, high = trace.predictive.interval(0.9)
    assert rows[0] == {"y": y[0], "mean": None, "sd": None, "lower_90": None, "upper_90": None}
    assert [row["mean"] for row in rows[1:]] == approx(list(trace.mean), rel=1e-12)
    assert [row["sd"] for row in rows[1:]] == approx(list(trace.sd), rel=1e-12)
    for name, bound in (("lower_90", low), ("upper_90", high)):
        miss = np.array([row[name] for row in rows[1:]]) - bound
        assert np.abs(miss / trace.sd).max() < 1e-3


def test_the_light_model_answers_with_one_lag() -> None:
    y = load_dataset("nile").y[:200]
    given = "y\n" + "".join(f"{value!r}\n" for value in y.tolist())
    every = (["--model", "lag"], ["--lags", "1"])
    lag, lags = (answers(run("stream", *options, given=given).stdout) for options in every)
    assert lag == lags
    trace = Forecaster(lags=1).run(y)
    assert lag[1] == {"y": y[1], "mean": None, "sd": None, "lower_90": None, "upper_90": None}
    assert [row["mean"] for row in lag[2:]] == approx(list(trace.mean[1:]), rel=1e-12)


def test_a_season_is_found_as_rows_arrive() -> None:
    t, rng = np.arange(200), np.random.default_rng(0)
    y = 50.0 + 10.0 * np.sin(2 * np.pi * t / 12) + rng.normal(size=200)
    rows = answers(run("stream", given="y\n" + "".join(f"{value!r}\n" for value in y.tolist())).stdout)
    errors = np.array([row["mean"] for row in rows[100:]]) - y[100:]
    assert np.sqrt(np.mean(errors**2)) < 1.3


def test_each_line_is_answered_before_the_next_is_sent() -> None:
    with subprocess.Popen([*COMMAND, "stream"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        to, back = _pipes(process.stdin, process.stdout)
        print("y", file=to, flush=True)
        for value in (1.0, 2.0, 1.5):
            print(value, file=to, flush=True)
            assert json.loads(back.readline())["y"] == value  # would wait for ever, were the answer held back
        to.close()
    assert process.returncode == 0


@pytest.mark.parametrize("start", ["y\n", '{"y": 0}\n'], ids=["CSV", "JSON"])
def test_rows_that_come_together_are_all_answered_before_more_is_waited_for(start: str) -> None:
    """Answers share a write where rows share a read; part of a row that is still to come holds none of them back."""
    with subprocess.Popen([*COMMAND, "stream"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        to, back = _pipes(process.stdin, process.stdout)
        values = [float(i % 7) for i in range(1000)]
        row = "{}\n" if start == "y\n" else '{{"y": {}}}\n'
        to.write(start + "".join(row.format(value) for value in values) + row.format(12345.0)[:3])
        to.flush()
        seen = [json.loads(back.readline())["y"] for _ in range(1000 + (start != "y\n"))]
        assert seen[-1000:] == values
        to.close()
        back.read()
    assert process.returncode == (0 if start == "y\n" else 2)  # what is left is a number, but no JSON


def test_answers_come_before_the_error_that_ends_them() -> None:
    done = subprocess.run(
        [*COMMAND, "stream"],
        input="y\n1\n2\nabc\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert [line[:1] for line in done.stdout.splitlines()] == ["{", "{", "a"]


def test_a_quote_that_is_not_closed_does_not_wait_for_ever() -> None:
    """The input stays open: the error comes after ten lines, not at the end."""
    with subprocess.Popen(
        [*COMMAND, "stream", "--model", "pa"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write('y,note\n1,a\n2,"b\n' + "3,c\n" * 10)
        process.stdin.flush()
        assert len(process.stdout.readlines()) == 1
        assert "row 2, which begins on line 3, has a quote that is not closed within 10 lines" in process.stderr.read()
        assert process.wait() == 2


def test_a_quoted_cell_may_hold_a_few_lines() -> None:
    text = 'y,note\n\n\n\n1,"a\nb\nc"\n' + "\n" * 20 + '2,5" wide\n' + "\n" * 20 + '3,"d\n\n\n\n\n\n\n\n\ne"\n4,f\n'
    assert [answer["y"] for answer in answers(run("stream", given=text).stdout)] == [1.0, 2.0, 3.0, 4.0]


def _pipes(to: IO[str] | None, back: IO[str] | None) -> tuple[IO[str], IO[str]]:
    assert to is not None
    assert back is not None
    return to, back


def test_json_lines_gaps_and_other_models() -> None:
    y = [1.0, 2.0, None, 3.0, 2.5]
    rows = answers(run("stream", "--model", "skf", given="".join(json.dumps({"y": v}) + "\n" for v in y)).stdout)
    trace = Forecaster(SequentialKalman(adapt_noise=True)).run([np.nan if v is None else v for v in y])
    assert [row["y"] for row in rows] == y
    assert [row["mean"] for row in rows[1:]] == approx(list(trace.mean))
    assert [row["lower_90"] for row in rows[1:]] == approx(list(trace.predictive.interval(0.9)[0]))


def test_series_are_learned_apart_and_exogenous_columns_are_used() -> None:
    rng = np.random.default_rng(0)
    lines, alone = ["key,x,y"], Forecaster()
    means = []
    for _ in range(60):
        for key, slope in (("a", 2.0), ("b", -2.0)):
            x = rng.normal()
            y = slope * x + rng.normal(0, 0.1)
            lines.append(f"{key},{x!r},{y!r}")
            if key == "a":
                p = alone.step(y, [x])
                means.append(p.mean if p is not None and p.is_known else None)
    rows = answers(run("stream", "--id", "key", "--exog", "x", given="\n".join(lines)).stdout)
    assert [row["mean"] for row in rows if row["key"] == "a"] == approx(means)


def test_a_bad_cell_ends_the_stream_after_the_answers_before_it() -> None:
    done = run("stream", given="y\n1\n2\nabc\n4\n")
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 2
    assert 'row 3, column "y": "abc" is not a number' in done.stderr
    for given, says in (
        ("", "standard input is empty"),
        ("a,b\n1,2\n", 'there is no column "y"'),
        ("y\n1\ninf\n", "infinite"),
        ("y\n1\n1_000\n", '"1_000" is not a number'),
        ('y\n1\n"2\n', "standard input: row 2 has a quote that is not closed up to the end, line 3; close it"),
        ("a,y\n1\n", "row 1 has 1 cell, but the header has 2 (line 2)"),
        ('{"y": 1}\n{"y": \n', "line 2 is not JSON"),
        ('{"y": 1}\n[1]\n', "line 2 is not a JSON object"),
    ):
        done = run("stream", given=given)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), given
        assert says in done.stderr


def test_a_blank_exogenous_cell_is_named_or_filled_as_agreed() -> None:
    given = "x,y\n1,2\n2,3\n,4\n"
    done = run("stream", "--exog", "x", given=given)
    assert done.returncode == 2
    assert 'row 3, column "x": is blank; fill it, or choose --missing' in done.stderr
    assert len(run("stream", "--exog", "x", "--missing", "last", given=given).stdout.splitlines()) == 3


def test_whoever_stops_reading_is_not_told_off() -> None:
    text = "y\n" + "1.5\n2.5\n" * 3000
    done = subprocess.run(
        f"{' '.join(COMMAND)} stream | head -n 1", shell=True, input=text, capture_output=True, text=True, check=False
    )
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("given", "n_answers", "says"),
    [
        (b"y\n1\n2\n\xe9\n", 2, "line 4 holds the byte 0xe9, which is not UTF-8"),
        (b"y\n1\n2\x00\n", 1, "line 3 holds a NUL character"),
        ("y\n1\n".encode("utf-16"), 0, "is UTF-16 text; save it as UTF-8"),
        pytest.param(b'{"y": 1}\n{"y": ' + b"9" * 5000 + b"}\n", 1, "line 2 holds an integer of", id="digits"),
        pytest.param(b'{"y": 1}\n{"y": ' + b"[" * 100_000 + b"\n", 1, "line 2 is nested too deeply", id="nested"),
        (b'{"y": 1, "y": 2}\n', 0, 'line 1 has two values for "y"'),
        (b"k,y\na,1\n,2\n", 1, 'row 2, column "k": is blank, but every row needs the id of its series'),
    ],
)
def test_what_is_no_text_or_no_row_ends_in_one_line(given: bytes, n_answers: int, says: str) -> None:
    options = ["--id", "k"] if b"k," in given else []
    done = run("stream", *options, given=given)
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == n_answers
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


def test_a_byte_order_mark_and_quoted_cells_are_read() -> None:
    rows = answers(run("stream", given='\ufeff"a, b",y\r\n"1, ""x""\nz",2.5\r\n1,3\r\n').stdout)
    assert [row["y"] for row in rows] == [2.5, 3.0]


def test_numbers_and_text_are_different_ids() -> None:
    given = '{"id": 1, "y": 1}\n{"id": "1", "y": 2}\n{"id": 1, "y": 1}\n{"id": 1, "y": 1}\n'
    rows = answers(run("stream", "--id", "id", given=given).stdout)
    assert [row["id"] for row in rows] == [1, "1", 1, 1]
    assert [row["mean"] is None for row in rows] == [True, True, False, False]


def test_a_key_that_is_left_out_is_a_missing_value_on_request_but_not_in_the_first_row() -> None:
    given = '{"y": 1}\n{"x": 2}\n'
    assert answers(run("stream", "--on-bad-row", "missing", given=given).stdout)[1]["y"] is None
    assert 'row 1: there is no column "y"' in run("stream", given='{"x": 2}\n').stderr


def test_closed_standard_input_is_named() -> None:
    done = subprocess.run(f"{' '.join(COMMAND)} stream <&-", shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "standard input is closed" in done.stderr
