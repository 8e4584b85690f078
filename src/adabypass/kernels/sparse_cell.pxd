cimport numpy as cnp

from adabypass.kernels.forecast_factory cimport ForecastFactory
from adabypass.kernels.running cimport Running
from adabypass.kernels.step cimport Kernel, StepContext


cdef enum:
    MOST_VECTORS = 4


cdef class SparseCell(Running):
    cdef readonly cnp.ndarray row
    cdef readonly Py_ssize_t n_features
    cdef readonly object spec       # what the row belongs to
    cdef Kernel kernel
    cdef cnp.ndarray constants
    cdef Py_ssize_t n_head, capacity, n_given
    cdef ForecastFactory factory
    cdef double* memory
    cdef Py_ssize_t* indices        # of the features that are given
    cdef double* values             # and their values
    cdef double* compact            # the short row: scalars, then the vectors
    cdef Py_ssize_t n_vectors       # that are gathered
    cdef Py_ssize_t[MOST_VECTORS] vectors   # where they begin in the row
    cdef Py_ssize_t var             # which of them the variances are
    cdef Py_ssize_t common          # where the common variance is in the row
    cdef StepContext newest

    cdef int _find_vectors(self, spec) except -1
    cdef int _make_room(self, Py_ssize_t n) except -1
    cdef int _load(self, const Py_ssize_t[::1] indices, const double[::1] values) except -1
    cdef void _forecast(self) noexcept nogil
    cdef void _describe(self, double* record) noexcept nogil
    cdef void _learn(self, double y) noexcept nogil
