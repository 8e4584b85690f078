"""The golden files: what is saved in them, and how the saved models go on."""

import re
from math import isnan
from pathlib import Path
from unittest import mock

from adabypass import Baseline, Forecaster, Panel, Regressor
from tests.cli.in_process import run
from tests.storage.cases import EVERY, learn, stream

FOLDER = Path(__file__).parents[1] / "golden"
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


OPTIONS = ["--model", "lag", "--id", "k", "--time", "t", "--exog", "x", "--fields", "mean,sd,interval,change"]
"""Of the stream whose folder is kept: its snapshot is of row 40, its journal up to row 60."""


def rows(n: int) -> str:
    """Return the rows of the stream as CSV."""
    X, y = stream(N_BEFORE + N_AFTER)
    cells = zip(X[:n, 0].tolist(), y[:n].tolist(), strict=True)
    lines = [f"{i},{'ab'[i % 2]},{x!r},{'' if isnan(value) else repr(value)}" for i, (x, value) in enumerate(cells)]
    return "\n".join(["t,k,x,y", *lines]) + "\n"


def keep_stream(path: Path) -> None:
    """Leave the folder of a stream that was killed: a snapshot, and a journal."""
    assert run("stream", *OPTIONS, "--state", path, given=rows(40)).code == 0
    with mock.patch("adabypass.cli.stream_loop.StreamRunner._finish", lambda loop: loop._flush()):
        assert run("stream", *OPTIONS, "--state", path, given=rows(N_BEFORE)).code == 0
    (path / "lock").unlink()


def resumed(path: Path) -> list[str]:
    """Return the answers of the stream to the rows after those that its folder has learned."""
    return run("stream", *OPTIONS, "--state", path, given=rows(N_BEFORE + N_AFTER)).out.splitlines()
