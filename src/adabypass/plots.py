"""How it looks. Every function draws on the Axes it is given, or on new ones, and returns them.

The only room that imports matplotlib.
"""

from pathlib import Path
from typing import Any

import numpy as np

from adabypass.door import Floats
from adabypass.errors import MissingExtraError
from adabypass.model.trace import Trace

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as missing:
    raise MissingExtraError(
        "adabypass.plots needs matplotlib; install it with: pip install 'adabypass[plot]'"
    ) from missing

OBSERVED, PREDICTED, BAND, MARK = "black", "#c8102e", "#f7b6c2", "#3b6ea5"


def predictions(
    trace: Trace, time: "np.ndarray[Any, np.dtype[Any]] | None" = None, *, offset: float = 0.0, ax: Axes | None = None
) -> Axes:
    """Draw the observations, the forecast of each before it was seen, and a band of one standard deviation.

    Parameters
    ----------
    trace
        What `run` gave.
    time : array (n,), optional
        When each observation was made; their number if not given.
    offset
        Added to observations and forecasts: the mean, say, of a series that was centred.
    ax
        Where to draw; new axes if not given.
    """
    ax = _new_axes() if ax is None else ax
    at: Any = np.arange(len(trace)) if time is None else time
    mean, sd = trace.mean + offset, trace.sd
    ax.fill_between(at, mean - sd, mean + sd, color=BAND, linewidth=0, label="± 1 sd")
    ax.plot(at, mean, color=PREDICTED, linewidth=1.1, label="forecast, one step ahead")
    ax.plot(at, trace.y + offset, "D", color=OBSERVED, markersize=1.8, label="observed")
    ax.margins(x=0.01)
    if len(trace) > 1:
        ax.set_ylim(*_limits(trace.y + offset, mean[1:], sd[1:]))
    _tidy(ax)
    return ax


def mark_span(ax: Axes, first: float, last: float, text: str) -> None:
    """Mark a stretch of time, with a word about it above the data."""
    ax.axvspan(first, last, color=MARK, alpha=0.25, linewidth=0)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.07 * (high - low))  # room for the word
    ax.annotate(
        text, xy=(last, 1.0), xytext=(6, -2), xycoords=("data", "axes fraction"), textcoords="offset points",
        va="top", color=MARK, fontsize=9,
    )  # fmt: skip


def save(ax: Axes, path: Path) -> None:
    """Write the figure that `ax` belongs to, in the format of the file's ending."""
    figure = ax.figure
    assert isinstance(figure, Figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)


def _new_axes() -> Axes:
    # A Figure of its own rather than pyplot's: nothing global is touched, and no window opens.
    ax: Axes = Figure(figsize=(10, 4.5), layout="constrained").subplots()
    return ax


def _limits(y: Floats, mean: Floats, sd: Floats) -> tuple[float, float]:
    """Frame the data and the bulk of the band; a start-up forecast from nothing may leave the frame."""
    seen = y[~np.isnan(y)]
    low = min([*seen, float(np.quantile(mean - sd, 0.005))])
    high = max([*seen, float(np.quantile(mean + sd, 0.995))])
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def _tidy(ax: Axes) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="y", color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize=9, borderaxespad=0.2)
