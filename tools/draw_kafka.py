"""Draw where the state of a stream between two topics of Kafka lives, and what each failure costs."""

import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

mpl.use("Agg")
import matplotlib.pyplot as plt

INK, PALE, KAFKA, PROCESS, DISK, FAILURE = "#22303c", "#6b7a86", "#e3ecf7", "#fdf3dc", "#e4f2e5", "#b3261e"
FAILURES = [
    ("A", "The process is killed", "nothing; rows since the last checkpoint are learned again"),
    ("B", "Power cut", "the same: the folder is flushed to the disk before each transaction of Kafka"),
    ("C", "A broker is away", "a pause; beyond 45 s the process stops with an error, and a restart goes on"),
    ("D", "The disk is lost", "rows that the topic still has are learned again, and not answered again"),
    ("E", "The process hangs, another takes over", "nothing: Kafka refuses what the first one still sends"),
    ("F", "Rows deleted before they were read", "those rows: the command stops, and goes on without them on request"),
]


MARKS = (
    ("A", 67.3, 67.3), ("B", 80.2, 34.2), ("C", 107.2, 67.3), ("D", 30.0, 34.2), ("E", 43.0, 67.3), ("F", 3.0, 67.3),
)  # fmt: skip
"""Where the failures are in the drawing."""


def box(axes: Axes, x: float, y: float, width: float, height: float, colour: str, title: str, below: str) -> None:
    """Draw a box with a title above it, and in small letters what it is."""
    axes.add_patch(
        FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=1.2", facecolor=colour, edgecolor=INK)
    )
    axes.text(x + width / 2, y + height - 2.6, title, ha="center", va="center", fontsize=10, weight="bold", color=INK)
    axes.text(x + width / 2, y + height - 5.3, below, ha="center", va="center", fontsize=7.5, color=PALE)


def log(axes: Axes, x: float, y: float, n_done: int, n: int, label: str, done: str) -> None:
    """Draw a partition as a row of messages, the first of them done."""
    for i in range(n):
        axes.add_patch(
            Rectangle((x + 2.1 * i, y), 2.1, 2.6, facecolor=done if i < n_done else "white", edgecolor=INK, lw=0.7)
        )
    axes.text(x - 0.8, y + 1.3, label, ha="right", va="center", fontsize=7.5, color=INK)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], bend: float = 0.0) -> None:
    """Draw an arrow."""
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=13, color=INK, lw=1.3, connectionstyle=f"arc3,rad={bend}",
        )
    )  # fmt: skip


def step(axes: Axes, x: float, y: float, number: str, text: str, align: str = "left") -> None:
    """Write what an arrow means, after its number."""
    axes.add_patch(Circle((x, y), 1.25, facecolor=INK, edgecolor=INK))
    axes.text(x, y - 0.05, number, ha="center", va="center", fontsize=8, color="white", weight="bold")
    side = 2.1 if align == "left" else -2.1
    axes.text(x + side, y, text, ha=align, va="center", fontsize=8, color=INK, linespacing=1.25)


def failure(axes: Axes, x: float, y: float, letter: str) -> None:
    """Mark the place of a failure."""
    axes.add_patch(Circle((x, y), 1.35, facecolor="white", edgecolor=FAILURE, lw=1.4, zorder=5))
    axes.text(x, y - 0.05, letter, ha="center", va="center", fontsize=8.5, color=FAILURE, weight="bold", zorder=6)


def draw(path: str) -> None:
    """Draw all of it."""
    figure, axes = plt.subplots(figsize=(11, 7.3))
    axes.set(xlim=(0, 110), ylim=(-3, 70), aspect="equal")
    axes.axis("off")

    box(axes, 1, 45, 29, 24, KAFKA, "topic: rows", "in Kafka, as long as its retention says")
    for i, (n_done, n) in enumerate(((7, 10), (5, 9), (8, 10))):
        log(axes, 6, 57.5 - 4.2 * i, n_done, n, f"{i}", "#9db9dc")
    for x, colour, name in ((6, "#9db9dc", "learned"), (16, "white", "not yet read")):
        axes.add_patch(Rectangle((x, 46.3), 1.5, 1.5, facecolor=colour, edgecolor=INK, lw=0.6))
        axes.text(x + 2.2, 47.0, name, va="center", fontsize=7.5, color=PALE)

    box(axes, 41, 45, 28, 24, PROCESS, "adabypass stream", "one process; may die at any time")
    for i, name in enumerate(("series a", "series b", "series c", "...")):
        axes.text(44, 60.0 - 3.2 * i, name, fontsize=8, color=INK, va="center")
        if name != "...":
            axes.add_patch(Rectangle((52, 59.0 - 3.2 * i), 14.5, 2, facecolor="#f3d58b", edgecolor=INK, lw=0.6))
    axes.text(55, 47.3, "a model of each series, in memory", ha="center", fontsize=7.5, color=PALE)

    box(axes, 80, 45, 29, 24, KAFKA, "topic: answers", "in Kafka; each names its row")
    for i, n in enumerate((9, 8)):
        log(axes, 85, 57.5 - 4.2 * i, n, n, f"{i}", "#b9d3a4")
    axes.text(94.5, 50.6, "adabypass-row: group/rows/2/7", ha="center", fontsize=7.5, color=INK, family="monospace")
    axes.text(94.5, 47.3, "written in transactions", ha="center", fontsize=7.5, color=PALE)

    box(axes, 28, 21.7, 54, 13.8, DISK, "--state DIR", "on a local disk: all that must survive")
    for x, title, text in (
        (30, "rows since the checkpoint", "id, time, values;\nthe next offset of each partition"),
        (55, "series, as of the checkpoint", "a model of each;\nwhere the answers ended"),
    ):
        axes.text(x, 27.6, title, fontsize=8.5, weight="bold", color=INK, va="center")
        axes.text(x, 24.5, text, fontsize=7.5, color=INK, va="center", linespacing=1.3)

    arrow(axes, (30.5, 57), (40.5, 57))
    step(axes, 32.2, 60.2, "1", "rows")
    arrow(axes, (46, 44.6), (40, 36.0))
    step(axes, 21.0, 40.4, "2", "commit the rows,\nflush to the disk")
    arrow(axes, (69.5, 57), (79.5, 57))
    step(axes, 71.0, 60.2, "3", "answers")
    arrow(axes, (62, 44.6), (67, 36.0))
    step(axes, 68.0, 41.0, "4", "a checkpoint:\nseries that changed")
    arrow(axes, (95, 44.6), (82.5, 30), bend=-0.25)
    step(axes, 94.6, 34.0, "5", "after a restart:\nwhich rows are\nanswered?")

    for letter, across, up in MARKS:
        failure(axes, across, up, letter)
    axes.text(1, 18.6, "What each failure costs", fontsize=10, weight="bold", color=INK)
    for i, (letter, what, cost) in enumerate(FAILURES):
        height = 15.2 - 3.1 * i
        failure(axes, 2.6, height, letter)
        axes.text(5.4, height, what, fontsize=8.5, color=INK, va="center")
        axes.text(38, height, cost, fontsize=8.5, color=INK, va="center")
    figure.savefig(path, dpi=150, bbox_inches="tight", facecolor="white")
    plt.close(figure)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parents[1] / "docs/images/kafka.png"))
