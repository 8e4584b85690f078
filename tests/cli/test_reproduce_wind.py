"""`adabypass reproduce wind` and `reproduce all` answer as a person would expect."""

import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from adabypass.cli import commands
from adabypass.errors import ParameterError
from tests.cli.in_process import program


def command(*arguments: object) -> Result:
    return CliRunner().invoke(commands, ["reproduce", *(str(argument) for argument in arguments)])


def test_wind_prints_the_table_and_writes_the_figure(tmp_path: Path) -> None:
    out = tmp_path / "wind.svg"
    done = command("wind", "--length", 300, "--out", out)
    assert done.exit_code == 0, done.output
    for words in (
        "Danish wind turbine, is not public",
        "AR(1) with a bias; 299 forecasts",
        "ADA-BYPASS  the paper's figures      0.60   0.30   0.42  -24,971.75",
        "SKF         the paper's figures      0.64   0.31   0.44  -30,140.04",
        "AutoBypass  gaps left open",
        "AutoBypass is ahead of BYPASS in ",
    ):
        assert words in done.stdout
    assert "origins" not in done.stdout
    assert "nan" not in done.stdout
    assert "<svg" in out.read_text()


def test_in_a_pipe_there_are_neither_colours_nor_a_progress_bar(tmp_path: Path) -> None:
    done = program("reproduce", "wind", "--length", "100", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert done.stderr == ""
    assert "The figure is in wind.png" in done.stdout
    assert (tmp_path / "wind.png").read_bytes().startswith(b"\x89PNG")


def test_a_horizon_adds_scores_of_every_model_at_every_step(tmp_path: Path) -> None:
    done = command("wind", "--length", 300, "--horizon", 3, "--lags", 2, "--out", tmp_path / "wind.png")
    assert done.exit_code == 0, done.output
    assert "AR(2)" in done.stdout
    assert "Up to 3 steps ahead, from 8 origins" in done.stdout
    table = done.stdout.split("mean LL")[-1].splitlines()[1:10]
    assert [row.split()[0] for row in table[::3]] == ["0:10", "0:20", "0:30"]
    assert [row.split()[0] for row in table[1::3]] == ["BYPASS"] * 3
    assert [row.split()[0] for row in table[2::3]] == ["SKF"] * 3


def test_of_a_long_horizon_a_dozen_steps_are_shown_the_last_among_them(tmp_path: Path) -> None:
    done = command("wind", "--length", 150, "--horizon", 36, "--out", tmp_path / "wind.png")
    shown = [line.split()[0] for line in done.stdout.splitlines() if " h  AutoBypass" in line]
    assert shown == ["0:10", "0:30", "1:00", "1:30", *(f"{h}:{m}" for h in (2, 3, 4, 5) for m in ("00", "30")), "6:00"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--lags", "0"], "0 is not in the range 1<=x<=36"),
        (["--horizon", "37"], "37 is not in the range 1<=x<=36"),
        (["--length", "many"], "'many' is not a valid integer"),
        (["--out", "wind.xyz"], "must end in one of .png, .pdf, .svg"),
    ],
)
def test_a_bad_option_ends_with_2_before_anything_is_computed(options: list[str], words: str) -> None:
    done = command("wind", *options)
    assert done.exit_code == 2
    assert words in done.output


def test_a_series_too_short_to_score_is_refused() -> None:
    done = command("wind", "--length", "10")
    assert isinstance(done.exception, ParameterError)
    assert "length is 10, but must be a whole number from 59 to 40174" in str(done.exception)


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_only_a_figure_that_was_asked_for_is_missed(tmp_path: Path) -> None:
    for more, status in (([], 0), (["--out", "here.png"], 2)):
        done = program("reproduce", "wind", "--length", "100", *more, cwd=tmp_path)
        assert done.returncode == status
        assert ("AutoBypass  gaps filled" in done.stdout) == (status == 0)  # found before the work, not after it
        assert "pip install 'adabypass[plot]'" in done.stderr


def test_all_runs_the_three_studies_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    def pretend(name: str) -> click.Command:
        @click.command()
        @click.option("--out", default=f"{name}.png")
        def study(out: str) -> None:
            click.echo(f"{name} into {out}")

        return study

    for name in ("nile", "wind", "pairs"):
        monkeypatch.setattr(sys.modules["adabypass.cli.reproduce"], name, pretend(name))
    done = command("all")
    assert done.exit_code == 0
    assert done.stdout.split("\n\n\n") == ["nile into nile.png", "wind into wind.png", "pairs into pairs.png\n"]
