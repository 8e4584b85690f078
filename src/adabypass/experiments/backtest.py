"""A pairs trade, day by day: what is held after each close, what it earns the day after, and what trading it costs.

Nothing here knows the future: what is held at the close of a day follows from the spread, its band and the hedge ratio
of that day and the days before.
"""

from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from adabypass.errors import NotFiniteError, ParameterError, UnknownNameError
from adabypass.experiments import performance
from adabypass.experiments.performance import DAYS_A_YEAR, Interval
from adabypass.validation import Floats, check_int

Sides: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int8]]"
Sizing = Literal["hedge", "units"]
Band = Literal["predictive", "noise"]
COSTS_BP_DEFAULT = 5.0
"""Costs that are assumed unless others are given, in Python and by the command alike: modest ones of a liquid fund."""


class Rules(NamedTuple):
    """How to trade."""

    entry: float = 1.0
    """Enter when the spread is more than this many standard deviations from 0 ..."""
    exit: float = 0.0
    """... and exit when it is within this many on the side where it was entered; 0 waits until it crosses 0."""
    sizing: Sizing = "hedge"
    """One unit of y against as many of x as the hedge ratio says, or against one unit ("units")."""
    costs_bp: float = COSTS_BP_DEFAULT
    """Cost of trading in basis points (hundredths of a percent) of the value traded, in either leg; 5 by default."""
    leverage: float = 1.0
    """Value of both legs together, as a share of the capital."""
    warm_up_days: int = 20
    """Days before the first decision: the first forecasts are made from hardly any data."""
    band: Band = "predictive"
    """Whose standard deviation: the forecast's of y, or that of the noise alone, which is the spread itself."""

    def checked(self) -> "Rules":
        """Return the rules, or raise an error about one that cannot be followed."""
        for name in ("entry", "exit", "costs_bp", "leverage"):
            if not np.isfinite(getattr(self, name)):
                raise NotFiniteError(f"{name} is {getattr(self, name)}, but must be a finite number.")
        if not self.entry > 0.0:
            raise ParameterError(f"entry is {self.entry}, but must be above 0 standard deviations.")
        if not -self.entry < self.exit <= self.entry:
            raise ParameterError(
                f"exit is {self.exit}, but must be above {-self.entry} and at most {self.entry}: a trade is exited "
                "after it is entered, and before the opposite one is."
            )
        if self.sizing not in get_args(Sizing):
            raise UnknownNameError(f"sizing is {self.sizing!r}, but must be one of 'hedge', 'units'.")
        if self.band not in get_args(Band):
            raise UnknownNameError(f"band is {self.band!r}, but must be one of 'predictive', 'noise'.")
        if self.costs_bp < 0.0:
            raise ParameterError(f"costs are {self.costs_bp} basis points, but must be 0 or more.")
        if not self.leverage > 0.0:
            raise ParameterError(f"leverage is {self.leverage}, but must be above 0.")
        check_int(self.warm_up_days, "warm_up_days", minimum=1, maximum=2**31)
        return self


class Trade(NamedTuple):
    """One stay in the market, from an entry to an exit or a change of sides."""

    entered: int
    """Number of the day at whose close it began."""
    left: int | None
    """Number of the day at whose close it ended; None if it is still open."""
    side: int
    """1 bought y and sold x, -1 the reverse."""
    result: float
    """What it earned after costs, as a share of the capital: the sum of its daily returns."""


class Metrics(NamedTuple):
    """How well it did."""

    sharpe: float
    cagr: float
    volatility: float
    max_drawdown: float
    """Deepest loss from a peak, as a share of it."""
    drawdown_days: int
    """Longest time below a peak, in trading days."""
    turnover: float
    """Value traded a year, both legs and both ways, in units of the capital."""
    hit_rate: float
    """Share of the closed trades that earned more than they cost; nan where there is none."""
    exposure: float
    """Share of the days with a position."""
    n_trades: int
    """How many trades were entered."""


class Backtest(NamedTuple):
    """What came of following the rules. The days are those of the prices; nothing is earned on the first."""

    rules: Rules
    sides: Sides
    """After each close: 1 holds y against x, -1 x against y, 0 nothing."""
    holdings: Floats
    """After each close, shape (n, 2): value held of y and of x as a share of the capital, negative where sold."""
    traded: Floats
    """At each close: value traded, as a share of the capital."""
    returns: Floats
    """On each day: what the holdings of the day before earned, less the costs of this day's close."""
    trades: tuple[Trade, ...]

    @property
    def equity(self) -> Floats:
        """What one unit of capital has become at the close of each day."""
        return performance.equity(self.returns)

    @property
    def underwater(self) -> Floats:
        """Loss from the highest point so far, as a share of it."""
        return performance.underwater(self.returns)

    @property
    def metrics(self) -> Metrics:
        """How well it did, over all days but the first, which could earn nothing."""
        daily = self.returns[1:]
        deepest = performance.drawdown(daily)
        closed = [trade.result for trade in self.trades if trade.left is not None]
        return Metrics(
            sharpe=performance.sharpe(daily),
            cagr=performance.cagr(daily),
            volatility=performance.volatility(daily),
            max_drawdown=deepest.depth,
            drawdown_days=deepest.days,
            turnover=float(self.traded.sum() * DAYS_A_YEAR / len(daily)),
            hit_rate=float(np.mean([result > 0.0 for result in closed])) if closed else float("nan"),
            exposure=float(np.mean(self.sides[:-1] != 0)),
            n_trades=len(self.trades),
        )

    def sharpe_interval(self, rng: np.random.Generator, *, level: float = 0.9, draws: int = 1000) -> Interval:
        """Compute an interval of the Sharpe ratio by a block bootstrap of the daily returns."""
        return performance.sharpe_interval(self.returns[1:], rng, level=level, draws=draws)


