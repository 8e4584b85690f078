"""The filters of AutoBypass's bank, a walk of weights and a noise model each: what they learn of the noise."""

from collections.abc import Sequence
from math import copysign, cos, exp, log, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from adabypass.numerics import noise
from adabypass.numerics.limits import RESOLUTION, SMALLEST_SIGNAL
from adabypass.numerics.noise import FLEXIBLE_NORMALS, NORMALS, Family
from adabypass.reference.evidence import Evidence, evidence
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.bank_table import LevelLaw, Setting
from adabypass.state.linear_mixture import LEVEL_FLOOR
from adabypass.validation import Floats


class Units(NamedTuple):
    """Centre and scale of every feature and of y: standard units."""

    x_center: Floats
    x_scale: Floats
    y_center: float
    y_scale: float


class Anchor(NamedTuple):
    """Running mean and variance of the features, in standard units; their newest values, and how they move."""

    center: Floats
    var: Floats
    newest: Floats  # 0 without an intercept
    move_var: Floats  # running mean square of their moves


class Newest(NamedTuple):
    """The newest observation, in the user's units, and how many up to it were equal to it."""

    y: float
    n_repeats: int

    def least_scale(self, units: Units) -> float:
        """Return the least noise scale that an observation lets through, whose last digits are rounded."""
        return RESOLUTION * abs(self.y) / units.y_scale  # (85)


class Level(NamedTuple):
    """Running mean and variance of y, in standard units."""

    mean: float
    var: float

    def of(self, forecast: float, spec: AutoBypassSpec) -> float:
        """Return where a forecast lies beside it, in its standard deviations."""
        return min(max((forecast - self.mean) / sqrt(self.var), -spec.largest_level), spec.largest_level)  # (105)


def level_log(slope: float, level: float, law: LevelLaw) -> float:
    """Return the log of the noise's scale at a level over that at level 0."""
    if law is LevelLaw.LINEAR:
        return 0.5 * log(((1 + slope * level) ** 2 + LEVEL_FLOOR**2) / (1 + LEVEL_FLOOR**2))  # (106)
    return slope * level


def level_log_slope(slope: float, level: float, law: LevelLaw) -> float:
    """Return its derivative by the slope."""
    if law is LevelLaw.LINEAR:
        return level * (1 + slope * level) / ((1 + slope * level) ** 2 + LEVEL_FLOOR**2)
    return level


class Learned(NamedTuple):
    """A number that is learned, and how much was seen of it."""

    value: float
    prec: float

    def moved(self, slope: float, information: float, low: float, high: float, spec: AutoBypassSpec) -> "Learned":
        """Return it after an observation whose evidence rises with it by `slope`, and is so much information."""
        prec = self.prec + information - spec.prec_decay * (self.prec - spec.prior_prec)
        return Learned(min(max(self.value + slope / prec, low), high), prec)  # (100)


class Volatility(NamedTuple):
    """What all filters of one noise model learn of the fast part of the noise's scale."""

    leverage: Learned
    fast_log: Learned
    fading_log: Learned

    def decay(self, setting: Setting, spec: AutoBypassSpec) -> float:
        """Return the share of the fast part that is left a step later."""
        decay = 1 - (1 - setting.fast_decay) * exp(self.fading_log.value)
        return min(max(decay, 0.0), spec.largest_fast_decay)  # (102)


class Effects(NamedTuple):
    """How the fast part of a filter's noise depends on what is learned of it."""

    leverage: float
    fast_log: float
    fading_log: float


class Season(NamedTuple):
    """What a season adds to the log of the noise's scale, and which step is next."""

    logs: Floats  # of each step
    waves: tuple[Learned, Learned]  # of a cosine and a sine over the season
    step: int

    @property
    def basis(self) -> tuple[float, float]:
        """Return cosine and sine at the next step."""
        angle = 2 * pi * self.step / len(self.logs)
        return sqrt(2) * cos(angle), sqrt(2) * sin(angle)

    @property
    def next_log(self) -> float:
        """Return what it adds at the next step."""
        return float(self.logs[self.step]) + sum(w.value * b for w, b in zip(self.waves, self.basis, strict=True))

    def passed(self) -> "Season":
        """Return it a step later."""
        return self._replace(step=(self.step + 1) % len(self.logs))

    @staticmethod
    def unknown(step: int, spec: AutoBypassSpec) -> "Season":
        """Return the season of which nothing is known, at a step."""
        wave = Learned(0.0, spec.prior_prec)
        return Season(np.zeros(spec.period), (wave, wave), step)


