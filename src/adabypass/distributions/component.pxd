# One component of a forecast in compiled code: the same record as `COMPONENT` in component.py.

from libc.math cimport copysign, fabs, log, sqrt
from libc.stdint cimport int64_t


cdef struct Component:
    double weight
    double mean
    double signal_var
    double noise_scale      # in the units of the target
    double epsilon          # in units of noise_scale; 0 unless the noise is insensitive
    int64_t family          # `Family` in numerics/noise.py
    int64_t target          # `Target` in component.py
    double dof              # degrees of freedom of Student's t; 0 for other families


cdef enum:                  # `Target` in component.py
    IDENTITY
    LOG
    ROOT
    N_TARGETS


cdef inline bint has_target(int64_t target, double y) noexcept nogil:
    """Return whether y is in the domain of the target's density."""
    return target == IDENTITY or y > 0.0 or (target == ROOT and y < 0.0)


cdef inline double to_target(int64_t target, double y) noexcept nogil:
    """g(y): y itself, its log or its root: equation (J.1)."""
    if target == IDENTITY:
        return y
    return log(y) if target == LOG else copysign(sqrt(fabs(y)), y)


cdef inline double log_slope(int64_t target, double y) noexcept nogil:
    """log g'(y): equation (J.2)."""
    if target == IDENTITY:
        return 0.0
    return -log(y) if target == LOG else -log(2.0) - 0.5 * log(fabs(y))
