"""A position in an input of several partitions is one number, and a header that holds no positions is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass.errors import StateError
from adabypass.snapshots.header import Header
from adabypass.storage.positions import OFFSETS, PARTITIONS, Positions, offsets_by_partition, pack, unpack


@given(st.integers(0, PARTITIONS - 1), st.integers(0, OFFSETS - 1))
def test_a_position_becomes_one_number_of_64_bits_and_again_a_position(partition: int, offset: int) -> None:
    number = pack(partition, offset)
    assert number < 1 << 64
    assert unpack(number) == (partition, offset)


@pytest.mark.parametrize(("partition", "offset"), [(-1, 0), (PARTITIONS, 0), (0, -1), (0, OFFSETS)])
def test_a_position_that_does_not_fit_is_refused(partition: int, offset: int) -> None:
    with pytest.raises(StateError, match=f"partition {partition}, offset {offset} cannot be kept"):
        pack(partition, offset)


def test_positions_are_restored_from_a_header() -> None:
    positions, again = Positions(), Positions()
    for partition, offset in ((2, 0), (0, 7), (2, 1)):
        positions.advance(pack(partition, offset))
    assert positions.following == {0: 8, 2: 2}
    again.restore(Header({"positions": positions.as_header()}, "a file"))
    assert again.following == positions.following
    again.restore(Header({"positions": None}, "a file"))
    assert again.following == {}


@pytest.mark.parametrize(
    "value", [7, {}, [7], [[1]], [[1, 2, 3]], [[-1, 0]], [[0, -1]], [[PARTITIONS, 0]], [[0, True]]]
)
def test_what_is_no_pair_of_partition_and_offset_is_refused(value: Any) -> None:
    with pytest.raises(StateError, match='"positions" are not pairs of a partition and an offset'):
        offsets_by_partition(Header({"positions": value}, "a file"), "positions")
