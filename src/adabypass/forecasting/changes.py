"""Changes of regime as they happen: one row of a stream after another."""

from math import log

import numpy as np

from adabypass.state.bank_design import DRIFT_STEP
from adabypass.state.layout import check_count
from adabypass.validation import Floats

GAP = 30
"""Rows that are compared with the same number of rows before them: an alarm comes at most this many rows late."""
THRESHOLD = 0.5
"""Change of the mean log that raises an alarm: in steps of the drift's grid, or of the log of the noise's scale."""
KINDS = ("drift", "noise")
N_HEAD = 6
"""Numbers before the logs: rows so far, place in the ring, and for each kind whether the alarm is raised, and a sum."""
SIZE = N_HEAD + 2 * 2 * GAP
"""Numbers that a monitor remembers."""


class ChangeMonitor:
    """Watches what a bank of filters has learned, and raises an alarm when the regime has changed.

    The last 30 rows are compared with the 30 before them, as `Trace.changes` does: in their mean log drift and in their
    mean log noise scale. An alarm is raised once, when either has moved by more than the threshold, and again only
    after it was within the threshold for a row.

    Parameters
    ----------
    memory : array (SIZE,), optional
        What another monitor remembered.
    """

    def __init__(self, memory: Floats | None = None) -> None:
        self.is_rise = False
        """Whether what changed last became larger."""
        self._memory = [0.0] * SIZE if memory is None else memory.tolist()
        check_count(self._memory[1], "the place of the newest row", 2 * GAP - 1)

    @property
    def memory(self) -> Floats:
        """All that the monitor remembers, as a copy."""
        return np.array(self._memory)

    def update(self, drift: float, noise_scale: float) -> str | None:
        """Learn what was learned from a row; return what changed, if anything did: "drift" or "noise"."""
        if not noise_scale > 0.0 or not drift > 0.0:  # before the units are known
            return None
        memory = self._memory
        memory[0] += 1.0
        if memory[0] <= GAP:  # the start itself is no change
            return None
        at = int(memory[1])
        memory[1] = (at + 1) % (2 * GAP)
        found = None
        for index, value in enumerate((log(drift) / DRIFT_STEP, log(noise_scale))):
            ring = N_HEAD + 2 * GAP * index
            middle = memory[ring + (at + GAP) % (2 * GAP)]  # goes from the newer half to the older one
            memory[4 + index] += value - 2.0 * middle + memory[ring + at]
            memory[ring + at] = value
            if at == 2 * GAP - 1:  # anew, so that rounding errors do not add up
                memory[4 + index] = sum(memory[ring + GAP : ring + 2 * GAP]) - sum(memory[ring : ring + GAP])
            if memory[0] <= 3 * GAP:
                continue
            is_moved = abs(memory[4 + index]) > GAP * THRESHOLD
            if is_moved and not memory[2 + index] and found is None:
                found, self.is_rise = KINDS[index], memory[4 + index] > 0.0
            memory[2 + index] = float(is_moved)
        return found
