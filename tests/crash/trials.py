"""Trials: a child is killed or fails, and after each the state equals the replay of what was answered."""

import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adabypass import Forecaster
from adabypass.cli.stream_answers import Answerer
from adabypass.streaming.answers import AnswerFormat, encode_json
from adabypass.data.times import parse_time
from adabypass.storage.series import StreamPanel
from adabypass.storage.stream import DurableStream
from tests.cli.one_by_one import OneByOne
from tests.crash.children import Ended, Fault, count_calls, start, wait

LEVEL = 0.9


class Case(NamedTuple):
    """A way in which the command is used."""

    name: str
    options: list[str]
    key: str | None = None
    time: str | None = None
    exog: tuple[str, ...] = ()
    out: str | None = None
    lags: int | None = None
    """None: the automatic forecaster."""


CASES = [
    Case("one series", ["--every", "40"]),
    Case("flushed always", ["--every", "25", "--fsync", "always", "--lags", "1"], lags=1),
    Case("many series by time", ["--every", "30", "--id", "k", "--time", "t", "--exog", "x"], "k", "t", ("x",)),
    Case("answers in a file", ["--every", "30", "--lags", "1"], out="answers.jsonl", lags=1),
]


class Trial:
    """One stream, its rows, and what an uninterrupted run answers and learns.

    Parameters
    ----------
    case : Case
    folder
        For its files.
    n : int
        Number of rows.
    """

    def __init__(self, case: Case, folder: Path, n: int) -> None:
        self.case, self.folder, self.n = case, folder, n
        folder.mkdir(parents=True, exist_ok=True)
        self.given, self.state = folder / "given.csv", folder / "state"
        self._write_rows()
        self.rows: list[bytes] = []
        """The state after each number of rows, of an uninterrupted run."""
        self.answers: list[str] = []
        self._run_whole()
        self.n_answered = 0
        self.counts: Counter[str] = Counter()

    @property
    def options(self) -> list[str]:
        """The options of the command."""
        out = [] if self.case.out is None else ["--out", str(self.folder / self.case.out)]
        return [*self.case.options, *out, "--state", str(self.state)]

    def restart(self) -> None:
        """Begin anew, without a state."""
        shutil.rmtree(self.state, ignore_errors=True)
        (self.folder / (self.case.out or "none")).unlink(missing_ok=True)
        self.n_answered = 0

    def attempt(self, fault: Fault | None = None, kill_after: float | None = None, limit: int | None = None) -> Ended:
        """Run a child that may be killed or fail, and check the state that it leaves."""
        before = self.n_learned()
        ended = wait(start(self.options, self.given, self.folder, fault, limit), self.folder, kill_after)
        assert ended.code in (0, 2, -9), (ended.code, ended.errors)
        if self.case.out is None:
            expected = self.answers[before : before + len(ended.answers)]
            assert ended.answers == expected, "an answer differs from that of an uninterrupted run"
            self.n_answered = before + len(ended.answers)
        self.check()
        self.counts[{0: "ended", 2: "failed", -9: "killed"}[ended.code]] += 1
        return ended

    def check(self) -> None:
        """Check that the state loads, has every row that was answered, and equals the replay of its rows."""
        if self.case.out is not None and (self.folder / self.case.out).exists():
            text = (self.folder / self.case.out).read_text()
            answered = text.splitlines()[: text.count("\n")]
            assert answered == self.answers[: len(answered)], "the file of answers differs"
            self.n_answered = len(answered)
        n_learned = self.n_learned()
        assert n_learned >= self.n_answered, f"{self.n_answered} rows were answered, {n_learned} are in the state"

    def n_learned(self) -> int:
        """Load a copy of the state, as a restart would, and compare it; return how many rows it has learned."""
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        if self.state.exists():
            shutil.copytree(self.state, copy)
        saved = self._load(copy)
        learned = _bits(saved)
        n_learned = saved.n_learned
        saved.close()
        assert learned == self.rows[n_learned], f"the state after {n_learned} rows differs from their replay"
        return n_learned

    def finish(self) -> None:
        """Run to the end; all rows are learned then, each once."""
        ended = self.attempt()
        assert ended.code == 0, ended.errors
        assert self.n_learned() == self.n
        if self.case.out is not None:
            assert (self.folder / self.case.out).read_text().splitlines() == self.answers

    @property
    def _wanted(self) -> AnswerFormat:
        return AnswerFormat(("mean", "sd", "interval"), LEVEL, (), 0.001, self.case.key, self.case.time)

    @property
    def _template(self) -> Forecaster:
        return Forecaster(lags=self.case.lags, exog=list(self.case.exog) or None)

    def _load(self, path: Path) -> DurableStream:
        series = StreamPanel(self._template, len(self.case.exog))
        answerer = Answerer(self._wanted, series, encode_json(self._wanted))
        columns = {"target": "y", "id": self.case.key, "time": self.case.time}
        return DurableStream(path, series, columns, answerer.answer, parse_time, always=False)

    def _write_rows(self) -> None:
        rng = np.random.default_rng(1)
        y = 100.0 + rng.normal(size=self.n).cumsum()
        lines = ["t,k,x,y"]
        for i, value in enumerate(y.tolist()):
            lines.append(f"{i},{'abc'[i % 3]},{rng.normal():.3f},{'' if rng.random() < 0.05 else f'{value:.4f}'}")
        self.given.write_text("\n".join(lines) + "\n")

    def _run_whole(self) -> None:
        """Learn all rows in this process, each series alone, and note the state after each."""
        case, judge = self.case, OneByOne(self._wanted, self._template, len(self.case.exog))
        self.rows.append(judge.bits())
        for line in self.given.read_text().splitlines()[1:]:
            t, k, x, y = line.split(",")
            key, exog = "" if case.key is None else f'"{k}"', [float(x)] if case.exog else None
            self.answers.append(judge.line(key, float(y or "nan"), exog, t).rstrip("\n"))
            self.rows.append(judge.bits())


