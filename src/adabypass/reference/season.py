"""The period of a series, found while it comes in: equations (N.32)-(N.37)."""

import numpy as np

from adabypass.state import season as design
from adabypass.validation import Floats, Integers


def is_due(n_steps: int) -> bool:
    """Return whether a period is looked for after a number of steps."""
    if n_steps < design.MIN_STEPS:
        return False
    stride = 1
    while 4 * stride <= n_steps and stride < design.MAX_STRIDE:
        stride *= 2
    return n_steps % stride == 0


def find_period(past: Floats, now: int) -> int:
    """Return the period of the past, 0 if it has none; `now` is the period so far: equation (N.36).

    Examples
    --------
    >>> t = np.arange(120)
    >>> find_period(np.sin(2 * np.pi * t / 12) + 0.1 * np.random.default_rng(0).normal(size=120), 0)
    12
    """
    found = evidence(past)
    if found is None:
        return now
    kept = 0 if now in found and found[now] <= 0.0 else now
    least = design.MIN_EVIDENCE + np.log(len(past) // design.PERIODS_SEEN)
    best = max(found, key=lambda period: found[period])  # the first of equal ones
    if found[best] <= least:
        return kept
    least = max(found[best] - design.MIN_GAIN, least)  # a multiple fits as well: the shortest counts
    period = next(each for each in found if best % each == 0 and (each == best or found[each] > least))
    if now in (0, period):
        return period
    if now not in found:
        return now
    margin = -design.MIN_GAIN if now % period == 0 else design.MIN_GAIN
    return period if found[period] > found[now] + margin else kept


def evidence(past: Floats) -> dict[int, float] | None:
    """Return the log evidence for every period that may be found; None if nothing moves: equation (N.35)."""
    longest = len(past) // design.PERIODS_SEEN
    if longest < design.MIN_PERIOD:
        return None
    worlds = []
    for order in (0, 1):
        x = _prepared(past, order)
        if x is None:
            return None
        var = float(np.nanmean(x**2))
        if not var > 0.0:
            return None
        worlds.append((x, max(min(_autoregression_var(x) / var, 1.0), design.MIN_NULL_SHARE)))
    return {
        period: max(_season_evidence(x, period, null_share) for x, null_share in worlds)
        for period in range(design.MIN_PERIOD, longest + 1)
    }


def _prepared(past: Floats, order: int) -> Floats | None:
    """Return the values without their trend, or their differences without their mean, clipped: equation (N.32)."""
    seen = past[~np.isnan(past)]
    largest = np.abs(seen).max() if len(seen) else 0.0
    if len(seen) < design.MIN_STEPS // 2 or largest == 0.0:
        return None
    x = np.diff(_clipped(past / largest - np.sort(seen)[len(seen) // 2] / largest), order)
    known = ~np.isnan(x)
    if not known.any():
        return None
    x = x - x[known].mean()
    if order == 0:
        time = np.arange(len(x)) - np.flatnonzero(known).mean()
        x = x - (time[known] @ x[known]) / (time[known] @ time[known]) * time
    return _clipped(x)


def _clipped(x: Floats) -> Floats:
    sizes = np.sort(np.abs(x[~np.isnan(x)]))
    bound = design.MAX_DEVIATION * sizes[len(sizes) // 2]
    return np.clip(x, -bound, bound) if bound > 0.0 else x


def _autoregression_var(x: Floats) -> float:
    """Return the variance that an autoregression leaves: equation (N.33)."""
    rows = np.lib.stride_tricks.sliding_window_view(x, design.N_LAGS + 1) if len(x) > design.N_LAGS else x[:0, None]
    rows = rows[~np.isnan(rows).any(axis=1)]
    if len(rows) < design.MIN_ROWS:  # what cannot be fitted cannot be beaten
        return 0.0
    lags, target = rows[:, :-1], rows[:, -1]
    weights = np.linalg.lstsq(lags, target, rcond=1e-12)[0]
    return float(np.sum((target - lags @ weights) ** 2) / (len(rows) - design.N_LAGS))


def _season_evidence(x: Floats, period: int, null_share: float) -> float:
    """Return the log evidence for a season of any shape, or of some waves: equations (N.34) and (N.35)."""
    n_known = int(np.count_nonzero(~np.isnan(x)))
    whole = x[: len(x) - len(x) % period]  # where waves are orthogonal unless values are missing
    y, phase = _seen(whole, period)
    m = len(y)
    if m <= period or not y.any():
        return -np.inf
    total, fit, found = np.bincount(phase, y, period), np.zeros(period), []
    for k in range(1, min(design.MAX_WAVES, period // 2) + 1):
        wave = np.exp(2j * np.pi * k * np.arange(period) / period)
        fit += ((1.0 if 2 * k == period else 2.0) / m * (total @ wave) * wave.conj()).real
        share = float(np.sum((y - fit[phase]) ** 2)) / (m - 2 * k) / float(np.mean(y**2))
        found.append(_gain(share, n_known, 2 * k, null_share))
    y, phase = _seen(x, period)
    means = np.bincount(phase, y, period) / np.maximum(np.bincount(phase, minlength=period), 1)
    share = float(np.sum((y - means[phase]) ** 2)) / (len(y) - period) / float(np.mean(y**2))
    return max(*found, _gain(share, n_known, period, null_share))


def _seen(x: Floats, period: int) -> tuple[Floats, Integers]:
    """Return the values that are not missing, and the step of the period of each."""
    at = np.flatnonzero(~np.isnan(x))
    return x[at], at % period


def _gain(share: float, n: int, k: int, null_share: float) -> float:
    return float(0.5 * n * np.log(null_share / max(share, design.MIN_SHARE)) - 0.5 * k * np.log(n))
