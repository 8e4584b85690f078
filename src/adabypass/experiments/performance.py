"""How well a strategy did, from its daily returns: ratio, growth, drawdown, and how sure the ratio is."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from adabypass.errors import NotFiniteError, ParameterError, ShapeError
from adabypass.validation import Floats, check_array, check_int

DAYS_A_YEAR = 252
"""Trading days: what turns a daily figure into a yearly one."""
ROUNDING = 1e-12
"""A spread of returns below this share of their size is rounding: there is no ratio to speak of."""


class Drawdown(NamedTuple):
    """The worst that an investor lived through."""

    depth: float
    """Largest loss from an earlier peak, as a share of that peak."""
    days: int
    """Longest time below an earlier peak, in trading days; not necessarily that of the deepest loss."""


class Interval(NamedTuple):
    """What a figure might have been."""

    low: float
    high: float


def sharpe(returns: object) -> float:
    """Mean daily return over its standard deviation, times the root of 252; nan where nothing moved.

    No interest is subtracted: a position in one leg is paid by the other.
    """
    daily = _returns(returns)
    sd = daily.std(ddof=1) if len(daily) > 1 else 0.0
    if sd <= ROUNDING * np.abs(daily).max():
        return float("nan")
    return float(sqrt(DAYS_A_YEAR) * daily.mean() / sd)


def volatility(returns: object) -> float:
    """Compute the standard deviation of the daily returns, times the root of 252; 0 for a single day."""
    daily = _returns(returns)
    return float(sqrt(DAYS_A_YEAR) * daily.std(ddof=1)) if len(daily) > 1 else 0.0


def cagr(returns: object) -> float:
    """Compound growth a year: what one unit became, to the power 252 / days, less one."""
    daily = _returns(returns)
    return float(equity(daily)[-1] ** (DAYS_A_YEAR / len(daily)) - 1.0)


def equity(returns: object) -> Floats:
    """Compute what one unit of capital has become at the close of each day, all gains reinvested."""
    return np.cumprod(1.0 + _returns(returns), dtype=np.float64)


def underwater(returns: object) -> Floats:
    """Loss from the highest point so far, as a share of it, at the close of each day; the start counts as a point."""
    wealth = equity(returns)
    loss: Floats = 1.0 - wealth / np.maximum(np.maximum.accumulate(wealth), 1.0)
    return loss


def drawdown(returns: object) -> Drawdown:
    """Deepest loss from a peak, and longest time below one."""
    loss = underwater(returns)
    longest = days = 0
    for below in loss > 0.0:
        days = days + 1 if below else 0
        longest = max(longest, days)
    return Drawdown(float(loss.max()), longest)


def sharpe_interval(
    returns: object, rng: np.random.Generator, *, level: float = 0.9, draws: int = 1000, mean_block: float = 20.0
) -> Interval:
    """Compute an interval of the Sharpe ratio by the stationary block bootstrap of Politis and Romano (1994).

    Parameters
    ----------
    returns : array (n,)
        Daily returns.
    rng
        Where chance comes from: the same seed gives the same interval.
    level
        Share of the resampled ratios within the interval; the same share is left out on either side.
    draws
        How many histories are resampled.
    mean_block
        Mean length of a block in days: blocks are of geometric length, and the series is a circle.
    """
    daily = _returns(returns)
    if not 0.0 < level < 1.0:
        raise ParameterError(f"level is {level!r}, but must lie between 0 and 1.")
    if not mean_block >= 1.0:
        raise ParameterError(f"mean_block is {mean_block!r}, but a block has at least one day.")
    draws = check_int(draws, "draws", minimum=1, maximum=10_000_000)
    ratios = np.array([sharpe(daily[_blocks(len(daily), mean_block, rng)]) for _ in range(draws)])
    seen = ratios[~np.isnan(ratios)]
    if len(seen) == 0:
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(seen, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(float(low), float(high))


def _blocks(n: int, mean_block: float, rng: np.random.Generator) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Choose `n` days, block after block: each day follows the one before it, or starts anew at any day."""
    starts_anew = rng.random(n) < 1.0 / mean_block
    starts_anew[0] = True
    first = rng.integers(n, size=n)
    start_at = np.maximum.accumulate(np.where(starts_anew, np.arange(n), 0))
    return (first[start_at] + np.arange(n) - start_at) % n


def _returns(returns: object) -> Floats:
    daily = check_array(returns, "returns")
    if daily.ndim != 1 or len(daily) == 0:
        raise ShapeError(f"returns have shape {daily.shape}, but must be (n,), one for each day, and at least one.")
    if not np.isfinite(daily).all():
        at = int(np.flatnonzero(~np.isfinite(daily))[0])
        raise NotFiniteError(f"returns[{at}] is {daily[at]}, but must be finite; a day without a position returns 0.")
    return daily
