"""Weights and linear mixture of an AutoBypass row, in the user's units."""

import numpy as np

from adabypass.numerics.limits import MAX_UNIT, MAX_VALUE, RESOLUTION
from adabypass.numerics.noise import Family
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.bank_table import LevelLaw
from adabypass.state.layout import unpack
from adabypass.state.linear_mixture import LinearMixture
from adabypass.validation import Floats


def weights(spec: AutoBypassSpec, row: Floats, n_features: int) -> tuple[float, Floats, Floats]:
    """Return intercept, mean and covariance of the weights under the mixture, in the user's units.

    Of filters whose covariances are diagonal, the variances (n_features,) instead of the covariance.
    """
    if spec.sparse:
        return _sparse_weights(spec, row, n_features)
    offset, x_center = int(spec.intercept), spec.view(row, "x_center", n_features)
    share, means = _walk_shares(spec, row, n_features), spec.walks_of(row, "walk_mean", n_features)
    y_center, y_scale = spec.layout.scalar(row, "y_center"), spec.layout.scalar(row, "y_scale")
    mean = share @ means
    within = share @ spec.walks_of(row, "walk_cov", n_features)
    apart = means - mean
    with np.errstate(over="ignore", invalid="ignore"):
        unit = _units(spec, row, n_features)
        slopes = mean[offset:] * unit
        intercept = y_center + (y_scale * mean[0] if spec.intercept else 0.0) - x_center @ slopes
    unknown = np.flatnonzero(unit == 0.0)  # nothing is known of a weight before its feature and y have moved
    if spec.is_full:
        cov = unpack(within) + np.sum(share[:, None, None] * (apart[:, :, None] * apart[:, None, :]), axis=0)
        cov_user = cov[offset:, offset:] * np.outer(unit, unit)
        cov_user[unknown, unknown] = MAX_VALUE
    else:
        cov_user = (within + share @ apart**2)[offset:] * unit**2
        cov_user[unknown] = MAX_VALUE
    return float(np.nan_to_num(intercept)), slopes, cov_user


def _sparse_weights(spec: AutoBypassSpec, row: Floats, n_features: int) -> tuple[float, Floats, Floats]:
    """Return intercept, means and variances of the weights of sparse features, in the user's units."""
    share = _walk_shares(spec, row, n_features)
    y_center, y_scale = spec.layout.scalar(row, "y_center"), spec.layout.scalar(row, "y_scale")
    scale = spec.view(row, "slope_scale", n_features)
    is_known = (scale > 0) & spec.is_scaled(row)
    level, means, within = _slopes(spec, row, n_features)
    mean = means @ share
    with np.errstate(over="ignore"):
        var = within @ share + (means - mean[:, None]) ** 2 @ share
        unit = np.minimum(np.divide(y_scale, scale, out=np.zeros(n_features), where=is_known), MAX_UNIT)
        own = y_scale * float(level @ share)
        slopes, var = np.clip(mean * unit, -MAX_VALUE, MAX_VALUE), np.minimum(var * unit**2, MAX_VALUE)
    return float(np.clip(y_center + own, -MAX_VALUE, MAX_VALUE)), slopes, np.where(is_known, var, MAX_VALUE)


def _slopes(spec: AutoBypassSpec, row: Floats, n_features: int) -> tuple[Floats, Floats, Floats]:
    """Return the level of every walk, and mean and variance of each slope: (n_features, n_walks)."""
    scale, square = (spec.view(row, name, n_features) for name in ("slope_scale", "slope_square"))
    anchored = np.array([setting.anchored for setting in spec.filters()[: spec.n_walks]])
    divisor = np.where(anchored, np.where(scale > 0, square, 1.0)[:, None], 1.0)
    within = spec.view(row, "slope_var", n_features) + spec.view(row, "drift_sum", n_features) / divisor  # (M.9)
    level = spec.view(row, "walk_mean", n_features)[0] if spec.intercept else np.zeros(spec.n_walks)
    return level, spec.view(row, "slope_mean", n_features), np.maximum(within, 0.0)


def linear_mixture(spec: AutoBypassSpec, row: Floats, n_features: int) -> LinearMixture:
    """Return the belief of every filter in the user's units, for a scaled row with full covariances."""
    y_scale, settings = spec.layout.scalar(row, "y_scale"), spec.filters()
    slow, fast, epsilon, level_slope = (
        spec.view(row, f"filter_{name}", n_features).copy() for name in ("slow", "fast", "epsilon", "level_slope")
    )
    family = np.array([setting.family for setting in settings])
    unit = np.concatenate([np.full(int(spec.intercept), y_scale), _units(spec, row, n_features)])
    floor = RESOLUTION * abs(spec.layout.scalar(row, "last_y"))
    with np.errstate(over="ignore"):
        units = np.minimum(np.outer(unit, unit), MAX_VALUE)
        drift, jump = _drift(spec, row, n_features)
        cov = np.clip((unpack(spec.walks_of(row, "walk_cov", n_features)) + jump) * units, -MAX_VALUE, MAX_VALUE)
        drift = np.clip(drift * units, -MAX_VALUE, MAX_VALUE)
    n_noises = spec.n_filters // spec.n_walks
    mean, cov, drift = (  # of every filter
        np.concatenate([each] * n_noises) for each in (spec.walks_of(row, "walk_mean", n_features) * unit, cov, drift)
    )
    return LinearMixture(
        share=spec.view(row, "filter_share", n_features).copy(),
        mean=mean,
        cov=cov,
        drift=drift,
        noise_scale=np.maximum(y_scale * np.exp(slow + fast), floor),  # (H.43)
        epsilon=np.where(family == Family.INSENSITIVE, epsilon, 0.0),
        family=family,
        fading=fast,
        fade=_fade(spec, spec.view(row, "noise_log_decay_ratio", n_features)),
        level_slope=level_slope,
        level_linear=np.array([float(setting.level_law is LevelLaw.LINEAR) for setting in settings]),
        level_center=spec.layout.scalar(row, "y_center") + y_scale * spec.layout.scalar(row, "y_running_mean"),
        level_unit=y_scale * max(spec.layout.scalar(row, "y_running_var"), 0.0) ** 0.5,
        x_center=spec.view(row, "x_center", n_features).copy(),
        y_center=spec.layout.scalar(row, "y_center"),
        intercept=spec.intercept,
        normal_shares=spec.view(row, "normal_share", n_features).copy(),
        differenced=np.array([float(setting.differenced) for setting in settings]),
        feature_size=_feature_size(spec, row, n_features),
        min_mean_square=spec.min_mean_square,
        season_logs=_season_logs(spec, row, n_features),
    )


