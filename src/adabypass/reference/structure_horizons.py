"""Structures judged by their forecasts many steps ahead: equations (N.17)-(N.20), of one horizon at a time."""

from typing import NamedTuple

import numpy as np

from adabypass.reference.shares import Horizon, judge_horizon, log_density
from adabypass.state import structures as design
from adabypass.validation import Floats


class Pending(NamedTuple):
    """Forecasts of one time to come, made when the horizon began; nan of structures that had no share then."""

    mean: Floats
    var: Floats
    """Over the squared scale of the noise."""


def scale(horizon: Horizon, scale_var: Floats, dof: Floats) -> tuple[Floats, Floats]:
    """Return squared scales and degrees of freedom at the horizon, from those one step ahead."""
    prior = np.minimum(design.HORIZON_PRIOR_DOF, dof)
    return (horizon.square_sum + prior * scale_var) / (horizon.dof + prior), horizon.dof + prior  # (N.17)


def judge(horizon: Horizon, pending: Pending, scale_var: Floats, dof: Floats, z: Floats, slope: Floats) -> Horizon:
    """Learn from forecasts of a value that has been seen.

    Parameters
    ----------
    scale_var, dof : arrays (n_structures,)
        Squared scale of the noise and degrees of freedom one step ahead, before the value was seen.
    z, slope : arrays (n_structures,)
        The value in each structure's units, nan if it is asleep; what the log density of the series itself has more.
    """
    scale_var, dofs = scale(horizon, scale_var, dof)
    scores, squares = np.full(len(z), np.nan), horizon.square_sum / max(horizon.dof, 1.0)
    at = np.isfinite(z) & np.isfinite(pending.mean)
    if not at.any():
        return horizon
    error, var = (z - pending.mean)[at], pending.var[at]
    scores[at] = log_density(error, scale_var[at] * var, dofs[at]) + slope[at]  # (N.18)
    squares[at] = np.minimum(error**2 / var, design.MAX_SURPRISE * scale_var[at])
    return judge_horizon(horizon, scores, squares, design.EVIDENCE_DISCOUNT, design.EVIDENCE_POWER)  # (N.19), (N.20)
