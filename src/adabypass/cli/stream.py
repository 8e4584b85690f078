"""`adabypass stream`: a forecast before every observation, as they arrive."""

import csv
import json
import sys
from collections.abc import Callable, Iterator
from math import isfinite, isinf, isnan, sqrt
from typing import IO, Any

import click
import numpy as np

from adabypass.cli import options
from adabypass.errors import TableError, UnknownNameError
from adabypass.forecasting import Forecaster
from adabypass.model import mixture
from adabypass.model.predictive import Mixture, Point, Predictive
from adabypass.tables import cells, no_such_column

Row = tuple[str, float, list[float] | None]


@click.command()
@click.option("--target", default="y", show_default=True, metavar="COL", help="The column to forecast.")
@click.option("--id", "key", metavar="COL", help="Which series a row belongs to: each is learned by itself.")
@click.option("--exog", type=options.Names(), default="", metavar="COL,...", help="Columns that help to forecast.")
@options.lag_options
@click.option("--level", type=options.Level(), default=90, show_default=True, help="Of the interval, in percent.")
@click.option("--model", type=click.Choice(list(options.MODELS)), default="auto", help=options.MODEL_HELP)
def stream(
    target: str, key: str | None, exog: tuple[str, ...], lags: Any, seasonal_lags: Any, difference: int, missing: str,
    level: float, model: str,
) -> None:  # fmt: skip
    """Read rows from standard input as they arrive, CSV with a header or JSON lines, and answer each at once.

    The answer is a JSON line with the observation and the forecast that was made before it: y, mean, sd and the bounds
    of the interval, null while the lags are filling. A blank y is a missing observation; its forecast is there all the
    same.
    """
    template = options.forecaster(model, lags, seasonal_lags, difference, missing, exog)
    answerers: dict[str, Callable[[float, list[float] | None], str]] = {}
    out = sys.stdout
    write, flush = out.write, out.flush
    for number, (name, y, known) in enumerate(_rows(sys.stdin, target, key, exog), 1):
        if known is not None and missing == "raise" and any(map(isnan, known)):
            at = next(i for i, value in enumerate(known) if isnan(value))
            cells.Place(exog[at]).refuse(number - 1, "blank; fill it, or choose --missing mean or --missing last")
        answer = answerers.get(name)
        if answer is None:
            answer = answerers[name] = _answerer(template.copy(), level, name if key is not None else None, key or "")
        write(answer(y, known))
        flush()  # whoever waits for this answer before sending the next row must have it


def _answerer(
    forecaster: Forecaster, level: float, name: str | None, key: str
) -> Callable[[float, list[float] | None], str]:
    """Make the function that answers one series' rows."""
    start = "{" if name is None else f"{{{json.dumps(key)}: {json.dumps(name)}, "
    low, high = (1 - level) / 2, (1 + level) / 2
    lower, upper = f"lower_{100 * level:g}", f"upper_{100 * level:g}"
    deviates = np.array([-1.0, 1.0])
    step = forecaster.step

    def answer(y: float, exog: list[float] | None) -> str:
        forecast = step(y, exog)
        seen = "null" if isnan(y) else repr(y)
        if forecast is None:
            return f'{start}"y": {seen}, "mean": null, "sd": null, "{lower}": null, "{upper}": null}}\n'
        if type(forecast) is Mixture:
            a, b = mixture.interval(forecast.components, low, high, deviates)
        elif isinstance(forecast, Point):
            return f'{start}"y": {seen}, "mean": {forecast.mean!r}}}\n'
        else:
            a, b = _interval(forecast, level)
        sd = sqrt(forecast.var)
        return f'{start}"y": {seen}, "mean": {forecast.mean!r}, "sd": {sd!r}, "{lower}": {a!r}, "{upper}": {b!r}}}\n'

    return answer


def _interval(forecast: Predictive, level: float) -> tuple[float, float]:
    low, high = forecast.interval(level)
    return float(low), float(high)


def _rows(lines: IO[str], target: str, key: str | None, exog: tuple[str, ...]) -> Iterator[Row]:
    """Read rows one by one, CSV or JSON lines, as the first character tells."""
    for first in lines:
        text = first.lstrip("\ufeff")
        if not text.strip():
            continue
        if text.lstrip().startswith("{"):
            yield _json_row(text, 1, target, key, exog)
            for number, line in enumerate(lines, 2):
                if line.strip():
                    yield _json_row(line, number, target, key, exog)
        else:
            yield from _csv_rows(text, lines, target, key, exog)
        return
    raise TableError("standard input is empty; give CSV with a header, or JSON lines.")


def _csv_rows(header: str, lines: IO[str], target: str, key: str | None, exog: tuple[str, ...]) -> Iterator[Row]:
    names = [name.strip() for name in _fields(header, 0)]
    places = [_place(name, names) for name in (target, *exog)]
    at, known_at = places[0], places[1:]
    key_at = None if key is None else _place(key, names)
    width, number = len(names), 0
    for line in lines:
        number += 1
        fields = line.rstrip("\r\n").split(",") if '"' not in line else _fields(line, number)
        if len(fields) != width:
            if not line.strip():
                number -= 1
                continue
            raise TableError(f"row {number} has {len(fields)} cells, but the header has {width}.")
        y = _quick_number(fields[at], number, target)
        known = [_number(fields[i], number, names[i]) for i in known_at] if known_at else None
        yield "" if key_at is None else fields[key_at], y, known


def _fields(line: str, number: int) -> list[str]:
    """Take a line apart whose cells may be quoted; a quoted cell cannot go on in the next line."""
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise TableError(f"row {number}: {error}.") from None


def _quick_number(cell: str, number: int, name: str) -> float:
    """Read a cell that most likely is a plain number."""
    try:
        y = float(cell)
    except ValueError:
        return _number(cell, number, name)
    return y if isfinite(y) and "_" not in cell else _number(cell, number, name)


def _json_row(line: str, number: int, target: str, key: str | None, exog: tuple[str, ...]) -> Row:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise TableError(f"row {number} is not JSON: {error.msg} at character {error.pos + 1}.") from None
    if not isinstance(row, dict):
        raise TableError(f'row {number} is not a JSON object, as in {{"{target}": 1.5}}.')
    for name in (target, *exog, *([] if key is None else [key])):
        if name not in row:
            _place(name, list(row), f"row {number}: ")
    known = [_number(row[name], number, name) for name in exog] if exog else None
    return "" if key is None else str(row[key]), _number(row[target], number, target), known


def _number(cell: object, number: int, name: str) -> float:
    """Read a cell: nan where it is blank or says that there is nothing."""
    value, place = cells.number(cell, number - 1, cells.Place(name)), cells.Place(name)
    if isinf(value):
        place.refuse(number - 1, f"{cells.show(cell)} is infinite or too large; leave it blank if it is missing")
    return value


def _place(name: str, names: list[str], where: str = "") -> int:
    if name not in names:
        raise UnknownNameError(f"{where}{no_such_column(name, names)}")
    return names.index(name)
