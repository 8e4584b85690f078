"""Work on many series by several threads, each with a runner of its own."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice, pairwise
from typing import TypeVar

from adabypass.errors import ConcurrentUseError
from adabypass.kernels.runner import Runner
from adabypass.validation import Integers, check_int

S = TypeVar("S")
T = TypeVar("T")
MAX_THREADS = 1024
CHUNK = 16_384
"""Observations that a thread works on at most before it looks whether it is to stop: about a tenth of a second."""
SMALL = 256
"""So many observations, or fewer, take less time than it takes to start a thread."""
CHUNKS_EACH = 8
"""Parts into which the work of a thread is divided, so that all end at about the same time."""


def check_threads(n_threads: object) -> int:
    """Return how many threads to use: as many as there are processors for this process, if None."""
    if n_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return check_int(n_threads, "n_threads", minimum=1, maximum=MAX_THREADS)


def chunks(begin: Integers, n_threads: int) -> list[slice]:
    """Return parts of the series with about as many observations each.

    Parameters
    ----------
    begin : array (n_series + 1,)
        Where among all observations those of each series begin.
    """
    n_series, n = len(begin) - 1, int(begin[-1] - begin[0])
    size = max(1, min(CHUNK, -(-n // (CHUNKS_EACH * n_threads))))
    if n_threads == 1 and n <= CHUNK:
        return [slice(0, n_series)] if n_series else []
    bounds = [0]
    while bounds[-1] < n_series:
        start = bounds[-1]
        stop = int(begin.searchsorted(begin[start] + size, side="left"))
        bounds.append(min(max(stop, start + 1), n_series))
    return [slice(*pair) for pair in pairwise(bounds)]


def work_through(
    parts: list[slice],
    runners: list[Runner],
    work: Callable[[Runner, slice], int],
    progress: Callable[[int], None] | None,
) -> None:
    """Do all parts of the work, each by one of the threads, which have a runner each; report progress in this one.

    Parameters
    ----------
    work
        Returns how much was done: what `progress` is called with.
    """
    if len(runners) == 1 or len(parts) <= 1:
        for part in parts:
            done = work(runners[0], part)
            if progress is not None:
                progress(done)
        return
    _Team(parts, runners, work).run(progress)


def in_threads(work: Callable[[S], T], items: Iterable[S], n_threads: int) -> Iterator[T]:
    """Return the results of `work` for each item, in their order, computed by `n_threads` threads.

    It pays where most of the time goes to compiled code without the interpreter's lock. After an error, or Ctrl-C, no
    more items are begun. A single item is left to this thread, the only one that Ctrl-C stops at once.
    """
    every = iter(items)
    first = list(islice(every, 2))
    items = chain(first, every)
    if n_threads == 1 or len(first) < 2:
        yield from map(work, items)
        return
    team = ThreadPoolExecutor(n_threads)
    try:
        yield from team.map(work, items)
    finally:
        team.shutdown(cancel_futures=True)


class _Team:
    """Threads that take one part of the work after another."""

    def __init__(self, parts: list[slice], runners: list[Runner], work: Callable[[Runner, slice], int]) -> None:
        self._parts: Iterator[slice] = iter(parts)
        self._runners, self._work = runners[: len(parts)], work
        self._stop, self._moved = threading.Event(), threading.Condition()
        self._done, self._n_busy = 0, len(self._runners)
        self._error: BaseException | None = None
        self._process = os.getpid()

    def run(self, progress: Callable[[int], None] | None) -> None:
        threads = [threading.Thread(target=self._take_parts, args=(runner,), daemon=True) for runner in self._runners]
        try:
            for thread in threads:
                thread.start()
            self._report(progress)
        except BaseException:  # Ctrl-C, or an error of `progress`: no thread may go on behind the caller's back
            self._stop.set()
            raise
        finally:
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
        if self._error is not None:
            raise self._error

    def _take_parts(self, runner: Runner) -> None:
        try:
            for part in self._parts:
                if self._stop.is_set():
                    break
                done = self._work(runner, part)
                with self._moved:
                    self._done += done
                    self._moved.notify()
        except BaseException as error:
            self._error = error
            self._stop.set()
        finally:
            with self._moved:
                self._n_busy -= 1
                self._moved.notify()

    def _report(self, progress: Callable[[int], None] | None) -> None:
        while True:
            with self._moved:
                while self._done == 0 and self._n_busy > 0:
                    self._moved.wait()
                done, self._done, is_over = self._done, 0, self._n_busy == 0
            if progress is not None and done:
                progress(done)
                if os.getpid() != self._process:
                    raise ConcurrentUseError(
                        "this process was forked while the panel was at work in threads, which are not in this "
                        "process; fork before or after, or work with n_threads=1."
                    )
            if is_over:
                return
