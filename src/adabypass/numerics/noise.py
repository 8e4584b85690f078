"""Noise families: insensitive (a flat top of half-width ε with Laplace tails, (A.1) and (A.4)-(A.8)) and others.

Every family is described at scale 1. CONTRIBUTING.md lists the files that a new family touches.
"""

from enum import IntEnum
from math import exp
from typing import NamedTuple, TypeVar

import numpy as np

from adabypass.errors import ParameterError
from adabypass.validation import Floats, Integers

Number = TypeVar("Number", float, Floats)


class Family(IntEnum):
    """The families of noise that a component of a `Mixture` can have.

    Compiled code has room for 8: `MAX_FAMILIES` of distributions/families.pxd.

    Examples
    --------
    >>> Family.HEAVY.name, int(Family.HEAVY)
    ('HEAVY', 3)
    """

    INSENSITIVE = 0
    """A flat top of half-width epsilon with Laplace tails."""
    GAUSSIAN = 1
    """The standard normal."""
    MODERATE = 2
    """A mixture of four normals, close to Student's t with 6 degrees of freedom."""
    HEAVY = 3
    """A mixture of five normals, close to Student's t with 3 degrees of freedom; the widest is for outliers."""
    FLEXIBLE = 4
    """A mixture of adjacent normals with learned shares, which can take any shape, symmetric or not.

    In a forecast each of its normals is a component of its own."""
    STUDENT = 5
    """Student's t distribution, in forecasts only: no filter learns with it."""


class Normals(NamedTuple):
    """Noise that is a mixture of normals with mean 0: at most 8, `MAX_NORMALS` of numerics/c/simd_table.h."""

    shares: tuple[float, ...]
    sds: tuple[float, ...]

    @property
    def var(self) -> float:
        """Variance of the mixture."""
        return sum(share * sd**2 for share, sd in zip(self.shares, self.sds, strict=True))


NORMALS = {
    Family.GAUSSIAN: Normals((1.0,), (1.0,)),
    # Close to Student's t with 6 and, the widest aside, with 3 degrees of freedom: equation (G.8).
    Family.MODERATE: Normals((0.3811, 0.5253, 0.0909, 0.0027), (0.7743, 1.2348, 2.1323, 4.477)),
    Family.HEAVY: Normals((0.5251, 0.4112, 0.0614, 0.0022, 0.0001), (0.8126, 1.6481, 3.9717, 15.338, 100.0)),
}
"""Families that are mixtures of normals with mean 0."""


class FlexibleNormals(NamedTuple):
    """Normals of which flexible noise is a mixture, before its mean is subtracted: equation (H.31)."""

    centers: Floats
    sds: Floats
    start: Floats
    """Initial shares."""

    def mean(self, shares: Floats) -> float:
        """Return the mean of the mixture, which is subtracted from the noise."""
        return float(shares @ self.centers)

    def var(self, shares: Floats) -> float:
        """Return the variance of noise with these shares."""
        return float(shares @ (self.sds**2 + (self.centers - self.mean(shares)) ** 2))


FLEXIBLE_NORMALS = FlexibleNormals(
    # Narrow where most of the noise lies, wider and further apart outside; the last is for outliers.
    centers=np.array([-9.5, -3.8, -2.05, -1.18, -0.56, 0.0, 0.56, 1.18, 2.05, 3.8, 9.5, 0.0]),
    sds=np.array([4.8, 1.6, 0.8, 0.48, 0.36, 0.33, 0.36, 0.48, 0.8, 1.6, 4.8, 30.0]),
    # Close to Student's t with 4 degrees of freedom.
    start=np.array([0.0011, 0.0142, 0.0731, 0.133, 0.1748, 0.2075, 0.1748, 0.133, 0.0731, 0.0142, 0.0011, 0.0001]),
)

START_SCALE = {
    Family.INSENSITIVE: 0.3,
    Family.GAUSSIAN: 0.5,
    Family.MODERATE: 0.35,
    Family.HEAVY: 0.35,
    Family.FLEXIBLE: 0.4,
}
"""Initial noise scale of AutoBypass's filters, in units of the scale of y."""


def pdf(eta: float, epsilon: float) -> float:
    """Return the density of insensitive noise at `eta`: p(η | ε)."""
    return exp(-max(abs(eta) - epsilon, 0.0)) / (2.0 * (1.0 + epsilon))  # (A.1)


def var(epsilon: Number) -> Number:
    """Return the variance of insensitive noise."""
    return (epsilon**3 / 3.0 + epsilon**2 + 2.0 * epsilon + 2.0) / (1.0 + epsilon)  # (A.7)


def mean_var(epsilon: float) -> float:
    """Return the prior variance of μ, the mean of the Gaussian in the noise's mixture representation."""
    return epsilon * (epsilon * (1.0 + epsilon / 3.0) / (1.0 + epsilon))  # (A.8)


def mean_var_slope(epsilon: float) -> float:
    """Return the derivative of `mean_var`."""
    return 2.0 * epsilon * ((1.0 + epsilon + epsilon**2 / 3.0) / (1.0 + epsilon) ** 2)


def unit_var(family: Family, epsilon: Number, shares: Floats = FLEXIBLE_NORMALS.start) -> Number | float:
    """Return the variance of noise of a family; `epsilon` is for insensitive, `shares` for flexible noise."""
    if family is Family.INSENSITIVE:
        return var(epsilon)
    if family is Family.FLEXIBLE:
        return FLEXIBLE_NORMALS.var(shares)
    if family in NORMALS:
        return NORMALS[family].var
    raise ParameterError(f"noise of family {family.name} has no variance at scale 1; choose another family.")


def family_var(family: Integers, epsilon: Floats, shares: Floats = FLEXIBLE_NORMALS.start) -> Floats:
    """Return the variance of noise of each family, as `unit_var` does for one."""
    values = np.zeros(np.shape(family))
    for each in np.unique(family):
        values = np.where(family == each, unit_var(Family(each), epsilon, shares), values)
    return values


def sample(
    family: Integers, epsilon: Floats, rng: np.random.Generator, shares: Floats = FLEXIBLE_NORMALS.start
) -> Floats:
    """Draw one value of noise for each family; `epsilon` is for insensitive, `shares` for flexible noise."""
    if not np.isin(family, [Family.INSENSITIVE, Family.FLEXIBLE, *NORMALS]).all():
        raise ParameterError("family contains one of which no value can be drawn at scale 1; choose another family.")
    shape = epsilon.shape
    flat = rng.random(shape) * (1 + epsilon) < epsilon
    side = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    on_flat, on_tail = rng.uniform(-1, 1, shape) * epsilon, side * (epsilon + rng.exponential(size=shape))
    drawn, normal = np.where(flat, on_flat, on_tail), rng.normal(size=shape)
    for each, normals in NORMALS.items():
        sd = rng.choice(normals.sds, shape, p=normals.shares) if len(normals.sds) > 1 else normals.sds[0]
        drawn = np.where(family == each, normal * sd, drawn)
    flexible = family == Family.FLEXIBLE
    if np.any(flexible):
        chosen = rng.choice(len(shares), shape, p=shares / shares.sum())
        drawn = np.where(
            flexible,
            FLEXIBLE_NORMALS.centers[chosen] - FLEXIBLE_NORMALS.mean(shares) + FLEXIBLE_NORMALS.sds[chosen] * normal,
            drawn,
        )
    return drawn
