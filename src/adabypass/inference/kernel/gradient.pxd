# ADA-BYPASS's gradients, where the covariance is not full: equations (210)-(213).

from adabypass.inference.kernel.low_rank cimport LowRank
from adabypass.simd.dispatch cimport GradientMove


cdef void follow_diagonal(
    Py_ssize_t n, const GradientMove* by, const double* x, double* scratch, double* psi, double* zeta
) noexcept nogil
cdef double gradient_product(const LowRank* low, const double* x) noexcept nogil
cdef void follow_low_rank(LowRank* low, const GradientMove* by, const double* x, double drift_var) noexcept nogil
