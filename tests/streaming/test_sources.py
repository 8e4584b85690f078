"""Input that waits: answers first, then the disk is flushed if nothing comes; signals between two rows."""

import os
import signal
import threading
import time
from math import inf

import pytest

from adabypass.streaming.sources import ArrivingInput, Stopped, StopSignals


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
