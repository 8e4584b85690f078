"""The insensitive noise: a flat top of half-width ε with Laplace tails of scale 1, equations (1) and (4)-(6)."""

from math import exp
from typing import TypeVar

import numpy as np

from adabypass.door import Floats

Number = TypeVar("Number", float, Floats)


def pdf(eta: float, epsilon: float) -> float:
    """Density of the noise at `eta`: p(η | ε)."""
    return exp(-max(abs(eta) - epsilon, 0.0)) / (2.0 * (1.0 + epsilon))  # (1)


def var(epsilon: Number) -> Number:
    """Variance of the noise."""
    return (epsilon**3 / 3.0 + epsilon**2 + 2.0 * epsilon + 2.0) / (1.0 + epsilon)  # (5)


def mean_var(epsilon: float) -> float:
    """Variance of μ, the mean of the Gaussian that the noise is a mixture of, before anything is seen."""
    return epsilon * (epsilon * (1.0 + epsilon / 3.0) / (1.0 + epsilon))  # (6)


def sample(epsilon: Floats, rng: np.random.Generator) -> Floats:
    """Draw noise of scale 1, one number for each epsilon; -1 draws from a standard normal."""
    shape, e = epsilon.shape, np.maximum(epsilon, 0.0)
    flat = rng.random(shape) * (1 + e) < e
    side = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    on_flat, on_tail = rng.uniform(-1, 1, shape) * e, side * (e + rng.exponential(size=shape))
    return np.where(epsilon < 0, rng.normal(size=shape), np.where(flat, on_flat, on_tail))
