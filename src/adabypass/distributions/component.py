"""The record of one component of a forecast: a Gaussian plus noise of some family.

Compiled code reads and writes the same record as the C struct `Component`, declared in component.pxd.
"""

from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np

from adabypass.errors import ParameterError, ShapeError
from adabypass.numerics.noise import Family

Components: TypeAlias = np.ndarray[Any, np.dtype[np.void]]
"""An array of records of type `COMPONENT`."""

COMPONENT = np.dtype(
    [
        ("weight", np.float64),
        ("mean", np.float64),
        ("signal_var", np.float64),
        ("noise_scale", np.float64),
        ("epsilon", np.float64),
        ("family", np.int64),
        ("target", np.int64),
        ("dof", np.float64),
    ]
)
"""Mixture weight; mean and variance of the Gaussian; scale, half-width of the flat top and family of the noise; target;
degrees of freedom.

`epsilon` is in units of `noise_scale`, and 0 unless `family` is `Family.INSENSITIVE`. No component's family is
`Family.FLEXIBLE`: each normal of flexible noise is a component of its own. All of it is about y, its log or its root,
as `target` says. A component of `Family.STUDENT` has no Gaussian beside its noise: `signal_var` is 0, `dof` above 0.
"""


class Target(IntEnum):
    """What of y a component is the distribution of."""

    IDENTITY = 0
    """y itself."""
    LOG = 1
    """Its natural logarithm: y is positive."""
    ROOT = 2
    """Its square root, with the sign of y."""


COMPONENT_FAMILIES = tuple(family for family in Family if family is not Family.FLEXIBLE)

ROUNDING = 1e-6
"""How far the mixture weights of a forecast may be from adding up to 1."""


def check_components(components: object) -> Components:
    """Check the components of one forecast, shape (n_components,), or of many, (n, n_components)."""
    if not isinstance(components, np.ndarray) or components.dtype != COMPONENT:
        kind = getattr(components, "dtype", type(components).__name__)
        raise ParameterError(
            f"components are {kind}, but must be an array of COMPONENT; Mixture.of(weight=..., mean=...) makes one."
        )
    if components.ndim not in (1, 2) or components.shape[-1] == 0:
        raise ShapeError(
            f"components have shape {components.shape}, but must have shape (n_components,) for one forecast, or "
            "(n, n_components) for many."
        )
    for name in ("weight", "mean", "signal_var", "noise_scale", "epsilon"):
        values = components[name]
        _refuse(~np.isfinite(values), values, name, "must be finite")
        if name != "mean":
            _refuse(values < 0, values, name, "must not be below 0")
    family = components["family"]
    known = ", ".join(f"{each.name} = {each.value}" for each in COMPONENT_FAMILIES)
    _refuse(~np.isin(family, COMPONENT_FAMILIES), family, "family", f"must be one of {known}")
    is_student, dof = family == Family.STUDENT, components["dof"]
    _refuse(is_student & ~((dof > 0) & np.isfinite(dof)), dof, "dof", "must be above 0 for Student's t")
    scale, signal_var = components["noise_scale"], components["signal_var"]
    _refuse(is_student & ~(scale > 0), scale, "noise_scale", "must be above 0 for Student's t")
    _refuse(is_student & (signal_var > 0), signal_var, "signal_var", "must be 0 for Student's t, which has no Gaussian")
    is_root = components["target"] == Target.ROOT
    _refuse(is_student & is_root, components["target"], "target", "must be IDENTITY or LOG for Student's t")
    target, targets = components["target"], ", ".join(f"{each.name} = {each.value}" for each in Target)
    _refuse(~np.isin(target, list(Target)), target, "target", f"must be one of {targets}")
    total = components["weight"].sum(axis=-1)
    _refuse(np.abs(total - 1) > ROUNDING, total, "sum of weight", "must be 1 in each forecast")
    return components


def _refuse(is_wrong: Any, values: Any, name: str, rule: str) -> None:
    if np.any(is_wrong):
        found = np.asarray(values)[np.asarray(is_wrong)].flat[0]
        raise ParameterError(f"{name} is {found}, but {rule}.")
