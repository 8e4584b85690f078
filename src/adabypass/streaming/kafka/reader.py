"""A reader of the messages of a topic."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from adabypass.errors import BrokerError, ParameterError
from adabypass.streaming.kafka.client import START_SECONDS, WAITING, Client, KafkaError, Note, TopicPartition
from adabypass.streaming.kafka.topic import Topic


class Message(NamedTuple):
    """A message that was read."""

    partition: int
    offset: int
    value: bytes | None


class TopicReader(Client):
    """Reads the messages of a topic, from given offsets on.

    Parameters
    ----------
    topic : Topic
    group : str
        Name under which the brokers know the reader. It is no member of the group: partitions are not shared out.
    config
        Settings of librdkafka, for TLS and passwords.
    partitions : sequence of int, optional
        Those to be read; by default all that the topic has now.
    note : function
        Takes a sentence for the user.
    """

    def __init__(
        self, topic: Topic, group: str, config: Mapping[str, str], partitions: Sequence[int] | None, note: Note
    ) -> None:
        super().__init__(topic, group, config, note)
        every = range(self.n_partitions)
        self.partitions = list(every if partitions is None else partitions)
        if not set(self.partitions) <= set(every):
            self.close()
            raise ParameterError(
                f"{topic} has the partitions 0 to {self.n_partitions - 1}, but {self.partitions} were asked for."
            )
        self._not_at_end = set(self.partitions)

    def start(self, following: Mapping[int, int], *, skip_lost: bool) -> None:
        """Go to the offset of the next message of each partition, to the oldest one where none is given.

        Parameters
        ----------
        following
            Offset by number of the partition.
        skip_lost : bool
            Whether to go on if messages that were not read are no longer there.
        """
        places = []
        for partition in self.partitions:
            oldest, end = self._bounds(partition)
            offset = following.get(partition, oldest)
            if offset > end:
                raise BrokerError(
                    f"{self.topic}: partition {partition} ends at offset {end}, but was read up to {offset} before; "
                    "this is another topic, or it was made anew: give another folder for the state, and another group."
                )
            if offset < oldest:
                lost = f"{self.topic}: messages {offset} to {oldest - 1} of partition {partition} were deleted unread"
                if not skip_lost:
                    raise BrokerError(f"{lost}; to go on without them, give --on-bad-row skip.")
                self._note(f"{lost}; going on without them.")
            places.append(TopicPartition(self.topic.name, partition, max(offset, oldest)))
        with self._in_words("reading"):
            self._consumer.assign(places)

    def read(self, most: int, seconds: float) -> list[Message]:
        """Return the messages that came within `seconds`, at most `most`; possibly none."""
        read = []
        with self._in_words("reading"):
            for message in self._consumer.consume(most, seconds):
                error = message.error()
                if error is None:
                    read.append(Message(message.partition(), message.offset(), message.value()))
                elif error.code() == KafkaError._PARTITION_EOF:
                    self._not_at_end.discard(message.partition())
                elif error.code() not in WAITING and not error.retriable():
                    raise BrokerError(f"{self.topic}: partition {message.partition()} cannot be read: {error.str()}")
        return read

    def commit(self, following: Mapping[int, int]) -> None:
        """Let the group's offsets be these, without waiting: whoever watches the group sees how far it is."""
        places = [TopicPartition(self.topic.name, partition, offset) for partition, offset in following.items()]
        with self._in_words("committing offsets"):
            self._consumer.commit(offsets=places, asynchronous=True)

    def committed(self) -> dict[int, int]:
        """Return the group's offset of each partition that has one."""
        asked = [TopicPartition(self.topic.name, partition) for partition in self.partitions]
        with self._in_words(f"asking for the offsets of group {self.group}"):
            found = self._consumer.committed(asked, START_SECONDS)
        return {each.partition: each.offset for each in found if each.offset > 0}

    @property
    def has_reached_end(self) -> bool:
        """Whether every partition was read up to the newest message at some time."""
        return not self._not_at_end
