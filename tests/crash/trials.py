"""Trials: a child is killed or fails, and after each the state equals the replay of what was answered."""

import json
import os
import random
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

from click.testing import CliRunner

from adabypass import Forecaster, Stream
from adabypass.cli import commands
from adabypass.streaming.learner import Learner
from adabypass.streaming.store_reader import StoreReader
from adabypass.streaming.view import learned
from tests.crash.children import ANSWERS, CALLS, FAILED, Case, Ended, Fault, line_of, start, wait, write_csv
from tests.streaming.judge import OneByOne, row_of, rows

CASES = [
    Case("one series, automatic", {"checkpoint_every": 40}),
    Case("flushed always", {"checkpoint_every": 25, "fsync": "always"}, lags=1),
    Case("many series by time", {"checkpoint_every": 30, "key": "k", "time": "t", "exog": ["x"]}, exog=("x",)),
    Case("one row in memory", {"checkpoint_every": 30, "key": "k", "time": "t", "max_memory": 1}, lags=1),
    Case("the next steps", {"checkpoint_every": 30, "key": "k", "horizon": 3, "every_forecast": 2}, lags=1),
    Case("next steps, automatic", {"checkpoint_every": 20, "horizon": 2}),
    Case("answers in a file", {"checkpoint_every": 30}, lags=1, has_file=True),
    Case("the command", {}, lags=1, command=("--every", "30", "--lags", "1")),
    Case(
        "the command, many series by time",
        {"key": "k", "time": "t", "exog": ["x"]},
        exog=("x",),
        command=("--every", "30", "--id", "k", "--time", "t", "--exog", "x"),
    ),
    Case(
        "the command, next steps",
        {"key": "k", "time": "t", "horizon": 2},
        lags=1,
        command=("--every", "30", "--id", "k", "--time", "t", "--horizon", "2", "--lags", "1", "--fsync", "always"),
    ),
    Case(
        "the command, answers in a file",
        {"key": "k", "time": "t"},
        lags=1,
        has_file=True,
        command=("--every", "30", "--id", "k", "--time", "t", "--lags", "1"),
    ),
]


