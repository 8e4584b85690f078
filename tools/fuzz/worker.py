"""One process of the fuzzer: makes its share of the calls from one or many threads and prints what came of them.

Each thread notes its next call in a file that is mapped into memory, so that the note survives a crash of the process.
"""

import argparse
import faulthandler
import json
import mmap
import os
import sys
import threading
import warnings
from collections import Counter
from random import Random
from typing import Any

import numpy as np
from tools.fuzz.calls import Call, Caller, Pool
from tools.fuzz.hostile import HostileError
from tools.fuzz.races import LostUpdateError

from adabypass import Forecaster, Regressor
from adabypass.errors import AdabypassError

NOTE = 512
"""Bytes for the note of each thread."""


class Tally:
    """What came of the calls of one thread."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.raw: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.changed: dict[str, str] = {}
        """Refused calls that changed the model, by method; only looked for with a single thread."""
        self.unsound: dict[str, str] = {}
        """Calls after which a model's memory was not finite, by method."""
        self.locked: dict[str, str] = {}
        """Calls after which a model refused to be changed, by method; with many threads, models at the end."""


def state_of(target: object) -> bytes | None:
    """Return the memory of a model or a forecaster as bytes, None for other objects."""
    return target.to_bytes() if isinstance(target, Regressor | Forecaster) else None


def is_locked(target: object) -> bool:
    """Return whether a model believes that it runs a stream, which it does not while nobody calls it."""
    return isinstance(target, Regressor | Forecaster) and target._guard.is_running


def is_finite(target: object) -> bool:
    """Check that every number in the memory of a regressor is finite, but for the score of a blank forecast."""
    if not isinstance(target, Regressor):
        return True
    row, layout = target.__getstate__()["row"], target._spec.layout
    if row is None:
        return True
    if "log_score" in layout.scalars and np.isnan(layout.scalar(row, "log_score")):
        row[layout.position("log_score")] = 0.0  # of the copy: the newest forecast was blank, and has no score
    return bool(np.isfinite(row).all())


def make_call(call: Call, pool: Pool, tally: Tally, alone: bool) -> None:
    """Make one call, and count what came of it."""
    before = state_of(call.target) if alone and not call.reentrant else None
    method = call.label.partition("(")[0]
    tally.counts["calls"] += 1
    try:
        result = call.make()
    except HostileError:
        tally.counts["refused"] += 1
    except LostUpdateError as error:
        tally.changed.setdefault(method, f"{call.label}: {error}")
    except AdabypassError:
        tally.counts["refused"] += 1
        if before is not None and state_of(call.target) != before:
            tally.changed.setdefault(method, call.label)
    except Exception as error:
        kind = type(error).__name__
        tally.raw[kind] += 1
        tally.examples.setdefault(f"{kind} in {method}", f"{call.label}: {str(error)[:120]}")
    else:
        pool.add(result)
    if alone and not is_finite(call.target):
        tally.unsound.setdefault(method, call.label)
    if alone and is_locked(call.target):
        tally.locked.setdefault(method, call.label)


def make_calls(caller: Caller, n: int, tally: Tally, notes: mmap.mmap, number: int, alone: bool) -> None:
    """Make `n` calls, noting each before it is made."""
    for _ in range(n):
        call = caller.draw()
        notes[number * NOTE : (number + 1) * NOTE] = call.label.encode(errors="replace")[:NOTE].ljust(NOTE)
        make_call(call, caller.pool, tally, alone)


def write_to_arrays(pool: Pool, seed: object, stop: threading.Event) -> None:
    """Write good and bad numbers to the shared arrays, for as long as other threads read them."""
    random = Random(f"{seed} writer")
    values = [1.0, 0.5, float("nan"), float("inf"), 1e308, -1e-308]
    while not stop.wait(1e-4):
        array: Any = random.choice(pool.arrays)
        array.flat[random.randrange(array.size)] = random.choice(values)


def run(seed: int, n: int, n_threads: int, path: str) -> dict[str, Any]:
    """Make `n` calls from `n_threads` threads that share their models; return the counts."""
    pool = Pool()
    with open(path, "w+b") as file:
        file.truncate(NOTE * n_threads)
        notes = mmap.mmap(file.fileno(), NOTE * n_threads)
    tallies = [Tally() for _ in range(n_threads)]
    callers = [Caller(pool, f"{seed} {number}") for number in range(n_threads)]
    if n_threads == 1:
        make_calls(callers[0], n, tallies[0], notes, 0, alone=True)
    else:
        sys.setswitchinterval(1e-5)
        stop = threading.Event()
        writer = threading.Thread(target=write_to_arrays, args=(pool, seed, stop))
        share = [n // n_threads + (number < n % n_threads) for number in range(n_threads)]
        threads = [
            threading.Thread(target=make_calls, args=(callers[i], share[i], tallies[i], notes, i, False))
            for i in range(n_threads)
        ]
        for thread in (writer, *threads):
            thread.start()
        for thread in threads:
            thread.join()
        stop.set()
        writer.join()
    for model in pool.models:
        if is_locked(model):
            tallies[0].locked.setdefault(f"{type(model).__name__} at the end", repr(model))
    counts = summary(tallies)
    if counts["calls"] != n:
        raise RuntimeError(f"{counts['calls']} of {n} calls were made: a thread of the fuzzer itself failed.")
    return counts


def summary(tallies: list[Tally]) -> dict[str, Any]:
    """Add up what came of the calls of every thread."""
    names = ("examples", "changed", "unsound", "locked")
    total: dict[str, Any] = {"raw": Counter()} | {name: {} for name in names}
    counts: Counter[str] = Counter()
    for tally in tallies:
        counts += tally.counts
        total["raw"] += tally.raw
        for name in names:
            total[name] = getattr(tally, name) | total[name]
    return total | {"calls": counts["calls"], "refused": counts["refused"]}


def main() -> None:
    """Run one worker and print its counts as JSON on the last line."""
    parser = argparse.ArgumentParser()
    for name in ("seed", "calls", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--notes", required=True)
    options = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    out = os.dup(1)
    os.dup2(2, 1)  # whatever a call prints must not mix with the counts
    counts = run(options.seed, options.calls, options.threads, options.notes)
    os.write(out, json.dumps(counts).encode())


if __name__ == "__main__":
    main()
