# What one observation says about η = (y - x'w)/σ, which is N(d, v) before it is seen.

cdef struct Evidence:
    double log_density      # of y, times σ
    double shift            # posterior less prior mean of η
    double var              # posterior variance of η
    double scale_slope      # d log density / d log σ, of the density of y itself
    double epsilon_slope    # d log density / d ε

cdef Evidence insensitive(double d, double v, double epsilon) noexcept nogil
cdef Evidence gaussian(double d, double v) noexcept nogil
cdef Evidence heavy(double d, double v) noexcept nogil

cdef void move(
    Py_ssize_t n, double* m, double* S, const double* p, const double* x, double h, double noise_scale,
    const Evidence* seen, double v, double unit,
) noexcept nogil
