"""The command answers as a person would expect."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import adabypass
from adabypass.cli import COMMANDS, commands
from tests.cli.in_process import program


def test_reproduce_nile_prints_the_table_and_writes_the_figure(tmp_path: Path) -> None:
    done = program("reproduce", "nile", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in (
        "ADA-BYPASS  the paper                                 0.72     0.42     0.54         -754.20",
        "ADA-BYPASS  standardised  to convergence            0.7237   0.4244   0.5421          -779.1",
        "ADA-BYPASS  centred       to convergence            0.7256   0.4294   0.5438          -877.5",
        "SKF         the paper                                 0.85     0.45     0.62         -971.78",
    ):
        assert words in done.stdout
    assert "\x1b" not in done.stdout  # no colours in a pipe
    assert "The figure is in nile.png" in done.stdout
    assert (tmp_path / "nile.png").read_bytes().startswith(b"\x89PNG")


def test_the_figure_is_written_to_the_given_file(tmp_path: Path) -> None:
    out = tmp_path / "figure.svg"
    done = CliRunner().invoke(commands, ["reproduce", "nile", "--out", str(out)])
    assert done.exit_code == 0
    assert "<svg" in out.read_text()


def test_the_log_likelihood_over_the_unit_is_drawn_if_asked_for(tmp_path: Path) -> None:
    out, units = tmp_path / "nile.svg", tmp_path / "units.svg"
    done = CliRunner().invoke(commands, ["reproduce", "nile", "--out", str(out), "--unit-plot", str(units)])
    assert done.exit_code == 0, done.output
    assert f"The picture of the units is in {units}" in done.stdout
    assert "<svg" in units.read_text()


@pytest.mark.parametrize("program", [[Path(sys.executable).parent / "adabypass"], [sys.executable, "-m", "adabypass"]])
def test_the_installed_program_and_the_module_print_the_version(program: list[str]) -> None:
    done = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"adabypass, version {adabypass.__version__}"


def test_help_lists_the_commands_and_the_exit_codes() -> None:
    done = program("--help")
    assert done.returncode == 0
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout
    for code in ("0 all is done", "2 the input", "3 some series", "130 interrupted"):
        assert code in " ".join(done.stdout.split())


def every_command(found: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, found
    for inner, each in getattr(found, "commands", {}).items():
        yield from every_command(each, f"{name} {inner}")


def test_every_option_of_every_command_has_a_help_text_in_whole_sentences() -> None:
    context = commands.make_context("adabypass", ["datasets"])
    for name in COMMANDS:
        found = commands.get_command(context, name)
        assert found is not None
        assert found.name == name
        for full_name, each in every_command(found, name):
            assert each.help, full_name
            for option in each.params:
                if isinstance(option, click.Option):
                    assert option.help, f"{full_name} {option.name}"
                    assert option.help.split("  [default")[0].endswith("."), f"{full_name} {option.name}"


def test_a_mistyped_command_ends_with_2() -> None:
    done = program("reprodce")
    assert done.returncode == 2
    assert "reprodce" in done.stderr


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_table_is_printed_and_the_extra_named(tmp_path: Path) -> None:
    done = program("reproduce", "nile", cwd=tmp_path)
    assert done.returncode == 0
    assert "0.7237   0.4244   0.5421" in done.stdout
    assert "pip install 'adabypass[plot]'" in done.stderr


def test_a_figure_that_cannot_be_written_ends_with_2_and_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out, words in (("x.xyz", "must end in one of .png, .pdf, .svg"), ("file/x.png", "file")):
        done = program("reproduce", "nile", "--out", out, cwd=tmp_path)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr
