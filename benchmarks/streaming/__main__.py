"""Measure a `Stream` on disk: time a row, memory, checkpoints and starts, by the number of series.

    .venv/bin/python -m benchmarks.streaming --series 1,100,100000,1000000

Every number of series has a process of its own. Rows are those of random walks, all series in turn, in batches. A
checkpoint is timed after a tenth, and after all, of the series in memory have changed; a start with nothing to learn
again, and after the process was killed.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from adabypass import Forecaster, Stream
from adabypass.streaming.answers import AnswerFormat, encode_json
from adabypass.streaming.rows import Columns, Row

BATCH = 1000
MIN_ROWS = 100_000


def opened(folder: Path, n_series: int, max_memory: int) -> Stream:
    """Open the stream whose answers are JSON lines, as those of `adabypass stream` are."""
    wanted = AnswerFormat(key="k" if n_series > 1 else None)
    columns = Columns(("y",), ("k",) if n_series > 1 else ())
    return Stream._of(folder, Forecaster(lags=1), wanted, columns, encode_json(wanted), max_memory=max_memory)


class Source:
    """Rows of all series in turn."""

    def __init__(self, n_series: int) -> None:
        self._n, self._at = n_series, 0
        self._level = np.zeros(n_series)
        self._rng = np.random.default_rng(0)

    def rows(self, n: int) -> list[Row]:
        """Return the next rows."""
        first, n_series = self._at, self._n
        self._at += n
        which = np.arange(first, first + n) % n_series
        self._level[which] += self._rng.normal(size=n)
        keys = [f'"host-{i}"' for i in which.tolist()] if n_series > 1 else [""] * n
        numbers = range(first + 1, first + n + 1)
        return list(map(Row, numbers, keys, [""] * n, self._level[which].tolist(), [None] * n))


def learn(stream: Stream, source: Source, n: int) -> tuple[float, float]:
    """Learn rows; return the seconds on the core, and on the clock, that a row took, without the making of rows."""
    core = clock = 0.0
    for start in range(0, n, BATCH):
        rows = source.rows(min(BATCH, n - start))
        cpu, begun = process_time(), perf_counter()
        stream._learn_rows(rows)
        stream._checkpoint_if_due()
        core += process_time() - cpu
        clock += perf_counter() - begun
    return core / n, clock / n


def timed(function: Any, *arguments: Any) -> tuple[float, Any]:
    """Return the seconds on the clock that a call took, and its result."""
    begun = perf_counter()
    found = function(*arguments)
    return perf_counter() - begun, found


def measure(folder: Path, n_series: int, max_memory: int, n_rows: int) -> dict[str, Any]:
    """Measure one number of series."""
    source = Source(n_series)
    found: dict[str, Any] = {"series": n_series}
    stream = opened(folder, n_series, max_memory)
    new = learn(stream, source, n_series)
    found |= {"us a new series, core": new[0] * 1e6, "us a new series, clock": new[1] * 1e6}
    known = learn(stream, source, n_rows)
    found |= {"us a row, core": known[0] * 1e6, "us a row, clock": known[1] * 1e6}
    stream.checkpoint()
    in_memory = len(stream._learner.series)
    for share in (0.1, 1.0):
        n = max(1, int(share * min(in_memory, n_series) * 0.4))
        stream._learn_rows(source.rows(n))
        n_dirty = stream._learner.series.n_dirty
        seconds, _ = timed(stream.checkpoint)
        found |= {f"s a checkpoint of {n_dirty} changed series": seconds}
    found["MB at most"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["series in memory"] = in_memory
    stream._learn_rows(source.rows(min(10_000, 10 * n_series)))
    (folder.parent / "found").write_text(json.dumps(found))
    os.kill(os.getpid(), signal.SIGKILL)
    return found


def starts(folder: Path, n_series: int, max_memory: int) -> dict[str, Any]:
    """Time a start after a kill, and one after that."""
    killed, stream = timed(opened, folder, n_series, max_memory)
    n_replayed = stream.resumed.n_replayed
    stream.close()
    closed, stream = timed(opened, folder, n_series, max_memory)
    assert len(stream) == n_series
    stream.close()
    size = sum(each.stat().st_size for each in folder.iterdir())
    return {
        f"s a start, {n_replayed} rows to learn again": killed, "s a start, nothing to learn again": closed,
        "MB on disk": size / 1e6,
    }  # fmt: skip


def main() -> None:
    """Measure each number of series in a process of its own, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", default="1,100,100000")
    parser.add_argument("--max-memory", type=int, default=1 << 29)
    parser.add_argument("--rows", type=int, help="Rows of known series; as many as there are series if not given.")
    parser.add_argument("--folder", type=Path, help="Where the streams are kept meanwhile.")
    parser.add_argument("--part", choices=["measure", "starts"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    numbers = [int(each) for each in arguments.series.split(",")]
    if arguments.part is not None:
        n_rows = arguments.rows or max(MIN_ROWS, numbers[0])
        if arguments.part == "measure":
            measure(arguments.folder, numbers[0], arguments.max_memory, n_rows)
        else:
            print(json.dumps(starts(arguments.folder, numbers[0], arguments.max_memory)))
        return
    for n_series in numbers:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            folder = Path(name) / "state"
            command = [
                sys.executable, "-m", "benchmarks.streaming", "--series", str(n_series), "--folder", str(folder),
                "--max-memory", str(arguments.max_memory),
                *([] if arguments.rows is None else ["--rows", str(arguments.rows)]),
            ]  # fmt: skip
            subprocess.run([*command, "--part", "measure"], check=False)  # it kills itself
            found = json.loads((Path(name) / "found").read_text())
            done = subprocess.run([*command, "--part", "starts"], check=True, capture_output=True, text=True)
            for what, value in (found | json.loads(done.stdout)).items():
                print(f"{value:>14,.3f}  {what}" if isinstance(value, float) else f"{value:>14,}  {what}")
            print(flush=True)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
