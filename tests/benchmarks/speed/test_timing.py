"""Tasks take turns, the best time counts, and what fails is shown with its reason."""

from collections.abc import Callable

import numpy as np
from benchmarks.speed.timing import Best, Effort, NotAvailable, Sample, Task, measure, timed
from pytest import approx


def sampled(key: str, seconds: list[float], order: list[str], per: int = 1) -> Task:
    left = iter(seconds)

    def once() -> Sample:
        order.append(key)
        return Sample(next(left))

    return Task(key, once, per)


def test_tasks_take_turns_and_every_other_round_is_backwards() -> None:
    order: list[str] = []
    tasks = [sampled("a", [1.0] * 3, order), sampled("b", [1.0] * 3, order)]
    measure(tasks, Effort(seconds=100.0, at_least=1, at_most=3))
    assert order == ["a", "b", "b", "a", "a", "b"]


def test_the_least_time_for_one_observation_counts() -> None:
    found = measure([sampled("a", [6.0, 2.0, 4.0], [], per=4)], Effort(100.0, 1, 3))
    best = found["a"]
    assert isinstance(best, Best)
    assert (best.seconds, best.repetitions) == (0.5, 3)


def test_a_task_ends_after_its_time_but_not_before_its_least_number_of_repetitions() -> None:
    order: list[str] = []
    tasks = [sampled("slow", [10.0] * 9, order), sampled("fast", [0.1] * 9, order)]
    measure(tasks, Effort(seconds=0.45, at_least=2, at_most=9))
    assert order.count("slow") == 2
    assert order.count("fast") == 5


def test_what_fails_is_explained_and_the_others_go_on() -> None:
    def fails_with(problem: Exception) -> Task:
        def once() -> Sample:
            raise problem

        return Task(type(problem).__name__, once, 1)

    problems = [ImportError("no module"), NotAvailable("no C compiler"), ZeroDivisionError("by zero\nand more")]
    found = measure([*map(fails_with, problems), sampled("good", [1.0], [])], Effort(1.0, 1, 1))
    assert found["ImportError"] == "not installed"
    assert found["NotAvailable"] == "no C compiler"
    assert found["ZeroDivisionError"] == "failed: ZeroDivisionError: by zero"
    assert isinstance(found["good"], Best)


def test_preparing_is_not_timed_and_forecasts_are_kept() -> None:
    def repetition() -> Callable[[], object]:
        sum(range(3_000_000))
        return lambda: [1.0, 2.0]

    sample = timed("a", 2, repetition).once()
    assert sample.seconds < 0.005
    assert sample.forecasts is not None
    assert sample.forecasts == approx(np.array([1.0, 2.0]))
