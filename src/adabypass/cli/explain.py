"""`adabypass explain`: what carries the forecast of one series of a file."""

from pathlib import Path
from typing import Any

import click

from adabypass.cli import options, outputs, terminal
from adabypass.data import read_table
from adabypass.data.cells import Decimal
from adabypass.data.text import printable
from adabypass.panel.explanations import explain_series
from adabypass.panel.series import SeriesTable


@click.command()
@options.file_argument
@options.csv_options
@options.column_options
@options.file_missing_option
@options.horizon_option
@click.option("--series", metavar="ID", help="Which series to explain; needed where the file has several.")
@click.option(
    "--level", type=options.Level(), default=90, show_default=True, metavar="PERCENT",
    help="Probability of the interval around each estimate, in percent.",
)  # fmt: skip
@options.period_option
@options.support_option
@outputs.plot_option("the series and every part of its forecast")
@outputs.out_option("what each part adds at each time, past and ahead,", "not written")
def explain(
    file: str, sep: str | None, decimal: Decimal, target: str, time: str | None, key: str | None, exog: Any,
    calendar: Any, freq: str | None, missing: str | None, horizon: int, series: str | None, level: float,
    period: int | None, support: Any, plot: Path | None, out: str | None,
) -> int:  # fmt: skip
    """Explain the forecast that `adabypass forecast` makes of one series in FILE.

    Printed are the level and the slope now, what each season adds by weekday or month, what each column of --exog adds
    and when, each with its interval, and which structures carry the forecast. FILE and its columns are as of `adabypass
    forecast`.
    """
    outputs.check_stdout()
    panel = SeriesTable(
        read_table(file, sep=sep, decimal=decimal), options.columns(target, time, key, exog, calendar, freq, missing)
    )
    template = options.forecaster("auto", None, None, 0, missing, (), period, support)
    found = explain_series(panel, series, horizon, template, level, options.FILL_MISSING)
    for each in panel.remarks([template], options.KEEP_LAST):
        terminal.complain(each)
    assert found.contributions is not None
    if out is not None:
        outputs.write_columns(found.contributions.columns(), out)
    if out != outputs.STANDARD:
        for line in str(found).splitlines():
            click.echo(printable(line))
    if out not in (None, outputs.STANDARD):
        terminal.note(f"what each part adds at {len(found.contributions.y)} times is in {out}")
    if plot is not None:
        from adabypass import plots  # noqa: PLC0415  (the numbers need no matplotlib)

        plots.save(plots.components(found), plot)
        terminal.note(f"the picture is in {plot}")
    return 0
