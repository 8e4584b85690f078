"""The golden files: what is saved in them, and how the saved models go on."""

import re
from pathlib import Path

from adabypass import Forecaster, Regressor
from tests.storage.cases import EVERY, learn, stream

FOLDER = Path(__file__).parents[1] / "golden"
N_BEFORE, N_AFTER = 60, 20
"""Observations before a model was saved, and after it."""


def file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def trained() -> dict[str, Regressor | Forecaster]:
    """Return every kind of model, as it is saved."""
    X, y = stream(N_BEFORE)
    models = {name: make() for name, make in EVERY.items()}
    for name, model in models.items():
        learn(name, model, X, y)
    return models


def continued(name: str, model: Regressor | Forecaster) -> list[object]:
    """Return the forecasts of a model that goes on."""
    X, y = stream(N_AFTER, seed=1)
    return learn(name, model, X, y)
