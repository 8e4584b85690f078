# Symmetric matrices kept as their lower triangle, row after row. In BLAS's column-major words that is the upper
# triangle, packed: hence "U". Small matrices are looped over here: a BLAS call costs as much as the whole product.

from scipy.linalg.cython_blas cimport dspmv, dspr, dspr2

cdef enum:
    BLAS_FROM = 24      # features; from benchmarks/speed: below it the loops are faster


cdef inline double dot(Py_ssize_t n, const double* a, const double* b) noexcept nogil:
    """a @ b"""
    cdef double total = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        total += a[i] * b[i]
    return total


cdef inline void symv(Py_ssize_t n, const double* A, const double* x, double* out) noexcept nogil:
    """out = A @ x"""
    cdef Py_ssize_t i, j, at = 0
    cdef double total
    cdef int size = <int>n, one = 1
    cdef double unit = 1.0, zero = 0.0
    if n >= BLAS_FROM:
        dspmv("U", &size, &unit, <double*>A, <double*>x, &one, &zero, out, &one)
        return
    for i in range(n):
        total = 0.0
        for j in range(i):
            total += A[at + j] * x[j]
            out[j] += A[at + j] * x[i]
        out[i] = total + A[at + i] * x[i]
        at += i + 1


cdef inline void add_outer(Py_ssize_t n, double factor, const double* a, double* A) noexcept nogil:
    """A += factor * outer(a, a)"""
    cdef Py_ssize_t i, j, at = 0
    cdef double scaled
    cdef int size = <int>n, one = 1
    if n >= BLAS_FROM:
        dspr("U", &size, &factor, <double*>a, &one, A)
        return
    for i in range(n):
        scaled = factor * a[i]
        for j in range(i + 1):
            A[at + j] += scaled * a[j]
        at += i + 1


cdef inline void add_outer_pair(
    Py_ssize_t n, double factor, const double* a, const double* b, double* A
) noexcept nogil:
    """A += factor * (outer(a, b) + outer(b, a))"""
    cdef Py_ssize_t i, j, at = 0
    cdef double scaled_a, scaled_b
    cdef int size = <int>n, one = 1
    if n >= BLAS_FROM:
        dspr2("U", &size, &factor, <double*>a, &one, <double*>b, &one, A)
        return
    for i in range(n):
        scaled_a = factor * a[i]
        scaled_b = factor * b[i]
        for j in range(i + 1):
            A[at + j] += scaled_a * b[j] + scaled_b * a[j]
        at += i + 1


cdef inline void add_diagonal(Py_ssize_t n, double amount, double* A) noexcept nogil:
    """A += amount * eye(n)"""
    cdef Py_ssize_t i, at = 0
    for i in range(n):
        A[at + i] += amount
        at += i + 1


cdef inline double largest_diagonal(Py_ssize_t n, const double* A) noexcept nogil:
    """A.diagonal().max(), of a matrix without negative variances"""
    cdef Py_ssize_t i, at = 0
    cdef double largest = 0.0
    for i in range(n):
        if A[at + i] > largest:
            largest = A[at + i]
        at += i + 1
    return largest
