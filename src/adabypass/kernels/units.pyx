"""The standard units of a bank, in which its filters work: equation (49)."""

from libc.math cimport copysign, fabs

from adabypass.state.bank_table cimport Bank
from adabypass.numerics.special cimport larger, smaller

from adabypass.kernels.step cimport LARGEST

from adabypass.numerics import limits

cdef double LARGE_FEATURE = limits.LARGE_FEATURE
cdef double RESOLUTION = limits.RESOLUTION


cdef void standardise(Bank* bank, const double* x, double scale) noexcept nogil:
    """z = (1, (x - x_center) / x_scale): equation (49)."""
    cdef Py_ssize_t i
    cdef double* z = bank.z + bank.intercept
    cdef double deviation
    if bank.intercept:
        bank.z[0] = 1.0
    for i in range(bank.n_features):
        deviation = scale * x[i] - bank.x_center[i]
        if bank.x_scale[i] > 0.0:
            z[i] = smaller(larger(deviation / bank.x_scale[i], -LARGE_FEATURE), LARGE_FEATURE)
        elif bank.x_scale[i] == 0.0 and _moves(bank, i, deviation):
            z[i] = copysign(1.0, deviation)     # constant so far: this move is its unit
        else:
            z[i] = 0.0


cdef void find_scales(Bank* bank, const double* x, double scale) noexcept nogil:
    """Give a feature that was constant until now its scale, which is its first move; a new one its centre."""
    cdef Py_ssize_t i
    cdef double deviation
    for i in range(bank.n_features):
        if bank.x_scale[i] > 0.0:
            continue
        if bank.x_scale[i] < 0.0:
            bank.x_center[i], bank.x_scale[i] = scale * x[i], 0.0
        deviation = scale * x[i] - bank.x_center[i]
        if _moves(bank, i, deviation):
            bank.x_scale[i] = smaller(fabs(deviation), LARGEST)


cdef bint _moves(const Bank* bank, Py_ssize_t i, double deviation) noexcept nogil:
    return fabs(deviation) > RESOLUTION * fabs(bank.x_center[i])
