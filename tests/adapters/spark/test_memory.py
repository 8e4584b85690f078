"""A worker holds one group at a time: its memory does not grow with the number of groups."""

import os
from pathlib import Path
from typing import Any

import pytest

from adabypass import AdaBypass
from adabypass.adapters.spark import forecast_groups

N_ROWS, N_GROUPS = 200_000, 40
"""All rows are 190 MB, in times, values and keys of 8 bytes."""
MAX_GROWTH_MB = 60
"""MB: what allocators keep for a while, and a few groups. It was 3."""


def peak() -> int:
    """Return the largest memory that a worker of Spark has had, in MB."""
    found = [0]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = os.getsid(int(process.name)) == os.getsid(0)
            if is_ours and b"pyspark.daemon" in (process / "cmdline").read_bytes():
                found.append(int((process / "status").read_text().split("VmHWM:")[1].split()[0]) // 1024)
        except (OSError, IndexError):  # it has just ended
            continue
    return max(found)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_group_needs_its_own_memory_and_no_more(spark: Any) -> None:
    def forecast(n_groups: int) -> int:
        rows = spark.range(n_groups * N_ROWS).selectExpr(
            f"id % {n_groups} AS key", f"id div {n_groups} AS t", "randn(1) AS y"
        )
        found = forecast_groups(rows.coalesce(1), "key", "t", "y", 1, model=AdaBypass(), lags=1)
        assert found.count() == n_groups
        return peak()

    one = forecast(1)
    assert one > 0
    assert forecast(N_GROUPS) < one + MAX_GROWTH_MB
