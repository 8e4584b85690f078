"""Traces to draw, and what was drawn, read off the artists."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from adabypass import AdaBypass, AutoBypass, Normal, Trace
from adabypass.validation import Floats

DAYS = np.datetime64("2020-01-01") + np.arange(120)


class Ahead(Normal):
    """A forecast of several steps ahead, as `plots.fan` asks for one."""

    __slots__ = ("paths",)

    paths: Any

    def __init__(self, mean: Floats, var: Floats, paths: Any = None) -> None:
        super().__init__(mean, var)
        self.paths = paths

    def __len__(self) -> int:
        return len(self.mean)


def stream(n: int = 120) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, 3.0 + X @ [2.0, -1.0] + rng.normal(size=n)


def auto_trace(n: int = 120) -> Trace:
    X, y = stream(n)
    y[n // 2 : n // 2 + 10] = np.nan
    return AutoBypass().run(X, y, keep_weights=True)


def normal_trace(n: int = 120) -> Trace:
    X, y = stream(n)
    y[n // 2 : n // 2 + 10] = np.nan
    return AdaBypass().run(X, y, keep_weights=True)


def line(ax: Axes, label: str) -> Any:
    return next(line for line in ax.get_lines() if line.get_label() == label)


def edges(ax: Axes, label: str, at: Any) -> tuple[Floats, Floats]:
    """Read the lower and upper edge of the band with that label off its polygons; nan where it is not drawn."""
    band = next(c for c in ax.collections if isinstance(c, PolyCollection) and c.get_label() == label)
    corners = np.concatenate([path.vertices for path in band.get_paths()])
    sides = [corners[corners[:, 0] == moment, 1] for moment in at]
    low, high = ([float(pick(side)) if len(side) else np.nan for side in sides] for pick in (np.min, np.max))
    return np.array(low), np.array(high)


def in_words(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]
