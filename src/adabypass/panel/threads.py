"""Work on many series by several threads, each with a runner of its own."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import chain, islice, pairwise
from queue import SimpleQueue
from typing import TypeVar, cast

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
    process = os.getpid()
    with closing(_shared(parts, runners[: len(parts)], work)) as reports:
        for done in reports:
            if progress is not None:
                progress(done)
            if os.getpid() != process:
                raise ConcurrentUseError(
                    "this process was forked while the panel was at work in threads, which are not in this process; "
                    "fork before or after, or work with n_threads=1."
                )


def _shared(
    parts: list[slice], runners: list[Runner], work: Callable[[Runner, slice], int]
) -> Generator[int, None, None]:
    """Yield how much was done, part by part, by threads that take one part after another.

    After an error, Ctrl-C, or when it is closed, no more parts are begun, and no thread is left over.
    """
    left = iter(parts)
    reports: SimpleQueue[int | None] = SimpleQueue()

    def take_parts(runner: Runner) -> None:
        try:
            for part in left:
                reports.put(work(runner, part))
        except BaseException:
            _exhaust(left)
            raise
        finally:
            reports.put(None)

    team = ThreadPoolExecutor(len(runners))
    try:
        ends = [team.submit(take_parts, runner) for runner in runners]
        for _ in ends:
            yield from cast(Iterator[int], iter(reports.get, None))
        for end in ends:
            end.result()
    finally:
        _exhaust(left)
        team.shutdown()


def _exhaust(left: Iterator[slice]) -> None:
    """Take all that is left, so that no thread finds more to do."""
    deque(left, maxlen=0)


def in_threads(work: Callable[[S], T], items: Iterable[S], n_threads: int) -> Generator[T, None, None]:
    """Yield the results of `work` for each item, in their order, computed by `n_threads` threads.

    It pays where most of the time goes to compiled code without the interpreter's lock. After an error, Ctrl-C, or when
    it is closed, no more items are begun, and no thread is left over. A single item is left to this thread, the only
    one that Ctrl-C stops at once.
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
