"""Time tasks in turn, several times over, and keep the best time of each: noise of the machine hits all alike.

The time is that which the process spent on a core. Where nothing else runs it equals the time on the clock; where other
programs take the core away meanwhile, it stays nearly the same. Threads of a library add up.
"""

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from adabypass.validation import Floats


class NotAvailable(Exception):  # noqa: N818  (no error of the benchmark: a fact about the machine)
    """What is to be timed cannot be had on this machine; the message says why."""


class Sample(NamedTuple):
    """One repetition of a task."""

    seconds: float
    forecasts: Floats | None = None
    """What was forecast during the timed call; None where the task forecasts nothing."""


class Task(NamedTuple):
    """Something to time."""

    key: str
    once: Callable[[], Sample]
    per: int
    """How many observations, or calls, one repetition handles."""


class Effort(NamedTuple):
    """How long to repeat each task."""

    seconds: float
    """Time after which a task is not repeated any more ..."""
    at_least: int
    """... but for so many repetitions that it has in any case."""
    at_most: int


class Best(NamedTuple):
    """The best of the repetitions of a task."""

    seconds: float
    """For one observation, or one call."""
    repetitions: int
    forecasts: Floats | None


def timed(key: str, per: int, prepare: Callable[[], Callable[[], object]]) -> Task:
    """Return a task that times what `prepare` returns; preparing is not timed.

    A list or array that the timed call returns is taken for its forecasts.
    """

    def once() -> Sample:
        go = prepare()
        with _no_garbage_collection():
            start = time.process_time()
            result = go()
            seconds = time.process_time() - start
        is_forecasts = isinstance(result, (list, np.ndarray))
        return Sample(seconds, np.asarray(result, dtype=np.float64) if is_forecasts else None)

    return Task(key, once, per)


def measure(
    tasks: Sequence[Task], effort: Effort, report: Callable[[str], None] = lambda key: None
) -> dict[str, Best | str]:
    """Repeat the tasks in turn, every other round backwards; return the best of each, or why there is none.

    Parameters
    ----------
    tasks
        What to time.
    effort
        How often.
    report
        Called with the key of each task before each repetition.
    """
    left = list(tasks)
    total = {task.key: 0.0 for task in tasks}
    found: dict[str, Best | str] = {}
    for repetition in range(effort.at_most):
        for task in list(left) if repetition % 2 == 0 else list(reversed(left)):
            report(task.key)
            try:
                sample = task.once()
            except Exception as problem:  # whatever a peer raises is a result to show
                found[task.key] = explain(problem)
                left.remove(task)
                continue
            before = found.get(task.key)
            least = before.seconds if isinstance(before, Best) else math.inf
            forecasts = before.forecasts if isinstance(before, Best) else sample.forecasts
            found[task.key] = Best(min(least, sample.seconds / task.per), repetition + 1, forecasts)
            total[task.key] += sample.seconds
            if repetition + 1 >= effort.at_least and total[task.key] >= effort.seconds:
                left.remove(task)
    return found


def explain(problem: Exception) -> str:
    """Return why something was not timed, in a line."""
    if isinstance(problem, ImportError):
        return "not installed"
    if isinstance(problem, NotAvailable):
        return str(problem)
    return f"failed: {type(problem).__name__}: {problem}".splitlines()[0]


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
