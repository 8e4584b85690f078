"""`adabypass completion`: the script that makes a shell complete the command's options."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that makes SHELL complete this command: eval "$(adabypass completion bash)"."""
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, "adabypass", "_ADABYPASS_COMPLETE").source())
