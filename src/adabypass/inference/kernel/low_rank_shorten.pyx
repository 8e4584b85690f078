"""A covariance that is diagonal less one of low rank, made short again: equations (176)-(179).

All features take part, so it is done once in many steps, in chunks of features, with products of matrices. The newest
column, which may have no place in the row any more, is read from where the step has left it.
"""

from libc.math cimport fabs, isfinite, sqrt
from libc.string cimport memset

from scipy.linalg.cython_blas cimport dgemm, dsyrk
from scipy.linalg.cython_lapack cimport dsyev

from adabypass.inference.kernel.low_rank cimport CHUNK, WORK, Desk, LowRank, width_of
from adabypass.model.special cimport larger, smaller

from adabypass.model import covariance, limits

cdef double LARGEST_WEIGHT = limits.LARGEST_WEIGHT
cdef double MOST_EXPLAINED = covariance.MOST_EXPLAINED
cdef double SMALLEST_VAR = 1e-290       # a weight whose variance is less is known


cdef void shorten(LowRank* low, Py_ssize_t count) noexcept nogil:
    """Put the `count` sparse columns, of which the last is the newest, into the dense ones and the diagonal."""
    _sort_by_feature(low, count)
    _weigh(low)
    if not _choose_directions(low, count):
        _keep_variances(low, count)
        return
    _turn(low, count)
    _finish(low)


cdef void forget_columns(LowRank* low) noexcept nogil:
    """Keep the mean and the variance of each weight alone, of what is in the row."""
    cdef Py_ssize_t count = <Py_ssize_t>low.n_columns[0], n_given = low.n_given
    low.n_given = 0
    _sort_by_feature(low, count)
    _keep_variances(low, count)
    low.n_given = n_given


cdef void _sort_by_feature(LowRank* low, Py_ssize_t count) noexcept nogil:
    """Sort the numbers of the sparse columns by feature, those of one feature by column."""
    cdef Py_ssize_t* first = low.desk.first
    cdef Py_ssize_t i, j, k, at, n_kept = <Py_ssize_t>low.n_columns[0]
    memset(first, 0, (low.n + 1) * sizeof(Py_ssize_t))
    for k in range(<Py_ssize_t>low.begin[n_kept]):
        first[<Py_ssize_t>low.indices[k] + 1] += 1
    for k in range(low.n_given):
        first[low.given[k] + 1] += 1
    for i in range(low.n):
        first[i + 1] += first[i]
    for j in range(n_kept):
        for k in range(<Py_ssize_t>low.begin[j], <Py_ssize_t>low.begin[j + 1]):
            i = <Py_ssize_t>low.indices[k]
            at, first[i] = first[i], first[i] + 1
            low.desk.entries[at].column, low.desk.entries[at].value = j, low.values[k]
    for k in range(low.n_given):
        i = low.given[k]
        at, first[i] = first[i], first[i] + 1
        low.desk.entries[at].column, low.desk.entries[at].value = count - 1, low.newest[k]
    for i in range(low.n, 0, -1):       # each begins where the one before ended
        first[i] = first[i - 1]
    first[0] = 0


