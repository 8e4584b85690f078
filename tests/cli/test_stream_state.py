"""A stream that was stopped goes on as if nothing had happened: no row is lost, none is learned twice."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass import Forecaster, Stream, load, load_dataset
from adabypass.errors import LockedError, StateError
from adabypass.streaming.store import Store
from tests.cli.in_process import Done, stream
from tests.cli.test_forecasting import COMMAND

NILE = load_dataset("nile").y.tolist()
PLAIN = ["y", *(repr(value) for value in NILE[:120])]
MANY = ["t,k,y,x", *(f"{i},{'ab'[i % 2]},{NILE[i]},{NILE[i + 200]}" for i in range(120))]
DATED = ["t,y", *(f"2024-01-01T{i // 60:02d}:{i % 60:02d}:00Z,{NILE[i]}" for i in range(120))]


def text(lines: list[str], start: int = 0, stop: int | None = None) -> str:
    """Return the header and some of the rows."""
    return "\n".join([lines[0], *lines[1:][start:stop]]) + "\n"


def done(run: Done) -> str:
    assert run.error is None, run.error
    assert run.code == 0, run.err
    return run.out


OPTIONS: dict[str, tuple[list[str], list[str]]] = {
    "one series": (PLAIN, []),
    "many series, exog": (MANY, ["--id", "k", "--exog", "x", "--model", "skf"]),
    "many series by time": (MANY, ["--id", "k", "--time", "t", "--lags", "2"]),
    "dates, every field": (
        DATED,
        ["--time", "t", "--fields", "mean,sd,interval,surprise,anomaly,change", "--lags", "1"],
    ),
    "automatic, exog": (MANY, ["--id", "k", "--exog", "x"]),
    "points as CSV": (PLAIN, ["--model", "pa", "--format", "csv"]),
}
every_option = pytest.mark.parametrize("name", OPTIONS)


@every_option
def test_a_stream_in_parts_is_answered_as_one_in_a_piece(name: str, tmp_path: Path) -> None:
    lines, options = OPTIONS[name]
    whole = done(stream(*options, given=text(lines)))
    found = ""
    for stop in (7, 7, 50, 51, 120):  # each time the same input, and more of it
        part = done(stream(*options, "--state", tmp_path / "s", "--every", "20", given=text(lines, 0, stop)))
        found += part if not found or "csv" not in options else part.partition("\n")[2]
    assert found == whole


@every_option
@settings(max_examples=10, deadline=None)
@given(cut=st.integers(0, 120), every=st.sampled_from([1, 13, 1000]))
def test_a_stream_that_was_killed_goes_on_as_if_it_had_not_been(
    name: str, cut: int, every: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines, options = OPTIONS[name]
    folder = tmp_path_factory.mktemp("state") / "s"
    whole = done(stream(*options, given=text(lines))).splitlines()
    killed = killed_after(folder, options, text(lines, 0, cut), every).splitlines()
    again = stream(*options, "--state", folder, given=text(lines))
    is_csv = "csv" in options
    assert killed + done(again).splitlines()[is_csv:] == whole if cut else done(again).splitlines() == whole
    assert ("resumed after" in again.err) == (cut > 0)


def killed_after(folder: Path, options: list[str], given: str, every: int) -> str:
    """Leave the folder as a kill would: without the checkpoint that is made at the end; return the answers so far."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adabypass.cli.stream_run.StreamRunner._finish", lambda loop: loop._flush())
        patch.setattr("adabypass.streaming.sources.ArrivingInput.read1", one_line_at_a_time)
        return done(stream(*options, "--state", folder, "--every", every, given=given))


def test_the_folder_says_how_rows_are_recognised(tmp_path: Path) -> None:
    first = stream("--state", tmp_path / "a", given=text(PLAIN, 0, 10))
    assert "a new state. Rows will be recognised by their number in the input." in first.err
    second = stream("--state", tmp_path / "a", given=text(PLAIN, 0, 12))
    assert "resumed after 10 rows of 1 series, 0 of them since the last checkpoint" in second.err
    assert "skipped, by their number in the input: up to row 10." in second.err
    assert "Rows that were learned before, and were skipped: 10." in second.err
    timed = stream("--time", "t", "--state", tmp_path / "b", given=text(DATED, 0, 10))
    assert 'recognised by their time, column "t"' in timed.err


