"""What an automatic forecaster has learned: its structures, its season."""

from typing import Any

import numpy as np

from adabypass.errors import ParameterError, ShapeError
from adabypass.forecasting.components import Explanation
from adabypass.plots import canvas
from adabypass.plots.learned import LINES
from adabypass.validation import shown

MAX_BARS = 8


def components(explanation: Explanation, ax: Any = None) -> "np.ndarray[Any, np.dtype[Any]]":
    """Draw the largest shares of structures and, if there is a season, its pattern with its interval.

    Parameters
    ----------
    explanation
        What `Forecaster().explain()` gave.
    ax : array of Axes, optional
        Where to draw: one for the shares and, with a season, one more; new axes if not given.

    Returns
    -------
    array of Axes
    """
    if not isinstance(explanation, Explanation):
        raise ParameterError(f"explanation is {shown(explanation)}, but must be what Forecaster().explain() gives.")
    n_axes = 2 if len(explanation.season.median) else 1
    figure = canvas.new_axes((10, 3.2 * n_axes)).figure if ax is None else None
    axes: np.ndarray[Any, np.dtype[Any]]
    if figure is not None:
        figure.clear()
        axes = canvas.shown_panels(np.ravel(figure.subplots(n_axes, 1)))
    else:
        axes = np.ravel(np.asarray(ax, dtype=object))
    if len(axes) != n_axes:
        raise ShapeError(f"there are {len(axes)} axes for {n_axes} panels; pass one for each.")
    _draw_shares(axes[0], explanation)
    if n_axes == 2:
        _draw_season(axes[1], explanation)
    return axes


def _draw_shares(ax: Any, explanation: Explanation) -> None:
    names = list(explanation.shares)[:MAX_BARS]
    places = np.arange(len(names))[::-1]
    ax.barh(places, [explanation.shares[name] for name in names], color=LINES[0])
    ax.set_yticks(places, names)
    canvas.label(ax, x="share in the forecast")
    level, slope = explanation.level, explanation.slope
    ax.set_title(f"level {level.median:.4g} ({level.lower:.4g} to {level.upper:.4g}), slope {slope.median:.3g} a step")


def _draw_season(ax: Any, explanation: Explanation) -> None:
    season = explanation.season
    at = np.arange(1.0, len(season.median) + 1)
    canvas.band(ax, at, season.lower, season.upper, canvas.tint(0.3))
    ax.plot(at, season.median, color=LINES[0], linewidth=1.3)
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    canvas.label(ax, x="steps ahead", y="season")
