"""ADA-BYPASS's gradients, where the covariance is not full: equations (210)-(213).

That of the covariance, G, is kept as its diagonal, zeta. That of the mean, psi, has with a covariance of low rank a
part that the columns say, as the mean has.
"""

from libc.math cimport fabs, isfinite

from adabypass.inference.kernel.low_rank cimport LowRank
from adabypass.model.special cimport larger, smaller
from adabypass.simd.dispatch cimport KERNELS, GradientMove

from adabypass.model import limits

cdef double LARGEST = limits.LARGEST


cdef inline double _within(double value, double bound) noexcept nogil:
    """np.clip(value, -bound, bound)"""
    return larger(-bound, smaller(value, bound))


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


cdef double gradient_product(const LowRank* low, const double* x) noexcept nogil:
    """x @ psi, after `project_low_rank`"""
    cdef Py_ssize_t j, k
    cdef double total = 0.0, shifted = 0.0
    for k in range(low.n_given):
        total += x[k] * low.gradient[low.given[k]]
    for j in range(low.rank + <Py_ssize_t>low.n_columns[0]):
        shifted += low.products[j] * low.gradient_shift[j]
    return total + shifted if isfinite(shifted) else total


cdef void follow_low_rank(LowRank* low, const GradientMove* by, const double* x, double drift_var) noexcept nogil:
    """Carry both gradients through an observation, before `condition_low_rank`, which moves what the columns say."""
    cdef Py_ssize_t i, k
    cdef double along = _within(gradient_product(low, x), LARGEST), pull = by.pull * by.left, f = 0.0, moved
    _project_given(low, x, drift_var)
    for k in range(low.n_given):
        f += low.var_gradient[low.given[k]] * x[k] * x[k]
    for k in range(low.n_given):
        i = low.given[k]
        moved = _within(low.gradient[i] + pull * (low.var_gradient[i] * x[k]), by.bound)    # (213)
        low.gradient[i] = moved if fabs(moved) > by.negligible else 0.0
        low.var_gradient[i] = _narrowed(low.var_gradient[i], low.newest[k] / by.D, x[k], f, by.negligible)
    low.gradient_move = _within(-(along + _within(pull * f, LARGEST)) / by.D, LARGEST)      # (213)


cdef void _project_given(LowRank* low, const double* x, double drift_var) noexcept nogil:
    """newest = p of equation (174), of the features that are given"""
    cdef Py_ssize_t at, i, j, k, of
    cdef double total
    for k in range(low.n_given):
        i = low.given[k]
        low.spread[i] = k + 1.0
        total = (low.var[i] + low.common[0] + drift_var) * x[k]
        for j in range(low.rank):
            total += low.factors[i * low.rank + j] * low.change[j]
        low.newest[k] = total
    for j in range(<Py_ssize_t>low.n_columns[0]):
        for at in range(<Py_ssize_t>low.begin[j], <Py_ssize_t>low.begin[j + 1]):
            of = <Py_ssize_t>low.spread[<Py_ssize_t>low.indices[at]]
            if of > 0:
                low.newest[of - 1] += low.values[at] * low.change[low.rank + j]
    for k in range(low.n_given):
        low.spread[low.given[k]] = 0.0
