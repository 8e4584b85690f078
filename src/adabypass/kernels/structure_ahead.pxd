# Many steps ahead under one structure: equations (140)-(142).

from adabypass.kernels.structure_filter cimport Filter
from adabypass.kernels.structure_state cimport Limits

cdef struct Future:
    Py_ssize_t horizon
    const double* season        # (horizon, n_season)
    Py_ssize_t n_season
    const double* exog          # (horizon, n_exog)
    Py_ssize_t n_exog
    const double* values        # past ones, newest first
    Limits limits               # of the means
    double* scratch             # of `ahead_size` numbers

cdef Py_ssize_t ahead_size(Py_ssize_t n, Py_ssize_t longest) noexcept nogil
cdef void forecast_ahead(const Filter* f, const Future* future, double* means, double* variances) noexcept nogil
cdef void forecast_step(
    const Filter* f, Py_ssize_t h, const double* season, const Limits* limits, double* x, double* cov_x, double* mean,
    double* var,
) noexcept nogil
