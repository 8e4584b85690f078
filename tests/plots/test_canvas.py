"""Long traces are drawn at moments spread evenly."""

import numpy as np

from adabypass.plots import canvas


def test_chosen_moments_are_all_of_a_short_trace_and_spread_over_a_long_one() -> None:
    assert list(canvas.chosen_moments(4)) == [0, 1, 2, 3]
    long = canvas.chosen_moments(100_000)
    assert (len(long), long[0], long[-1]) == (1500, 0, 99_999)
    assert set(np.diff(long)) <= {66, 67}
