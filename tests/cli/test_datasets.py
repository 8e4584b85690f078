"""`adabypass datasets` lists the embedded series and prints them."""

import os
import pty
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from adabypass import load_dataset
from adabypass.cli import commands
from adabypass.data import read_table
from adabypass.datasets import NAMES
from tests.cli.in_process import program as command


def test_the_list_names_every_series_in_full() -> None:
    done = command("datasets")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    heading, *lines = done.stdout.splitlines()
    assert heading.split() == ["name", "length", "missing", "units", "what", "origin"]
    assert [line.split()[:3] for line in lines] == [
        ["nile", "663", "0"],
        ["air_passengers", "144", "0"],
        ["electricity", "2016", "0"],
        ["wind", "40174", "45"],
        ["gold_silver", "9132", "0"],
        ["retail", "9072", "336"],
        ["metric", "3024", "7"],
    ]
    for line, name in zip(lines, NAMES, strict=True):
        assert line.endswith(load_dataset(name).origin)
        assert load_dataset(name).description in line


def test_a_terminal_gets_bold_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    master, slave = pty.openpty()
    with open(slave, "wb") as terminal:
        done = command("datasets", terminal=terminal, TERM="xterm", COLUMNS="200")
    assert done.returncode == 0, done.stderr
    shown = os.read(master, 100_000).decode()
    os.close(master)
    assert "\x1b[1m" in shown
    assert "gold_silver" in shown


def test_a_series_is_printed_as_csv() -> None:
    done = command("datasets", "nile")
    assert done.stdout.splitlines()[:3] == ["time,y", "622,11.57", "623,10.88"]
    assert len(done.stdout.splitlines()) == 664


def test_several_series_are_printed_with_their_ids() -> None:
    done = command("datasets", "retail")
    assert done.stdout.splitlines()[0] == "id,time,y,promotion,holiday"


def test_a_series_is_written_to_a_file_and_read_back(tmp_path: Path) -> None:
    for name, file in (("wind", "wind.csv"), ("gold_silver", "gold.jsonl"), ("nile", "nile.parquet")):
        out = tmp_path / "new" / file
        done = CliRunner().invoke(commands, ["datasets", name, "--out", str(out)])
        assert done.exit_code == 0
        assert f"rows are in {out}" in done.stderr
        table, series = read_table(out), load_dataset(name)
        assert (table.times("time") == series.time).all()
        assert np.array_equal(table.numbers("y"), series.y, equal_nan=True)
        if series.x is not None:
            assert np.array_equal(table.numbers("x"), series.x[:, 0])


def test_mistakes_end_with_2_and_one_line(tmp_path: Path) -> None:
    for arguments, words in (
        (["datasets", "nlie"], "did you mean 'nile'?"),
        (["datasets", "nile", "--out", "a.xlsx"], "must end in one of .csv"),
        (["datasets", "--out", "a.csv"], "--out needs the NAME of a series"),
    ):
        done = command(*arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