class Shifts(NamedTuple):
    """What the steps of a season add to the forecast, in standard units, but for a common factor."""

    values: Floats
    variances: Floats  # in units of that of an error
    noise: float  # running mean square of an error; 0 before the first

    @property
    def share(self) -> float:
        """Return the common factor: as far as the values are more than noise."""
        size = float(np.var(self.values))
        return max(0.0, 1 - self.noise * float(np.mean(self.variances)) / size) if size > 0 else 0.0  # (225)

    def added(self, step: int) -> float:
        """Return what a step adds."""
        return self.share * float(self.values[step] - self.values.mean())

    def moved(self, step: int, error: float, n_seen: int, spec: AutoBypassSpec) -> "Shifts":
        """Return them after an error, which is less what this step was taken to add."""
        if self.noise > 0:
            largest = spec.largest_error * sqrt(self.noise)
            error = min(max(error, -largest), largest)
        rate = max(spec.shift_rate, 1 / (spec.shift_prior + n_seen / spec.period))
        values, variances = self.values.copy(), self.variances.copy()
        values[step] += rate * (error + self.added(step) - values[step])  # (223)
        variances[step] = (1 - rate) ** 2 * variances[step] + rate**2
        noise_rate = max(spec.level_rate, 1 / (n_seen + 2)) if self.noise > 0 else 1.0
        return Shifts(values, variances, self.noise + noise_rate * (error**2 - self.noise))  # (224)


class Shared(NamedTuple):
    """What the noise of all filters has in common at the next step."""

    least_scale: float
    normal_shares: Floats  # of the normals of flexible noise
    season_log: float


class Filter(NamedTuple):
    """What one filter believes of its noise."""

    slow: float
    fast: float
    epsilon: float
    scale_slope_sq: float
    epsilon_slope_sq: float
    effects: Effects
    level_slope: Learned

    def noise_scale(self, level: float, setting: Setting, shared: Shared) -> float:
        """Return the scale of the noise, in standard units."""
        of_level = level_log(self.level_slope.value, level, setting.level_law)
        return max(exp(self.slow + self.fast + of_level + shared.season_log), shared.least_scale)  # (85), (106), (113)

    def unit_var(self, setting: Setting, shared: Shared) -> float:
        """Return the variance of the noise, in units of its scale squared."""
        if setting.family is Family.FLEXIBLE:
            return FLEXIBLE_NORMALS.var(shared.normal_shares)
        return NORMALS[setting.family].var if setting.family in NORMALS else noise.var(self.epsilon)


class Seen(NamedTuple):
    """What one observation says to a filter."""

    evidence: Evidence
    log_density: float
    error: float  # in standard deviations
    level: float  # of the forecast, if the filter's noise follows it
    move: float  # posterior less prior mean of z'w
    left: float  # posterior variance of z'w


def see(each: Filter, mean: float, signal_var: float, y: float, setting: Setting, level: float, shared: Shared) -> Seen:
    """Return what y, in standard units, says to a filter whose forecast of z'w has this mean and variance."""
    scale = each.noise_scale(level, setting, shared)
    d, v = (y - mean) / scale, max(signal_var / scale**2, SMALLEST_SIGNAL)
    says = evidence(setting.family, d, v, each.epsilon, shared.normal_shares)
    error = d / sqrt(v + each.unit_var(setting, shared))
    return Seen(says, says.log_density - log(scale), error, level, -says.shift * scale, says.var * scale**2)


