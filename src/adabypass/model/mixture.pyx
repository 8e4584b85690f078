"""Mixtures of smoothed noise: density, distribution function, quantiles and CRPS of many forecasts at once.

A forecast is a table of components: weight, mean, variance of x'w, noise scale, epsilon. Epsilon -1 stands for Gaussian
noise. All functions take forecasts of shape (n, n_components, 5) and release the interpreter's lock.
"""

from libc.math cimport INFINITY, M_PI, erfc, exp, fabs, isnan, log, sqrt

from adabypass.model.special cimport larger, smaller

import numpy as np

from adabypass.model.smoothed_noise cimport log_pdf, lower_tail

from adabypass.model import limits

cdef enum:      # a component
    WEIGHT = 0
    MEAN = 1
    SIGNAL_VAR = 2
    NOISE_SCALE = 3
    EPSILON = 4

cdef enum:
    MAX_STEPS = 2000        # a double has fewer than this many halvings
    MAX_DEPTH = 12

cdef double SQRT_HALF = sqrt(0.5)
cdef double HALF_LOG_2PI = 0.5 * log(2.0 * M_PI)
cdef double LARGEST = limits.LARGEST
cdef double LARGEST_D = limits.LARGEST_DISTANCE
cdef double SMALLEST_V = limits.SMALLEST_SIGNAL
cdef double FLOODED = 1e30       # beyond it the noise moves no digit of the sum's density


cdef inline double _total_var(const double* part) noexcept nogil:
    """Variance of one component."""
    cdef double e = part[EPSILON], scale = part[NOISE_SCALE]
    if e < 0.0:
        return part[SIGNAL_VAR] + scale * scale
    return part[SIGNAL_VAR] + scale * scale * (e * (e * (e / 3.0 + 1.0) + 2.0) + 2.0) / (1.0 + e)       # (5)


cdef inline bint _is_normal(const double* part) noexcept nogil:
    """Whether the noise is Gaussian, or too small beside x'w to be told from it."""
    return part[EPSILON] < 0.0 or part[SIGNAL_VAR] > FLOODED * part[NOISE_SCALE] * part[NOISE_SCALE]


