"""Load mutated snapshots and journals: each must load correctly or be refused with an error of ours.

    .venv/bin/python tools/fuzz_state.py --cases 100000 --seed 1

A mutation is either of bytes (flipped bits, cuts, blocks moved), which the checksum must find, or of content (absurd
sizes, wrong types, deep JSON, numbers of the row), signed again with a checksum that fits: then what is loaded must be
harmless, and is asked to forecast. Memory and time of each case are limited.
"""

import argparse
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.storage.cases import WITH_EXOG
from tests.storage.golden import trained
from tools.fuzz.mutations import mutated_bytes, mutated_journal, mutated_snapshot

from adabypass import Forecaster, from_bytes
from adabypass.cli.stream_answers import Answerer
from adabypass.cli.stream_input import parse_time
from adabypass.cli.stream_output import AnswerFormat, encode_json
from adabypass.errors import AdabypassError
from adabypass.regressors import Regressor
from adabypass.snapshots import container
from adabypass.storage import folder, journal
from adabypass.storage.series import StreamPanel
from adabypass.storage.stream import DurableStream

MAX_SECONDS = 20
"""Seconds after which a case hangs."""
MAX_MEMORY = 1 << 30
"""Bytes that the process may take beyond what it has at its beginning."""
N_ROWS = 40
NUMBERS = [0.5, float("nan"), -3.0, 1e6, 2.0]


class WrongError(Exception):
    """A case that shows a defect."""


def _n_exog(forecaster: Any) -> int:
    """Return how many exogenous values a forecaster expects."""
    n_exog = forecaster._n_exog() if isinstance(forecaster, Forecaster) else forecaster._runner.n_inputs
    return 2 if n_exog is None else int(n_exog)


class Fuzzer:
    """The saved objects that are mutated, and what is done with each of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.models = {name: (model.to_bytes(), model) for name, model in trained().items()}
        self.counts: Counter[str] = Counter()
        self.state = path / "state"
        saved = self._open()
        rng = np.random.default_rng(0)
        for number, y in enumerate(rng.normal(size=N_ROWS).tolist(), 1):
            if number == N_ROWS // 2:
                saved.save()
            self._learn(saved, number, f'"{"ab"[number % 2]}"', y)
        saved.commit()
        saved.close()
        self.snapshot = (self.state / folder.SNAPSHOT).read_bytes()
        self.journal_name = next(self.state.glob("journal-*")).name
        self.journal = (self.state / self.journal_name).read_bytes()
        self.records = self._records()

    def case(self, number: int, seed: int) -> None:
        """Run one case."""
        chance = random.Random(f"{seed} {number}")
        kind = chance.choices(
            ["bytes of a model", "content of a model", "bytes of a journal", "content of a journal",
             "bytes of a stream", "content of a stream"],
            [30, 40, 15, 5, 5, 5],
        )[0]  # fmt: skip
        what, _, of = kind.partition(" of a ")
        outcome = getattr(self, f"_{of}")(chance, what == "bytes")
        self.counts[f"{kind}: {outcome}"] += 1

    def _model(self, chance: random.Random, only_bytes: bool) -> str:
        name = chance.choice(sorted(self.models))
        data, model = self.models[name]
        mutated = mutated_bytes(data, chance) if only_bytes else mutated_snapshot(data, chance)
        try:
            loaded: Any = from_bytes(mutated)
        except AdabypassError:
            return "refused"
        if only_bytes and loaded.to_bytes() != model.to_bytes():
            raise WrongError(f"{name}: bytes that were changed were loaded")
        for y in NUMBERS:
            try:
                if isinstance(loaded, Regressor):
                    loaded.step([0.5] * (loaded.n_features or 2), y)
                else:
                    loaded.step(y, [0.5] * _n_exog(loaded) if name in WITH_EXOG else None)
            except AdabypassError:
                return "loaded, then refused to go on"
        return "loaded"

    def _journal(self, chance: random.Random, only_bytes: bool) -> str:
        mutated = mutated_bytes(self.journal, chance) if only_bytes else mutated_journal(self.journal, chance)
        path = self.path / "journal"
        path.write_bytes(mutated)
        number, checksum = folder.place_of(container.from_bytes(self.snapshot))
        if not only_bytes:
            return self._resume(self.snapshot, mutated)
        try:
            found = journal.read(path, number, checksum)
        except AdabypassError:
            return "refused"
        records = [record for record, _ in found.records()]
        if repr(records) != repr(self.records[: found.n_records]) or len(records) != found.n_records:
            raise WrongError("a journal was read that never was")
        return "read in part" if found.n_torn else "read"

    def _stream(self, chance: random.Random, only_bytes: bool) -> str:
        data = mutated_bytes(self.snapshot, chance) if only_bytes else mutated_snapshot(self.snapshot, chance)
        outcome = self._resume(data, self.journal)
        if only_bytes and outcome != "refused" and data != self.snapshot:
            raise WrongError("a stream's snapshot that was changed was loaded")
        return outcome

    def _resume(self, snapshot: bytes, records: bytes) -> str:
        for each in self.state.iterdir():
            each.unlink()
        (self.state / folder.SNAPSHOT).write_bytes(snapshot)
        (self.state / self.journal_name).write_bytes(records)
        try:
            saved = self._open()
        except AdabypassError:
            return "refused"
        try:
            for key in list(saved.series.known)[:3] or ['"c"']:
                for number, y in enumerate(NUMBERS, saved.row + 1):
                    self._learn(saved, number, key, y)
        finally:
            saved.close()
        return "resumed"

    def _open(self) -> DurableStream:
        series = StreamPanel(Forecaster(lags=2), 0, false_alarms=0.001)
        wanted = AnswerFormat(("mean", "interval", "change"), 0.9, (), 0.001, "k", None)
        answerer = Answerer(wanted, series, encode_json(wanted))
        columns = {"target": "y", "id": "k", "time": None}
        return DurableStream(self.state, series, columns, answerer.answer, parse_time, always=False)

    def _learn(self, saved: DurableStream, number: int, key: str, y: float) -> None:
        if key not in saved.series.known:
            saved.series.add(key)
        saved.learn([(number, key, "", y, None)])

    def _records(self) -> list[journal.Record]:
        number, checksum = folder.place_of(container.from_bytes(self.snapshot))
        return [record for record, _ in journal.read(self.state / self.journal_name, number, checksum).records()]


def out_of_time(number: int, frame: object) -> None:
    raise WrongError(f"not done after {MAX_SECONDS} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    begun = time.monotonic()
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as name, np.errstate(all="ignore"):
        fuzzer = Fuzzer(Path(name))
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MAX_MEMORY, size + MAX_MEMORY))
        signal.signal(signal.SIGALRM, out_of_time)
        last = Path(name) / "last"
        for number in range(arguments.first, arguments.first + arguments.cases):
            last.write_text(str(number))
            signal.alarm(MAX_SECONDS)
            try:
                fuzzer.case(number, arguments.seed)
            except BaseException:
                print(f"case {number}: repeat it with --seed {arguments.seed} --first {number} --cases 1", flush=True)
                raise
        signal.alarm(0)
    for outcome, count in sorted(fuzzer.counts.items()):
        print(f"{count:>9,}  {outcome}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{arguments.cases:,} cases in {time.monotonic() - begun:.0f} s, none of them wrong; {peak:.0f} MB at most")


if __name__ == "__main__":
    main()
