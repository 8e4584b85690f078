"""Pictures that a command writes: their names are checked before anything is computed."""

from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console

from adabypass.errors import MissingExtraError

PICTURES = (".png", ".pdf", ".svg")


def check_picture(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a picture's name whose ending tells no format."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise click.BadParameter(f"{str(path)!r} must end in one of {', '.join(PICTURES)}.", context, parameter)
    return path


def draw_figure(draw: Callable[[Path], None], out: Path | None, default: str, console: Console) -> None:
    """Draw a study's figure; where matplotlib is absent, and no figure was asked for, say so and go on."""
    path = out or Path(default)
    try:
        draw(path)
    except MissingExtraError as missing:
        if out is not None:
            raise
        click.echo(f"\nThere is no figure: {missing}", err=True)
    else:
        console.print(f"\nThe figure is in {path}", soft_wrap=True)
