"""The command `adabypass`: what the library does, from the shell."""

import sys

import click

from adabypass.cli.datasets import datasets
from adabypass.cli.pairs import pairs
from adabypass.cli.reproduce import reproduce
from adabypass.errors import AdabypassError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="adabypass")
def commands() -> None:
    """Forecast a stream: a distribution before every observation, one update after it."""


commands.add_command(datasets)
commands.add_command(pairs)
commands.add_command(reproduce)


def main() -> None:
    """Run the command; a mistake of the user's ends in one line and exit code 2."""
    try:
        commands()
    except (AdabypassError, OSError) as error:
        click.echo(f"adabypass: {error}", err=True)
        sys.exit(2)
