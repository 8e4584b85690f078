# The filters of the bank.

from libc.stdint cimport int64_t

from adabypass.model.families cimport Noise, noise_of

from adabypass.inference.kernel.bank_state cimport Bank, FAMILY, N_SETTINGS


cdef void standardise(Bank* bank, const double* x, double scale) noexcept nogil
cdef bint moves(const Bank* bank, Py_ssize_t i, double deviation) noexcept nogil
cdef void forecast_filters(Bank* bank) noexcept nogil
cdef void absorb_filters(Bank* bank, double y, double observed) noexcept nogil


cdef inline const Noise* filter_noise(const Bank* bank, Py_ssize_t k) noexcept nogil:
    """The family of a filter's noise."""
    return noise_of(<int64_t>bank.settings[k * N_SETTINGS + FAMILY])


cdef inline double noise_var(const Bank* bank, Py_ssize_t k) noexcept nogil:
    """Variance of a filter's noise, in units of its scale."""
    cdef const Noise* noise = filter_noise(bank, k)
    return noise.var(noise, bank.epsilon[k])
