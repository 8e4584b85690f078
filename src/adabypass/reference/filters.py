"""The noise of the filters of AutoBypass's bank, and how they learn it."""

from collections.abc import Sequence
from math import copysign, cos, exp, log, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from adabypass.numerics import noise
from adabypass.numerics.limits import MIN_SIGNAL, RESOLUTION
from adabypass.numerics.noise import Family
from adabypass.reference.evidence import Evidence, evidence
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.bank_table import LevelLaw, Setting
from adabypass.state.linear_mixture import LEVEL_FLOOR
from adabypass.validation import Floats


class Units(NamedTuple):
    """Centre and scale of every feature and of y, which define standard units."""

    x_center: Floats
    x_scale: Floats
    y_center: float
    y_scale: float


class Anchor(NamedTuple):
    """Running mean and variance of the features, their newest values and their moves, in standard units."""

    center: Floats
    var: Floats
    newest: Floats  # 0 without an intercept
    move_var: Floats  # running mean square of their moves


class Newest(NamedTuple):
    """The newest observation, in the user's units, and the number of consecutive observations equal to it."""

    y: float
    n_repeats: int

    def min_scale(self, units: Units) -> float:
        """Return the minimum noise scale, given that the last digits of the newest observation are rounded."""
        return RESOLUTION * abs(self.y) / units.y_scale  # (H.43)


class Level(NamedTuple):
    """Running mean and variance of y, in standard units."""

    mean: float
    var: float

    def of(self, forecast: float, spec: AutoBypassSpec) -> float:
        """Return the distance of a forecast from the running mean of y, in running standard deviations."""
        return min(
            max((forecast - self.mean) / sqrt(self.var), -spec.max_level_distance), spec.max_level_distance
        )  # (H.29)


def level_log(slope: float, level: float, law: LevelLaw) -> float:
    """Return the log of the noise scale at a level, relative to that at level 0."""
    if law is LevelLaw.LINEAR:
        return 0.5 * log(((1 + slope * level) ** 2 + LEVEL_FLOOR**2) / (1 + LEVEL_FLOOR**2))  # (H.30)
    return slope * level


def level_log_slope(slope: float, level: float, law: LevelLaw) -> float:
    """Return the derivative of `level_log` by the slope."""
    if law is LevelLaw.LINEAR:
        return level * (1 + slope * level) / ((1 + slope * level) ** 2 + LEVEL_FLOOR**2)
    return level


class Learned(NamedTuple):
    """A learned parameter and its precision."""

    value: float
    prec: float

    def moved(self, slope: float, information: float, low: float, high: float, spec: AutoBypassSpec) -> "Learned":
        """Update the parameter by the slope of the evidence and the information of one observation."""
        prec = self.prec + information - spec.prec_decay * (self.prec - spec.prior_prec)
        return Learned(min(max(self.value + slope / prec, low), high), prec)  # (H.24)


class Volatility(NamedTuple):
    """Parameters of the fast component of the noise scale, which all filters of a noise model share."""

    leverage: Learned
    fast_log: Learned
    log_decay_ratio: Learned

    def decay(self, setting: Setting, spec: AutoBypassSpec) -> float:
        """Return the factor by which the fast component decays at each step."""
        decay = 1 - (1 - setting.fast_decay) * exp(self.log_decay_ratio.value)
        return min(max(decay, 0.0), spec.max_fast_decay)  # (H.26)


class Effects(NamedTuple):
    """Derivatives of the fast component of a filter by the learned parameters."""

    leverage: float
    fast_log: float
    log_decay_ratio: float


class Season(NamedTuple):
    """Seasonal effect on the log noise scale, and the next step of the season."""

    logs: Floats  # of each step
    waves: tuple[Learned, Learned]  # of a cosine and a sine over the season
    step: int

    @property
    def basis(self) -> tuple[float, float]:
        """Return the cosine and sine at the next step."""
        angle = 2 * pi * self.step / len(self.logs)
        return sqrt(2) * cos(angle), sqrt(2) * sin(angle)

    @property
    def next_log(self) -> float:
        """Return the seasonal effect at the next step."""
        return float(self.logs[self.step]) + sum(w.value * b for w, b in zip(self.waves, self.basis, strict=True))

    def passed(self) -> "Season":
        """Return the season one step later."""
        return self._replace(step=(self.step + 1) % len(self.logs))

    @staticmethod
    def unknown(step: int, spec: AutoBypassSpec) -> "Season":
        """Return the prior season at a step."""
        wave = Learned(0.0, spec.prior_prec)
        return Season(np.zeros(spec.period), (wave, wave), step)


