# ADA-BYPASS's gradients, where the covariance is diagonal: equations (210)-(212).

from adabypass.numerics.dispatch cimport GradientMove


cdef void follow_diagonal(
    Py_ssize_t n, const GradientMove* by, const double* x, double* scratch, double* psi, double* zeta
) noexcept nogil
