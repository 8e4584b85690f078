"""`adabypass watch`: a live page of what arrives, in one command."""

import os
import sys
import webbrowser
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from adabypass.cli import options, serve, terminal
from adabypass.cli.grouped import GroupedCommand, grouped
from adabypass.data.reading import STANDARD_INPUT, standard_input
from adabypass.datasets import NAMES
from adabypass.streaming.rows import Columns

if TYPE_CHECKING:
    import socket

    from adabypass.service.feeding import Feeder, Replay
    from adabypass.service.guard import Access
    from adabypass.service.keeper import Keeper
    from adabypass.service.routes import Service

DEFAULT_SPEED = 20.0


@click.command(cls=GroupedCommand, short_help="Show rows as they arrive on a live page, with forecasts.")
@click.argument("source", default="-", metavar="[SOURCE]")
@grouped(
    "watch",
    "Input",
    click.option(
        "--target",
        type=options.Names(),
        default="y",
        show_default=True,
        metavar="COL,...",
        help="Column to forecast. With several, each is a series of its own.",
    ),
    click.option(
        "--id",
        "key",
        type=options.Names(),
        default="",
        metavar="COL,...",
        help="Column, or columns, that say to which series a row belongs.",
    ),
    click.option(
        "--time",
        metavar="COL",
        help="Column of times (ISO 8601, or numbers), by which rows that come again "
        "are recognised.  [default: the rows of each series are numbered]",
    ),
    click.option(
        "--replay",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SPEED",
        help="Replay SOURCE, this many rows a second: a file, or one of the data sets of the library: "
        f"{', '.join(NAMES)}.  [default: {DEFAULT_SPEED:g} for a data set]",
    ),
)
@grouped(
    "watch",
    "Page",
    click.option("--open/--no-open", "is_opened", default=True, help="Whether to open the page in the browser."),
    *serve.address_options,
)
@grouped("watch", "State", serve.state_option)
@grouped("watch", "Model", *serve.model_options)
@grouped("watch", "Learning", *serve.learning_options)
def watch(**given: Any) -> int:
    """Forecast rows as they arrive, and show them on a live page: the forecast moves ahead of the data.

    SOURCE is standard input (-, the default), a file of CSV or JSON lines that grows, a data set to replay, or the
    folder that `adabypass serve` or `adabypass watch` has kept with --state.

        adabypass watch --replay 50 nile

        tail -n +1 -f sensor.csv | adabypass watch --target load

        adabypass watch sensor.csv --target load --id host --time t --state kept

    Programs may ask it all that `adabypass serve` answers. When the input has ended the page stays; Ctrl-C ends it.
    """
    from adabypass.service.feeding import replay_of  # noqa: PLC0415  (an extra)

    source, speed = given["source"], given["replay"]
    columns = Columns(given["target"], given["key"], given["time"])
    if not columns.targets:
        raise click.UsageError("--target names no column.")
    with options.usage_errors():
        columns.check(lambda argument: "--id" if argument == "key" else f"--{argument}")
    is_folder, is_data_set = Path(source).is_dir(), source in NAMES and not Path(source).exists()
    if is_folder and given["state"] is not None:
        raise click.UsageError(f"{source} is a folder that is watched; leave --state out.")
    speed = DEFAULT_SPEED if is_data_set and speed is None else speed
    replayed = None if speed is None or is_folder else replay_of(source, columns)
    if replayed is None and not is_folder and source != "-" and not Path(source).is_file():
        raise click.UsageError(f"{source}: there is no such file, folder or data set.")
    access, listening = serve.open_address(given)
    with listening:
        keeper = serve.open_keeper(given, Path(source) if is_folder else given["state"])
        return _run(given, keeper, access, listening, columns, replayed, speed)


def _run(
    given: dict[str, Any], keeper: "Keeper", access: "Access", listening: "socket.socket", columns: Columns,
    replayed: "Replay | None", speed: float | None,
) -> int:  # fmt: skip
    """Serve the page, and learn what comes; return the exit code."""
    from adabypass.service import server  # noqa: PLC0415  (an extra)
    from adabypass.service.feeding import Feeder  # noqa: PLC0415

    source, used = given["source"], columns if replayed is None else replayed.columns
    feeder: Feeder | None = None

    def started(service: "Service") -> None:
        nonlocal feeder
        address = server.address(listening)
        terminal.note(f"The page: {address}")
        if given["is_opened"] and _has_screen():
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        if not Path(source).is_dir():
            feeder = Feeder(used, used.targets[0], service.learn_now, keeper.last_time, terminal.complain)
            _describe(keeper, replayed, used)
            Thread(target=partial(_feed, feeder, source, replayed, speed), daemon=True).start()

    try:
        return serve.run(keeper, access, listening, started)
    finally:
        if feeder is not None:
            feeder.stop.set()


def _describe(keeper: "Keeper", replayed: "Replay | None", columns: Columns) -> None:
    """Give a data set its title."""
    if replayed is not None and replayed.title is not None:
        keeper.register(columns.targets[0], replayed.title[:1].upper() + replayed.title[1:], replayed.unit)


def _feed(feeder: "Feeder", source: str, replayed: "Replay | None", speed: float | None) -> None:
    """Learn all that comes; say when there is no more, or why it cannot be read."""
    from adabypass.service.feeding import GrowingFile  # noqa: PLC0415  (an extra)

    try:
        if replayed is not None and speed is not None:
            feeder.replay(replayed, speed)
        elif source == "-":
            feeder.follow(standard_input(), STANDARD_INPUT)
        else:
            with GrowingFile(Path(source), feeder.stop) as file:
                feeder.follow(cast(BinaryIO, file), source)
    except Exception as error:
        terminal.complain(f"the input has ended: {error}")
        return
    if not feeder.stop.is_set():
        terminal.note("The input has ended; the page stays, and Ctrl-C ends it.")


def _has_screen() -> bool:
    """Return whether there is a screen: without one, Python would open a browser within the terminal."""
    return sys.platform in ("win32", "darwin") or any(name in os.environ for name in ("DISPLAY", "WAYLAND_DISPLAY"))
