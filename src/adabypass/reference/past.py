"""The past of a series as state: equations (K.2)-(K.6) and (K.12).

Pure functions, for one component at a time where the kernel has all: the past in, the past out.
"""

from math import isnan

import numpy as np

from adabypass.numerics.limits import KNOWS_NOTHING, MAX_UNKNOWN, MAX_VALUE
from adabypass.reference.stability import stabilisation
from adabypass.state.linear_mixture import LinearMixture
from adabypass.state.past import Design, Past
from adabypass.validation import Floats


def features(past: Past, design: Design, exog: Floats) -> tuple[Floats, float]:
    """Return the features of the next observation, and what differencing took away from it."""
    taps = [float(tap) for tap in design.taps]
    x = [1.0] if design.bias else []
    for lag in design.lags:
        x.append(sum(tap * float(past.values[lag - 1 + j]) for j, tap in enumerate(taps)))  # (K.2)
    base = -sum(tap * float(past.values[j]) for j, tap in enumerate(taps[1:]))
    return np.array([*x, *exog]), base


def extra_var(past: Past, design: Design, mixture: LinearMixture) -> Floats:
    """Return the variance that the forecast of each component gains because values are not known."""
    horizon = len(past.unknown) + 1
    A = np.array([[_tap(design, int(u) - (lag - 1)) for u in past.unknown] for lag in design.lags])
    A = A.reshape(len(design.lags), len(past.unknown))
    d = np.array([-_tap(design, int(u) + 1) if u < design.difference else 0.0 for u in past.unknown])
    first = int(design.bias) + int(mixture.intercept)
    at = np.arange(first, first + len(design.lags))
    gains = []
    for k, (damping, shrink) in enumerate(stabilisation(mixture, design, horizon)):
        slope = A.T @ (damping * mixture.mean[k][at]) + d
        cov = shrink**2 * (mixture.cov[k] + mixture.drift[k])[np.ix_(at, at)]
        gains.append(slope @ past.cov @ slope + np.trace(cov @ A @ past.cov @ A.T))  # (K.12)
    return np.asarray(np.clip(gains, 0.0, MAX_VALUE))


def observe(past: Past, design: Design, y: float, mean: float, var: float, lag_weights: Floats) -> Past:
    """Return the past after `y`, which was forecast with this mean and variance; nan if it is missing.

    `lag_weights` are the mixture's mean weights of the lags, from before `y` was learned.
    """
    A = np.array([[_tap(design, int(u) - (lag - 1)) for u in past.unknown] for lag in design.lags])
    d = np.array([-_tap(design, int(u) + 1) if u < design.difference else 0.0 for u in past.unknown])
    slope = A.reshape(len(design.lags), len(past.unknown)).T @ lag_weights + d
    along = past.cov @ slope  # (K.3)  covariance of the forecast with the unknown values
    due, seen_var = float(slope @ along), min(past.largest**2, MAX_VALUE)
    says_nothing = not max(var, due) <= KNOWS_NOTHING * seen_var and len(past.values) > 0
    if says_nothing:
        mean, var = float(np.mean(past.values)), seen_var  # what was seen says more than such a forecast
    if isnan(y):
        if says_nothing:
            along, due = np.zeros_like(along), 0.0
        var = max(var, due)
        wide = np.block([[past.cov, along[:, None]], [along[None, :], np.array([[var]])]])  # (K.4)
        first = int(len(wide) > MAX_UNKNOWN)  # then the oldest is taken as known
        return _shifted(past._replace(unknown=np.append(past.unknown, -1)[first:], cov=wide[first:, first:]), mean)
    var = max(var, due)
    values, cov = past.values.copy(), past.cov
    if len(past.unknown) and var > 0:
        values[past.unknown] += along / var * (y - mean)  # (K.5)
        cov = cov - np.outer(along, along) / var  # (K.6)
        cov[np.diag_indices(len(cov))] = np.maximum(cov.diagonal(), 0.0)
    return _shifted(past._replace(values=values, cov=cov, largest=max(past.largest, abs(y))), y)


def start(observations: Floats, design: Design) -> Past:
    """Return the past made of the first `n_values` observations, oldest first, of which the first is not missing."""
    values = observations[::-1]
    missing = np.isnan(values)
    seen = values[~missing]
    unknown = np.flatnonzero(missing)[::-1]
    var = min(float(seen.var() or seen.mean() ** 2), MAX_VALUE) if len(seen) else 0.0
    largest = float(np.abs(seen).max()) if len(seen) else 0.0
    return Past(
        np.where(missing, seen.mean() if len(seen) else 0.0, values), unknown, var * np.eye(len(unknown)), largest
    )


def _shifted(past: Past, newest: float) -> Past:
    """Return the past one step later."""
    n = len(past.values)
    values = np.array([newest, *past.values[:-1]]) if n else past.values
    later = past.unknown + 1
    kept = later < n
    return past._replace(values=values, unknown=later[kept], cov=past.cov[np.ix_(kept, kept)])


def _tap(design: Design, index: int) -> float:
    return float(design.taps[index]) if 0 <= index < len(design.taps) else 0.0
