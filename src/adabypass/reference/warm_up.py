"""The warm-up of AutoBypass: forecasts before the scale of y is known, and the units of the bank."""

from math import log, nan, sqrt
from typing import NamedTuple

import numpy as np

from adabypass.numerics.limits import MIN_SIGNAL, RESOLUTION
from adabypass.numerics.noise import NORMALS, Family
from adabypass.reference import bank as bank_of_filters
from adabypass.reference.bank import Bank
from adabypass.reference.evidence import normals
from adabypass.reference.filters import Season, Shifts, Units
from adabypass.state.bank import AutoBypassSpec
from adabypass.validation import Floats


class Start(NamedTuple):
    """Forecast while all values are equal: a heavy-tailed mixture about their common value."""

    mean: float
    shares: Floats
    noise_scales: Floats

    def log_density(self, y: float) -> float:
        """Return the log density of y."""
        noise = NORMALS[Family.MODERATE]
        logs = [
            log(share) + normals((y - self.mean) / scale, MIN_SIGNAL, noise).log_density - log(scale)
            for share, scale in zip(self.shares, self.noise_scales, strict=True)
        ]
        return float(np.logaddexp.reduce(logs))


class State(NamedTuple):
    """State of the model, from the first observation on."""

    X: Floats  # observations of the warm-up, newest last
    y: Floats
    n_seen: int  # up to the end of the warm-up
    bank: Bank | None  # None while the scale of y is unknown
    n_steps: int  # number of observations, missing ones included
    shifts: Shifts | None = None  # None if the season does not shift the forecast, or before the units are final

    @property
    def is_settled(self) -> bool:
        """Return whether the units are final."""
        return self.bank is not None and len(self.y) == AutoBypassSpec.n_warm_up


def nothing_seen(n_features: int) -> State:
    """Return the state before the first observation."""
    return State(np.empty((0, n_features)), np.empty(0), 0, None, 0)


def start_forecast(state: State, spec: AutoBypassSpec) -> Start | None:
    """Return the forecast while all values so far are equal; None if nothing is known about their size."""
    n, c = state.n_seen, float(state.y[0]) if len(state.y) else 0.0
    if c == 0.0:
        return None
    size, j = spec.change_scale * abs(c), np.arange(spec.n_filters - 1)
    changes = 2.0 ** (-spec.change_tail * j)
    return Start(
        mean=c,
        shares=np.array([n, *(changes / changes.sum())]) / (n + 1),  # (H.1), (H.2)
        noise_scales=np.array([size / n, *(size * 2.0**j)]),  # (H.3)
    )


def update(state: State, x: Floats, y: float, spec: AutoBypassSpec) -> tuple[State, float]:
    """Update the state with `y` at `x`; return it with the log score of y. If y is nan, only time passes."""
    state = state._replace(n_steps=state.n_steps + 1)
    if state.bank is None and np.isnan(y):
        return state, nan
    if state.bank is None:
        start = start_forecast(state, spec)
        log_density = nan if start is None else start.log_density(y)
    else:
        moved = state.bank
        if np.isnan(y) or state.is_settled:
            moved = moved._replace(units=first_moves(moved.units, x))
        less = shift(state, spec)
        bank, log_density = bank_of_filters.update(moved, x, y - less, spec)
        state = state._replace(bank=bank, shifts=_learn_shift(state, moved, x, y - less, spec))
    if np.isnan(y) or state.is_settled:
        return state, log_density
    state = _remember(state, x, y, spec)
    return _set_units(state, spec) if len(state.y) in spec.milestones else state, log_density


def shift(state: State, spec: AutoBypassSpec) -> float:
    """Return the seasonal shift of the forecast of the latest observation, in the user's units."""
    if state.shifts is None or state.bank is None:
        return 0.0
    step = (state.n_steps - 1) % spec.period
    return state.bank.units.y_scale * state.shifts.added(step)


def _learn_shift(state: State, before: Bank, x: Floats, y: float, spec: AutoBypassSpec) -> Shifts | None:
    """Update the seasonal shifts with y, from which the shift was subtracted."""
    if state.shifts is None or np.isnan(y):
        return state.shifts
    mean, var = bank_of_filters.moments(before, x, spec)
    largest, units = spec.max_error * sqrt(var), before.units
    error = min(max((y - units.y_center) / units.y_scale - mean, -largest), largest)
    return state.shifts.moved((state.n_steps - 1) % spec.period, error, before.n_seen + 1, spec)


def standard_units(X: Floats, y: Floats, intercept: bool) -> Units:
    """Return the centre and scale of every feature and of y; the scale of equal values is 0."""

    def center_and_scale(values: Floats) -> tuple[float, float]:
        center, ordered, n = float(np.median(values)) if intercept else 0.0, np.sort(values), len(values)
        scale = sqrt(float(np.mean((values - center) ** 2)))
        quartiles = float(ordered[n - 1 - (n - 1) // 4] - ordered[(n - 1) // 4])
        least = RESOLUTION * float(np.abs(values).max())
        if quartiles > least and intercept:
            scale = min(scale, quartiles)
        return center, scale if scale > least else 0.0  # (H.4)

    centers, scales = zip(*(center_and_scale(column) for column in X.T), strict=True)
    return Units(np.array(centers), np.array(scales), *center_and_scale(y))


def first_moves(units: Units, x: Floats) -> Units:
    """Set the scale of every feature that was constant so far to its first move."""
    deviation = np.abs(x - units.x_center)
    moves = (units.x_scale == 0) & (deviation > RESOLUTION * np.abs(units.x_center))
    return units._replace(x_scale=np.where(moves, deviation, units.x_scale))


def _remember(state: State, x: Floats, y: float, spec: AutoBypassSpec) -> State:
    kept_X, kept_y = state.X, state.y
    if state.bank is None and len(kept_y) and y != kept_y[0]:
        kept_X, kept_y = kept_X[:1], kept_y[:1]  # a long constant start carries no information about what follows
    X, ys = np.vstack([kept_X, x]), np.append(kept_y, y)
    return state._replace(X=X[-spec.n_warm_up :], y=ys[-spec.n_warm_up :], n_seen=state.n_seen + 1)


def _set_units(state: State, spec: AutoBypassSpec) -> State:
    """Set the units from the observations of the warm-up, and train a new bank on them."""
    units, n = standard_units(state.X, state.y, spec.intercept), len(state.y)
    if units.y_scale == 0.0:
        return state._replace(bank=None)
    widening = 1 + spec.warm_up_widening / n if n < spec.n_warm_up else 1.0
    bank = bank_of_filters.start(units, float(state.y[0]), widening, spec)
    for x, y in zip(state.X, state.y, strict=True):  # (H.5)
        bank, _ = bank_of_filters.update(bank, x, float(y), spec)
    season = state.bank.season if state.bank is not None else None
    if season is None and spec.period > 1:
        season = Season.unknown(state.n_steps % spec.period, spec)
    state = state._replace(bank=bank._replace(n_seen=state.n_seen, season=season))
    if state.is_settled and spec.n_shifts > 0:
        state = state._replace(shifts=Shifts(np.zeros(spec.period), np.zeros(spec.period), 0.0))
    return state
