"""Mixtures of Student's t distributions, of the values or of their logs: distribution, density and quantiles.

All arrays but `is_log`, (n_components,), have a row for each forecast: (n, n_components).
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport M_PI, M_SQRT1_2, NAN, erfc, exp, fabs, isinf, lgamma, log, log1p, sqrt, tan
from libc.stdlib cimport free, malloc

from scipy.special.cython_special cimport ndtri, stdtr, stdtrit

from adabypass.model.search cimport Search, find_quantile
from adabypass.model.special cimport larger, smaller
from adabypass.simd.dispatch cimport TailValues

import numpy as np

from adabypass.model import limits

cdef double LARGEST = limits.LARGEST
cdef double LARGEST_LOG = limits.LARGEST_LOG
cdef double SMALLEST = 1e-300
cdef double INF = np.inf
cdef double NEGLIGIBLE = 1e-10      # share of a component that is left out of the search for a quantile
cdef double ROUGHLY_NEGLIGIBLE = 1e-7       # the same where probabilities are rough
cdef double SETTLED = 1e-4          # miss, as a normal deviate, after which a search ends,
cdef double ROUGHLY_SETTLED = 1e-2  # and one with a rough distribution function


cdef struct Student:
    # A component: Student's t distribution of the value, or of its log.
    double share
    double location
    double scale
    double dof
    double log_height       # log density where it is highest
    bint is_log


cdef struct Students:
    # A mixture.
    Py_ssize_t n
    Student* each


ctypedef double (*Distribution)(const Students* mix, double y, bint upper) noexcept nogil


cdef class Room:
    # The memory of one forecast's components.
    cdef Students students

    def __cinit__(self, Py_ssize_t n):
        self.students.each = <Student*>malloc(n * sizeof(Student))
        if self.students.each == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.students.each)


cdef inline double in_units(const Student* part, double y, double log_y) noexcept nogil:
    """Return y, or its log, in the units of a component."""
    return ((log_y if part.is_log else y) - part.location) / part.scale


cdef double probability(const Students* mix, double y, bint upper) noexcept nogil:
    """Probability of a value up to y, or above it."""
    cdef Py_ssize_t k
    cdef double total = 0.0, z, log_y = log(y) if y > 0.0 else -INF
    for k in range(mix.n):
        z = in_units(mix.each + k, y, log_y)
        total += mix.each[k].share * stdtr(mix.each[k].dof, -z if upper else z)
    return smaller(total, 1.0)


cdef double roughly_probability(const Students* mix, double y, bint upper) noexcept nogil:
    """The same to three digits or more: Hill's approximation to Student's t by a normal deviate."""
    cdef Py_ssize_t k
    cdef double total = 0.0, z, n, square, b, deviate, log_y = log(y) if y > 0.0 else -INF
    for k in range(mix.n):
        z, n = in_units(mix.each + k, y, log_y), mix.each[k].dof - 0.5
        if isinf(z) or n < 0.5:
            deviate = z
        else:
            b = 48.0 * n * n
            square = n * log1p(smaller(z * z, LARGEST) / mix.each[k].dof)
            deviate = (((-0.4 * square - 3.3) * square - 24.0) * square - 85.5) / (0.8 * square * square + 100.0 + b)
            deviate = larger(((deviate + square + 3.0) / b + 1.0) * sqrt(square), 0.0)
            deviate = -deviate if z < 0.0 else deviate
        total += mix.each[k].share * 0.5 * erfc((deviate if upper else -deviate) * M_SQRT1_2)
    return smaller(total, 1.0)


cdef void add_densities(const Students* mix, double y, TailValues* out) noexcept nogil:
    """Add the density at y, and its slope."""
    cdef const Student* part
    cdef Py_ssize_t k
    cdef double z, density, slope, log_y = log(y) if y > 0.0 else 0.0
    for k in range(mix.n):
        part = mix.each + k
        if part.is_log and not y > 0.0:
            continue
        z = in_units(part, y, log_y)
        density = part.share * exp(part.log_height - 0.5 * (part.dof + 1.0) * log1p(smaller(z * z, LARGEST) / part.dof))
        slope = -density * (part.dof + 1.0) * z / (part.dof + smaller(z * z, LARGEST)) / part.scale
        if part.is_log:
            density /= y
            slope = (slope / y - density) / y
        out.density += density
        out.slope += slope


cdef TailValues tail(const void* mix, double y, bint lower) noexcept nogil:
    cdef TailValues found = TailValues(probability(<const Students*>mix, y, not lower), 0.0, 0.0)
    add_densities(<const Students*>mix, y, &found)
    found.slope = found.slope if lower else -found.slope
    return found


cdef TailValues rough_tail(const void* mix, double y, bint lower) noexcept nogil:
    cdef TailValues found = TailValues(roughly_probability(<const Students*>mix, y, not lower), 0.0, 0.0)
    add_densities(<const Students*>mix, y, &found)
    found.slope = found.slope if lower else -found.slope
    return found


cdef double reach(double dof, double wanted) noexcept nogil:
    """At least the distance of a quantile from the centre: the fewer degrees of freedom, the farther it is."""
    if dof >= 2.0:
        return (1.0 - 2.0 * wanted) / sqrt(2.0 * wanted * (1.0 - wanted))
    return 1.0 / tan(M_PI * wanted) if dof >= 1.0 else -stdtrit(dof, wanted)


cdef double value_of(const Student* part, double z) noexcept nogil:
    """The value that lies z scales from a component's centre."""
    cdef double value = part.location + z * part.scale
    if part.is_log:
        return exp(smaller(value, LARGEST_LOG))
    return larger(smaller(value, LARGEST), -LARGEST)