def test_other_input_is_recognised_and_not_taken_for_learned(tmp_path: Path) -> None:
    done(stream("--state", tmp_path / "s", given=text(PLAIN, 0, 100)))
    before = load(tmp_path / "s").forecast(1).mean
    for lines in (text(PLAIN, 1, 120), text(PLAIN, 0, 99).replace(PLAIN[80], "1.5", 1) + "5\n6\n"):
        other = stream("--state", tmp_path / "s", given=lines)
        assert isinstance(other.error, StateError)
        assert "is not that from which" in str(other.error)
        assert other.out == ""
    assert load(tmp_path / "s").forecast(1).mean == before
    assert done(stream("--state", tmp_path / "s", given=text(PLAIN, 0, 101))).count("\n") == 1


def test_with_times_the_input_may_begin_anywhere(tmp_path: Path) -> None:
    options = ("--time", "t", "--id", "k", "--state", tmp_path / "s")
    whole = done(stream("--time", "t", "--id", "k", given=text(MANY))).splitlines()
    first = done(stream(*options, given=text(MANY, 0, 60))).splitlines()
    second = done(stream(*options, given=text(MANY, 40, 90))).splitlines()
    third = done(stream(*options, given=text(MANY, 90, 120))).splitlines()
    assert first + second + third == whole


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (["--lags", "2"], "it was made with lags [1], but now there is lags [1, 2]"),
        (["--lags", "1", "--model", "skf"], "it was made with model AutoBypass"),
        (["--model", "auto"], "it was made with a model with lags, but now there is the automatic forecaster"),
        (["--lags", "1", "--target", "z"], "it was made with target 'y', but now there is target 'z'"),
        (["--lags", "1", "--id", "k"], "it was made with no id, but now there is id 'k'"),
        (["--lags", "1", "--difference", "1"], "it was made with difference 0, but now there is difference 1"),
    ],
)
def test_other_options_are_refused(changed: list[str], says: str, tmp_path: Path) -> None:
    done(stream("--lags", "1", "--state", tmp_path / "s", given=text(PLAIN, 0, 10)))
    refused = stream("--state", tmp_path / "s", *changed, given=text(PLAIN))
    assert isinstance(refused.error, StateError)
    assert says in str(refused.error)


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    done(stream("--state", tmp_path / "s", given=text(PLAIN, 0, 10)))
    owner = Stream(tmp_path / "s")
    command = [*COMMAND, "stream", "--state", str(tmp_path / "s")]
    refused = subprocess.run(command, input=text(PLAIN), capture_output=True, text=True, check=False)
    assert f"is in use by another process (number {os.getpid()}); stop it first" in " ".join(refused.stderr.split())
    refused_here = stream("--state", tmp_path / "s", given=text(PLAIN))
    assert isinstance(refused_here.error, LockedError)
    assert "is in use by another Stream of this process; close it first" in str(refused_here.error)
    owner.close()
    done(stream("--state", tmp_path / "s", given=text(PLAIN)))


