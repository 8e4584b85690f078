"""Moments of values that are moved to a bound where they lie beyond it."""

import numpy as np
from scipy.special import betaln, ndtr, stdtr

from adabypass.numerics.limits import LARGEST_LOG
from adabypass.validation import Floats


def student_moments(location: Floats, scale: Floats, dof: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return mean and variance of clip(X, low, high), where X has Student's t distribution with `dof` above 2."""
    left, right = (low - location) / scale, (high - location) / scale
    below, above = stdtr(dof, left), stdtr(dof, -right)
    first = _student_first(right, dof) - _student_first(left, dof) + _times(left, below) + _times(right, above)
    second = _student_second(right, dof) - _student_second(left, dof)
    second = second + _times(left, _times(left, below)) + _times(right, _times(right, above))
    return np.clip(location + scale * first, low, high), scale**2 * np.maximum(second - first**2, 0.0)


def lognormal_moments(log_mean: Floats, log_var: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return mean and variance of clip(exp(X), low, high), where X is normal."""
    sd = np.sqrt(log_var)
    with np.errstate(divide="ignore"):
        left, right = (np.log(max(low, 0.0)) - log_mean) / sd, (np.log(max(high, 0.0)) - log_mean) / sd
    mean = np.exp(np.clip(log_mean + 0.5 * log_var, -LARGEST_LOG, LARGEST_LOG))
    below, above, least, most = ndtr(left), ndtr(-right), low / mean, high / mean
    first = ndtr(right - sd) - ndtr(left - sd) + _times(least, below) + _times(most, above)
    second = np.exp(log_var) * (ndtr(right - 2.0 * sd) - ndtr(left - 2.0 * sd))
    second = second + _times(least, _times(least, below)) + _times(most, _times(most, above))
    return np.clip(mean * first, low, high), mean * np.maximum(second - first**2, 0.0) * mean


def _times(bound: Floats | float, probability: Floats) -> Floats:
    """Return their product: 0 at a bound that is infinite, and so without a probability."""
    return np.where(np.isinf(bound), 0.0, np.where(np.isinf(bound), 0.0, bound) * probability)


def _student_first(z: Floats, dof: Floats) -> Floats:
    """Return the integral of t f(t) up to z, where f is the standard density."""
    squared = np.where(np.isinf(z), 0.0, z * z)
    density = np.exp(-betaln(0.5, dof / 2.0) - 0.5 * np.log(dof) - 0.5 * (dof + 1.0) * np.log1p(squared / dof))
    return np.where(np.isinf(z), 0.0, -(dof + squared) / (dof - 1.0) * density)


def _student_second(z: Floats, dof: Floats) -> Floats:
    """Return the integral of t² f(t) up to z."""
    inner = stdtr(dof - 2.0, z * np.sqrt((dof - 2.0) / dof))
    return np.asarray(dof * (dof - 1.0) / (dof - 2.0) * inner - dof * stdtr(dof, z))