cdef void bracket(const void* mix, double wanted, bint lower, double* low, double* high) noexcept nogil:
    """A mixture's quantile lies between the least and the largest of its components'."""
    cdef const Students* students = <const Students*>mix
    cdef double near, far
    cdef Py_ssize_t k
    low[0], high[0] = LARGEST, -LARGEST
    for k in range(students.n):
        near = value_of(students.each + k, 0.0)
        far = reach(students.each[k].dof, wanted)
        far = value_of(students.each + k, -far if lower else far)
        low[0] = smaller(smaller(near, far), low[0])
        high[0] = larger(larger(near, far), high[0])


cdef Search search_of(const Students* mix) noexcept nogil:
    """Begin at the component of the largest share: a mean might lie far from all of them."""
    cdef Search search
    cdef const Student* part = mix.each
    cdef Py_ssize_t k
    for k in range(mix.n):
        if mix.each[k].share > part.share:
            part = mix.each + k
    search.distribution, search.tail, search.bracket = mix, tail, bracket
    search.center = value_of(part, 0.0)
    search.unit = part.scale * (search.center if part.is_log else 1.0)
    search.unit = smaller(larger(larger(search.unit, 1e-12 * fabs(search.center)), SMALLEST), LARGEST)
    search.grain = search.unit
    for k in range(mix.n):
        part = mix.each + k
        search.grain = smaller(part.scale * (value_of(part, -2.0) if part.is_log else 1.0), search.grain)
    return search


cdef double quantile_of(Search* search, double q) noexcept nogil:
    """Return the value up to which the probability is q: roughly first, which is soon done."""
    cdef double deviate = larger(smaller(ndtri(q), 8.0), -8.0)
    search.tail = rough_tail
    find_quantile(search, q, &deviate, ROUGHLY_SETTLED)
    search.tail = tail
    return find_quantile(search, q, &deviate, SETTLED)


