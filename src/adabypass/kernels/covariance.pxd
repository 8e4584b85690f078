# The two ways to keep a covariance of weights: as a packed triangle, row after row, or as its diagonal.

from adabypass.kernels.step cimport Covariance, StepContext


cdef Covariance FULL, DIAGONAL


cdef inline const Covariance* covariance_of(bint is_full) noexcept nogil:
    return &FULL if is_full else &DIAGONAL


cdef double squared_projection(StepContext* step) noexcept nogil
cdef void flush_updates(StepContext* step) noexcept nogil
