"""Density and moments of a mixture of components.

A forecast is an array of components (component.py); one about which nothing is known has components of mean nan, and
everything about it is nan.
"""

from libc.math cimport INFINITY, M_PI, NAN, erf, exp, expm1, fabs, isnan, log, sqrt
from libc.stdint cimport int64_t

import numpy as np

from adabypass.distributions.component cimport IDENTITY, LOG, N_TARGETS, has_target, log_slope, to_target
from adabypass.distributions.families cimport STUDENT, Noise, noise_of, total_sd
from adabypass.numerics.special cimport larger, smaller

from adabypass.distributions import component
from adabypass.numerics import limits

if sizeof(Component) != component.COMPONENT.itemsize:
    raise ImportError(
        f"a component has {sizeof(Component)} bytes in C, but {component.COMPONENT.itemsize} in NumPy; rebuild it."
    )

cdef double LARGEST = limits.LARGEST
cdef double LARGEST_LOG = limits.LARGEST_LOG
cdef double LARGEST_LOG_VAR = limits.LARGEST_LOG_VAR
cdef double LEAST_DOF = limits.LEAST_DOF
cdef double FAR_FROM_ZERO = 6.0     # standard deviations beyond which a root is as good as always of one sign


cdef bint is_known(const Component* parts) noexcept nogil:
    """Whether anything is known about the forecast."""
    return not isnan(parts[0].mean)


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


cdef void _moments(const Component* parts, Py_ssize_t n, double* mean, double* var) noexcept nogil:
    cdef double[N_TARGETS] share, means, variances
    cdef double deviation, student_mean = 0.0, student_var = 0.0
    cdef int64_t target
    cdef Py_ssize_t k
    if not is_known(parts):
        mean[0], var[0] = NAN, INFINITY
        return
    mean[0] = var[0] = 0.0
    for target in range(N_TARGETS):
        share[target] = _target_moments(parts, n, target, &means[target], &variances[target])
        mean[0] += share[target] * means[target]
    for k in range(n):
        if parts[k].family == STUDENT and parts[k].weight > 0.0:
            _student_moments(parts + k, &student_mean, &student_var)
            mean[0] += parts[k].weight * student_mean
    for target in range(N_TARGETS):
        if share[target] == 0.0:
            continue
        deviation = means[target] - mean[0]
        var[0] += share[target] * (variances[target] + deviation * deviation)
    for k in range(n):
        if parts[k].family == STUDENT and parts[k].weight > 0.0:
            _student_moments(parts + k, &student_mean, &student_var)
            deviation = student_mean - mean[0]
            var[0] += parts[k].weight * (student_var + deviation * deviation)
    var[0] = smaller(larger(var[0], 1.0 / LARGEST), LARGEST)


cdef void _student_moments(const Component* part, double* mean, double* var) noexcept nogil:
    """Mean and variance of y where y, or its log, has Student's t distribution: a log counts as normal."""
    cdef double dof = larger(part.dof, LEAST_DOF)
    var[0] = smaller(part.noise_scale * part.noise_scale * (dof / (dof - 2.0)), LARGEST)
    back_moments(part.target, part.mean, var[0], mean, var)


cdef double _target_moments(
    const Component* parts, Py_ssize_t n, int64_t target, double* mean, double* var
) noexcept nogil:
    """Weight of the components about y, its log or its root, and what they say of the moments of y."""
    cdef double share = 0.0, deviation, sd
    cdef Py_ssize_t k
    mean[0] = var[0] = 0.0
    for k in range(n):
        if parts[k].target == target and parts[k].family != STUDENT:
            share += parts[k].weight
            mean[0] += parts[k].weight * parts[k].mean
    if share == 0.0:
        return 0.0
    mean[0] /= share
    for k in range(n):
        if parts[k].target == target and parts[k].family != STUDENT:
            deviation = parts[k].mean - mean[0]
            sd = total_sd(parts + k)
            var[0] += parts[k].weight / share * (sd * sd + deviation * deviation)
    back_moments(target, mean[0], var[0], mean, var)
    return share


def moments(const Component[:, ::1] forecasts):
    """Return mean and variance of each forecast; the interpreter's lock is released."""
    mean, var = np.empty(forecasts.shape[0]), np.empty(forecasts.shape[0])
    cdef double[::1] means = mean, variances = var
    cdef Py_ssize_t t
    if forecasts.shape[1] == 0:
        raise ValueError("a forecast needs at least one component")
    with nogil:
        for t in range(forecasts.shape[0]):
            _moments(&forecasts[t, 0], forecasts.shape[1], &means[t], &variances[t])
    return mean, var
