"""Profiles: what a series is at each position in a period, or in two, about a level that hardly moves.

Equations (N.46)-(N.50).
"""

from typing import NamedTuple

import numpy as np

from adabypass.state import structures as design
from adabypass.state.structures import Profile
from adabypass.validation import Floats


class Shape(NamedTuple):
    """What a profile has learned, in the units of the series or of its log."""

    level: float
    tables: tuple[Floats, ...]
    """The number of each position, for each period."""
    square_sum: float
    dof: float
    n_learned: int


def flat(profile: Profile) -> Shape:
    """Return what is believed before anything is seen."""
    tables = tuple(np.zeros(period) for period in profile.periods)
    return Shape(0.0, tables, design.PRIOR_DOF, design.PRIOR_DOF, 0)


def value(shape: Shape, t: int) -> float:
    """Return the profile at time t."""
    return shape.level + sum(float(table[t % len(table)]) for table in shape.tables)  # (N.46)


def update(profile: Profile, shape: Shape, t: int, z: float) -> Shape:
    """Learn the value of time t."""
    error, square_sum, dof, level = z - value(shape, t), shape.square_sum, shape.dof, shape.level
    if shape.n_learned >= profile.length:
        scale = max(square_sum / dof, design.MIN_SCALE_VAR)
        square_sum = design.SCALE_DISCOUNT * square_sum + min(error**2, design.MAX_SURPRISE * scale)  # (N.47)
        dof = design.SCALE_DISCOUNT * dof + 1
        if shape.dof >= design.MIN_SHOCK_DOF:
            error = float(np.clip(error, -design.GROSS_ERROR * scale**0.5, design.GROSS_ERROR * scale**0.5))  # (N.48)
        level += error / profile.length  # (N.49)
        error -= error / profile.length
    tables = [table.copy() for table in shape.tables]
    for i, (table, rate) in enumerate(zip(tables, profile.rates, strict=True)):
        gain = max(rate, 1 / (shape.n_learned // len(table) + 1 + i))
        table[t % len(table)] += gain * error  # (N.50)
        error -= gain * error
    return Shape(level, tuple(tables), square_sum, dof, shape.n_learned + 1)
