# Weights of lags that do not let a series explode.

from adabypass.kernels.past cimport Design, Workspace
from adabypass.kernels.step cimport StepContext, Weights


cdef void growths(
    const Design* design, Py_ssize_t m, const double* weights, double* response, Py_ssize_t n_steps, double* growth,
    double* early,
) noexcept nogil
cdef Py_ssize_t n_response(const Design* design) noexcept nogil
cdef void stabilised_gains(
    const Design* design, const Workspace* work, const StepContext* step, Weights weights_of, Py_ssize_t n_walks,
    Py_ssize_t horizon, Py_ssize_t n_touched, double base_var,
) noexcept nogil
