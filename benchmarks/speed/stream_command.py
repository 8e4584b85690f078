"""The command `adabypass stream` from end to end: rows a second with an interval on every line, and its memory."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

LAUNCH = Path(__file__).with_name("launch.py")
MAX_UNKNOWN = 10
"""How many lines may lack an interval: the first, before there is a value to forecast from."""


class Run(NamedTuple):
    """One run of the command."""

    rows: int
    seconds: float
    """Time on the core, starting up included."""
    elapsed: float
    """Time on the clock."""
    peak: int
    """Bytes."""


def write_series(path: Path, n: int) -> None:
    """Write `n` values of a series that reverts to its mean, with three decimals, as a CSV file."""
    noise = np.random.default_rng(0).normal(size=n)
    value, lines = 0.0, ["y"]
    for each in noise.tolist():
        value = 0.9 * value + each
        lines.append(f"{100 + value:.3f}")
    path.write_text("\n".join(lines) + "\n")


def run_command(folder: Path, n: int) -> Run:
    """Forecast `n` rows with the command; check that each was answered, with an interval."""
    source, sink = folder / f"{n}.csv", folder / "answers.jsonl"
    if not source.exists():
        write_series(source, n)
    command = [sys.executable, "-m", "adabypass", "stream"]
    done = subprocess.run([sys.executable, LAUNCH, source, sink, *command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"adabypass stream failed: {done.stderr.strip().splitlines()[-1]}")
    answered = unknown = 0
    with sink.open() as lines:
        for line in lines:
            answered += 1
            unknown += '"lower_90": null' in line or '"lower_90"' not in line
    if answered != n or unknown > MAX_UNKNOWN:
        raise RuntimeError(f"adabypass stream answered {answered} of {n} rows, {unknown} of them without an interval.")
    taken = json.loads(done.stdout)
    return Run(n, taken["seconds"], taken["elapsed"], taken["peak"])


def measure(rows: int, repetitions: int, report: Callable[[str], None]) -> tuple[Run, Run]:
    """Run the command on `rows` rows and on ten times as many, in turn; return the fastest run of each."""
    found: list[list[Run]] = [[], []]
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repetitions):
            for runs, n in zip(found, (rows, 10 * rows), strict=True):
                report(f"adabypass stream, {n:,} rows")
                runs.append(run_command(Path(folder), n))
    short, long = (min(runs, key=lambda run: run.seconds) for runs in found)
    return short, long
