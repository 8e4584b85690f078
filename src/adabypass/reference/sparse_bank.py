"""AutoBypass with sparse features: here all slopes are in dense arrays.

A feature is measured from 0, in units of its first nonzero value. Covariances are diagonal. When the units of y change,
the bank is rescaled to the new units; it does not learn from the warm-up again.
"""

from math import exp, log, nan
from typing import Any, NamedTuple

import numpy as np

from adabypass.reference import bank as bank_of_filters
from adabypass.reference import walks, warm_up
from adabypass.reference.bank import Bank
from adabypass.reference.filters import Anchor, Learned, Level, Season, Units
from adabypass.reference.linear_gaussian import Weights
from adabypass.state.bank import MIN_LOG_NEW_SLOPE_SD, AutoBypassSpec
from adabypass.validation import Floats


class SparseState(NamedTuple):
    """State of the model."""

    y: Floats  # targets of the warm-up, newest last
    counts: Floats  # number of nonzero values of each feature
    sizes: Floats  # running mean square of the nonzero values of each feature, in standard units
    n_seen: int
    n_steps: int  # number of observations, missing ones included
    bank: Bank | None  # None while the scale of y is unknown
    log_new_slope_sd: Learned  # log of the prior standard deviation of new slopes, relative to (M.7)


def nothing_seen(n_features: int) -> SparseState:
    """Return the state before the first observation."""
    log_new_slope_sd, zeros = Learned(0.0, AutoBypassSpec.prior_prec), np.zeros(n_features)
    return SparseState(np.empty(0), zeros, np.ones(n_features), 0, 0, None, log_new_slope_sd)


def opened(state: SparseState, x: Floats, spec: AutoBypassSpec) -> Bank:
    """Add the units and slopes of the new features of x to the bank."""
    bank = state.bank
    assert bank is not None
    is_new = (bank.units.x_scale == 0) & (x != 0)
    x_scale, var = np.where(is_new, np.abs(x), bank.units.x_scale), np.where(is_new, 1.0, bank.anchor.var)
    here, moved = _of_weights(is_new, spec), []
    for walk in bank.walks:
        mean, own = np.where(here, 0.0, walk.weights.mean), walk.weights.cov.diagonal()
        own = np.where(here, exp(2 * state.log_new_slope_sd.value) / max(int(np.count_nonzero(x)), 1), own)  # (M.7)
        cov = np.where(np.eye(len(own), dtype=bool), np.diag(own), walk.weights.cov)
        moved.append(walk._replace(weights=Weights(mean, cov)))
    units, anchor = bank.units._replace(x_scale=x_scale), bank.anchor._replace(var=var)
    return bank._replace(units=units, anchor=anchor, walks=tuple(moved))


def update(state: SparseState, x: Floats, y: float, spec: AutoBypassSpec) -> tuple[SparseState, float]:
    """Update the state with `y` at `x`; return it with the log score of y. If y is nan, only time passes."""
    is_settled = state.bank is not None and len(state.y) == spec.n_warm_up
    state, log_density = state._replace(n_steps=state.n_steps + 1), nan
    if state.bank is not None:
        state, log_density = _step(state, state.bank, x, y, spec)
    elif not np.isnan(y):
        start = start_forecast(state, spec)
        log_density = nan if start is None else start.log_density(y)
    if np.isnan(y):
        return state, log_density
    state = state._replace(n_seen=state.n_seen + 1)
    if is_settled:
        return state, log_density
    kept = state.y
    if state.bank is None and len(kept) and y != kept[0]:
        kept = kept[:1]
    state = state._replace(y=np.append(kept, y)[-spec.n_warm_up :])
    return _set_units(state, spec) if len(state.y) in spec.milestones else state, log_density


def _step(state: SparseState, before: Bank, x: Floats, y: float, spec: AutoBypassSpec) -> tuple[SparseState, float]:
    """Update the bank and the mean squares of the features."""
    bank, is_new, is_seen = opened(state, x, spec), (before.units.x_scale == 0) & (x != 0), x != 0
    learned, log_density = bank_of_filters.update(bank, x, y, spec)
    z = bank_of_filters.standardise(bank, x, spec)
    sizes, counts = np.where(is_new, 1.0, state.sizes), state.counts
    if not np.isnan(y):
        state = state._replace(
            log_new_slope_sd=learn_prior(state.log_new_slope_sd, bank, learned.walk_shares, x, is_new, y, spec)
        )
        counts = counts + is_seen
        rate = np.maximum(spec.anchor_rate, 1 / (counts + 1))
        moved = sizes + rate * (z[int(spec.intercept) :] ** 2 - sizes)
        sizes = np.where(is_seen, np.maximum(moved, spec.min_anchor_var), sizes)  # (M.10)
    zeros, ones = np.zeros_like(sizes), np.ones_like(sizes)
    anchor = Anchor(zeros, sizes, zeros, ones)
    return state._replace(bank=learned._replace(anchor=anchor), counts=counts, sizes=sizes), log_density


