"""The rank-one step that every filter here shares: condition Gaussian weights on one noisy product with x."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from adabypass.numerics.limits import ROUNDING
from adabypass.validation import Floats


def inner(a: Floats, b: Floats) -> float:
    """Return a'b as a float."""
    return float(a @ b)


class Weights(NamedTuple):
    """Belief about the weights: w ~ N(mean, cov)."""

    mean: Floats
    cov: Floats


def condition(prior: Weights, x: Floats, error: float, noise_var: float) -> tuple[Weights, Floats, float]:
    """Condition `prior` on an observation with this error; return the posterior, the gain and the variance."""
    P = prior.cov
    Px = P @ x
    D = inner(x, Px) + noise_var  # (C.12)
    gain = Px / D  # (C.28)
    guarded, floor = guard(P, x, D)
    cov = guarded - np.outer(Px, Px) / max(D, floor)  # (C.30)
    return Weights(prior.mean + gain * error, cov), gain, D  # (C.29)


def guard(P: Floats, x: Floats, D: float) -> tuple[Floats, float]:
    """Add the rounding error of P - Px (Px)' / D to the diagonal of P; return P with the minimum D."""
    rounding = (len(x) + 4) * ROUNDING
    reach = inner(np.sqrt(P.diagonal()), np.abs(x))
    return P + np.diag(P.diagonal()) * rounding * (1 + reach / sqrt(D)), rounding * reach**2  # (C.31)


def drift(weights: Weights, drift_var: float) -> Weights:
    """Return the belief one step of the random walk later: the same mean, and a larger covariance."""
    return Weights(weights.mean, weights.cov + drift_var * np.eye(len(weights.mean)))  # (A.3)
