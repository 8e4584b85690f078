"""`adabypass stream`: a forecast before every observation, as they arrive."""

import gc
import io
import json
import sys
from collections.abc import Callable
from math import isfinite, isinf, isnan, nan, sqrt
from typing import Any, BinaryIO, NoReturn, cast

import click
import numpy as np

from adabypass.cli import options, outputs
from adabypass.forecasting import Forecaster
from adabypass.tables import cells
from adabypass.tables.reading import STANDARD_INPUT, standard_input
from adabypass.tables.rows import Rows, open_rows

MOST_LINES = 10
"""Over how many lines a row may go on, in a quoted cell: an unclosed quote must not keep all later rows waiting."""


@click.command(short_help="Forecast rows as they arrive on standard input.")
@click.option("--target", default="y", show_default=True, metavar="COL", help="Column to forecast.")
@click.option(
    "--id", "key", metavar="COL",
    help="Column that says to which series a row belongs; each series is forecast by itself.",
)  # fmt: skip
@click.option(
    "--exog", type=options.Names(), default="", metavar="COL,...",
    help="Columns of other quantities, known with the row, from which the target is forecast as well.",
)  # fmt: skip
@options.lag_options
@click.option(
    "--level", type=options.Level(), default=90, show_default=True, metavar="PERCENT",
    help="Probability of the interval around each forecast, in percent.",
)  # fmt: skip
@options.model_option
def stream(
    target: str, key: str | None, exog: tuple[str, ...], lags: Any, seasonal_lags: Any, difference: int, missing: str,
    level: float, model: str,
) -> None:  # fmt: skip
    """Forecast each row of standard input before its value is used, and print the forecast as soon as the row arrives.

    Rows are CSV with a header, or JSON lines. For each row one JSON line is printed: the observed value (y), the
    forecast that was made before it (mean), its standard deviation (sd) and the bounds of its interval. They are null
    as long as there is too little data for a forecast. A blank value is a missing observation.

    To follow a file that grows: tail -n +1 -f log.csv | adabypass stream
    """
    outputs.check_stdout()
    template = options.forecaster(model, lags, seasonal_lags, difference, missing, exog)
    gc.freeze()  # what was imported stays: no collection need look through it again
    out = sys.stdout
    source = cast(BinaryIO, _FlushingInput(standard_input(), out.flush))
    rows = open_rows(source, STANDARD_INPUT, most_lines=MOST_LINES)
    try:
        _answer_rows(rows, template, target, key, exog, level, out.write)
    finally:
        out.flush()  # the answers before an error are written before the error is


class _FlushingInput(io.BufferedIOBase):
    """Input that has all answers written out before it waits for more.

    Whoever waits for an answer before sending the next row must have it; rows that came together share one write.
    """

    def __init__(self, file: BinaryIO, flush: Callable[[], None]) -> None:
        self._read1, self._flush = getattr(file, "read1", file.read), flush

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1, /) -> bytes:
        self._flush()
        arrived: bytes = self._read1(size)
        return arrived


def _answer_rows(
    rows: Rows, template: Forecaster, target: str, key: str | None, exog: tuple[str, ...], level: float,
    write: Callable[[str], object],
) -> None:  # fmt: skip
    """Write the answer to each row; every series has its own copy of the template."""
    answerers: dict[Any, Callable[[float, list[float] | None], str]] = {}
    names = [target, *exog] if key is None else [target, *exog, key]
    last, missing = len(exog) + 1, template.missing
    for row in rows.select(names):
        y = _number(row[0], target, rows)
        known = [_number(cell, name, rows) for cell, name in zip(row[1:last], exog, strict=True)] if exog else None
        if known is not None and missing == "raise" and any(map(isnan, known)):
            at = next(i for i, value in enumerate(known) if isnan(value))
            _raise_bad_cell(exog[at], rows, f"is blank; fill it, or {options.FILL_MISSING}")
        name = None if key is None else _id(row[last], key, rows)
        answer = answerers.get(name)
        if answer is None:
            answer = answerers[name] = _answerer(template.copy(), level, name, key or "")
        write(answer(y, known))


def _answerer(
    forecaster: Forecaster, level: float, name: str | None, key: str
) -> Callable[[float, list[float] | None], str]:
    """Return the function that answers one series' rows; `name` is its id as JSON."""
    start = "{" if name is None else f"{{{json.dumps(key)}: {name}, "
    lower, upper = f"lower_{100 * level:g}", f"upper_{100 * level:g}"
    deviates = np.array([-1.0, 1.0])
    step = forecaster.step

    def answer(y: float, exog: list[float] | None) -> str:
        forecast = step(y, exog)
        seen = "null" if isnan(y) else repr(y)
        if forecast is None or not forecast.is_known:
            return f'{start}"y": {seen}, "mean": null, "sd": null, "{lower}": null, "{upper}": null}}\n'
        if forecast.is_point:
            return f'{start}"y": {seen}, "mean": {forecast.mean!r}}}\n'
        a, b = forecast.interval(level, start=deviates)
        sd = sqrt(forecast.var)
        return f'{start}"y": {seen}, "mean": {forecast.mean!r}, "sd": {sd!r}, "{lower}": {a!r}, "{upper}": {b!r}}}\n'

    return answer


def _number(cell: Any, name: str, rows: Rows) -> float:
    """Return a cell as a number: nan where it is blank or says that there is no value."""
    if type(cell) is str:
        try:
            value = float(cell)  # most cells are plain numbers
        except ValueError:
            value = nan
        if isfinite(value) and "_" not in cell:
            return value
    value = cells.number(cell, rows.row - 1, cells.Location(name, rows.source))
    if isinf(value):
        _raise_bad_cell(name, rows, f"{cells.show(cell)} {cells.TOO_LARGE}")
    return value


def _id(cell: Any, key: str, rows: Rows) -> str:
    """Return the id of a series as JSON, so that 1 and "1" are different series."""
    if cells.is_missing(cell) or (isinstance(cell, str) and not cell.strip()):
        _raise_bad_cell(key, rows, "is blank, but every row needs the id of its series; fill it")
    return json.dumps(cell)


def _raise_bad_cell(name: str, rows: Rows, what: str) -> NoReturn:
    cells.raise_bad_cell(name, rows.row, what, rows.source, rows.line)
