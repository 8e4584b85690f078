"""Entropy of mixtures, by the trapezoidal rule: equation (76).

The rule converges exponentially on a smooth function over the whole line. Its points lie at equal steps of
u(t) = Σ asinh((t - m_a)/s_a), over anchors a chosen so that near every component that matters they are as dense as that
component is narrow.
"""

from libc.math cimport INFINITY, asinh, exp, fabs, hypot, log, sqrt

import numpy as np

from adabypass.model.component cimport Component
from adabypass.model.families cimport noise_of
from adabypass.model.mixture cimport Room, each_forecast, mix_log_density, standardise
from adabypass.model.special cimport larger, smaller
from adabypass.simd.dispatch cimport Normals

from adabypass.model import limits

cdef enum:
    MOST_ANCHORS = 16
    MOST_HALVINGS = 5
    MOST_NEWTON = 60

cdef double LARGEST = limits.LARGEST
cdef double FIRST_STEP = 0.5
cdef double TOLERANCE = 2e-5
cdef double NEGLIGIBLE = 1e-8       # weight of a component whose neighbourhood needs no points of its own
cdef double REACH = 30.0            # standard deviations: hardly anything of a component lies beyond them
cdef double NORMAL_REACH = 9.0      # of a normal
cdef double COARSEST = 2.5          # distance of points near a component, over that near an anchor of its width


cdef struct Anchors:
    int n
    double[MOST_ANCHORS] mean
    double[MOST_ANCHORS] sd


cdef void _choose(const Room* room, Py_ssize_t n, Anchors* anchors) noexcept nogil:
    """Choose the narrowest component that has no anchor yet as an anchor, until every component has one."""
    cdef Py_ssize_t k, narrowest
    cdef int a
    cdef bint is_served
    anchors.n = 0
    while anchors.n < MOST_ANCHORS:
        narrowest = -1
        for k in range(n):
            if room.parts[k].weight <= NEGLIGIBLE or (narrowest >= 0 and room.sd[k] >= room.sd[narrowest]):
                continue
            is_served = False
            for a in range(anchors.n):
                if hypot(anchors.sd[a], room.parts[k].mean - anchors.mean[a]) <= COARSEST * room.sd[k]:
                    is_served = True
                    break
            if not is_served:
                narrowest = k
        if narrowest < 0:
            return
        anchors.mean[anchors.n], anchors.sd[anchors.n] = room.parts[narrowest].mean, room.sd[narrowest]
        anchors.n += 1


cdef double _reach(const Room* room, Py_ssize_t k) noexcept nogil:
    """How far from its mean a component has to be looked at: a mixture of normals as far as the widest of them."""
    cdef const Normals* normals = noise_of(room.parts[k].family).normals
    cdef double reach = REACH * room.sd[k]
    if normals.n > 1:
        reach = larger(reach, NORMAL_REACH * room.parts[k].noise_scale * sqrt(normals.sq[normals.n - 1]))
    return reach


cdef double _along(const Anchors* anchors, double t, double* slope) noexcept nogil:
    """u(t), and its slope."""
    cdef double total = 0.0, d
    cdef int a
    slope[0] = 0.0
    for a in range(anchors.n):
        d = (t - anchors.mean[a]) / anchors.sd[a]
        total += asinh(d)
        slope[0] += 1.0 / (anchors.sd[a] * hypot(1.0, d))
    return total


cdef double _point(const Anchors* anchors, double u, double low, double high, double* slope) noexcept nogil:
    """Find t between low and high where u(t) = u, by Newton's method kept within a shrinking interval."""
    cdef double t = low, miss, next_t
    cdef int _step
    for _step in range(MOST_NEWTON):
        miss = u - _along(anchors, t, slope)
        if fabs(miss) <= 1e-9:
            break
        if miss > 0.0:
            low = t
        else:
            high = t
        next_t = t + miss / slope[0]
        t = next_t if low < next_t < high else low + 0.5 * (high - low)
    return t


cdef void _sum(
    const Room* room, Py_ssize_t n, const Anchors* anchors, double low, double high, double first, double step,
    double* mass, double* total,
) noexcept nogil:
    """Add p dt/du and -p log p dt/du at u(low) + first, u(low) + first + step, ... up to u(high)."""
    cdef double slope, u = _along(anchors, low, &slope) + first, end = _along(anchors, high, &slope), t = low
    cdef double log_density, density
    while u < end:
        t = _point(anchors, u, t, high, &slope)
        log_density = mix_log_density(room.parts, n, t)
        density = exp(log_density) / slope
        mass[0] += density
        total[0] -= density * log_density
        u += step


cdef double _entropy(const Component* parts, Py_ssize_t n, double _unused, Room* room) noexcept nogil:
    cdef Anchors anchors
    cdef double center = 0.0, unit = 0.0, low = INFINITY, high = -INFINITY, step = FIRST_STEP
    cdef double mass = 0.0, total = 0.0, fine, coarse
    cdef Py_ssize_t k
    cdef int _halving
    for k in range(n):
        center += parts[k].weight * parts[k].mean
    standardise(parts, n, center, 1.0, room)
    for k in range(n):
        unit += room.parts[k].weight * room.sd[k]
    unit = smaller(larger(unit, 1.0 / LARGEST), LARGEST)
    standardise(parts, n, center, unit, room)
    for k in range(n):
        room.sd[k] = larger(room.sd[k], 1e-100)
        if room.parts[k].weight > NEGLIGIBLE * NEGLIGIBLE:
            low = smaller(low, room.parts[k].mean - _reach(room, k))
            high = larger(high, room.parts[k].mean + _reach(room, k))
    _choose(room, n, &anchors)
    _sum(room, n, &anchors, low, high, step, step, &mass, &total)
    coarse = step * total
    for _halving in range(MOST_HALVINGS):
        _sum(room, n, &anchors, low, high, 0.5 * step, step, &mass, &total)
        step *= 0.5
        fine = step * total
        if fabs(fine - coarse) <= TOLERANCE and fabs(step * mass - 1.0) <= TOLERANCE:
            break
        coarse = fine
    return fine + log(unit)


def entropy(const Component[:, ::1] forecasts):
    """Return the expected negative log density."""
    return each_forecast(_entropy, forecasts, np.zeros(forecasts.shape[0]))
