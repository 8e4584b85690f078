"""AutoBypass: a bank of exact-evidence filters in standard units, weighted by their evidence."""

from math import copysign, exp, log, sqrt
from typing import NamedTuple

import numpy as np

from adabypass.inference.reference.evidence import Evidence, absorb, evidence
from adabypass.inference.reference.linear_gaussian import Weights, inner
from adabypass.model import noise
from adabypass.model.bank import AutoBypassSpec
from adabypass.model.limits import CONSTANT, EPSILON_RANGE, LARGEST_SLOPE, SHOCK, SMALLEST_ANCHOR_VAR
from adabypass.model.noise import NORMALS, START_SCALE, Family
from adabypass.validation import Floats


class Setting(NamedTuple):
    """How one filter differs from the others."""

    family: Family
    drift_level: int
    drift_log: float
    slow_rate: float
    fast_rate: float
    fast_decay: float
    anchored: bool
    prior_weight: float


class Filter(NamedTuple):
    """What one filter believes."""

    weights: Weights
    slow: float
    fast: float
    epsilon: float
    scale_slope_sq: float
    epsilon_slope_sq: float
    failures: int

    @property
    def noise_scale(self) -> float:
        """Scale of the noise, in standard units."""
        return exp(self.slow + self.fast)


class Units(NamedTuple):
    """What the warm-up says of the scales."""

    x_center: Floats
    x_scale: Floats
    y_center: float
    y_scale: float


class Bank(NamedTuple):
    """All that is known once the warm-up has set the units."""

    units: Units
    filters: tuple[Filter, ...]
    weights: Floats  # of the filters, under each switching rate: (n_shares, n_filters)
    rate_weights: Floats  # of the switching rates
    anchor_center: Floats
    anchor_var: Floats
    n_seen: int
    shocks: float

    @property
    def mixture(self) -> Floats:
        """Weight of each filter in the forecast."""
        return np.asarray(self.rate_weights @ self.weights)


