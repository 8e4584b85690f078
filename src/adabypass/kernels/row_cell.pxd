# What moves rows: a kernel with scratch memory of its own, bound to one row after another.

from adabypass.kernels.multistep cimport MultistepForecaster
from adabypass.kernels.running cimport Running
from adabypass.distributions.component cimport Component


ctypedef struct OneStepForecast:
    # What was forecast of an observation before it was seen.
    double mean
    double var
    double log_score            # nan if the kernel does not compute it, or the observation is missing


cdef class RowCell(Running):
    cdef readonly Py_ssize_t n_inputs           # numbers that come with an observation
    cdef readonly Py_ssize_t n_record           # numbers that keep a forecast; 0 if its moments say it all
    cdef readonly Py_ssize_t n_components       # of a forecast many steps ahead
    cdef readonly Py_ssize_t row_size
    cdef Py_ssize_t log_score_at                # where the model's row holds it; -1 if it does not

    cdef void bind(self, double* row) noexcept nogil
    cdef bint forecast_row(self, const double* x, OneStepForecast* seen, double* record) noexcept nogil
    cdef bint step_row(self, const double* x, double y, OneStepForecast* seen, double* record) noexcept nogil
    cdef void flush_row(self) noexcept nogil
    cdef MultistepForecaster new_multistep(self, Py_ssize_t n_steps)
    cdef bint forecast_ahead(self, MultistepForecaster ahead, const double* x, Component* parts) noexcept nogil
