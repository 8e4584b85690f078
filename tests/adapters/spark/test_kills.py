"""A driver that is killed at any instant, and started again from its checkpoint, writes the very same table."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.adapters.spark import query
from tests.adapters.spark.arrivals import Arrivals, arrivals

PATIENCE = 900.0
"""Seconds that a batch may take on a busy machine."""
STAGES = {
    "planned": "checkpoint/offsets/{0}",
    "partly kept": "checkpoint/state/0/*/{1}.*",
    "written": "out/_spark_metadata/{0}*",  # the tenth is 9.compact
    "committed": "checkpoint/commits/{0}",
}
"""The stages of a batch, and the file that shows each: its rows are chosen, states of a partition are kept, the answers
are in the table, and all of it is done."""


def start(folder: Path) -> "subprocess.Popen[bytes]":
    """Start the driver in a process group of its own, which holds Java too; workers end when Java is gone."""
    command = [sys.executable, "-m", "tests.adapters.spark.query", str(folder)]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_in_batch(driver: "subprocess.Popen[bytes]", folder: Path, number: int, stage: str, delay: float) -> str:
    """Kill all processes of a driver some time after a batch has come to a stage; return which it had come to."""
    end = time.monotonic() + PATIENCE
    while not has_come_to(folder, number, stage):
        assert driver.poll() is None, f"the driver ended by itself, with code {driver.returncode}"
        assert time.monotonic() < end, f"batch {number} was not {stage}"
        time.sleep(0.005)
    time.sleep(delay)
    os.killpg(driver.pid, signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL
    return [each for each in STAGES if has_come_to(folder, number, each)][-1]


def has_come_to(folder: Path, number: int, stage: str) -> bool:
    """Check whether a batch has come to a stage: each leaves a file of its own."""
    return any(folder.glob(STAGES[stage].format(number, number + 1)))


def batches_of(folder: Path) -> dict[int, int]:
    """Return in which batch each file was read, by the number in its name.

    A driver that is killed after it has chosen a file, and before it has planned the batch, chooses one more for this
    batch when it is started again.
    """
    ends = {int(plan.name): json.loads(plan.read_text().splitlines()[-1])["logOffset"] for plan in plans(folder)}
    chosen = (folder / "checkpoint" / "sources" / "0").glob("[0-9]*")
    files = [json.loads(line) for log in chosen for line in log.read_text().splitlines()[1:]]
    return {
        int(Path(file["path"]).stem): min(number for number, end in ends.items() if file["batchId"] <= end)
        for file in files
    }


def plans(folder: Path) -> list[Path]:
    """Return the files that say up to where each batch reads."""
    return [*(folder / "checkpoint" / "offsets").glob("[0-9]*")]


def check_kills(spark: Any, folder: Path, arrived: Arrivals, batches: Sequence[int]) -> None:
    """Kill a driver in each of these batches, then let it finish; compare its table with an uninterrupted one."""
    rng = np.random.default_rng(len(batches))
    whole, killed = folder / "whole", folder / "killed"
    arrived.write(killed / "in")
    stages = rng.permutation([*STAGES] * (len(batches) // len(STAGES) + 1))
    for number, stage in zip(batches, stages, strict=False):
        longest = {"planned": 2.0, "written": 0.05}.get(stage, 0.3)  # seconds: the first stage is long, that one short
        came = kill_in_batch(start(killed), killed, number, stage, float(rng.uniform(0, longest)))
        print(f"killed in batch {number}, {came}")
    assert start(killed).wait(PATIENCE) == 0
    read = batches_of(killed)
    print(f"{len(read)} files in {len(set(read.values()))} batches")
    same = arrived.in_batches(read)
    same.write(whole / "in")
    query.run(spark, whole)
    expected, found = query.table(spark, whole), query.table(spark, killed)
    assert len(query.answers(expected)) == sum(len(same.used(key)) for key in same.rows["key"].unique())
    assert (expected["n_late"].sum(), expected["n_duplicate"].sum()) == (same.n_late, same.n_duplicate)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_a_killed_driver_goes_on_where_it_was(spark: Any, tmp_path: Path) -> None:
    check_kills(spark, tmp_path, arrivals(seed=3, n_keys=20, n_batches=3), [1])


@pytest.mark.slow
def test_ten_kills_change_nothing(spark: Any, tmp_path: Path) -> None:
    check_kills(spark, tmp_path, arrivals(seed=3, n_keys=20, n_batches=12), range(10))
