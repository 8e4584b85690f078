"""The command `adabypass`: what the library does, from the shell."""

import signal
import sys

import click
from click.shell_completion import get_completion_class

from adabypass.cli.datasets import datasets
from adabypass.cli.evaluate import evaluate
from adabypass.cli.forecast import forecast
from adabypass.cli.pairs import pairs
from adabypass.cli.reproduce import reproduce
from adabypass.cli.stream import stream
from adabypass.errors import AdabypassError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="adabypass")
def commands() -> None:
    """Forecast a stream: a distribution before every observation, one update after it."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes SHELL complete this command's options: eval "$(adabypass completion bash)"."""
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(commands, {}, "adabypass", "_ADABYPASS_COMPLETE").source())


for command in (forecast, evaluate, stream, datasets, reproduce, pairs, completion):
    commands.add_command(command)


def main() -> None:
    """Run the command; a mistake of the user's ends in one line and exit code 2."""
    if hasattr(signal, "SIGPIPE"):  # whoever read our output has seen enough: end as other filters do
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        commands(prog_name="adabypass")
    except (AdabypassError, OSError) as error:
        click.echo(f"adabypass: {error}", err=True)
        sys.exit(2)
