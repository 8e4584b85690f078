"""Mutated snapshots and stores load correctly or are refused: a short version of `make fuzz`."""

import random
import re
import subprocess
import sys
from pathlib import Path

from tools.fuzz.mutations import mutated_bytes

from tests.snapshots.golden import trained

N_CASES = 2_000


def test_mutated_states_load_correctly_or_are_refused() -> None:
    """In a process of its own, since a crash is among what is looked for, and memory is limited."""
    done = subprocess.run(
        [sys.executable, "tools/fuzz_state.py", "--cases", str(N_CASES)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [int(count.replace(",", "")) for count in re.findall(r"^ *([\d,]+)  \w+ of a ", done.stdout, re.M)]
    assert sum(counts) == N_CASES


def test_a_mutation_is_never_the_same_bytes() -> None:
    data = trained()["AdaBypass"].to_bytes()
    chance = random.Random(0)
    assert all(mutated_bytes(data, chance) != data for _ in range(300))
