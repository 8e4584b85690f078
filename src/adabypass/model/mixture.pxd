# Functions of a mixture of components: one forecast.

from libc.stdint cimport int64_t

from adabypass.model.component cimport Component


cdef struct Room:
    # What a function of one forecast works with: place for as many components, and two numbers for each.
    Component* parts
    double* sd
    double* noise_sd

ctypedef double (*Function)(const Component* parts, Py_ssize_t n, double at, Room* room) noexcept nogil

cdef void back_moments(int64_t target, double mean, double var, double* out_mean, double* out_var) noexcept nogil
cdef bint is_known(const Component* parts) noexcept nogil
cdef void standardise(const Component* parts, Py_ssize_t n, double center, double unit, Room* room) noexcept nogil
cdef double mix_log_density(const Component* parts, Py_ssize_t n, double y) noexcept nogil
cdef object each_forecast(Function function, const Component[:, ::1] forecasts, const double[::1] at)
