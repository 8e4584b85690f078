"""Load mutated snapshots and stores: each must load correctly or be refused with an error of ours.

    .venv/bin/python tools/fuzz_state.py --cases 100000 --seed 1

A mutation is either of bytes (flipped bits, cuts, blocks moved), which the checksum must find, or of content (absurd
sizes, wrong types, deep JSON, numbers of the row), signed again with a checksum that fits: then what is loaded must be
harmless, and is asked to forecast. Stores are mutated as a killed stream leaves them, their log and their count too;
with changed bytes they must be read and resumed as they were, or be refused and left as they are.
Memory and time of each case are limited.
"""

import argparse
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.snapshots.cases import WITH_EXOG
from tests.snapshots.golden import trained
from tools.fuzz.mutations import mutate_store, mutated_bytes, mutated_snapshot

from adabypass import Forecaster, Stream, from_bytes
from adabypass.errors import AdabypassError
from adabypass.regressors import Regressor
from adabypass.streaming import folder
from adabypass.streaming.view import read_panel

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


def _rows(panel: Any) -> dict[Any, bytes]:
    """Return the row of each series of a panel."""
    return {id: panel[id]._runner.row.tobytes() for id in panel.ids}


class Fuzzer:
    """The saved objects that are mutated, and what is done with each of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.models = {name: (model.to_bytes(), model) for name, model in trained().items()}
        self.counts: Counter[str] = Counter()
        self.state, self.whole = path / "state", path / "whole"
        work = path / "work"
        with self._open(work) as stream:
            for at, y in enumerate(np.random.default_rng(0).normal(size=N_ROWS).tolist()):
                stream.learn({"k": "ab"[at % 2], "y": y})
                if at == N_ROWS // 2:
                    stream.checkpoint()
                if at == N_ROWS - 1:
                    shutil.copytree(work, self.whole)
                    (self.whole / folder.SHARED).unlink()
                    self.expected_rows = _rows(stream.panel())
            self.expected = self._learn_more(stream)

    def case(self, number: int, seed: int) -> None:
        """Run one case."""
        chance = random.Random(f"{seed} {number}")
        kind = chance.choices(
            ["bytes of a model", "content of a model", "bytes of a store", "content of a store"],
            [15, 25, 40, 20],
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

    def _store(self, chance: random.Random, only_bytes: bool) -> str:
        shutil.rmtree(self.state, ignore_errors=True)
        shutil.copytree(self.whole, self.state)
        if only_bytes:
            place = self.state / chance.choice([folder.DATABASE, folder.LOG, folder.LOG, folder.COMMITS])
            place.write_bytes(mutated_bytes(place.read_bytes(), chance))
        else:
            mutate_store(self.state / folder.DATABASE, chance)
        before = self._files()
        with suppress(AdabypassError, OSError):
            found_rows = _rows(read_panel(self.state))
            if only_bytes and found_rows != self.expected_rows:
                raise WrongError("a store that was changed was read as it never was")
        try:
            with self._open(self.state) as stream:
                n_learned = stream.n_learned
                found = self._learn_more(stream)
        except (AdabypassError, OSError):
            if only_bytes and self._files() != before:
                raise WrongError("a store that was refused was changed") from None
            return "refused"
        if only_bytes and (n_learned != N_ROWS or found != self.expected):
            raise WrongError("a store that was changed was loaded as it never was")
        return "resumed"

    def _files(self) -> dict[str, bytes]:
        """Return the files of the store that hold what was learned."""
        names = (folder.DATABASE, folder.LOG, folder.COMMITS)
        return {name: (self.state / name).read_bytes() for name in names if (self.state / name).exists()}

    def _open(self, path: Path) -> Stream:
        return Stream(path, Forecaster(lags=2), key="k", fields=["mean", "interval", "change"])

    def _learn_more(self, stream: Stream) -> str:
        """Learn rows of every series; return the answers."""
        given = [{"k": key, "y": y} for key in "abc" for y in NUMBERS]
        return repr([answer.to_dict() for answer in stream.learn(given)])


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
