"""`adabypass evaluate`: how well models would have forecast a file's series, each forecast made before its target."""

from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from adabypass.cli import options, outputs, terminal
from adabypass.data import read_table
from adabypass.data.periods import season_of
from adabypass.data.text import printable
from adabypass.errors import UnknownNameError
from adabypass.evaluation import Comparison, compare
from adabypass.evaluation.comparison import MIN_LENGTH_FOR_BASELINES, MIN_PERIODS
from adabypass.panel.batch import copy_for
from adabypass.panel.pipeline import map_series
from adabypass.panel.series import Series, SeriesTable

DEFAULT = ("auto", "naive", "drift")
"""What is compared unless models are named, besides snaive where the period is known."""
SHOWN = ("rmse", "mae", "crps", "log_likelihood", "coverage_90", "width_90")
Results = list[tuple[Series, Comparison]]


@click.command(short_help="Score models on the series of a file.")
@options.file_argument
@options.column_options
@options.lag_options
@options.horizon_option
@options.period_option
@click.option(
    "--models", type=options.Names(), metavar="MODEL,...",
    help=f"Models to compare; the others are compared with the first. {options.MODEL_HELP} {options.BASELINE_HELP}  "
    f"[default: {','.join(DEFAULT)}, and snaive if the period is known]",
)  # fmt: skip
@click.option(
    "--every", type=click.IntRange(1, 10_000_000), metavar="N",
    help="Forecast after every N observations.  [default: after each, or fewer where that would take long]",
)  # fmt: skip
@click.option(
    "--loss", type=click.Choice(["log", "crps", "squared", "absolute"]), default="crps", show_default=True,
    help="Loss by which the models are compared: negative log score, CRPS, squared or absolute error.",
)  # fmt: skip
@click.option(
    "--skip", type=click.IntRange(0), default=20, show_default=True, metavar="N",
    help="Leave the first N forecasts out of the scores: they are made from hardly any data.",
)  # fmt: skip
@outputs.plot_option("how well the first model is calibrated on the first series")
@outputs.out_option("the scores", "printed")
def evaluate(
    file: str, target: str, time: str | None, key: str | None, exog: Any, calendar: Any, freq: str | None, lags: Any,
    seasonal_lags: Any, difference: int, missing: str, horizon: int, period: int | None, models: Any,
    every: int | None, loss: str, skip: int, plot: Path | None, out: str | None,
) -> int:  # fmt: skip
    """Score models on every series in FILE: each forecast is made before its target is seen.

    Above the table: how many forecasts are scored, and how many are not. Only what all models have forecast is scored.
    The last column says how much larger a model's loss is than the first model's, with its standard error and the
    probability of so large a difference by chance (Diebold-Mariano test).
    """
    outputs.check_stdout()
    _check_models(models)
    make = partial(
        options.forecaster, lags=lags, seasonal_lags=seasonal_lags, difference=difference, missing=missing, exog=(),
        period=period,
    )  # fmt: skip
    panel = SeriesTable(read_table(file), options.columns(target, time, key, exog, calendar, freq))
    n = 2 * len(panel.table) * len(models or DEFAULT)  # forecast, then scored
    with terminal.progress("forecasting and scoring", n) as advance:

        def work(series: Series) -> Comparison:
            if missing == "raise":
                series.check_exog(0, options.FILL_MISSING)
            season = season_of(series.frequency) if period is None else period
            names = _default(series, season) if models is None else models
            contest = {name: copy_for(series.frequency, options.make_forecaster(name, season, make)) for name in names}
            return compare(
                series.y, contest, series.exog, horizon=horizon, every=every, skip=skip, loss=loss, baselines=False,
                progress=lambda _, done: advance(done),
            )  # fmt: skip

        results, failures = map_series(panel, work, n_threads=None)
    if out is not None:
        outputs.write_columns(_columns(results), out)
    if out != outputs.STANDARD:
        for series, comparison in results:
            terminal.console().print(_table(series, comparison, horizon))
    if plot is not None:
        first = results[0][1]
        _draw(first.evaluations[first.lines[0].name].traces[horizon], plot)
        terminal.note(f"the picture is in {plot}")
    return options.report(failures)


def _default(series: Series, period: int | None) -> tuple[str, ...]:
    """Return the models that a series is evaluated with if none is named."""
    n_seen = int(np.count_nonzero(~np.isnan(series.y)))
    if n_seen < MIN_LENGTH_FOR_BASELINES:
        return DEFAULT[:1]
    return (*DEFAULT, "snaive") if period is not None and n_seen >= MIN_PERIODS * period else DEFAULT


def _check_models(models: tuple[str, ...] | None) -> None:
    """Check that every model is known, and that there is one."""
    names = [*options.MODEL_NAMES, *options.BASELINES]
    known = ", ".join(names)
    if models is not None and not models:
        raise UnknownNameError(f"no model is named; the models are {known}.")
    for name in models or ():
        if name not in names:
            raise UnknownNameError(f'there is no model "{name}"; the models are {known}.')


def _table(series: Series, comparison: Comparison, horizon: int) -> Table:
    first = comparison.lines[0].name
    ahead = "one step ahead" if horizon == 1 else f"{horizon} steps ahead"
    name = f"{printable(series.name)}, " if series.name else ""
    counts = comparison.evaluations[first].counts(horizon)
    title = f"{name}{len(series.y)} observations, {ahead}: {counts}"
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    table.add_column("model")
    for score in SHOWN:
        table.add_column(score.replace("_", " "), justify="right")
    table.add_column(f"{comparison.loss} loss less that of {first}")
    for line in comparison.lines:
        cells = [f"{line.scores[score]:.5g}" if score in line.scores else "" for score in SHOWN]
        d = line.difference
        beside = "" if d is None else f"{d.mean:+.3g} ± {d.standard_error:.2g} (p = {d.p_value:.2g})"
        table.add_row(line.name, *cells, beside)
    return table


def _columns(results: Results) -> dict[str, Any]:
    """Return the scores of every series and model, below each other."""
    tables_of = [comparison.columns() for _, comparison in results]
    names = list(dict.fromkeys(name for columns in tables_of for name in columns))
    lengths = [len(columns["model"]) for columns in tables_of]
    joined = {
        name: np.concatenate([
            columns.get(name, np.full(n, np.nan)) for columns, n in zip(tables_of, lengths, strict=True)
        ])
        for name in names
    }  # fmt: skip
    return {"series": np.repeat([series.name for series, _ in results], lengths), **joined}


def _draw(trace: Any, path: Path) -> None:
    from adabypass import plots  # noqa: PLC0415  (the table needs no matplotlib)

    plots.save(plots.calibration(trace), path)
