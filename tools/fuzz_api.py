"""Call the whole public interface at random with hostile arguments, and report what a caller should never see.

    python tools/fuzz_api.py --calls 1000000 --threads 8 --seed 0

Calls are made in batches, each in a process of its own, so that a crash ends a batch and not the run. A crash is
reported with the seed of its batch and the last call of each thread. With one thread, a batch makes the same calls
each time it is run. Exit code 1 says that something crashed, hung, changed a model that it refused to change, lost an
update, or left a model locked. Now and then a call is stopped, as by Ctrl-C or for lack of memory.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTE = 512
WORKER = ["-m", "tools.fuzz.worker"]
BATCH = 2_000
EXAMPLES = 40


def run_batch(seed: int, calls: int, threads: int, timeout: float) -> tuple[dict[str, Any], str]:
    """Run one batch in a process; return its counts and, if it did not end well, why."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*_given_path(), str(ROOT)])}
    # One thread of BLAS: batches compete for the machine as it is.
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        command = [sys.executable, *WORKER, "--seed", str(seed), "--calls", str(calls), "--threads", str(threads)]
        command += ["--notes", str(notes)]
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=timeout, check=False, env=environment, cwd=folder
            )
        except subprocess.TimeoutExpired:
            return {}, f"hung: not done after {timeout:g} s\n{_last_calls(notes)}"
        if done.returncode == 0:
            counts: dict[str, Any] = json.loads(done.stdout)
            return counts, ""
        return {}, f"{_cause(done.returncode)}\n{_last_calls(notes)}{_tail(done.stderr)}"


def _given_path() -> list[str]:
    return [os.path.abspath(part) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]


def _cause(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _last_calls(notes: Path) -> str:
    if not notes.exists():
        return ""
    content = notes.read_bytes()
    calls = [content[at : at + NOTE].decode(errors="replace").strip(" \0") for at in range(0, len(content), NOTE)]
    return "".join(f"    thread {number}: {call}\n" for number, call in enumerate(calls))


def _tail(stderr: bytes) -> str:
    lines = [line for line in stderr.decode(errors="replace").splitlines() if not line.startswith("Extension modules")]
    return "".join(f"    | {line}\n" for line in lines[:25])


class Report:
    """The counts of all batches."""

    def __init__(self) -> None:
        self.calls = self.refused = self.crashes = 0
        self.raw: Counter[str] = Counter()
        self.found: dict[str, dict[str, str]] = {"examples": {}, "changed": {}, "unsound": {}, "locked": {}}

    def add(self, counts: dict[str, Any]) -> None:
        """Add the counts of one batch."""
        self.calls += counts["calls"]
        self.refused += counts["refused"]
        self.raw += Counter(counts["raw"])
        for name, known in self.found.items():
            self.found[name] = counts[name] | known

    def print(self, seconds: float) -> None:
        """Print everything that was found."""
        print(f"{self.calls:,} calls in {seconds:.0f} s, {self.refused:,} refused, {self.crashes} batches crashed")
        print(f"{self.raw.total():,} raw exceptions: {dict(self.raw.most_common())}")
        headings = {
            "examples": "raw exceptions, one example for each method and type",
            "changed": "refused calls that changed the model, and updates that were lost",
            "unsound": "calls after which a model's memory was not finite",
            "locked": "calls after which a model refused to be changed",
        }
        for name, heading in headings.items():
            if self.found[name]:
                print(f"\n{heading}:")
                for where, example in sorted(self.found[name].items())[:EXAMPLES]:
                    print(f"  {where}\n      {example}")
                if len(self.found[name]) > EXAMPLES:
                    print(f"  and {len(self.found[name]) - EXAMPLES} more")

    @property
    def is_clean(self) -> bool:
        """Whether nothing crashed, hung, or changed a model that it should not have changed."""
        return not (self.crashes or self.found["changed"] or self.found["unsound"] or self.found["locked"])


def main() -> int:
    """Run all batches; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20_000, help="how many calls to make (default: 20000)")
    parser.add_argument("--threads", type=int, default=1, help="how many threads share the models (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="of the first batch; each next one adds 1 (default: 0)")
    parser.add_argument("--batch", type=int, default=BATCH, help=f"calls of each process (default: {BATCH})")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for each process (default: 300)")
    options = parser.parse_args()
    report, start = Report(), time.monotonic()
    for number in range(-(-options.calls // options.batch)):
        calls = min(options.batch, options.calls - number * options.batch)
        seed = options.seed + number
        counts, failure = run_batch(seed, calls, options.threads, options.timeout)
        if failure:
            report.crashes += 1
            again = f"--calls {calls} --batch {calls} --threads {options.threads} --seed {seed}"
            print(f"batch with seed {seed} {failure}    again: python tools/fuzz_api.py {again}\n", flush=True)
        else:
            report.add(counts)
        if sys.stderr.isatty():
            print(f"\r{report.calls:,} of {options.calls:,} calls", end="", file=sys.stderr, flush=True)
    report.print(time.monotonic() - start)
    return 0 if report.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
