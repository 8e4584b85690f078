"""The states of structures at every time of a series, given all of it: equations (N.38) and (N.39)."""

import numpy as np

from adabypass.forecasting.components import LEVEL, SLOPE, WAVES, States
from adabypass.state import structures as design
from adabypass.state.structure_row import SETTINGS
from adabypass.validation import Floats

UNKNOWN_VAR = 1e6
"""Variance of level and slope where what was before is not looked at."""


def smooth(states: States, z: Floats, x: Floats, *, is_whole: bool = True) -> Floats:
    """Return the expected states at each time, shape (n_structures, n, n_states), given all values.

    Forward as a Kalman filter, backward with the score of the state alone, and forward again. No covariance is
    inverted.

    Parameters
    ----------
    z : array (n_structures, n)
        The values in the units of each structure; nan where they are missing.
    x : array (n, n_states)
        What the states are multiplied with; 0 for the slope.
    is_whole
        Whether they are all values. Otherwise next to nothing is assumed of the level and the slope at the first one.
    """
    prior, steps, noise = _settings(states)
    if not is_whole:
        prior[:, [LEVEL, SLOPE]] = np.where(prior[:, [LEVEL, SLOPE]] > 0.0, UNKNOWN_VAR, 0.0)
    errors, gains = _filter(states.damping, prior, steps, noise, z, x)
    score, scores = np.zeros(prior.shape), np.empty(gains.shape)
    for t in range(z.shape[1] - 1, -1, -1):
        score = score + (errors[:, t] - np.einsum("kn,kn->k", gains[:, t], score))[:, None] * x[t]  # (N.38)
        scores[:, t] = score
        score = _moved_back(states.damping, score)
    found, state = np.empty(gains.shape), np.zeros(prior.shape)
    start = _cov_moved(states.damping, _diagonal(prior)) + _diagonal(steps)
    for t in range(z.shape[1]):
        moved = np.einsum("kij,kj->ki", start, scores[:, t]) if t == 0 else steps * scores[:, t]
        state = _moved(states.damping, state) + moved  # (N.39)
        found[:, t] = state
    return found


def _filter(
    damping: Floats, prior: Floats, steps: Floats, noise: Floats, z: Floats, x: Floats
) -> tuple[Floats, Floats]:
    """Return errors over their variances, (n_structures, n), and gains, (n_structures, n, n_states): (N.2)-(N.8)."""
    n_structures, n = z.shape
    mean, cov = np.zeros(prior.shape), _diagonal(prior)
    errors, gains = np.zeros((n_structures, n)), np.zeros((n_structures, n, prior.shape[1]))
    diagonal = np.arange(prior.shape[1])
    for t in range(n):
        mean, cov = _moved(damping, mean), _cov_moved(damping, cov)
        cov[:, diagonal, diagonal] += steps
        known = ~np.isnan(z[:, t])
        if not known.any():
            continue
        cov_x = cov @ x[t]
        var = cov_x @ x[t] + noise
        gain = np.where(known[:, None], cov_x / var[:, None], 0.0)
        error = np.where(known, z[:, t] - mean @ x[t], 0.0)
        mean = mean + gain * error[:, None]
        cov -= gain[:, :, None] * cov_x[:, None, :]
        errors[:, t], gains[:, t] = error / var, gain
    return errors, gains


def _settings(states: States) -> tuple[Floats, Floats, Floats]:
    """Return the variances of the states at the start and of a step, (n_structures, n_states), and of the noise."""
    spec = states.spec
    of = {name: spec.settings[states.at, i] for i, name in enumerate(SETTINGS)}
    prior, steps = np.zeros(states.mean.shape), np.zeros(states.mean.shape)
    prior[:, LEVEL], steps[:, LEVEL] = design.LEVEL_PRIOR_VAR, of["level_var"]
    has_slope = of["has_slope"] != 0.0
    prior[has_slope, SLOPE], steps[has_slope, SLOPE] = design.SLOPE_PRIOR_VAR, of["slope_var"][has_slope]
    end = WAVES + spec.n_season
    place = np.arange(spec.n_season) - of["season_at"][:, None]
    has_wave = (place >= 0) & (place < of["n_season"][:, None])
    prior[:, WAVES:end] = design.SEASON_PRIOR_VAR * has_wave
    steps[:, WAVES:end] = of["season_var"][:, None] * has_wave
    prior[:, end:], steps[:, end:] = design.EXOG_PRIOR_VAR, of["exog_var"][:, None]
    return prior, steps, of["noise_var"]


def _moved(damping: Floats, state: Floats) -> Floats:
    """Return T m: equation (N.2)."""
    out = state.copy()
    out[:, SLOPE] *= damping
    out[:, LEVEL] += out[:, SLOPE]
    return out


def _moved_back(damping: Floats, score: Floats) -> Floats:
    """Return T' r."""
    out = score.copy()
    out[:, SLOPE] = damping * (score[:, LEVEL] + score[:, SLOPE])
    return out


def _cov_moved(damping: Floats, cov: Floats) -> Floats:
    """Return T P T'."""
    out = cov.copy()
    out[:, SLOPE] *= damping[:, None]
    out[:, LEVEL] += out[:, SLOPE]
    out[:, :, SLOPE] *= damping[:, None]
    out[:, :, LEVEL] += out[:, :, SLOPE]
    return out


def _diagonal(variances: Floats) -> Floats:
    found = np.zeros((*variances.shape, variances.shape[1]))
    each = np.arange(variances.shape[1])
    found[:, each, each] = variances
    return found


def zero_shares(y: Floats) -> Floats:
    """Return the probability of an exact 0 after each observation, as the forecaster counts it: equation (N.23)."""
    n_zero = n_counted = share = 0.0
    shares = np.empty(len(y))
    for t, value in enumerate(y):
        if not np.isnan(value):
            n_zero = design.SCALE_DISCOUNT * n_zero + (value == 0.0)
            n_counted = design.SCALE_DISCOUNT * n_counted + 1.0
            share = min(n_zero / n_counted, design.MAX_ZERO_SHARE)
        shares[t] = share if share >= design.ZERO_SHARE_FROM else 0.0
    return shares


def in_structure_units(states: States, y: Floats) -> Floats:
    """Return values in the units of every structure, (n_structures, n); nan where it takes one for missing."""
    row_units = states.unit[:, None], states.center[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(states.is_log[:, None], np.log(np.where(y > 0.0, y, np.nan)), y)
    found: Floats = (value - row_units[1]) / row_units[0]
    return found
