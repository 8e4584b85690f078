"""`adabypass state`: the folders of streams, looked after."""

from pathlib import Path

import click

from adabypass.cli import terminal
from adabypass.streaming import maintenance
from adabypass.streaming.ids import key_of, panel_id
from adabypass.streaming.repair import repair as repair_folder

MAX_NAMED = 10
"""Series that are named one by one."""

_folder = click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
_ids = click.option(
    "--id", "ids", multiple=True, required=True, metavar="ID",
    help="Which series; may be given several times. Parts of an id have slashes between them, as they are printed.",
)  # fmt: skip


@click.group()
def state() -> None:
    """Look after the folder of a stream (adabypass stream --state DIR, or Stream in Python)."""


@state.command(short_help="Read all of a folder, and report any damage.")
@_folder
def check(folder: Path) -> int:
    """Read all of DIR, which may be in use: its tables, and the checksum of each series and of each row."""
    found = maintenance.check(folder)
    click.echo(
        f"{folder} is sound: {found.n_series} series, {found.n_learned} rows learned, {found.n_since_checkpoint} of "
        "them since the last checkpoint."
    )
    return 0


@state.command(short_help="Keep what can be read of a damaged folder.")
@_folder
def repair(folder: Path) -> int:
    """Keep what can be read of DIR: the series whose checksums fit, and the newest rows up to the first damage.

    What is given up is named. The damaged file stays in DIR with its log, as stream.sqlite.damaged (.damaged.2 and so
    on if there is one already).
    """
    found = repair_folder(folder)
    click.echo(f"{folder} is repaired: {found.n_series} series, and {found.n_kept} rows since the last checkpoint.")
    for id in found.lost_ids[:MAX_NAMED]:
        terminal.complain(
            f"given up: {'a series whose id cannot be read' if id is None else f'series {panel_id(key_of(id))!r}'}."
        )
    if len(found.lost_ids) > MAX_NAMED:
        terminal.complain(f"given up: {len(found.lost_ids) - MAX_NAMED} more series.")
    if found.n_lost:
        terminal.complain(f"given up: the rows of the last {found.n_lost} commits; let the source begin before them.")
    return terminal.INCOMPLETE if found.lost_ids or found.n_lost else 0


@state.command(short_help="Copy a folder while it is in use.")
@_folder
@click.argument("to", type=click.Path(path_type=Path), metavar="TO")
def backup(folder: Path, to: Path) -> int:
    """Copy DIR, which may be in use, to a new folder TO, as it is at one moment."""
    maintenance.backup(folder, to)
    click.echo(f"{folder} is copied to {to}.")
    return 0


@state.command(short_help="Forget series.")
@_folder
@_ids
def drop(folder: Path, ids: tuple[str, ...]) -> int:
    """Forget series of DIR, whose stream is stopped: their next rows begin new ones."""
    click.echo(f"{maintenance.drop(folder, ids)} series forgotten.")
    return 0


@state.command(short_help="Let series begin anew.")
@_folder
@_ids
def reset(folder: Path, ids: tuple[str, ...]) -> int:
    """Let series of DIR, whose stream is stopped, begin anew; rows that they have learned stay known."""
    click.echo(f"{maintenance.reset(folder, ids)} series begin anew.")
    return 0


@state.command(short_help="Put the series of several folders into one.")
@click.argument(
    "folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR..."
)
@click.option("--into", required=True, type=click.Path(path_type=Path), metavar="NEW", help="The new folder.")
def merge(folders: tuple[Path, ...], into: Path) -> int:
    """Put the series of several DIRs, whose streams are stopped and have the same settings, into one new folder."""
    click.echo(f"{into} holds {maintenance.merge(folders, into)} series.")
    return 0


@state.command(short_help="Give back the room of forgotten series.")
@_folder
def compact(folder: Path) -> int:
    """Give back the room that forgotten series took in DIR, whose stream is stopped."""
    before, after = maintenance.compact(folder)
    click.echo(f"{folder}: {before / 1e6:.1f} MB before, {after / 1e6:.1f} MB now.")
    return 0
