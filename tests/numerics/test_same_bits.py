"""Every instruction set gives the same bits, so that a model that was saved on one machine goes on on another."""

import pytest

from adabypass.numerics import dispatch
from tests.numerics.learned import learned, one_worker


@one_worker
@pytest.mark.skipif(len(dispatch.available()) < 2, reason="this machine runs one instruction set only")
def test_every_instruction_set_gives_the_same_bits() -> None:
    digests = [learned(name).every_model for name in dispatch.available()]
    assert len(digests[0]) == 1
    assert all(each == digests[0] for each in digests)
