# Functions of a mixture of components: one forecast.

from libc.stdint cimport int64_t

from adabypass.distributions.component cimport Component


cdef void back_moments(int64_t target, double mean, double var, double* out_mean, double* out_var) noexcept nogil
cdef bint is_known(const Component* parts) noexcept nogil
cdef double mix_log_density(const Component* parts, Py_ssize_t n, double y) noexcept nogil
