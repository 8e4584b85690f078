"""The Nile study in pictures: the forecasts, and the log likelihood over the unit."""

import numpy as np

from adabypass import plots
from adabypass.datasets import load_dataset
from adabypass.experiments import nile
from adabypass.plots.canvas import MARK, OBSERVED, PREDICTED, Axes, legend, new_axes, tidy


def forecasts(study: nile.Study) -> Axes:
    """Draw each year's level, and its forecast from the years before."""
    ax = plots.predictions(study.headline, study.year, offset=study.level_mean)
    plots.mark_span(ax, *nile.NILOMETER, "715-722: a new nilometer")
    ax.set(xlabel="year AD", ylabel="yearly minimum (m)")
    ax.set_title("ADA-BYPASS on the Nile: each year forecast from the years before it", loc="left", fontsize=11)
    return ax


def log_likelihood_over_unit() -> Axes:
    """Draw the log likelihood of ADA-BYPASS over the unit in which it sees the levels, and the paper's figure."""
    ax = new_axes((9, 4.8))
    ax.plot(nile.UNITS, nile.log_likelihoods(), color=PREDICTED, linewidth=1.6, label="to convergence")
    two_sweeps = nile.log_likelihoods(max_sweeps=2)
    ax.plot(nile.UNITS, two_sweeps, color=MARK, linewidth=1.2, linestyle="--", label="2 sweeps a step")
    ax.axhline(nile.PAPER_LOG_LIKELIHOOD, color=OBSERVED, linewidth=1.0, linestyle=":", label="the paper: -754.2")
    level = load_dataset("nile").y
    low, high = np.quantile(level, [0.25, 0.75])
    for unit, text in (
        (float(high - low) / 1.349, "interquartile range / 1.349"),
        (float(level.std()), "standard deviation"),
        (1.0, "1 m"),
    ):
        ax.axvline(unit, color="0.8", linewidth=1.0, zorder=0)
        ax.annotate(
            text, xy=(unit, 0.02), xytext=(-3, 0), xycoords=("data", "axes fraction"), textcoords="offset points",
            rotation=90, ha="right", va="bottom", fontsize=9, color="0.35",
        )  # fmt: skip
    ax.set(xlabel="unit in which the model sees the levels (m)", ylabel="log likelihood, density per metre")
    ax.set_title("The unit is a hidden hyperparameter: 663 forecasts of the Nile", loc="left", fontsize=11, pad=22)
    tidy(ax)
    legend(ax, columns=3)
    return ax
