"""Shocks are found in the stream, and what comes soon after them is counted for every rival."""

import numpy as np
from benchmarks.accuracy.records import LEVELS, Record
from benchmarks.accuracy.streams import Stream
from benchmarks.accuracy.summary import N_AFTER_SHOCK, after_shocks, count

N, AT = 100, 40


def record(y: np.ndarray[tuple[int], np.dtype[np.float64]], half_width: float) -> Record:
    zero = np.zeros(len(y))
    return Record(zero, None, None, {level: (zero - half_width, zero + half_width) for level in LEVELS})


def stream() -> Stream:
    y = np.tile([-1.0, 1.0], N // 2)
    y[AT], y[AT + 5] = 30.0, np.nan
    return Stream("a", y[:, None], y, is_autoregression=False)


def test_the_observations_after_a_shock_are_those_that_were_seen() -> None:
    given = stream()
    found = np.flatnonzero(after_shocks(given, record(given.y, 3.0)))
    assert len(found) == N_AFTER_SHOCK
    assert (found[0], found[-1]) == (AT + 1, AT + N_AFTER_SHOCK + 1)
    assert AT + 5 not in found


def test_nothing_follows_where_there_is_no_shock() -> None:
    given = stream()
    assert not after_shocks(given, record(given.y, 30.0)).any()


def test_what_each_rival_holds_after_a_shock_is_counted() -> None:
    given = stream()
    shocked = after_shocks(given, record(given.y, 3.0))
    wide, narrow = (count(given, record(given.y, width), shocked) for width in (2.0, 0.5))
    assert (wide.n_shocked, wide.n_shocked_held) == (N_AFTER_SHOCK, N_AFTER_SHOCK)
    assert (narrow.n_shocked, narrow.n_shocked_held) == (N_AFTER_SHOCK, 0)
