"""`adabypass forecast` and `evaluate` refuse a user's mistake in one line, and then write nothing."""

import contextlib
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adabypass import load_dataset, plots
from adabypass.cli import forecast as cli_forecast
from adabypass.data import from_frame
from adabypass.panel.columns import Columns
from adabypass.panel.pipeline import forecast_series
from adabypass.panel.series import SeriesTable
from tests.cli.in_process import program as command

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
    known = "auto, ada, bypass, evidence, skf, pa, pa1, pa2, lag, naive, drift, snaive"
    assert done.stderr == f"adabypass: no model is named; the models are {known}.\n"


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
    done = command("evaluate", str(path), "--models", "skf", "--skip", "3")
    assert done.returncode == 3
    assert done.stdout.startswith("one step ahead: 15 of 21 forecasts of 3 series scored; 6 skipped")
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith(("a", "b", "c"))] == ["a", "b", "c"]
    few, left_out = done.stderr.splitlines()[:3], done.stderr.splitlines()[3:]
    assert few[0].startswith(
        'adabypass: series "a": only 5 forecasts are scored, fewer than 8: the scores may be chance'
    )
    assert [line.startswith('adabypass: left out: series "d": ') for line in left_out] == [True]


def test_an_error_about_times_names_the_file(path: Path) -> None:
    path.write_text("ds,y\n1,5\n2,6\n4,7\n3,8\n")
    done = command("forecast", str(path))
    assert done.returncode == 2
    assert f'{path}: row 4, column "ds": 3 is earlier than 4 in row 3; sort the rows by "ds".' in done.stderr
    path.write_text("ds,y\n" + "".join(f"2024-01-{day:02},5\n" for day in range(1, 9)) + "2024-01-09T05:00,5\n")
    done = command("forecast", str(path))
    assert f'{path}: row 9, column "ds": 2024-01-09T05:00 lies between 2024-01-09T00:00 and' in done.stderr
    path.write_text("ds,y\n1,5\n2,6\n3,7\n900000,8\n")
    assert f'{path}: row 4, column "ds": 900000 is 899,997 steps' in command("forecast", str(path)).stderr


def test_a_picture_shows_times_in_the_zone_of_the_series(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    time = pd.date_range("2024-07-01", periods=30, freq="h", tz="Asia/Tokyo")
    panel = SeriesTable(from_frame(pd.DataFrame({"ds": time, "y": np.arange(30.0)})), Columns())
    drawn: list[Any] = []
    monkeypatch.setattr(plots, "save", lambda ax, path: drawn.append(ax))
    cli_forecast._draw(*forecast_series(panel, 3).first, tmp_path / "ahead.png")
    line = next(each for each in drawn[0].get_lines() if each.get_label() == "forecast")
    local = np.datetime64("2024-07-02T05:00") + np.arange(1, 4) * np.timedelta64(1, "h")
    assert np.asarray(line.get_xdata(), dtype="M8[m]").tolist() == local.tolist()
