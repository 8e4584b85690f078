# Forecasts many steps ahead, and weights of lags that let no series explode.

from libc.math cimport isnan

from adabypass.distributions.component cimport Component
from adabypass.kernels.past cimport Design, Past
from adabypass.kernels.step cimport MAX_VALUE, LinearMixture, saturate


cdef inline double finite(double value) noexcept nogil:
    """np.clip(np.nan_to_num(value, nan=MAX_VALUE), -MAX_VALUE, MAX_VALUE)"""
    return MAX_VALUE if isnan(value) else saturate(value)


cdef inline Py_ssize_t packed(Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """Where a lower triangle holds element (i, j)."""
    return i * (i + 1) // 2 + j if i >= j else j * (j + 1) // 2 + i


cdef class MultistepForecaster:
    cdef readonly Py_ssize_t n_steps
    cdef LinearMixture belief
    cdef Design design
    cdef readonly Py_ssize_t n_components
    cdef Py_ssize_t stride, n_slots, n_packed, n_positions, lags_at
    cdef bint intercept
    cdef list owned                 # arrays that are pointed at
    cdef const Py_ssize_t* positions    # (n_positions,)    of the past values that matter, from 0, the newest
    cdef const Py_ssize_t* place    # (n_lags, n_taps)      which of the positions a lag's feature is made of
    cdef const double* base         # (n_positions,)        weights of what differencing took away
    cdef double* memory
    cdef Py_ssize_t* slot           # (n_values + n_steps,)  where each value is kept among those not known; -1: known
    cdef Py_ssize_t* used           # (n_positions,)         slot of the value at each position
    cdef Py_ssize_t* touched        # (n_lags,)              lags that are made of values not known
    cdef double* weights            # (n_lags, stride)
    cdef double* typical            # (n_lags,)
    cdef double* response           # (n_impulse, stride)
    cdef double* growth             # (stride,)
    cdef double* early              # (stride,)
    cdef double* shrink             # (n_linears,)
    cdef double* stable             # (n_linears, n_weights)
    cdef double* r                  # (n_weights,)
    cdef double* Pr                 # (n_weights,)
    cdef double* direction          # (n_weights,)
    cdef double* values             # (n_values + n_steps,)  oldest first
    cdef double* cov                # (n_slots, n_slots)     of what is not known
    cdef double* cross              # (n_weights, n_slots)   of the weights with it
    cdef double* slope              # (n_positions,)
    cdef double* along              # (n_slots,)

    cdef double* step_share         # (n_steps, n_linears)   shares at each step ahead; those of one step if not filled
    cdef bint has_step_shares

    cdef void forecast(self, const Past* past, const double* exog, Component* out) noexcept nogil
    cdef void forecast_mean(self, Py_ssize_t k, const Past* past, Py_ssize_t n_steps) noexcept nogil
    cdef void _place_slots(self, const Past* past) noexcept nogil
    cdef void _forecast_component(
        self, Py_ssize_t k, const Past* past, const double* exog, Component* out
    ) noexcept nogil
    cdef void _write(self, Py_ssize_t k, const Component* whole, Component* out) noexcept nogil
    cdef void _begin(self, const Past* past) noexcept nogil
    cdef void _advance(self, Py_ssize_t k, Py_ssize_t t) noexcept nogil
    cdef double _regress(self, const double* m, Py_ssize_t t, const double* exog) noexcept nogil
    cdef double _signal(self, const double* m, const double* P, double* own) noexcept nogil
    cdef void _explain(self, Py_ssize_t at, double* P, double var, double shrink) noexcept nogil
    cdef void _append(self, Py_ssize_t at, double shrink) noexcept nogil


cdef void stabilise(MultistepForecaster ahead, const Past* past) noexcept nogil
