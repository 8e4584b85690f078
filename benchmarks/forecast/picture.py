"""The picture: CRPS beside AutoETS, and what the 90 % interval holds, for each frequency."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.forecast.contestants import OURS
from benchmarks.forecast.problems import Problem
from benchmarks.forecast.summary import Scores, frequencies, mean, names_of

BASE = "AutoETS"
"""Whose CRPS the others' are shown relative to."""
HIDDEN = ("SeasonalNaive (ours)", "Drift (ours)")
"""Not drawn: the one is where SeasonalNaive is, the other near Naive."""
MIN_SERIES = 10
"""Groups of fewer series are in the tables alone."""
WORST = 2.0
"""Ratios above it are drawn at the edge."""
OUR_COLORS = ("#b2182b", "#ef8a62", "#f4a582", "#fddbc7")


def draw(scores: Scores, given: Sequence[Problem], path: Path) -> None:
    """Draw one row for each source and frequency: CRPS relative to AutoETS on the left, coverage on the right."""
    from matplotlib.figure import Figure  # noqa: PLC0415  (an extra)

    rows = list(_groups(given).items())[::-1]
    figure = Figure(figsize=(12, 0.5 * len(rows) + 2.0), layout="constrained")
    ratio, held = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
    others = [rival for rival in scores if rival not in OURS and rival not in HIDDEN]
    for rival in (*others, *(each for each in OURS if each in scores)):
        style = _style(rival, others)
        crps = np.array([mean(scores, rival, names, "CRPS") for _, names in rows])
        base = np.array([mean(scores, BASE, names, "CRPS") for _, names in rows])
        coverage = [100 * mean(scores, rival, names, "held by 90 %") for _, names in rows]
        ratio.plot(np.minimum(crps / base, WORST), np.arange(len(rows)), label=rival, **style)
        held.plot(np.maximum(coverage, 50), np.arange(len(rows)), **style)
    ratio.set_yticks(range(len(rows)), [f"{group} ({len(names)})" for group, names in rows])
    ratio.axvline(1, color="0.6", linewidth=0.8)
    ratio.set(xlim=(0.4, WORST * 1.02), xlabel=f"CRPS over that of {BASE} ({WORST:g} or more at the edge)")
    held.axvspan(87, 93, color="0.92", zorder=0)
    held.set(xlim=(49, 101), xlabel="held by the 90 % interval, % (50 or fewer at the edge)")
    for ax in (ratio, held):
        ax.grid(axis="y", color="0.93")
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=5, frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def _groups(given: Sequence[Problem]) -> dict[str, list[str]]:
    """Return the names of the series of each source, over all and by frequency."""
    groups: dict[str, list[str]] = {}
    for source, label in (("M competitions", "M"), ("fpp", "fpp"), ("wind", "wind")):
        chosen = [problem for problem in given if problem.source.startswith(source)]
        if len(frequencies(chosen)) > 1:
            groups[f"{label}: all"] = names_of(chosen)
        for frequency in frequencies(chosen):
            names = names_of(chosen, frequency=frequency)
            if len(names) >= MIN_SERIES:
                groups[f"{label}: {frequency}"] = names
    return groups


def _style(rival: str, others: Sequence[str]) -> dict[str, Any]:
    if rival in OURS:
        index = OURS.index(rival)
        return {"marker": "o", "linestyle": "", "color": OUR_COLORS[index], "markersize": 9 - 2 * index, "zorder": 5}
    index = list(others).index(rival)
    return {"marker": "sD^v<>PX"[index % 8], "linestyle": "", "color": f"C{(index + 4) % 10}", "markersize": 5}
