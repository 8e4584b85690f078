"""A killed process neither loses nor repeats a row of a topic: a short version of `make test-kafka`."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kafka.trials import STAGES

pytest.importorskip("confluent_kafka", reason="topics of Kafka need confluent-kafka")
N_KILLS, N_ROWS = 4, 10_000


def test_whenever_a_stream_is_killed_each_row_is_learned_once_and_answered_once() -> None:
    """In a process of its own, which starts the server of children before it has threads."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.kafka", "--kills", str(N_KILLS), "--rows", str(N_ROWS), "--times", "1"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"SIGKILL at random instants: {N_KILLS}" in done.stdout
    assert re.findall(r"SIGKILL when (\w+): [1-9]", done.stdout) == [*STAGES]