class Shifts(NamedTuple):
    """Seasonal shifts of the forecast, in standard units, before shrinkage by a common factor."""

    values: Floats
    variances: Floats  # in units of the variance of an error
    noise: float  # running mean square of an error; 0 before the first

    @property
    def share(self) -> float:
        """Return the shrinkage factor: the fraction of the variance of the shifts that is not noise."""
        size = float(np.var(self.values))
        return max(0.0, 1 - self.noise * float(np.mean(self.variances)) / size) if size > 0 else 0.0  # (H.41)

    def added(self, step: int) -> float:
        """Return the shift of the forecast at a step."""
        return self.share * float(self.values[step] - self.values.mean())

    def moved(self, step: int, error: float, n_seen: int, spec: AutoBypassSpec) -> "Shifts":
        """Update the shifts with the error of a forecast that included this step's shift."""
        if self.noise > 0:
            largest = spec.max_error * sqrt(self.noise)
            error = min(max(error, -largest), largest)
        rate = max(spec.shift_rate, 1 / (spec.shift_prior + n_seen / spec.period))
        values, variances = self.values.copy(), self.variances.copy()
        values[step] += rate * (error + self.added(step) - values[step])  # (H.39)
        variances[step] = (1 - rate) ** 2 * variances[step] + rate**2
        noise_rate = max(spec.level_rate, 1 / (n_seen + 2)) if self.noise > 0 else 1.0
        return Shifts(values, variances, self.noise + noise_rate * (error**2 - self.noise))  # (H.40)


class Shared(NamedTuple):
    """Noise parameters that all filters share at the next step."""

    min_scale: float
    normal_shares: Floats  # of the normals of flexible noise
    season_log: float


class Filter(NamedTuple):
    """Noise parameters of one filter."""

    slow: float
    fast: float
    epsilon: float
    scale_slope_sq: float
    epsilon_slope_sq: float
    effects: Effects
    level_slope: Learned

    def noise_scale(self, level: float, setting: Setting, shared: Shared) -> float:
        """Return the noise scale, in standard units."""
        of_level = level_log(self.level_slope.value, level, setting.level_law)
        return max(exp(self.slow + self.fast + of_level + shared.season_log), shared.min_scale)  # (H.37), (H.43)

    def unit_var(self, setting: Setting, shared: Shared) -> float:
        """Return the variance of the noise, in units of the squared noise scale."""
        return noise.unit_var(setting.family, self.epsilon, shared.normal_shares)


class Seen(NamedTuple):
    """Evidence of one observation for a filter."""

    evidence: Evidence
    log_density: float
    error: float  # in standard deviations
    level: float  # of the forecast, if the filter's noise follows it
    move: float  # posterior minus prior mean of z'w
    left: float  # posterior variance of z'w


def see(each: Filter, mean: float, signal_var: float, y: float, setting: Setting, level: float, shared: Shared) -> Seen:
    """Return the evidence of y, in standard units, for a filter that forecasts z'w with this mean and variance."""
    scale = each.noise_scale(level, setting, shared)
    d, v = (y - mean) / scale, max(signal_var / scale**2, MIN_SIGNAL)
    says = evidence(setting.family, d, v, each.epsilon, shared.normal_shares)
    error = d / sqrt(v + each.unit_var(setting, shared))
    return Seen(says, says.log_density - log(scale), error, level, -says.shift * scale, says.var * scale**2)


