"""`adabypass datasets`: the series that come with the library, to look at and to try the other commands on."""

import click
import numpy as np
from rich.table import Table

from adabypass.cli import outputs, terminal
from adabypass.data import Array
from adabypass.datasets import NAMES, Dataset, load_dataset

HEADINGS = ("name", "length", "missing", "units", "what", "origin")
COUNTS = ("length", "missing")


@click.command()
@click.argument("name", required=False)
@outputs.out_option("the series", "printed as CSV")
def datasets(name: str | None, out: str | None) -> None:
    """List the series that come with the library, or print the one called NAME.

    The columns are id, where there are several series, time, y and, where others explain y, these.
    """
    if out in (None, outputs.STANDARD):
        outputs.check_stdout()
    if name is None:
        if out is not None:
            raise click.UsageError(f"--out needs the NAME of a series: {', '.join(NAMES)}.")
        _print_list([_row(load_dataset(each)) for each in NAMES])
        return
    series = load_dataset(name)
    outputs.write_columns(_columns(series), out or outputs.STANDARD)
    if out not in (None, outputs.STANDARD):
        terminal.note(f"{len(series.y)} rows are in {out}")


def _columns(series: Dataset) -> dict[str, Array]:
    return {{"unique_id": "id", "ds": "time"}.get(name, name): column for name, column in series.columns().items()}


def _row(series: Dataset) -> tuple[str, ...]:
    missing = int(np.isnan(series.y).sum())
    return series.name, str(len(series.y)), str(missing), series.units, series.description, series.origin


def _print_list(rows: list[tuple[str, ...]]) -> None:
    console = terminal.console()
    if not console.is_terminal:
        _print_plain(rows)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in COUNTS else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _print_plain(rows: list[tuple[str, ...]]) -> None:
    """Print aligned columns, each as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)]
    for row in (HEADINGS, *rows):
        cells = [
            cell.rjust(width) if heading in COUNTS else cell.ljust(width)
            for cell, width, heading in zip(row, widths, HEADINGS, strict=True)
        ]
        click.echo("  ".join(cells).rstrip())
