"""A writer of answers to a topic, in transactions."""

import re
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

from adabypass.errors import BrokerError
from adabypass.streaming.kafka.client import (
    START_SECONDS,
    WAITING,
    Client,
    Consumer,
    KafkaError,
    KafkaException,
    Note,
    Producer,
    TopicPartition,
)
from adabypass.streaming.kafka.topic import NAME, Topic

ORIGIN = "adabypass-row"
"""Header of an answer: group, topic, partition and offset of its row, with slashes between them."""
ORIGIN_FORM = re.compile(rf"({NAME.pattern})/({NAME.pattern})/([0-9]{{1,9}})/([0-9]{{1,19}})")
PATIENCE = 45.0
"""Seconds for which a transaction is tried again; Kafka itself gives one up after 60."""
MAX_ANSWERS = 10_000
"""Answers of one transaction."""
MAX_ATTEMPTS = 5
"""Transactions that are begun for the same answers before they are given up."""


class Answer(NamedTuple):
    """An answer that is written, and the row that it belongs to."""

    value: bytes
    key: bytes | None
    """Answers of one key go to one partition; without a key, to that of the row's number."""
    partition: int
    offset: int
    """Of the row, in the topic that is read."""


class TopicWriter(Client):
    """Writes answers to a topic in transactions, and knows which rows are answered in it.

    Parameters
    ----------
    topic : Topic
        Where answers go.
    source : Topic
        Where rows come from.
    group : str
        Its answers are told from those of others by this name.
    config
        Settings of librdkafka.
    partitions : sequence of int
        Those of `source` that are answered.
    owner : str
        Name of the transactions: of two writers of one name, the older one is stopped by the brokers.
    note : function
        Takes a sentence for the user.
    """

    def __init__(
        self, topic: Topic, source: Topic, group: str, config: Mapping[str, str], partitions: Sequence[int],
        owner: str, note: Note,
    ) -> None:  # fmt: skip
        super().__init__(topic, group, config, note)
        self._source, self._partitions = source, list(partitions)
        self._producer = self._made(
            Producer,
            self._settings
            | {"transactional.id": owner, "linger.ms": 5, "partitioner": "murmur2_random"},  # as Kafka's own clients do
        )
        self._group_offsets: dict[int, int] = {}
        self._found: dict[int, set[int]] = {}

    def resume(self, ends: Mapping[int, int], group_offsets: Mapping[int, int]) -> None:
        """End what a writer of the same name has left open, and find out which rows are answered.

        A row is answered if the offset of the group, which follows the transactions, is beyond it, or if its answer is
        in the topic.

        Parameters
        ----------
        ends
            From which offset on each partition of the topic is searched for answers; one that is left out, as a whole.
        group_offsets
            Offset of the group in each partition of `source` that has one.
        """
        with self._in_words("starting transactions"):
            self._retried(lambda: self._producer.init_transactions(START_SECONDS))
        self._group_offsets = dict(group_offsets)
        self._found = self._answered_since(ends)

    def is_answered(self, partition: int, offset: int) -> bool:
        """Return whether a row had its answer when the writer was resumed."""
        return offset < self._group_offsets.get(partition, 0) or offset in self._found.get(partition, ())

    def answered_up_to(self) -> dict[int, int]:
        """Return the offset after the last row that had its answer when the writer was resumed, by partition."""
        found = {partition: max(offsets) + 1 for partition, offsets in self._found.items() if offsets}
        return self._group_offsets | found

    def write(self, answers: Sequence[Answer]) -> None:
        """Write answers: when this returns, all of them are there for every reader."""
        start = 0
        while start < len(answers):
            end = start + MAX_ANSWERS
            # All answers to one row are in one transaction: any of them tells that the row is answered.
            while end < len(answers) and answers[end][2:] == answers[end - 1][2:]:
                end += 1
            self._transact(answers[start:end])
            start = end

    def ends(self) -> dict[int, int]:
        """Return where each partition of the topic ends now."""
        return {partition: self._bounds(partition)[1] for partition in range(self.n_partitions)}

    def _transact(self, answers: Sequence[Answer]) -> None:
        """Write answers in one transaction; begin it anew if the brokers have it aborted."""
        producer = self._producer
        for attempt in range(MAX_ATTEMPTS):
            is_produced = False
            try:
                producer.begin_transaction()
                for answer in answers:
                    self._produce(answer)
                is_produced = True
                self._retried(lambda: producer.commit_transaction(START_SECONDS))
                return
            except KafkaException as error:
                reason = error.args[0]
                # If a message fails, the client refuses those that follow, without saying that it must be aborted.
                if reason.fatal() or (is_produced and not reason.txn_requires_abort()) or attempt == MAX_ATTEMPTS - 1:
                    raise self._failed(reason) from error
                self._note(f"{self.topic}: a transaction was aborted ({reason.str()}); it is tried again.")
            try:
                self._retried(lambda: producer.abort_transaction(START_SECONDS))
            except KafkaException as error:
                raise self._failed(error.args[0]) from error
            producer.poll(0.2 * attempt)

    def _produce(self, answer: Answer) -> None:
        origin = f"{self.group}/{self._source.name}/{answer.partition}/{answer.offset}".encode()
        partition = -1 if answer.key is not None else answer.partition % self.n_partitions
        while True:
            try:
                self._producer.produce(
                    self.topic.name, answer.value, answer.key, partition=partition, headers=[(ORIGIN, origin)]
                )
                return
            except BufferError:  # the client's queue is full
                self._producer.poll(0.1)

    def _retried(self, call: Callable[[], None]) -> None:
        """Call until it succeeds, as long as the error says that this may help."""
        until = monotonic() + PATIENCE
        while True:
            try:
                call()
                return
            except KafkaException as error:
                reason = error.args[0]
                if not reason.retriable() or reason.txn_requires_abort():
                    raise
                if monotonic() > until:
                    raise self._failed(reason) from error

    def _failed(self, reason: KafkaError) -> BrokerError:
        kept = "what was learned is kept, and its answers are written at the next start"
        if reason.code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH):
            return BrokerError(
                f"{self.topic}: another process answers as group {self.group}, and took over; {kept}. Start one "
                "process for each group and its partitions, or choose another name with --group."
            )
        return BrokerError(f"{self.topic}: answers cannot be written: {reason.str()}; {kept}.")

    def _answered_since(self, ends: Mapping[int, int]) -> dict[int, set[int]]:
        """Return the offsets of rows whose answers are in the topic beyond `ends`, by partition."""
        found: dict[int, set[int]] = {partition: set() for partition in self._partitions}
        unread = self._newest_ends()
        places = []
        for partition, end in [*unread.items()]:
            oldest = self._bounds(partition)[0]
            start = max(ends.get(partition, oldest), oldest)
            if start < end:
                places.append(TopicPartition(self.topic.name, partition, start))
            else:
                del unread[partition]
        with self._in_words("looking for answers"):
            self._consumer.assign(places)
            until = monotonic() + PATIENCE
            while unread:
                if monotonic() > until:
                    raise BrokerError(
                        f"{self.topic}: partition {min(unread)} cannot be read up to its end; either its broker is "
                        "away, or another producer has a transaction open: start again when that has ended."
                    )
                for message in self._consumer.consume(MAX_ANSWERS, 0.1):
                    error, partition = message.error(), message.partition()
                    if error is None:
                        self._enter(found, message.headers())
                        until = monotonic() + PATIENCE
                    elif error.code() == KafkaError._PARTITION_EOF:
                        # What follows an open transaction of another producer is not shown before that has ended.
                        if message.offset() >= unread.get(partition, 0):
                            unread.pop(partition, None)
                    elif error.code() not in WAITING and not error.retriable():
                        raise KafkaException(error)
            self._consumer.unassign()
        return found

    def _newest_ends(self) -> dict[int, int]:
        """Return where each partition of the topic ends, transactions that are not committed included."""
        consumer = self._made(
            Consumer, self._settings | {"group.id": self.group, "isolation.level": "read_uncommitted"}
        )
        with self._in_words("asking for offsets"):
            every = [TopicPartition(self.topic.name, partition) for partition in range(self.n_partitions)]
            ends = {each.partition: consumer.get_watermark_offsets(each, timeout=START_SECONDS) for each in every}
            consumer.close()
        return {partition: bounds[1] for partition, bounds in ends.items()}

    def _enter(self, found: dict[int, set[int]], headers: Any) -> None:
        """Enter the row of an answer, if the answer is of this group and topic."""
        for name, value in headers or ():
            origin = ORIGIN_FORM.fullmatch((value or b"").decode("utf-8", "replace")) if name == ORIGIN else None
            if origin is None or origin.group(1, 2) != (self.group, self._source.name):
                continue
            partition, offset = int(origin.group(3)), int(origin.group(4))
            if partition in found and offset >= self._group_offsets.get(partition, 0):
                found[partition].add(offset)
