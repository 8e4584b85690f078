"""Threads that meet a model which has seen nothing: what they tell it must all be learned."""

import threading
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import scipy.sparse

from adabypass import AdaBypass, AutoBypass, Forecaster

N_THREADS, N_EACH = 3, 4


class LostUpdateError(Exception):
    """Raised where a model has learned fewer observations than it was told."""


Race = tuple[Callable[[], Any], Callable[[Any, int], object], int]
"""A fresh model, how observation i is told to it, and how many observations fill its lags."""

RACES: dict[str, Race] = {
    "AutoBypass": (AutoBypass, lambda model, i: model.update([1.0, i], float(i)), 0),
    "AutoBypass, dicts": (lambda: AutoBypass(n_features=9), lambda model, i: model.step({i: 1.0}, float(i)), 0),
    "AutoBypass, sparse": (
        AutoBypass,
        lambda model, i: model.update(scipy.sparse.csr_array(np.eye(1, 9, i % 9)), float(i)),
        0,
    ),
    "AdaBypass, diagonal": (
        lambda: AdaBypass(covariance="diagonal"),
        lambda model, i: model.step([1.0, i], float(i)),
        0,
    ),
    "AdaBypass": (AdaBypass, lambda model, i: model.step([1.0, i], float(i)), 0),
    "Forecaster": (lambda: Forecaster(lags=1), lambda model, i: model.update(float(i)), 1),
    "Forecaster, automatic": (Forecaster, lambda model, i: model.update(float(i)), 0),
}


def draw_race(random: Random) -> tuple[str, Callable[[], object]]:
    """Draw a race: its name, and the function that runs it and returns the model."""
    name = random.choice(list(RACES))
    return name, lambda: run_race(*RACES[name])


def run_race(make: Callable[[], Any], tell: Callable[[Any, int], object], n_lags: int) -> object:
    """Let threads tell a fresh model what they see, all at once."""
    model, gate, errors = make(), threading.Barrier(N_THREADS), []

    def work() -> None:
        gate.wait()
        try:
            for i in range(N_EACH):
                tell(model, i)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(N_THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if errors:
        raise errors[0]
    if model.n_seen != N_THREADS * N_EACH - n_lags:
        raise LostUpdateError(f"{model!r} was told {N_THREADS * N_EACH} observations")
    return model
