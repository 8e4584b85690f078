"""The filters of AutoBypass's bank: each forecasts and learns by itself, in standard units."""

from math import copysign, exp, log, sqrt
from typing import NamedTuple

import numpy as np

from adabypass.inference.reference.evidence import Evidence, absorb, evidence
from adabypass.inference.reference.linear_gaussian import Weights, inner
from adabypass.model import noise
from adabypass.model.bank import AutoBypassSpec, Setting
from adabypass.model.limits import RESOLUTION
from adabypass.model.noise import NORMALS
from adabypass.validation import Floats


class Units(NamedTuple):
    """Centre and scale of every feature and of y: standard units."""

    x_center: Floats
    x_scale: Floats
    y_center: float
    y_scale: float


class Anchor(NamedTuple):
    """Running mean and variance of the features, in standard units."""

    center: Floats
    var: Floats


class Newest(NamedTuple):
    """The newest observation, in the user's units, and how many up to it were equal to it."""

    y: float
    n_repeats: int

    def least_scale(self, units: Units) -> float:
        """Return the least noise scale that an observation lets through, whose last digits are rounded."""
        return RESOLUTION * abs(self.y) / units.y_scale  # (85)


class Filter(NamedTuple):
    """What one filter believes."""

    weights: Weights
    slow: float
    fast: float
    epsilon: float
    scale_slope_sq: float
    epsilon_slope_sq: float
    failures: int

    def noise_scale(self, least: float) -> float:
        """Return the scale of the noise, in standard units."""
        return max(exp(self.slow + self.fast), least)  # (85)

    def noise_var(self, setting: Setting, least: float) -> float:
        """Return the variance of the noise, in standard units."""
        family_var = NORMALS[setting.family].var if setting.family in NORMALS else noise.var(self.epsilon)
        return self.noise_scale(least) ** 2 * family_var


def drifted(weights: Weights, slow: float, setting: Setting, anchor: Anchor, spec: AutoBypassSpec) -> Weights:
    """Return the weights a step of the random walk later: level and slopes drift independently about the anchor."""
    q = exp(setting.drift_log + 2 * slow)  # (52)
    center, var = anchor
    if not setting.anchored:
        center, var = np.zeros_like(center), np.ones_like(var)
    slopes = np.diag(1 / var)
    Q = slopes
    if spec.intercept:
        level, cross = np.array([[1 + inner(center, center / var)]]), -(center / var)[None]
        Q = np.block([[level, cross], [cross.T, slopes]])  # (53)
    return Weights(weights.mean, np.asarray(weights.cov + q * Q))


def learn(
    each: Filter, prior: Weights, z: Floats, y: float, setting: Setting, least: float
) -> tuple[Filter, Evidence, float]:
    """Condition the drifted weights on y, in standard units; return also the evidence and the log density of y."""
    scale, h = each.noise_scale(least), inner(z, prior.cov @ z)
    d, v = (y - inner(z, prior.mean)) / scale, h / scale**2
    seen = evidence(setting.family, d, v, each.epsilon)
    return each._replace(weights=absorb(prior, z, seen, scale)), seen, seen.log_density - log(scale)


def learn_noise(
    each: Filter, setting: Setting, seen: Evidence, n_seen: int, newest: Newest, least: float, spec: AutoBypassSpec
) -> Filter:
    """Move the noise's scale and shape along the evidence; after many equal values the scale no longer falls."""
    rate = max(spec.slope_rate, 1 / (n_seen + 2))
    scale_sq = each.scale_slope_sq + rate * (seen.scale_slope**2 - each.scale_slope_sq)
    slope = _bounded(seen.scale_slope / sqrt(scale_sq + 1e-12), spec)  # (54)
    if newest.n_repeats > spec.max_repeats:
        slope = max(slope, 0.0)  # (84)
    slow = each.slow + max(setting.slow_rate, 1 / (n_seen + 3)) * slope  # (55)
    learned = each._replace(
        slow=max(slow, log(least)) if least > 0 else slow,  # (85)
        fast=setting.fast_decay * each.fast + setting.fast_rate * slope,
        scale_slope_sq=scale_sq,
    )
    if setting.family in NORMALS:
        return learned
    epsilon_sq = each.epsilon_slope_sq + rate * (seen.epsilon_slope**2 - each.epsilon_slope_sq)
    slope = _bounded(seen.epsilon_slope / sqrt(epsilon_sq + 1e-12), spec)
    epsilon = each.epsilon * exp(spec.epsilon_rate * slope)  # (56)
    epsilon = min(max(epsilon, spec.smallest_epsilon), spec.largest_epsilon)
    return learned._replace(epsilon=epsilon, epsilon_slope_sq=epsilon_sq)


def _bounded(slope: float, spec: AutoBypassSpec) -> float:
    return copysign(min(abs(slope), spec.largest_slope), slope)
