"""`adabypass evaluate`: how well models would have forecast a file's series, each forecast made before its target."""

from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from adabypass.cli import options, outputs, terminal
from adabypass.data import read_table
from adabypass.data.cells import Decimal
from adabypass.data.periods import season_of
from adabypass.data.text import printable
from adabypass.errors import UnknownNameError
from adabypass.evaluation.comparison import (
    MIN_LENGTH_FOR_BASELINES,
    MIN_PERIODS,
    SHOWN,
    Comparison,
    Line,
    compare_series,
    default_loss,
)
from adabypass.evaluation.observations import check_id
from adabypass.evaluation.prequential import SKIP, Plan
from adabypass.forecasting import Baseline, Forecaster
from adabypass.panel.series import Series, SeriesTable

DEFAULT = ("auto", "naive", "drift")
"""What is compared unless models are named, besides snaive where the period is known."""
MAX_TABLES = 10
"""Series whose scores are printed, each in a table of its own, behind those over all."""


@click.command()
@options.file_argument
@options.csv_options
@options.column_options
@options.file_lag_options
@options.horizon_option
@options.period_option
@options.support_option
@click.option(
    "--models", type=options.Names(), metavar="MODEL,...",
    help=f"Models to compare; the others are compared with the first. {options.MODEL_HELP} {options.BASELINE_HELP}  "
    f"[default: {','.join(DEFAULT)}, and snaive if the period is known]",
)  # fmt: skip
@click.option(
    "--every", type=click.IntRange(1, 10_000_000), metavar="N",
    help="Number of observations from one forecast to the next.  [default: 1, or more where that would take long]",
)  # fmt: skip
@click.option(
    "--loss", type=click.Choice(["log", "crps", "squared", "absolute"]),
    help="Loss by which the models are compared: negative log score, CRPS, squared or absolute error.  [default: crps, "
    "or absolute where a model has no distribution]",
)  # fmt: skip
@click.option(
    "--skip", type=click.IntRange(0), default=SKIP, show_default=True, metavar="N",
    help="Number of observations at the beginning: forecasts made from fewer are not scored.",
)  # fmt: skip
@outputs.plot_option("how well the first model is calibrated on the first series")
@outputs.out_option("the scores", "printed")
def evaluate(
    file: str, sep: str | None, decimal: Decimal, target: str, time: str | None, key: str | None, exog: Any,
    calendar: Any, freq: str | None, lags: Any, seasonal_lags: Any, difference: int, missing: str | None, horizon: int,
    period: int | None, support: Any, models: Any, every: int | None, loss: str | None, skip: int, plot: Path | None,
    out: str | None,
) -> int:  # fmt: skip
    """Score models on every series in FILE: each forecast is made before its target is seen.

    Above the table: how many forecasts are scored, and how many are not. Only what all models have forecast is scored.
    The last column says how much larger a model's loss is than the first model's, with its standard error and the
    probability of so large a difference by chance (Diebold-Mariano test). Of many series, the first table is over all
    of them, and the difference is the mean of theirs.
    """
    outputs.check_stdout()
    _check_models(models)
    name = options.AUTO if models is None or options.AUTO in models else models[0]
    options.check_automatic_only(name, lags, seasonal_lags, difference, support=support)
    make = partial(
        options.forecaster, lags=lags, seasonal_lags=seasonal_lags, difference=difference, missing=missing, exog=(),
        period=period, support=support,
    )  # fmt: skip
    panel = SeriesTable(
        read_table(file, sep=sep, decimal=decimal), options.columns(target, time, key, exog, calendar, freq, missing)
    )
    check_id(panel)
    learners = [make(each) for each in models or DEFAULT if each not in options.BASELINES]
    loss = default_loss(learners) if loss is None else loss

    def contest_of(series: Series) -> dict[str, Forecaster | Baseline]:
        season = season_of(series.frequency) if period is None else period
        names = _default(series, season) if models is None else models
        return {name: options.make_forecaster(name, season, make) for name in names}

    n = 2 * len(panel.table) * len(models or DEFAULT)  # forecast, then scored
    with terminal.progress("forecasting and scoring", n) as advance:
        found, failures = compare_series(
            panel, contest_of, Plan.checked(horizon, every, skip), loss, progress=advance, remedy=options.FILL_MISSING,
            keep_first=plot is not None and len(panel) > 1,
        )  # fmt: skip
    if out is not None:
        outputs.write_columns(found.columns(), out)
    if out != outputs.STANDARD:
        _print(found, horizon, out)
    if plot is not None:
        _draw(found.first.trace(horizon), plot)
        terminal.note(f"the picture is in {plot}")
    for each in [*panel.remarks(learners, options.KEEP_LAST), *found.too_few()]:
        terminal.complain(each)
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


def _print(found: Comparison, horizon: int, out: str | None) -> None:
    """Print the scores over all series, and those of each if there are not too many."""
    ahead = "one step ahead" if horizon == 1 else f"{horizon} steps ahead"
    only = next(iter(found.series)) if len(found.series) == 1 else ""
    title = f"{printable(only)}, {ahead}" if only else ahead
    terminal.console().print(_table(f"{title}: {found.counts()}", found.lines, found.loss))
    if 1 < len(found.series) <= MAX_TABLES:
        for name, lines in found.series.items():
            terminal.console().print(_table(printable(name), lines, found.loss))
    elif len(found.series) > 1 and out is None:
        terminal.note(f"the scores of each of the {len(found.series)} series are written with --out FILE")


def _table(title: str, lines: list[Line], loss: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    table.add_column("model")
    table.add_column("forecasts", justify="right")
    for score in SHOWN:
        table.add_column(score.replace("_", " "), justify="right")
    table.add_column(f"{loss} loss less that of {lines[0].name}")
    for line in lines:
        cells = [f"{line.scores[score]:.5g}" if score in line.scores else "" for score in SHOWN]
        d = line.difference
        beside = "" if d is None else f"{d.mean:+.3g} ± {d.standard_error:.2g} (p = {d.p_value:.2g})"
        table.add_row(line.name, str(line.n_scored), *cells, beside)
    return table


def _draw(trace: Any, path: Path) -> None:
    from adabypass import plots  # noqa: PLC0415  (the table needs no matplotlib)

    plots.save(plots.calibration(trace), path)
