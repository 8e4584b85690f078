# Shares of the structures by their evidence: equations (139) and (140).

from adabypass.kernels.structure_filter cimport Filter
from adabypass.kernels.structure_state cimport Bank


cdef void fill_season(const Bank* bank, double t, double* out) noexcept nogil
cdef bint is_awake(const Bank* bank, const Filter* f) noexcept nogil
cdef bint has_share(const Bank* bank, const Filter* f) noexcept nogil
cdef void fill_shares(const Bank* bank, const double* evidence, double* out) noexcept nogil
cdef void weigh(double* evidence, const double* scores, Py_ssize_t n, double discount) noexcept nogil
