"""The periods that a series of some frequency may have."""

import numpy as np
import pytest

from adabypass.data import regular_grid
from adabypass.data.periods import periods_of


@pytest.mark.parametrize(
    ("step", "unit", "expected"),
    [
        (1, "h", (24, 168)), (30, "m", (48, 336)), (10, "m", (144,)), (1, "D", (7, 365.25)), (7, "D", (52,)),
        (1, "M", (12,)), (3, "M", (4,)), (12, "M", ()), (5, "M", ()), (17, "m", ()),
    ],
)  # fmt: skip
def test_periods_follow_from_the_time_between_observations(step: int, unit: str, expected: tuple[float, ...]) -> None:
    start = np.datetime64("2024-01-01" if unit != "M" else "2024-01")
    times = start.astype(f"M8[{unit}]") + np.arange(40) * np.timedelta64(step, unit)  # type: ignore[call-overload]
    assert periods_of(regular_grid(times).frequency) == expected


def test_workdays_have_a_week_of_five() -> None:
    days = np.busday_offset("2024-01-01", np.arange(60), roll="forward")
    assert periods_of(regular_grid(days).frequency) == (5,)


def test_numbers_have_none() -> None:
    assert periods_of(regular_grid(np.arange(30)).frequency) is None
    assert periods_of(None) is None
