"""One step of a covariance that is diagonal less one of low rank: equations (173)-(175).

It touches the numbers of the features that are given, and matrices whose size is the number of columns.
"""

from libc.math cimport fabs, isfinite, sqrt
from libc.string cimport memset

from adabypass.inference.kernel.low_rank_shorten cimport forget_columns, shorten
from adabypass.model.special cimport larger, smaller
from adabypass.simd.dispatch cimport Projection

from adabypass.model import limits

cdef double LARGEST = limits.LARGEST
cdef double LARGEST_CHANGE = 1e140      # of a coefficient, beyond which products could overflow
cdef double ROUNDING = limits.ROUNDING


cdef Py_ssize_t desk_size(const LowRank* low) noexcept nogil:
    """Count the numbers of scratch memory, which is to be 0 at first."""
    cdef Py_ssize_t n = low.n, square = low.n_all * low.n_all, width = width_of(low)
    return (
        2 * n + 3 * low.n_all + (n + 1) + 2 * (low.room + n) + 3 * square + (2 + WORK) * low.n_all
        + low.rank * (width + low.rank) + CHUNK * (width + low.rank)
    )


cdef void lay_desk(LowRank* low, double* memory) noexcept nogil:
    """Divide the scratch memory."""
    cdef Desk* desk = &low.desk
    cdef Py_ssize_t n = low.n, square = low.n_all * low.n_all, width = width_of(low)
    low.spread = memory
    low.newest = low.spread + n
    low.products = low.newest + n
    low.along = low.products + low.n_all
    low.change = low.along + low.n_all
    desk.first = <Py_ssize_t*>(low.change + low.n_all)
    desk.entries = <Entry*>(<double*>desk.first + n + 1)
    desk.weighted = <double*>desk.entries + 2 * (low.room + n)
    desk.matrix = desk.weighted + square
    desk.directions = desk.matrix + square
    desk.eigenvalues = desk.directions + square
    desk.whole = desk.eigenvalues + low.n_all
    desk.work = desk.whole + low.n_all
    desk.map = desk.work + WORK * low.n_all
    desk.inner = desk.map + low.rank * width
    desk.chunk = desk.inner + low.rank * low.rank
    desk.scaled = desk.chunk + CHUNK * width


cdef inline Py_ssize_t _n_used(const LowRank* low) noexcept nogil:
    return low.rank + <Py_ssize_t>low.n_columns[0]


cdef void products_with(LowRank* low, const double* v, double* out) noexcept nogil:
    """out = B' v, where v holds the numbers of the features that are given; the others are 0"""
    cdef Py_ssize_t at, i, j, k
    cdef const double* factor
    cdef double total
    memset(out, 0, low.rank * sizeof(double))
    for k in range(low.n_given):
        i = low.given[k]
        factor = low.factors + i * low.rank
        low.spread[i] = v[k]
        for j in range(low.rank):
            out[j] += factor[j] * v[k]
    for j in range(<Py_ssize_t>low.n_columns[0]):
        total = 0.0
        for at in range(<Py_ssize_t>low.begin[j], <Py_ssize_t>low.begin[j + 1]):
            total += low.values[at] * low.spread[<Py_ssize_t>low.indices[at]]
        out[low.rank + j] = total
    for k in range(low.n_given):
        low.spread[low.given[k]] = 0.0


