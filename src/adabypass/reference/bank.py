"""AutoBypass after the units are set: a bank of exact-evidence filters, mixed by their evidence."""

from math import log, sqrt
from typing import NamedTuple

import numpy as np

from adabypass.numerics.limits import MAX_SPREAD, RESOLUTION
from adabypass.numerics.noise import FLEXIBLE_NORMALS, START_SCALE
from adabypass.reference import filters, walks
from adabypass.reference.filters import (
    Anchor,
    Effects,
    Filter,
    Learned,
    Level,
    Newest,
    Season,
    Seen,
    Shared,
    Units,
    Volatility,
    normalised_slope,
)
from adabypass.reference.linear_gaussian import Weights, inner
from adabypass.reference.walks import Signal, Walk
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.bank_table import Setting
from adabypass.validation import Floats

MIN_DENSITY = 1e-290
"""Minimum density of a filter relative to the largest. If all filters of a walk are below it, their shares decide."""


class Bank(NamedTuple):
    """State of the model after the units are set."""

    units: Units
    walks: tuple[Walk, ...]
    filters: tuple[Filter, ...]  # filter k belongs to walk k % n_walks
    volatilities: tuple[Volatility, ...]  # of each noise model; filter k belongs to noise model k // n_walks
    rated_shares: Floats  # shares of the filters under each switching rate: (n_rates, n_filters)
    rate_shares: Floats  # shares of the switching rates
    normal_shares: Floats  # shares of the normals of flexible noise
    season: Season | None  # None without a season, and while the bank learns from the warm-up again
    anchor: Anchor
    level: Level
    newest: Newest
    n_seen: int
    shocks: float

    @property
    def shared(self) -> Shared:
        """Return the noise parameters that all filters share at the next step."""
        season_log = 0.0 if self.season is None else self.season.next_log
        return Shared(self.newest.min_scale(self.units), self.normal_shares, season_log)

    @property
    def shares(self) -> Floats:
        """Return the share of each filter in the forecast."""
        return np.asarray(self.rate_shares @ self.rated_shares)

    @property
    def walk_shares(self) -> Floats:
        """Return the share of each walk: the sum over its filters."""
        return np.asarray(self.shares.reshape(-1, len(self.walks)).sum(axis=0))

    def of_walk(self, walk: int, values: Floats, weights: Floats) -> float:
        """Return the mean of `values` over the filters of a walk, weighted by `weights`."""
        own = slice(walk, None, len(self.walks))
        return inner(weights[own], values[own]) / float(weights[own].sum())


class FilterForecast(NamedTuple):
    """Forecast of one filter: mean and variance of z'w, and the noise scale, in standard units."""

    mean: float
    signal_var: float
    noise_scale: float


