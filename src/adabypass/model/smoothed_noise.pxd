# The insensitive noise plus a Gaussian: η = (y - x'w)/σ, seen through weights that are not known exactly.

cdef double mean_distance(double distance, double v, double epsilon) noexcept nogil

cdef double pair_distance(
    double distance, double v, double scale, double epsilon, double other_scale, double other_epsilon
) noexcept nogil