cdef Projection project_low_rank(LowRank* low, const double* x) noexcept nogil:
    """x @ S @ x, x @ x and x @ mean; leaves c of equation (174) in `change`, but for its 1."""
    cdef Projection seen
    cdef Py_ssize_t i, j, k, n_used = _n_used(low)
    cdef const double* root
    cdef double total = 0.0, explained = 0.0, shifted = 0.0
    seen.square = seen.product = 0.0
    for k in range(low.n_given):
        i = low.given[k]
        total += (low.var[i] + low.common[0]) * x[k] * x[k]
        seen.square += x[k] * x[k]
        seen.product += x[k] * low.mean[i]
    products_with(low, x, low.products)
    memset(low.change, 0, n_used * sizeof(double))
    for j in range(n_used):                                     # change = -roots' roots B'x
        root = low.roots + j * low.n_all
        low.along[j] = 0.0
        for k in range(n_used):
            low.along[j] += root[k] * low.products[k]
        explained += low.along[j] * low.along[j]
        for k in range(n_used):
            low.change[k] -= root[k] * low.along[j]
        shifted += low.products[j] * low.shift[j]
    seen.prior_var = n_used * ROUNDING * total
    if explained < total:       # and a number
        seen.prior_var = larger(total - explained, seen.prior_var)
    if isfinite(shifted):
        seen.product += shifted
    return seen


cdef double squared_product(LowRank* low, const double* x, double prior_var, double square) noexcept nogil:
    """|S @ x|², after `project_low_rank`, whose results are given: S x = y + B change, y = D x."""
    cdef Py_ssize_t i, j, k, n_used = _n_used(low)
    cdef double total = 0.0, least, y
    for k in range(low.n_given):
        i = low.given[k]
        y = low.newest[k] = (low.var[i] + low.common[0]) * x[k]
        total += y * y
    products_with(low, low.newest, low.along)
    for j in range(n_used):
        y = 2.0 * low.along[j] + low.gram[j * low.n_all + j] * low.change[j]
        for k in range(j):
            y += 2.0 * low.gram[j * low.n_all + k] * low.change[k]
        total += low.change[j] * y
    least = prior_var * (prior_var / square) if square > 0.0 else 0.0       # Cauchy and Schwarz
    return larger(total, least) if isfinite(total) else least


cdef void condition_low_rank(
    LowRank* low, const double* x, double drift_var, double D, double move, double explained
) noexcept nogil:
    """Condition the weights on one observation, after `project_low_rank`: equations (174) and (175)."""
    cdef Py_ssize_t i, j, k, n_used, size, begin, count = <Py_ssize_t>low.n_columns[0]
    cdef double moved, root = sqrt(larger(explained, 0.0) / D)
    cdef bint is_sound = isfinite(root) and fabs(move) < LARGEST
    for j in range(low.rank + count):
        is_sound = is_sound and fabs(low.change[j]) < LARGEST_CHANGE and fabs(low.change[j] * root) < LARGEST_CHANGE
    if not is_sound:
        forget_columns(low)             # only the variances stay; they are exact for the features that are given
        project_low_rank(low, x)
        count = 0
        root = root if isfinite(root) else 0.0
    low.common[0] = smaller(low.common[0] + drift_var, LARGEST)
    for k in range(low.n_given):
        i = low.given[k]
        low.newest[k] = (low.var[i] + low.common[0]) * x[k]                                 # (174)
    n_used = low.rank + count
    low.change[n_used] = 1.0
    for j in range(n_used + 1):
        low.roots[n_used * low.n_all + j] = root * low.change[j]                            # (175)
        low.shift[j] = (low.shift[j] if j < n_used else 0.0) + move * low.change[j]
        if low.gradient != NULL:
            moved = (low.gradient_shift[j] if j < n_used else 0.0) + low.gradient_move * low.change[j]
            low.gradient_shift[j] = larger(-LARGEST, smaller(moved, LARGEST))               # (213)
    for j in range(n_used):
        low.roots[j * low.n_all + n_used] = 0.0
    begin, size = <Py_ssize_t>low.begin[count], low.n_given
    if count + 1 == low.most or begin + size > low.room:
        shorten(low, count + 1)
        return
    products_with(low, low.newest, low.gram + n_used * low.n_all)
    low.gram[n_used * low.n_all + n_used] = 0.0
    for k in range(size):
        low.indices[begin + k], low.values[begin + k] = low.given[k], low.newest[k]
        low.gram[n_used * low.n_all + n_used] += low.newest[k] * low.newest[k]
    low.n_columns[0] = count + 1
    low.begin[count + 1] = begin + size
