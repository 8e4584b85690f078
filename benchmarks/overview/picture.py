"""The picture: what each rival loses beside ours, and what its intervals hold, one panel for each use."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.overview.pages import Table, number
from benchmarks.overview.uses import Use

OURS, OTHERS = "#b2182b", "0.72"
WORST = 2.5
"""Longer bars are cut here."""


def draw(shown: Sequence[tuple[Use, Table]], path: Path) -> None:
    """Draw the loss of every rival over ours, as bars; at their ends what a column of coverage says."""
    from matplotlib.figure import Figure  # noqa: PLC0415  (an extra)

    n_rows = (len(shown) + 1) // 2
    longest = max((len(table) for _, table in shown), default=1)
    figure = Figure(figsize=(12, n_rows * (0.26 * longest + 1.1)), layout="constrained")
    axes = figure.subplots(n_rows, 2, squeeze=False).ravel()
    for ax, (use, table) in zip(axes, shown, strict=False):
        _panel(ax, use, table)
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _panel(ax: Any, use: Use, table: Table) -> None:
    losses = {name: number(cells[use.loss]) or 0.0 for name, cells in table.items()}
    names = list(table)[::-1]
    ours = losses.get(use.ours) or min(losses.values())
    share = next((column.title for column in use.columns if column.target), None)
    for height, name in enumerate(names):
        ratio = losses[name] / ours
        ax.barh(height, min(ratio, WORST), color=OURS if name == use.ours else OTHERS, height=0.7)
        text = f" {ratio:.2f}" + (f", {table[name][share]}" if share and table[name][share] else "")
        ax.text(min(ratio, WORST), height, text, va="center", fontsize=8.5)
    ax.set_yticks(range(len(names)), [name.split(" (without")[0] for name in names], fontsize=9)
    ax.axvline(1, color=OURS, linewidth=0.8, linestyle=":")
    ax.set(xlim=(0, WORST * 1.22), xticks=[0, 0.5, 1, 1.5, 2])
    ax.set_title(use.title, fontsize=11, loc="left")
    ax.set_xlabel(f"{use.loss} over ours" + (f"; {share}" if share else ""), fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
