# Mathematical functions that are hot enough for a form of our own; tests pin each to mpmath.

cpdef double bessel_ratio(double rho) noexcept nogil

cdef struct Moments:
    double mean
    double var

cdef Moments truncated_moments(double location, double prec, double half_width) noexcept nogil
