"""The command run within the test's own process: quicker than a new one, with the same code from end to end."""

import io
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import pytest
from click.testing import CliRunner

from adabypass.cli import commands, main


class Done(NamedTuple):
    code: int
    out: str
    err: str
    error: BaseException | None


def run(*arguments: Any, given: str | bytes = "") -> Done:
    """Run the command; return its exit code, what it printed, and the error that ended it."""
    result = CliRunner().invoke(commands, [str(each) for each in arguments], input=given)
    error = None if isinstance(result.exception, SystemExit) else result.exception
    return Done(result.exit_code, result.stdout, result.stderr, error)


def stream(*arguments: Any, given: str | bytes = "") -> Done:
    return run("stream", *arguments, given=given)


def program(
    *arguments: Any,
    given: str | bytes = "",
    cwd: Path | None = None,
    terminal: IO[bytes] | None = None,
    **environment: str,
) -> "subprocess.CompletedProcess[str]":
    """Run the whole program, its messages and its exit code included, on standard streams of its own.

    Tests of signals, locales, closed streams and limits of memory need a process; all others can do
    with this.

    Parameters
    ----------
    *arguments
        Of the command.
    given
        Standard input.
    cwd
        Where it runs.
    terminal
        Standard output, which is a file otherwise.
    **environment
        Variables of the environment.
    """
    with (
        tempfile.TemporaryFile() as to, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err,
        chdir(cwd or os.getcwd()), _like_a_process(environment), pytest.MonkeyPatch.context() as patch,
    ):  # fmt: skip
        to.write(given.encode() if isinstance(given, str) else given)
        to.seek(0)
        streams = [io.TextIOWrapper(each, encoding="utf-8") for each in (to, terminal or out, err)]
        for name, each in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, each)
        patch.setattr(sys, "argv", argv := ["adabypass", *map(str, arguments)])
        code = _exit_code()
        for each in streams[1:]:
            each.flush()
        printed = [_text_of(each) for each in (out, err)]
        for each in streams:
            each.detach()
    return subprocess.CompletedProcess(argv, code, *printed)


def _exit_code() -> int:
    """Run the program as the interpreter would."""
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    raise AssertionError("the program ended without an exit code")


@contextmanager
def _like_a_process(environment: dict[str, str]) -> Iterator[None]:
    """Undo what only the end of a process would."""
    on_pipe = signal.getsignal(signal.SIGPIPE)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            yield
        finally:
            signal.signal(signal.SIGPIPE, on_pipe)


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
