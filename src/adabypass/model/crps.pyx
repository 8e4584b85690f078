"""Continuous ranked probability score of mixtures, E |Y - y| - E |Y - Y'| / 2, in closed form: (61), (71)-(75).

E |Y - Y'| is a sum over all pairs of components. Every pair is first taken for one of normals of the same means and
variances, which is cheap; those for which that could matter are then taken as they are.
"""

from libc.math cimport INFINITY, M_PI, erfc, exp, fabs, sqrt

from adabypass.model.component cimport Component
from adabypass.model.families cimport Noise, noise_of
from adabypass.model.mixture cimport Room, each_forecast, standardise
from adabypass.model.special cimport larger, smaller

from adabypass.model import limits

cdef enum:
    PER_UNIT = 128          # knots of the table
    N_TABLE = 9 * 128       # beyond 9 standard deviations E |Y| is |E Y|

cdef double LARGEST = limits.LARGEST
cdef double SQRT_HALF = sqrt(0.5)
cdef double INV_SQRT_2PI = 1.0 / sqrt(2.0 * M_PI)
cdef double TOLERANCE = 1e-6        # bound of the error, relative to the score: the error itself is far smaller
cdef double NARROW = 0.01           # noise so narrow, beside what it is added to, is as good as normal


cdef struct Knot:
    double value
    double slope        # times the distance of two knots

cdef Knot[N_TABLE + 2] TABLE


cdef int _fill_table() except -1:
    """Tabulate E |Y| of normals Y of variance 1, d erf(d/√2) + 2φ(d), and its slope."""
    cdef Py_ssize_t i
    cdef double d
    for i in range(N_TABLE + 1):
        d = <double>i / PER_UNIT
        TABLE[i].slope = (1.0 - erfc(d * SQRT_HALF)) / PER_UNIT
        TABLE[i].value = PER_UNIT * d * TABLE[i].slope + 2.0 * INV_SQRT_2PI * exp(-0.5 * d * d)
    return 0


_fill_table()


cdef inline double _normal_distance(double distance, double var) noexcept nogil:
    """E |Y| of a normal Y of mean `distance` >= 0, by cubic interpolation: to 1e-11 standard deviations."""
    cdef double sd = sqrt(var), at = PER_UNIT * distance, t, step
    cdef const Knot* low
    if not at < N_TABLE * sd:
        return distance
    at /= sd
    low = &TABLE[<Py_ssize_t>at]
    t = at - <Py_ssize_t>at
    step = low[1].value - low[0].value
    return sd * (low[0].value + t * (
        low[0].slope + t * (
            3.0 * step - 2.0 * low[0].slope - low[1].slope + t * (low[0].slope + low[1].slope - 2.0 * step)
        )
    ))


cdef inline double _miss(const Room* room, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """Bound of the error of E |Y - Y'| when the noise of both is taken for normal: equation (75)."""
    cdef double var = room.parts[i].signal_var + room.parts[j].signal_var, root = var * sqrt(var)
    return _miss_of(room, i, root) + _miss_of(room, j, root)


cdef inline double _miss_of(const Room* room, Py_ssize_t k, double root) noexcept nogil:
    cdef const Noise* noise = noise_of(room.parts[k].family)
    cdef double sd = room.noise_sd[k], sq = sd * sd
    return smaller(noise.normal_miss * sd, noise.smoothed_miss * sq * sq / root if root > 0.0 else INFINITY)


cdef double _normals_distance(const Component* one, const Component* other) noexcept nogil:
    """E |Y - Y'| where `other` is a mixture of normals."""
    cdef const Noise* noise = noise_of(other.family)
    cdef const Noise* own = noise_of(one.family)
    cdef Component smoothed = one[0]
    cdef double total = 0.0, scale_sq = other.noise_scale * other.noise_scale, distance = fabs(one.mean - other.mean)
    cdef double own_sq = one.noise_scale * one.noise_scale
    cdef Py_ssize_t i, j
    for j in range(noise.normals.n):        # a normal more only adds to the variance of x'w
        smoothed.signal_var = one.signal_var + other.signal_var + scale_sq * noise.normals.sq[j]
        if own.normals.n == 0:
            total += noise.normals.share[j] * own.mean_distance(own, &smoothed, other.mean)
        for i in range(own.normals.n):
            total += noise.normals.share[j] * own.normals.share[i] * _normal_distance(
                distance, smoothed.signal_var + own_sq * own.normals.sq[i]
            )
    return total


cdef double _pair_distance(const Room* room, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """E |Y - Y'| of two components."""
    cdef Component one = room.parts[i], other = room.parts[j]
    cdef const Noise* noise
    cdef double var = one.signal_var + other.signal_var, sd, other_sd
    if noise_of(other.family).normals.n > 0:
        return _normals_distance(&one, &other)
    if noise_of(one.family).normals.n > 0:
        return _normals_distance(&other, &one)
    sd, other_sd = room.noise_sd[i], room.noise_sd[j]
    if sd < other_sd:
        one, other, sd, other_sd = other, one, other_sd, sd
    noise = noise_of(one.family)
    if other_sd <= NARROW * sqrt(var + sd * sd) or other.family != one.family:
        one.signal_var = var + other_sd * other_sd
        return noise.mean_distance(noise, &one, other.mean)
    return noise.pair_distance(noise, &one, &other)


cdef double _crps(const Component* parts, Py_ssize_t n, double y, Room* room) noexcept nogil:
    cdef double unit = 1.0 / LARGEST, distance = 0.0, apart = 0.0, score = 0.0, weight, budget, var
    cdef const Noise* noise
    cdef Py_ssize_t i, j
    for i in range(n):
        unit = larger(unit, larger(fabs(parts[i].mean - y), sqrt(parts[i].signal_var)))
        unit = larger(unit, parts[i].noise_scale * larger(parts[i].epsilon, 1.0))
    unit = smaller(unit, LARGEST)
    standardise(parts, n, y, unit, room)
    for i in range(n):
        weight = room.parts[i].weight
        if weight == 0.0:
            continue
        noise = noise_of(room.parts[i].family)
        distance += weight * noise.mean_distance(noise, room.parts + i, 0.0)
        score += weight * _normal_distance(fabs(room.parts[i].mean), room.sd[i] * room.sd[i])
        for j in range(i + 1):
            var = room.sd[i] * room.sd[i] + room.sd[j] * room.sd[j]
            apart += (0.5 if i == j else 1.0) * weight * room.parts[j].weight * _normal_distance(
                fabs(room.parts[i].mean - room.parts[j].mean), var
            )
    budget = TOLERANCE * larger(smaller(score, distance) - apart, 0.0) / (0.5 * n * (n + 1))
    for i in range(n):
        for j in range(i + 1):
            weight = room.parts[i].weight * room.parts[j].weight
            if weight * _miss(room, i, j) > budget:
                var = room.sd[i] * room.sd[i] + room.sd[j] * room.sd[j]
                apart += (0.5 if i == j else 1.0) * weight * (
                    _pair_distance(room, i, j)
                    - _normal_distance(fabs(room.parts[i].mean - room.parts[j].mean), var)
                )
    return smaller(unit * larger(distance - apart, 0.0), LARGEST)


def crps(const Component[:, ::1] forecasts, const double[::1] y):
    """Return the continuous ranked probability score at y."""
    return each_forecast(_crps, forecasts, y)
