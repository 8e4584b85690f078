"""Mixtures of Student's t distributions, of the values or of their logs: distribution, density and quantiles.

All arrays but `is_log`, (n_components,), have a row for each forecast: (n, n_components).
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport M_PI, M_SQRT1_2, erfc, exp, fabs, lgamma, log, log1p, sqrt

from scipy.special.cython_special cimport stdtr

from adabypass.model.special cimport larger, smaller

import numpy as np

from adabypass.model import limits

cdef double LARGEST = limits.LARGEST
cdef double SMALLEST = 1e-300
cdef double INF = np.inf
cdef double NEGLIGIBLE = 1e-10      # share of a component that is left out of the search for a quantile
cdef double ACCURACY = 1e-9         # of the probability of a quantile, over the probability
cdef double ROUGH_ACCURACY = 1e-3   # of the probability of a first guess, over the smaller of that and its complement
cdef double ROUGH_WIDTH = 1e-4      # of the bracket of a first guess, over the width of the mixture
cdef enum:
    MOST_STEPS = 200
    MOST_NEWTON = 50                # after so many steps brackets are halved


cdef struct Parts:
    Py_ssize_t n
    const double* share
    const double* location
    const double* scale
    const double* dof
    const unsigned char* is_log
    double least_share          # components with less are left out


cdef inline double argument(const Parts* p, Py_ssize_t k, double y, double log_y) noexcept nogil:
    """Return y, or its log, in the units of a component."""
    return ((log_y if p.is_log[k] else y) - p.location[k]) / p.scale[k]


cdef double exact(const Parts* p, double y, bint upper) noexcept nogil:
    """Probability of a value up to y, or above it."""
    cdef Py_ssize_t k
    cdef double total = 0.0, z, log_y = log(y) if y > 0.0 else -INF
    for k in range(p.n):
        if p.share[k] > p.least_share:
            z = argument(p, k, y, log_y)
            total += p.share[k] * stdtr(p.dof[k], -z if upper else z)
    return smaller(total, 1.0)


cdef double density(const Parts* p, double y) noexcept nogil:
    """Return the density at y."""
    cdef Py_ssize_t k
    cdef double total = 0.0, z, n, log_y = log(y) if y > 0.0 else 0.0
    for k in range(p.n):
        if p.share[k] > p.least_share and (y > 0.0 or not p.is_log[k]):
            z, n = argument(p, k, y, log_y), p.dof[k]
            total += p.share[k] * exp(
                lgamma(0.5 * (n + 1.0)) - lgamma(0.5 * n) - 0.5 * log(n * M_PI)
                - 0.5 * (n + 1.0) * log1p(z * z / n) - (log_y if p.is_log[k] else 0.0)
            ) / p.scale[k]
    return total


cdef double rough(const Parts* p, double y) noexcept nogil:
    """Probability of a value up to y, to three digits: Wallace's approximation to Student's t."""
    cdef Py_ssize_t k
    cdef double total = 0.0, z, n, log_y = log(y) if y > 0.0 else -INF
    for k in range(p.n):
        if p.share[k] > p.least_share:
            z, n = argument(p, k, y, log_y), p.dof[k]
            n = (8.0 * n + 1.0) / (8.0 * n + 3.0) * sqrt(n * log1p(smaller(z * z, LARGEST) / n))
            total += p.share[k] * 0.5 * erfc((n if z < 0.0 else -n) * M_SQRT1_2)
    return total


cdef double solve(const Parts* p, double q, double start, double width) noexcept nogil:
    """Return the value up to which the probability is q: roughly first, then exactly by Newton's method."""
    cdef double low = -LARGEST, high = LARGEST, step = width, middle = solve_roughly(p, q, start, width)
    cdef double slope, error, guess
    cdef Py_ssize_t i
    for i in range(MOST_STEPS):
        error = exact(p, middle, False) - q
        if fabs(error) <= ACCURACY * larger(q, 1e-3) or not low < middle < high:
            break
        if error > 0.0:
            high = middle
        else:
            low = middle
        slope = density(p, middle) if i < MOST_NEWTON else 0.0
        guess = middle - error / slope if slope > SMALLEST else low
        if not low < guess < high or fabs(guess - middle) > step:
            if low > -LARGEST and high < LARGEST:
                guess = 0.5 * low + 0.5 * high
            else:
                guess = larger(-LARGEST, smaller(middle + (step if error < 0.0 else -step), LARGEST))
                step *= 2.0
        middle = guess
    return middle


