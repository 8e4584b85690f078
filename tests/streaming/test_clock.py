"""Times that are believed, gaps whose steps pass, and rows that are sorted in."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass.errors import ParameterError
from adabypass.streaming.clock import (
    MAX_GAP_STEPS,
    N_ALONE,
    N_WITNESSES,
    SEASONS,
    JumpGuard,
    ReorderWindow,
    Span,
    Steps,
    StreamTime,
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
    guard.refusal(2, None)
    refused = [bool(guard.refusal(10**6 + i, None)) for i in range(n)]
    assert refused == [i < N_WITNESSES - 1 for i in range(n)]


@given(wrong=st.sampled_from([-(10**9), 10**9]), at=st.integers(0, 12))
def test_two_rows_that_agree_outvote_the_first_one(wrong: int, at: int) -> None:
    """Wherever one time is wrong in the beginning, at most one right row is refused for it."""
    guard = JumpGuard(Span("100", "--max-jump"))
    times = [1000 + i for i in range(20)]
    times[at] = wrong
    refused = [bool(guard.refusal(time, None)) for time in times]
    assert guard.newest == times[-1]
    assert guard.is_wrong(10**9)
    assert not guard.is_wrong(1019)
    n_refused = sum(each for i, each in enumerate(refused) if i != at)
    assert n_refused == (wrong < 0 and at == 0)
    assert refused[at] == (wrong > 0 and at > 0)


def test_a_guard_goes_on_where_it_was() -> None:
    guard = JumpGuard(Span("100", "--max-jump"))
    guard.restore(1000, is_confirmed=True)
    assert guard.refusal(10**9, None)
    assert guard.refusal(10**9, 990)
    assert guard.refusal(1050, 10**9) == ""


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), min_size=1, max_size=60), st.integers(0, 59))
def test_the_time_of_a_stream_is_not_moved_by_one_series(steps: list[tuple[str, int]], at: int) -> None:
    clean, other, t = StreamTime(), StreamTime(), 0
    now: Any
    for i, (key, step) in enumerate(steps):
        t += step
        if i == at:
            other.note(10**9, str(10**9), "wrong")
        clean.note(t, str(t), key)
        other.note(t, str(t), key)
    before: Any
    before, now = clean.now, other.now
    assert now is None or now <= t
    if at < len(steps):
        assert before is None or (now is not None and now >= before)


def test_the_last_series_of_a_stream_has_its_time() -> None:
    time = StreamTime()
    for i in range(N_ALONE):
        time.note(i, str(i), "a")
        assert time.now == (i if i >= N_ALONE - 1 else None)
    time.note(5, "5", "b")
    assert time.now == 5


def test_a_clock_that_is_wrong_and_changing_is_never_believed() -> None:
    guard = JumpGuard(Span("100", "--max-jump"))
    guard.refusal(1, None)
    guard.refusal(2, None)
    assert all(guard.refusal(10**6 * i, None) for i in range(1, 50))


ARRIVALS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 60)), max_size=60)
Seen = tuple[str, int, int]


@given(ARRIVALS, st.integers(1, 30))
def test_rows_are_released_once_each_and_those_of_a_series_in_order_unless_they_are_a_span_late(
    arrivals: list[tuple[str, int]], span: int
) -> None:
    window: ReorderWindow[Seen] = ReorderWindow(Span(str(span), "--reorder-window"))
    released: list[Seen] = []
    for i, (key, time) in enumerate(arrivals):
        now = window.take(key, time, (key, time, i))
        newest = [max(t for _, t in arrivals[: j + 1]) for j in range(i + 1)]
        for other, then, _ in now:  # its series is a span ahead of it, or the stream of a row that is not earlier
            later = [j for j, (k, t) in enumerate(arrivals[: i + 1]) if k == other and t >= then]
            ahead = max(arrivals[j][1] for j in later) - then
            assert ahead >= span or any(newest[i] - newest[j] >= span for j in later)
        released += now
        assert len(released) + len(window) == i + 1
        assert sorted(window.held() + released, key=lambda row: row[2]) == [
            (*row, j) for j, row in enumerate(arrivals[: i + 1])
        ]
    released += window.release_all()
    assert sorted(at for _, _, at in released) == list(range(len(arrivals)))
    for key in "abc":
        mine = [row for row in released if row[0] == key]
        for before, after in pairwise(mine):
            if after[1] < before[1]:  # it came when its place in the order was gone
                assert after[2] > before[2]
                assert max(t for _, t in arrivals[: after[2] + 1]) - after[1] >= span
    assert len(window) == 0


def test_a_series_that_has_ended_keeps_nothing_back_and_one_that_comes_later_is_sorted() -> None:
    window: ReorderWindow[str] = ReorderWindow(Span("10", "--reorder-window"))
    assert window.take("ended", 5, "ended 5") == []
    assert [window.take("a", time, f"a {time}") for time in range(5, 15)] == [[]] * 10
    assert window.take("a", 15, "a 15") == ["a 5", "ended 5"]
    found = [row for time in (3, 1, 2, 13) for row in window.take("later", time, f"later {time}")]
    assert found == ["later 1", "later 2", "later 3"]
