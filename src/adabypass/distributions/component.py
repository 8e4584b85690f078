"""What a mixture consists of: components, each a Gaussian plus noise of some family, and extras.

Compiled code reads and writes a component as the C struct `Component`, declared in component.pxd.
"""

from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from adabypass.errors import ParameterError, ShapeError
from adabypass.numerics.noise import Family
from adabypass.validation import Floats, Integers

if TYPE_CHECKING:
    from adabypass.distributions.mixture import Mixture

Components: TypeAlias = np.ndarray[Any, np.dtype[np.void]]
"""An array of records of type `COMPONENT`."""

COMPONENT = np.dtype(
    [
        ("weight", np.float64),  # of the component in the mixture
        ("mean", np.float64),  # of the Gaussian
        ("signal_var", np.float64),  # variance of the Gaussian; 0 for Student's t, which has none
        ("noise_scale", np.float64),  # scale of the noise, in the units of the target
        ("epsilon", np.float64),  # half-width of insensitive noise's flat top, in units of noise_scale; otherwise 0
        ("family", np.int64),  # `Family` of the noise, never FLEXIBLE: each of its normals is a component of its own
        ("target", np.int64),  # `Target`: whether all of this describes y, its log or its root
        ("dof", np.float64),  # degrees of freedom of Student's t, above 0; otherwise 0
    ]
)
"""NumPy type of one component."""


class Target(IntEnum):
    """The quantity that a component of a `Mixture` describes: y, its log or its root.

    Examples
    --------
    >>> Target.LOG.name, int(Target.LOG)
    ('LOG', 1)
    """

    IDENTITY = 0
    """y itself."""
    LOG = 1
    """The natural logarithm of y, which is positive."""
    ROOT = 2
    """The square root of the absolute value of y, with the sign of y."""


UNBOUNDED = (-np.inf, np.inf)
"""Support of a forecast without bounds."""


class MixtureExtras(NamedTuple):
    """Atoms at 0, bounds, whole numbers and further mixtures of n forecasts.

    The value of forecast t is exactly 0 with probability `zero_share[t]`; otherwise it is drawn from the forecast's
    components, or from those of one of the `parts`. Where `reserve[t]` is above 0 it is a count: what is drawn is
    rounded, and is at least 0, or 1 where 0 has a probability of its own. Values outside the bounds are clipped to
    them.
    """

    zero_share: Floats
    """Probability of a value of exactly 0, shape (n,)."""
    support: tuple[float, float] = UNBOUNDED
    """Lower and upper bound of every quantile, draw and mean."""
    share: Floats | None = None
    """Shares of the forecast's own components and of each part in a pool, shape (n_pooled, 1 + n_parts)."""
    pooled_at: Integers | None = None
    """Row of `share` and of the parts that belongs to each forecast, shape (n,); -1 for a forecast without a pool."""
    parts: tuple["Mixture", ...] = ()
    """Further forecasts in a pool, n_pooled each; those without a share are ignored."""
    reserve: Floats | None = None
    """Of counts the probability kept back for values that are none, which `logpdf` alone counts with: (n,), from 0,
    where any value may come, to below 1. None if no forecast is one of a count."""

    @property
    def reserves(self) -> Floats:
        """The reserve of each forecast, 0 of those that are not of counts."""
        return np.zeros(len(self.zero_share)) if self.reserve is None else self.reserve

    @property
    def is_pool(self) -> bool:
        """Whether any forecast is pooled with others."""
        return self.share is not None

    def choose(self, wanted: Any) -> "MixtureExtras":
        """Return the extras of the forecasts at some positions, given as an array."""
        reserve = None if self.reserve is None else self.reserve[wanted]
        chosen = self._replace(zero_share=self.zero_share[wanted], reserve=reserve)
        if self.share is None or self.pooled_at is None:
            return chosen
        row = self.pooled_at[wanted]
        kept = row[row >= 0]
        if not len(kept):
            return chosen._replace(share=None, pooled_at=None, parts=())
        at = np.where(row >= 0, np.cumsum(row >= 0) - 1, -1)
        return chosen._replace(share=self.share[kept], pooled_at=at, parts=tuple(each[kept] for each in self.parts))


COMPONENT_FAMILIES = tuple(family for family in Family if family is not Family.FLEXIBLE)

ROUNDING = 1e-6
"""Tolerance of the sum of the mixture weights of a forecast, which must be 1."""


def check_components(components: object) -> Components:
    """Check the components of one forecast, shape (n_components,), or of many, (n, n_components)."""
    if not isinstance(components, np.ndarray) or components.dtype != COMPONENT:
        kind = getattr(components, "dtype", type(components).__name__)
        raise ParameterError(
            f"components are {kind}, but must be an array of COMPONENT; make one with Mixture.of(weight=..., mean=...)."
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