cdef void _weigh(LowRank* low) noexcept nogil:
    """weighted = B' D⁻¹ B, its lower triangle"""
    cdef Desk* desk = &low.desk
    cdef Py_ssize_t begin, c, i, j, r, n_rows, rank = low.rank
    cdef const double* factor
    cdef double unit
    memset(desk.weighted, 0, low.n_all * low.n_all * sizeof(double))
    for c in range((low.n + CHUNK - 1) // CHUNK):
        begin = c * CHUNK
        n_rows = min(<Py_ssize_t>CHUNK, low.n - begin)
        for r in range(n_rows):
            i = begin + r
            factor = low.factors + i * rank
            unit = low.var[i] + low.common[0]
            unit = 1.0 / unit if unit > SMALLEST_VAR else 0.0
            if desk.first[i] < desk.first[i + 1]:
                _weigh_sparse(low, i, unit)
            unit = sqrt(unit)
            for j in range(rank):
                desk.scaled[r * rank + j] = unit * factor[j]
        _add_squares(n_rows, rank, desk.scaled, desk.weighted, low.n_all)


cdef void _weigh_sparse(LowRank* low, Py_ssize_t i, double unit) noexcept nogil:
    """Add what sparse columns have of feature i to B' D⁻¹ B."""
    cdef Desk* desk = &low.desk
    cdef Py_ssize_t j, k, other
    cdef const double* factor = low.factors + i * low.rank
    cdef double* out
    cdef double value
    for k in range(desk.first[i], desk.first[i + 1]):
        out = desk.weighted + (low.rank + desk.entries[k].column) * low.n_all
        value = unit * desk.entries[k].value
        for j in range(low.rank):
            out[j] += value * factor[j]
        for other in range(desk.first[i], k + 1):
            out[low.rank + desk.entries[other].column] += value * desk.entries[other].value


cdef bint _choose_directions(LowRank* low, Py_ssize_t count) noexcept nogil:
    """Find the directions, of which the last ones are kept, and the `map`; return whether all numbers are finite.

    B @ directions is D^(1/2) e √(τ) of (177), so that W is that over D.
    """
    cdef Desk* desk = &low.desk
    cdef Py_ssize_t j, k, rank = low.rank, n_used = rank + count, n_all = low.n_all, width = width_of(low)
    cdef int size = <int>n_used, n_work = <int>(WORK * n_used), info = 0
    cdef double explained, unit, total = 0.0
    for j in range(n_used):
        for k in range(j):
            desk.weighted[k * n_all + j] = desk.weighted[j * n_all + k]
    _multiply(n_used, n_used, n_used, low.roots, n_all, b"N", desk.weighted, n_all, b"N", desk.directions, n_all)
    _multiply(n_used, n_used, n_used, desk.directions, n_all, b"N", low.roots, n_all, b"T", desk.matrix, n_used)
    for k in range(n_used * n_used):
        total += fabs(desk.matrix[k])
    if not isfinite(total):
        return False
    dsyev(b"V", b"U", &size, desk.matrix, &size, desk.eigenvalues, desk.work, &n_work, &info)           # (176)
    if info != 0:
        return False
    for j in range(n_used):             # an eigenvector is a row of ours
        explained = smaller(desk.eigenvalues[j], MOST_EXPLAINED)
        unit = sqrt(explained / (desk.eigenvalues[j] * (1.0 - explained))) if explained > 0.0 else 0.0
        for k in range(n_used):
            desk.matrix[j * n_used + k] *= unit
    _multiply(n_used, n_used, n_used, low.roots, n_all, b"T", desk.matrix, n_used, b"T", desk.directions, n_all)
    _multiply(rank, count, rank, desk.directions, n_all, b"N", desk.directions, n_all, b"T", desk.map + rank, width)
    for j in range(rank):
        for k in range(rank):
            desk.map[j * width + k] = desk.directions[j * n_all + count + k]
        desk.map[j * width + 2 * rank] = low.shift[j]
        if low.gradient != NULL:
            desk.map[j * width + 2 * rank + 1] = low.gradient_shift[j]
    return True


cdef void _multiply(
    Py_ssize_t n_rows, Py_ssize_t n_inner, Py_ssize_t n_columns, const double* a, Py_ssize_t a_stride, char* a_form,
    const double* b, Py_ssize_t b_stride, char* b_form, double* out, Py_ssize_t stride,
) noexcept nogil:
    """out = a @ b, of matrices row by row; a form "T" takes the transposed one.

    BLAS goes column by column, so it is asked for b' @ a' = out'.
    """
    cdef int m = <int>n_columns, n = <int>n_rows, k = <int>n_inner
    cdef int lda = <int>b_stride, ldb = <int>a_stride, ldc = <int>stride
    cdef double one = 1.0, zero = 0.0
    dgemm(b_form, a_form, &m, &n, &k, &one, <double*>b, &lda, <double*>a, &ldb, &zero, out, &ldc)


cdef void _turn(LowRank* low, Py_ssize_t count) noexcept nogil:
    """Write the new diagonal and dense columns, and their products: equation (178)."""
    cdef Desk* desk = &low.desk
    cdef Py_ssize_t begin, c, i, j, r, n_rows, rank = low.rank, width = width_of(low)
    cdef double* factor
    cdef double D, dropped, unit
    memset(desk.inner, 0, rank * rank * sizeof(double))
    memset(low.gram, 0, low.n_all * low.n_all * sizeof(double))
    for c in range((low.n + CHUNK - 1) // CHUNK):
        begin = c * CHUNK
        n_rows = min(<Py_ssize_t>CHUNK, low.n - begin)
        factor = low.factors + begin * rank
        _multiply(n_rows, rank, width, factor, rank, b"N", desk.map, width, b"N", desk.chunk, width)
        for r in range(n_rows):
            i = begin + r
            D = low.var[i] + low.common[0]
            if desk.first[i] < desk.first[i + 1]:
                dropped = _turn_sparse(low, i, count, desk.chunk + r * width)
            else:
                dropped = 0.0
                for j in range(rank):
                    dropped += desk.chunk[r * width + rank + j] * factor[j]
            unit = 1.0 / (1.0 + larger(dropped / D, 0.0)) if D > SMALLEST_VAR and isfinite(dropped / D) else 0.0
            low.var[i] = D * unit if unit > 0.0 else D
            _move(low.mean + i, desk.chunk[r * width + 2 * rank])
            if low.gradient != NULL:
                _move(low.gradient + i, desk.chunk[r * width + 2 * rank + 1])
            for j in range(rank):
                factor[j] = unit * desk.chunk[r * width + j]
                desk.scaled[r * rank + j] = factor[j] / sqrt(low.var[i]) if unit > 0.0 else 0.0
            factor += rank
        _add_squares(n_rows, rank, desk.scaled, desk.inner, rank)
        _add_squares(n_rows, rank, low.factors + begin * rank, low.gram, low.n_all)


cdef double _turn_sparse(LowRank* low, Py_ssize_t i, Py_ssize_t count, double* out) noexcept nogil:
    """Do what the map does, for a feature in sparse columns; return the precision that is not kept, times D²."""
    cdef Desk* desk = &low.desk
    cdef Py_ssize_t j, k, rank = low.rank
    cdef double dropped = 0.0
    cdef const double* direction
    cdef const double* factor = low.factors + i * rank
    memset(desk.whole, 0, (rank + count) * sizeof(double))
    for j in range(rank):
        direction = desk.directions + j * low.n_all
        for k in range(rank + count):
            desk.whole[k] += factor[j] * direction[k]
    for j in range(desk.first[i], desk.first[i + 1]):
        direction = desk.directions + (rank + desk.entries[j].column) * low.n_all
        for k in range(rank + count):
            desk.whole[k] += desk.entries[j].value * direction[k]
    for k in range(count):
        dropped += desk.whole[k] * desk.whole[k]
    for k in range(rank):
        out[k] = desk.whole[count + k]
    out[2 * rank] = _along(low, i, low.shift)
    if low.gradient != NULL:
        out[2 * rank + 1] = _along(low, i, low.gradient_shift)
    return dropped


cdef inline double _along(const LowRank* low, Py_ssize_t i, const double* shift) noexcept nogil:
    """B[i] @ shift"""
    cdef Py_ssize_t j
    cdef double total = 0.0
    for j in range(low.rank):
        total += low.factors[i * low.rank + j] * shift[j]
    for j in range(low.desk.first[i], low.desk.first[i + 1]):
        total += low.desk.entries[j].value * shift[low.rank + low.desk.entries[j].column]
    return total


cdef inline void _move(double* weight, double moved) noexcept nogil:
    """Add to the mean of a weight, or to its gradient, what the columns say."""
    if isfinite(moved):
        weight[0] = smaller(larger(weight[0] + moved, -LARGEST_WEIGHT), LARGEST_WEIGHT)


cdef void _add_squares(
    Py_ssize_t n_rows, Py_ssize_t n_columns, double* a, double* out, Py_ssize_t stride
) noexcept nogil:
    """out += a' @ a, its lower triangle: that is the upper one column by column, as BLAS has it."""
    cdef int n = <int>n_columns, k = <int>n_rows, ldc = <int>stride
    cdef double one = 1.0
    dsyrk(b"U", b"N", &n, &k, &one, a, &n, &one, out, &ldc)


cdef void _finish(LowRank* low) noexcept nogil:
    """Let M be the inverse of I + W'DW, and the sparse columns be none: equation (179)."""
    cdef Py_ssize_t i, j, k, rank = low.rank, n_all = low.n_all
    cdef double* N = low.desk.inner
    cdef double* roots = low.roots
    cdef double total
    memset(roots, 0, n_all * n_all * sizeof(double))
    for i in range(rank):               # N N' = I + W'DW
        for j in range(i + 1):
            total = N[i * rank + j] + (1.0 if i == j else 0.0)
            for k in range(j):
                total -= N[i * rank + k] * N[j * rank + k]
            if not isfinite(total):
                _clear(low)
                return
            N[i * rank + j] = sqrt(larger(total, 1.0)) if i == j else total / N[j * rank + j]
    for i in range(rank):               # roots = N⁻¹
        for j in range(i + 1):
            total = 1.0 if i == j else 0.0
            for k in range(j, i):
                total -= N[i * rank + k] * roots[k * n_all + j]
            roots[i * n_all + j] = total / N[i * rank + i]
    _empty(low)


cdef void _empty(LowRank* low) noexcept nogil:
    """Let there be no sparse columns."""
    memset(low.shift, 0, low.n_all * sizeof(double))
    if low.gradient != NULL:
        memset(low.gradient_shift, 0, low.n_all * sizeof(double))
    low.n_columns[0] = low.begin[0] = low.common[0] = 0.0


cdef void _clear(LowRank* low) noexcept nogil:
    """Let the covariance be its diagonal."""
    cdef Py_ssize_t j
    memset(low.factors, 0, low.n * low.rank * sizeof(double))
    memset(low.gram, 0, low.n_all * low.n_all * sizeof(double))
    memset(low.roots, 0, low.n_all * low.n_all * sizeof(double))
    for j in range(low.rank):
        low.roots[j * low.n_all + j] = 1.0
    _empty(low)


cdef void _keep_variances(LowRank* low, Py_ssize_t count) noexcept nogil:
    """Keep the mean and the variance of each weight alone."""
    cdef Desk* desk = &low.desk
    cdef Py_ssize_t i, j, k
    cdef double D, left, total
    for i in range(low.n):
        left = D = low.var[i] + low.common[0]
        for j in range(low.rank + count):
            total = 0.0
            for k in range(low.rank):
                total += low.roots[j * low.n_all + k] * low.factors[i * low.rank + k]
            for k in range(desk.first[i], desk.first[i + 1]):
                total += low.roots[j * low.n_all + low.rank + desk.entries[k].column] * desk.entries[k].value
            left -= total * total
        low.var[i] = larger(left, 0.0) if isfinite(left) else D
        _move(low.mean + i, _along(low, i, low.shift))
        if low.gradient != NULL:
            _move(low.gradient + i, _along(low, i, low.gradient_shift))
    _clear(low)
