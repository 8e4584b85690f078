"""The insensitive noise: a flat top of half-width ε with Laplace tails of scale 1, equations (1) and (4)-(6).

Where a mixture's component has an ε, `GAUSSIAN` and `HEAVY` stand for noise of two other families.
"""

from math import exp
from typing import TypeVar

import numpy as np

from adabypass.validation import Floats

Number = TypeVar("Number", float, Floats)

GAUSSIAN = -1.0
HEAVY = -2.0
HEAVY_SHARES = (0.4822, 0.4463, 0.0690, 0.0025)
HEAVY_SDS = (0.8025, 1.4439, 2.9355, 8.0658)
"""Four normals that come within 1.2e-4 nats of Student's t with 4 degrees of freedom: equation (67)."""
HEAVY_VAR = sum(share * sd**2 for share, sd in zip(HEAVY_SHARES, HEAVY_SDS, strict=True))


def pdf(eta: float, epsilon: float) -> float:
    """Density of the noise at `eta`: p(η | ε)."""
    return exp(-max(abs(eta) - epsilon, 0.0)) / (2.0 * (1.0 + epsilon))  # (1)


def var(epsilon: Number) -> Number:
    """Variance of the noise."""
    return (epsilon**3 / 3.0 + epsilon**2 + 2.0 * epsilon + 2.0) / (1.0 + epsilon)  # (5)


def mean_var(epsilon: float) -> float:
    """Variance of μ, the mean of the Gaussian that the noise is a mixture of, before anything is seen."""
    return epsilon * (epsilon * (1.0 + epsilon / 3.0) / (1.0 + epsilon))  # (6)


def family_var(epsilon: Floats) -> Floats:
    """Variance of noise of scale 1 of any family, as `epsilon` tells."""
    others = np.where(epsilon == HEAVY, HEAVY_VAR, 1.0)
    return np.where(epsilon < 0, others, var(np.maximum(epsilon, 0.0)))


def sample(epsilon: Floats, rng: np.random.Generator) -> Floats:
    """Draw noise of scale 1 of any family, one number for each epsilon."""
    shape, e = epsilon.shape, np.maximum(epsilon, 0.0)
    flat = rng.random(shape) * (1 + e) < e
    side = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    on_flat, on_tail = rng.uniform(-1, 1, shape) * e, side * (e + rng.exponential(size=shape))
    normal = rng.normal(size=shape) * np.where(epsilon == HEAVY, rng.choice(HEAVY_SDS, shape, p=HEAVY_SHARES), 1.0)
    return np.where(epsilon < 0, normal, np.where(flat, on_flat, on_tail))
