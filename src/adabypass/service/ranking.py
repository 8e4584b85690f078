"""Which series are unusual now."""

from collections import deque
from math import sqrt
from typing import Any

MEMORY = 10.0
"""Rows over which surprises are averaged."""
MAX_SURPRISE = 8.0
"""Surprises beyond count as this, so that one value does not lead the list for long."""
N_SPARK = 48
"""Values of a sparkline."""


class SeriesNow:
    """The newest answers of a series, and how surprising they were."""

    __slots__ = ("_square", "changed", "last", "n_rows", "n_since_change", "spark")

    def __init__(self) -> None:
        self.last: dict[str, Any] | None = None
        self.n_rows = 0
        """Rows since the service was started, or that are in the history."""
        self.spark: deque[float | None] = deque(maxlen=N_SPARK)
        self._square = 1.0
        self.changed: str | None = None
        self.n_since_change = 0

    def note(self, answer: dict[str, Any]) -> None:
        """Learn of an answer."""
        self.last = answer
        self.n_rows += 1
        self.spark.append(answer["y"])
        surprise = answer.get("surprise")
        if surprise is not None:
            square = min(abs(surprise), MAX_SURPRISE) ** 2
            self._square += (square - self._square) / MEMORY
        self.n_since_change += 1
        if answer.get("change"):
            self.changed, self.n_since_change = answer["change"], 0

    @property
    def unusual(self) -> float:
        """Root mean square of the newest surprises, the last ten above all: 1 is usual, 3 is not.

        A surprise is a standard normal deviate.
        """
        return sqrt(self._square)
