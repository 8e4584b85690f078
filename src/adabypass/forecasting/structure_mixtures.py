"""The distributions that the automatic forecaster's structures, and regressions beside them, describe."""

from typing import Any

import numpy as np

from adabypass.inference.kernel.structure import StructureCell
from adabypass.model.mixtures import Mixture
from adabypass.model.pool_spec import PoolSpec
from adabypass.model.pooled import Pooled
from adabypass.model.structure_spec import LAYOUT, StructureSpec
from adabypass.model.student_mixture import StudentMixture
from adabypass.validation import Floats

UNMOVED_SCALE = 0.1
"""Scale of the forecast of a series that has not moved yet, over its size."""
UNMOVED_DOF = 3.0


def is_log(spec: StructureSpec) -> Any:
    """Return whether each structure forecasts the log."""
    return np.array([each.is_log for each in spec.structures])


def last_value(bank: StructureCell) -> float:
    """Return the last observation of a series that has not moved yet; nan if there was none but zeros."""
    start = bank.spec.view(bank.row, "start").reshape(-1, 1 + bank.spec.n_exog)[:, 0]
    seen = start[: int(LAYOUT.scalar(bank.row, "n_start"))]
    seen = seen[~np.isnan(seen)]
    return float(seen[-1]) if len(seen) else np.nan


def mixture_of(
    bank: StructureCell, share: Floats, mean: Floats, scale: Floats, dof: Floats, support: tuple[float, float]
) -> StudentMixture:
    """Return the forecast of the next observation, or of all steps ahead."""
    zero_share = bank.zero_share
    if not bank.is_scaled:
        share, mean, scale, dof = (np.array(np.broadcast_to(each, mean.shape)) for each in (share, mean, scale, dof))
        value = last_value(bank)
        _set_unmoved(share, mean, scale, dof, value)
        zero_share = 1.0 if np.isnan(value) else zero_share
    flags = is_log(bank.spec)
    return StudentMixture(share, mean, scale, dof, flags, zero_share=zero_share, support=support)


def mixtures_of_run(
    spec: StructureSpec, tables: Any, series: Floats, before: float | None, support: tuple[float, float]
) -> StudentMixture:
    """Return the forecasts of a run, made before each observation of the series.

    Parameters
    ----------
    tables
        What `StructureCell.run` returned.
    before : number, optional
        The last value before the series; None if nothing was seen.
    """
    share, mean, scale, dof, is_known, zero_share = tables[:6]
    last = np.nan if before is None else before
    for at in np.flatnonzero(~is_known):
        _set_unmoved(share[at], mean[at], scale[at], dof[at], last)
        if np.isnan(last):
            zero_share[at] = 1.0
        if series[at] != 0.0 and not np.isnan(series[at]):
            last = series[at]
    return StudentMixture(share, mean, scale, dof, is_log(spec), zero_share=zero_share, support=support)


def pooled(
    structures: StudentMixture,
    spec: PoolSpec,
    share: Floats,
    mean: Floats,
    var: Floats,
    records: Floats,
    *,
    is_single: bool = False,
) -> Pooled | StudentMixture:
    """Return forecasts of the structures mixed, from the first on, with those of the regressions.

    Regressions know no bounds: where there are any, structures forecast alone.

    Parameters
    ----------
    share : array (n_pooled, 1 + n_regressions)
    mean, var : arrays (n_pooled, n_regressions)
    records : array (n_regressions, n_pooled, n_record)
    is_single : bool
        Whether there is one forecast, whose answers are to be numbers.
    """
    at = np.flatnonzero(share[:, 0] < 1.0)
    if not len(at) or structures.support != (-np.inf, np.inf):
        return structures[0] if is_single else structures
    forecasts = []
    for k, each in enumerate(spec.regressions):
        one: Any = each.model.predictive(mean[at, k], var[at, k], np.ascontiguousarray(records[k][at]))
        assert isinstance(one, Mixture)
        forecasts.append(one)
    return Pooled(structures, at, share[at], forecasts, is_single=is_single)


def _set_unmoved(share: Floats, mean: Floats, scale: Floats, dof: Floats, value: float) -> None:
    """Write the forecast of a series that has not moved yet: about its value, as wide as its size suggests."""
    share[...] = 0.0
    share[..., 0] = 1.0
    mean[...] = 0.0 if np.isnan(value) else value
    scale[...] = 1.0 if np.isnan(value) or value == 0.0 else UNMOVED_SCALE * abs(value)
    dof[...] = UNMOVED_DOF
