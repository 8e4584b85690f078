"""Times and memory of panels, each measured in a process of its own where memory matters."""

import json
import resource
import subprocess
import sys
import time
from typing import Any, NamedTuple

import numpy as np

from adabypass import Forecaster, Panel, forecast
from adabypass.validation import Floats

APART = """
import json, sys
from benchmarks.panel.measures import run_here
print(json.dumps(run_here(*json.loads(sys.argv[1]))))
"""


class Run(NamedTuple):
    """One run of a panel over a rectangle of observations."""

    n_series: int
    n_threads: int
    seconds: float
    cpu_seconds: float
    n_row_bytes: int
    n_extra_bytes: int
    """How far the process's largest resident memory grew beyond the rows."""

    def microseconds(self, n_steps: int) -> float:
        """Return the time of one step of one series."""
        return 1e6 * self.seconds / (self.n_series * n_steps)


def walks(n_series: int, n_steps: int, seed: int = 0) -> Floats:
    """Return random walks."""
    walks: Floats = np.random.default_rng(seed).normal(size=(n_series, n_steps))
    np.cumsum(walks, axis=1, out=walks)
    walks += 10.0
    return walks


def run_here(n_series: int, n_steps: int, n_threads: int, rows_in: str | None) -> Run:
    """Run a panel of AutoBypass AR(1), and measure it."""
    y = walks(n_series, n_steps)
    panel = Panel(Forecaster(lags=1), n_threads=n_threads, rows_in=rows_in)
    panel.update([0, 1], [0.0, 0.0])  # load what is loaded once
    panel.drop([0, 1])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.perf_counter(), time.process_time()
    panel.run(y, ids=range(n_series), keep_trace=False)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return Run(n_series, n_threads, seconds, cpu_seconds, panel.n_bytes, grown - panel.n_bytes)


def run_apart(n_series: int, n_steps: int, n_threads: int, rows_in: str | None = None) -> Run:
    """Do the same in a process of its own, whose memory holds nothing else."""
    arguments = json.dumps([n_series, n_steps, n_threads, rows_in])
    done = subprocess.run([sys.executable, "-c", APART, arguments], capture_output=True, text=True, check=True)
    return Run(*json.loads(done.stdout))


def long_frame(n_series: int, n_steps: int) -> Any:
    """Return random walks as a long data frame."""
    import pandas as pd  # noqa: PLC0415  (the other measures need none)

    days = np.datetime64("2020-01-01") + np.arange(n_steps)
    ids = np.repeat([f"s{i}" for i in range(n_series)], n_steps)
    return pd.DataFrame({"unique_id": ids, "ds": np.tile(days, n_series), "y": walks(n_series, n_steps).reshape(-1)})


def frame_seconds(n_series: int, n_steps: int, horizon: int) -> float:
    """Return how long `forecast(frame)` takes."""
    frame = long_frame(n_series, n_steps)
    started = time.perf_counter()
    forecast(frame, horizon, Forecaster(lags=1))
    return time.perf_counter() - started


def loop_seconds(n_series: int, n_steps: int, horizon: int) -> float:
    """Return how long a loop over forecasters takes, for the same forecasts, without the data frame."""
    y = walks(n_series, n_steps)
    started = time.perf_counter()
    for each in y:
        forecaster = Forecaster(lags=1)
        forecaster.run(each, keep_predictive=False)
        forecaster.forecast(horizon).columns()
    return time.perf_counter() - started
