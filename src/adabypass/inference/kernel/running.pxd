# What every cell has in common: while a copy of its row runs a stream, the row does not change.


cdef class Running:
    cdef readonly bint is_running       # a copy of the row runs a stream, and will replace this one


cdef int check_idle(bint is_running) except -1
