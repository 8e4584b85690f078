"""Times that are believed, gaps whose steps pass, and rows that are sorted in."""

import itertools
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass.errors import ParameterError
from adabypass.streaming.clock import (
    MAX_GAP_STEPS,
    N_WITNESSES,
    SEASONS,
    JumpGuard,
    ReorderWindow,
    Span,
    Steps,
)

DAY = datetime(2024, 1, 31)


def test_a_span_is_a_number_for_numbers_and_a_time_for_dates() -> None:
    assert Span("10 minutes", "--freq").of(DAY) == timedelta(minutes=10)
    assert Span("quarter", "--freq").of(DAY) == 3
    assert Span("0.5", "--freq").of(7) == 0.5
    with pytest.raises(ParameterError, match='--freq is 60, but times are dates; write a span such as "10 minutes"'):
        Span("60", "--freq").of(DAY)
    with pytest.raises(ParameterError, match="--freq is 1 hour, but times are numbers; write a number"):
        Span("1 hour", "--freq").of(7)


@pytest.mark.parametrize("text", ["", "soon", "0", "-5", "0 days", "nan", "10 minutes ago"])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match=r"--freq is .* not a span of time"):
        Span(text, "--freq")


@pytest.mark.parametrize(
    ("freq", "last", "time", "expected"),
    [
        ("1", 5, 6, 0),
        ("1", 5, 106, 100),
        ("60", 0, 58, 0),
        ("60", 0, 31, 0),
        ("60", 0, 29, -1),
        ("1 hour", DAY, DAY + timedelta(hours=100, seconds=20), 99),
        ("day", DAY, DAY + timedelta(days=1), 0),
        ("month", DAY, datetime(2024, 2, 29), 0),
        ("month", DAY, datetime(2024, 12, 31), 10),
        ("quarter", DAY, datetime(2025, 1, 31), 3),
        ("month", datetime(2024, 1, 1), datetime(2024, 1, 2), -1),
    ],
)
def test_the_steps_of_a_gap_are_counted(freq: str, last: Any, time: Any, expected: int) -> None:
    assert Steps(Span(freq, "--freq")).between(last, time) == expected


@given(n=st.integers(0, 10**12), season=st.sampled_from([7, 12, 24, 96, 144, 168, 288, 1440, 2016]))
def test_a_long_gap_has_fewer_steps_and_leaves_a_season_in_its_place(n: int, season: int) -> None:
    found = Steps(Span("1", "--freq")).between(0, n + 1)
    assert found == n if n < MAX_GAP_STEPS else SEASONS <= found < MAX_GAP_STEPS
    assert (found - n) % season == 0


@given(n=st.integers(0, 10**9), period=st.integers(1, SEASONS))
def test_a_long_gap_leaves_a_given_season_in_its_place(n: int, period: int) -> None:
    found = Steps(Span("1", "--freq"), period).between(0, n + 1)
    assert 0 <= found < MAX_GAP_STEPS
    assert (found - n) % period == 0


def test_one_far_time_is_refused_and_those_after_it_are_not() -> None:
    guard = JumpGuard(Span("100", "--max-jump"))
    assert [bool(guard.refusal(time, None)) for time in (1, 50, 10**9, 60, 10**9, 10**9 + 1, 160, 10**6)] == [
        False, False, True, False, True, True, False, True,
    ]  # fmt: skip


def test_the_newest_time_of_its_own_series_counts_too() -> None:
    guard = JumpGuard(Span("100", "--max-jump"))
    assert guard.refusal(5000, 4950) == ""
    assert "is more than --max-jump 100 after 5000, the newest time so far" in guard.refusal(5101, None)


@given(st.integers(1, 30))
def test_a_far_time_on_which_enough_rows_agree_is_believed(n: int) -> None:
    guard = JumpGuard(Span("100", "--max-jump"))
    guard.refusal(1, None)
    refused = [bool(guard.refusal(10**6 + i, None)) for i in range(n)]
    assert refused == [i < N_WITNESSES - 1 for i in range(n)]


def test_a_clock_that_is_wrong_and_changing_is_never_believed() -> None:
    guard = JumpGuard(Span("100", "--max-jump"))
    guard.refusal(1, None)
    assert all(guard.refusal(10**6 * i, None) for i in range(1, 50))


@given(st.lists(st.integers(0, 60), max_size=60), st.integers(1, 30))
def test_rows_are_released_in_order_each_once_when_they_are_a_span_old(times: list[int], span: int) -> None:
    window: ReorderWindow[tuple[int, int]] = ReorderWindow(Span(str(span), "--reorder-window"))
    released: list[tuple[int, int]] = []
    for i, time in enumerate(times):
        window.hold(time, (time, i))
        now = window.release()
        assert all(max(times[: i + 1]) - each[0] >= span for each in now)
        assert now == sorted(now)
        released += now
        assert len(released) + len(window) == i + 1
    late = sum(a[0] > b[0] for a, b in itertools.pairwise(released))
    assert late <= sum(max(times[: i + 1]) - time > span for i, time in enumerate(times))
    released += window.release_all()
    assert sorted(i for _, i in released) == list(range(len(times)))
    assert len(window) == 0
