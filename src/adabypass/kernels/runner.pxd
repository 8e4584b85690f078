# A row with what moves it: the one way in, for one observation, a whole stream, or the rows of a panel.

cimport numpy as cnp

from adabypass.distributions.component cimport Component
from adabypass.kernels.multistep cimport MultistepForecaster
from adabypass.kernels.step cimport N_MATRICES, Kernel, Pending, StepContext


cdef enum RunState:
    IDLE
    RUNNING         # a copy of the row runs a stream, and will replace this one
    REPLACED        # by such a copy: whatever would change the row now would be lost


ctypedef struct OneStepForecast:
    # The forecast of an observation before it was seen.
    double mean
    double var
    double log_score            # nan if the kernel does not compute it, or the observation is missing


cdef class ForecastFactory:
    cdef type forecast_type
    cdef object predictive
    cdef object record_layout
    cdef object own_layout              # of a forecast that is not of the log or the root of y
    cdef Py_ssize_t n_record

    cdef object make(self, double mean, double var, object record)


cdef class Runner:
    cdef RunState state
    cdef cnp.ndarray _row               # the model's memory; updates may be pending
    cdef readonly object spec           # hyperparameters, and the layout of the row
    cdef readonly Py_ssize_t row_size
    cdef readonly Py_ssize_t n_inputs           # numbers that come with an observation; 0 if they are sparse
    cdef readonly Py_ssize_t n_features         # number of weights of features
    cdef readonly cnp.npy_intp n_record         # numbers that keep a forecast; 0 if mean and variance say it all
    cdef readonly Py_ssize_t n_components       # of a forecast many steps ahead
    cdef Py_ssize_t n_head              # numbers at the start of the model's own row that a trace keeps
    cdef Py_ssize_t log_score_at        # which of them is the log score; -1 if none is
    cdef Py_ssize_t step_size           # numbers that a step goes through, about
    cdef object check                   # converts and checks inputs that are not plain numbers: (inputs, n) -> vector
    cdef ForecastFactory factory
    cdef Kernel kernel
    cdef cnp.ndarray constants
    cdef object stream                  # inputs of the stream that is run
    cdef const double* stream_start
    cdef double* memory
    cdef double* given                  # inputs that were read,
    cdef double* inputs                 # and those of the newest forecast
    cdef const double* x                # inputs of the observation at hand
    cdef double* head                   # the model's own row
    cdef StepContext newest             # the newest forecast, as the kernel left it
    cdef OneStepForecast seen           # the newest forecast
    cdef bint is_current                # whether it is that of the row as it is, with `inputs`

    # How subclasses differ.
    cdef int read(self, object inputs) except -1
    cdef bint is_prepared(self, double y) noexcept nogil
    cdef bint can_bind(self, const double* row) noexcept nogil
    cdef int prepare(self) except -1
    cdef int open_stream(self, object inputs, Py_ssize_t n) except -1
    cdef void take(self, Py_ssize_t t) noexcept nogil
    cdef bint forecast(self) noexcept nogil
    cdef void describe(self, double* record) noexcept nogil
    cdef void learn(self, double y) noexcept nogil
    cdef void bind(self, double* row) noexcept nogil
    cdef void flush(self) noexcept nogil
    cdef Py_ssize_t record_size(self, y) except -1
    cdef object make(self, double mean, double var, object record)
    cdef MultistepForecaster new_multistep(self, Py_ssize_t n_steps)
    cdef bint forecast_ahead(self, MultistepForecaster ahead, const double* x, Component* parts) noexcept nogil

    # What they have in common.
    cdef int use_row(self, spec, cnp.ndarray row, Py_ssize_t size, aligned_at) except -1
    cdef int use_kernel(self, Kernel kernel, spec) except -1
    cdef bint forecast_read(self) noexcept
    cdef int read_and_prepare(self, object inputs, double y) except -1
    cdef object new_record(self)
    cdef bint forecast_row(self, const double* x, OneStepForecast* seen, double* record) noexcept nogil
    cdef bint step_row(self, const double* x, double y, OneStepForecast* seen, double* record) noexcept nogil


cdef class DenseRunner(Runner):
    cdef Pending[N_MATRICES] pending
    cdef cnp.npy_intp n_own             # numbers of a record without the parts of the log and the root of y


cdef class RunGuard:
    cdef readonly bint is_running

    cdef bint _keep(self, model, Runner before, Runner after, bint changes) except -1


cdef int refuse(RunState state) except -1


cdef inline int check_idle(RunState state) except -1:
    """Refuse to change a row of which a copy runs a stream, or has replaced it."""
    return 0 if state == IDLE else refuse(state)


cdef bint is_vector(object array)
cdef bint all_finite(const double* values, Py_ssize_t n) noexcept nogil
cdef Py_ssize_t rows_between_signals(Py_ssize_t step_size) noexcept nogil
