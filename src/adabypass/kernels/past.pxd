# The past of a series, in its row: which values the next one is forecast from, and what is unknown of them.

from adabypass.kernels.shares cimport Horizons
from adabypass.kernels.step cimport StepContext, Weights, WeightsView


cdef enum:      # the row's head (state/series.py)
    N_FILLED = 0        # values that are there, until n_values are
    MAX_ABS = 1   # largest observation so far, in absolute value
    N_UNKNOWN = 2       # values whose observations are missing
    HEAD = 3


ctypedef struct Design:
    Py_ssize_t n_values
    Py_ssize_t n_lags
    Py_ssize_t n_taps           # order of differencing, plus 1
    Py_ssize_t n_exog
    Py_ssize_t bias             # 1 if the first feature is constant
    Py_ssize_t capacity         # most unknown values whose covariance is kept
    Py_ssize_t n_horizons       # at which drift rates are judged
    Py_ssize_t n_groups         # drift rates
    const Py_ssize_t* lags      # (n_lags,)  ascending
    const double* taps          # (n_taps,)  coefficients of the differenced series on the newest values


ctypedef struct Past:
    double* head                # (HEAD,)
    double* values              # (n_values,)           newest first
    double* positions           # (capacity,)           of the unknown values, oldest first
    double* cov                 # (capacity triangle,)  of the unknown values
    double* exog_mean           # (n_exog,)
    double* exog_last           # (n_exog,)
    double* exog_count          # (n_exog,)
    double* horizon_time        # (n_horizons,)         steps until the pending forecast is judged, from 0: none
    Horizons horizons           # at which drift rates are judged
    double* pending_mean        # (n_horizons, n_groups)
    double* model               # the model's row


ctypedef struct Workspace:      # scratch of the functions below, owned by the caller
    Py_ssize_t max_touched     # lags that can be made of unknown values at once
    Py_ssize_t* touched         # (max_touched,)       which they are
    double* spread              # (most_touched²)       covariance of these lags
    double* crossed             # (max_touched,)       and of them with the base
    double* typical             # (n_lags,)             mean weights of the lags under the mixture
    Py_ssize_t stride           # n_walks, filled up for vectors
    WeightsView* linears             # (n_walks,)       their weights
    double* weights             # (n_lags, stride)      weights of the lags
    double* response            # (n_response, stride)  to an impulse
    double* growth              # (stride,)             of an impulse
    double* size                # (n_walks,)       sum of the absolute weights of the lags
    double* sd                  # (n_walks,)       of the weights of the lags, up to the horizon
    double* slope               # (capacity,)           of the forecast by each unknown value
    double* along               # (capacity,)           covariance of the forecast with each
    double* extra               # (stride,)


cdef Py_ssize_t n_response(const Design* design) noexcept nogil
cdef Past open_past(double* row, const Design* design) noexcept nogil
cdef bint is_ready(const Past* past, const Design* design) noexcept nogil
cdef bint fill(Past* past, const Design* design, double y) noexcept nogil
cdef void fill_exog(Past* past, const Design* design, double* exog, bint by_mean, bint learn) noexcept nogil
cdef void features(const Past* past, const Design* design, const double* exog, double* x) noexcept nogil
cdef double base_of(const Past* past, const Design* design) noexcept nogil
cdef void extra_var(
    const Past* past, const Design* design, const Workspace* work, const StepContext* step, Weights weights_of,
    Py_ssize_t n_walks,
) noexcept nogil
cdef void observe(
    Past* past, const Design* design, const Workspace* work, double y, double mean, double var
) noexcept nogil
