"""Measure `adabypass stream` from one topic of Kafka to another, beside the same rows from a file.

The mock brokers of librdkafka run in another process: what is measured is the stream, not a broker. The time of the
processor is taken for every few thousand rows, once all series are there; shown are the median of these, and the best,
which a machine that is busy with other work disturbs least. Checkpoints are shown by themselves.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.kafka.cluster import Cluster

NEVER = "1000000000"
"""Rows between two checkpoints: there is but the one at the end."""
WINDOW = 2_000
"""Rows over which time is taken, at least."""


def child(report: str, n_first: int, options: list[str]) -> None:
    """Run the command in this process; report the time of each window after the first rows, and of each checkpoint."""
    from adabypass.cli import commands  # noqa: PLC0415  (not needed by the process that starts this one)
    from adabypass.cli.stream_run import StreamRunner  # noqa: PLC0415
    from adabypass.streaming.stream import Stream  # noqa: PLC0415

    windows: list[float] = []
    checkpoints: list[float] = []
    flush, checkpoint = StreamRunner._flush, Stream._checkpoint
    begun = (0, 0.0)

    def timed_flush(self: StreamRunner) -> None:
        nonlocal begun
        n_checkpoints = len(checkpoints)
        flush(self)
        now, n_rows = process_time(), self._counts.new
        if len(checkpoints) > n_checkpoints:
            begun = n_rows, now
        elif n_rows - begun[0] >= WINDOW:
            if begun[0] >= n_first:
                windows.append((now - begun[1]) / (n_rows - begun[0]))
            begun = n_rows, now

    def timed_checkpoint(self: Stream) -> None:
        start = process_time()
        checkpoint(self)
        checkpoints.append(process_time() - start)

    setattr(StreamRunner, "_flush", timed_flush)  # noqa: B010  (mypy lets no method be replaced)
    setattr(Stream, "_checkpoint", timed_checkpoint)  # noqa: B010
    commands(["stream", *options], standalone_mode=False)
    Path(report).write_text(json.dumps([windows, checkpoints]))


def rows(n_rows: int, n_keys: int) -> list[tuple[int, str]]:
    """Return rows of random walks, each key in one of four partitions."""
    rng = np.random.default_rng(1)
    values = [round(value, 6) for value in rng.normal(size=n_rows).cumsum().tolist()]
    keys = [i % n_keys for i in range(n_rows)]
    return [(key % 4, json.dumps({"k": f"series-{key}", "y": y})) for key, y in zip(keys, values, strict=True)]


def measure(n_first: int, n_more: int, n_keys: int, model: str) -> None:
    """Measure all ways, and print each."""
    with tempfile.TemporaryDirectory() as name, Cluster(rows=4, answers=4) as cluster:
        written, file, report = rows(n_first + n_more, n_keys), Path(name) / "rows.jsonl", Path(name) / "report"
        cluster.write("rows", written)
        file.write_text("".join(f"{value}\n" for _, value in written))
        source = ["--source", cluster.url("rows"), "--stop-at-end", "--kafka-config", cluster.settings]
        for way, options in {
            "a file": [],
            "a file, --state": ["--state", f"{name}/a", "--every", NEVER],
            "Kafka": source,
            "Kafka, --state, --sink": [
                *source, "--state", f"{name}/b", "--every", NEVER, "--sink", cluster.url("answers"),
            ],
        }.items():  # fmt: skip
            chosen = [*options, "--id", "k", "--model", model]
            with file.open("rb") as given:
                subprocess.run(
                    [sys.executable, __file__, "--child", report, str(n_first), *chosen],
                    stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                )  # fmt: skip
            windows, checkpoints = json.loads(report.read_text())
            saved = f", a checkpoint {1e3 * checkpoints[-1]:.0f} ms" if checkpoints else ""
            print(
                f"{model:>5} {n_keys:>7} keys  {way:<24} {1e6 * median(windows):6.1f} µs a row, at best "
                f"{1e6 * min(windows):.1f} (of {len(windows)}){saved}",
                flush=True,
            )


def main() -> None:
    """Measure with few keys and with many."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="Rows that are measured.")
    parser.add_argument("--first", type=int, default=20, help="Rows of each series that come before.")
    parser.add_argument("--keys", type=int, nargs="+", default=[100, 10_000])
    parser.add_argument("--model", default="auto")
    arguments = parser.parse_args()
    for n_keys in arguments.keys:
        measure(arguments.first * n_keys, arguments.rows, n_keys, arguments.model)


if __name__ == "__main__":
    main()