def standard_units(X: Floats, y: Floats, intercept: bool) -> Units:
    """Centre and scale of every feature and of y."""

    def center_and_scale(values: Floats) -> tuple[float, float]:
        center, ordered, n = float(np.median(values)) if intercept else 0.0, np.sort(values), len(values)
        scale = sqrt(float(np.mean((values - center) ** 2)))
        quartiles = float(ordered[n - 1 - (n - 1) // 4] - ordered[(n - 1) // 4])
        least = CONSTANT * float(np.abs(values).max())
        if quartiles > least and intercept:
            scale = min(scale, quartiles)
        return center, scale if scale > least else 0.0  # (49)

    centers, scales = zip(*(center_and_scale(column) for column in X.T), strict=True)
    return Units(np.array(centers), np.array(scales), *center_and_scale(y))


def start(X: Floats, y: Floats, spec: AutoBypassSpec) -> Bank:
    """Set the units by the observations of the warm-up, then learn from them: none may be missing."""
    settings = [Setting(*settings) for settings in spec.filters()]  # type: ignore[arg-type]
    n, size = X.shape[1], X.shape[1] + spec.intercept
    prior = Weights(np.zeros(size), spec.prior_var * np.eye(size))
    bank = Bank(
        units=standard_units(X, y, spec.intercept),
        filters=tuple(
            Filter(prior, log(START_SCALE[s.family]), 0.0, spec.epsilon_start, 0.5, 0.05, 0) for s in settings
        ),
        weights=np.tile([s.prior_weight for s in settings], (len(spec.shares), 1)),
        rate_weights=np.full(len(spec.shares), 1 / len(spec.shares)),
        anchor_center=np.zeros(n),
        anchor_var=np.ones(n),
        n_seen=0,
        shocks=0.0,
    )
    for x, target in zip(X, y, strict=True):  # (50)
        bank, _ = update(bank, x, float(target), spec)
    return bank


def standardise(bank: Bank, x: Floats, spec: AutoBypassSpec) -> Floats:
    """Features in standard units, after the intercept's 1; one that was constant until now moves by 1."""
    deviation = x - bank.units.x_center
    first_move = np.where(np.abs(deviation) > CONSTANT * np.abs(bank.units.x_center), np.sign(deviation), 0.0)
    z = np.divide(deviation, bank.units.x_scale, out=first_move, where=bank.units.x_scale > 0)  # (49)
    return np.concatenate([[1.0], z]) if spec.intercept else z


def drifted(bank: Bank, each: Filter, setting: Setting, spec: AutoBypassSpec) -> Weights:
    """Let a step of the random walk pass: level and slopes drift independently about the anchor."""
    q = exp(setting.drift_log + 2 * each.slow)  # (52)
    center, var = bank.anchor_center, bank.anchor_var
    if not setting.anchored:
        center, var = np.zeros_like(center), np.ones_like(var)
    slopes = np.diag(1 / var)
    Q = slopes
    if spec.intercept:
        level, cross = np.array([[1 + inner(center, center / var)]]), -(center / var)[None]
        Q = np.block([[level, cross], [cross.T, slopes]])  # (53)
    return Weights(each.weights.mean, np.asarray(each.weights.cov + q * Q))


def forecast(bank: Bank, x: Floats, spec: AutoBypassSpec) -> list[tuple[float, float, float]]:
    """Mean and variance of z'w, and the noise's scale, of every filter, in standard units."""
    z = standardise(bank, x, spec)
    answers = []
    for each, settings in zip(bank.filters, spec.filters(), strict=True):
        prior = drifted(bank, each, Setting(*settings), spec)  # type: ignore[arg-type]
        answers.append((inner(z, prior.mean), inner(z, prior.cov @ z), each.noise_scale))
    return answers


def update(bank: Bank, x: Floats, y: float, spec: AutoBypassSpec) -> tuple[Bank, float]:
    """Bank after having seen `y` at `x`, and the log density of y before it; a missing `y` (nan) lets time pass."""
    z = standardise(bank, x, spec)
    standard = (y - bank.units.y_center) / bank.units.y_scale
    filters, logs = [], []
    for each, settings in zip(bank.filters, spec.filters(), strict=True):
        setting = Setting(*settings)  # type: ignore[arg-type]
        prior = drifted(bank, each, setting, spec)
        if np.isnan(y):
            filters.append(each._replace(weights=prior, fast=setting.fast_decay * each.fast))
            continue
        scale, h = each.noise_scale, inner(z, prior.cov @ z)
        d, v = (standard - inner(z, prior.mean)) / scale, h / scale**2
        seen = evidence(setting.family, d, v, each.epsilon)
        logs.append(seen.log_density - log(scale))
        weights = absorb(prior, z, seen, scale)
        filters.append(learn_noise(each._replace(weights=weights), setting, seen, bank.n_seen, spec))
    if np.isnan(y):
        return bank._replace(filters=tuple(filters)), np.nan
    widened = widen_after_shocks(bank, filters, z, standard, spec)
    bank, log_density = reweigh(widened, np.array(logs), spec)
    bank = respawn(bank._replace(n_seen=bank.n_seen + 1), spec)
    return move_anchor(bank, z[int(spec.intercept) :], spec), log_density


def widen_after_shocks(bank: Bank, learned: list[Filter], z: Floats, y: float, spec: AutoBypassSpec) -> Bank:
    """Take over what the filters `learned`; if y keeps being out of all proportion, widen every filter's noise."""
    bound, decay, rest, patience = SHOCK
    best = int(np.argmax(bank.mixture))
    each, setting = bank.filters[best], Setting(*spec.filters()[best])  # type: ignore[arg-type]
    prior = drifted(bank, each, setting, spec)
    family = setting.family
    family_var = NORMALS[family].var if family in NORMALS else noise.var(each.epsilon)
    noise_var = each.noise_scale**2 * family_var
    distance = abs(y - inner(z, prior.mean)) / sqrt(inner(z, prior.cov @ z) + noise_var)
    shocks = bank.shocks + 1.0 if distance >= bound else max(bank.shocks - decay, 0.0)
    if distance >= bound and shocks >= patience:
        shocks, learned = 0.0, [f._replace(slow=f.slow + log(distance / rest), fast=0.0) for f in learned]  # (60)
    return bank._replace(filters=tuple(learned), shocks=shocks)


def learn_noise(each: Filter, setting: Setting, seen: Evidence, n_seen: int, spec: AutoBypassSpec) -> Filter:
    """Move the noise's scale and shape along the evidence."""
    rate = max(spec.slope_rate, 1 / (n_seen + 2))
    scale_sq = each.scale_slope_sq + rate * (seen.scale_slope**2 - each.scale_slope_sq)
    slope = _bounded(seen.scale_slope / sqrt(scale_sq + 1e-12))  # (54)
    learned = each._replace(
        slow=each.slow + max(setting.slow_rate, 1 / (n_seen + 3)) * slope,  # (55)
        fast=setting.fast_decay * each.fast + setting.fast_rate * slope,
        scale_slope_sq=scale_sq,
    )
    if setting.family in NORMALS:
        return learned
    epsilon_sq = each.epsilon_slope_sq + rate * (seen.epsilon_slope**2 - each.epsilon_slope_sq)
    slope = _bounded(seen.epsilon_slope / sqrt(epsilon_sq + 1e-12))
    epsilon = min(max(each.epsilon * exp(spec.epsilon_rate * slope), EPSILON_RANGE[0]), EPSILON_RANGE[1])  # (56)
    return learned._replace(epsilon=epsilon, epsilon_slope_sq=epsilon_sq)


def reweigh(bank: Bank, logs: Floats, spec: AutoBypassSpec) -> tuple[Bank, float]:
    """Move the mixture's weights to the filters that foresaw y, then share a little."""
    densities = np.exp(logs - logs.max())
    prior = np.array([settings[-1] for settings in spec.filters()])
    totals = bank.weights @ densities
    total = inner(bank.rate_weights, totals)
    shares = np.array(spec.shares)[:, None]
    weights = (1 - shares) * bank.weights * densities / totals[:, None] + shares * prior  # (57)
    rates = (1 - spec.share_share) * bank.rate_weights * totals / total + spec.share_share / len(spec.shares)  # (58)
    log_density = float(logs.max()) + log(total) - log(bank.units.y_scale)
    return bank._replace(weights=weights, rate_weights=rates), log_density


def respawn(bank: Bank, spec: AutoBypassSpec) -> Bank:
    """Let filters that keep failing go on from the belief of the best."""
    least = inner(bank.rate_weights, np.array(spec.shares)) * np.array([settings[-1] for settings in spec.filters()])
    best = int(np.argmax(bank.mixture))
    filters = list(bank.filters)
    for k, each in enumerate(bank.filters):
        if k == best or bank.mixture[k] > spec.respawn * least[k]:
            filters[k] = each._replace(failures=max(each.failures - 1, 0))
        elif each.failures + 1 < spec.patience:
            filters[k] = each._replace(failures=each.failures + 1)
        else:
            filters[k] = each._replace(failures=0, weights=bank.filters[best].weights)  # (59)
    return bank._replace(filters=tuple(filters))


def move_anchor(bank: Bank, z: Floats, spec: AutoBypassSpec) -> Bank:
    """Follow the features' running mean and variance."""
    rate = max(spec.anchor_rate, 1 / (bank.n_seen + 2))
    center = bank.anchor_center + rate * (z - bank.anchor_center) * spec.intercept
    var = (1 - rate) * (bank.anchor_var + rate * (z - bank.anchor_center) ** 2)  # (51)
    if not spec.intercept:
        var = bank.anchor_var + rate * (z**2 - bank.anchor_var)
    moves = bank.units.x_scale > 0
    return bank._replace(
        anchor_center=np.where(moves, center, bank.anchor_center),
        anchor_var=np.where(moves, np.maximum(var, SMALLEST_ANCHOR_VAR), bank.anchor_var),
    )


def _bounded(slope: float) -> float:
    return copysign(min(abs(slope), LARGEST_SLOPE), slope)
