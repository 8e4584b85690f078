"""`adabypass forecast`: what comes next, for every series of a file."""

import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.core import ParameterSource
from rich.table import Table

from adabypass.cli import options, outputs, terminal
from adabypass.data import read_table
from adabypass.data.cells import Decimal
from adabypass.data.text import printable
from adabypass.panel.pipeline import forecast_series
from adabypass.panel.series import Series, SeriesTable
from adabypass.results.forecast import Forecast
from adabypass.streaming.clock import Span
from adabypass.streaming.view import forecast_folder


@click.command()
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False), required=False)
@click.option(
    "--state", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Forecast the series that adabypass stream --state DIR has learned, instead of those of a file; the stream "
    "may be running. --id is then the id of one series, as it is printed. The times of the steps are printed if the "
    "stream has times and --freq is known, from the stream or here.",
)  # fmt: skip
@options.csv_options
@options.column_options
@options.file_lag_options
@options.horizon_option
@click.option(
    "--level", "levels", type=options.Level(), multiple=True, default=[90], show_default=True, metavar="PERCENT",
    help="Probability of the interval around each forecast, in percent; may be given several times.",
)  # fmt: skip
@click.option(
    "--levels", "list_of_levels", type=options.Percents(), metavar="PERCENT,...",
    help="The same in one list, with commas between them.",
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
@click.pass_context
def forecast(
    ctx: click.Context, file: str | None, state: Path | None, sep: str | None, decimal: Decimal, target: str,
    time: str | None, key: str | None, exog: Any, calendar: Any, freq: str | None, lags: Any, seasonal_lags: Any,
    difference: int, missing: str | None, horizon: int, levels: tuple[float, ...], quantiles: tuple[float, ...],
    model: str, period: int | None, support: Any, plot: Path | None, out: str | None,
    list_of_levels: tuple[float, ...] | None,
) -> int:  # fmt: skip
    """Forecast the next values of every series in FILE, or of those that a stream has learned.

    FILE is .csv, .tsv or .jsonl (each also with .gz) or .parquet, or - for standard input, CSV or JSON lines. Blank
    cells of the target are missing observations. With --exog, rows at the end whose target is blank hold the values
    that are known of the future.
    """
    if out in (None, outputs.STANDARD):
        outputs.check_stdout()
    if list_of_levels is not None:
        if ctx.get_parameter_source("levels") is not ParameterSource.DEFAULT:
            raise click.UsageError("--level and --levels say the same; leave one of them out.")
        levels = list_of_levels
    if state is not None:
        _check_alone(ctx, file)
        with options.usage_errors():
            step = None if freq is None else Span(freq, "--freq")
            columns = forecast_folder(state, horizon, key, levels, quantiles, step)
        _write(columns, out)
        return 0
    if file is None:
        raise click.UsageError("name a FILE, or the folder of a stream with --state.")
    if period is not None and model != "snaive" and not options.is_automatic(model, lags, seasonal_lags, difference):
        raise click.UsageError(
            "--period is used by --model snaive, and by --model auto without lags; leave it out, or pass "
            "--seasonal-lags instead."
        )
    options.check_automatic_only(model, lags, seasonal_lags, difference, support=support)
    panel = SeriesTable(
        read_table(file, sep=sep, decimal=decimal), options.columns(target, time, key, exog, calendar, freq, missing)
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
    for each in panel.remarks([template], options.KEEP_LAST):
        terminal.complain(each)
    _write(found.columns, out)
    if plot is not None:
        _draw(*found.first, plot)
        terminal.note(f"the picture is in {plot}")
    return options.report(found.failures)


WITH_STATE = {"file", "state", "horizon", "key", "levels", "list_of_levels", "quantiles", "freq", "out"}
"""Options that go with --state."""


def _check_alone(ctx: click.Context, file: str | None) -> None:
    """Refuse what does not go with --state, whose settings are in the folder."""
    if file is not None:
        raise click.UsageError("--state forecasts the series of its folder; leave FILE out.")
    for name in ctx.params.keys() - WITH_STATE:
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with --state, whose settings are in DIR.")


def _write(columns: dict[str, Any], out: str | None) -> None:
    if out is None and sys.stdout.isatty():
        terminal.console().print(_table(columns))
    else:
        outputs.write_columns(columns, out or outputs.STANDARD)
    if out not in (None, outputs.STANDARD):
        terminal.note(f"{len(next(iter(columns.values())))} forecasts are in {out}")


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