def start(units: Units, first_y: float, widening: float, spec: AutoBypassSpec) -> Bank:
    """Return a new bank with given units; the initial noise scale is multiplied by `widening`."""
    n = len(units.x_center)
    size = n + spec.intercept
    prior = Weights(np.zeros(size), np.diag(spec.prior_vars(n)))
    slopes_sq, unknown = (spec.scale_slope_sq_start, spec.epsilon_slope_sq_start), Learned(0.0, spec.prior_prec)
    learned = spec.epsilon_start, *slopes_sq, Effects(0.0, 0.0, 0.0), unknown
    return Bank(
        units=units,
        walks=(Walk(prior, 0, 0),) * spec.n_walks,
        filters=tuple(Filter(log(START_SCALE[setting.family] * widening), 0.0, *learned) for setting in spec.filters()),
        volatilities=(Volatility(unknown, unknown, unknown),) * (spec.n_filters // spec.n_walks),
        rated_shares=np.tile([setting.prior_share for setting in spec.filters()], (spec.n_rates, 1)),
        rate_shares=np.full(spec.n_rates, 1 / spec.n_rates),
        normal_shares=FLEXIBLE_NORMALS.start,
        season=None,
        anchor=Anchor(np.zeros(n), np.ones(n), np.zeros(n), np.ones(n)),
        level=Level(0.0, 1.0),
        newest=Newest(first_y, 0),
        n_seen=0,
        shocks=0.0,
    )


def standardise(bank: Bank, x: Floats, spec: AutoBypassSpec) -> Floats:
    """Return the features in standard units, after a 1 for the intercept; a first move is its own unit."""
    units = bank.units
    deviation = x - units.x_center
    first_move = np.where(np.abs(deviation) > RESOLUTION * np.abs(units.x_center), np.sign(deviation), 0.0)
    z = np.divide(deviation, units.x_scale, out=first_move, where=units.x_scale > 0)  # (H.4)
    return np.concatenate([[1.0], z]) if spec.intercept else z


def drifted(bank: Bank, spec: AutoBypassSpec) -> list[Weights]:
    """Return the weights of every walk at the next step."""
    slow = np.array([each.slow for each in bank.filters])
    return [
        walks.drifted(each, setting, bank.of_walk(k, slow, bank.shares), bank.anchor, spec)  # (H.7)
        for k, (each, setting) in enumerate(zip(bank.walks, spec.filters()[: spec.n_walks], strict=True))
    ]


def forecast(bank: Bank, x: Floats, spec: AutoBypassSpec) -> list[FilterForecast]:
    """Return the forecast of every filter."""
    z, shared = standardise(bank, x, spec), bank.shared
    signals = [walks.signal(prior, z) for prior in drifted(bank, spec)] * (spec.n_filters // spec.n_walks)
    return [
        FilterForecast(*signal, each.noise_scale(level_of(bank, signal.mean, setting, spec), setting, shared))
        for signal, each, setting in zip(signals, bank.filters, spec.filters(), strict=True)
    ]


def moments(bank: Bank, x: Floats, spec: AutoBypassSpec) -> tuple[float, float]:
    """Return the mean and variance of the mixture, in standard units."""
    parts, shared = np.array(forecast(bank, x, spec)), bank.shared
    noise = [each.unit_var(setting, shared) for each, setting in zip(bank.filters, spec.filters(), strict=True)]
    center, spread = _likeliest_walk(bank.shares, parts[:, 0], parts[:, 1], parts[:, 2] ** 2 * noise, spec.n_walks)
    means = np.clip(parts[:, 0], center - spread, center + spread)  # (J.6)
    walks = np.arange(len(means)) % spec.n_walks
    own = parts[:, 1] + parts[:, 2] ** 2 * noise
    for walk in range(spec.n_walks):
        of_walk = walks == walk
        total = bank.shares[of_walk].sum()
        if total > 0:
            own[of_walk] *= min(1.0, spread**2 / (bank.shares[of_walk] @ own[of_walk] / total))  # (J.6)
    mean = inner(bank.shares, means)
    return mean, inner(bank.shares, own + (means - mean) ** 2)


def _likeliest_walk(share: Floats, mean: Floats, var: Floats, noise: Floats, n_walks: int) -> tuple[float, float]:
    """Return the mean of the walk with the largest share, and the maximum distance of others from it."""
    of_walks = share.reshape(-1, n_walks)
    best = int(of_walks.sum(axis=0).argmax())
    own = of_walks[:, best] / of_walks[:, best].sum()
    return mean[best], MAX_SPREAD * float(np.sqrt(var[best] + own @ noise.reshape(-1, n_walks)[:, best]))  # (J.6)


def level_of(bank: Bank, mean: float, setting: Setting, spec: AutoBypassSpec) -> float:
    """Return the level of a forecast if the noise scale depends on it, otherwise 0."""
    return bank.level.of(mean, spec) if setting.level_law else 0.0


def noise_vars(bank: Bank, signals: list[Signal], spec: AutoBypassSpec) -> Floats:
    """Return the noise variance of every filter."""
    return np.array(
        [
            each.noise_scale(level_of(bank, signals[k % spec.n_walks].mean, setting, spec), setting, bank.shared) ** 2
            * each.unit_var(setting, bank.shared)
            for k, (each, setting) in enumerate(zip(bank.filters, spec.filters(), strict=True))
        ]
    )


def update(bank: Bank, x: Floats, y: float, spec: AutoBypassSpec) -> tuple[Bank, float]:
    """Update the bank with `y` at `x`; return it with the log score of y. If y is nan, only time passes."""
    if np.isnan(y):
        return _let_time_pass(bank, standardise(bank, x, spec), spec), np.nan
    units, shared = bank.units, bank.shared
    z, standard = standardise(bank, x, spec), (y - units.y_center) / units.y_scale
    newest = Newest(y, bank.newest.n_repeats + 1 if y == bank.newest.y else 1)
    priors = drifted(bank, spec)
    signals = [walks.signal(prior, z) for prior in priors]
    says = see(bank, signals, standard, spec)
    bank = learn_volatilities(bank, says, newest, spec)
    volatilities = np.repeat(np.arange(len(bank.volatilities)), spec.n_walks)
    learned = [
        filters.learn_noise(each, setting, bank.volatilities[noise], seen, bank.n_seen, newest, shared.min_scale, spec)
        for each, setting, noise, seen in zip(bank.filters, spec.filters(), volatilities, says, strict=True)
    ]
    logs = np.array([seen.log_density for seen in says])
    moved = learn_walks(bank, priors, signals, says, z, standard, spec)
    widened = widen_after_shocks(bank, learned, signals, standard, spec)._replace(walks=moved)
    widened = widened._replace(season=learn_season(bank, says, newest, spec))
    widened = learn_shape(widened, logs, [seen.evidence.responsibilities for seen in says], spec)
    bank, log_density = reweigh(widened, logs, spec)
    bank = restart_failing(bank._replace(newest=newest, n_seen=bank.n_seen + 1), spec)
    return move_level(move_anchor(bank, z[int(spec.intercept) :], spec), standard, spec), log_density


def learn_walks(
    bank: Bank,
    priors: list[Weights],
    signals: list[Signal],
    says: list[Seen],
    z: Floats,
    y: float,
    spec: AutoBypassSpec,
) -> tuple[Walk, ...]:
    """Update the walks by the evidence of their filters."""
    noise, moved = noise_vars(bank, signals, spec), []
    posteriors = matched(bank, says, spec)
    for k, (walk, prior, (mean, signal_var)) in enumerate(zip(bank.walks, priors, signals, strict=True)):
        posterior = walks.learn(prior, z, *posteriors[k], spec.is_full)
        if spec.filters()[k].differenced:
            posterior = walks.explain(posterior, z, y, walks.direction(z, bank.anchor, spec))
        error = abs(y - mean) / sqrt(signal_var + float(noise[k :: spec.n_walks].min()))
        consecutive_outliers = walk.consecutive_outliers + 1 if error > spec.jump_distance else 0  # (H.9)
        moved.append(walk._replace(weights=posterior, consecutive_outliers=consecutive_outliers))
    return tuple(moved)


def matched(bank: Bank, says: list[Seen], spec: AutoBypassSpec) -> list[tuple[float, float]]:
    """Return the posterior shift of the mean of z'w in every walk, and its posterior variance.

    Both are means over the filters of a walk, weighted by their posterior shares.
    """
    logs = np.array([seen.log_density for seen in says])
    moves, lefts = np.array([seen.move for seen in says]), np.array([seen.left for seen in says])
    weights, n = bank.shares * (np.exp(logs - logs.max()) + MIN_DENSITY), spec.n_walks  # (H.11)
    return [walks.matched(weights[k::n] / weights[k::n].sum(), moves[k::n], lefts[k::n]) for k in range(n)]


def see(bank: Bank, signals: list[Signal], y: float, spec: AutoBypassSpec) -> list[Seen]:
    """Return the evidence of y, in standard units, for every filter."""
    found = []
    for k, (each, setting) in enumerate(zip(bank.filters, spec.filters(), strict=True)):
        mean, signal_var = signals[k % spec.n_walks]
        level = level_of(bank, mean, setting, spec)
        found.append(filters.see(each, mean, signal_var, y, setting, level, bank.shared))
    return found


def _let_time_pass(bank: Bank, z: Floats, spec: AutoBypassSpec) -> Bank:
    passed, priors = [], drifted(bank, spec)
    noise = noise_vars(bank, [walks.signal(prior, z) for prior in priors], spec)
    for k, prior in enumerate(priors):
        weights = prior
        if spec.filters()[k].differenced:
            u, var = walks.direction(z, bank.anchor, spec), bank.of_walk(k, noise, bank.shares)  # (H.17)
            weights = Weights(prior.mean, prior.cov + var * np.outer(u, u))  # (H.16)
        passed.append(bank.walks[k]._replace(weights=weights, consecutive_outliers=0))
    faded = (
        filters.move_fast(each, bank.volatilities[k // spec.n_walks].decay(setting, spec), 0.0, 0.0, 0.0)
        for k, (each, setting) in enumerate(zip(bank.filters, spec.filters(), strict=True))
    )
    season = None if bank.season is None else bank.season.passed()
    return bank._replace(walks=tuple(passed), filters=tuple(faded), season=season)


def widen_after_shocks(
    bank: Bank, learned: list[Filter], signals: list[Signal], y: float, spec: AutoBypassSpec
) -> Bank:
    """Update the noise of all filters; after repeated shocks, widen it in every filter."""
    best = int(np.argmax(bank.shares))
    mean, signal_var = signals[best % spec.n_walks]
    distance = abs(y - mean) / sqrt(signal_var + float(noise_vars(bank, signals, spec)[best]))
    is_shock = distance >= spec.shock_distance
    shocks = bank.shocks + 1.0 if is_shock else max(bank.shocks - spec.shock_decay, 0.0)
    if is_shock and shocks >= spec.max_shocks:
        more = log(distance / spec.distance_after_shocks)
        shocks, learned = 0.0, [f._replace(slow=f.slow + more, fast=0.0) for f in learned]  # (H.47)
    return bank._replace(filters=tuple(learned), shocks=shocks)


def slopes_of(bank: Bank, says: list[Seen], newest: Newest, spec: AutoBypassSpec) -> Floats:
    """Return the normalised slopes of the evidence of all filters."""
    return np.array(
        [
            normalised_slope(each, setting, seen, bank.n_seen, newest, spec)[0]
            for each, setting, seen in zip(bank.filters, spec.filters(), says, strict=True)
        ]
    )


def learn_volatilities(bank: Bank, says: list[Seen], newest: Newest, spec: AutoBypassSpec) -> Bank:
    """Update what every noise model has learned about the fast component of its scale."""
    slopes, n, learned = slopes_of(bank, says, newest, spec), spec.n_walks, []
    for j, known in enumerate(bank.volatilities):
        own = slice(j * n, (j + 1) * n)
        learned.append(filters.learn_volatility(known, bank.filters[own], slopes[own], bank.shares[own], spec))
    return bank._replace(volatilities=tuple(learned))


def learn_season(bank: Bank, says: list[Seen], newest: Newest, spec: AutoBypassSpec) -> Season | None:
    """Update the seasonal effect on the log noise scale at this step; return the season one step later."""
    if bank.season is None:
        return None
    slopes = slopes_of(bank, says, newest, spec)
    rate = max(spec.season_rate, 1 / (1 + spec.season_prior + bank.n_seen / spec.period))
    logs, most, slope = bank.season.logs.copy(), spec.max_season_log, inner(bank.shares, slopes)
    moved = float(logs[bank.season.step]) + rate * slope
    logs[bank.season.step] = min(max(moved, -most), most)  # (H.38)
    cosine, sine = (
        wave.moved(slope * basis, basis**2, -most, most, spec)  # (H.24)
        for wave, basis in zip(bank.season.waves, bank.season.basis, strict=True)
    )
    return bank.season._replace(logs=logs, waves=(cosine, sine)).passed()


def learn_shape(bank: Bank, logs: Floats, responsibilities: list[Floats | None], spec: AutoBypassSpec) -> Bank:
    """Move the shares of the normals of flexible noise towards their responsibilities for y."""
    posterior, seen = bank.shares * np.exp(logs - logs.max()), np.zeros(spec.n_normals)
    flexible = [(weight, each) for weight, each in zip(posterior, responsibilities, strict=True) if each is not None]
    total = sum(weight for weight, _ in flexible)
    if not total > 1e-280:
        return bank
    for weight, each in flexible:
        seen = seen + weight / total * each
    n, prior, speed = bank.n_seen, spec.normal_share_prior, spec.normal_share_speed
    rate = max(spec.normal_share_rate, speed / (n + 1 + speed * prior))
    pull = max(spec.normal_share_pull, prior / (n + 1 + prior))
    aim = (1 - pull) * seen + pull * FLEXIBLE_NORMALS.start
    return bank._replace(normal_shares=bank.normal_shares + rate * (aim - bank.normal_shares))  # (H.36)


def reweigh(bank: Bank, logs: Floats, spec: AutoBypassSpec) -> tuple[Bank, float]:
    """Update the shares of the filters by Bayes' rule, then by switching; return the log density of y too."""
    densities = np.exp(logs - logs.max())
    prior = np.array([setting.prior_share for setting in spec.filters()])
    totals = bank.rated_shares @ densities
    total = inner(bank.rate_shares, totals)
    rates, hyper_rate = np.array(spec.rates(bank.n_seen))[:, None], spec.hyper_switching_rate
    rated_shares = (1 - rates) * bank.rated_shares * densities / totals[:, None] + rates * prior  # (H.44)
    rate_shares = (1 - hyper_rate) * bank.rate_shares * totals / total + hyper_rate / spec.n_rates  # (H.45)
    log_density = float(logs.max()) + log(total) - log(bank.units.y_scale)
    return bank._replace(rated_shares=rated_shares, rate_shares=rate_shares), log_density


def restart_failing(bank: Bank, spec: AutoBypassSpec) -> Bank:
    """Replace the weights of walks that keep underperforming by those of the best walk."""
    rate = inner(bank.rate_shares, np.array(spec.rates(bank.n_seen - 1)))
    best, shares = int(np.argmax(bank.walk_shares)), bank.walk_shares
    prior = np.array([each.prior_share for each in spec.filters()]).reshape(-1, spec.n_walks).sum(axis=0)
    restarted = list(bank.walks)
    for k, each in enumerate(bank.walks):
        if k == best or shares[k] > spec.failure_margin * rate * prior[k]:
            restarted[k] = each._replace(underperformance_count=max(each.underperformance_count - 1, 0))
        elif each.underperformance_count + 1 < spec.max_underperformance_count:
            restarted[k] = each._replace(underperformance_count=each.underperformance_count + 1)
        else:
            restarted[k] = each._replace(underperformance_count=0, weights=bank.walks[best].weights)  # (H.46)
    return bank._replace(walks=tuple(restarted))


def move_level(bank: Bank, y: float, spec: AutoBypassSpec) -> Bank:
    """Update the running mean and variance of y."""
    rate, deviation = max(spec.level_rate, 1 / (bank.n_seen + 2)), y - bank.level.mean
    var = max((1 - rate) * (bank.level.var + rate * deviation**2), spec.min_anchor_var)
    return bank._replace(level=Level(bank.level.mean + rate * deviation, var))  # (H.29)


def move_anchor(bank: Bank, z: Floats, spec: AutoBypassSpec) -> Bank:
    """Update the running mean and variance of the features, their newest values and their moves."""
    rate, (center, var, newest, move_var) = max(spec.anchor_rate, 1 / (bank.n_seen + 2)), bank.anchor
    new_center = center + rate * (z - center) * spec.intercept
    new_var = (1 - rate) * (var + rate * (z - center) ** 2)  # (H.6)
    if not spec.intercept:
        new_var = var + rate * (z**2 - var)
    new_move_var = move_var + rate * ((z - newest) ** 2 - move_var) * (bank.n_seen > 1)  # (H.19)
    moves = bank.units.x_scale > 0
    new_var, new_move_var = (np.maximum(each, spec.min_anchor_var) for each in (new_var, new_move_var))
    kept = ((new_center, center), (new_var, var), (z * spec.intercept, newest), (new_move_var, move_var))
    return bank._replace(anchor=Anchor(*(np.where(moves, new, old) for new, old in kept)))
