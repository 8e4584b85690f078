# The row of a series' structures.

cimport numpy as cnp

from adabypass.kernels.runner cimport Runner
from adabypass.kernels.structure_filter cimport Filter
from adabypass.kernels.structure_state cimport Bank


cdef enum:
    N_FIELDS = 17


cdef class StructureRunner(Runner):
    cdef Py_ssize_t most_states
    cdef Py_ssize_t[N_FIELDS] starts        # of the row's fields
    cdef cnp.ndarray settings, lags, priors, waves
    cdef Bank bank

    cdef int _place_fields(self) except -1
    cdef int _set(self, Filter* f, Py_ssize_t k) except -1
    cdef double _last_value(self) noexcept nogil
