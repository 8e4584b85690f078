"""How good forecasts are, by the number of steps ahead."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from adabypass.errors import ShapeError
from adabypass.plots import canvas
from adabypass.plots.canvas import Axes, Figure
from adabypass.plots.learned import LINES, STYLES

ERRORS = {"crps": "CRPS", "mae": "mean absolute error", "rmse": "root mean square error"}
LEVELS = (50, 90, 95)
Panels: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def scores_by_step(scores: Sequence[Mapping[str, float]], ax: Any = None) -> Panels:
    """Draw errors, and the share of observations within intervals, by the number of steps ahead.

    Broken lines are the levels: shares should be near them. The grey band around each holds 95 % of the shares that
    chance alone would give, if the forecasts were independent; those of long horizons overlap, and differ by more.

    Parameters
    ----------
    scores : Scores of each step
        As `evaluation.scores(step)` gives them, for the steps 1, 2, ...
    ax : array of two Axes, optional
        Where to draw errors and shares; new axes if not given. Point forecasts have no shares, and one panel.

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> from adabypass import Forecaster, evaluate, load_dataset, plots
    >>> result = evaluate(load_dataset("nile").y[:200], Forecaster(lags=1), horizon=3)
    >>> axes = plots.scores_by_step([result.scores(step) for step in (1, 2, 3)])
    """
    levels = [level for level in LEVELS if f"coverage_{level}" in scores[0]]
    n = 2 if levels else 1
    if ax is None:
        axes: Panels = canvas.shown_panels(np.ravel(Figure(figsize=(10, 3.8), layout="constrained").subplots(1, n)))
    else:
        axes = np.ravel(np.asarray(ax, dtype=object))
    if len(axes) != n:
        raise ShapeError(f"there are {len(axes)} axes, but {n} are drawn on; pass {n}.")
    steps = np.arange(1, len(scores) + 1)
    _draw_errors(axes[0], steps, scores)
    if levels:
        _draw_shares(axes[1], steps, scores, levels)
    return axes


def _draw_errors(ax: Axes, steps: Any, scores: Sequence[Mapping[str, float]]) -> None:
    for i, (name, words) in enumerate(ERRORS.items()):
        if name in scores[0]:
            values = [each[name] for each in scores]
            ax.plot(steps, values, color=LINES[i], linestyle=STYLES[i], marker="o", markersize=3, label=words)
    ax.set_ylim(0, 1.2 * ax.get_ylim()[1])  # room for the legend
    canvas.label(ax, x="steps ahead", y="mean error")
    _finish(ax, steps)


def _draw_shares(ax: Axes, steps: Any, scores: Sequence[Mapping[str, float]], levels: Sequence[int]) -> None:
    for i, level in enumerate(levels):
        nominal = level / 100
        error = 1.96 * np.sqrt(nominal * (1 - nominal) / np.array([each["n"] for each in scores]))
        canvas.band(ax, steps, np.maximum(nominal - error, 0), np.minimum(nominal + error, 1), canvas.CHANCE)
        ax.axhline(nominal, color=LINES[i], linewidth=0.8, linestyle=(0, (4, 3)))
        values = [each[f"coverage_{level}"] for each in scores]
        ax.plot(steps, values, color=LINES[i], marker="o", markersize=3, label=f"{level} % interval")
    ax.set_ylim(0, 1.12)
    canvas.label(ax, x="steps ahead", y="share of observations within")
    _finish(ax, steps)


def _finish(ax: Axes, steps: Any) -> None:
    canvas.tidy(ax)
    if len(steps) <= 14:
        ax.set_xticks(steps)
    canvas.legend(ax, columns=3)
