"""A killed process, a failed write and a full disk lose no answered row: a short version of `make test-crash`."""

import re
import subprocess
import sys
from pathlib import Path

from tests.crash.trials import CASES

N_KILLS, N_FAULTS, N_FULL, N_TWICE, N_ROWS = 10, 3, 2, 2, 60


def test_whatever_ends_a_stream_no_answered_row_is_lost_and_none_learned_twice() -> None:
    """In a process of its own: this one may have threads, and a copy of such a process may wait for ever."""
    counts = ["--kills", N_KILLS, "--faults", N_FAULTS, "--full-disks", N_FULL, "--two-writers", N_TWICE]
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash", *map(str, counts), "--rows", str(N_ROWS)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"'killed': {N_KILLS}" in done.stdout
    assert len(re.findall("injected: ", done.stdout)) == len(CASES)
    assert re.search(r"two writers: .*'refused': [1-9]", done.stdout)
