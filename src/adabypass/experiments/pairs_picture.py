"""A pairs trade in one picture: prices, hedge ratio, spread with its band, and what came of it."""

from typing import Any

import numpy as np

from adabypass.experiments.backtest import Backtest
from adabypass.experiments.pairs import Fit
from adabypass.plots.canvas import BAND, MARK, OBSERVED, PREDICTED, Axes, Figure, LogLocator, plain

BOUGHT, SOLD = "#1b7f3b", PREDICTED


def pair(fitted: Fit, tested: Backtest) -> Figure:
    """Draw a pairs trade in four panels that share their days.

    Parameters
    ----------
    fitted
        What a model said about the prices.
    tested
        What came of trading it.

    Returns
    -------
    Figure
        Write it with `plots.save(figure, path)`.
    """
    figure = Figure(figsize=(10, 11), layout="constrained")
    panels: Any = figure.subplots(4, 1, sharex=True, height_ratios=[1.0, 0.8, 1.1, 1.1])
    _prices(panels[0], fitted)
    _hedge_ratio(panels[1], fitted, tested.rules.warm_up_days)
    _spread(panels[2], fitted, tested)
    _equity(panels[3], fitted, tested)
    y, x = map(plain, fitted.prices.names)
    figure.suptitle(f"{fitted.model}: {y} explained by {x}, and the spread traded", x=0.01, ha="left", fontsize=13)
    figure.align_ylabels(list(panels))
    return figure


def _prices(ax: Axes, fitted: Fit) -> None:
    """Both prices as multiples of their first, so that one axis serves both."""
    pair = fitted.prices
    for values, name, colour in ((pair.y, pair.names[0], OBSERVED), (pair.x, pair.names[1], MARK)):
        ax.plot(pair.time, values / values[0], color=colour, linewidth=1.0, label=plain(name))
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.set_ylabel("price / first price")
    _tidy(ax)


def _hedge_ratio(ax: Axes, fitted: Fit, warm_up_days: int) -> None:
    time, ratio, sd = fitted.prices.time, fitted.hedge_ratio, fitted.hedge_sd
    ax.fill_between(time, ratio - 2 * sd, ratio + 2 * sd, color=BAND, linewidth=0, label="± 2 sd")
    y, x = map(plain, fitted.prices.names)
    ax.plot(time, ratio, color=PREDICTED, linewidth=1.0, label=f"{x} per {y}")
    settled = slice(min(warm_up_days, len(ratio) - 1), None)
    _frame(ax, (ratio - 2 * sd)[settled], (ratio + 2 * sd)[settled])
    ax.set_ylabel("hedge ratio")
    _tidy(ax)


def _spread(ax: Axes, fitted: Fit, tested: Backtest) -> None:
    time, spread, rules = fitted.prices.time, fitted.spread, tested.rules
    band = rules.entry * fitted.band_sd(rules.band)
    band = np.where(np.isfinite(band), band, np.nan)
    whose = "predictive sd" if rules.band == "predictive" else "sd of the noise"
    ax.fill_between(time, -band, band, color=BAND, linewidth=0, label=f"± {rules.entry:g} {whose}")
    ax.plot(time, spread, color="0.35", linewidth=0.6, label="spread")
    for side, colour, marker, word in ((1, BOUGHT, "^", "bought"), (-1, SOLD, "v", "sold")):
        at = [trade.entered for trade in tested.trades if trade.side == side]
        name = plain(fitted.prices.names[0])
        ax.plot(time[at], spread[at], marker, color=colour, markersize=3.2, markeredgewidth=0, label=f"{name} {word}")
    settled = slice(min(rules.warm_up_days, len(spread) - 1), None)
    _frame(ax, np.fmin(spread, -band)[settled], np.fmax(spread, band)[settled])
    ax.set_ylabel("spread")
    _tidy(ax)


def _equity(ax: Axes, fitted: Fit, tested: Backtest) -> None:
    time, equity = fitted.prices.time, tested.equity
    peak = np.maximum(np.maximum.accumulate(equity), 1.0)
    ax.fill_between(time, equity, peak, color=MARK, alpha=0.25, linewidth=0, label="below the peak")
    ax.plot(time, equity, color=OBSERVED, linewidth=1.0, label="capital, from 1")
    metrics, costs = tested.metrics, tested.rules.costs_bp
    ax.annotate(
        f"Sharpe {metrics.sharpe:.2f}, growth {100 * metrics.cagr:z.1f} % a year, largest loss "
        f"{100 * metrics.max_drawdown:.1f} %, {metrics.drawdown_days} days below a peak; "
        + (f"costs {costs:g} bp" if costs else "no costs"),
        xy=(0.0, 1.0), xytext=(4, 5), xycoords="axes fraction", textcoords="offset points", fontsize=9, color="0.3",
    )  # fmt: skip
    ax.set_ylabel("capital")
    _tidy(ax)


def _frame(ax: Axes, low: "np.ndarray[Any, Any]", high: "np.ndarray[Any, Any]") -> None:
    """Set the limits of y to show most of what is drawn; the first, wide forecasts may exceed them."""
    bottom, top = float(np.quantile(low, 0.001)), float(np.quantile(high, 0.999))
    margin = 0.06 * (top - bottom) or 1.0
    ax.set_ylim(bottom - margin, top + margin)


def _tidy(ax: Axes) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="y", color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.margins(x=0.01)
    ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=4, fontsize=9, borderaxespad=0.2)
