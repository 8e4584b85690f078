# What every cell has in common, and the guard of the model that holds it.


cdef enum State:
    IDLE
    RUNNING         # a copy of the row runs a stream, and will replace this one
    REPLACED        # by such a copy: what would change the row now would be lost


cdef class Running:
    cdef State state


cdef class RunGuard:
    cdef str place                      # name of the attribute that holds the model's cell
    cdef readonly bint is_running

    cdef bint _keep(self, model, Running before, Running cell, bint changes) except -1


cdef int refuse(State state) except -1


cdef inline int check_idle(State state) except -1:
    """Refuse to change a row of which a copy runs a stream, or has replaced it."""
    return 0 if state == IDLE else refuse(state)
