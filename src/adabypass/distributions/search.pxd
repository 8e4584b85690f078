# Quantiles of a forecast that is laid out in lanes.

from adabypass.distributions.lanes cimport Mix


cdef double quantile_of(const Mix* mix, double q, double* deviate, double settled) noexcept nogil
cdef double quantile_cold_start(Mix* mix, double q, bint has_largest, double* deviate) noexcept nogil
cdef double rough_quantile(const Mix* mix, double q) noexcept nogil
cdef double inner_quantile(const Mix* mix, double q) noexcept nogil
