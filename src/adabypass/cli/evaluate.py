"""`adabypass evaluate`: how well models would have forecast a file's series, each forecast made before its target."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from adabypass import tables
from adabypass.cli import options, outputs, terminal
from adabypass.errors import UnknownNameError
from adabypass.evaluation import Comparison, compare
from adabypass.panel.pipeline import each_series
from adabypass.panel.series import Series, SeriesTable
from adabypass.tables.text import printable

SHOWN = ("rmse", "mae", "crps", "log_likelihood", "coverage_90", "width_90")
Results = list[tuple[Series, Comparison]]


@click.command(short_help="Score models on the series of a file.")
@options.file_argument
@options.column_options
@options.lag_options
@options.horizon_option
@click.option(
    "--models", type=options.Names(), default="auto,ada,bypass,skf,pa", show_default=True, metavar="MODEL,...",
    help=f"Models to compare; the others are compared with the first. {options.MODEL_HELP}",
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
    seasonal_lags: Any, difference: int, missing: str, horizon: int, models: tuple[str, ...], loss: str, skip: int,
    plot: Path | None, out: str | None,
) -> int:  # fmt: skip
    """Score models on every series in FILE: each forecast is made before its target is seen.

    The last column says how much larger a model's loss is than the first model's, with its standard error and the
    probability of so large a difference by chance (Diebold-Mariano test).
    """
    outputs.check_stdout()
    _check_models(models)
    panel = SeriesTable(tables.read(file), options.columns(target, time, key, exog, calendar, freq))
    n = 2 * len(panel.table) * len(models)  # forecast, then scored
    with terminal.progress("forecasting and scoring", n) as advance:

        def work(series: Series) -> Comparison:
            if missing == "raise":
                series.check_exog(0, options.FILL_MISSING)
            contest = {name: options.forecaster(name, lags, seasonal_lags, difference, missing, ()) for name in models}
            return compare(
                contest, series.y, series.exog, horizon=horizon, skip=skip, loss=loss,
                progress=lambda _, done: advance(done),
            )  # fmt: skip

        results, failures = each_series(panel, work)
    if out is not None:
        outputs.write_table(_columns(results), out)
    if out != outputs.STANDARD:
        for series, comparison in results:
            terminal.console().print(_table(series, comparison, horizon))
    if plot is not None:
        _draw(results[0][1].evaluations[models[0]].traces[horizon], plot)
        terminal.note(f"the picture is in {plot}")
    return options.report(failures)


def _check_models(models: tuple[str, ...]) -> None:
    """Check that every model is known, and that there is one."""
    known = ", ".join(options.MODELS)
    if not models:
        raise UnknownNameError(f"no model is named; the models are {known}.")
    for name in models:
        if name not in options.MODELS:
            raise UnknownNameError(f'there is no model "{name}"; the models are {known}.')


def _table(series: Series, comparison: Comparison, horizon: int) -> Table:
    first = comparison.lines[0].name
    n_scored = comparison.lines[0].n_scored
    ahead = "one step ahead" if horizon == 1 else f"{horizon} steps ahead"
    name = f"{printable(series.name)}, " if series.name else ""
    counted = f"{len(series.y)} observations, {n_scored} forecast{'s' * (n_scored != 1)} scored"
    title = f"{name}{counted}, {ahead}"
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
    lines = [(series, line) for series, comparison in results for line in comparison.lines]
    columns: dict[str, list[Any]] = {"series": [series.name for series, _ in lines]}
    columns["model"] = [line.name for _, line in lines]
    columns["n_scored"] = [line.n_scored for _, line in lines]
    for name in SHOWN:
        columns[name] = [line.scores.get(name, float("nan")) for _, line in lines]
    for part in ("mean", "standard_error", "p_value"):
        values = [float("nan") if line.difference is None else getattr(line.difference, part) for _, line in lines]
        columns[f"difference_{part}".replace("difference_mean", "difference")] = values
    return {name: np.array(values) for name, values in columns.items()}


def _draw(trace: Any, path: Path) -> None:
    from adabypass import plots  # noqa: PLC0415  (the table needs no matplotlib)

    plots.save(plots.calibrated(trace), path)
