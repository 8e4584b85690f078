"""The distributions that the automatic forecaster's structures, and regressions beside them, describe."""

from typing import Any, NamedTuple

import numpy as np

from adabypass.distributions.component import COMPONENT, UNBOUNDED, Components, Target
from adabypass.distributions.mixture import Mixture
from adabypass.numerics.noise import Family
from adabypass.state.structure_row import N_ALIKE, StructureSpec
from adabypass.validation import Floats

UNMOVED_SCALE = 0.1
"""Scale of the forecast of a series that has not moved yet, over its size."""
UNMOVED_DOF = 3.0


class StructureForecasts(NamedTuple):
    """Forecasts of the structures, (n, n_structures) or (n,): views of their records, or steps ahead."""

    share: Floats
    mean: Floats
    scale: Floats
    dof: Floats
    zero_share: Floats
    """Probability that the observation is exactly 0."""
    is_known: Floats
    """Whether the unit of the series was known."""
    last_value: Floats
    """The last value of a series whose unit was not known; nan if there was none but zeros."""
    reserve: Floats
    """Of a series of counts the probability of a value that is none; otherwise 0."""


def read_records(spec: StructureSpec, records: Floats) -> StructureForecasts:
    """Return the fields of records (n, n_record), as `StructureRunner` writes them."""
    n = len(spec.structures)
    tables = (records[:, i * n : (i + 1) * n] for i in range(4))
    return StructureForecasts(*tables, *records[:, 4 * n : 4 * n + N_ALIKE].T)


def structure_mixture(spec: StructureSpec, found: StructureForecasts, support: tuple[float, float]) -> Mixture:
    """Return the forecasts of the structures alone.

    That of a series that has not moved yet is about its last value, as wide as its size suggests.
    """
    share, mean, scale, dof = found[:4]
    zero_share = found.zero_share
    if not np.all(found.is_known):
        unmoved, last = found.is_known[:, None] == 0.0, found.last_value[:, None]
        is_blank = np.isnan(last)
        alone = np.arange(len(spec.structures)) == 0
        share = np.where(unmoved, alone, share)
        mean = np.where(unmoved, np.where(is_blank, 0.0, last), mean)
        scale = np.where(unmoved, np.where(is_blank | (last == 0.0), 1.0, UNMOVED_SCALE * np.abs(last)), scale)
        dof = np.where(unmoved, UNMOVED_DOF, dof)
        zero_share = np.where(unmoved[:, 0] & is_blank[:, 0], 1.0, zero_share)
    is_log = np.array([each.is_log for each in spec.structures])
    reserve = found.reserve if np.any(found.reserve) else None
    return Mixture.bounded(students(share, mean, scale, dof, is_log), zero_share, support, reserve)


def students(share: Floats, location: Floats, scale: Floats, dof: Floats, is_log: Any) -> Components:
    """Return the components that are Student's t distributions of the value, or of its log: (n, n_structures).

    A forecast whose scale is not finite says nothing.
    """
    location = np.asarray(location)
    components = np.zeros(location.shape, COMPONENT)
    is_known = np.isfinite(scale).all(axis=-1, keepdims=True)
    components["weight"], components["mean"] = share, np.where(is_known, location, np.nan)
    components["noise_scale"], components["dof"] = scale, dof
    # Values: NumPy asks members of an enum for attributes, and drops a Ctrl-C that comes meanwhile.
    components["family"] = Family.STUDENT.value
    components["target"] = np.where(is_log, Target.LOG.value, Target.IDENTITY.value)
    return components


def pooled(structures: Mixture, regressions: Any, n_record: int, tail: Floats) -> Mixture:
    """Return forecasts of the structures mixed, from the first on, with those of the regressions.

    Regressions know no bounds: where there are any, structures forecast alone.

    Parameters
    ----------
    regressions : sequence of Spec
        Of the regressions' models.
    n_record : int
        Size of a record of one regression's forecast.
    tail : array (n_pooled, 1 + n_regressions + n_regressions * (2 + n_record))
        What a `PoolRunner` writes behind the records of the structures.
    """
    assert structures.extras is not None
    m = len(regressions)
    at = np.flatnonzero(tail[:, 0] < 1.0)
    if len(at) == 0 or structures.extras.support != UNBOUNDED:
        return structures
    share, parts = tail[at, : 1 + m], tail[at, 1 + m :].reshape(len(at), m, 2 + n_record)
    forecasts = []
    for k, model in enumerate(regressions):
        one = model.predictive(parts[:, k, 0].copy(), parts[:, k, 1].copy(), np.ascontiguousarray(parts[:, k, 2:]))
        assert isinstance(one, Mixture)
        forecasts.append(one)
    pooled_at = np.full(len(structures), -1)
    pooled_at[at] = np.arange(len(at))
    pool = structures.extras._replace(share=np.ascontiguousarray(share), pooled_at=pooled_at, parts=tuple(forecasts))
    return Mixture.with_extras(structures.components, pool)
