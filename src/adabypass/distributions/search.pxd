# The search for a quantile, whatever the distribution is made of.

from adabypass.simd.dispatch cimport TailValues

# P(Y < y), or P(Y > y) if not `lower`; the density at y and its slope away from the tail.
ctypedef TailValues (*Tail)(const void* distribution, double y, bint lower) noexcept nogil

# Two values between which the quantile lies that leaves the probability `wanted` below it, or above it if not `lower`.
ctypedef void (*Bracket)(const void* distribution, double wanted, bint lower, double* low, double* high) noexcept nogil


cdef struct Search:
    const void* distribution
    Tail tail
    Bracket bracket
    double center           # about where the distribution is,
    double unit             # and how wide it is; where these are wrong, the search takes longer
    bint has_logs           # whether components of a log make the density change over a part of y itself
    double grain            # how wide its narrowest component is: steps that are long beside it are looked at


cdef double find_quantile(const Search* search, double q, double* deviate, double settled) noexcept nogil
