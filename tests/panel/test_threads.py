"""Work that threads share ends when the caller's does: nothing more is begun, and no thread is left over."""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from adabypass.panel.threads import in_threads, work_through

PARTS = [slice(i, i + 1) for i in range(200)]
RUNNERS: list[Any] = ["one", "two", "three"]


def slow(begun: list[int]) -> Callable[[Any, slice], int]:
    def work(runner: Any, part: slice) -> int:
        begun.append(part.start)
        time.sleep(0.001)
        return 1

    return work


def test_every_part_is_done_once_and_reported() -> None:
    begun: list[int] = []
    done: list[int] = []
    work_through(PARTS, RUNNERS, slow(begun), done.append)
    assert sorted(begun) == list(range(200))
    assert sum(done) == 200


def test_no_two_threads_share_a_runner() -> None:
    busy: set[str] = set()

    def work(runner: Any, part: slice) -> int:
        assert runner not in busy
        busy.add(runner)
        time.sleep(0.001)
        busy.remove(runner)
        return 1

    work_through(PARTS, RUNNERS, work, None)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_of_the_caller_s_progress_ends_the_work(error: type[BaseException]) -> None:
    begun: list[int] = []
    before = threading.active_count()

    def stop(n: int) -> None:
        raise error("enough")

    with pytest.raises(error, match="enough"):
        work_through(PARTS, RUNNERS, slow(begun), stop)
    assert threading.active_count() == before
    assert len(begun) < 100


def test_an_error_of_one_thread_ends_the_others_work_and_is_raised() -> None:
    begun: list[int] = []
    before = threading.active_count()

    def work(runner: Any, part: slice) -> int:
        if part.start == 10:
            raise ValueError("the tenth")
        return slow(begun)(runner, part)

    with pytest.raises(ValueError, match="the tenth"):
        work_through(PARTS, RUNNERS, work, None)
    assert threading.active_count() == before
    assert len(begun) < 100


def test_results_that_are_no_longer_wanted_are_not_computed() -> None:
    begun: list[int] = []
    before = threading.active_count()
    with closing(in_threads(lambda i: slow(begun)(None, slice(i, i + 1)), range(200), 3)) as results:
        next(results)
    assert threading.active_count() == before
    assert len(begun) < 100
