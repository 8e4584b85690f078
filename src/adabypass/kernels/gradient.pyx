"""ADA-BYPASS's gradients, where the covariance is diagonal: equations (210)-(212).

That of the covariance, G, is kept as its diagonal, zeta.
"""

from adabypass.numerics.special cimport larger
from adabypass.numerics.dispatch cimport KERNELS, GradientMove


cdef inline double _narrowed(double zeta, double g, double x, double f, double negligible) noexcept nogil:
    """The new zeta of a feature, whose gain is g; f = zeta @ x²: equations (210) and (212)."""
    cdef double left = 1.0 - g * x
    cdef double moved = zeta * left * left + g * (g * larger(f - zeta * x * x, 0.0))
    if moved < zeta:       # and a number
        zeta = moved
    return zeta if zeta > negligible else 0.0


cdef void follow_diagonal(
    Py_ssize_t n,                   # in     number of features that are given
    const GradientMove* by,         # in
    const double* x,                # in
    double* scratch,                # inout  begins with p = P @ x; 3 n numbers
    double* psi,                    # inout
    double* zeta,                  # inout
) noexcept nogil:
    """Carry both gradients through an observation: equations (210)-(212)."""
    cdef Py_ssize_t i
    cdef double* g = scratch
    cdef double* v = scratch + n
    cdef double f
    for i in range(n):
        v[i] = zeta[i] * x[i]
    f = KERNELS.move_gradient(n, by, x, g, v, g, v + n, psi)                                # (211)
    for i in range(n):
        zeta[i] = _narrowed(zeta[i], g[i], x[i], f, by.negligible)
