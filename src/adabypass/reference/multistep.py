"""Forecasts many steps ahead: equations (K.7)-(K.11), one component at a time, with every covariance in full."""

from typing import NamedTuple

import numpy as np

from adabypass.reference.filters import level_log
from adabypass.reference.stability import stabilisation
from adabypass.state.bank_table import LevelLaw
from adabypass.state.linear_mixture import MAX_LEVEL_DISTANCE, LinearMixture
from adabypass.state.past import Design, Past
from adabypass.validation import Floats


class Moments(NamedTuple):
    """Of one component, at each step ahead: arrays (horizon,)."""

    mean: Floats
    signal_var: Floats
    """Variance of everything but the step's own noise."""
    noise_scale: Floats


def moments(mixture: LinearMixture, design: Design, past: Past, features: Floats) -> list[Moments]:
    """Return the forecasts of each component; what `features` holds at the lags is not read."""
    factors = stabilisation(mixture, design, len(features))
    return [_component(mixture, k, design, past, features, *factors[k]) for k in range(len(mixture.share))]


def _component(
    mixture: LinearMixture, k: int, design: Design, past: Past, features: Floats, damping: Floats, shrink: float
) -> Moments:
    horizon, n_weights, n_values = len(features), mixture.mean.shape[1], len(past.values)
    first = int(design.bias) + int(mixture.intercept)
    lags = np.arange(first, first + len(design.lags))
    # The joint Gaussian of the weights and all values, oldest first.
    mean = np.concatenate([mixture.mean[k], past.values[::-1], np.zeros(horizon)])
    cov = np.zeros((len(mean), len(mean)))
    cov[:n_weights, :n_weights] = mixture.cov[k]
    unknown = n_weights + n_values - 1 - past.unknown
    cov[np.ix_(unknown, unknown)] = past.cov
    drift, scale, fading = mixture.drift[k], mixture.noise_scale[k], mixture.fading[k]
    unit_var = mixture.unit_var[k]
    means, signal_vars, scales = [], [], []
    for step in range(horizon):
        if step == 1:
            T = np.eye(len(mean))
            T[lags, lags] = shrink
            mean[:n_weights] = damped(mixture, k, design, past, lags, damping)
            cov, drift = T @ cov @ T, T[:n_weights, :n_weights] @ drift @ T[:n_weights, :n_weights]
        cov[:n_weights, :n_weights] += drift
        if step:
            scale, fading = scale * np.exp((mixture.fade[k] - 1) * fading), mixture.fade[k] * fading
        R, r = regressors(mixture, design, features[step], mean, n_weights, n_weights + n_values + step)
        d = np.zeros(len(mean))
        for j in range(design.difference):
            d[n_weights + n_values + step - 1 - j] = -design.taps[j + 1]
        w, S = mean[:n_weights], cov[:n_weights]
        CR = R @ cov @ R.T  # of the regressors
        WR = S @ R.T  # of the weights with them
        gradient = np.concatenate([r, np.zeros(len(mean) - n_weights)]) + R.T @ w + d
        value = mixture.y_center + d @ mean + w @ r + np.trace(WR)  # (K.7)
        signal = gradient @ cov @ gradient + np.sum(S[:, :n_weights] * CR) + np.sum(WR * WR.T)
        along = cov @ gradient  # (K.8)
        here = n_weights + n_values + step
        mean[here] = value
        cov[here, :] = cov[:, here] = along
        own = value - d @ mean  # what the weights explain, of differences if the series is differenced
        level = np.clip((own - mixture.level_center) / mixture.level_unit, -MAX_LEVEL_DISTANCE, MAX_LEVEL_DISTANCE)
        season_log = mixture.season_logs[step % len(mixture.season_logs)]
        is_linear = len(mixture.level_linear) and mixture.level_linear[k]
        law = LevelLaw.LINEAR if is_linear else LevelLaw.EXPONENTIAL
        scale_here = scale * np.exp(level_log(mixture.level_slope[k], float(level), law) + season_log)  # (H.30), (H.37)
        noise_var = scale_here**2 * unit_var
        cov[here, here] = signal + noise_var
        if len(mixture.differenced) and mixture.differenced[k]:
            u = mixture.direction(r)
            cov[:n_weights, here] += u * noise_var
            cov[here, :n_weights] += u * noise_var
            cov[:n_weights, :n_weights] += np.outer(u, u) * noise_var  # (H.20)
        means.append(value)
        signal_vars.append(signal)
        scales.append(scale_here)
    return Moments(np.array(means), np.array(signal_vars), np.array(scales))


def regressors(
    mixture: LinearMixture, design: Design, known: Floats, mean: Floats, n_weights: int, here: int
) -> tuple[Floats, Floats]:
    """Return R, by which the regressors depend on the joint vector, and their mean."""
    offset = int(mixture.intercept)
    R = np.zeros((n_weights, len(mean)))
    r = np.concatenate([np.ones(offset), known - mixture.x_center])
    for i, lag in enumerate(design.lags):
        row = offset + int(design.bias) + i
        for j, tap in enumerate(design.taps):
            R[row, here - lag - j] = tap
        r[row] = R[row] @ mean - mixture.x_center[row - offset]
    return R, r


def damped(
    mixture: LinearMixture, k: int, design: Design, past: Past, lags: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    damping: Floats,
) -> Floats:  # fmt: skip
    """Return the mean weights that do not let the series explode, turned about where the series is: (K.9), (K.10)."""
    mean: Floats = mixture.mean[k].copy()
    mean[lags] *= damping
    if len(lags) and (mixture.intercept or design.bias):
        longest, taps = max(design.lags), design.taps
        recent = [sum(tap * past.values[i + j] for j, tap in enumerate(taps)) for i in range(longest)]
        here = np.mean(recent) - mixture.x_center[lags - int(mixture.intercept)]
        mean[0] += (mixture.mean[k] - mean)[lags] @ here
    return mean
