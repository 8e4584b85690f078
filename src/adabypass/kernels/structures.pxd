# One structure: its filter on its part of a row, and its forecasts many steps ahead.

cdef enum:
    # As in SHOCKS of state/structure_row.py.
    FOLLOWS
    IGNORES
    JUMPS

cdef struct StructuralFilter:
    bint is_log
    bint has_slope
    bint is_difference
    int shock                   # what it does at a gross error: FOLLOWS, IGNORES or JUMPS
    Py_ssize_t n                # numbers of the state: level, slope, season, exogenous columns, lags
    Py_ssize_t season_at        # where its waves begin among those of all
    Py_ssize_t n_season         # 0 if it has none
    Py_ssize_t n_exog
    Py_ssize_t n_lags
    Py_ssize_t n_values         # past values that it needs
    Py_ssize_t profile          # index of what is subtracted before it is regressed on lags; -1 if nothing is
    double noise_var
    double damping
    double level_var            # variances of a step
    double slope_var
    double season_var
    double lag_var
    double exog_var
    const Py_ssize_t* lags
    const double* lag_prior
    double* mean                # state in the row: mean, and lower triangle of the covariance,
    double* cov
    Py_ssize_t owner            # the covariance's: this structure, or the first of its twins
    Py_ssize_t pending_at       # where its variance is among the pending ones of a horizon
    Py_ssize_t twin             # index of the next structure that has the same covariance; 0 if there is none
    Py_ssize_t following        # the twin that learns gross errors as any other value: this structure, if it does
    double* square_sum
    double* dof
    double* n_shocks            # gross errors since the last value that was none
    double* evidence

cdef struct Surprise:
    double mean                 # of the next value, in units
    double var                  # in units of the scale of the noise, squared
    double log_density          # of the value that came, in units
    double dof                  # degrees of freedom of the newest density, 0 at first,
    double constant             # and what does not depend on the value: most structures have the same

cdef struct Limits:
    # Limits of a structure's means, and the range of the values seen, in its units.
    double low
    double high
    double range

cdef struct Future:
    Py_ssize_t horizon
    const double* season        # (horizon, n_season)
    Py_ssize_t n_season
    const double* exog          # (horizon, n_exog)
    Py_ssize_t n_exog
    const double* values        # past ones, newest first, less the profile
    const double* profile       # (horizon,) what the profile adds; NULL if there is none
    Limits limits               # of the means
    double* scratch             # of `ahead_size` numbers


cdef void reset(StructuralFilter* f) noexcept nogil
cdef void advance(StructuralFilter* f) noexcept nogil
cdef void advance_mean(const StructuralFilter* f, double* mean) noexcept nogil
cdef void advance_state(const StructuralFilter* f, double* mean, double* cov) noexcept nogil
cdef void fill_regressors(
    const StructuralFilter* f, const double* season, const double* exog, const double* values, double* x
) noexcept nogil
cdef double exog_part(const StructuralFilter* f, const double* mean, const double* x) noexcept nogil
cdef double times_cov(const double* cov, const double* x, Py_ssize_t n, double* out) noexcept nogil
cdef double scale_var(const StructuralFilter* f) noexcept nogil
cdef void forecast(
    const StructuralFilter* f, const double* x, const double* values, double* cov_x, Surprise* out
) noexcept nogil
cdef double expect(const StructuralFilter* f, const double* x, const double* values) noexcept nogil
cdef void learn_mean(StructuralFilter* f, const double* cov_x, double z, Surprise* out) noexcept nogil
cdef void learn_with_shocks(
    StructuralFilter* f, const StructuralFilter* following, const double* cov_x, double z, Surprise* out
) noexcept nogil
cdef void learn_cov(StructuralFilter* f, const double* cov_x, double var) noexcept nogil
cdef double step_mean(
    const StructuralFilter* f, const double* x, const Limits* limits
) noexcept nogil
cdef Py_ssize_t ahead_size(Py_ssize_t n, Py_ssize_t longest) noexcept nogil
cdef void forecast_ahead(
    const StructuralFilter* f, const Future* future, double* means, double* variances
) noexcept nogil
cdef void forecast_step(
    const StructuralFilter* f, Py_ssize_t h, const double* season, const Limits* limits, double* x, double* cov_x,
    double* mean, double* var,
) noexcept nogil
