"""What correcting the gradients of ADA-BYPASS changes, on a stream whose noise changes."""

from typing import NamedTuple

import numpy as np

from adabypass.regressors import AdaBypass, Bypass, Regressor
from adabypass.results.trace import Trace
from adabypass.validation import Floats

NOISY = (500, 1000)
"""Observations whose noise is eight times as wide as that of the others."""
LENGTH = 1500
CALM_SD, NOISY_SD = 0.5, 4.0


class Line(NamedTuple):
    """What one model made of the stream."""

    name: str
    aggressiveness: float
    trace: Trace


def changing_noise(seed: int = 0) -> tuple[Floats, Floats]:
    """Return features and observations: drifting weights, noise of sd 0.5, then 4, then 0.5 again."""
    rng = np.random.default_rng(seed)
    weights = np.array([0.0, 1.0]) + np.cumsum(rng.normal(0.0, 0.02, (LENGTH, 2)), axis=0)
    X = np.column_stack([np.ones(LENGTH), rng.normal(size=LENGTH)])
    at = np.arange(LENGTH)
    sd = np.where((at >= NOISY[0]) & (at < NOISY[1]), NOISY_SD, CALM_SD)
    return X, (X * weights).sum(axis=1) + sd * rng.normal(size=LENGTH)


def run() -> list[Line]:
    """Run BYPASS and ADA-BYPASS, as in the paper and with the right gradients, over that stream.

    Examples
    --------
    >>> paper = run()[1]
    >>> epsilon = paper.trace.history["epsilon"]
    >>> round(float(epsilon[499]), 2), round(float(epsilon[-1]), 2)
    (1.66, 1.66)
    """
    X, y = changing_noise()
    models: list[tuple[str, float, Regressor]] = [
        ("BYPASS", 0.0, Bypass()),
        ("ADA-BYPASS", 1e-3, AdaBypass()),
        ("ADA-BYPASS", 0.1, AdaBypass(aggressiveness=0.1)),
        ("E5", 1e-3, AdaBypass(corrections=["E5"])),
        ("E5", 0.1, AdaBypass(corrections=["E5"], aggressiveness=0.1)),
        ("E5 and E8", 1e-3, AdaBypass(corrections=["E5", "E8"])),
        ("E5 and E8", 0.1, AdaBypass(corrections=["E5", "E8"], aggressiveness=0.1)),
    ]
    return [Line(name, aggressiveness, model.run(X, y)) for name, aggressiveness, model in models]
