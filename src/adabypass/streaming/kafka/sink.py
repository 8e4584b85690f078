"""Answers to a topic, each once, and a topic of records that could not be read."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from adabypass.errors import BrokerError, StateError
from adabypass.streaming.kafka.client import LOGGER, START_SECONDS, Producer
from adabypass.streaming.kafka.positions import unpack
from adabypass.streaming.kafka.reader import TopicReader
from adabypass.streaming.kafka.topic import Topic
from adabypass.streaming.kafka.writer import Answer, TopicWriter
from adabypass.validation import shown


class TopicSink:
    """Answers to a topic: rows that were learned again get none if they have one.

    Parameters
    ----------
    writer : TopicWriter
    reader : TopicReader
        Of the rows.
    """

    n_unanswered, can_grow = 0, True

    def __init__(self, writer: TopicWriter, reader: TopicReader) -> None:
        self._writer, self._reader = writer, reader
        self._waiting: list[Answer] = []

    def add(self, answer: str, row: int, key: str) -> None:
        """Add the answer to a row; "" if it is not to be answered."""
        partition, offset = unpack(row)
        if answer and not self._writer.is_answered(partition, offset):
            self._waiting.append(Answer(answer.rstrip("\n").encode(), message_key(key), partition, offset))

    def resume(self, position: Mapping[str, Any] | None) -> None:
        """Find out which rows are answered."""
        ends = {} if position is None else offsets_by_partition(position.get("ends"))
        self._writer.resume(ends, self._reader.committed())

    def flush(self) -> None:
        """Write out all answers."""
        if self._waiting:
            self._writer.write(self._waiting)
            self._waiting.clear()

    def sync(self) -> dict[str, Any]:
        """Write out all answers; return where the topic ends then."""
        self.flush()
        return {"ends": [[*each] for each in self._writer.ends().items()]}

    def finish(self) -> None:
        """Write out all answers, the last ones."""
        self.flush()

    def abandon(self) -> None:
        """Drop the answers that wait: if their rows are committed, they are made again at the next start."""
        self._waiting.clear()


@lru_cache(maxsize=100_000)
def message_key(key: str) -> bytes | None:
    """Return the key of an answer: the id of its series, text as it is, other values as JSON; None without ids."""
    if not key:
        return None
    value = json.loads(key)
    return (value if isinstance(value, str) else key).encode("utf-8", "surrogatepass")


def offsets_by_partition(pairs: Any) -> dict[int, int]:
    """Return pairs of a partition and an offset as a mapping; refuse anything else."""
    is_sound = isinstance(pairs, list) and all(
        isinstance(pair, list) and [type(each) for each in pair] == [int, int] and min(pair) >= 0 for pair in pairs
    )
    if not is_sound:
        raise StateError(f"the state's ends of the topic of answers, {shown(pairs)}, are none.")
    return {partition: offset for partition, offset in pairs}


class TopicBadRows:
    """A topic that gets records that could not be read; after a crash some may be in it twice.

    Parameters
    ----------
    topic : Topic
    config
        Settings of librdkafka.
    """

    def __init__(self, topic: Topic, config: Mapping[str, str]) -> None:
        self._topic = topic
        settings = {**config, "bootstrap.servers": topic.servers, "enable.idempotence": True, "logger": LOGGER}
        self._producer = Producer(settings)
        self._failed = ""

    def add(self, letter: str) -> None:
        """Add a record, as a JSON object."""
        self._producer.produce(self._topic.name, letter.encode("utf-8", "backslashreplace"), on_delivery=self._note)
        self._producer.poll(0)

    def flush(self) -> None:
        """Write out all that were added."""
        n_left = self._producer.flush(START_SECONDS) if len(self._producer) else 0
        if n_left or self._failed:
            why = self._failed or f"no broker answered within {START_SECONDS:g} seconds"
            raise BrokerError(f"{self._topic}: rows that could not be read cannot be written: {why}.")

    def close(self) -> None:
        """Write out all that were added, the last ones."""
        self.flush()

    def _note(self, error: Any, message: object) -> None:
        self._failed = self._failed or ("" if error is None else error.str())
