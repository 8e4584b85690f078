"""Where reading goes on in the partitions of a topic.

A stream has one number for each row. For a message it is its position: 16 bits of the number of its partition, 48 of
its offset. A topic may have 65,536 partitions, each of 281 million million messages.
"""

from collections.abc import Iterable
from typing import Any

from adabypass.errors import StateError
from adabypass.validation import shown

OFFSET_BITS = 48
OFFSETS = 1 << OFFSET_BITS
PARTITIONS = 1 << 16


def pack(partition: int, offset: int) -> int:
    """Return the position of a message as one number."""
    if not 0 <= partition < PARTITIONS or not 0 <= offset < OFFSETS:
        raise StateError(
            f"partition {partition}, offset {offset} cannot be kept in a state; at most {PARTITIONS} partitions of "
            f"{OFFSETS} messages can."
        )
    return partition << OFFSET_BITS | offset


def unpack(position: int) -> tuple[int, int]:
    """Return the partition of a message, and its offset in it."""
    return position >> OFFSET_BITS, position & (OFFSETS - 1)


class Positions:
    """How far each partition was read: messages may be held back, so that those after them were learned before them.

    Attributes
    ----------
    read : dict
        Offset after the newest message that was read, by partition.
    read_before : dict
        The same when the stream was resumed.
    following : dict
        Offset of the first message that was not learned when the stream was resumed: where reading goes on.
    """

    def __init__(self) -> None:
        self.read: dict[int, int] = {}
        self.read_before: dict[int, int] = {}
        self.following: dict[int, int] = {}
        self._refused: list[int] = []

    def note(self, position: int) -> None:
        """Note that a message was read."""
        partition, offset = unpack(position)
        self.read[partition] = max(offset + 1, self.read.get(partition, 0))

    def refuse(self, position: int) -> None:
        """Note that reading ends with a message, which the next start is to find again."""
        partition, offset = unpack(position)
        if self.read.get(partition) == offset + 1:
            self.read[partition] = offset
        else:  # it was held back, and those after it were read
            self._refused.append(position)

    def was_read(self, position: int) -> bool:
        """Return whether a message was read before the stream was resumed."""
        partition, offset = unpack(position)
        return offset < self.read_before.get(partition, 0)

    def describe(self, held: Iterable[int]) -> list[list[int]]:
        """Return what the state keeps: partition, first offset that was not learned, and first that was not read.

        Parameters
        ----------
        held
            Positions of messages that were read and not learned.
        """
        first = self.read.copy()
        for position in (*held, *self._refused):
            partition, offset = unpack(position)
            first[partition] = min(offset, first.get(partition, offset))
        return [[partition, first[partition], offset] for partition, offset in sorted(self.read.items())]

    def restore(self, found: Any) -> None:
        """Take over what `describe` returned."""
        is_sound = isinstance(found, list) and all(
            isinstance(each, list)
            and [type(number) for number in each] == [int, int, int]
            and 0 <= each[0] < PARTITIONS
            and 0 <= each[1] <= each[2] <= OFFSETS
            for each in found
        )
        if not is_sound:
            raise StateError(f"the state's positions in the topic, {shown(found)}, are none.")
        self.following = {partition: first for partition, first, _ in found}
        self.read_before = {partition: end for partition, _, end in found}
        self.read = self.read_before.copy()
