# How the weights move after exact evidence.

from adabypass.model.families cimport Evidence


cdef void move(
    Py_ssize_t n, double* m, double* S, const double* p, const double* x, double h, double noise_scale,
    const Evidence* seen, double v, double unit,
) noexcept nogil
