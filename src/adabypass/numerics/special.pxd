# Mathematical functions that are hot enough for a form of our own; tests pin each to mpmath.

cpdef double bessel_ratio(double rho) noexcept nogil

cdef struct Moments:
    double mean
    double var

cdef Moments truncated_moments(double location, double prec, double half_width) noexcept nogil

cdef Moments atom_moments(double location, double prec, double half_width) noexcept nogil

cdef struct Piece:
    # The standard normal restricted to an interval.
    double mass     # over its density at the interval's point nearest to 0 (for a tail: at its end)
    double mean     # less that point
    double var

cdef Piece tail_piece(double near) noexcept nogil


# libm's fmax and fmin are calls; these are an instruction each. Of a nan and a number, given in this order, the number.
cdef inline double larger(double a, double b) noexcept nogil:
    return a if a > b else b


cdef inline double smaller(double a, double b) noexcept nogil:
    return a if a < b else b