def test_a_bad_row_ends_the_stream_and_loses_nothing(tmp_path: Path) -> None:
    given = text(PLAIN, 0, 50) + "oops\n" + "\n".join(PLAIN[51:80]) + "\n"
    failed = stream("--state", tmp_path / "s", given=given)
    assert 'row 51, column "y": "oops" is not a number' in str(failed.error)
    assert failed.out.count("\n") == 50
    again = stream("--state", tmp_path / "s", "--on-bad-row", "skip", given=given)
    assert "resumed after 50 rows" in again.err
    assert 'skipped: standard input: row 51, column "y": "oops" is not a number' in again.err
    assert "Rows that could not be read, and were skipped: 1." in again.err
    assert done(again).count("\n") == 29
    assert stream("--state", tmp_path / "s", "--on-bad-row", "skip", given=given).out == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_finishes_the_row_and_saves(number: int, code: int, tmp_path: Path) -> None:
    """One process for both: rows are sent one by one, so that the signal comes while more is waited for."""
    command = [*COMMAND, "stream", "--state", str(tmp_path / "s"), "--every", "1000"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text(PLAIN, 0, 30))
        process.stdin.flush()
        answers = [process.stdout.readline() for _ in range(30)]
        process.send_signal(number)
        assert process.wait(timeout=60) == code
    assert answers == done(stream(given=text(PLAIN, 0, 30))).splitlines(keepends=True)
    again = stream("--state", tmp_path / "s", given=text(PLAIN, 0, 31))
    assert "resumed after 30 rows of 1 series, 0 of them since the last checkpoint" in again.err


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("torn", [0, 5, 4000])
def test_a_file_of_answers_gets_each_answer_once(ending: str, torn: int, tmp_path: Path) -> None:
    options = ["--time", "t", "--fields", "mean,surprise", "--every", "25"]
    done(stream(*options[:-2], "--out", tmp_path / f"whole.{ending}", given=text(DATED)))
    out = tmp_path / f"answers.{ending}"
    killed_after(tmp_path / "s", [*options[:-2], "--out", str(out)], text(DATED, 0, 70), 25)
    os.truncate(out, max(out.stat().st_size - torn, 0))
    if torn > 100:  # more is gone than the store can bring back
        content = out.read_bytes()
        refused = stream(*options, "--state", tmp_path / "s", "--out", out, given=text(DATED))
        assert isinstance(refused.error, StateError)
        assert out.read_bytes() == content
        os.truncate(out, content.rindex(b"\n") + 1)
    done(stream(*options, "--state", tmp_path / "s", "--out", out, given=text(DATED)))
    found, whole = (path.read_text().splitlines() for path in (out, tmp_path / f"whole.{ending}"))
    if torn < 100:
        assert found == whole
    else:  # more is gone than the store can bring back
        assert found[-70:] == whole[-70:]
        assert set(found) < set(whole)


def test_answers_of_a_kept_stream_go_to_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    refused = stream("--state", tmp_path / "s", "--out", tmp_path / "pipe.jsonl", given=text(PLAIN))
    assert "is not a regular file, as --state needs it" in str(refused.error)
    out = tmp_path / "new" / "folder" / "answers.csv"
    done(stream("--state", tmp_path / "t", "--out", out, given=text(PLAIN)))
    assert out.read_text().count("\n") == 121


def test_settings_that_the_first_row_shows_to_be_wrong_leave_an_empty_state(tmp_path: Path) -> None:
    refused = stream("--lags", "0", "--state", tmp_path / "s", given=text(PLAIN))
    assert "there are neither lags nor exogenous columns to forecast from" in str(refused.error)
    assert "resumed" not in stream("--lags", "0", "--state", tmp_path / "s", given="y\n").err


@pytest.mark.parametrize("call", ["append", "checkpoint", "flush"])
def test_a_write_that_fails_leaves_what_was_answered(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows come one at a time; after some calls every further one fails. All that was answered is in the folder."""
    real: Callable[..., Any] = getattr(Store, call)
    for n_good in range(0, 60, 7):
        n_calls = 0

        def fail(*arguments: Any, limit: int = n_good, **named: Any) -> Any:
            nonlocal n_calls
            n_calls += 1
            if n_calls > limit:
                raise OSError(28, "No space left on device")
            return real(*arguments, **named)

        folder = tmp_path / f"{n_good}"
        done(stream("--state", folder, given=text(PLAIN, 0, 3)))
        with monkeypatch.context() as patch:
            patch.setattr("adabypass.streaming.sources.ArrivingInput.read1", one_line_at_a_time)
            patch.setattr(Store, call, fail)
            failed = stream("--state", folder, "--every", "4", "--fsync", "always", given=text(PLAIN))
        assert isinstance(failed.error, OSError) or failed.code == 0
        n_answered = 3 + failed.out.count("\n")
        again = stream("--state", folder, given=text(PLAIN))
        rest = done(again).count("\n")
        assert n_answered + rest == 120


def one_line_at_a_time(self: Any, size: int = -1) -> bytes:
    self._answer()
    line: bytes = self._file.readline()
    return line


def test_numbers_in_a_state_are_those_of_the_library(tmp_path: Path) -> None:
    """What the folder holds goes on to the same forecasts as `Forecaster` itself."""
    done(stream("--lags", "1", "--state", tmp_path / "s", given=text(PLAIN, 0, 100)))
    forecaster = Forecaster(lags=1)
    for y in NILE[:100]:
        forecaster.step(y)
    with Stream(tmp_path / "s", Forecaster(lags=1)) as found:
        assert found.n_learned == 100
        row = found.series().__getstate__()["row"]
    assert np.array_equal(row, forecaster.__getstate__()["row"], equal_nan=True)
