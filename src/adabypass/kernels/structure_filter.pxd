# One structure's filter on its part of a row: equations (130)-(139).

cdef struct Filter:
    bint is_log
    bint has_slope
    bint is_difference
    Py_ssize_t n                # numbers of the state: level, slope, season, exogenous columns, lags
    Py_ssize_t n_season         # 0 if it has none
    Py_ssize_t n_exog
    Py_ssize_t n_lags
    Py_ssize_t n_values         # past values that it needs
    double noise_var
    double damping
    double level_var            # variances of a step
    double slope_var
    double season_var
    double lag_var
    double exog_var
    const Py_ssize_t* lags
    const double* lag_prior
    double* mean                # state in the row: mean, and lower triangle of the covariance
    double* cov
    double* square_sum
    double* dof
    double* evidence

cdef struct Surprise:
    double mean                 # of the next value, in units
    double var                  # in units of the scale of the noise, squared
    double log_density          # of the value that came, in units


cdef void reset(Filter* f) noexcept nogil
cdef void advance(Filter* f) noexcept nogil
cdef void advance_state(const Filter* f, double* mean, double* cov) noexcept nogil
cdef void fill_regressors(
    const Filter* f, const double* season, const double* exog, const double* values, double* x
) noexcept nogil
cdef double exog_part(const Filter* f, const double* mean, const double* x) noexcept nogil
cdef double times_cov(const double* cov, const double* x, Py_ssize_t n, double* out) noexcept nogil
cdef double scale_var(const Filter* f) noexcept nogil
cdef void forecast(
    const Filter* f, const double* x, const double* values, double* cov_x, Surprise* out
) noexcept nogil
cdef void learn(Filter* f, const double* cov_x, double z, Surprise* out) noexcept nogil
