"""What a reader and a writer share: a connection, the bounds of partitions, and errors in words.

This is the only file that imports confluent-kafka.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from adabypass.errors import BrokerError, MissingExtraError, ParameterError
from adabypass.streaming.kafka.topic import NAME, Topic

try:
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
except ImportError as missing:
    raise MissingExtraError(
        "adabypass.streaming.kafka needs confluent-kafka 2.6 or newer; install it with: pip install 'adabypass[kafka]'"
    ) from missing

__all__ = ["Client", "Consumer", "KafkaError", "KafkaException", "Note", "Producer", "TopicPartition", "read_config"]

LOGGER = logging.getLogger("adabypass.kafka")
"""Gets what librdkafka reports of its work; silent unless the program that uses the library gives it a handler."""
LOGGER.addHandler(logging.NullHandler())
START_SECONDS = 10.0
"""How long a broker may take to answer a question."""
MAX_PAUSE_MS = 86_400_000
"""How long reading may pause: a checkpoint of many series takes minutes."""
WAITING = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE, KafkaError._TIMED_OUT)
"""Errors after which the client connects again by itself."""
OWN = frozenset(
    ("bootstrap.servers", "group.id", "transactional.id", "enable.auto.commit", "enable.auto.offset.store",
     "auto.offset.reset", "isolation.level", "enable.partition.eof", "enable.idempotence", "acks")
)  # fmt: skip
"""Settings of the client that may not be changed: what is promised depends on them."""

Note = Callable[[str], None]
"""Takes a sentence for the user."""


class Client:
    """A consumer of a topic that commits nothing by itself.

    Parameters
    ----------
    topic : Topic
    group : str
        Name under which the brokers know it.
    config
        Settings of librdkafka.
    note : function
        Takes a sentence for the user.
    """

    def __init__(self, topic: Topic, group: str, config: Mapping[str, str], note: Note) -> None:
        if not NAME.fullmatch(group):
            raise ParameterError(f"{group!r} is no name of a group; use letters, digits, dots, dashes and underscores.")
        self.topic, self.group, self._note = topic, group, note
        self._trouble = ""
        self._noted_at = -60.0
        self._settings: dict[str, Any] = {
            "logger": LOGGER, "error_cb": self._on_error, **config, "bootstrap.servers": topic.servers,
        }  # fmt: skip
        consumer = {
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
            "max.poll.interval.ms": MAX_PAUSE_MS,
        }
        self._consumer = self._made(Consumer, self._settings | consumer)
        self.n_partitions = self._count_partitions()

    def close(self) -> None:
        """Leave the brokers."""
        self._consumer.close()

    def _made(self, kind: Callable[[dict[str, Any]], Any], settings: dict[str, Any]) -> Any:
        try:
            return kind(settings)
        except KafkaException as error:
            raise ParameterError(f"Kafka's client refuses its settings: {error.args[0].str()}.") from error

    def _on_error(self, error: KafkaError) -> None:
        """Note what the client reports while it tries again, no more than once a minute."""
        self._trouble = error.str()
        if error.code() == KafkaError._ALL_BROKERS_DOWN and monotonic() - self._noted_at > 60.0:
            self._noted_at = monotonic()
            self._note(f"{self.topic}: no broker can be reached ({error.str()}); waiting for one.")

    def _count_partitions(self) -> int:
        topic = self.topic
        with self._in_words("asking for the topic"):
            try:
                found = self._consumer.list_topics(topic.name, timeout=START_SECONDS).topics[topic.name]
            except KafkaException as error:
                self._consumer.poll(0)  # reports what kept the client from connecting
                if error.args[0].code() not in WAITING:
                    raise
                raise BrokerError(
                    f"{topic}: no broker answered within {START_SECONDS:g} seconds"
                    f"{f' ({self._trouble})' if self._trouble else ''}; check host and port, that the broker runs, and "
                    "the settings of --kafka-config if it asks for a password or for TLS."
                ) from error
        if found.error is not None or not found.partitions:
            reason = "does not exist" if found.error is None else found.error.str()
            raise BrokerError(
                f"{topic}: there is no such topic here ({reason}); create it, with kafka-topics.sh --create --topic "
                f"{topic.name} for example, or correct its name."
            )
        return len(found.partitions)

    def _bounds(self, partition: int) -> tuple[int, int]:
        """Return the offset of the oldest message that is still there, and that of the next one to come."""
        with self._in_words(f"asking for the offsets of partition {partition}"):
            found = self._consumer.get_watermark_offsets(
                TopicPartition(self.topic.name, partition), timeout=START_SECONDS, cached=False
            )
            if found is None:
                raise BrokerError(f"{self.topic}: no offsets of partition {partition} within {START_SECONDS:g} s.")
        oldest, following = found
        return oldest, following

    @contextmanager
    def _in_words(self, what: str) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            raise BrokerError(f"{self.topic}: {what} failed: {error.args[0].str()}") from error


def read_config(path: Path) -> dict[str, str]:
    """Return the settings in a file of lines NAME=VALUE; lines that begin with # are comments."""
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not equals or not name:
            raise ParameterError(
                f"{path}: line {number} is not a setting; write NAME=VALUE, as in security.protocol=SSL."
            )
        if name in OWN:
            raise ParameterError(f"{path}: line {number} sets {name}, which adabypass sets itself; delete the line.")
        found[name] = value
    return found