cdef inline double _log_density(const double* part, double y) noexcept nogil:
    cdef double scale, d, v
    if _is_normal(part):
        v = larger(_total_var(part), 1.0 / LARGEST)
        d = smaller(larger((y - part[MEAN]) / sqrt(v), -LARGEST_D), LARGEST_D)
        return -HALF_LOG_2PI - 0.5 * (log(v) + d * d)
    scale = part[NOISE_SCALE]
    d = smaller(larger((y - part[MEAN]) / scale, -LARGEST_D), LARGEST_D)
    v = smaller(larger(part[SIGNAL_VAR] / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
    return log_pdf(d, v, part[EPSILON]) - log(scale)


cdef inline double _below(const double* part, double y) noexcept nogil:
    """P(Y < y) of one component."""
    cdef double scale, d, v, tail
    if _is_normal(part):
        return 0.5 * erfc(-(y - part[MEAN]) / sqrt(larger(_total_var(part), 1.0 / LARGEST)) * SQRT_HALF)
    scale = part[NOISE_SCALE]
    d = smaller(larger((y - part[MEAN]) / scale, -LARGEST_D), LARGEST_D)
    v = smaller(larger(part[SIGNAL_VAR] / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
    tail = lower_tail(fabs(d), v, part[EPSILON])
    return tail if d < 0.0 else 1.0 - tail


cdef inline double _above(const double* part, double y) noexcept nogil:
    """P(Y > y) of one component: that of its mirror image below -y."""
    cdef double[5] mirror
    mirror[SIGNAL_VAR], mirror[NOISE_SCALE], mirror[EPSILON] = part[SIGNAL_VAR], part[NOISE_SCALE], part[EPSILON]
    mirror[MEAN] = -part[MEAN]
    return _below(mirror, -y)


cdef double _mix_log_density(const double* parts, Py_ssize_t n, double y) noexcept nogil:
    cdef double top = -INFINITY, total = 0.0, each
    cdef Py_ssize_t k
    for k in range(n):
        top = larger(top, _log_density(parts + 5 * k, y))
    for k in range(n):
        each = _log_density(parts + 5 * k, y)
        total += parts[5 * k + WEIGHT] * exp(each - top)
    return larger(top + log(total), -LARGEST)


cdef double _mix_below(const double* parts, Py_ssize_t n, double y) noexcept nogil:
    cdef double total = 0.0
    cdef Py_ssize_t k
    for k in range(n):
        total += parts[5 * k + WEIGHT] * _below(parts + 5 * k, y)
    return total


cdef double _mix_above(const double* parts, Py_ssize_t n, double y) noexcept nogil:
    cdef double total = 0.0
    cdef Py_ssize_t k
    for k in range(n):
        total += parts[5 * k + WEIGHT] * _above(parts + 5 * k, y)
    return total


cdef void _mix_moments(const double* parts, Py_ssize_t n, double* mean, double* var) noexcept nogil:
    cdef Py_ssize_t k
    cdef double deviation
    mean[0] = var[0] = 0.0
    for k in range(n):
        mean[0] += parts[5 * k + WEIGHT] * parts[5 * k + MEAN]
    for k in range(n):
        deviation = parts[5 * k + MEAN] - mean[0]
        var[0] += parts[5 * k + WEIGHT] * (_total_var(parts + 5 * k) + deviation * deviation)
    var[0] = smaller(larger(var[0], 1.0 / LARGEST), LARGEST)


cdef double _mix_quantile(const double* parts, Py_ssize_t n, double q) noexcept nogil:
    """Solve P(Y < y) = q by Newton's method within a bracket; the nearer tail is the one that is solved for."""
    cdef double mean, var, sd, low, high, y, next_y, miss, slope, step
    cdef int _step
    cdef bint lower = q <= 0.5
    if q <= 0.0 or q >= 1.0:
        return -INFINITY if q <= 0.0 else INFINITY
    _mix_moments(parts, n, &mean, &var)
    sd = sqrt(var)
    low, high, step = mean - sd, mean + sd, sd
    for _step in range(MAX_STEPS):
        if _mix_below(parts, n, low) <= q:
            break
        low -= step
        step *= 2.0
    step = sd
    for _step in range(MAX_STEPS):
        if _mix_above(parts, n, high) <= 1.0 - q:
            break
        high += step
        step *= 2.0
    y = mean
    for _step in range(MAX_STEPS):
        miss = _mix_below(parts, n, y) - q if lower else (1.0 - q) - _mix_above(parts, n, y)
        if fabs(miss) <= 1e-13 * (q if lower else 1.0 - q):
            break
        if miss > 0.0:
            high = y
        else:
            low = y
        slope = exp(_mix_log_density(parts, n, y))
        next_y = y - miss / slope if slope > 0.0 else high
        if not low < next_y < high:
            next_y = low + 0.5 * (high - low)
        if next_y == y or not low < next_y < high:
            break
        y = next_y
    return y


cdef double _squared(const double* parts, Py_ssize_t n, double t, bint below) noexcept nogil:
    cdef double F = _mix_below(parts, n, t) if below else _mix_above(parts, n, t)
    return F * F


cdef double _simpson(
    const double* parts, Py_ssize_t n, bint below, double a, double b, double fa, double fm, double fb, double tol,
    int depth,
) noexcept nogil:
    """Integrate the squared tail from a to b by Simpson's rule, halving the interval where it is not yet settled."""
    cdef double middle = 0.5 * (a + b), width = b - a
    cdef double left = _squared(parts, n, 0.5 * (a + middle), below)
    cdef double right = _squared(parts, n, 0.5 * (middle + b), below)
    cdef double whole = width / 6.0 * (fa + 4.0 * fm + fb)
    cdef double halves = width / 12.0 * (fa + 4.0 * left + 2.0 * fm + 4.0 * right + fb)
    if depth == 0 or fabs(halves - whole) <= 15.0 * tol:
        return halves + (halves - whole) / 15.0
    return (
        _simpson(parts, n, below, a, middle, fa, left, fm, 0.5 * tol, depth - 1)
        + _simpson(parts, n, below, middle, b, fm, right, fb, 0.5 * tol, depth - 1)
    )


cdef double _mix_crps(const double* parts, Py_ssize_t n, double y) noexcept nogil:
    """∫ P(Y < t)² dt below y plus ∫ P(Y > t)² dt above it, in panels that widen away from y."""
    cdef double mean, var, sd, reach, low, high, sign, scale, total = 0.0
    cdef Py_ssize_t k, side
    _mix_moments(parts, n, &mean, &var)
    sd = reach = sqrt(var)
    for k in range(n):      # the narrowest part that matters sets the first panel
        if parts[5 * k + WEIGHT] > 1e-3:
            sd = smaller(sd, sqrt(_total_var(parts + 5 * k)))
    reach = 60.0 * reach + fabs(y - mean)
    scale = 1e-5 * smaller(sd + fabs(y - mean), reach)
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        low, high = 0.0, 0.5 * sd
        while low < reach:
            high = smaller(high, reach)
            total += _simpson(
                parts, n, side == 0, y + sign * low, y + sign * high,
                _squared(parts, n, y + sign * low, side == 0),
                _squared(parts, n, y + sign * 0.5 * (low + high), side == 0),
                _squared(parts, n, y + sign * high, side == 0), scale, MAX_DEPTH,
            ) * sign
            low, high = high, 2.0 * high + 0.5 * sd
    return smaller(total, LARGEST)


ctypedef double (*Function)(const double* parts, Py_ssize_t n, double at) noexcept nogil


cdef object _each(Function function, const double[:, :, ::1] forecasts, const double[::1] at):
    """Give function(forecast, at) for each forecast; nan where `at` is nan."""
    out = np.empty(forecasts.shape[0])
    cdef double[::1] values = out
    cdef Py_ssize_t t, n = forecasts.shape[1]
    if at.shape[0] != forecasts.shape[0]:
        raise ValueError("as many values as forecasts are needed")
    with nogil:
        for t in range(forecasts.shape[0]):
            values[t] = at[t] if isnan(at[t]) else function(&forecasts[t, 0, 0], n, at[t])
    return out


def logpdf(const double[:, :, ::1] forecasts, const double[::1] y):
    """Log density at y."""
    return _each(_mix_log_density, forecasts, y)


def cdf(const double[:, :, ::1] forecasts, const double[::1] y):
    """P(Y < y)."""
    return _each(_mix_below, forecasts, y)


def sf(const double[:, :, ::1] forecasts, const double[::1] y):
    """P(Y > y)."""
    return _each(_mix_above, forecasts, y)


def quantile(const double[:, :, ::1] forecasts, const double[::1] q):
    """Value below which Y falls with probability q."""
    return _each(_mix_quantile, forecasts, q)


def crps(const double[:, :, ::1] forecasts, const double[::1] y):
    """Continuous ranked probability score at y."""
    return _each(_mix_crps, forecasts, y)


def moments(const double[:, :, ::1] forecasts):
    """Mean and variance."""
    mean, var = np.empty(forecasts.shape[0]), np.empty(forecasts.shape[0])
    cdef double[::1] means = mean, variances = var
    cdef Py_ssize_t t
    with nogil:
        for t in range(forecasts.shape[0]):
            _mix_moments(&forecasts[t, 0, 0], forecasts.shape[1], &means[t], &variances[t])
    return mean, var
