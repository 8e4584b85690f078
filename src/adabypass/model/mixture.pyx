"""Mixtures of smoothed noise: density and moments of many forecasts at once.

A forecast is an array of components (component.py); one about which nothing is known has components of mean nan, and
everything about it is nan. All functions take forecasts of shape (n, n_components) and release the interpreter's lock.
"""

from libc.math cimport INFINITY, M_PI, NAN, erf, exp, expm1, fabs, hypot, isnan, log, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

import numpy as np

from adabypass.model.component cimport IDENTITY, LOG, N_TARGETS, has_target, log_slope, to_target
from adabypass.model.families cimport Noise, noise_of, total_sd
from adabypass.model.special cimport larger, smaller

from adabypass.model import component, limits

if sizeof(Component) != component.COMPONENT.itemsize:
    raise ImportError(
        f"a component has {sizeof(Component)} bytes in C, but {component.COMPONENT.itemsize} in NumPy; rebuild it."
    )

cdef double LARGEST = limits.LARGEST
cdef double LARGEST_LOG = limits.LARGEST_LOG
cdef double LARGEST_LOG_VAR = limits.LARGEST_LOG_VAR
cdef double FAR_FROM_ZERO = 6.0     # standard deviations beyond which a root is as good as always of one sign


cdef bint is_known(const Component* parts) noexcept nogil:
    """Whether anything is known about the forecast."""
    return not isnan(parts[0].mean)


cdef void standardise(const Component* parts, Py_ssize_t n, double center, double unit, Room* room) noexcept nogil:
    """Write the components of (Y - center) / unit, their weights adding up to 1, and their standard deviations."""
    cdef const Noise* noise
    cdef double total = 0.0
    cdef Py_ssize_t k
    for k in range(n):
        total += parts[k].weight
    for k in range(n):
        room.parts[k] = parts[k]
        room.parts[k].weight /= total
        room.parts[k].mean = (parts[k].mean - center) / unit
        room.parts[k].signal_var = parts[k].signal_var / unit / unit
        room.parts[k].noise_scale /= unit
        noise = noise_of(parts[k].family)
        room.noise_sd[k] = room.parts[k].noise_scale * sqrt(noise.var(noise, parts[k].epsilon))
        room.sd[k] = hypot(sqrt(room.parts[k].signal_var), room.noise_sd[k])


cdef double mix_log_density(const Component* parts, Py_ssize_t n, double y) noexcept nogil:
    """Log density of the mixture, the sum carried relative to the largest term so far."""
    cdef double top = -INFINITY, total = 0.0, each
    cdef const Noise* noise
    cdef Py_ssize_t k
    for k in range(n):
        if parts[k].weight == 0.0 or not has_target(parts[k].target, y):
            continue
        noise = noise_of(parts[k].family)
        each = noise.log_density(noise, parts + k, to_target(parts[k].target, y)) + log_slope(parts[k].target, y)
        if each > top:
            total *= exp(top - each)
            top = each
        total += parts[k].weight * exp(each - top)
    return larger(top + log(total), -LARGEST)       # without any density, log(0)


cdef void back_moments(int64_t target, double mean, double var, double* out_mean, double* out_var) noexcept nogil:
    """Mean and variance of y, if its log or its root is normal with these: equation (221)."""
    cdef double sd, ratio, fourth, unit
    if target == IDENTITY:
        out_mean[0], out_var[0] = mean, var
        return
    if target == LOG:
        var = smaller(var, LARGEST_LOG_VAR)
        out_mean[0] = exp(smaller(mean + 0.5 * var, LARGEST_LOG))
        out_var[0] = smaller(out_mean[0] * out_mean[0] * expm1(var), LARGEST)
        return
    unit = larger(fabs(mean), sqrt(var))        # of the root, so that no power of it can overflow
    if unit == 0.0:
        out_mean[0] = out_var[0] = 0.0
        return
    mean, sd = mean / unit, sqrt(var) / unit
    var, ratio = sd * sd, mean / sd if sd > 0.0 else INFINITY
    out_mean[0], out_var[0] = mean * mean + var, 4.0 * mean * mean * var + 2.0 * var * var
    if ratio < FAR_FROM_ZERO:
        out_mean[0] *= erf(ratio * sqrt(0.5))
        out_mean[0] += 2.0 * mean * sd * exp(-0.5 * ratio * ratio) / sqrt(2.0 * M_PI)
        fourth = mean * mean * mean * mean + 6.0 * mean * mean * var + 3.0 * var * var
        out_var[0] = larger(fourth - out_mean[0] * out_mean[0], 0.0)
    out_mean[0] = smaller(larger(out_mean[0] * unit * unit, -LARGEST), LARGEST)
    out_var[0] = smaller(out_var[0] * unit * unit * unit * unit, LARGEST)


