"""`adabypass evaluate`: how well models would have forecast a file's series, each forecast made before its target."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from adabypass import tables
from adabypass.cli import options
from adabypass.cli.pictures import check_picture
from adabypass.errors import UnknownNameError
from adabypass.evaluation import Comparison, compare
from adabypass.panel.pipeline import each_series
from adabypass.panel.series import Panel, Series

SHOWN = ("rmse", "mae", "crps", "log_likelihood", "coverage_90", "width_90")


@click.command()
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False))
@options.column_options
@options.lag_options
@click.option("--horizon", type=click.IntRange(1, 100_000), default=1, show_default=True, help="Steps ahead.")
@click.option(
    "--models", type=options.Names(), default="auto,ada,bypass,skf,pa", show_default=True, metavar="MODEL,...",
    help=f"Which to compare, the first with each of the others: {options.MODEL_HELP}",
)  # fmt: skip
@click.option(
    "--loss", type=click.Choice(["log", "crps", "squared", "absolute"]), default="crps", show_default=True,
    help="What the differences between models are of.",
)  # fmt: skip
@click.option("--skip", type=click.IntRange(0), default=20, show_default=True, help="First forecasts not to count.")
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), callback=check_picture,
    help="Draw how calibrated the first model is on the first series: PNG, PDF or SVG.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(allow_dash=True, dir_okay=False),
    help="Where to write the scores: CSV, TSV, JSON lines or Parquet, by the ending.",
)  # fmt: skip
def evaluate(
    file: str, target: str, time: str | None, key: str | None, exog: Any, calendar: Any, step: str | None, lags: Any,
    seasonal_lags: Any, difference: int, missing: str, horizon: int, models: tuple[str, ...], loss: str, skip: int,
    plot: Path | None, out: str | None,
) -> None:  # fmt: skip
    """Score models on every series of FILE: each forecast is made before its target is seen.

    The last column says how much larger a model's loss is than the first model's, with its standard error and the
    probability of so large a difference by chance (Diebold-Mariano).
    """
    options.check_out(out)
    if not models:
        raise UnknownNameError(f"no model is named; the models are {', '.join(options.MODELS)}.")
    for name in models:
        if name not in options.MODELS:
            raise UnknownNameError(f'there is no model "{name}"; the models are {", ".join(options.MODELS)}.')
    panel = Panel(tables.read(file), options.columns(target, time, key, exog, calendar, step))
    n = 2 * len(panel.table) * len(models)  # forecast, then scored
    with options.progress("forecasting and scoring", n) as advance:

        def work(series: Series) -> Comparison:
            if missing == "raise":
                series.check_exog(0, options.FILL_MISSING)
            contest = {name: options.forecaster(name, lags, seasonal_lags, difference, missing, ()) for name in models}
            return compare(
                contest, series.y, series.exog, horizon=horizon, skip=skip, loss=loss,
                progress=lambda _, done: advance(done),
            )  # fmt: skip

        results, failures = each_series(panel, work)
    if plot is not None:
        _draw(results[0][1].evaluations[models[0]].traces[horizon], plot)
    if out is not None:
        tables.write(_columns(results), out)
    if out != "-":
        for series, comparison in results:
            options.console().print(_table(series, comparison, horizon))
    options.report(failures)


def _table(series: Series, comparison: Comparison, horizon: int) -> Table:
    ahead = "one step ahead" if horizon == 1 else f"{horizon} steps ahead"
    title = f"{series.name + ', ' if series.name else ''}{len(series.y)} observations, {ahead}"
    first = comparison.lines[0].name
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    table.add_column("model")
    for name in SHOWN:
        table.add_column(name.replace("_", " "), justify="right")
    table.add_column(f"{comparison.loss} loss beside {first}")
    for line in comparison.lines:
        cells = [f"{line.scores[name]:.5g}" if name in line.scores else "" for name in SHOWN]
        d = line.difference
        beside = "" if d is None else f"{d.mean:+.3g} ± {d.standard_error:.2g} (p = {d.p_value:.2g})"
        table.add_row(line.name, *cells, beside)
    return table


def _columns(results: list[tuple[Series, Comparison]]) -> dict[str, Any]:
    """Put the scores of every series and model below each other."""
    lines = [(series, line) for series, comparison in results for line in comparison.lines]
    columns: dict[str, list[Any]] = {"series": [series.name for series, _ in lines]}
    columns["model"] = [line.name for _, line in lines]
    for name in SHOWN:
        columns[name] = [line.scores.get(name, float("nan")) for _, line in lines]
    for part in ("mean", "standard_error", "p_value"):
        values = [float("nan") if line.difference is None else getattr(line.difference, part) for _, line in lines]
        columns[f"difference_{part}".replace("difference_mean", "difference")] = values
    return {name: np.array(values) for name, values in columns.items()}


def _draw(trace: Any, path: Path) -> None:
    from adabypass import plots  # noqa: PLC0415  (the table needs no matplotlib)

    plots.save(plots.calibrated(trace), path)
