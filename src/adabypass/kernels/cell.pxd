# A model's row, together with the kernel that moves it and the memory that it needs for a step.

cimport numpy as cnp

from adabypass.kernels.forecast_factory cimport ForecastFactory
from adabypass.kernels.row_cell cimport RowCell
from adabypass.kernels.step cimport N_MATRICES, Kernel, Pending, StepContext, Weigh, Weights


cdef class Cell(RowCell):
    cdef cnp.ndarray _row           # the model's memory; updates may be pending
    cdef readonly Py_ssize_t n_features
    cdef readonly object spec       # what the row belongs to
    cdef Kernel kernel
    cdef cnp.ndarray constants
    cdef Py_ssize_t n_head          # numbers at the row's start that a trace keeps: n_seen and the scalars
    cdef Py_ssize_t n_scratch
    cdef ForecastFactory factory
    cdef double* memory             # features, scaled, still to be checked; vectors of pending updates; scratch
    cdef double* given              # features that are still to be checked
    cdef double* scratch
    cdef Pending[N_MATRICES] pending
    cdef bint postpones             # whether updates may wait
    cdef bint is_diagonal           # whether covariances are kept as their diagonals alone
    cdef StepContext newest                # the newest forecast; its scratch is in memory
    cdef bint is_current            # whether that is the forecast of the row as it is, at the features in memory

    cdef void begin(self, StepContext* step) noexcept
    cdef bint may_mix(self, const double* y, Py_ssize_t n) noexcept nogil
    cdef void describe(self, cnp.ndarray record) noexcept
    cdef int load(self, object x) except -1
    cdef void forecast(self) noexcept
    cdef void learn(self, double y) noexcept


cdef void write_weights(Weigh weigh, Weights weights_of, StepContext* step, double* out) noexcept nogil
cdef Py_ssize_t rows_between_signals(Py_ssize_t row_size)
