"""The guard through which the cell of a model is replaced: by one call at a time, as a whole or not at all.

A cell is a row and the kernel that moves it. A method here looks and acts while it holds the interpreter's lock and
runs no Python code in between: neither another thread nor Ctrl-C comes between the two, whereas a lock, taken by a
`with` statement, may be taken and its block not entered. No lock can be left behind, not by a fork either.
"""

from adabypass.errors import ConcurrentUseError


cdef class Running:
    """A cell, whose memory is `row`."""

    @property
    def is_running(self):
        """Whether a copy of the row runs a stream, so that the row does not change."""
        return self.state == RUNNING


cdef class RunGuard:
    """What replaces the cell of one model.

    Parameters
    ----------
    place : str
        Name of the model's attribute that holds the cell, or None while there is none.
    """

    def __cinit__(self, str place not None):
        self.place = place

    def run(self, model, work):
        """Let `work` make the cell that replaces the model's, and whatever else it may fail at; return its answer.

        Meanwhile the cell that there is answers, and whatever would change the model is refused. If `work` raises, the
        model is as it was.

        Parameters
        ----------
        work : function
            Of the model's cell, or None; returns the new cell, and the answer.
        """
        cdef Running before = getattr(model, self.place)
        cdef State after = IDLE
        check_idle(RUNNING if self.is_running else IDLE)
        self.is_running = True
        if before is not None:
            before.state = RUNNING
        try:
            cell, answer = work(before)
            setattr(model, self.place, cell)
            after = REPLACED
        finally:
            self.is_running = False
            if before is not None:
                before.state = after
        return answer

    def meet(self, model, choose, act, bint changes=True):
        """Act on the cell that `choose` makes of the model's; a new one is kept, once `act` has succeeded.

        If another thread was faster, both are called again, with the cell that this one has left.

        Parameters
        ----------
        choose : function
            Of the model's cell, or None; returns the same cell, or a new one, if that has not learned anything.
        act : function
            Of that cell; returns the answer.
        changes : bool
            Whether `act` changes the cell: then it is refused while a first run is under way.
        """
        cdef Running before
        while True:
            before = getattr(model, self.place)
            cell = choose(before)
            answer = act(cell)
            if cell is before or self._keep(model, before, cell, changes):
                return answer

    cdef bint _keep(self, model, Running before, Running cell, bint changes) except -1:
        """Let a new cell be the model's; return whether it is, or need not be."""
        if self.is_running:
            check_idle(RUNNING if changes else IDLE)
            return True             # a forecast as of before the run, which decides what the model will be
        if getattr(model, self.place) is not before or (before is not None and before.row[0] > 0):
            return False
        self.put(model, cell)
        if before is not None:
            before.state = REPLACED
        return True

    def put(self, model, cell):
        """Let another cell, or None, be the model's, unless a run is under way."""
        check_idle(RUNNING if self.is_running else IDLE)
        setattr(model, self.place, cell)


def hold(lock, work):
    """Call `work` while the lock is held.

    Compiled, since a `with` statement may be stopped, as by Ctrl-C, between the end of its block and letting go of the
    lock, which nobody would get any more.
    """
    lock.acquire()
    try:
        return work()
    finally:
        lock.release()


cdef int refuse(State state) except -1:
    """Raise the error about a row that does not change, or no longer."""
    if state == RUNNING:
        raise ConcurrentUseError(
            "this model is running a stream, in this thread or another; wait until run returns, or use a copy() of it."
        )
    raise ConcurrentUseError("this model was changed by another call while this one began; call it again.")
