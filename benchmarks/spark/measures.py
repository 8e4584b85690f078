"""Time of the batches of a stream, and time of the model alone."""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import DataFrame

from adabypass import Forecaster
from adabypass.adapters.keyed_series import KeyedForecaster, KeyedState, Rows
from benchmarks.spark.processes import cpu_seconds

N_BATCHES = 3
"""The first is not timed, while Java gets going."""


class Timing(NamedTuple):
    """How long a batch takes."""

    n_rows: int
    seconds: float
    """Of the quickest batch that is timed."""
    cpu_seconds: float
    """Processor time of the batch that took least of it."""

    @property
    def microseconds(self) -> float:
        """Time for a row, with all cores at work."""
        return 1e6 * self.seconds / self.n_rows

    @property
    def cpu_microseconds(self) -> float:
        """Processor time for a row."""
        return 1e6 * self.cpu_seconds / self.n_rows


def write_rows(spark: Any, folder: Path, n_keys: int, n_rows: int) -> int:
    """Write a file for each batch; return how many keys have rows in those that are timed.

    One more comes before them, in a folder of its own: it has a row of every key, so that all states are there.
    """
    n_active = min(n_keys, n_rows)
    for batch in range(N_BATCHES + 1):
        n, among, place = (n_keys, n_keys, "first") if batch == 0 else (n_rows, n_active, "timed")
        rows = spark.range(n, numPartitions=1).selectExpr(
            f"id % {among} AS key", f"{batch * n_rows} + id div {among} AS t", f"randn({batch}) AS y"
        )
        rows.write.mode("append").parquet(str(folder / place))
        time.sleep(1.1)  # Spark takes older files first
    return n_active


def time_stream(
    spark: Any, folder: Path, n_rows: int, transform: Callable[[DataFrame], DataFrame], *, keeps_state: bool
) -> Timing:
    """Run a stream over the files, one a batch; over the one with a row of every key only if it keeps state."""
    checkpoint = tempfile.mkdtemp(dir=folder.parent)
    source = spark.readStream.schema("key long, t long, y double").option("maxFilesPerTrigger", 1)
    rows = source.parquet(str(folder / ("*" if keeps_state else "timed")))
    sink = transform(rows).writeStream.format("noop").option("checkpointLocation", checkpoint)
    query = sink.trigger(availableNow=True).start()
    ends = {-1: cpu_seconds()}
    while query.isActive:
        done = query.lastProgress
        if done is not None and done["batchId"] not in ends:
            ends[done["batchId"]] = cpu_seconds()
        time.sleep(0.05)
    query.awaitTermination()
    spent = [each["durationMs"]["triggerExecution"] / 1e3 for each in query.recentProgress if each["numInputRows"]]
    last = len(spent) - 1
    ends.setdefault(last, cpu_seconds())
    shutil.rmtree(checkpoint)
    timed = range(last - N_BATCHES + 2, last + 1)
    return Timing(n_rows, min(spent[each] for each in timed), min(ends[each] - ends[each - 1] for each in timed))


def time_model(keyed: KeyedForecaster, rows_of_key: int, repeats: int = 200) -> tuple[float, float, KeyedState]:
    """Return the time of a key's batch: of all, and of its steps alone, in microseconds; and the state of a key."""
    rng = np.random.default_rng(0)
    first = keyed.answer(None, Rows(np.arange(50), rng.normal(size=50), None))
    assert first is not None
    state, rows = first.state, Rows(50 + np.arange(rows_of_key), rng.normal(size=rows_of_key), None)
    forecaster = keyed.template.copy()
    for y in rng.normal(size=50):
        forecaster.update(y)
    whole = _best(lambda: keyed.answer(state, rows), repeats)
    return whole, _best(lambda: _steps(forecaster, keyed, rows), repeats), state


def _steps(forecaster: Forecaster, keyed: KeyedForecaster, rows: Rows) -> None:
    for i in range(len(rows.time)):
        keyed._step(forecaster, rows, i)


def _best(call: Callable[[], object], repeats: int) -> float:
    """Return the time of the quickest call, in microseconds."""
    spent = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return 1e6 * min(spent)
