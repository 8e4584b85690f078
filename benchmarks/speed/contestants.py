"""What a library must offer to be timed, and how many rows it is given."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from adabypass.validation import Floats
from benchmarks.speed.streams import Stream
from benchmarks.speed.timing import Effort, Task, timed

CALIBRATION_ROWS = 20
PATIENCE = 10
"""How many times the usual time a slow contestant may take, so that its rows are enough to learn from."""


def enough_rows(n_features: int) -> int:
    """Return how many rows every learner here has learned from."""
    return 4 * n_features + 200


class Mode(StrEnum):
    """How rows are handed over."""

    ROW_BY_ROW = "row by row"
    """From Python: a forecast, then an update, for each row."""
    IN_BULK = "in bulk"
    """All rows in one call."""


Forecasts: TypeAlias = Sequence[float] | Floats
Prepare: TypeAlias = Callable[[Stream], Callable[[], Callable[[], Forecasts]]]
"""Bring a stream into the library's own format; then, for each repetition, make a new model; then, timed, run it."""


class Contestant(NamedTuple):
    """A model of a library, and a way to use it."""

    name: str
    mode: Mode
    prepare: Prepare
    max_rows: Callable[[int], int] | None = None
    """The number of rows, by the number of features, that memory allows; None if it is not limited."""

    def key(self, n_features: int) -> str:
        """Return the name of a result."""
        return f"{self.mode}/{self.name}/{n_features}"


def task_of(contestant: Contestant, stream: Stream, effort: Effort) -> tuple[Task, Stream]:
    """Return the task that times a contestant, and the rows it is given: fewer if it is slow, never too few to learn.

    A first run on a few rows tells how slow it is, and loads what is loaded at first use.
    """
    d = stream.n_features
    few = stream.head(CALIBRATION_ROWS)
    warm_up = timed("", len(few.y), contestant.prepare(few))
    seconds = min(warm_up.once().seconds for _ in range(2)) / len(few.y)
    rows = max(effort.seconds / effort.at_least, min(seconds * enough_rows(d), PATIENCE * effort.seconds)) / seconds
    most = len(stream.y) if contestant.max_rows is None else contestant.max_rows(d)
    given = stream.head(max(CALIBRATION_ROWS, min(int(rows), most)))
    return timed(contestant.key(d), len(given.y), contestant.prepare(given)), given
