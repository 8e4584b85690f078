"""`adabypass pairs`: a pairs trade on prices of one's own."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from adabypass import tables
from adabypass.cli.pictures import check_picture
from adabypass.experiments import pairs as study
from adabypass.experiments.backtest import Backtest, Rules, Sizing


@click.command()
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--y", required=True, help="Column (or ticker) of the leg that is explained.")
@click.option("--x", required=True, help="Column (or ticker) of the leg that explains it.")
@click.option("--date", default="date", show_default=True, help="Column of the days.")
@click.option("--download", is_flag=True, help="Take adjusted closes from Yahoo! Finance instead of FILE.")
@click.option("--start", help="First day of a download, as 2006-05-22.  [default: all there is]")
@click.option("--end", help="Day after the last day of a download.")
@click.option("--model", type=click.Choice(["auto", "ada", "bypass", "skf"]), default="auto", show_default=True)
@click.option("--intercept/--no-intercept", default=False, show_default=True, help="Whether y = w x + c.")
@click.option("--entry", type=float, default=1.0, show_default=True, help="Enter beyond so many predictive sd.")
@click.option("--exit", "leave", type=float, default=0.0, show_default=True, help="Leave within so many.")
@click.option("--costs", type=float, default=5.0, show_default=True, help="Basis points of the value traded.")
@click.option(
    "--sizing",
    type=click.Choice(["hedge", "units"]),
    default="hedge",
    show_default=True,
    help="One unit of y against as many of x as the hedge ratio says, or against one.",
)
@click.option("--leverage", type=float, default=1.0, show_default=True, help="Both legs together, in capitals.")
@click.option("--quiet-days", type=int, default=20, show_default=True, help="Days before the first decision.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=check_picture,
    help="Where to draw it: PNG, PDF or SVG, by the ending.",
)
@click.option("--out", type=click.Path(dir_okay=False, allow_dash=True), help="Where to write every day, as a table.")
def pairs(
    file: str | None,
    y: str,
    x: str,
    date: str,
    download: bool,
    start: str | None,
    end: str | None,
    model: study.ModelName,
    intercept: bool,
    entry: float,
    leave: float,
    costs: float,
    sizing: Sizing,
    leverage: float,
    quiet_days: int,
    plot: Path | None,
    out: str | None,
) -> None:
    """Explain one price by another, day by day, and trade the spread.

    FILE holds the prices of both legs and their days: CSV, TSV, JSON lines or Parquet, "-" for standard input.
    """
    rules = Rules(entry, leave, sizing, costs, leverage, quiet_days).checked()
    if download == (file is not None):
        raise click.UsageError("Give either FILE or --download.")
    pair = read_prices(file, y, x, date) if file is not None else _download(y, x, start, end)
    fitted = study.fit(pair, model, intercept=intercept)
    tested = study.trade(fitted, rules)
    # With the days on standard output, the summary must not mix with them.
    console = Console(stderr=out == "-")
    console.print(_summary(fitted, tested))
    if out is not None:
        tables.write(_every_day(fitted, tested, date), out)
    if plot is not None:
        draw(fitted, tested, plot)
        console.print(f"The picture is in {plot}", soft_wrap=True)


def read_prices(file: str, y: str, x: str, date: str) -> study.Prices:
    """Read two columns of prices and their days."""
    table = tables.read(file)
    return study.prices(table.numbers(y), table.numbers(x), table.times(date), names=(y, x))


def draw(fitted: study.Fit, tested: Backtest, path: Path) -> None:
    """Write the picture of a pairs trade."""
    from adabypass.experiments import pairs_picture  # noqa: PLC0415  (the tables need no matplotlib)

    path.parent.mkdir(parents=True, exist_ok=True)
    pairs_picture.pair(fitted, tested).savefig(path, dpi=130)


def _download(y: str, x: str, start: str | None, end: str | None) -> study.Prices:
    from adabypass.adapters import yahoo  # noqa: PLC0415  (an extra)

    return yahoo.download(y, x, start, end)


def _summary(fitted: study.Fit, tested: Backtest) -> Table:
    metrics = tested.metrics
    low, high = tested.sharpe_interval(np.random.default_rng(study.SEED))
    time, (y, x) = fitted.prices.time, fitted.prices.names
    now = {1: f"holds {y} against {x}", -1: f"holds {x} against {y}", 0: "nothing is held"}[int(tested.sides[-1])]
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in (
        ("prices", f"{y} explained by {x}, {len(time)} days from {time[0]} to {time[-1]}"),
        ("model", fitted.model),
        ("Sharpe ratio", f"{metrics.sharpe:.2f}, 90 % interval {low:.2f} to {high:.2f}"),
        ("growth a year", f"{100 * metrics.cagr:z.2f} %"),
        ("volatility a year", f"{100 * metrics.volatility:.2f} %"),
        ("largest drawdown", f"{100 * metrics.max_drawdown:.2f} %"),
        ("longest drawdown", f"{metrics.drawdown_days} trading days"),
        ("turnover a year", f"{metrics.turnover:.1f} times the capital, {tested.rules.costs_bp:g} bp each"),
        ("trades", f"{metrics.n_trades}, of those closed {100 * metrics.hit_rate:.0f} % with a gain"),
        ("exposure", f"{100 * metrics.exposure:.0f} % of the days"),
        ("hedge ratio now", f"{fitted.hedge_ratio[-1]:.4g} ± {fitted.hedge_sd[-1]:.2g}"),
        ("position now", now),
    ):
        table.add_row(name, value.replace("nan %", "none").replace("nan", "none"))
    return table


def _every_day(fitted: study.Fit, tested: Backtest, date: str) -> dict[str, Any]:
    return {
        date: fitted.prices.time,
        "spread": fitted.spread,
        "sd": fitted.trace.sd,
        "hedge_ratio": fitted.hedge_ratio,
        "side": tested.sides,
        "holding_y": tested.holdings[:, 0],
        "holding_x": tested.holdings[:, 1],
        "traded": tested.traded,
        "return": tested.returns,
        "equity": tested.equity,
    }
