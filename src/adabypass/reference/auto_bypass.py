"""AutoBypass of y, its log and its square root, mixed by evidence: equations (J.1)-(J.4)."""

from math import erf, exp, expm1, inf, log, nan, pi, sqrt
from typing import NamedTuple

import numpy as np

from adabypass.distributions.component import Target
from adabypass.numerics.limits import MAX_LOG_VAR
from adabypass.reference import warm_up
from adabypass.state.bank import AutoBypassSpec
from adabypass.validation import Floats


class State(NamedTuple):
    """State of the banks of y, its log and its square root."""

    banks: tuple[warm_up.State, ...]
    evidence: Floats
    units: Floats | None  # units of y and of the features, 0 for one that is not transformed; None before the first y
    is_positive: bool  # whether every value of y was positive

    @property
    def is_followed(self) -> bool:
        """Return whether the log and the square root are learned at the next step."""
        return self.units is not None and self.is_positive


def nothing_seen(n_features: int) -> State:
    """Return the state before the first observation."""
    return State((warm_up.nothing_seen(n_features),) * len(Target), np.zeros(len(Target)), None, True)


def transform(target: Target, value: float) -> float:
    """Return g(value)."""
    if target is Target.IDENTITY:
        return value
    return log(value) if target is Target.LOG else float(np.sign(value)) * sqrt(abs(value))  # (J.1)


def slope(target: Target, value: float) -> float:
    """Return the derivative of g."""
    if target is Target.IDENTITY:
        return 1.0
    return 1 / value if target is Target.LOG else 0.5 / sqrt(abs(value))  # (J.2)


def features(target: Target, x: Floats, units: Floats) -> Floats | None:
    """Return the features transformed for this target; None if the sign of one has changed."""
    found = x.copy()
    for i in np.flatnonzero(units[1:]):
        if not x[i] / units[1 + i] > 0:
            return None
        found[i] = transform(target, x[i] / units[1 + i])  # (J.1)
    return found


def shares(state: State, x: Floats) -> Floats:
    """Return the share of each bank in the forecast at x."""
    has_share = np.array([True, False, False])
    if state.is_followed and state.units is not None and state.banks[0].is_settled:
        for target in (Target.LOG, Target.ROOT):
            has_share[target] = state.banks[target].is_settled and features(target, x, state.units) is not None
    weight = np.where(has_share, np.exp(state.evidence - state.evidence[has_share].max()), 0.0)
    return np.asarray(weight / weight.sum())  # (J.3)


def moments(target: Target, mean: float, var: float) -> tuple[float, float]:
    """Return the mean and variance of y if g(y) is normal with the given mean and variance."""
    if target is Target.IDENTITY:
        return mean, var
    if target is Target.LOG:
        var = min(var, MAX_LOG_VAR)
        return exp(mean + var / 2), expm1(var) * exp(2 * mean + var)
    ratio = mean / sqrt(var)
    first = (mean**2 + var) * erf(ratio / sqrt(2)) + 2 * mean * sqrt(var) * exp(-(ratio**2) / 2) / sqrt(2 * pi)
    return first, mean**4 + 6 * mean**2 * var + 3 * var**2 - first**2  # (J.4)


def update(state: State, x: Floats, y: float, spec: AutoBypassSpec) -> tuple[State, float]:
    """Update the state with `y` at `x`; return it with the log score of y. If y is nan, only time passes."""
    share, before = shares(state, x), state.banks[0].n_steps
    own, own_score = warm_up.update(state.banks[0], x, y, spec)
    state = state._replace(banks=(own, *state.banks[1:]))
    if not state.is_positive or (state.units is None and np.isnan(y)):
        return state, own_score
    scores, units = np.array([own_score, nan, nan]), state.units
    is_positive = not y <= 0
    if units is None and is_positive:
        units = np.array([y, *x])
    if units is not None:
        start = state.units is None
        fits = start or features(Target.LOG, x, units) is not None
        if not fits:
            units = np.where(np.append(1.0, x) / np.where(units == 0, inf, units) > 0, units, 0.0)
            units[0] = state.units[0]  # type: ignore[index]
        banks = [own]
        for target in (Target.LOG, Target.ROOT):
            bank = state.banks[target]
            if start or not fits:
                bank = warm_up.nothing_seen(len(x))._replace(n_steps=before)
            moved, scores[target] = _learn(target, bank, x, y, units, spec)
            banks.append(moved)
        state = state._replace(banks=tuple(banks), units=units)
        if not start and not np.isnan(y):
            own_score = _log_mixture(share, scores)
            state = state._replace(evidence=_weigh(state.evidence, share, scores, own_score, spec))
    return state._replace(is_positive=is_positive), own_score


def _learn(
    target: Target, bank: warm_up.State, x: Floats, y: float, units: Floats, spec: AutoBypassSpec
) -> tuple[warm_up.State, float]:
    """Update a bank with y; return it with the log density that it gave y."""
    z = features(target, x, units)
    assert z is not None
    if np.isnan(y):
        return warm_up.update(bank, z, nan, spec.transformed)
    if y == 0 or (target is Target.LOG and y < 0):
        return bank, -inf
    unit = units[0]
    bank, score = warm_up.update(bank, z, transform(target, y / unit), spec.transformed)
    return bank, score + log(slope(target, y / unit) / unit)  # (J.2)


def _log_mixture(share: Floats, scores: Floats) -> float:
    present = share > 0
    return float(np.logaddexp.reduce(np.log(share[present]) + scores[present]))


def _weigh(evidence: Floats, share: Floats, scores: Floats, mixture: float, spec: AutoBypassSpec) -> Floats:
    """Add the log scores to the evidence; a bank without a share gets the log score of the mixture."""
    moved = spec.target_discount * evidence + np.where(share > 0, scores, mixture)
    return np.asarray(np.maximum(moved - moved.max(), spec.min_evidence))  # (J.3)
