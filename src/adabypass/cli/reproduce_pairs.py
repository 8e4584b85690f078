"""`adabypass reproduce pairs`: the paper's statistical arbitrage, or the same study of the pair that is embedded."""

from math import isnan
from pathlib import Path

import click
from rich.table import Table

from adabypass.cli import options, outputs, terminal
from adabypass.data import Table as PriceTable
from adabypass.data import read_table
from adabypass.data.cells import Decimal
from adabypass.data.text import printable
from adabypass.errors import PriceError
from adabypass.experiments import pairs as study
from adabypass.experiments.backtest import Backtest

EMBEDDED = (
    "The prices of GLD and GDX may not be embedded, so this is the same study of gold and silver, 1977-2012, and the "
    "paper's figures do not belong beside it. Pass prices of GLD and GDX with --prices to see those."
)

READING_REMARK = (
    "A reading that is found by searching for a figure is no reproduction: it says what the paper's words allow, not "
    "what was done."
)


@click.command()
@click.option(
    "--prices",
    "file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="File with the daily adjusted closing prices of GLD and GDX, 2006-05-22 to 2015-04-22.  [default: gold and "
    "silver, which come with the library]",
)
@options.csv_options
@click.option("--y", default="GLD", show_default=True, metavar="COL", help="Column of GLD in that file.")
@click.option("--x", default="GDX", show_default=True, metavar="COL", help="Column of GDX in that file.")
@click.option("--date", default="date", show_default=True, metavar="COL", help="Column of the trading days.")
@click.option(
    "--band", type=click.Choice(["predictive", "noise"]), default="predictive", show_default=True,
    help="Judge the spread by the standard deviation of the forecast of y, or of the noise alone.",
)  # fmt: skip
@outputs.plot_option("the figure", "--out", default="pairs.png")
def pairs(
    file: str | None, sep: str | None, decimal: Decimal, y: str, x: str, date: str, band: study.Band, out: Path | None,
) -> None:  # fmt: skip
    """Statistical arbitrage: GLD explained by GDX, and the spread traded."""
    outputs.check_stdout()
    pair = study.gold_silver() if file is None else read_prices(read_table(file, sep=sep, decimal=decimal), y, x, date)
    found = _run(pair, file is not None, band)
    console = terminal.console(pipe_width=110)
    names = [printable(name) for name in pair.names]
    console.print(f"{names[0]} explained by {names[1]}, {len(pair.y)} days, and the spread traded", style="bold")
    if file is None:
        console.print(EMBEDDED)
    for choice in study.CHOICES:
        console.print(f"- {choice}")
    console.print("\n", _results(found), "\n", sep="")
    console.print("Both bands: without costs; Sharpe at 5 bp, and after other days of waiting", style="bold")
    console.print(_readings(found), READING_REMARK, "", sep="\n")
    console.print("Sharpe ratios without costs, under other choices (- where nothing was traded)", style="bold")
    console.print(_sensitivities(found))
    outputs.draw_default(lambda path: draw(*found.headline, path), out, "pairs.png")


def read_prices(table: PriceTable, y: str, x: str, date: str) -> study.Prices:
    """Read two columns of prices and their days."""
    try:
        return study.prices(table.numbers(y), table.numbers(x), table.times(date), names=(y, x))
    except PriceError as error:
        raise PriceError(f"{table.source}: {error}") from error


def draw(fitted: study.Fit, tested: Backtest, path: Path) -> None:
    """Write the picture of a pairs trade."""
    from adabypass import plots  # noqa: PLC0415  (the tables need no matplotlib)
    from adabypass.experiments import pairs_picture  # noqa: PLC0415

    plots.save(pairs_picture.pair(fitted, tested), path)


def _run(pair: study.Prices, beside_paper: bool, band: study.Band) -> study.Study:
    with terminal.progress_of_total("trading") as progress:
        return study.run(pair, beside_paper=beside_paper, band=band, progress=progress)


def _results(found: study.Study) -> Table:
    table = Table("model", "what was done", box=None, pad_edge=False, header_style="bold")
    for heading in ("costs", "Sharpe", "90 % interval", "drawdown", "days", "growth", "turnover", "trades"):
        table.add_column(heading, justify="right")
    for result in found.results:
        metrics, interval = result.metrics, result.sharpe_interval
        figures = (
            _number(result.sharpe),
            "",
            f"{100 * result.max_drawdown:.2f} %",
            f"{result.drawdown_days}",
            "",
            "",
            "",
        )
        if metrics is None or interval is None:
            table.add_row(result.model, "the paper's figures", "", *figures, style="dim")
            continue
        band = f"{_number(interval.low)} to {_number(interval.high)}" if metrics.n_trades else "-"
        more = (f"{100 * metrics.cagr:z.1f} %", f"{metrics.turnover:.0f}", f"{metrics.n_trades}")
        table.add_row(result.model, result.how, f"{result.costs_bp:g} bp", figures[0], band, *figures[2:4], *more)
    return table


def _readings(found: study.Study) -> Table:
    table = Table("model", "what was done", "band", box=None, pad_edge=False, header_style="bold")
    for heading in ("exit", "Sharpe", "drawdown", "days", "5 bp", *(f"wait {days}" for days in study.WAITS)):
        table.add_column(heading, justify="right")
    for row in found.readings:
        table.add_row(
            row.model, row.how, row.band, f"{row.exit:g} sd", _number(row.metrics.sharpe),
            f"{100 * row.metrics.max_drawdown:.2f} %", f"{row.metrics.drawdown_days}", _number(row.sharpe_after_costs),
            *(_number(row.sharpe_by_wait[days]) for days in study.WAITS),
        )  # fmt: skip
    return table


def _sensitivities(found: study.Study) -> Table:
    table = Table("y", "intercept", "entry", "exit", box=None, pad_edge=False, header_style="bold")
    for label in study.LABELS.values():
        table.add_column(label, justify="right")
    for row in found.sensitivities:
        ratios = (_number(row.sharpe[label]) for label in study.LABELS.values())
        table.add_row(
            printable(row.y), "yes" if row.intercept else "no", f"{row.entry:g} sd", f"{row.exit:g} sd", *ratios
        )
    return table


def _number(ratio: float) -> str:
    return "-" if isnan(ratio) else f"{ratio:z.2f}"