def sides(spread: Floats, sd: Floats, rules: Rules) -> Sides:
    """Compute which side to hold after each close, from the spread and its band up to that close.

    A spread below its band means that y is cheap beside x: y is bought. A spread that crosses the whole band in one
    day changes sides, rather than closing the position.
    """
    held = np.zeros(len(spread), dtype=np.int8)
    side = 0
    for day in range(rules.warm_up_days, len(spread)):
        if abs(spread[day]) > rules.entry * sd[day]:
            side = -1 if spread[day] > 0.0 else 1
        elif -side * spread[day] <= rules.exit * sd[day]:  # what the trade waited for has come
            side = 0
        held[day] = side
    return held


def backtest(y: Floats, x: Floats, spread: Floats, sd: Floats, hedge_ratio: Floats, rules: Rules) -> Backtest:
    """Simulate trading by the rules over the whole history.

    Parameters
    ----------
    y, x : arrays (n,)
        Prices at the close of each day.
    spread, sd : arrays (n,)
        How far y was from its forecast, and the standard deviation that its band is told in.
    hedge_ratio : array (n,)
        Units of x that offset one unit of y, as known at the close of each day.
    rules
        How to trade.
    """
    rules = rules.checked()
    held = sides(spread, sd, rules)
    units = hedge_ratio if rules.sizing == "hedge" else np.ones(len(y))
    value = np.column_stack([y, -units * x])
    holdings = rules.leverage * held[:, None] * value / np.abs(value).sum(axis=1, keepdims=True) + 0.0  # no -0.0
    book = _Book(holdings, held, np.diff(np.column_stack([y, x]), axis=0) / np.column_stack([y, x])[:-1])
    returns = book.earned - 1e-4 * rules.costs_bp * book.traded
    ruined = np.flatnonzero(returns <= -1.0)
    if len(ruined):
        # All capital is lost: that day ends the history, whatever a leveraged account would still owe.
        day = int(ruined[0])
        returns[day], returns[day + 1 :] = -1.0, 0.0
        held[day:], holdings[day:], book.traded[day + 1 :] = 0, 0.0, 0.0
    return Backtest(rules, held, holdings, book.traded, returns, tuple(_trades(held, book, rules)))


class _Book:
    """What the holdings earned, and what had to be traded to keep them."""

    def __init__(self, holdings: Floats, held: Sides, moves: Floats) -> None:
        before, previous = holdings[:-1], np.concatenate([[0], held[:-1]])
        self.earned = np.concatenate([[0.0], (before * moves).sum(axis=1)])
        capital = np.maximum(1.0 + self.earned, 1e-300)[1:, None]
        drifted = np.vstack([[0.0, 0.0], before * (1.0 + moves) / capital])
        changed = held != previous
        # A change of sides closes one trade and opens another, so that each bears its own costs.
        self.closing = np.where(changed, np.abs(drifted).sum(axis=1), 0.0)
        self.opening = np.where(changed, np.abs(holdings).sum(axis=1), 0.0)
        self.rebalancing = np.where(changed, 0.0, np.abs(holdings - drifted).sum(axis=1))

    @cached_property
    def traded(self) -> Floats:
        """Value traded at each close, as a share of the capital."""
        total: Floats = self.opening + self.rebalancing + self.closing
        return total


def _trades(held: Sides, book: _Book, rules: Rules) -> list[Trade]:
    """Split the history into trades, each with its own share of the costs."""
    rate = 1e-4 * rules.costs_bp
    edges = [int(day) for day in np.flatnonzero(np.diff(held, prepend=np.int8(0)))]
    trades = []
    for number, entered in enumerate(edges):
        if held[entered] == 0:
            continue
        left = edges[number + 1] if number + 1 < len(edges) else None
        last = len(held) - 1 if left is None else left
        costs = book.opening[entered] + book.rebalancing[entered + 1 : left].sum()
        costs += 0.0 if left is None else book.closing[left]
        result = max(float(book.earned[entered + 1 : last + 1].sum() - rate * costs), -1.0)
        trades.append(Trade(entered, left, int(held[entered]), result))
    return trades