def learn_prior(
    log_new_slope_sd: Learned, bank: Bank, shares: Floats, x: Floats, is_new: Any, y: float, spec: AutoBypassSpec
) -> Learned:
    """Update the standard deviation of new slopes along the evidence of y; `shares` are posteriors of the walks."""
    if not is_new.any():
        return log_new_slope_sd
    z, standard = bank_of_filters.standardise(bank, x, spec), (y - bank.units.y_center) / bank.units.y_scale
    priors = bank_of_filters.drifted(bank, spec)
    signals = [walks.signal(prior, z) for prior in priors]
    noise, slope, effect = bank_of_filters.noise_vars(bank, signals, spec), 0.0, 0.0
    here = _of_weights(is_new, spec)
    posteriors = bank_of_filters.matched(bank, bank_of_filters.see(bank, signals, standard, spec), spec)
    for k, ((_, h), (move, left)) in enumerate(zip(signals, posteriors, strict=True)):
        new_var = exp(2 * log_new_slope_sd.value) / np.count_nonzero(x) * float(np.sum(z[here] ** 2))
        part = min(new_var / h, 1.0)
        slope += shares[k] * part * ((min(left, h) - h) / h + move**2 / h)  # (M.12)
        effect += shares[k] * 2 * (part * h / (h + bank.of_walk(k, noise, bank.shares))) ** 2
    slope = min(max(slope, -spec.max_error), spec.max_error)
    return log_new_slope_sd.moved(slope, effect, MIN_LOG_NEW_SLOPE_SD, 0.0, spec)  # (M.13)


def _of_weights(of_features: Any, spec: AutoBypassSpec) -> Any:
    """Return a flag for every weight: that of its feature, and False for the intercept."""
    return np.concatenate([np.zeros(int(spec.intercept), dtype=bool), of_features])


def start_forecast(state: SparseState, spec: AutoBypassSpec) -> warm_up.Start | None:
    """Return the forecast while all values so far are equal; None if nothing is known about their size."""
    return warm_up.start_forecast(warm_up.State(np.empty((0, 0)), state.y, state.n_seen, None, 0), spec)


def _set_units(state: SparseState, spec: AutoBypassSpec) -> SparseState:
    """Set the centre and scale of y from the targets of the warm-up."""
    found, n = warm_up.standard_units(np.zeros((len(state.y), 1)), state.y, spec.intercept), len(state.counts)
    if found.y_scale == 0.0:
        return state
    if state.bank is not None:
        return state._replace(bank=_in_units(state.bank, found.y_center, found.y_scale, spec))
    units = Units(np.zeros(n), np.zeros(n), found.y_center, found.y_scale)
    widening = 1 + spec.warm_up_widening / len(state.y) if len(state.y) < spec.n_warm_up else 1.0
    bank = bank_of_filters.start(units, float(state.y[-1]), widening, spec)
    season = Season.unknown(state.n_steps % spec.period, spec) if spec.period > 1 else None
    return state._replace(bank=bank._replace(n_seen=state.n_seen, season=season))


def _in_units(bank: Bank, y_center: float, y_scale: float, spec: AutoBypassSpec) -> Bank:
    """Rescale a bank to other units of y."""
    ratio, move = bank.units.y_scale / y_scale, (bank.units.y_center - y_center) / y_scale
    moved = []
    for walk in bank.walks:
        mean = walk.weights.mean * ratio
        if spec.intercept:
            mean[0] += move
        moved.append(walk._replace(weights=Weights(mean, walk.weights.cov * ratio**2)))  # (M.11)
    return bank._replace(
        units=bank.units._replace(y_center=y_center, y_scale=y_scale),
        walks=tuple(moved),
        filters=tuple(each._replace(slow=each.slow + log(ratio)) for each in bank.filters),
        level=Level(bank.level.mean * ratio + move, max(bank.level.var * ratio**2, spec.min_anchor_var)),
    )
