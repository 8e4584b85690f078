"""`adabypass inspect`: what is in a saved model or in the folder of a stream."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from adabypass.cli import outputs
from adabypass.data.text import printable
from adabypass.storage.inspection import inspect as inspect_file

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
    "n_series": "series",
    "ids": "ids",
    "lags": "lags",
    "exog": "exogenous columns",
    "bytes": "size in bytes",
}
"""What people are shown, in this order, and what it is called."""
MAX_TEXT_LENGTH = 100
"""Characters of a value that people are shown."""


@click.command(short_help="Show what is in a saved model or in the folder of a stream.")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON, for programs.")
def inspect(file: Path, as_json: bool) -> None:
    """Show what is in FILE: a model that was saved with save(), or the folder of adabypass stream --state.

    The checksum is checked. Nothing in the file is executed, and nothing is changed.
    """
    outputs.check_stdout()
    found = inspect_file(file)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for line in lines(found):
        sys.stdout.write(f"{printable(line)}\n")


def lines(found: dict[str, Any]) -> list[str]:
    """Return what people are shown."""
    engine = found.get("engine")
    found = found | ({name: engine[name] for name in engine if name != "kind"} if isinstance(engine, dict) else {})
    shown = {label: found[name] for name, label in LABELS.items() if found.get(name) not in (None, [])}
    if found.get("positions") is not None:
        shown.pop(LABELS["row"], None)
        shown["next offsets"] = [f"{offset} of partition {partition}" for partition, offset in found["positions"]]
    for name, value in _settings(found).items():
        shown.setdefault(name, value)
    if not found["is_readable"]:
        shown["format"] = f"{found.get('format')}, which this version does not read"
    if "journal" in found:
        journal = found["journal"]
        torn = f", and {journal['torn_bytes']} bytes of a torn record" if journal["torn_bytes"] else ""
        last = f", up to row {journal['last_row']}" if found.get("positions") is None else ""
        if journal["last_position"] is not None:
            last = ", up to partition {}, offset {}".format(*journal["last_position"])
        shown["journal"] = f"{journal['n_records']} rows after the snapshot{last}{torn}"
    shown["checksum"] = "fits"
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
    extra = ("topic", "group", "partitions", "target", "id", "time", "lags", "period", "difference", "missing", "exog")
    return named | {name: whole[name] for name in extra if whole.get(name) is not None}


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 3]}..."
