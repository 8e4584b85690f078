# All structures on one row: units and observations, equations (130) and (143).

from adabypass.kernels.structure_filter cimport Filter
from adabypass.kernels.structure_state cimport Bank

cdef struct Table:
    # Where a forecast is written: an array (n_structures,) each.
    double* shares
    double* means
    double* scales
    double* dofs


cdef double in_units(const Bank* bank, double value, Py_ssize_t column) noexcept nogil
cdef void describe(Bank* bank, const double* exog, bint is_limited, const Table* out) noexcept nogil
cdef void keep_near(const Bank* bank, const Filter* f, double* mean, double* scale, double* dof) noexcept nogil
cdef double zero_share(const Bank* bank) noexcept nogil
cdef bint is_counted(const Bank* bank) noexcept nogil
cdef double observe(Bank* bank, double y, const double* exog) noexcept nogil