def _bits(saved: DurableStream) -> bytes:
    arrays = saved.series.arrays()
    return b"".join(arrays[name].tobytes() for name in ("rows", "interval_starts", "keys"))


def kill_at_random(trials: list[Trial], n_kills: int, seed: int) -> Counter[str]:
    """Kill children at random instants, until so many were killed; each stream runs to its end in between."""
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    durations = dict.fromkeys(range(len(trials)), 0.2)
    at = 0
    while counts["killed"] < n_kills:
        at = (at + 1) % len(trials)
        trial = trials[at]
        ended = trial.attempt(kill_after=chance.random() * durations[at])
        counts["killed" if ended.code == -9 else "ended before"] += 1
        # As many children should be killed on their way as at their beginning, however busy the machine is.
        durations[at] *= 1.1 if ended.code == -9 else 0.8
        if ended.code == 0 or trial.n_learned() == trial.n:
            trial.finish()
            trial.restart()
            counts["finished"] += 1
    return counts


def faults(trial: Trial, chance: random.Random, n: int | None) -> list[Fault]:
    """Return every fault that a run can meet, or `n` of them at random."""
    trial.restart()
    calls = count_calls(trial.options, trial.given, trial.folder)
    trial.restart()
    every = [
        Fault(call, number, kind, errno)
        for call, count in calls.items()
        for number in range(count)
        for kind, errno in (("error", 28), ("error", 5), ("kill", 0), ("killed", 0))
    ]
    every += [Fault("write", number, kind) for number in range(calls["write"]) for kind in ("torn", "short")]
    return every if n is None else chance.sample(every, min(n, len(every)))


def inject(trial: Trial, chance: random.Random, n: int | None) -> Counter[str]:
    """Let every call of the system, or `n` of them, go wrong; after each the stream goes on to its end."""
    counts: Counter[str] = Counter()
    for fault in faults(trial, chance, n):
        trial.restart()
        trial.attempt(fault)
        trial.finish()
        counts[f"{fault.call} {fault.kind}"] += 1
    trial.restart()
    return counts


def fill_disk(trial: Trial, chance: random.Random, n: int) -> Counter[str]:
    """Let the disk run full at random places: on a small file system if one can be mounted, by a limit otherwise."""
    counts: Counter[str] = Counter()
    mounted = mount(trial.state)
    for _ in range(n):
        filler = trial.state / "filler"
        if mounted:
            for each in trial.state.iterdir():
                each.unlink()
            trial.n_answered = 0
            filler.write_bytes(bytes(chance.randrange(700_000, 1_048_000)))
        else:
            trial.restart()
        ended = trial.attempt(limit=None if mounted else chance.randrange(100, 200_000))
        counts["full" if ended.code else "had room"] += 1
        filler.unlink(missing_ok=True)
        trial.finish()
    if mounted:
        subprocess.run(["umount", trial.state], check=True)
    trial.restart()
    counts["on a small file system" if mounted else "by a limit of the process"] = n
    return counts


def mount(path: Path) -> bool:
    """Mount a file system of 1 MB in memory, room for some snapshots of a series; return whether that is permitted."""
    path.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", path], capture_output=True, check=False)
    return done.returncode == 0