def normalised_slope(
    each: Filter, setting: Setting, seen: Seen, n_seen: int, newest: Newest, spec: AutoBypassSpec
) -> tuple[float, float]:
    """Return the slope of the evidence by the log of the scale, and its mean square; many equal values do not count."""
    rate, slope = max(spec.slope_rate, 1 / (n_seen + 2)), seen.evidence.scale_slope
    square = each.scale_slope_sq + rate * (slope**2 - each.scale_slope_sq)
    slope = _bounded(slope / sqrt(square + 1e-12), setting.largest_slope)  # (54)
    return max(slope, 0.0) if newest.n_repeats > spec.max_repeats else slope, square  # (84)


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
    """Move the noise's scale and shape along the evidence; after many equal values the scale no longer falls."""
    rate, says = max(spec.slope_rate, 1 / (n_seen + 2)), seen.evidence
    slope, scale_sq = normalised_slope(each, setting, seen, n_seen, newest, spec)
    slow = each.slow + max(setting.slow_rate, 1 / (n_seen + 3)) * slope  # (55)
    steepest = spec.largest_level_slope
    by_slope = level_log_slope(each.level_slope.value, seen.level, setting.level_law)
    learned = follow_volatility(each, setting, volatility, slope, seen.error, spec)._replace(
        slow=max(slow, log(least)) if least > 0 else slow,  # (85)
        scale_slope_sq=scale_sq,
        level_slope=each.level_slope.moved(slope * by_slope, by_slope**2, -steepest, steepest, spec),
    )
    if setting.family is not Family.INSENSITIVE:
        return learned
    epsilon_sq = each.epsilon_slope_sq + rate * (says.epsilon_slope**2 - each.epsilon_slope_sq)
    slope = _bounded(says.epsilon_slope / sqrt(epsilon_sq + 1e-12), spec.largest_epsilon_slope)
    epsilon = each.epsilon * exp(spec.epsilon_rate * slope)  # (56)
    epsilon = min(max(epsilon, spec.smallest_epsilon), spec.largest_epsilon)
    return learned._replace(epsilon=epsilon, epsilon_slope_sq=epsilon_sq)


def learn_volatility(
    known: Volatility, filters: Sequence[Filter], slopes: Floats, weights: Floats, spec: AutoBypassSpec
) -> Volatility:
    """Return what the filters of a noise model have learned together, by so much weight each."""
    weights, effects = weights / weights.sum(), np.array([each.effects for each in filters])
    along, information = (weights * slopes) @ effects, weights @ effects**2  # means, in (100)
    most = spec.largest_leverage
    bounds = (
        (-most, most),
        (spec.smallest_fast_log, spec.largest_fast_log),
        (spec.smallest_fading_log, spec.largest_fading_log),
    )
    moves = zip(known, along, information, bounds, strict=True)
    return Volatility(*(each.moved(slope, found, *within, spec) for each, slope, found, within in moves))


def follow_volatility(
    each: Filter, setting: Setting, volatility: Volatility, slope: float, error: float, spec: AutoBypassSpec
) -> Filter:
    """Let the fast part of the scale follow the slope, and errors of one sign more than of the other."""
    if setting.fast_rate == 0:
        return each
    error = -_bounded(error, spec.largest_error)  # (101)
    rate, news = setting.fast_rate * exp(volatility.fast_log.value), slope + volatility.leverage.value * error
    return move_fast(each, volatility.decay(setting, spec), rate, news, error)


def move_fast(each: Filter, decay: float, rate: float, news: float, error: float) -> Filter:
    """Let the fast part fade, and move by the news; what is learned of it affects it from now on as it did."""
    kept, effects = max(decay - rate, 0.0), each.effects
    return each._replace(
        fast=decay * each.fast + rate * news,  # (103)
        effects=Effects(  # (104)
            leverage=kept * effects.leverage + rate * error,
            fast_log=kept * effects.fast_log + rate * news,
            fading_log=kept * effects.fading_log - (1 - decay) * each.fast,
        ),
    )


def _bounded(value: float, most: float) -> float:
    return copysign(min(abs(value), most), value)
