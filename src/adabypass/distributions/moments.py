"""Mean and variance of mixtures whose values are clipped to bounds, or whose components lie far apart."""

from typing import Any

import numpy as np
from scipy.special import betaln, ndtr, stdtr

from adabypass.distributions import families
from adabypass.distributions.component import UNBOUNDED, Components, Target
from adabypass.numerics.limits import LOG_MAX_VALUE, MAX_LOG_VAR, MAX_SPREAD, MAX_VALUE, MIN_DOF
from adabypass.validation import Floats

CENTRAL = 0.999
"""Level of the interval that contains the mean of every forecast of a model."""


def keep_near(forecasts: Any, mean: Floats, var: Floats, likeliest_var: Floats) -> tuple[Floats, Floats]:
    """Limit means to the central interval of each forecast, and variances to its squared half-width: equation (J.7).

    A component of negligible weight may lie anywhere, and would otherwise dominate both.

    Parameters
    ----------
    forecasts
        Many forecasts.
    mean, var : arrays (n,)
        Their means and variances; mean nan where nothing is known.
    likeliest_var : array (n,)
        Variance of the component of the largest weight: only forecasts that are far wider are changed.
    """
    with np.errstate(over="ignore"):
        is_far = np.flatnonzero(~np.isnan(mean) & (var > MAX_SPREAD**2 * likeliest_var))
    if not len(is_far):
        return mean, var
    low, high = forecasts[is_far].interval(CENTRAL)
    mean, var = mean.copy(), var.copy()
    mean[is_far] = np.clip(mean[is_far], low, high)
    with np.errstate(over="ignore"):
        var[is_far] = np.minimum(var[is_far], (0.5 * (high - low)) ** 2)
    return mean, var


def likeliest_moments(table: Components, support: tuple[float, float] = UNBOUNDED) -> tuple[Floats, Floats]:
    """Return mean and variance of the component of the largest weight in each forecast, clipped to bounds."""
    likeliest = np.take_along_axis(table, table["weight"].argmax(axis=1)[:, None], axis=1)
    mean, var = component_moments(likeliest, support)
    return mean[:, 0], var[:, 0]


def mixture_moments(table: Components, support: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return mean and variance of mixtures (n, n_components); bounds are for Student's t distributions alone."""
    if support == UNBOUNDED:
        return families.moments(table)
    mean, var = component_moments(table, support)
    weight = table["weight"]
    first = _sum_in_order(weight * mean)
    apart = np.where(weight > 0.0, mean - first[:, None], 0.0)
    return first, _sum_in_order(weight * (var + apart**2))


def _sum_in_order(terms: Floats) -> Floats:
    """Return sums over the components, one after another, so that a component without weight changes no bit of them.

    Of forecasts that are joined, components that none of them has are left out.
    """
    total: Floats = np.add.accumulate(terms, axis=1)[:, -1]
    return total


def component_moments(table: Components, support: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return mean and variance of each component, clipped to bounds."""
    if support == UNBOUNDED:
        flat = table.reshape(-1, 1).copy()
        flat["weight"] = 1.0
        mean, var = families.moments(flat)
        return mean.reshape(table.shape), var.reshape(table.shape)
    location, scale, dof = table["mean"], table["noise_scale"], np.maximum(table["dof"], MIN_DOF)
    with np.errstate(over="ignore", invalid="ignore"):
        log_var = np.minimum(scale**2 * dof / (dof - 2.0), MAX_LOG_VAR)
        own = clipped_student(location, scale, dof, *support)
        of_log = clipped_lognormal(location, log_var, *support)
        is_log = table["target"] == Target.LOG.value
        return np.where(is_log, of_log[0], own[0]), np.minimum(np.where(is_log, of_log[1], own[1]), MAX_VALUE)


def clipped_student(location: Floats, scale: Floats, dof: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return mean and variance of clip(X, low, high), where X has Student's t distribution with `dof` above 2."""
    left, right = (low - location) / scale, (high - location) / scale
    below, above = stdtr(dof, left), stdtr(dof, -right)
    first = _student_first(right, dof) - _student_first(left, dof) + _times(left, below) + _times(right, above)
    second = _student_second(right, dof) - _student_second(left, dof)
    second = second + _times(left, _times(left, below)) + _times(right, _times(right, above))
    return np.clip(location + scale * first, low, high), scale**2 * np.maximum(second - first**2, 0.0)


def clipped_lognormal(log_mean: Floats, log_var: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return mean and variance of clip(exp(X), low, high), where X is normal."""
    sd = np.sqrt(log_var)
    with np.errstate(divide="ignore"):
        left, right = (np.log(max(low, 0.0)) - log_mean) / sd, (np.log(max(high, 0.0)) - log_mean) / sd
    mean = np.exp(np.clip(log_mean + 0.5 * log_var, -LOG_MAX_VALUE, LOG_MAX_VALUE))
    below, above, least, most = ndtr(left), ndtr(-right), low / mean, high / mean
    first = ndtr(right - sd) - ndtr(left - sd) + _times(least, below) + _times(most, above)
    second = np.exp(log_var) * (ndtr(right - 2.0 * sd) - ndtr(left - 2.0 * sd))
    second = second + _times(least, _times(least, below)) + _times(most, _times(most, above))
    return np.clip(mean * first, low, high), mean * np.maximum(second - first**2, 0.0) * mean


def _times(bound: Floats | float, probability: Floats) -> Floats:
    """Return bound * probability; 0 at an infinite bound, whose probability is 0."""
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
