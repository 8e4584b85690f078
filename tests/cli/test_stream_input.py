"""Input that waits: answers first, then the disk is flushed if nothing comes; times that can be compared."""

import os
import signal
import threading
import time
from datetime import datetime
from math import inf
from typing import Any

import pytest

from adabypass.cli.stream_input import ArrivingInput, Stopped, StopSignals, parse_time
from adabypass.errors import BadCellError


def test_answers_come_before_waiting_and_the_disk_is_flushed_while_nothing_comes() -> None:
    done: list[str] = []
    out, into = os.pipe()
    due = [0.05, inf]

    def send() -> None:
        os.write(into, b"row\n")
        os.close(into)

    threading.Timer(0.5, send).start()
    with os.fdopen(out, "rb") as file:
        arriving = ArrivingInput(
            file, lambda: done.append("answer"), StopSignals(), lambda: done.append("flush"), lambda: due.pop(0)
        )
        assert arriving.read1(100) == b"row\n"
    assert done == ["answer", "flush"]


def test_what_is_there_is_read_without_a_flush() -> None:
    done: list[str] = []
    out, into = os.pipe()
    os.write(into, b"row\n")
    os.close(into)
    with os.fdopen(out, "rb") as file:
        arriving = ArrivingInput(file, lambda: None, StopSignals(), lambda: done.append("flush"), lambda: 0.5)
        assert arriving.read1(100) == b"row\n"
    assert done == []


def test_a_signal_stops_while_waiting_and_not_while_a_row_is_learned() -> None:
    stop = StopSignals()
    out, into = os.pipe()
    with stop.caught(), os.fdopen(out, "rb") as file:
        arriving = ArrivingInput(file, lambda: None, stop)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
        started = time.monotonic()
        with pytest.raises(Stopped) as stopped:
            arriving.read1(100)
        assert time.monotonic() - started >= 0.1
        assert stopped.value.args == (signal.SIGTERM,)
        stop.received = None
        os.kill(os.getpid(), signal.SIGINT)  # as if a row were being learned: nothing is raised
        assert stop.received == signal.SIGINT
        with pytest.raises(Stopped):
            arriving.read1(100)
    os.close(into)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("5", 5),
        (5, 5),
        ("-1.5e3", -1500.0),
        ("2024-01-31", datetime(2024, 1, 31)),
        ("2024-01-31T12:00:00.5", datetime(2024, 1, 31, 12, 0, 0, 500_000)),
        ("2024-01-31 12:00+02:00", datetime(2024, 1, 31, 10)),
        ("2024-01-31T12:00Z", datetime(2024, 1, 31, 12)),
        ("2024-02", datetime(2024, 2, 1)),
        ("20240131", 20240131),
    ],
)
def test_times_are_numbers_or_dates(cell: Any, expected: Any) -> None:
    found = parse_time(cell)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize("cell", ["", "noon", "nan", "inf", True, None, [1], float("nan"), "2024-02-31"])
def test_what_is_no_time_is_refused(cell: Any) -> None:
    with pytest.raises(BadCellError):
        parse_time(cell)
