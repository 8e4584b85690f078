"""Rows of three series in a topic, and their answers, for tests of the command."""

import json
from pathlib import Path
from typing import Any

from adabypass import load_dataset
from adabypass.errors import AdabypassError
from tests.cli.in_process import Done, stream
from tests.kafka.cluster import Cluster, origins

NILE = load_dataset("nile").y.tolist()
KEYS = ("a", "b", 3)


def rows(start: int, stop: int) -> list[tuple[int, str]]:
    """Return rows of three series, each in a partition of its own."""
    return [(i % 3, json.dumps({"k": KEYS[i % 3], "t": i, "y": NILE[i]})) for i in range(start, stop)]


def options(cluster: Cluster, state: Path | str, *more: str) -> list[str]:
    topics = ["--source", cluster.url("rows"), "--sink", cluster.url("answers")]
    return [*topics, "--id", "k", "--state", str(state), "--stop-at-end", "--kafka-config", cluster.settings, *more]


def done(result: Done) -> str:
    assert result.error is None, result.error
    assert result.code == 0, result.err
    return result.err


def refusal(result: Done, kind: type[AdabypassError]) -> str:
    assert isinstance(result.error, kind), (result.error, result.err)
    return str(result.error)


def answers(cluster: Cluster) -> dict[tuple[int, int], Any]:
    """Return the answer to each row, by partition and offset; none may be there twice."""
    found = cluster.read("answers")
    places = origins(found)
    assert len(set(places)) == len(places)
    return dict(zip(places, found, strict=True))


def expected(n: int, *more: str) -> dict[tuple[int, int], str]:
    """Return what standard output has for the same rows."""
    given = "".join(f"{value}\n" for _, value in rows(0, n))
    printed = stream("--id", "k", *more, given=given)
    done(printed)
    return {(i % 3, i // 3): line for i, line in enumerate(printed.out.splitlines())}


def values(cluster: Cluster) -> dict[tuple[int, int], str]:
    return {place: message.value().decode() for place, message in answers(cluster).items()}
