# The filters of the bank.

from libc.stdint cimport int64_t

from adabypass.model.families cimport Noise, noise_of

from adabypass.inference.kernel.bank_state cimport Bank, FAMILY, FILTER_EPSILON


cdef void standardise(Bank* bank, const double* x, double scale) noexcept nogil
cdef bint moves(const Bank* bank, Py_ssize_t i, double deviation) noexcept nogil
cdef void forecast_filters(Bank* bank) noexcept nogil
cdef void absorb_filters(Bank* bank, double y) noexcept nogil


cdef inline const Noise* filter_noise(const double* setting) noexcept nogil:
    return noise_of(<int64_t>setting[FAMILY])


cdef inline double noise_var(const double* setting, const double* filter) noexcept nogil:
    """Variance of a filter's noise, in units of its scale."""
    cdef const Noise* noise = filter_noise(setting)
    return noise.var(noise, filter[FILTER_EPSILON])
