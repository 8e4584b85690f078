"""A cluster of Kafka in this process: the mock brokers of librdkafka, reached through its C functions.

They keep topics in memory, hand out producer ids, check the steps of a transaction, and write its end into the log.
What they do not do: hide the messages of an open or aborted transaction from readers of committed messages, abort the
transaction of a producer that is gone, or stop a producer whose name another one has taken. So messages of a
transaction that a kill has left open stay visible here.
"""

import ctypes
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

WAIT_MS = 20
PRODUCER = 0
"""The kind of client that carries the brokers."""
API_KEYS = {"EndTxn": 26, "Produce": 0, "InitProducerId": 22}


def _library() -> ctypes.CDLL:
    """Return the librdkafka that confluent-kafka brings with it."""
    packages = Path(confluent_kafka.__file__).parents[1]
    found = [*packages.glob("confluent_kafka.libs/librdkafka*"), *packages.glob("confluent_kafka/.dylibs/librdkafka*")]
    library = ctypes.CDLL(str(found[0]))
    for name, kinds in {
        "rd_kafka_conf_new": [],
        "rd_kafka_conf_set": [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t,
        ],
        "rd_kafka_new": [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t],
        "rd_kafka_destroy": [ctypes.c_void_p],
        "rd_kafka_mock_cluster_new": [ctypes.c_void_p, ctypes.c_int],
        "rd_kafka_mock_cluster_destroy": [ctypes.c_void_p],
        "rd_kafka_mock_cluster_bootstraps": [ctypes.c_void_p],
        "rd_kafka_mock_topic_create": [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int],
        "rd_kafka_mock_push_request_errors_array": [
            ctypes.c_void_p, ctypes.c_int16, ctypes.c_size_t, ctypes.c_void_p,
        ],
        "rd_kafka_mock_broker_set_down": [ctypes.c_void_p, ctypes.c_int32],
        "rd_kafka_mock_broker_set_up": [ctypes.c_void_p, ctypes.c_int32],
    }.items():  # fmt: skip
        function = getattr(library, name)
        function.argtypes = kinds
        function.restype = ctypes.c_void_p if name.endswith("_new") else ctypes.c_int
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return library


class Cluster:
    """One mock broker, until the block ends.

    Parameters
    ----------
    topics : int by name
        Topics that it has, and the number of their partitions.
    """

    def __init__(self, **topics: int) -> None:
        self._library = _library()
        text, settings = ctypes.create_string_buffer(512), self._library.rd_kafka_conf_new()
        self._library.rd_kafka_conf_set(settings, b"log_level", b"0", text, 512)
        self._client = self._library.rd_kafka_new(PRODUCER, settings, text, 512)
        assert self._client, text.value
        self._brokers = self._library.rd_kafka_mock_cluster_new(self._client, 1)
        self.servers = self._library.rd_kafka_mock_cluster_bootstraps(self._brokers).decode()
        for name, n_partitions in topics.items():
            assert self._library.rd_kafka_mock_topic_create(self._brokers, name.encode(), n_partitions, 1) == 0

        self._folder = tempfile.TemporaryDirectory()
        self.settings = f"{self._folder.name}/client.properties"
        """A file for --kafka-config: mock brokers keep a reader waiting for as long as it may."""
        Path(self.settings).write_text(f"fetch.wait.max.ms={WAIT_MS}\n")

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._library.rd_kafka_mock_cluster_destroy(self._brokers)
        self._library.rd_kafka_destroy(self._client)
        self._folder.cleanup()

    def url(self, topic: str) -> str:
        """Return the address of a topic."""
        return f"kafka://{self.servers}/{topic}"

    def fail(self, request: str, *errors: int) -> None:
        """Let the next requests of a kind fail, each with one of these errors."""
        codes = (ctypes.c_int * len(errors))(*errors)
        self._library.rd_kafka_mock_push_request_errors_array(self._brokers, API_KEYS[request], len(errors), codes)

    def stop(self) -> None:
        """Let the broker be down."""
        self._library.rd_kafka_mock_broker_set_down(self._brokers, 1)

    def restart(self) -> None:
        """Let the broker be up again, with all its messages."""
        self._library.rd_kafka_mock_broker_set_up(self._brokers, 1)

    def write(self, topic: str, rows: Iterable[tuple[int, str | bytes | None]]) -> None:
        """Write messages: pairs of a partition and a value."""
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 2, "log_level": 0})
        for partition, value in rows:
            producer.produce(topic, value, partition=partition)
            producer.poll(0)
        assert producer.flush(20) == 0

    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Commit an offset of a group."""
        consumer = self._consumer(group)
        consumer.commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)
        consumer.close()

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Return the offsets of a group, by partition."""
        consumer = self._consumer(group)
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        found = consumer.committed([TopicPartition(topic, partition) for partition in partitions], timeout=10)
        consumer.close()
        return {each.partition: each.offset for each in found}

    def read(self, topic: str) -> list[Any]:
        """Return all messages of a topic."""
        consumer = self._consumer("a reader")
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        unread, found = set(partitions), []
        while unread:
            for message in consumer.consume(10_000, 0.05):
                error = message.error()
                if error is None:
                    found.append(message)
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    unread.discard(message.partition())
        consumer.close()
        return found

    def _consumer(self, group: str) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.servers, "group.id": group, "enable.auto.commit": False, "log_level": 0,
                "isolation.level": "read_committed", "enable.partition.eof": True, "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": WAIT_MS,
            }
        )  # fmt: skip


def origins(messages: Iterable[Any]) -> list[tuple[int, int]]:
    """Return the partition and the offset of the row to which each answer belongs."""
    found = []
    for message in messages:
        (name, value), *others = message.headers()
        assert name == "adabypass-row"
        assert not others
        partition, offset = value.decode().split("/")[2:]
        found.append((int(partition), int(offset)))
    return found
