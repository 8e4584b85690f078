"""Crash streams in every way there is, and count: `make test-crash`."""

import argparse
import random
import tempfile
import time
from pathlib import Path

from tests.crash.children import preload
from tests.crash.trials import CASES, Trial, fill_disk, inject, kill_at_random, write_twice


def main() -> None:
    """Run all trials; the first that finds a row lost, or learned twice, ends with an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--faults", type=int, default=100, help="Of each way to use a stream; 0: every one, in hours.")
    parser.add_argument("--full-disks", type=int, default=40)
    parser.add_argument("--two-writers", type=int, default=40)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    preload()
    chance, begun = random.Random(arguments.seed), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        trials = [Trial(case, Path(name) / str(i), arguments.rows) for i, case in enumerate(CASES)]
        killed = kill_at_random(trials, arguments.kills, arguments.seed)
        print(f"SIGKILL at random instants: {dict(killed)}", flush=True)
        for i, case in enumerate(CASES):
            short = Trial(case.shortened(9), Path(name) / f"short-{i}", 30)
            print(f"{case.name}, injected: {dict(inject(short, chance, arguments.faults or None))}", flush=True)
        print(f"full disk: {dict(fill_disk(trials[1], chance, arguments.full_disks))}", flush=True)
        print(f"two writers: {dict(write_twice(trials[2], chance, arguments.two_writers))}", flush=True)
    print(f"after each the state loaded, and equalled the replay of its rows; {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