cdef double _log_density(const Component* parts, Py_ssize_t n, double y, Room* room) noexcept nogil:
    return mix_log_density(parts, n, y)


cdef void _moments(const Component* parts, Py_ssize_t n, double* mean, double* var) noexcept nogil:
    cdef double[N_TARGETS] share, means, variances
    cdef double deviation
    cdef int64_t target
    if not is_known(parts):
        mean[0], var[0] = NAN, INFINITY
        return
    mean[0] = var[0] = 0.0
    for target in range(N_TARGETS):
        share[target] = _target_moments(parts, n, target, &means[target], &variances[target])
        mean[0] += share[target] * means[target]
    for target in range(N_TARGETS):
        if share[target] == 0.0:
            continue
        deviation = means[target] - mean[0]
        var[0] += share[target] * (variances[target] + deviation * deviation)
    var[0] = smaller(larger(var[0], 1.0 / LARGEST), LARGEST)


cdef double _target_moments(
    const Component* parts, Py_ssize_t n, int64_t target, double* mean, double* var
) noexcept nogil:
    """Weight of the components about y, its log or its root, and what they say of the moments of y."""
    cdef double share = 0.0, deviation, sd
    cdef Py_ssize_t k
    mean[0] = var[0] = 0.0
    for k in range(n):
        if parts[k].target == target:
            share += parts[k].weight
            mean[0] += parts[k].weight * parts[k].mean
    if share == 0.0:
        return 0.0
    mean[0] /= share
    for k in range(n):
        if parts[k].target == target:
            deviation = parts[k].mean - mean[0]
            sd = total_sd(parts + k)
            var[0] += parts[k].weight / share * (sd * sd + deviation * deviation)
    back_moments(target, mean[0], var[0], mean, var)
    return share


cdef object each_forecast(Function function, const Component[:, ::1] forecasts, const double[::1] at):
    """Return function(forecast, at) for each forecast; nan where `at` is nan or the forecast is not known."""
    out = np.empty(forecasts.shape[0])
    cdef double[::1] values = out
    cdef Py_ssize_t t, n = forecasts.shape[1]
    cdef Room room
    cdef char* memory
    if at.shape[0] != forecasts.shape[0]:
        raise ValueError("as many values as forecasts are needed")
    if n == 0:
        raise ValueError("a forecast needs at least one component")
    memory = <char*>malloc(n * (sizeof(Component) + 2 * sizeof(double)))
    if memory == NULL:
        raise MemoryError()
    room.parts = <Component*>memory
    room.sd = <double*>(memory + n * sizeof(Component))
    room.noise_sd = room.sd + n
    with nogil:
        for t in range(forecasts.shape[0]):
            if isnan(at[t]) or not is_known(&forecasts[t, 0]):
                values[t] = NAN
            else:
                values[t] = function(&forecasts[t, 0], n, at[t], &room)
    free(memory)
    return out


def logpdf(const Component[:, ::1] forecasts, const double[::1] y):
    """Return the log density at y."""
    return each_forecast(_log_density, forecasts, y)


def moments(const Component[:, ::1] forecasts):
    """Return mean and variance."""
    mean, var = np.empty(forecasts.shape[0]), np.empty(forecasts.shape[0])
    cdef double[::1] means = mean, variances = var
    cdef Py_ssize_t t
    if forecasts.shape[1] == 0:
        raise ValueError("a forecast needs at least one component")
    with nogil:
        for t in range(forecasts.shape[0]):
            _moments(&forecasts[t, 0], forecasts.shape[1], &means[t], &variances[t])
    return mean, var