class Trial:
    """One stream, its rows, and what an undisturbed run answers and learns.

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
        self.given = rows(n, exog=bool(case.exog))
        self.states: list[dict[str, bytes]] = []
        """The rows of all series after each number of rows of the stream, of an undisturbed run."""
        self.answers: list[str] = []
        self._run_whole()
        self.n_answered = 0
        self.counts: Counter[str] = Counter()

    @property
    def state(self) -> Path:
        """The folder of the stream."""
        return self.folder / "state"

    def _run_whole(self) -> None:
        """Learn all rows in this process, in memory; a judge, series by series, says what is right."""
        template = Forecaster(lags=self.case.lags, exog=list(self.case.exog) or None)
        horizon, every = self.case.options.get("horizon", 0), self.case.options.get("every_forecast", 1)
        judge, n_rows = OneByOne(template, horizon=horizon), Counter[str]()
        options = {
            name: value for name, value in self.case.options.items() if name not in ("fsync", "checkpoint_every")
        }
        with Stream(None, template, **options) as stream:
            self.states.append({})
            for row in self.given:
                (answer,) = stream.learn(row)
                id = row["k"] if "key" in self.case.options else None
                exog = [row["x"]] if self.case.exog else None
                expected = judge.answer(id, float("nan") if row["y"] is None else row["y"], exog)
                n_rows[str(id)] += 1
                if n_rows[str(id)] % every and horizon:
                    expected["forecast"] = None
                found = answer.to_dict()
                assert {name: found[name] for name in expected} == expected
                self.answers.append(line_of(answer).rstrip("\n"))
                states = self.states[-1].copy()
                states[json.dumps(id)] = row_of(judge.series[id].forecaster).tobytes()
                self.states.append(states)
        if self.case.command is not None:
            write_csv(self.given, self.folder / "given.csv")
            self.answers = self._answers_of_the_command()

    def _answers_of_the_command(self) -> list[str]:
        """Return the answers of an undisturbed run of the command, without a folder."""
        options = [*(self.case.command or ()), "--out", str(self.folder / "whole.jsonl")]
        for name in {"--every", "--fsync"} & set(options):  # they need a folder
            at = options.index(name)
            del options[at : at + 2]
        done = CliRunner().invoke(commands, ["stream", *options], input=(self.folder / "given.csv").read_text())
        assert done.exit_code == 0, done.output
        return (self.folder / "whole.jsonl").read_text().splitlines()

    def restart(self) -> None:
        """Begin anew, without a state."""
        if self.state.is_mount():
            for each in self.state.iterdir():
                each.unlink()
        else:
            shutil.rmtree(self.state, ignore_errors=True)
        (self.folder / ANSWERS).unlink(missing_ok=True)
        self.n_answered = 0

    def attempt(self, fault: Fault | None = None, kill_after: float | None = None, *, is_read: bool = False) -> Ended:
        """Run a child that may be killed or fail, and check the state that it leaves."""
        before = self.n_learned()
        child = start(self.case, self.given, self.folder, fault)
        if is_read:
            self.read_while(child, kill_after or 0.0)
            kill_after = 0.0
        ended = wait(child, self.folder, kill_after)
        assert ended.code in (0, FAILED, -9), (ended.code, ended.errors)
        if not self.case.has_file:
            expected = self.answers[before : before + len(ended.answers)]
            assert ended.answers == expected, "an answer differs from that of an undisturbed run"
            self.n_answered = before + len(ended.answers)
            if ended.code == FAILED and self.case.command and (fault is None or fault.kind != "short"):
                assert self.n_learned() == self.n_answered, "rows were learned that could not be answered"
        self.check()
        self.counts[{0: "ended", FAILED: "failed", -9: "killed"}[ended.code]] += 1
        return ended

    def read_while(self, child: int, seconds: float) -> None:
        """Read the state again and again while a child writes it: each time it must be one that there was."""
        stop = time.monotonic() + seconds
        while time.monotonic() < stop:
            if (self.state / "stream.sqlite").exists() and os.stat(self.state / "stream.sqlite").st_size > 4096:
                with StoreReader(self.state) as store:
                    self.compare(learned(store))
                self.counts["read"] += 1

    def compare(self, found: Learner) -> int:
        """Compare all rows of all series with those of an undisturbed run; return how many rows were learned."""
        keys = [key for key, _, _ in found.series.known()]
        panel = found.series.panel(keys, list(keys))
        bits = {key or "null": row_of(panel[key]).tobytes() for key in keys}
        assert bits == self.states[found.n_learned], f"the state after {found.n_learned} rows differs from their replay"
        return found.n_learned

    def check(self) -> None:
        """Check that the state loads, has every row that was answered, and equals the replay of its rows."""
        if self.case.has_file and (self.folder / ANSWERS).exists():
            text = (self.folder / ANSWERS).read_text()
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
            shutil.copytree(self.state, copy / "state", ignore=shutil.ignore_patterns("filler"))
        with self.case.open(copy) as stream:
            return self.compare(stream._learner)

    def finish(self) -> None:
        """Run to the end; all rows are learned then, each once."""
        ended = self.attempt()
        assert ended.code == 0, ended.errors
        assert self.n_learned() == self.n
        if self.case.has_file:
            assert (self.folder / ANSWERS).read_text().splitlines() == self.answers


def kill_at_random(trials: list[Trial], n_kills: int, seed: int) -> Counter[str]:
    """Kill children at random instants, until so many were killed; each stream runs to its end in between."""
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    durations = dict.fromkeys(range(len(trials)), 0.2)
    at = 0
    while counts["killed"] < n_kills:
        at = (at + 1) % len(trials)
        trial = trials[at]
        is_read = chance.random() < 0.2
        ended = trial.attempt(kill_after=chance.random() * durations[at], is_read=is_read)
        counts["killed" if ended.code == -9 else "ended before"] += 1
        # As many children should be killed on their way as at their beginning, however busy the machine is.
        durations[at] = min(3.0, durations[at] * (1.1 if ended.code == -9 else 0.8))
        if trial.n_learned() > 0.8 * trial.n:
            trial.finish()
            trial.restart()
            counts["went on to the end"] += 1
    for trial in trials:
        trial.finish()
        counts["read meanwhile"] += trial.counts["read"]
    return counts


def count_calls(trial: Trial) -> dict[str, int]:
    """Return how many calls of each kind a whole run makes."""
    trial.restart()
    wait(start(trial.case, trial.given, trial.folder, counts=True), trial.folder)
    found = (trial.folder / "counts").read_text().split()
    return dict(zip(CALLS, map(int, found), strict=True))


def faults(trial: Trial, chance: random.Random, n: int | None) -> list[Fault]:
    """Return what can go wrong in a whole run, or `n` such faults."""
    calls = count_calls(trial)
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
    """Let the disk run full at random places, on a small file system; nothing if none can be mounted."""
    counts: Counter[str] = Counter()
    trial.restart()
    trial.state.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(trial.state)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        return Counter({"no file system could be mounted": 1})
    try:
        for _ in range(n):
            trial.restart()
            (trial.state / "filler").write_bytes(bytes(chance.randrange(1_000_000, 2_080_000)))
            ended = trial.attempt()
            counts["full" if ended.code else "had room"] += 1
            (trial.state / "filler").unlink(missing_ok=True)
            trial.finish()
    finally:
        trial.restart()
        subprocess.run(["umount", trial.state], check=True)
    return counts


def write_twice(trial: Trial, chance: random.Random, n: int) -> Counter[str]:
    """Let two processes write one folder at once: one of them is refused, and nothing is mixed up."""
    counts: Counter[str] = Counter()
    other = trial.folder / "other"
    other.mkdir(exist_ok=True)
    (other / "state").unlink(missing_ok=True)
    (other / "state").symlink_to(trial.state.resolve(), target_is_directory=True)
    for _ in range(n):
        trial.restart()
        trial.state.mkdir(parents=True)
        children = [start(trial.case, trial.given, folder) for folder in (trial.folder, other)]
        time.sleep(chance.random() * 0.2)
        ended = [wait(child, folder) for child, folder in zip(children, (trial.folder, other), strict=True)]
        answers = sorted((each.answers for each in ended), key=len)
        counts["refused" if FAILED in [each.code for each in ended] else "one after the other"] += 1
        assert all(each.code in (0, FAILED) for each in ended), [each.errors for each in ended]
        assert all("in use by another process" in each.errors for each in ended if each.code == FAILED)
        assert answers[1] + answers[0] == trial.answers
        assert trial.n_learned() == trial.n
    trial.restart()
    return counts
