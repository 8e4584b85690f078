"""`adabypass forecast`: what comes next, for every series of a file."""

import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from adabypass import tables
from adabypass.cli import options
from adabypass.cli.pictures import check_picture
from adabypass.model.forecast import Forecast
from adabypass.panel.pipeline import forecast_panel
from adabypass.panel.series import Panel, Series


@click.command()
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False))
@options.column_options
@options.lag_options
@click.option("--horizon", type=click.IntRange(1, 100_000), default=1, show_default=True, help="Steps ahead.")
@click.option(
    "--level", "levels", type=options.Level(), multiple=True, default=[90], show_default=True,
    help="Of the intervals, in percent; may be given several times.",
)  # fmt: skip
@click.option("--model", type=click.Choice(list(options.MODELS)), default="auto", help=options.MODEL_HELP)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), callback=check_picture,
    help="Draw the first series and its forecast: PNG, PDF or SVG, by the ending.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(allow_dash=True, dir_okay=False),
    help="Where to write the forecasts: CSV, TSV, JSON lines or Parquet, by the ending.  [default: printed]",
)  # fmt: skip
def forecast(
    file: str, target: str, time: str | None, key: str | None, exog: Any, calendar: Any, step: str | None, lags: Any,
    seasonal_lags: Any, difference: int, missing: str, horizon: int, levels: tuple[float, ...], model: str,
    plot: Path | None, out: str | None,
) -> None:  # fmt: skip
    """Learn every series of FILE, and forecast what comes next.

    FILE is CSV, TSV, JSON lines or Parquet, by its ending, or - for standard input. Blank cells of the target are
    missing observations. With --exog, rows at the end whose target is blank say what is known of the future.
    """
    options.check_out(out)
    panel = Panel(tables.read(file), options.columns(target, time, key, exog, calendar, step))
    template = options.forecaster(model, lags, seasonal_lags, difference, missing, ())
    with options.progress("series", len(panel)) as advance:
        found = forecast_panel(panel, horizon, template, levels, progress=advance, remedy=options.FILL_MISSING)
    answer, first = found.columns, found.first
    if plot is not None:
        _draw(*first, plot)
    if out is not None:
        tables.write(answer, out)
        if out != "-":
            click.echo(f"{len(next(iter(answer.values())))} forecasts are in {out}", err=True)
    elif sys.stdout.isatty():
        options.console().print(_table(answer))
    else:
        tables.write(answer, "-")
    if plot is not None:
        click.echo(f"the picture is in {plot}", err=True)
    options.report(found.failures)


def _table(answer: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, values in answer.items():
        table.add_column(name, justify="right" if np.asarray(values).dtype.kind in "fi" else "left")
    for row in zip(*answer.values(), strict=True):
        table.add_row(*(f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row))
    return table


def _draw(series: Series, ahead: Forecast, path: Path) -> None:
    from adabypass import plots  # noqa: PLC0415  (the numbers need no matplotlib)

    time = np.arange(1, len(series.y) + 1) if series.time is None else series.time
    ax = plots.horizon(ahead, y=series.y, time=time, future_time=series.following(len(ahead)))
    ax.set(ylabel=series.columns.target, xlabel=series.columns.time or "row")
    if series.name:
        ax.set_title(series.name, loc="left", fontsize=11)
    plots.save(ax, path)
