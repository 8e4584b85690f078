"""Evidence many steps ahead: equations (190)-(195), of one horizon at a time."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adabypass.reference import structure
from adabypass.state import structures as design
from adabypass.validation import Floats


class Horizon(NamedTuple):
    """What was learned from forecasts so many steps ahead."""

    evidence: Floats
    """Of every structure; the best one has 0."""
    square_sum: Floats
    """Of every structure, discounted: squared errors over the variances that were expected in units of the scale."""
    dof: float
    n_judged: float
    """Forecasts that were judged, discounted."""


class Pending(NamedTuple):
    """Forecasts of one time to come, made when the horizon began; nan of structures that had no share then."""

    mean: Floats
    var: Floats
    """Over the squared scale of the noise."""
    scale_var: Floats
    """Squared scale of the noise then, one step ahead."""


def new(n_structures: int) -> Horizon:
    """Return what is known before any forecast was judged."""
    return Horizon(np.zeros(n_structures), np.zeros(n_structures), 0.0, 0.0)


def scale(horizon: Horizon, scale_var: Floats, dof: Floats) -> tuple[Floats, Floats]:
    """Return squared scales and degrees of freedom at the horizon, from those one step ahead."""
    prior = np.minimum(design.HORIZON_PRIOR_DOF, dof)
    return (horizon.square_sum + prior * scale_var) / (horizon.dof + prior), horizon.dof + prior  # (190)


def judge(horizon: Horizon, pending: Pending, dof: Floats, z: Floats, slope: Floats) -> Horizon:
    """Learn from forecasts of a value that has been seen.

    Parameters
    ----------
    dof : array (n_structures,)
        Degrees of freedom one step ahead.
    z, slope : arrays (n_structures,)
        The value in each structure's units, nan if it is asleep; what the log density of the series itself has more.
    """
    scale_var, dofs = scale(horizon, pending.scale_var, dof)
    scores, squares = np.full(len(z), np.nan), horizon.square_sum / max(horizon.dof, 1.0)
    for k in np.flatnonzero(np.isfinite(z) & np.isfinite(pending.mean)):
        belief = structure.Belief(np.empty(0), np.empty((0, 0)), scale_var[k] * dofs[k], dofs[k])
        expected = structure.Expected(pending.mean[k], pending.var[k])
        scores[k] = structure.log_density(belief, expected, z[k]) + slope[k]  # (191)
        square = (z[k] - pending.mean[k]) ** 2 / pending.var[k]
        squares[k] = min(square, design.LARGEST_SURPRISE * scale_var[k])
    if np.isnan(scores).all():
        return horizon
    return Horizon(
        evidence=structure.weigh(horizon.evidence, scores),  # (192)
        square_sum=design.SCALE_DISCOUNT * horizon.square_sum + squares,  # (193)
        dof=design.SCALE_DISCOUNT * horizon.dof + 1,
        n_judged=design.EVIDENCE_DISCOUNT * horizon.n_judged + 1,
    )


def evidence(horizons: Sequence[Horizon], one_step: Floats) -> Floats:
    """Return the evidence one step ahead and at every horizon, shape (1 + n_horizons, n_structures)."""
    found = [one_step]
    for horizon in horizons:
        own = horizon.n_judged / (horizon.n_judged + design.HORIZON_PRIOR_COUNT)
        found.append(own * horizon.evidence + (1 - own) * found[-1])  # (194)
    return np.array(found)


def at_step(table: Floats, step: int) -> Floats:
    """Interpolate, by the log of the steps ahead, a table of 1 + n_horizons rows: of one step, then of the horizons."""
    places = np.log2(np.array([1, *design.HORIZONS]))
    here = np.log2(min(step, design.HORIZONS[-1]))
    return np.array([np.interp(here, places, column) for column in table.T])  # (195)
