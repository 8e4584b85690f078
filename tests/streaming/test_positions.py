"""A position in a topic is one number; messages that are held back are read again; what is no position is refused."""

from typing import Any

import pytest

pytest.importorskip("confluent_kafka")

from hypothesis import given
from hypothesis import strategies as st

from adabypass.errors import StateError
from adabypass.streaming.kafka.positions import OFFSETS, PARTITIONS, Positions, pack, unpack
from adabypass.streaming.kafka.sink import offsets_by_partition


@given(st.integers(0, PARTITIONS - 1), st.integers(0, OFFSETS - 1))
def test_a_position_becomes_one_number_of_64_bits_and_again_a_position(partition: int, offset: int) -> None:
    number = pack(partition, offset)
    assert number < 1 << 64
    assert unpack(number) == (partition, offset)


@pytest.mark.parametrize(("partition", "offset"), [(-1, 0), (PARTITIONS, 0), (0, -1), (0, OFFSETS)])
def test_a_position_that_does_not_fit_is_refused(partition: int, offset: int) -> None:
    with pytest.raises(StateError, match=f"partition {partition}, offset {offset} cannot be kept"):
        pack(partition, offset)


def test_reading_goes_on_at_the_first_message_that_was_not_learned() -> None:
    positions, again = Positions(), Positions()
    for partition, offset in ((2, 0), (0, 7), (2, 1), (2, 2)):
        positions.note(pack(partition, offset))
    kept = positions.describe([pack(2, 1)])
    assert kept == [[0, 8, 8], [2, 1, 3]]
    again.restore(kept)
    assert again.following == {0: 8, 2: 1}
    assert [again.was_read(pack(2, offset)) for offset in (1, 2, 3)] == [True, True, False]
    again.note(pack(2, 1))  # it is read again
    assert again.describe([]) == [[0, 8, 8], [2, 3, 3]]


@pytest.mark.parametrize("value", [7, {}, [7], [[1]], [[1, 2]], [[-1, 0, 0]], [[0, 2, 1]], [[PARTITIONS, 0, 0]], None])
def test_what_is_no_position_is_refused(value: Any) -> None:
    with pytest.raises(StateError, match=r"positions in the topic, .* are none"):
        Positions().restore(value)


@pytest.mark.parametrize("value", [7, {}, [7], [[1]], [[1, 2, 3]], [[-1, 0]], [[0, True]], None])
def test_what_is_no_end_of_a_partition_is_refused(value: Any) -> None:
    with pytest.raises(StateError, match="ends of the topic of answers"):
        offsets_by_partition(value)
