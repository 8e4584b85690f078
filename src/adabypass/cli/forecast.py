"""`adabypass forecast`: what comes next, for every series of a file."""

import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from adabypass.cli import options, outputs, terminal
from adabypass.data import read_table
from adabypass.data.cells import Decimal
from adabypass.data.text import printable
from adabypass.panel.pipeline import forecast_series
from adabypass.panel.series import Series, SeriesTable
from adabypass.results.forecast import Forecast


@click.command(short_help="Forecast the next values of every series in a file.")
@options.file_argument
@options.csv_options
@options.column_options
@options.lag_options
@options.horizon_option
@click.option(
    "--level", "levels", type=options.Level(), multiple=True, default=[90], show_default=True, metavar="PERCENT",
    help="Probability of the interval around each forecast, in percent; may be given several times.",
)  # fmt: skip
@click.option(
    "--quantiles", type=options.Percents(), default=(), metavar="PERCENT,...",
    help="Further quantiles of each forecast, in percent, besides the median.",
)  # fmt: skip
@options.model_or_baseline_option
@options.period_option
@options.support_option
@outputs.plot_option("the first series and its forecast")
@outputs.out_option("the forecasts", "printed")
def forecast(
    file: str, sep: str | None, decimal: Decimal, target: str, time: str | None, key: str | None, exog: Any,
    calendar: Any, freq: str | None, lags: Any, seasonal_lags: Any, difference: int, missing: str, horizon: int,
    levels: tuple[float, ...], quantiles: tuple[float, ...], model: str, period: int | None, support: Any,
    plot: Path | None, out: str | None,
) -> int:  # fmt: skip
    """Forecast the next values of every series in FILE.

    FILE is .csv, .tsv or .jsonl (each also with .gz) or .parquet, or - for standard input, CSV or JSON lines. Blank
    cells of the target are missing observations. With --exog, rows at the end whose target is blank hold the values
    that are known of the future.
    """
    if out in (None, outputs.STANDARD):
        outputs.check_stdout()
    if period is not None and model != "snaive" and not options.is_automatic(model, lags, seasonal_lags, difference):
        raise click.UsageError(
            "--period is for --model snaive, and for --model auto without lags; leave it out, or name "
            "--seasonal-lags instead."
        )
    options.check_automatic_only(model, lags, seasonal_lags, difference, support=support)
    panel = SeriesTable(
        read_table(file, sep=sep, decimal=decimal), options.columns(target, time, key, exog, calendar, freq)
    )
    template = options.make_forecaster(
        model,
        period,
        lambda name: options.forecaster(name, lags, seasonal_lags, difference, missing, (), period, support),
    )
    with terminal.progress("series", len(panel)) as advance:
        found = forecast_series(
            panel, horizon, template, levels, quantiles, progress=advance, remedy=options.FILL_MISSING
        )
    if out is None and sys.stdout.isatty():
        terminal.console().print(_table(found.columns))
    else:
        outputs.write_columns(found.columns, out or outputs.STANDARD)
    if out not in (None, outputs.STANDARD):
        terminal.note(f"{len(next(iter(found.columns.values())))} forecasts are in {out}")
    if plot is not None:
        _draw(*found.first, plot)
        terminal.note(f"the picture is in {plot}")
    return options.report(found.failures)


def _table(columns: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, values in columns.items():
        table.add_column(printable(name), justify="right" if np.asarray(values).dtype.kind in "fi" else "left")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(f"{cell:.6g}" if isinstance(cell, float) else printable(cell) for cell in row))
    return table


def _draw(series: Series, ahead: Forecast, path: Path) -> None:
    from adabypass import plots  # noqa: PLC0415  (the numbers need no matplotlib)

    time = np.arange(1, len(series.y) + 1) if series.time is None else series.local(series.time)
    ax = plots.fan(ahead, y=series.y, time=time, future_time=series.local(series.following(len(ahead))))
    plots.label(ax, x=series.columns.time or "row", y=series.columns.target, title=series.name)
    plots.save(ax, path)
