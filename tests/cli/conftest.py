"""A cluster of Kafka for tests of `adabypass stream`."""

from collections.abc import Iterator

import pytest

from adabypass.cli import stream_kafka
from tests.kafka.cluster import Cluster


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr(stream_kafka, "ROWS_AT_ONCE", 40)
    monkeypatch.setattr(stream_kafka, "SECONDS", 0.02)
    with Cluster(rows=3, one=1, answers=2) as made:
        yield made
