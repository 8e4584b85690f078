"""`adabypass inspect`: what is in a saved model or in the folder of a stream."""

import json
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np

from adabypass.cli import outputs
from adabypass.data.text import printable
from adabypass.errors import NotReadyError
from adabypass.forecasting import Forecaster
from adabypass.forecasting.structure_engine import StructureEngine
from adabypass.streaming.ids import key_of, panel_id
from adabypass.streaming.inspection import inspect as inspect_path
from adabypass.streaming.inspection import inspect_series

LABELS = {
    "file": "file",
    "kind": "kind",
    "version": "saved by adabypass",
    "format": "format",
    "n_seen": "observations learned",
    "n_features": "features",
    "feature_names": "names of features",
    "n_learned": "rows learned",
    "row": "last row of the input",
    "n_since_checkpoint": "of these since the last checkpoint",
    "positions": "positions in the source",
    "n_series": "series",
    "ids": "ids",
    "lags": "lags",
    "exog": "exogenous columns",
    "bytes": "size in bytes",
}
"""What people are shown, in this order, and what it is called."""
SERIES_LABELS = {"id": "id", "n_rows": "rows learned", "time": "newest time", "rows_since": "rows of the stream since"}
MAX_TEXT_LENGTH = 100
"""Characters of a value that people are shown."""


@click.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--id", "id", metavar="ID",
    help="Show one series of a stream, with what carries its forecast. Parts of an id have slashes between them, as "
    "they are printed.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON, for programs.")
def inspect(file: Path, id: str | None, as_json: bool) -> None:
    """Show what is in FILE: a model that was saved with save(), or the folder of a stream, which may be running.

    The checksum is checked. Nothing in the file is executed, and nothing is changed.
    """
    outputs.check_stdout()
    if id is not None:
        _show_series(file, id, as_json)
        return
    found = inspect_path(file)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for line in lines(found):
        sys.stdout.write(f"{printable(line)}\n")


def _show_series(file: Path, id: str, as_json: bool) -> None:
    found = inspect_series(file, id)
    forecaster: Forecaster = found.pop("forecaster")
    if as_json:
        click.echo(json.dumps(found | {"is_ready": forecaster.is_ready, "n_seen": forecaster.n_seen}, indent=2))
        return
    shown = {label: _text(found[name]) for name, label in SERIES_LABELS.items() if found[name] is not None}
    rest = [f"{forecaster!r}"]
    if not _has_forecast(forecaster):
        rest.append("no forecast yet: there is too little data")
    elif isinstance(forecaster._engine, StructureEngine):
        rest = _explained(forecaster)
    elif not forecaster._n_exog():
        rest += ["next steps", *repr(forecaster.forecast(3)).splitlines()]
    for line in [*_aligned(shown), "", *rest]:
        click.echo(printable(line))


def _explained(forecaster: Forecaster) -> list[str]:
    try:
        return str(forecaster.explain()).splitlines()
    except NotReadyError as error:
        return [repr(forecaster), str(error)]


def _has_forecast(forecaster: Forecaster) -> bool:
    """Return whether enough was seen that the next value has a forecast."""
    if not forecaster.is_ready or forecaster.n_seen == 0:
        return False
    exog = np.zeros((1, forecaster._n_exog() or 0)) if forecaster._n_exog() else None
    return bool(np.isfinite(forecaster.forecast(1, exog).mean).all())


def lines(found: dict[str, Any]) -> list[str]:
    """Return what people are shown."""
    engine = found.get("engine")
    found = found | ({name: engine[name] for name in engine if name != "kind"} if isinstance(engine, dict) else {})
    shown = {label: found[name] for name, label in LABELS.items() if found.get(name) not in (None, [])}
    positions = found.get("positions")
    if isinstance(positions, dict) and "partitions" in positions:
        shown.pop(LABELS["row"], None)
        shown[LABELS["positions"]] = [f"{offset} of partition {each}" for each, offset, _ in positions["partitions"]]
    for name, value in _settings(found).items():
        shown.setdefault(name, value)
    if not found["is_readable"]:
        shown["format"] = f"{found.get('format')}, which this version does not read"
    shown["checksum"] = "fits"
    return _aligned(shown)


def _aligned(shown: dict[str, Any]) -> list[str]:
    width = max(map(len, shown))
    return [f"{label:<{width}}  {_short(value)}" for label, value in shown.items()]


def _settings(found: dict[str, Any]) -> dict[str, Any]:
    """Return hyperparameters and settings by name."""
    settings = found.get("settings")
    whole = settings if isinstance(settings, dict) else found
    model = whole.get("model")
    hyperparameters = (model if isinstance(model, dict) else found).get("hyperparameters")
    named: dict[str, Any] = {"model": model["kind"]} if isinstance(model, dict) and "kind" in model else {}
    named |= hyperparameters if isinstance(hyperparameters, dict) else {}
    extra = (
        "topic", "group", "partitions", "target", "id", "time", "inputs", "lags", "period", "difference", "missing",
        "exog",
    )  # fmt: skip
    return named | {name: whole[name] for name in extra if whole.get(name) not in (None, [])}


def _short(value: Any) -> str:
    text = ", ".join(map(_text, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 3]}..."


def _text(value: Any) -> str:
    return str(panel_id(key_of(value))) if isinstance(value, tuple) else str(value)
