"""The distributions that the automatic forecaster's structures, and regressions beside them, describe."""

from typing import Any

import numpy as np

from adabypass.distributions.component import COMPONENT, UNBOUNDED, Components, Target
from adabypass.distributions.mixture import Mixture
from adabypass.kernels.structure import StructureCell
from adabypass.numerics.noise import Family
from adabypass.state.pool import PoolSpec
from adabypass.state.structure_row import LAYOUT, StructureSpec
from adabypass.validation import Floats

UNMOVED_SCALE = 0.1
"""Scale of the forecast of a series that has not moved yet, over its size."""
UNMOVED_DOF = 3.0


def is_log(spec: StructureSpec) -> Any:
    """Return whether each structure forecasts the log."""
    return np.array([each.is_log for each in spec.structures])


def students(share: Floats, location: Floats, scale: Floats, dof: Floats, logs: Any) -> Components:
    """Return the components that are Student's t distributions of the value, or of its log: (n, n_structures).

    A forecast whose scale is not finite says nothing.
    """
    location = np.asarray(location)
    components = np.zeros(location.shape, COMPONENT)
    is_known = np.isfinite(scale).all(axis=-1, keepdims=True)
    components["weight"], components["mean"] = share, np.where(is_known, location, np.nan)
    components["noise_scale"], components["dof"] = scale, dof
    components["family"], components["target"] = Family.STUDENT, np.where(logs, Target.LOG, Target.IDENTITY)
    return components


def last_value(bank: StructureCell) -> float:
    """Return the last observation of a series that has not moved yet; nan if there was none but zeros."""
    start = bank.spec.view(bank.row, "start").reshape(-1, 1 + bank.spec.n_exog)[:, 0]
    seen = start[: int(LAYOUT.scalar(bank.row, "n_start"))]
    seen = seen[~np.isnan(seen)]
    return float(seen[-1]) if len(seen) else np.nan


def mixture_of(
    bank: StructureCell, share: Floats, mean: Floats, scale: Floats, dof: Floats, support: tuple[float, float]
) -> Mixture:
    """Return the forecast of the next observation, or of all steps ahead."""
    zero_share = bank.zero_share
    if not bank.is_scaled:
        share, mean, scale, dof = (np.array(np.broadcast_to(each, mean.shape)) for each in (share, mean, scale, dof))
        value = last_value(bank)
        _set_unmoved(share, mean, scale, dof, value)
        zero_share = 1.0 if np.isnan(value) else zero_share
    return Mixture.bounded(students(share, mean, scale, dof, is_log(bank.spec)), zero_share, support)


def mixtures_of_run(
    spec: StructureSpec, tables: Any, series: Floats, before: float | None, support: tuple[float, float]
) -> Mixture:
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
    return Mixture.bounded(students(share, mean, scale, dof, is_log(spec)), zero_share, support)


def pooled(
    structures: Mixture,
    spec: PoolSpec,
    share: Floats,
    mean: Floats,
    var: Floats,
    records: Floats,
    *,
    is_single: bool = False,
) -> Mixture:
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
    assert structures.extras is not None
    at = np.flatnonzero(share[:, 0] < 1.0)
    if len(at) and structures.extras.support == UNBOUNDED:
        forecasts = []
        for k, each in enumerate(spec.regressions):
            one: Any = each.model.predictive(mean[at, k], var[at, k], np.ascontiguousarray(records[k][at]))
            assert isinstance(one, Mixture)
            forecasts.append(one)
        pooled_at = np.full(len(structures), -1)
        pooled_at[at] = np.arange(len(at))
        pool = structures.extras._replace(
            share=np.ascontiguousarray(share[at]), pooled_at=pooled_at, parts=tuple(forecasts)
        )
        structures = Mixture.with_extras(structures.components, pool)
    return structures[0] if is_single else structures


def _set_unmoved(share: Floats, mean: Floats, scale: Floats, dof: Floats, value: float) -> None:
    """Write the forecast of a series that has not moved yet: about its value, as wide as its size suggests."""
    share[...] = 0.0
    share[..., 0] = 1.0
    mean[...] = 0.0 if np.isnan(value) else value
    scale[...] = 1.0 if np.isnan(value) or value == 0.0 else UNMOVED_SCALE * abs(value)
    dof[...] = UNMOVED_DOF
