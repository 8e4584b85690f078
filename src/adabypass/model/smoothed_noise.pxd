# The insensitive noise plus a Gaussian: η = (y - x'w)/σ, seen through weights that are not known exactly.

from adabypass.model.special cimport Piece


cdef struct Pieces:
    # N(η; d, v) p(η | ε), up to a factor, on the left tail, the flat top and the right tail of the noise; for d >= 0.
    double left, flat, right        # their masses, adding up to 1
    double total, log_unit          # their sum before that, and the log of the unit it is in
    Piece left_piece, flat_piece, right_piece   # each in standard deviations, measured from its point nearest to d


cdef Pieces pieces(double distance, double v, double epsilon) noexcept nogil
cdef double log_pdf(double d, double v, double epsilon) noexcept nogil
cdef double lower_tail(double distance, double v, double epsilon, double* density) noexcept nogil
cdef double mean_distance(double distance, double v, double epsilon) noexcept nogil

cdef double pair_distance(
    double distance, double v, double scale, double epsilon, double other_scale, double other_epsilon
) noexcept nogil
