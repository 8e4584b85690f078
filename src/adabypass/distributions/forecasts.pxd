# Many forecasts, whichever way they are kept, from which one is laid out at a time.

from adabypass.distributions.component cimport Component
from adabypass.distributions.lanes cimport Mix
from adabypass.distributions.packing cimport Packing


cdef class Forecasts:
    cdef const Component[:, ::1] parts      # (n, n_components), or
    cdef const double[:, ::1] records       # (n, size), with
    cdef Packing packing
    cdef readonly Py_ssize_t n
    cdef Mix mix
    cdef Py_ssize_t n_room                  # components that there is room for,
    cdef Py_ssize_t n_transformed           # that may be about the log of y, and as many about its root,
    cdef Py_ssize_t n_students              # and that may be Student's t distributions
    cdef const double[::1] atom_share       # (n,), or None
    cdef const double[:, ::1] share         # (n_pooled, 1 + n_pool) of these forecasts and of each in the pool, or None
    cdef const Py_ssize_t[::1] pooled_at    # (n,) row of `share`, -1 if the forecast is not pooled
    cdef list pool                          # Forecasts of n_pooled rows each
    cdef double low
    cdef double high

    cdef bint lay_out(self, Py_ssize_t t, double negligible) noexcept nogil
    cdef bint _add(self, Py_ssize_t t, double share, Mix* mix) noexcept nogil
    cdef bint _add_pool(self, Py_ssize_t row) noexcept
    cdef double log_density(self, Py_ssize_t t, double y) noexcept nogil
    cdef double _own_log_density(self, Py_ssize_t t, double y, Component* room) noexcept nogil
    cdef double _pooled_log_density(self, Py_ssize_t t, double y) noexcept nogil
    cdef double _pool_log_density(self, Py_ssize_t row, double y, double own) noexcept
