"""Nothing that comes from a file, a locale or a closed stream breaks the terminal or ends in a traceback."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.cli.in_process import program

COMMAND = [sys.executable, "-m", "adabypass"]
ROWS = [1, 4, 4, 1, 0, 1, 4, 4, 2, 3, 1, 2]


def table(path: Path, name: str) -> Path:
    """Write a series of that name."""
    path.write_text("unique_id,y\n" + "".join(f'"{name}",{y}\n' for y in ROWS), newline="")
    return path


def run(*arguments: object, shell: str = "", **environment: str) -> "subprocess.CompletedProcess[bytes]":
    command = [*COMMAND, *map(str, arguments)]
    if shell:
        command = ["/bin/sh", "-c", f'"$0" "$@" {shell}', *command]
    return subprocess.run(command, capture_output=True, check=False, timeout=120, env=os.environ | environment)


def in_a_terminal(*arguments: object) -> str:
    master, slave = pty.openpty()
    with open(slave, "wb") as terminal:
        done = program(*arguments, terminal=terminal, TERM="dumb", COLUMNS="150")
    shown = os.read(master, 100_000).decode()
    os.close(master)
    assert done.returncode == 0, done.stderr
    return shown


@pytest.mark.parametrize("name", ["usb[/dev/ttyUSB0]", "temp[kitchen]", "[red]", ":smile:", "a\\[b]"])
def test_names_are_printed_as_they_are(tmp_path: Path, name: str) -> None:
    file = table(tmp_path / "series.csv", name)
    done = program("evaluate", file, "--models", "skf", "--skip", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{name}, one step ahead: 10 of 11 forecasts scored")
    assert f"\n{name} " in in_a_terminal("forecast", file).replace("\r", "")


@pytest.mark.parametrize("name", ["\x1b[31mred", "\x1b]0;title\x07x", "a\x08b", "\x9b31m", "a\u202eb", "a\nb", "a\rb"])
def test_characters_that_a_terminal_obeys_are_shown_as_escapes(tmp_path: Path, name: str) -> None:
    file = table(tmp_path / "series.csv", name)
    escaped = name.encode("unicode_escape").decode()
    for shown in (
        in_a_terminal("forecast", file),
        in_a_terminal("forecast", file, "--out", "-"),
        program("evaluate", file, "--models", "skf", "--skip", "2").stdout,
    ):
        assert escaped in shown
        assert name not in shown
        assert "\x1b" not in shown


def test_a_pipe_gets_names_to_the_last_character(tmp_path: Path) -> None:
    done = program("forecast", table(tmp_path / "series.csv", "\x1b[31mred"))
    assert done.stdout.splitlines()[1].startswith("\x1b[31mred,")


def test_errors_show_a_cell_without_its_escape_sequences(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("y\n1\n\x1b[31mred\n")
    for arguments in (["forecast", tmp_path / "bad.csv"], ["forecast", tmp_path / "no\x1b[31m.csv"]):
        done = program(*arguments)
        assert done.returncode == 2
        assert "\x1b" not in done.stderr
        assert "\\x1b[31m" in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_wrong_option_shows_no_escape_sequences() -> None:
    done = program("forecast", "a.csv", "--lags", "\x1b[31m")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "closed", "words"),
    [
        (["stream"], "<&-", "standard input is closed"),
        (["forecast", "-"], "<&-", "standard input is closed"),
        (["forecast", "FILE"], ">&-", "standard output is closed"),
        (["evaluate", "FILE", "--models", "skf"], ">&-", "standard output is closed"),
        (["datasets"], ">&-", "standard output is closed"),
        (["datasets", "nile"], ">&-", "standard output is closed"),
        (["reproduce", "nile"], ">&-", "standard output is closed"),
    ],
)
def test_a_closed_stream_is_named_in_one_line(tmp_path: Path, arguments: list[str], closed: str, words: str) -> None:
    file = str(table(tmp_path / "series.csv", "a"))
    done = run(*(file if each == "FILE" else each for each in arguments), shell=closed)
    assert done.returncode == 2
    assert done.stderr.decode() == f"adabypass: {words}; redirect it to a file or to /dev/null.\n"


def test_a_closed_stream_that_is_not_needed_does_no_harm(tmp_path: Path) -> None:
    file, out = table(tmp_path / "series.csv", "a"), tmp_path / "out.csv"
    done = run("forecast", file, "--out", out, shell="<&- >&- 2>&-")
    assert done.returncode == 0
    assert out.read_text().startswith("unique_id,step,mean")
    assert len(out.read_text().splitlines()) == 2


@pytest.mark.parametrize("environment", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_a_locale_without_the_letters_gets_escapes(tmp_path: Path, environment: dict[str, str]) -> None:
    file = table(tmp_path / "series.csv", "Köln")
    for arguments in (["evaluate", file, "--models", "skf,bypass", "--skip", "0"], ["forecast", file]):
        done = run(*arguments, **environment)
        assert done.returncode == 0, done.stderr
        assert b"ln" in done.stdout
        assert done.stderr == b""


@pytest.mark.parametrize("arguments", [["forecast", "-"], ["stream"]])
def test_input_that_is_not_utf_8_is_refused_in_one_line(arguments: list[str]) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(
        [*COMMAND, *arguments],
        input="caf\xe9,y\n1,2\n".encode("latin-1"),
        capture_output=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"adabypass: ")
    assert b"0xe9" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_ctrl_c_ends_with_130_and_one_line_within_a_second() -> None:
    with subprocess.Popen([*COMMAND, "stream"], stdin=-1, stdout=-1, stderr=-1) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(b"y\n1\n2\n")
        running.stdin.flush()
        running.stdout.readline()
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        assert running.wait() == 130
        assert time.monotonic() - began < 1.0
        assert running.stderr.read() == b"adabypass: interrupted; every row that was read is answered.\n"


def test_ctrl_c_stops_long_work_within_a_second_and_writes_nothing(tmp_path: Path) -> None:
    y = np.random.default_rng(0).normal(size=100_000).cumsum()
    command = [*COMMAND, "evaluate", "long.csv", "--models", "auto", "--out", "scores.csv"]
    os.mkfifo(tmp_path / "long.csv")
    with subprocess.Popen(command, stdout=-1, stderr=-1, cwd=tmp_path) as running:
        (tmp_path / "long.csv").write_text("y\n" + "".join(f"{value}\n" for value in y))  # until it was read
        time.sleep(1)
        assert running.poll() is None
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        assert running.wait() == 130
        assert time.monotonic() - began < 1.5  # a second, and the end of the interpreter on a busy machine
        assert running.stderr is not None
        assert running.stderr.read() == b"adabypass: interrupted; nothing more was written.\n"
    assert [each.name for each in tmp_path.iterdir()] == ["long.csv"]
