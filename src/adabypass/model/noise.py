"""Families of noise: insensitive (a flat top of half-width ε with Laplace tails, equations (1) and (4)-(6)), others.

Every family is described at scale 1.
"""

from enum import IntEnum
from math import exp
from typing import TypeVar

import numpy as np

from adabypass.validation import Floats, Integers

Number = TypeVar("Number", float, Floats)


class Family(IntEnum):
    """A family of noise."""

    INSENSITIVE = 0
    """A flat top of half-width epsilon with Laplace tails."""
    GAUSSIAN = 1
    HEAVY = 2
    """Four normals of one mean, close to Student's t with 4 degrees of freedom: equation (67)."""


HEAVY_SHARES = (0.4822, 0.4463, 0.0690, 0.0025)
HEAVY_SDS = (0.8025, 1.4439, 2.9355, 8.0658)
"""Four normals that come within 1.2e-4 nats of Student's t with 4 degrees of freedom: equation (67)."""
HEAVY_VAR = sum(share * sd**2 for share, sd in zip(HEAVY_SHARES, HEAVY_SDS, strict=True))

START_SCALE = {Family.INSENSITIVE: 0.3, Family.GAUSSIAN: 0.5, Family.HEAVY: 0.35}
"""Scale of the noise of AutoBypass's filters before anything is learned, in units of the scale of y."""


def pdf(eta: float, epsilon: float) -> float:
    """Return the density of insensitive noise at `eta`: p(η | ε)."""
    return exp(-max(abs(eta) - epsilon, 0.0)) / (2.0 * (1.0 + epsilon))  # (1)


def var(epsilon: Number) -> Number:
    """Return the variance of insensitive noise."""
    return (epsilon**3 / 3.0 + epsilon**2 + 2.0 * epsilon + 2.0) / (1.0 + epsilon)  # (5)


def mean_var(epsilon: float) -> float:
    """Return the variance of μ, the mean of the Gaussian that the noise is a mixture of, before anything is seen."""
    return epsilon * (epsilon * (1.0 + epsilon / 3.0) / (1.0 + epsilon))  # (6)


def family_var(family: Integers, epsilon: Floats) -> Floats:
    """Return the variance of noise of any family; `epsilon` matters for the insensitive one alone."""
    others = np.where(family == Family.HEAVY, HEAVY_VAR, 1.0)
    return np.where(family == Family.INSENSITIVE, var(epsilon), others)


def sample(family: Integers, epsilon: Floats, rng: np.random.Generator) -> Floats:
    """Draw noise of any family, one number for each."""
    shape = epsilon.shape
    flat = rng.random(shape) * (1 + epsilon) < epsilon
    side = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    on_flat, on_tail = rng.uniform(-1, 1, shape) * epsilon, side * (epsilon + rng.exponential(size=shape))
    normal, sd = rng.normal(size=shape), rng.choice(HEAVY_SDS, shape, p=HEAVY_SHARES)
    others = normal * np.where(family == Family.HEAVY, sd, 1.0)
    return np.where(family == Family.INSENSITIVE, np.where(flat, on_flat, on_tail), others)
