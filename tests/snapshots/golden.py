"""The golden files: what is saved in them, and how the saved models go on."""

import re
from pathlib import Path
from shutil import copytree, ignore_patterns
from tempfile import TemporaryDirectory

from adabypass import Baseline, Forecaster, Panel, Regressor, Stream
from tests.snapshots.cases import EVERY, learn, stream

FOLDER = Path(__file__).parents[1] / "golden"
FROZEN = FOLDER / "frozen.sha256"
"""Checksums of the golden files of formats that released versions write: these files stay as they are."""
N_BEFORE, N_AFTER = 60, 20
"""Observations before a model was saved, and after it."""


def file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def trained() -> dict[str, Regressor | Forecaster | Baseline]:
    """Return every kind of model, as it is saved."""
    X, y = stream(N_BEFORE)
    models = {name: make() for name, make in EVERY.items()}
    for name, model in models.items():
        learn(name, model, X, y)
    return models


def continued(name: str, model: Regressor | Forecaster | Baseline | Panel) -> list[object]:
    """Return the forecasts of a model that goes on."""
    X, y = stream(N_AFTER, seed=1)
    return learn(name, model, X, y)


def open_stream(path: Path) -> Stream:
    """Return the stream whose folder is kept."""
    return Stream(
        path, Forecaster(lags=1), key="k", time="t", exog="x", fields=["mean", "sd", "interval", "anomaly", "change"]
    )


def rows(start: int, stop: int) -> list[dict[str, object]]:
    """Return rows of two series."""
    X, y = stream(N_BEFORE + N_AFTER)
    return [{"t": i, "k": "ab"[i % 2], "x": X[i, 0].item(), "y": y[i].item()} for i in range(start, stop)]


def keep_stream(path: Path) -> None:
    """Leave the folder of a stream that was killed: its checkpoint is of row 40, its log goes up to row 60."""
    with TemporaryDirectory() as name:
        with open_stream(Path(name)) as opened:
            opened.learn(rows(0, 40))
        with open_stream(Path(name)) as opened:
            opened.learn(rows(40, N_BEFORE))
            copytree(name, path, ignore=ignore_patterns("lock", "*-shm"))


def resumed(path: Path) -> list[dict[str, object]]:
    """Return the answers of the stream to the rows after those that its folder has learned."""
    with open_stream(path) as opened:
        return [each.to_dict() for each in opened.learn(rows(0, N_BEFORE + N_AFTER))]
