"""The command `adabypass`: what the library does, from the shell.

To add a command, write a module of its name in this package with a click command of that name, and enter it in
`COMMANDS`. Help and version are printed without importing any of them: what starts the command is imported here, and
that is click alone.
"""

import importlib
import io
import os
import signal
import sys
from typing import Any

import click

from adabypass.cli import terminal
from adabypass.errors import AdabypassError

COMMANDS = {
    "forecast": "Forecast the next values of every series in a file.",
    "explain": "Explain the forecast of one series in a file.",
    "evaluate": "Score models on the series of a file.",
    "stream": "Forecast rows as they arrive, on standard input or in a Kafka topic.",
    "serve": "Serve forecasts over HTTP, and the live page.",
    "watch": "Show rows on a live page as they arrive.",
    "state": "Look after the folder of a stream: check, repair, back up, drop, reset, merge, compact.",
    "inspect": "Show what is in a saved model or in the folder of a stream.",
    "datasets": "List the series that come with the library, or print one.",
    "reproduce": "Run a study of the paper (arXiv:1509.02438) and print its table.",
}
"""What each command is for, in the order in which help lists them."""


class Interrupted(click.ClickException):
    """Ctrl-C was pressed."""


class Commands(click.Group):
    """The commands; the module of each is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"adabypass.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them, as every other way of asking what they are for would."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted("interrupted; nothing more was written.") from None


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 all is done; 2 the input or an option is wrong, or a file cannot be read or written; 3 some "
    "series could not be processed (they are named on standard error), the others are done, or no row of a stream "
    "could be read; 130 interrupted by Ctrl-C.",
)
@click.version_option(package_name="adabypass")
def commands() -> None:
    """Forecast time series in files or on a stream: the next values, and how uncertain they are."""


def main() -> None:
    """Run the command, and exit with its code; a mistake of the user's is reported in one line."""
    if hasattr(signal, "SIGPIPE"):  # when whoever reads our output has seen enough, end as other filters do
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    terminal.open_standard_streams()
    sys.exit(run())


def run() -> int:
    """Run the command; return its exit code."""
    try:
        code = commands(prog_name="adabypass", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except Interrupted as interrupted:
        terminal.complain(interrupted.message)
        return terminal.INTERRUPTED
    except click.ClickException as mistake:
        text = io.StringIO()
        mistake.show(file=text)  # its usage and its message, on lines of their own
        click.echo("\n".join(map(terminal.printable, text.getvalue().splitlines())), err=True)
        return mistake.exit_code
    except (AdabypassError, UnicodeError, OSError, MemoryError) as error:
        terminal.complain(_in_words(error))
        return terminal.MISTAKE


def _in_words(error: BaseException) -> str:
    """Return what went wrong, without Python's number of a system error."""
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{where}{error.strerror}"
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        return f"the input holds the byte 0x{byte:02x}, which is not {error.encoding.upper()}; convert it to UTF-8."
    return str(error) or f"{type(error).__name__}: there is not enough memory."