def normalised_slope(
    each: Filter, setting: Setting, seen: Seen, n_seen: int, newest: Newest, spec: AutoBypassSpec
) -> tuple[float, float]:
    """Return the normalised slope of the evidence by the log noise scale, and its mean square.

    After many equal values the slope is not negative.
    """
    rate, slope = max(spec.slope_rate, 1 / (n_seen + 2)), seen.evidence.scale_slope
    square = each.scale_slope_sq + rate * (slope**2 - each.scale_slope_sq)
    slope = _bounded(slope / sqrt(square + 1e-12), setting.max_slope)  # (H.21)
    return max(slope, 0.0) if newest.n_repeats > spec.max_repeats else slope, square  # (H.42)


def learn_noise(
    each: Filter,
    setting: Setting,
    volatility: Volatility,
    seen: Seen,
    n_seen: int,
    newest: Newest,
    least: float,
    spec: AutoBypassSpec,
) -> Filter:
    """Update the scale and shape of the noise along the evidence; after many equal values the scale cannot fall."""
    rate, says = max(spec.slope_rate, 1 / (n_seen + 2)), seen.evidence
    slope, scale_sq = normalised_slope(each, setting, seen, n_seen, newest, spec)
    slow = each.slow + max(setting.slow_rate, 1 / (n_seen + 3)) * slope  # (H.22)
    steepest = spec.max_level_slope
    by_slope = level_log_slope(each.level_slope.value, seen.level, setting.level_law)
    learned = follow_volatility(each, setting, volatility, slope, seen.error, spec)._replace(
        slow=max(slow, log(least)) if least > 0 else slow,  # (H.43)
        scale_slope_sq=scale_sq,
        level_slope=each.level_slope.moved(slope * by_slope, by_slope**2, -steepest, steepest, spec),
    )
    if setting.family is not Family.INSENSITIVE:
        return learned
    epsilon_sq = each.epsilon_slope_sq + rate * (says.epsilon_slope**2 - each.epsilon_slope_sq)
    slope = _bounded(says.epsilon_slope / sqrt(epsilon_sq + 1e-12), spec.max_epsilon_slope)
    epsilon = each.epsilon * exp(spec.epsilon_rate * slope)  # (H.23)
    epsilon = min(max(epsilon, spec.min_epsilon), spec.max_epsilon)
    return learned._replace(epsilon=epsilon, epsilon_slope_sq=epsilon_sq)


def learn_volatility(
    known: Volatility, filters: Sequence[Filter], slopes: Floats, weights: Floats, spec: AutoBypassSpec
) -> Volatility:
    """Update the parameters of a noise model by the mean over its filters, weighted by `weights`."""
    weights, effects = weights / weights.sum(), np.array([each.effects for each in filters])
    along, information = (weights * slopes) @ effects, weights @ effects**2  # means, in (H.24)
    most = spec.max_leverage
    bounds = (
        (-most, most),
        (spec.min_fast_log, spec.max_fast_log),
        (spec.min_log_decay_ratio, spec.max_log_decay_ratio),
    )
    moves = zip(known, along, information, bounds, strict=True)
    return Volatility(*(each.moved(slope, found, *within, spec) for each, slope, found, within in moves))


def follow_volatility(
    each: Filter, setting: Setting, volatility: Volatility, slope: float, error: float, spec: AutoBypassSpec
) -> Filter:
    """Update the fast component of the scale along the slope, with leverage: more after errors of one sign."""
    if setting.fast_rate == 0:
        return each
    error = -_bounded(error, spec.max_error)  # (H.25)
    rate, news = setting.fast_rate * exp(volatility.fast_log.value), slope + volatility.leverage.value * error
    return move_fast(each, volatility.decay(setting, spec), rate, news, error)


def move_fast(each: Filter, decay: float, rate: float, news: float, error: float) -> Filter:
    """Decay the fast component and add the news; propagate its derivatives by the learned parameters."""
    kept, effects = max(decay - rate, 0.0), each.effects
    return each._replace(
        fast=decay * each.fast + rate * news,  # (H.27)
        effects=Effects(  # (H.28)
            leverage=kept * effects.leverage + rate * error,
            fast_log=kept * effects.fast_log + rate * news,
            log_decay_ratio=kept * effects.log_decay_ratio - (1 - decay) * each.fast,
        ),
    )


def _bounded(value: float, most: float) -> float:
    return copysign(min(abs(value), most), value)