cdef void gather(
    const double[:, ::1] share, const double[:, ::1] location, const double[:, ::1] scale, const double[:, ::1] dof,
    const unsigned char[::1] is_log, Py_ssize_t row, double least_share, Students* out
) noexcept nogil:
    """Take the components of one forecast that have more than the least share."""
    cdef Py_ssize_t k
    cdef double n, height = 0.0, last_dof = -1.0
    out.n = 0
    for k in range(share.shape[1]):
        if not share[row, k] > least_share:
            continue
        n = dof[row, k]
        if n != last_dof:
            last_dof, height = n, lgamma(0.5 * (n + 1.0)) - lgamma(0.5 * n) - 0.5 * log(n * M_PI)
        out.each[out.n] = Student(
            share[row, k], location[row, k], scale[row, k], n, height - log(scale[row, k]), is_log[k]
        )
        out.n += 1


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
    cdef Room room = Room(share.shape[1])
    if y.shape[0] != n:
        raise ValueError("there must be a y for each forecast")
    with nogil:
        for i in range(n):
            gather(share, location, scale, dof, is_log, i, 0.0, &room.students)
            out[i] = probability(&room.students, y[i], upper)
    return np.asarray(out)


def cdf_table(
    const double[:, ::1] share, const double[:, ::1] location, const double[:, ::1] scale, const double[:, ::1] dof,
    const unsigned char[::1] is_log, const double[:, ::1] y, bint is_rough,
):
    """Return the probability of values up to each of y[i], of row i, if rough to 1e-5 or so: shape (n, n_values)."""
    check(share, location, scale, dof, is_log)
    cdef Py_ssize_t i, j, n = share.shape[0]
    found = np.empty((n, y.shape[1]))
    cdef double[:, ::1] out = found
    cdef Room room = Room(share.shape[1])
    cdef Distribution distribution = roughly_probability if is_rough else probability
    cdef double least_share = ROUGHLY_NEGLIGIBLE if is_rough else NEGLIGIBLE
    if y.shape[0] != n:
        raise ValueError("there must be a row of values for each forecast")
    with nogil:
        for i in range(n):
            gather(share, location, scale, dof, is_log, i, least_share, &room.students)
            for j in range(y.shape[1]):
                out[i, j] = distribution(&room.students, y[i, j], False)
    return found


def logpdf(
    const double[:, ::1] share, const double[:, ::1] location, const double[:, ::1] scale, const double[:, ::1] dof,
    const unsigned char[::1] is_log, const double[::1] y,
):
    """Return the log density at y of each forecast."""
    check(share, location, scale, dof, is_log)
    cdef Py_ssize_t i, n = share.shape[0]
    cdef double[::1] out = np.empty(n)
    cdef Room room = Room(share.shape[1])
    cdef TailValues found
    if y.shape[0] != n:
        raise ValueError("there must be a y for each forecast")
    with nogil:
        for i in range(n):
            gather(share, location, scale, dof, is_log, i, 0.0, &room.students)
            found = TailValues(0.0, 0.0, 0.0)
            add_densities(&room.students, y[i], &found)
            out[i] = larger(log(larger(found.density, SMALLEST)), -LARGEST)
    return np.asarray(out)


def quantile(
    const double[:, ::1] share, const double[:, ::1] location, const double[:, ::1] scale, const double[:, ::1] dof,
    const unsigned char[::1] is_log, const double[:, ::1] q,
):
    """Return quantiles of each forecast: of row i those of the probabilities in q[i], which are between 0 and 1."""
    check(share, location, scale, dof, is_log)
    cdef Py_ssize_t i, j, n = share.shape[0]
    found = np.empty((n, q.shape[1]))
    cdef double[:, ::1] out = found
    cdef Room room = Room(share.shape[1])
    cdef Search search
    if q.shape[0] != n:
        raise ValueError("there must be a row of probabilities for each forecast")
    for i in range(n):
        with nogil:
            gather(share, location, scale, dof, is_log, i, NEGLIGIBLE, &room.students)
            if room.students.n > 0:
                search = search_of(&room.students)
            for j in range(q.shape[1]):
                out[i, j] = quantile_of(&search, q[i, j]) if room.students.n > 0 else NAN
        PyErr_CheckSignals()
    return found
