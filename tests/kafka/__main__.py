"""Kill `adabypass stream` between two topics of Kafka, and count: `make test-kafka`."""

import argparse
import tempfile
import time
from pathlib import Path

from tests.kafka.cluster import Cluster
from tests.kafka.trials import N_PARTITIONS, STAGES, Kill, Trial, kill_at_random


def main() -> None:
    """Run all trials; the first that finds a row lost, or repeated, ends with an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=3, help="Kills at each stage of the protocol.")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name, Cluster(rows=N_PARTITIONS, answers=2) as cluster:
        trial = Trial(cluster, Path(name), arguments.rows)
        answered = kill_at_random(trial, arguments.kills, arguments.seed)
        print(f"SIGKILL at random instants: {len(answered)}, when so many rows were answered: {answered}")
        print(f"answered exactly once: {trial.n_answered}", flush=True)
    for stage in STAGES:
        with tempfile.TemporaryDirectory() as name, Cluster(rows=N_PARTITIONS, answers=2) as cluster:
            trial = Trial(cluster, Path(name), 500)
            for number in (2, 1, 5)[: arguments.times]:
                trial.attempt(Kill(stage, number))
            trial.finish()
            print(
                f"SIGKILL when {stage}: {trial.counts['killed']}, answered exactly once: {trial.n_answered}", flush=True
            )
    print(f"each row once in the state, and once in the sink; {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
