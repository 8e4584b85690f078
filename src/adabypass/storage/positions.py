"""Where reading goes on in an input of several partitions, such as a topic of Kafka.

A journal has one number for each row. For a row of a partition it is the position of the row: 16 bits of the
partition's number, 48 of the offset in it. A topic may have 65,536 partitions, each of 281 million million rows.
"""

from adabypass.errors import StateError
from adabypass.snapshots.header import Header

OFFSET_BITS = 48
OFFSETS = 1 << OFFSET_BITS
PARTITIONS = 1 << 16


def pack(partition: int, offset: int) -> int:
    """Return the position of a row as one number."""
    if not 0 <= partition < PARTITIONS or not 0 <= offset < OFFSETS:
        raise StateError(
            f"partition {partition}, offset {offset} cannot be kept in a state; at most {PARTITIONS} partitions of "
            f"{OFFSETS} rows can."
        )
    return partition << OFFSET_BITS | offset


def unpack(position: int) -> tuple[int, int]:
    """Return the partition of a row, and its offset in it."""
    return position >> OFFSET_BITS, position & (OFFSETS - 1)


class Positions:
    """The offset of the next row of each partition from which a row was learned."""

    def __init__(self) -> None:
        self.following: dict[int, int] = {}
        """The offset by the number of the partition."""

    def advance(self, position: int) -> None:
        """Note that the row of this position was learned."""
        partition, offset = unpack(position)
        self.following[partition] = offset + 1

    def as_header(self) -> list[list[int]]:
        """Return what a snapshot's header holds: pairs of a partition and the offset of its next row."""
        return [[partition, offset] for partition, offset in sorted(self.following.items())]

    def restore(self, header: Header) -> None:
        """Take over what a snapshot's header holds."""
        self.following = offsets_by_partition(header, "positions") or {}


def offsets_by_partition(header: Header, name: str) -> dict[int, int] | None:
    """Return pairs of a partition and an offset as a mapping; None if there are none yet."""
    pairs = header.value(name)
    if pairs is None:
        return None
    is_sound = isinstance(pairs, list) and all(
        isinstance(pair, list)
        and [type(each) for each in pair] == [int, int]
        and 0 <= pair[0] < PARTITIONS
        and 0 <= pair[1] <= OFFSETS
        for pair in pairs
    )
    if not is_sound:
        header.refuse(f'its "{name}" are not pairs of a partition and an offset')
    return {partition: offset for partition, offset in pairs}
