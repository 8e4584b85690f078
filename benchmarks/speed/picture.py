"""The picture: time an observation over the number of features, one line for each library."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adabypass.validation import Floats
from benchmarks.speed.contestants import Contestant, Mode
from benchmarks.speed.results import Results
from benchmarks.speed.suite import CONTESTANTS

OURS = {"AutoBypass": "#b2182b", "AdaBypass": "#d6604d", "Bypass": "#f4a582"}
OTHERS = {
    "River LinearRegression": "#2166ac", "River PARegressor": "#4393c3", "River BayesianLinearRegression": "#053061",
    "scikit-learn": "#1b7837", "Vowpal": "#5aae61", "filterpy": "#762a83", "pykalman": "#9970ab",
    "statsmodels": "#8c6d31", "Viking": "#01665e", "C": "#000000",
}  # fmt: skip
LEADER = {"arrowstyle": "-", "linewidth": 0.5, "alpha": 0.6, "relpos": (0.0, 0.5)}
"""The thin line from the end of a curve to its label, where the label had to move."""
LABEL_HEIGHT = 0.038
"""Least distance between two labels, as a share of the height of the axes."""


def draw(results: Results, features: Sequence[int], path: Path) -> None:
    """Draw the times row by row and in bulk beside each other, and write the picture."""
    import matplotlib as mpl  # noqa: PLC0415  (an extra)

    mpl.use("agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(1, 2, figsize=(14, 7.5), sharey=True, layout="constrained")
    for ax, mode in zip(axes, Mode, strict=True):
        _draw_mode(ax, results, mode, features)
    axes[0].set_ylabel("µs an observation")
    for ax in axes:  # when the limits of both are known
        _place_labels(ax)
    processor = results.machine.split(",")[0]
    figure.suptitle(f"Forecast and learn from one observation, one core of {processor}", x=0.01, ha="left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _draw_mode(ax: Any, results: Results, mode: Mode, features: Sequence[int]) -> None:
    for contestant in (each for each in CONTESTANTS if each.mode is mode):
        points = [(d, value) for d in features if (value := results.value(contestant.key(d))) is not None]
        if not points:
            continue
        is_ours = contestant.name.startswith(tuple(OURS))
        is_variant = is_ours and contestant.name not in OURS
        ax.plot(
            *zip(*points, strict=True), color=_color(contestant), linewidth=2.6 if is_ours else 1.3, marker="o",
            markersize=4, linestyle="--" if is_variant else "-", label=contestant.name, zorder=3 if is_ours else 2,
        )  # fmt: skip
    ax.set(xscale="log", yscale="log", xlabel="features", title=mode)
    ax.set_xticks(features, [str(d) for d in features])
    ax.minorticks_off()
    ax.grid(axis="y", color="0.9")
    ax.spines[["top", "right"]].set_visible(False)


def _color(contestant: Contestant) -> str:
    """Return a library's color, the same in both modes."""
    return next(color for name, color in (OURS | OTHERS).items() if contestant.name.startswith(name))


def _place_labels(ax: Any) -> None:
    """Write each line's name at its right end, moved up or down as far as the others require."""
    lines = ax.get_lines()
    low, high = np.log(ax.get_ylim())
    ends = np.array([(np.log(line.get_ydata()[-1]) - low) / (high - low) for line in lines])
    right = max(line.get_xdata()[-1] for line in lines)
    for line, end, at in zip(lines, ends, spread(ends, LABEL_HEIGHT), strict=True):
        ax.annotate(
            line.get_label(), xy=(line.get_xdata()[-1], line.get_ydata()[-1]), xycoords="data",
            xytext=(1.05, at), textcoords="axes fraction", color=line.get_color(), va="center", fontsize=9,
            fontweight="bold" if line.get_linewidth() > 2 else "normal", annotation_clip=False,
            arrowprops=LEADER | {"color": line.get_color()}
            if abs(end - at) > LABEL_HEIGHT / 4 or line.get_xdata()[-1] < right else None,
        )  # fmt: skip


def spread(wanted: Floats, distance: float) -> Floats:
    """Return places in the order of `wanted`, at least `distance` apart, as near to what is wanted as can be.

    Places that would be too close are pooled and laid out around their mean, until no two pools overlap.
    """
    order = np.argsort(wanted, kind="stable")
    pools: list[tuple[float, int]] = []
    for i, index in enumerate(order):
        pools.append((float(wanted[index]) - i * distance, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, m), (b, n) = pools[-2:]
            pools[-2:] = [((a * m + b * n) / (m + n), m + n)]
    starts = np.concatenate([[place] * count for place, count in pools]) if pools else np.empty(0)
    places = np.empty(len(order))
    places[order] = starts + distance * np.arange(len(order))
    return places
