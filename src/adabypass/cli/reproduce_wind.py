"""`adabypass reproduce wind`: the paper's forecasts of wind speed, on a series that may be embedded."""

from math import ceil, isnan
from pathlib import Path

import click
from rich.table import Table

from adabypass.cli import outputs, terminal
from adabypass.experiments import wind as study

MAX_ROWS = 12
"""Number of steps ahead that a table shows, besides the first."""


@click.command()
@click.option(
    "--lags", type=click.IntRange(1, study.MAX_LAGS), default=1, show_default=True,
    help="Forecast each value from this many values before it.",
)  # fmt: skip
@click.option(
    "--horizon", type=click.IntRange(1, study.MAX_HORIZON), default=1, show_default=True,
    help="Forecast up to this many steps of 10 minutes ahead; more than one takes about a minute longer.",
)  # fmt: skip
@click.option(
    "--length", type=int, metavar="N", help="Use only the first N values of the series.  [default: all 40,174]"
)
@outputs.plot_option("the figure", "--out", default="wind.png")
def wind(lags: int, horizon: int, length: int | None, out: Path | None) -> None:
    """Wind speed, forecast 10 minutes ahead, and up to 6 hours."""
    outputs.check_stdout()
    with terminal.progress_of_total("forecasting and scoring") as progress:
        found = study.run(lags, horizon, progress=progress, length=length)
    console = terminal.console(pipe_width=110)
    console.print("Wind speed, 10 minutes ahead", style="bold")
    console.print(study.SUBSTITUTE)
    console.print(found.setting + "\n")
    console.print(_results(found))
    console.print("\n" + found.remark)
    if found.ahead:
        console.print(f"\nUp to {horizon} steps ahead, from {found.ahead[0].n_origins:,} origins", style="bold")
        console.print(study.AHEAD_SETTING + "\n")
        console.print(_ahead(found))
    outputs.draw_default(lambda path: _draw(found, path), out, "wind.png")


def _results(found: study.Study) -> Table:
    table = Table("model", "what was done", box=None, pad_edge=False, header_style="bold")
    for heading in ("RMSE", "MAD", "MAE", "LL", "CRPS", "coverage", "time"):
        table.add_column(heading, justify="right")
    for result in found.results:
        score, from_paper = result.score, result.trace is None
        digits = 2 if from_paper else 3
        table.add_row(
            result.model,
            "the paper's figures" if from_paper else result.how,
            *(f"{value:.{digits}f}" for value in (score.rmse, score.mad, score.mae)),
            f"{score.log_likelihood:,.{2 if from_paper else 0}f}",
            _known(score.crps, ".3f"),
            _known(score.coverage_90, ".1%"),
            "" if result.seconds is None else f"{1000 * result.seconds:.0f} ms",
            style="dim" if from_paper else None,
        )
    return table


def _known(value: float, form: str) -> str:
    return "" if isnan(value) else format(value, form).replace("%", " %")


def _ahead(found: study.Study) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("ahead", justify="right")
    for heading in ("model", "RMSE", "MAD", "CRPS", "mean LL", "coverage"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    horizon = len(found.ahead[0].scores)
    stride = ceil(horizon / MAX_ROWS)
    for step in sorted({1, *range(stride, horizon + 1, stride), horizon}):
        for number, each in enumerate(found.ahead):
            score = each.scores[step - 1]
            table.add_row(
                "" if number else f"{step // 6}:{step % 6}0 h",
                each.model,
                *(f"{value:,.3f}" for value in (score.rmse, score.mad, score.crps, score.log_likelihood / score.n)),
                _known(score.coverage_90, ".1%"),
            )
    return table


def _draw(found: study.Study, path: Path) -> None:
    from adabypass import plots  # noqa: PLC0415  (the table needs no matplotlib)
    from adabypass.experiments import wind_picture  # noqa: PLC0415

    plots.save(wind_picture.wind(found), path)
