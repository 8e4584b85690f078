# Symmetric matrices kept as their lower triangle, row after row. Rows are short, so they are looped over here; from
# BLAS_FROM numbers on, BLAS's dot and axpy are faster. (Its packed level-2 routines start threads for any size, which
# costs more than the whole product of such matrices.)

from scipy.linalg.cython_blas cimport daxpy, ddot

cdef enum:
    BLAS_FROM = 32      # numbers; where loop and call take the same time


cdef inline double dot(Py_ssize_t n, const double* a, const double* b) noexcept nogil:
    """a @ b"""
    cdef double total = 0.0
    cdef Py_ssize_t i
    cdef int size = <int>n, one = 1
    if n >= BLAS_FROM:
        return ddot(&size, <double*>a, &one, <double*>b, &one)
    for i in range(n):
        total += a[i] * b[i]
    return total


cdef inline void add_scaled(Py_ssize_t n, double factor, const double* a, double* b) noexcept nogil:
    """b += factor * a"""
    cdef Py_ssize_t i
    cdef int size = <int>n, one = 1
    if n >= BLAS_FROM:
        daxpy(&size, &factor, <double*>a, &one, b, &one)
        return
    for i in range(n):
        b[i] += factor * a[i]


cdef inline void symv(Py_ssize_t n, const double* A, const double* x, double* out) noexcept nogil:
    """out = A @ x"""
    cdef Py_ssize_t i, at = 0
    for i in range(n):
        out[i] = dot(i, A + at, x) + A[at + i] * x[i]
        add_scaled(i, x[i], A + at, out)
        at += i + 1


cdef inline void add_outer(Py_ssize_t n, double factor, const double* a, double* A) noexcept nogil:
    """A += factor * outer(a, a)"""
    cdef Py_ssize_t i, at = 0
    for i in range(n):
        add_scaled(i + 1, factor * a[i], a, A + at)
        at += i + 1