cdef double solve_roughly(const Parts* p, double q, double start, double width) noexcept nogil:
    """Return about the value up to which the probability is q: by false position, with the Illinois rule."""
    cdef double low = start, high = start, step = width, middle = start
    cdef double below = rough(p, start) - q, above = below, error
    cdef int side = 0
    while below > 0.0 and low > -LARGEST:
        high, above = low, below
        low = larger(low - step, -LARGEST)
        below = rough(p, low) - q
        step *= 2.0
    step = width
    while above < 0.0 and high < LARGEST:
        low, below = high, above
        high = smaller(high + step, LARGEST)
        above = rough(p, high) - q
        step *= 2.0
    for _ in range(MOST_STEPS):
        if not (below < 0.0 < above) or high - low <= ROUGH_WIDTH * width:
            break
        middle = low - below * (high - low) / (above - below)
        if not low < middle < high:
            middle = 0.5 * low + 0.5 * high
        error = rough(p, middle) - q
        if fabs(error) <= ROUGH_ACCURACY * smaller(q, 1.0 - q):
            break
        if error > 0.0:
            if side > 0:
                below *= 0.5
            high, above, side = middle, error, 1
        else:
            if side < 0:
                above *= 0.5
            low, below, side = middle, error, -1
    return middle if low < middle < high or low == high else 0.5 * low + 0.5 * high


cdef Parts parts_of(
    const double[:, ::1] share, const double[:, ::1] location, const double[:, ::1] scale, const double[:, ::1] dof,
    const unsigned char[::1] is_log, Py_ssize_t row,
) noexcept nogil:
    cdef Parts p
    p.n = share.shape[1]
    p.share, p.location, p.scale, p.dof = &share[row, 0], &location[row, 0], &scale[row, 0], &dof[row, 0]
    p.is_log, p.least_share = &is_log[0], 0.0
    return p


cdef int check(
    const double[:, ::1] share, const double[:, ::1] location, const double[:, ::1] scale, const double[:, ::1] dof,
    const unsigned char[::1] is_log,
) except -1:
    cdef Py_ssize_t n = share.shape[0], m = share.shape[1]
    if (
        location.shape[0] != n or scale.shape[0] != n or dof.shape[0] != n
        or location.shape[1] != m or scale.shape[1] != m or dof.shape[1] != m
    ):
        raise ValueError("the arrays of a mixture must have one shape")
    if is_log.shape[0] != m or m == 0:
        raise ValueError("is_log must have a flag for each component, of which there is at least one")
    return 0


def cdf(
    const double[:, ::1] share, const double[:, ::1] location, const double[:, ::1] scale, const double[:, ::1] dof,
    const unsigned char[::1] is_log, const double[::1] y, bint upper,
):
    """Return the probability of a value up to y (or above it) of each forecast."""
    check(share, location, scale, dof, is_log)
    cdef Py_ssize_t i, n = share.shape[0]
    cdef double[::1] out = np.empty(n)
    cdef Parts p
    if y.shape[0] != n:
        raise ValueError("there must be a y for each forecast")
    for i in range(n):
        p = parts_of(share, location, scale, dof, is_log, i)
        out[i] = exact(&p, y[i], upper)
    return np.asarray(out)


def logpdf(
    const double[:, ::1] share, const double[:, ::1] location, const double[:, ::1] scale, const double[:, ::1] dof,
    const unsigned char[::1] is_log, const double[::1] y,
):
    """Return the log density at y of each forecast."""
    check(share, location, scale, dof, is_log)
    cdef Py_ssize_t i, n = share.shape[0]
    cdef double[::1] out = np.empty(n)
    cdef Parts p
    if y.shape[0] != n:
        raise ValueError("there must be a y for each forecast")
    for i in range(n):
        p = parts_of(share, location, scale, dof, is_log, i)
        out[i] = larger(log(larger(density(&p, y[i]), SMALLEST)), -LARGEST)
    return np.asarray(out)


def quantile(
    const double[:, ::1] share, const double[:, ::1] location, const double[:, ::1] scale, const double[:, ::1] dof,
    const unsigned char[::1] is_log, const double[:, ::1] q,
):
    """Return quantiles of each forecast: of row i those of the probabilities in q[i], which are between 0 and 1."""
    check(share, location, scale, dof, is_log)
    cdef Py_ssize_t i, j, k, n = share.shape[0]
    found = np.empty((n, q.shape[1]))
    cdef double[:, ::1] out = found
    cdef Parts p
    cdef double start, width, at, unit
    if q.shape[0] != n:
        raise ValueError("there must be a row of probabilities for each forecast")
    for i in range(n):
        p = parts_of(share, location, scale, dof, is_log, i)
        p.least_share = NEGLIGIBLE
        with nogil:
            start = width = 0.0
            for k in range(p.n):
                at = exp(smaller(p.location[k], 690.0)) if p.is_log[k] else p.location[k]
                unit = p.scale[k] * (at if p.is_log[k] else 1.0)
                start += p.share[k] * at
                width += p.share[k] * unit
            width = larger(width, 1e-12 * fabs(start))
            for j in range(q.shape[1]):
                out[i, j] = solve(&p, q[i, j], start, width)
        PyErr_CheckSignals()
    return found
