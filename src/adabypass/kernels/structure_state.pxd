# The structures' row, as compiled code sees it: scalars, filters, and where the other fields are.

from libc.math cimport log

from adabypass.kernels.structure_filter cimport Filter

cdef enum:
    # Scalars of the row, in the order of its layout.
    N_SEEN
    N_STEPS
    N_FIRST
    N_VALUES
    N_MISSING
    IS_SCALED
    IS_POSITIVE
    CENTER
    UNIT
    LOG_CENTER
    LOG_UNIT
    N_ZERO
    N_COUNTED
    LOWEST
    HIGHEST
    LOG_LOWEST

cdef struct Bank:
    Py_ssize_t n_structures
    Py_ssize_t n_exog
    Py_ssize_t n_season
    Py_ssize_t longest          # past values that are kept
    Py_ssize_t n_waves
    double first_period         # 0 if there is none
    const double* waves         # (n_waves, 3)
    Filter* filters
    double* head                # fields of the row
    double* start
    double* values
    double* log_values
    double* exog_center
    double* exog_unit
    Py_ssize_t n_horizons
    double* horizon_count       # (n_horizons,)
    double* horizon_dof
    double* horizon_evidence    # (n_horizons, n_structures), as what follows
    double* horizon_square_sum
    double* pending_mean
    double* pending_var
    double* pending_scale_var
    double* season              # regressors of the next value; scratch, as what follows
    double* exog
    double* x
    double* cov_x
    double* scores              # log density of the newest value under each structure
    double* shares              # of the structures in the forecast of it
    double log_score            # log density of it in that forecast; nan where it does not count
    bint is_weighed             # whether that is to be computed
    double* future_season       # (the farthest horizon, n_season)
    double* future_mean         # (the farthest horizon,)
    double* future_var
    double* future_scratch      # of `ahead_size` numbers


cdef struct Limits:
    # Between which a structure's means lie, and the range of the values seen: in its units.
    double low
    double high
    double range


cdef inline Limits limits_of(const Bank* bank, const Filter* f, double ranges) noexcept nogil:
    """Limits this many ranges beyond the values seen: equation (226)."""
    cdef Limits out
    cdef const double* head = bank.head
    cdef double beyond = ranges * (head[HIGHEST] - head[LOWEST])
    if not f.is_log:
        out.low = (head[LOWEST] - beyond - head[CENTER]) / head[UNIT]
        out.high = (head[HIGHEST] + beyond - head[CENTER]) / head[UNIT]
        out.range = (head[HIGHEST] - head[LOWEST]) / head[UNIT]
        return out
    out.range = (log(head[HIGHEST]) - head[LOG_LOWEST]) / head[LOG_UNIT]
    out.low = (head[LOG_LOWEST] - head[LOG_CENTER]) / head[LOG_UNIT] - ranges * out.range
    out.high = (log(head[HIGHEST] + beyond) - head[LOG_CENTER]) / head[LOG_UNIT]
    return out
