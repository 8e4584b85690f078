# Mathematical functions that are hot enough for a form of our own; tests pin each to mpmath.

cpdef double bessel_ratio(double rho) noexcept nogil

cdef struct Moments:
    double mean
    double var

cdef Moments truncated_moments(double location, double prec, double half_width) noexcept nogil

cdef struct Piece:
    # The standard normal restricted to an interval.
    double mass     # over its density at the interval's point nearest to 0 (for a tail: at its end)
    double mean     # less that point
    double var

cdef Piece flat_piece(double near, double width) noexcept nogil
cdef Piece normal_piece(double near, double width, double near_density, double far_density) noexcept nogil
cdef Piece tail_piece(double near) noexcept nogil
