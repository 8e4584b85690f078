"""Time of a run that takes observations in blocks, beside one that takes them one by one."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

from adabypass import AdaBypass, EvidenceBypass, SequentialKalman
from adabypass.validation import Floats

BLOCKS_FROM = {"one by one": 10**9, "in blocks": 1}
"""Number of features from which on a run takes blocks."""
MODELS: dict[str, Callable[[], Any]] = {
    "EvidenceBypass": lambda: EvidenceBypass(covariance="full"),
    "SequentialKalman": lambda: SequentialKalman(covariance="full"),
    "AdaBypass": AdaBypass,
}


def processor_time(model: Any, row: Floats, X: Floats, y: Floats, blocks_from: int) -> float:
    """Return the seconds of one processor that an observation takes."""
    cell = model._new_cell(row.copy(), X.shape[1])
    started = time.process_time()
    cell.run(X, y, False, False, blocks_from)
    return (time.process_time() - started) / len(y)


def blocks(sizes: tuple[int, ...], repeats: int) -> Table:
    """Return the times of both, taken in turn: the best of each, and the quartiles of their ratio."""
    table = Table("features", "model", *(f"{name}, µs" for name in BLOCKS_FROM), "ratio", "quartiles of the ratio")
    table.title = "A full covariance in `run`: processor time of an observation"
    rng = np.random.default_rng(0)
    for n_features in sizes:
        X = rng.normal(size=(256, n_features))
        y = X @ rng.normal(size=n_features) / n_features**0.5 + rng.normal(size=len(X))
        for name, make in MODELS.items():
            model = make()
            model.run(X, y)
            row = model.__getstate__()["row"]
            times = np.array(
                [[processor_time(model, row, X, y, each) for each in BLOCKS_FROM.values()] for _ in range(repeats)]
            )
            single, block = times.min(axis=0)
            low, high = np.quantile(times[:, 0] / times[:, 1], [0.25, 0.75])
            cells = [f"{1e6 * single:.0f}", f"{1e6 * block:.0f}", f"{single / block:.2f}", f"{low:.2f} to {high:.2f}"]
            table.add_row(str(n_features), name, *cells)
    return table
