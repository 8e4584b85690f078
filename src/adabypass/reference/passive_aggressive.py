"""Passive-aggressive regression: the smallest update of the weights that fits the newest observation."""

from math import copysign, isnan

from adabypass.reference.linear_gaussian import inner
from adabypass.state.paper import PassiveAggressiveSpec
from adabypass.validation import Floats


def predict(weights: Floats, x: Floats) -> float:
    """Forecast the observation at `x`."""
    return inner(x, weights)


def update(weights: Floats, x: Floats, y: float, spec: PassiveAggressiveSpec) -> Floats:
    """Update the weights with `y` at `x`; a missing `y` (nan) leaves them unchanged."""
    n = inner(x, x)
    if isnan(y) or n == 0.0:
        return weights
    error = y - predict(weights, x)
    loss = max(abs(error) - spec.epsilon, 0.0)  # (B.1)
    if spec.variant == "PA":
        tau = loss / n  # (B.2)
    elif spec.variant == "PA-I":
        tau = min(spec.C, loss / n)  # (B.3)
    else:
        tau = loss / (n + 1 / (2 * spec.C))  # (B.4)
    return weights + copysign(tau, error) * x  # (B.5)
