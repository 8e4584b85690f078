# Special functions for which SciPy's are too slow; tests compare each with mpmath.

cpdef double bessel_ratio(double rho) noexcept nogil

cdef struct Moments:
    double mean
    double var

cdef Moments truncated_moments(double location, double prec, double half_width) noexcept nogil

cdef Moments atom_moments(double location, double prec, double half_width) noexcept nogil

cdef struct Piece:
    # The standard normal restricted to an interval.
    double mass     # probability over the density at the interval's point nearest to 0 (for a tail: at its end)
    double mean     # mean less that point
    double var

cdef Piece tail_piece(double near) noexcept nogil


# libm's fmax and fmin are calls; these are an instruction each. Given a nan and a number, in this order, they return
# the number.
cdef inline double larger(double a, double b) noexcept nogil:
    return a if a > b else b


cdef inline double smaller(double a, double b) noexcept nogil:
    return a if a < b else b
