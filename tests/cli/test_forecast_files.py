"""`adabypass forecast` and `evaluate` refuse a user's mistake in one line, and then write nothing."""

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adabypass import load_dataset
from tests.cli.test_main import command

ROWS = "".join(f"{i},{y},{i % 7}\n" for i, y in enumerate(load_dataset("nile").y[:60], 1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "series.csv"
    path.write_text("ds,y,x\n" + ROWS)
    return path


def test_a_file_of_unknown_kind_is_refused_before_the_picture_is_drawn(path: Path) -> None:
    done = command("forecast", str(path), "--out", str(path.with_suffix(".xyz")), "--plot", str(path) + ".png")
    assert done.returncode == 2
    assert done.stderr.startswith("adabypass: ")
    assert [each.name for each in path.parent.iterdir()] == ["series.csv"]


@pytest.mark.parametrize("name", ["forecast", "evaluate"])
def test_a_blank_exogenous_cell_is_named(path: Path, name: str) -> None:
    path.write_text(path.read_text() + "61,1.0,\n")
    done = command(name, str(path), "--exog", "x")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert 'row 61, column "x": is blank; fill it, or choose --missing mean' in done.stderr


def test_no_models_are_nothing_to_evaluate(path: Path) -> None:
    done = command("evaluate", str(path), "--models", "")
    assert done.returncode == 2
    assert done.stderr == "adabypass: no model is named; the models are auto, ada, bypass, skf, pa.\n"


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    program = Path(sys.executable).parent / "adabypass"
    many = "y\n" + "1\n2\n" * 20_000
    with subprocess.Popen([program, "stream"], stdin=-1, stdout=-1, stderr=-1, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(many[:2000])
        running.stdin.flush()
        assert running.stdout.readline().startswith("{")
        running.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            running.stdin.write(many[2000:])
            running.stdin.close()
        assert running.stderr.read() == ""
        assert running.wait() == -signal.SIGPIPE


SHORT = "unique_id,y\n" + "".join(f"{key},{y}\n" for key in "abc" for y in [1, 4, 4, 1, 0, 1, 4, 4]) + "d,1\n"


def test_a_series_that_fails_is_reported_and_the_others_are_forecast(path: Path) -> None:
    path.write_text(SHORT)
    done = command("forecast", str(path))
    assert done.returncode == 3
    assert [line.split(",")[0] for line in done.stdout.splitlines()] == ["unique_id", "a", "b", "c"]
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith('adabypass: left out: series "d": ')


def test_a_series_that_fails_is_reported_and_the_others_are_evaluated(path: Path) -> None:
    path.write_text(SHORT)
    done = command("evaluate", str(path), "--models", "skf")
    assert done.returncode == 3
    assert done.stdout.count("8 observations, ") == 3
    assert done.stderr.startswith('adabypass: left out: series "d": ')
