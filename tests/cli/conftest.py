"""What tests of commands share: a cluster of Kafka, and a Python without matplotlib."""

import sys
from collections.abc import Iterator

import pytest

import adabypass
from adabypass.streaming.kafka import source
from tests.kafka.cluster import Cluster


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr(source, "ROWS_AT_ONCE", 40)
    monkeypatch.setattr(source, "SECONDS", 0.02)
    with Cluster(rows=3, one=1, answers=2) as made:
        yield made


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next import of matplotlib fail, and forget what has imported it already."""
    for name in list(sys.modules):
        if name.startswith(("adabypass.plots", "matplotlib")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(vars(adabypass), "plots", raising=False)  # asking for the attribute would import it
    monkeypatch.setitem(sys.modules, "matplotlib", None)
