"""The insensitive noise: a flat top of half-width ε with Laplace tails of scale 1, equations (1) and (4)-(6)."""

from math import exp


def pdf(eta: float, epsilon: float) -> float:
    """Density of the noise at `eta`: p(η | ε)."""
    return exp(-max(abs(eta) - epsilon, 0.0)) / (2.0 * (1.0 + epsilon))  # (1)


def var(epsilon: float) -> float:
    """Variance of the noise."""
    return (epsilon**3 / 3.0 + epsilon**2 + 2.0 * epsilon + 2.0) / (1.0 + epsilon)  # (5)


def mean_var(epsilon: float) -> float:
    """Variance of μ, the mean of the Gaussian that the noise is a mixture of, before anything is seen."""
    return epsilon * (epsilon * (1.0 + epsilon / 3.0) / (1.0 + epsilon))  # (6)
