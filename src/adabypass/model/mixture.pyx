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
    N_PANELS = 8
    N_NODES = 6
    MAX_STEPS = 200

cdef double SQRT_HALF = sqrt(0.5)
cdef double HALF_LOG_2PI = 0.5 * log(2.0 * M_PI)
cdef double LARGEST = limits.LARGEST
cdef double LARGEST_D = limits.LARGEST_DISTANCE
cdef double SMALLEST_V = limits.SMALLEST_SIGNAL

# Where the integrals of the CRPS are cut, in standard deviations from y, and the nodes between two cuts.
cdef double[N_PANELS + 1] CUTS = [0.0, 0.3, 0.8, 1.6, 3.0, 6.0, 12.0, 25.0, 60.0]
cdef double[N_NODES] NODES, WEIGHTS

cdef Py_ssize_t _at
_nodes, _weights = np.polynomial.legendre.leggauss(N_NODES)
for _at in range(N_NODES):
    NODES[_at], WEIGHTS[_at] = 0.5 * (1.0 + _nodes[_at]), 0.5 * _weights[_at]


cdef inline double _total_var(const double* part) noexcept nogil:
    """Variance of one component."""
    cdef double e = part[EPSILON], scale = part[NOISE_SCALE]
    if e < 0.0:
        return part[SIGNAL_VAR] + scale * scale
    return part[SIGNAL_VAR] + scale * scale * (e * (e * (e / 3.0 + 1.0) + 2.0) + 2.0) / (1.0 + e)       # (5)


cdef inline double _log_density(const double* part, double y) noexcept nogil:
    cdef double scale, d, v
    if part[EPSILON] < 0.0:
        v = larger(_total_var(part), 1.0 / LARGEST)
        d = (y - part[MEAN]) / sqrt(v)
        return -HALF_LOG_2PI - 0.5 * (log(v) + d * d)
    scale = part[NOISE_SCALE]
    d = smaller(larger((y - part[MEAN]) / scale, -LARGEST_D), LARGEST_D)
    v = smaller(larger(part[SIGNAL_VAR] / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
    return log_pdf(d, v, part[EPSILON]) - log(scale)


cdef inline double _below(const double* part, double y) noexcept nogil:
    """P(Y < y) of one component."""
    cdef double scale, d, v, tail
    if part[EPSILON] < 0.0:
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
    cdef double mean, var, sd, low, high, y, miss, slope, step
    cdef int _step
    cdef bint lower = q <= 0.5
    if q <= 0.0 or q >= 1.0:
        return -INFINITY if q <= 0.0 else INFINITY
    _mix_moments(parts, n, &mean, &var)
    sd = sqrt(var)
    low, high, step = mean - sd, mean + sd, sd
    while _mix_below(parts, n, low) > q:
        low -= step
        step *= 2.0
    step = sd
    while _mix_above(parts, n, high) > 1.0 - q:
        high += step
        step *= 2.0
    y = 0.5 * (low + high)
    for _step in range(MAX_STEPS):
        miss = _mix_below(parts, n, y) - q if lower else (1.0 - q) - _mix_above(parts, n, y)
        if miss > 0.0:
            high = y
        else:
            low = y
        slope = exp(_mix_log_density(parts, n, y))
        step = miss / slope if slope > 0.0 else INFINITY
        if not low <= y - step <= high:
            step = y - 0.5 * (low + high)
        y -= step
        if fabs(step) <= 1e-13 * (fabs(y) + sd) or high - low <= 1e-13 * sd:
            break
    return y


cdef double _mix_crps(const double* parts, Py_ssize_t n, double y) noexcept nogil:
    """∫ P(Y < t)² dt below y plus ∫ P(Y > t)² dt above it, in panels that widen away from y and from the mean."""
    cdef double mean, var, sd, reach, low, high, total = 0.0, F
    cdef Py_ssize_t panel, node
    _mix_moments(parts, n, &mean, &var)
    sd = sqrt(var)
    # Between y and the mean the integrand is near 1 and smooth; cuts are laid from y on either side.
    reach = larger(1.0, fabs(y - mean) / sd)
    for panel in range(N_PANELS):
        low, high = CUTS[panel] * sd * (reach if panel else 1.0), CUTS[panel + 1] * sd * reach
        for node in range(N_NODES):
            F = _mix_below(parts, n, y - low - (high - low) * NODES[node])
            total += WEIGHTS[node] * (high - low) * F * F
            F = _mix_above(parts, n, y + low + (high - low) * NODES[node])
            total += WEIGHTS[node] * (high - low) * F * F
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
