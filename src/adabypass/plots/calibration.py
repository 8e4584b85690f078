"""Whether forecasts are calibrated, beside what chance alone would give."""

from typing import Any, TypeAlias

import numpy as np

from adabypass.plots import canvas
from adabypass.plots.canvas import CHANCE, MARK, OBSERVED, Axes
from adabypass.results import calibration as measures
from adabypass.results.trace import Trace

WINDOW = 100
"""Number of observations of which coverage is drawn, over time."""
MIN_BINS, MAX_BINS, PER_BIN = 3, 20, 10
"""Bins of a histogram, and how many observations each should hold, so that chance does not make the picture."""
Panels: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def pit(trace: Trace, bins: int | None = None, ax: Axes | None = None, *, skip: int = 0) -> Axes:
    """Draw the histogram of the PIT: flat, within the band of chance, if the forecasts are calibrated.

    A hump says that they are too wide, a bowl too narrow, a slope too high or too low.

    Parameters
    ----------
    trace
        What `run` gave.
    bins : whole number from 1, optional
        If not given 20, but no more than leave ten observations to each, and at least 3.
    ax
        Where to draw; new axes if not given.
    skip : whole number
        How many of the first observations of the series to leave out, as in `Trace.scores`.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset, plots
    >>> nile = load_dataset("nile")
    >>> trace = Forecaster(lags=1).run(nile.y[:100])
    >>> axes = plots.pit(trace)
    """
    if bins is None:
        bins = min(MAX_BINS, max(MIN_BINS, _n_seen(trace) // PER_BIN))
    edges, density, (low, high) = measures.pit_histogram(trace, bins, skip=skip)
    ax = canvas.new_axes((6, 4)) if ax is None else ax
    ax.bar(
        edges[:-1], density, np.diff(edges), align="edge", color=canvas.tint(0.5, MARK), edgecolor="white",
        linewidth=0.8, label="observed",
    )  # fmt: skip
    # In front of the bars: within it, a bar's end says nothing.
    ax.axhspan(low, high, color="0.3", alpha=0.15, linewidth=0, label="95 % by chance")
    ax.axhline(1.0, color=OBSERVED, linewidth=0.9, linestyle=(0, (4, 3)), label="calibrated")
    ax.set(xlim=(0, 1), ylim=(0, 1.08 * max(density.max(), high)))
    ax.set(xlabel="probability integral transform", ylabel="density")
    canvas.tidy(ax)
    canvas.legend(ax)
    return ax


def reliability(trace: Trace, ax: Axes | None = None, *, skip: int = 0) -> Axes:
    """Draw how many observations fell within central intervals, against what the intervals promised.

    Points above the diagonal: the intervals are too wide; below it: too narrow. The bars hold 95 %: 1.96 standard
    errors.

    Parameters
    ----------
    trace
        What `run` gave.
    ax
        Where to draw; new axes if not given.
    skip : whole number
        How many of the first observations of the series to leave out, as in `Trace.scores`.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset, plots
    >>> nile = load_dataset("nile")
    >>> trace = Forecaster(lags=1).run(nile.y[:100])
    >>> axes = plots.reliability(trace)
    """
    nominal, observed, standard_error = measures.reliability(trace, skip=skip)
    ax = canvas.new_axes((4.8, 4.8)) if ax is None else ax
    ax.plot([0, 1], [0, 1], color=OBSERVED, linewidth=0.9, linestyle=(0, (4, 3)), label="calibrated")
    ax.errorbar(
        nominal, observed, 1.96 * standard_error, color=MARK, marker="o", markersize=4.5, linewidth=1.2, elinewidth=1.2,
        capsize=2.5, label="observed, 95 % bars",
    )  # fmt: skip
    ax.set(xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
    ax.set(xlabel="level of the central interval", ylabel="share of observations within")
    canvas.tidy(ax)
    ax.grid(axis="x", color="0.92", linewidth=0.8)
    canvas.legend(ax)
    return ax


def coverage(
    trace: Trace, level: float = 0.9, window: int = WINDOW, time: object = None, ax: Axes | None = None
) -> Axes:
    """Draw the share of the last `window` observations within their central interval, as it went over time.

    The grey band holds it 95 % of the time if the forecasts are calibrated.

    Parameters
    ----------
    trace
        What `run` gave.
    level : number between 0 and 1
    window : whole number from 1
        Number of observations that must be seen before there is anything to draw.
    time : array (n,), optional
        When each observation was made; their number if not given.
    ax
        Where to draw; new axes if not given.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset, plots
    >>> nile = load_dataset("nile")
    >>> trace = Forecaster(lags=1).run(nile.y[:100])
    >>> axes = plots.coverage(trace, window=50, time=nile.time[:100])
    """
    share = measures.coverage_over_time(trace, level, window)
    low, high = (hits / window for hits in measures.chance_range(window, level))
    at = canvas.times(time, len(trace), first=trace.first)
    ax = canvas.new_axes((10, 3.2)) if ax is None else ax
    ax.axhspan(low, high, color=CHANCE, linewidth=0, label="95 % by chance")
    nominal = np.full(len(at), level)  # over all of time, where the share may still be missing
    ax.plot(at, nominal, color=OBSERVED, linewidth=0.9, linestyle=(0, (4, 3)), label=f"{100 * level:g} %")
    ax.plot(at, share, color=MARK, linewidth=1.3, label=f"within, of the last {window}")
    least = float(np.nanmin(share)) if np.isfinite(share).any() else low
    ax.set_ylim(max(min(low, least) - 0.05, -0.02), 1.02)
    ax.set_ylabel("share within")
    canvas.tidy(ax, at)
    canvas.legend(ax)
    return ax


def calibration(trace: Trace, time: object = None) -> Panels:
    """Draw PIT, reliability and coverage over time on one figure, and return its three Axes.

    Coverage is that of the last 100 observations, or of a third of them if there are fewer than 300.

    Parameters
    ----------
    trace
        What `run` gave.
    time : array (n,), optional
        When each observation was made; their number if not given.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset, plots
    >>> nile = load_dataset("nile")
    >>> trace = Forecaster(lags=1).run(nile.y[:100])
    >>> axes = plots.calibration(trace, nile.time[:100])
    """
    figure = canvas.Figure(figsize=(10, 7), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(1.5, 1))
    left, right, below = (figure.add_subplot(grid[place]) for place in ((0, 0), (0, 1), (1, slice(None))))
    window = min(WINDOW, max(_n_seen(trace) // 3, 1))
    return canvas.shown_panels([
        pit(trace, ax=left), reliability(trace, ax=right), coverage(trace, window=window, time=time, ax=below)
    ])  # fmt: skip


def _n_seen(trace: Trace) -> int:
    """Return how many observations have a forecast that can be judged."""
    return int(np.count_nonzero(~np.isnan(trace.y) & trace.is_known))
