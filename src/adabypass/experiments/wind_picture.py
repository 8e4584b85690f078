"""The wind study in one picture: two days of forecasts, and scores against the horizon if there is one."""

from typing import Any, TypeAlias

import numpy as np

from adabypass import plots
from adabypass.experiments.wind import TWO_DAYS, Study
from adabypass.plots.canvas import MARK, PREDICTED, Axes, Figure, legend, tidy
from adabypass.results.trace import Trace

FIRST_DAY = np.datetime64("2014-01-25")
"""The picture begins here: hours of weak and of gusty wind, nothing missing."""
STEPS_AN_HOUR = 6
WIDE = 20
"""Losses that differ by more than this factor are drawn on a logarithmic axis."""
STYLES: dict[str, dict[str, Any]] = {
    "AutoBypass": {"color": PREDICTED, "linewidth": 1.8},
    "BYPASS": {"color": MARK, "linewidth": 1.4},
    "SKF": {"color": "0.45", "linewidth": 1.4, "linestyle": (0, (4, 2))},
}

Panels: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def wind(study: Study) -> Panels:
    """Draw two days of forecasts; below them, if the study forecast many steps, how scores grow with the horizon.

    Returns
    -------
    array of Axes
        Write them with `plots.save(panels, path)`.
    """
    figure = Figure(figsize=(10, 8 if study.ahead else 4.5), layout="constrained")
    if not study.ahead:
        return np.array([_two_days(figure.subplots(), study)])
    grid = figure.add_gridspec(2, 2, height_ratios=(1.2, 1))
    top, left, right = (figure.add_subplot(grid[place]) for place in ((0, slice(None)), (1, 0), (1, 1)))
    _two_days(top, study)
    _against_horizon(left, "CRPS (m/s)", {each.model: [score.crps for score in each.scores] for each in study.ahead})
    losses = {each.model: [-score.log_likelihood / score.n for score in each.scores] for each in study.ahead}
    _against_horizon(right, "mean log loss (nats)", losses)
    return np.array([top, left, right])


def _two_days(ax: Axes, study: Study) -> Axes:
    """Draw the days that were chosen, or the last two of a series that ends before them."""
    trace = study.headline
    first = int(np.searchsorted(study.time, FIRST_DAY))
    shown = slice(first, first + TWO_DAYS) if first + TWO_DAYS <= len(trace) else slice(-TWO_DAYS, None)
    time = study.time[shown]
    plots.history(Trace(y=trace.y[shown], predictive=trace.predictive[shown], history={}), time, ax=ax)
    margin = np.timedelta64(9, "m")  # with more, the axis would be named after a day that is not shown
    ax.set_xlim(time[0] - margin, time[-1] + margin)
    ax.set(ylabel="wind speed (m/s)")
    ax.set_title("AutoBypass, 10 minutes ahead", loc="left", fontsize=11)
    return ax


def _against_horizon(ax: Axes, name: str, losses: dict[str, list[float]]) -> None:
    for model, loss in losses.items():
        hours = np.arange(1, len(loss) + 1) / STEPS_AN_HOUR
        ax.plot(hours, loss, label=model, **STYLES[model])
    if max(map(max, losses.values())) > WIDE * abs(min(map(min, losses.values()))):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="hours ahead", ylabel=name)
    tidy(ax)
    legend(ax)
