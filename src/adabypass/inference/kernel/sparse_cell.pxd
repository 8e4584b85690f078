cimport numpy as cnp

from adabypass.inference.kernel.maker cimport Maker
from adabypass.inference.kernel.step cimport Kernel, Step


cdef class SparseCell:
    cdef readonly cnp.ndarray row
    cdef readonly Py_ssize_t n_features
    cdef readonly bint is_running
    cdef Kernel kernel
    cdef cnp.ndarray constants
    cdef Py_ssize_t n_head, capacity, n_given
    cdef Maker maker
    cdef double* memory
    cdef Py_ssize_t* indices        # of the features that are given
    cdef double* values             # and their values
    cdef double* compact            # the short row: scalars, means, variances
    cdef Step newest

    cdef int _make_room(self, Py_ssize_t n) except -1
    cdef int _load(self, const Py_ssize_t[::1] indices, const double[::1] values) except -1
    cdef void _forecast(self) noexcept nogil
    cdef void _aim_and_forecast(self) noexcept nogil
    cdef void _describe(self, double* record) noexcept nogil
    cdef void _learn(self, double y) noexcept nogil
