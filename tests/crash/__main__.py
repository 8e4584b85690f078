"""Crash `adabypass stream` in every way there is, and count: `make test-crash`."""

import argparse
import random
import tempfile
import time
from pathlib import Path

from tests.crash.trials import CASES, Trial, fill_disk, inject, kill_at_random


def main() -> None:
    """Run all trials; the first that finds a row lost, or learned twice, ends with an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--faults", type=int, help="Of each way to use the command; by default every one.")
    parser.add_argument("--full-disks", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance, begun = random.Random(arguments.seed), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        trials = [Trial(case, Path(name) / str(i), 300) for i, case in enumerate(CASES)]
        killed = kill_at_random(trials, arguments.kills, arguments.seed)
        print(f"SIGKILL at random instants: {dict(killed)}", flush=True)
        for i, case in enumerate(CASES):
            short = Trial(case._replace(options=[*case.options, "--every", "9"]), Path(name) / f"short-{i}", 40)
            print(f"{case.name}, injected: {dict(inject(short, chance, arguments.faults))}", flush=True)
        print(f"full disk: {dict(fill_disk(trials[0], chance, arguments.full_disks))}", flush=True)
    print(f"after each the state loaded, and equalled the replay of its rows; {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
