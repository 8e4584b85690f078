"""Run millions of rows through `adabypass stream --state`, and report memory and time per row as they go by.

    .venv/bin/python tools/long_stream.py --rows 10000000 --every 10000

Rows are made as they are sent. At the end the state is loaded and checked: every number finite, covariances positive
semi-definite. `ARGS` after `--` go to the command.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import monotonic, process_time
from typing import IO

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.checks.regressors import assert_sound

from adabypass import Forecaster, Panel, load
from adabypass.streaming.inspection import inspect

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
SENT_AT_ONCE = 1000
COMPARED, REPETITIONS = 2000, 40
"""Rows of which the speed is compared, in turn, so often: other work on the machine would look like a trend."""


def seconds(pid: int) -> float:
    """Return the time on the core of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid: int) -> float:
    """Return the memory of a process that is in use, in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6


def send(to: IO[str], n: int) -> None:
    """Write a series that reverts to its mean, with gaps, jumps and changes of its noise."""
    rng = np.random.default_rng(0)
    value = 0.0
    to.write("y\n")
    for start in range(0, n, SENT_AT_ONCE):
        size = min(SENT_AT_ONCE, n - start)
        noise = rng.normal(size=size) * (1.0 if (start // 200_000) % 2 else 3.0)
        blank = rng.random(size) < 0.01
        lines = []
        for each, is_blank in zip(noise.tolist(), blank.tolist(), strict=True):
            value = 0.9 * value + each
            lines.append("NA\n" if is_blank else f"{100 + value:.3f}\n")
        to.write("".join(lines))
    to.close()


def check(panel: Panel, n: int) -> None:
    """Check the state after all rows, and compare its speed with that of a new one."""
    forecaster = panel[panel.ids[0]]
    assert isinstance(forecaster, Forecaster)
    assert_sound(forecaster.model)
    print(f"the state is of row {n:,}: every number finite, covariance positive semi-definite; {forecaster!r}")
    y = (100.0 + np.random.default_rng(1).normal(size=COMPARED)).tolist()
    new = Forecaster(lags=1)
    new.run(y)
    times: dict[str, list[float]] = {"old": [], "new": []}
    for _ in range(REPETITIONS):
        for name, each in (("old", forecaster), ("new", new)):
            begun = process_time()
            for value in y:
                each.step(value).interval(0.9)  # type: ignore[union-attr]
            times[name].append((process_time() - begun) / COMPARED * 1e6)
    old, fresh = min(times["old"]), min(times["new"])
    print(f"a row after {n:,} rows takes {old:.2f} µs, after {COMPARED:,} rows {fresh:.2f} µs: {old / fresh:.3f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--every", type=int, default=10_000)
    parser.add_argument("--blocks", type=int, default=20)
    arguments, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "state"
        command = [sys.executable, "-m", "adabypass", "stream", "--lags", "1", "--every", str(arguments.every),
                   "--state", str(path)]  # fmt: skip
        with subprocess.Popen(
            command + rest, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            threading.Thread(target=send, args=(process.stdin, arguments.rows)).start()
            report(process.pid, process.stdout, arguments.rows, arguments.blocks)
        assert process.returncode == 0, process.returncode
        found = inspect(path)
        assert found["n_learned"] == found["row"] == arguments.rows
        check(load(path), arguments.rows)


def report(pid: int, answers: IO[str], n: int, n_blocks: int) -> None:
    """Print, for each block of rows, time per row and memory."""
    block, start, begun = n // n_blocks, seconds(pid), monotonic()
    times, sizes = [], []
    for number, _ in enumerate(answers, 1):
        if number % block == 0:
            now = seconds(pid)
            times.append((now - start) / block * 1e6)
            sizes.append(memory(pid))
            print(f"{number:>12,} rows  {times[-1]:6.2f} µs a row  {sizes[-1]:6.1f} MB", flush=True)
            start = now
    assert number == n, (number, n)
    print(f"time per row: {min(times):.2f} to {max(times):.2f} µs, memory {min(sizes):.1f} to {max(sizes):.1f} MB")
    print(f"{n:,} rows in {monotonic() - begun:.0f} s on the clock")


if __name__ == "__main__":
    main()
