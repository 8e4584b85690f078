"""Trials: `adabypass stream` between topics is killed, and every row is in the state and in the sink exactly once."""

import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adabypass import Forecaster
from adabypass.streaming.answers import AnswerFormat
from adabypass.streaming.folder import DATABASE
from adabypass.streaming.store import Store
from adabypass.streaming.store_reader import StoreReader
from adabypass.streaming.stream import Stream
from adabypass.streaming.view import learned
from tests.cli.one_by_one import OneByOne, row_of
from tests.kafka.cluster import Cluster, origins

N_PARTITIONS, N_SERIES = 3, 7
ROWS_AT_ONCE = 25
"""Rows of a transaction: few, so that there are many instants at which a kill leaves something unfinished."""
EVERY = 110
"""Rows between two checkpoints."""
STAGES = ("learned", "kept", "begun", "produced", "committed", "saved")
"""Between which two steps a child kills itself: see `kill_at`."""


class Kill(NamedTuple):
    """Where a child kills itself."""

    stage: str
    number: int
    """Which time it comes there, from 1."""


def kill_at(kill: Kill) -> None:
    """Let this process be killed at a stage of the protocol."""
    from adabypass.streaming.kafka import TopicWriter, writer  # noqa: PLC0415
    from adabypass.streaming.kafka.client import Producer  # noqa: PLC0415  (imported by children only)

    count = 0

    def die() -> None:
        nonlocal count
        count += 1
        if count == kill.number:
            os.kill(os.getpid(), signal.SIGKILL)

    def wrap(owner: Any, name: str, *, before: bool) -> None:
        real = getattr(owner, name)

        def wrapped(*arguments: Any, **named: Any) -> Any:
            if before:
                die()
            result = real(*arguments, **named)
            if not before:
                die()
            return result

        setattr(owner, name, wrapped)

    class Flushed(Producer):
        """A producer that is killed when its messages have arrived, and their transaction is open."""

        def commit_transaction(self, timeout: float = -1) -> None:
            self.flush(10)
            die()
            super().commit_transaction(timeout)

    if kill.stage == "produced":
        setattr(writer, "Producer", Flushed)  # noqa: B010  (mypy knows no such name of that module)
        return
    owner, name, before = {
        "learned": (Store, "append", True),
        "kept": (Store, "append", False),
        "begun": (TopicWriter, "_produce", False),
        "committed": (TopicWriter, "_transact", False),
        "saved": (Stream, "_checkpoint", False),
    }[kill.stage]
    wrap(owner, name, before=before)


def run_child(options: list[str], errors: str, kill: Kill | None) -> None:
    """Run the command in this process, which ends with its exit code."""
    from adabypass.cli import run  # noqa: PLC0415  (loaded by the server of children)
    from adabypass.streaming.kafka import source  # noqa: PLC0415

    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    source.ROWS_AT_ONCE, source.SECONDS = ROWS_AT_ONCE, 0.02
    if kill is not None:
        kill_at(kill)
    sys.argv = ["adabypass", "stream", *options]
    code = run()
    sys.stderr.flush()
    os._exit(code)


