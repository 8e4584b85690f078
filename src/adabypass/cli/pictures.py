"""Pictures that a command writes: their names are checked before anything is computed."""

from pathlib import Path

import click

PICTURES = (".png", ".pdf", ".svg")


def check_picture(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a picture's name whose ending tells no format."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise click.BadParameter(f"{str(path)!r} must end in one of {', '.join(PICTURES)}.", context, parameter)
    return path
