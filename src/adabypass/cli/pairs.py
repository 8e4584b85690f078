"""`adabypass pairs`: a pairs trade on prices of one's own."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from adabypass import tables
from adabypass.cli import outputs, terminal
from adabypass.errors import PriceError
from adabypass.experiments import pairs as study
from adabypass.experiments.backtest import Backtest, Rules, Sizing
from adabypass.tables.text import printable

DEFAULTS = Rules()


@click.command(short_help="Trade the spread between two prices, day by day.")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--y", required=True, metavar="COL", help="Column (or ticker) of the price that is explained.")
@click.option("--x", required=True, metavar="COL", help="Column (or ticker) of the price that explains it.")
@click.option("--date", default="date", show_default=True, metavar="COL", help="Column of the trading days.")
@click.option("--download", is_flag=True, help="Download adjusted closing prices from Yahoo! Finance instead of FILE.")
@click.option("--start", metavar="DAY", help="First day of the download, such as 2006-05-22.  [default: the first]")
@click.option("--end", metavar="DAY", help="Day after the last day of the download.  [default: up to now]")
@click.option(
    "--model", type=click.Choice(["auto", "ada", "bypass", "skf"]), default="auto", show_default=True,
    help="auto: AutoBypass, needs no tuning; ada, bypass: the paper's ADA-BYPASS and BYPASS; skf: a Kalman filter.",
)  # fmt: skip
@click.option(
    "--intercept/--no-intercept", default=False, show_default=True,
    help="Explain y by a multiple of x plus a constant, or by a multiple of x alone.",
)  # fmt: skip
@click.option(
    "--entry", type=float, default=DEFAULTS.entry, show_default=True, metavar="SD",
    help="Enter when the spread is more than this many standard deviations from 0.",
)  # fmt: skip
@click.option(
    "--exit", "exit_at", type=float, default=DEFAULTS.exit, show_default=True, metavar="SD",
    help="Exit when the spread is within this many standard deviations of 0, or beyond 0.",
)  # fmt: skip
@click.option(
    "--band", type=click.Choice(["predictive", "noise"]), default=DEFAULTS.band, show_default=True,
    help="Take the standard deviation of the forecast of y, or of the noise alone.",
)  # fmt: skip
@click.option(
    "--costs", type=float, default=DEFAULTS.costs_bp, show_default=True, metavar="BP",
    help="Costs of trading, in basis points (hundredths of a percent) of the value traded in each leg.",
)  # fmt: skip
@click.option(
    "--sizing", type=click.Choice(["hedge", "units"]), default=DEFAULTS.sizing, show_default=True,
    help="Hold one unit of y against as many units of x as the hedge ratio says (hedge), or against one unit (units).",
)  # fmt: skip
@click.option(
    "--leverage", type=float, default=DEFAULTS.leverage, show_default=True, metavar="RATIO",
    help="Value of both legs together, as a multiple of the capital.",
)  # fmt: skip
@click.option(
    "--warm-up", "warm_up_days", type=int, default=DEFAULTS.warm_up_days, show_default=True, metavar="DAYS",
    help="Days from which the model learns before the first trade.",
)  # fmt: skip
@outputs.plot_option("prices, hedge ratio, spread and capital")
@outputs.out_option("spread, positions, returns and capital of every day", "not written")
def pairs(
    file: str | None, y: str, x: str, date: str, download: bool, start: str | None, end: str | None,
    model: study.ModelName, intercept: bool, entry: float, exit_at: float, band: study.Band, costs: float,
    sizing: Sizing, leverage: float, warm_up_days: int, plot: Path | None, out: str | None,
) -> None:  # fmt: skip
    """Explain one price by another, day by day, and trade the spread between them.

    FILE holds the prices of both legs and their days: .csv, .tsv, .jsonl or .parquet, or - for standard input.
    """
    rules = Rules(entry, exit_at, sizing, costs, leverage, warm_up_days, band).checked()
    if download == (file is not None):
        raise click.UsageError("Give either FILE or --download.")
    outputs.check_stdout()
    pair = read_prices(file, y, x, date) if file is not None else _download(y, x, start, end)
    fitted = study.fit(pair, model, intercept=intercept)
    tested = study.trade(fitted, rules)
    if out is not None:
        outputs.write_table(_every_day(fitted, tested, date), out)
    # With the days on standard output, the summary must not mix with them.
    console = terminal.console(stderr=out == outputs.STANDARD)
    console.print(_summary(fitted, tested))
    if plot is not None:
        draw(fitted, tested, plot)
        console.print(f"The picture is in {printable(plot)}", soft_wrap=True)


def read_prices(file: str, y: str, x: str, date: str) -> study.Prices:
    """Read two columns of prices and their days."""
    table = tables.read(file)
    try:
        return study.prices(table.numbers(y), table.numbers(x), table.times(date), names=(y, x))
    except PriceError as error:
        raise PriceError(f"{table.source}: {error}") from error


def draw(fitted: study.Fit, tested: Backtest, path: Path) -> None:
    """Write the picture of a pairs trade."""
    from adabypass import plots  # noqa: PLC0415  (the tables need no matplotlib)
    from adabypass.experiments import pairs_picture  # noqa: PLC0415

    plots.save(pairs_picture.pair(fitted, tested), path)


def _download(y: str, x: str, start: str | None, end: str | None) -> study.Prices:
    from adabypass.adapters import yahoo  # noqa: PLC0415  (an extra)

    return yahoo.download(y, x, start, end)


def _summary(fitted: study.Fit, tested: Backtest) -> Table:
    metrics = tested.metrics
    low, high = tested.sharpe_interval(np.random.default_rng(study.SEED))
    time = fitted.prices.time
    y, x = (printable(name) for name in fitted.prices.names)
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
        table.add_row(name, value if name == "prices" else value.replace("nan %", "none").replace("nan", "none"))
    return table


def _every_day(fitted: study.Fit, tested: Backtest, date: str) -> dict[str, Any]:
    sd = fitted.band_sd(tested.rules.band)
    return {
        date: fitted.prices.time,
        "spread": fitted.spread,
        "sd": np.where(np.isfinite(sd), sd, np.nan),  # blank where nothing is known yet
        "hedge_ratio": fitted.hedge_ratio,
        "side": tested.sides,
        "holding_y": tested.holdings[:, 0],
        "holding_x": tested.holdings[:, 1],
        "traded": tested.traded,
        "return": tested.returns,
        "equity": tested.equity,
    }
