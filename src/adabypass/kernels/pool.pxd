# The automatic forecaster's row: the structures of a series, and regressions beside them one step ahead.

from adabypass.kernels.runner cimport OneStepForecast, Runner
from adabypass.kernels.structure cimport StructureRunner


cdef class Regression:
    cdef Runner runner
    cdef Regression next
    cdef Py_ssize_t start               # where its row begins in that of the pool,
    cdef Py_ssize_t n_seen_at           # and the count of what it has learned from
    cdef double min_seen                # the count from which on it has a share
    cdef const double* n_seen
    cdef OneStepForecast seen
    cdef bint was_forecast, is_awake    # whether its newest forecast is there, and has a share

    cdef bint has_share(self) noexcept nogil
    cdef void bind(self, double* row) noexcept nogil
    cdef void forecast(self, const double* x) noexcept nogil
    cdef void learn(self, double y, double* scores) noexcept nogil
    cdef void find_awake(self, bint* out) noexcept nogil
    cdef void describe(self, double* record) noexcept nogil


cdef class PoolRunner(Runner):
    cdef readonly StructureRunner structures
    cdef Regression first
    cdef Py_ssize_t n_regressions, evidence_at, exog_mean_at, exog_last_at, exog_count_at
    cdef bint fills, by_mean            # whether missing exogenous values are filled, and by the mean of their column
    cdef double* exog                   # exogenous values, the missing ones filled

    cdef void _fill_exog(self, bint learn) noexcept nogil
    cdef void _fill_shares(self, double* out) noexcept nogil
