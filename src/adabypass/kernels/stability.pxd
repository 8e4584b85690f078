# Weights of lags that let no series explode: equations (K.9) and (K.11).

from libc.math cimport pow

from adabypass.numerics.special cimport larger, smaller


cdef inline Py_ssize_t impulse_steps(Py_ssize_t n_lags, Py_ssize_t n_values, Py_ssize_t horizon) noexcept nogil:
    """Steps for which the response to an impulse is followed, for forecasts up to a horizon; 0 for a single lag."""
    return 0 if n_lags < 2 else max(max(horizon, 2 * n_values), MIN_STEPS)


cdef inline double damped(double weight, double factor, Py_ssize_t lag) noexcept nogil:
    """A lag's weight, where an impulse is to grow by this factor of what it does: equation (K.9)."""
    return weight if factor == 1.0 else weight * pow(factor, <double>lag)


cdef inline double shrinkage(double growth, double sd, Py_ssize_t horizon) noexcept nogil:
    """The factor of the lags' deviations from their mean weights, whose standard deviation is `sd`: equation (K.11)."""
    return smaller(larger((1.0 - growth) / 3.0, 0.7 / horizon) / sd, 1.0)


cdef enum:
    MIN_STEPS = 30


cdef void find_growths(
    Py_ssize_t n_lags, const Py_ssize_t* lags, Py_ssize_t m, const double* weights, double* response,
    Py_ssize_t n_steps, double* growth, double* early,
) noexcept nogil
cdef double certain_growth(
    Py_ssize_t n_lags, const Py_ssize_t* lags, const double* typical, double doubt, double* response,
    Py_ssize_t n_steps,
) noexcept nogil
