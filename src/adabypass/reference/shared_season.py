"""AutoBypass with and without a season, mixed by evidence: equations (J.8)-(J.10)."""

from math import cos, pi, sin
from typing import NamedTuple

import numpy as np

from adabypass.reference import auto_bypass
from adabypass.state.shared_season import Part, SharedSeasonSpec
from adabypass.validation import Floats


class State(NamedTuple):
    """State of the models with steps of the season, without a season, and with waves over it."""

    parts: tuple[auto_bypass.State, ...]
    evidence: Floats
    n_steps: int  # number of observations, missing ones included


def nothing_seen(n_features: int, spec: SharedSeasonSpec) -> State:
    """Return the state before the first observation."""
    sizes = (n_features, n_features, spec.n_waves + n_features)
    return State(tuple(auto_bypass.nothing_seen(n) for n in sizes), np.zeros(len(Part)), 0)


def waves(step: int, period: int, n_waves: int) -> Floats:
    """Return cosines and sines over the season, of one period, of half of it ..."""
    angles = [2 * pi * (1 + i // 2) * step / period for i in range(n_waves)]
    return np.array([cos(angle) if i % 2 == 0 else sin(angle) for i, angle in enumerate(angles)])  # (J.8)


def shares(state: State) -> Floats:
    """Return the share of each part in the forecast."""
    weight = np.exp(state.evidence - state.evidence.max())
    return np.asarray(weight / weight.sum())  # (J.9)


def update(state: State, x: Floats, y: float, spec: SharedSeasonSpec) -> tuple[State, float]:
    """Update the state with `y` at `x`; return it with the log score of y. If y is nan, only time passes."""
    waving = np.concatenate([waves(state.n_steps % spec.period, spec.period, spec.n_waves), x])
    moved = [
        auto_bypass.update(part, z, y, of_part)
        for part, z, of_part in zip(state.parts, (x, x, waving), spec.parts, strict=True)
    ]
    parts, scores = tuple(part for part, _ in moved), np.array([score for _, score in moved])
    state = state._replace(parts=parts, n_steps=state.n_steps + 1)
    if np.isnan(scores).any():
        return state, float(scores[Part.STEPS])
    log_density = float(np.logaddexp.reduce(np.log(shares(state)) + scores))  # (J.9)
    evidence = spec.target_discount * state.evidence + scores
    evidence = np.maximum(evidence - evidence.max(), spec.min_evidence)  # (J.10)
    return state._replace(evidence=evidence), log_density
