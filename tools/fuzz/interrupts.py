"""Ctrl-C, or memory that runs out, at a chosen instant of a call."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

LIBRARY = "adabypass"


class StopAt:
    """Raise an error before instruction number `at` of the Python code of the library, in this thread.

    Parameters
    ----------
    at : int
        From 1; 0 for never.
    error : type of exception
    """

    def __init__(self, at: int, error: type[BaseException]) -> None:
        self.at, self.error, self.n_done = at, error, 0

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        """Count an instruction, as `sys.settrace` asks for it."""
        if frame.f_globals.get("__name__", "").partition(".")[0] != LIBRARY:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.n_done += 1
            if self.n_done == self.at:
                raise self.error
        return self

    def run(self, call: Callable[[], object]) -> object:
        """Make a call that is stopped."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            return call()
        finally:
            sys.settrace(before)