def _walk_shares(spec: AutoBypassSpec, row: Floats, n_features: int) -> Floats:
    """Return the share of all filters of each walk in the mixture."""
    return np.asarray(spec.view(row, "filter_share", n_features).reshape(-1, spec.n_walks).sum(axis=0))


def _season_logs(spec: AutoBypassSpec, row: Floats, n_features: int) -> Floats:
    """Return what each step from the next one on adds to the log of the noise's scale, over one period."""
    step, angle = int(spec.layout.scalar(row, "season_step")), 2 * np.pi * np.arange(spec.period) / spec.period
    cosine, sine = spec.view(row, "season_wave", n_features)
    waves = cosine * np.sqrt(2) * np.cos(angle) + sine * np.sqrt(2) * np.sin(angle)
    return np.roll(spec.view(row, "season_log", n_features) + waves, -step)  # (H.37)


def _feature_size(spec: AutoBypassSpec, row: Floats, n_features: int) -> Floats:
    """Return the running root mean square of every feature: 0 for one without a scale."""
    x_scale = np.maximum(spec.view(row, "x_scale", n_features), 0.0)
    return np.asarray(x_scale * np.sqrt(spec.view(row, "anchor_var", n_features)))


def _fade(spec: AutoBypassSpec, log_decay_ratio: Floats) -> Floats:
    """Return the share of each filter's fast part that is left a step later."""
    decay = np.array([setting.fast_decay for setting in spec.filters()])
    fading = (1.0 - decay) * np.repeat(np.exp(log_decay_ratio), spec.n_walks)[: spec.n_filters]
    return np.asarray(np.clip(1.0 - fading, 0.0, spec.max_fast_decay))  # (H.26)


def _drift(spec: AutoBypassSpec, row: Floats, n_features: int) -> tuple[Floats, Floats]:
    """Return what a step, and a jump that is due, add to the covariance of each walk's weights, in standard units."""
    offset, settings = int(spec.intercept), spec.filters()[: spec.n_walks]
    anchored = np.array([[setting.anchored] for setting in settings])
    moves = np.array([[float(setting.slopes_drift)] for setting in settings])
    differenced = np.array([[float(setting.differenced)] for setting in settings])
    center = np.where(anchored, spec.view(row, "anchor_center", n_features), 0.0)
    center = np.where(differenced, spec.view(row, "newest_center", n_features), center)
    var = np.where(anchored, spec.view(row, "anchor_var", n_features), 1.0)
    prec = moves / np.where(differenced, spec.view(row, "move_var", n_features), var)
    n_weights = n_features + offset
    drift = np.zeros((spec.n_walks, n_weights, n_weights))
    slopes = np.arange(offset, n_weights)
    drift[:, slopes, slopes] = prec
    if spec.intercept:
        drift[:, 0, 0] = 1 - differenced[:, 0] + np.sum(center**2 * prec, axis=1)
        drift[:, 0, 1:] = drift[:, 1:, 0] = -center * prec  # (H.8), (H.18)
    share, slow = (
        spec.view(row, name, n_features).reshape(-1, spec.n_walks) for name in ("filter_share", "filter_slow")
    )
    mean_slow = np.sum(share * slow, axis=0) / _walk_shares(spec, row, n_features)
    drift *= np.exp(2 * mean_slow)[:, None, None]
    q, jump_var = (np.array([getattr(setting, name) for setting in settings]) for name in ("drift_var", "jump_var"))
    jump_var[spec.view(row, "walk_consecutive_outliers", n_features) < spec.max_consecutive_outliers] = 0.0
    return q[:, None, None] * drift, jump_var[:, None, None] * drift  # (H.7), (H.10)


def _units(spec: AutoBypassSpec, row: Floats, n_features: int) -> Floats:
    """Return the scale of y over that of each feature: the unit of its weight; 0 for a feature without a scale."""
    x_scale, y_scale = spec.view(row, "x_scale", n_features), spec.layout.scalar(row, "y_scale")
    with np.errstate(over="ignore"):
        unit = np.divide(y_scale, x_scale, out=np.zeros(n_features), where=x_scale > 0)
    return np.minimum(unit, MAX_UNIT)
