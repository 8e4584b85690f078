"""What the commands print: text from files made harmless, tables, progress, and standard streams that may be closed.

The command starts with this module, so what takes long to import waits in the functions that need it.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

MISTAKE, INCOMPLETE, INTERRUPTED = 2, 3, 130
"""Exit codes besides 0; `adabypass --help` explains them."""
PIPE_WIDTH = 200
"""Characters of a line where there is no terminal whose width could be used."""


def console(*, stderr: bool = False, pipe_width: int = PIPE_WIDTH) -> "Console":
    """Return a console for standard output (or error) that takes text as it is: no markup, no emoji codes.

    Where there is no terminal, lines are `pipe_width` characters wide and without colours.
    """
    from rich.console import Console  # noqa: PLC0415

    terminal = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if terminal.is_terminal:
        return terminal
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, no_color=True, width=pipe_width)


def printable(text: object) -> str:
    """Return text in which every character that cannot be seen is replaced by its escape."""
    from adabypass.data import text as texts  # noqa: PLC0415

    return texts.printable(text)


def complain(message: object) -> None:
    """Print one line to standard error, beginning with the program's name."""
    click.echo(f"adabypass: {printable(message)}", err=True)


def note(message: object) -> None:
    """Print one line about what was done to standard error."""
    click.echo(printable(message), err=True)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show how far the work has come, on a terminal, on standard error.

    Yields a function that is called with the number of pieces of work done since the last call.
    """
    if not _is_watched():
        yield lambda n: None
        return
    with _bar() as bar:
        task = bar.add_task(what, total=total)
        yield lambda n: bar.advance(task, n)


@contextmanager
def progress_of_total(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far the work has come; yields a function of the number of pieces done, and of all pieces."""
    if not _is_watched():
        yield lambda done, total: None
        return
    with _bar() as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _is_watched() -> bool:
    """Whether standard error is a terminal: elsewhere older versions of Rich print an empty line instead of a bar."""
    return sys.stderr.isatty()


def _bar() -> "Progress":
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip


class ClosedStream(io.TextIOBase):
    """A replacement of a standard stream that was closed when the command began; using it is an error."""

    encoding = "utf-8"

    def __init__(self, name: str) -> None:
        self._name = name

    def _refuse(self) -> OSError:
        return OSError(f"{self._name} is closed; redirect it to a file or to /dev/null.")

    @property
    def buffer(self) -> "ClosedStream":
        """The stream of bytes below it, closed as well."""
        return self

    def read(self, size: int | None = -1, /) -> str:
        raise self._refuse()

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        raise self._refuse()

    def write(self, text: str, /) -> int:
        raise self._refuse()

    def flush(self) -> None:
        """Do nothing: nothing was written."""


def open_standard_streams() -> None:
    """Open standard streams that a command can use, whatever it was started with.

    A closed descriptor is opened on /dev/null, so that no file of ours gets its number; a closed stream raises an
    error when it is used. Characters that an encoding such as ASCII lacks are written as escapes.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    if sys.stdin is None:
        sys.stdin = ClosedStream("standard input")
    if sys.stdout is None:
        sys.stdout = ClosedStream("standard output")
    if sys.stderr is None:  # nobody wants to hear of mistakes; NumPy 2.0 writes there as it is imported
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
