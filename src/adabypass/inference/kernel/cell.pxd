# A model's row, together with the kernel that moves it and the memory that it needs for a step.

cimport numpy as cnp

from adabypass.inference.kernel.step cimport Kernel, Step, Weigh, Weights


cdef class Cell:
    cdef readonly cnp.ndarray row
    cdef readonly Py_ssize_t n_features
    cdef readonly Py_ssize_t n_components
    cdef readonly bint is_running   # a copy of the row runs a stream, and will replace this one
    cdef Kernel kernel
    cdef cnp.ndarray constants
    cdef Py_ssize_t n_head          # numbers at the row's start that a trace keeps: n_seen and the scalars
    cdef Py_ssize_t n_scratch
    cdef double* memory             # features, scaled features, scratch

    cdef void begin(self, Step* step) noexcept
    cdef int load(self, object x) except -1
    cdef object new_components(self)


cdef void write_weights(Weigh weigh, Weights weights_of, Step* step, double* out) noexcept nogil
cdef int check_idle(bint is_running) except -1
cdef double as_target(object y) except? -1.0
cdef bint is_vector(object array)
cdef Py_ssize_t rows_between_signals(Py_ssize_t row_size)
