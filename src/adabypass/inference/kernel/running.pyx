"""What every cell has in common: while a copy of its row runs a stream, the row does not change."""

from adabypass.errors import ConcurrentUseError


cdef class Running:
    """A cell, whose memory is `row`."""

    def start_run(self):
        """Refuse whatever would change the row, until `end_run`; return a copy of the row."""
        check_idle(self.is_running)
        self.is_running = True
        return self.row.copy()

    def end_run(self):
        """Let the row be changed again."""
        self.is_running = False


cdef int check_idle(bint is_running) except -1:
    """Refuse to change a row of which a copy runs a stream."""
    if is_running:
        raise ConcurrentUseError(
            "this model is running a stream, in this thread or another; wait until run returns, or use a copy() of it."
        )
    return 0