class Trial:
    """Rows in a topic of several partitions, and what is learned from them and answered.

    Parameters
    ----------
    cluster : Cluster
        With the topics `rows` and `answers`.
    folder
        For the state.
    n : int
        Number of rows.
    """

    def __init__(self, cluster: Cluster, folder: Path, n: int) -> None:
        self.cluster, self.folder, self.n = cluster, folder, n
        self.state, self.errors = folder / "state", folder / "errors"
        self._children = multiprocessing.get_context("forkserver")
        self._children.set_forkserver_preload(["adabypass.cli.stream_kafka", "adabypass.cli.stream", __name__])
        self._template = Forecaster(lags=1)
        self._wanted = AnswerFormat(("mean", "sd", "interval"), 0.9, (), 0.001, "k", None)
        self.counts: Counter[str] = Counter()
        self._write_rows()

    def _write_rows(self) -> None:
        """Write the rows, and compute the answer to each and the state of its series after it."""
        rng = np.random.default_rng(3)
        self._answers: dict[tuple[int, int], str] = {}
        self._rows: dict[tuple[int, int], tuple[str, bytes]] = {}
        self.ends = [0] * N_PARTITIONS
        judge, written = OneByOne(self._wanted, self._template), []
        for i in range(self.n):
            key, y = f"s{rng.integers(N_SERIES)}", 20.0 + i % 11 + rng.normal()
            partition = int(key[1:]) % N_PARTITIONS
            place = partition, self.ends[partition]
            self.ends[partition] += 1
            written.append((partition, json.dumps({"k": key, "y": y})))
            self._answers[place] = judge.line(json.dumps(key), y).rstrip("\n")
            self._rows[place] = key, row_of(judge.series[json.dumps(key)].forecaster).tobytes()
        self.cluster.write("rows", written)

    @property
    def options(self) -> list[str]:
        """The options of the command."""
        topics = ["--source", self.cluster.url("rows"), "--sink", self.cluster.url("answers")]
        return ["--lags", "1", *topics, "--id", "k", "--state", str(self.state), "--every", str(EVERY), "--stop-at-end",
                "--kafka-config", self.cluster.settings]  # fmt: skip

    def attempt(self, kill: Kill | None = None, kill_after: float | None = None) -> int:
        """Run a child that may be killed; check what it leaves; return its exit code."""
        child = self._children.Process(target=run_child, args=(self.options, str(self.errors), kill))
        child.start()
        if kill_after is not None:
            time.sleep(kill_after)
            child.kill()  # or nothing, if it has ended
        child.join(120)
        code = child.exitcode
        assert code in (0, -9), (code, self.errors.read_text())
        self.check()
        self.counts["killed" if code else "ended"] += 1
        return code

    def check(self) -> None:
        """Check that no row is answered twice, each as in an uninterrupted run, and that the state has each of them."""
        following = self._learned()
        answered = self.cluster.read("answers")
        places = origins(answered)
        assert len(set(places)) == len(places), [each for each, n in Counter(places).items() if n > 1]
        for place, message in zip(places, answered, strict=True):
            assert message.value().decode() == self._answers[place]
            assert place[1] < following.get(place[0], 0), f"row {place} is answered, but not in the state"
        self.n_answered = len(places)

    def _learned(self) -> dict[int, int]:
        """Load a copy of the state, as a restart would; check each series; return the next offset by partition."""
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        if not (self.state / DATABASE).exists():
            return {}
        shutil.copytree(self.state, copy)
        with StoreReader(copy) as store:
            learner = learned(store)
            series, found = learner.series, dict[str, bytes]()
            for key in [key for key, _, _ in series.known()]:
                found[json.loads(key)] = series.row(series[key].slot).tobytes()
        following = {} if learner.positions is None else {each[0]: each[1] for each in learner.positions["partitions"]}
        assert learner.n_learned == sum(following.values()), "a row was learned twice, or not at all"
        expected = {}
        for place, (key, row) in self._rows.items():
            if place[1] < following.get(place[0], 0):
                expected[key] = row
        assert found == expected, "the state differs from that of its rows, each learned once"
        return following

    def finish(self) -> None:
        """Run to the end: then every row is learned and answered, exactly once."""
        assert self.attempt() == 0
        assert self._learned() == dict(enumerate(self.ends))
        assert self.n_answered == self.n


def kill_at_random(trial: Trial, n_kills: int, seed: int) -> list[int]:
    """Kill children at random instants; return how many rows had been answered at each kill."""
    chance, duration = random.Random(seed), 0.5
    answered = [0]
    while len(answered) <= n_kills:
        fair = (trial.n - answered[-1]) / (2 * (1 + n_kills - len(answered)))
        code = trial.attempt(kill_after=chance.random() * duration)
        assert code, f"all {trial.n} rows were answered after {len(answered) - 1} kills; write more of them"
        answered.append(trial.n_answered)
        # Most children should be killed on their way, not while they start, however busy the machine is; nor may they
        # answer so much that nothing is left for the others, however fast it is.
        advance = answered[-1] - answered[-2]
        duration *= 1.2 if advance == 0 else 0.9 if advance < fair else 0.7
    trial.finish()
    return answered[1:]
