"""Density and moments of components, and of mixtures of them: one table of operations on every noise family.

CONTRIBUTING.md lists the files that a new family touches. A forecast about which nothing is known has components of
mean nan; every result for it is nan.
"""

from libc.math cimport INFINITY, M_PI, NAN, erf, exp, expm1, fabs, hypot, isnan, lgamma, log, log1p, sqrt

import numpy as np

from adabypass.distributions.component cimport IDENTITY, LOG, N_TARGETS, has_target, log_slope, to_target
from adabypass.numerics.dispatch cimport Evidence, MAX_NORMALS, N_FLEXIBLE_NORMALS, SIMD
from adabypass.numerics.special cimport larger, smaller

from adabypass.distributions import component
from adabypass.numerics import limits, noise as spec

if sizeof(Component) != component.COMPONENT.itemsize:
    raise ImportError(
        f"a component has {sizeof(Component)} bytes in C, but {component.COMPONENT.itemsize} in NumPy; rebuild it."
    )

cdef double HALF_LOG_2PI = 0.5 * log(2.0 * M_PI)
cdef double MANY_DOF = 1e6      # degrees of freedom beyond which Student's t is normal up to rounding
cdef double MAX_VALUE = limits.MAX_VALUE
cdef double LOG_MAX_VALUE = limits.LOG_MAX_VALUE
cdef double MAX_LOG_VAR = limits.MAX_LOG_VAR
cdef double MIN_DOF = limits.MIN_DOF
cdef double FAR_FROM_ZERO = 6.0     # mean of a root over its sd beyond which its sign is certain, up to rounding
cdef double MAX_D = limits.MAX_DISTANCE
cdef double MIN_V = limits.MIN_SIGNAL
# Ratio of signal to noise variance beyond which the noise's shape does not affect the cdf, and the log density,
# however far out.
cdef double NOISE_NEGLIGIBLE_RATIO = 1e8
cdef double DENSITY_NEGLIGIBLE_RATIO = 1e30


# Gaussian noise.

cdef double _gaussian_log_density(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double sd = 0.0, log_var = _log_var(part, noise.var(noise, part.epsilon), &sd)
    cdef double d = smaller(larger((y - part.mean) / sd, -MAX_D), MAX_D)
    return -HALF_LOG_2PI - 0.5 * (log_var + d * d)


# Mixtures of normals of mean 0.

cdef double _normals_var(const Noise* noise, double epsilon) noexcept nogil:
    return noise.normals_var


cdef double _normals_log_density(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double top = -INFINITY, total = 0.0, sd = 0.0, log_var, d, each
    cdef Py_ssize_t j
    for j in range(noise.normals.n - 1, -1, -1):        # from the widest, which rarely underflows
        log_var = _log_var(part, noise.normals.sq[j], &sd)
        d = smaller(larger((y - part.mean) / sd, -MAX_D), MAX_D)
        each = log(noise.normals.share[j]) - 0.5 * (log_var + d * d)
        if each > top:
            total *= exp(top - each)
            top = each
        total += exp(each - top)
    return top + log(total) - HALF_LOG_2PI


# Insensitive noise: a flat top with Laplace tails.

cdef double _insensitive_var(const Noise* noise, double epsilon) noexcept nogil:
    return (epsilon * (epsilon * (epsilon / 3.0 + 1.0) + 2.0) + 2.0) / (1.0 + epsilon)      # (A.7)


cdef double _insensitive_log_density(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double scale = part.noise_scale, d, v
    if part.signal_var > DENSITY_NEGLIGIBLE_RATIO * scale * scale:
        return _gaussian_log_density(noise, part, y)
    d = smaller(larger((y - part.mean) / scale, -MAX_D), MAX_D)
    v = smaller(larger(part.signal_var / scale / scale, MIN_V), 1.0 / MIN_V)
    return SIMD.evidence(noise.normals, d, v, part.epsilon).log_density - log(scale)


# Student's t.

cdef double _student_var(const Noise* noise, double epsilon) noexcept nogil:
    return 1.0          # a component's variance depends on its degrees of freedom


cdef double _student_log_density(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double n = part.dof, d = smaller(larger((y - part.mean) / part.noise_scale, -MAX_D), MAX_D)
    return student_log_height(n) - log(part.noise_scale) - 0.5 * (n + 1.0) * log1p(d * d / n)


cdef double student_log_height(double dof) noexcept nogil:
    """Log density of the standard Student's t distribution at 0."""
    if dof > MANY_DOF:          # the difference below would be rounding error
        return -HALF_LOG_2PI - 0.25 / dof
    return lgamma(0.5 * (dof + 1.0)) - lgamma(0.5 * dof) - 0.5 * log(dof * M_PI)


# All families.

cdef double total_sd(const Component* part) noexcept nogil:
    """Standard deviation of one component."""
    cdef const Noise* noise = noise_of(part.family)
    return part_sd(part, noise.var(noise, part.epsilon))


cdef bint is_normal(const Component* part) noexcept nogil:
    """Whether the noise is Gaussian, or too small beside x'w for its shape to matter."""
    cdef const Noise* noise = noise_of(part.family)
    cdef double scale = part.noise_scale
    if noise.normals.n == 1:
        return True
    # multiplied, not divided: the variance may be 0
    return part.signal_var > NOISE_NEGLIGIBLE_RATIO * scale * scale * noise.var(noise, part.epsilon)


cdef double part_sd(const Component* part, double noise_var) noexcept nogil:
    """Return sqrt(signal_var + noise_scale² noise_var), without overflow or underflow."""
    cdef double var = part.signal_var + part.noise_scale * part.noise_scale * noise_var
    if 1.0 / MAX_VALUE < var < MAX_VALUE:
        return sqrt(var)
    return larger(hypot(sqrt(part.signal_var), part.noise_scale * sqrt(noise_var)), 1.0 / MAX_VALUE)


cdef inline double _log_var(const Component* part, double noise_var, double* sd) noexcept nogil:
    """Return the log of the variance, and write the standard deviation."""
    cdef double var = part.signal_var + part.noise_scale * part.noise_scale * noise_var
    if 1.0 / MAX_VALUE < var < MAX_VALUE:
        sd[0] = sqrt(var)
        return log(var)
    sd[0] = part_sd(part, noise_var)
    return 2.0 * log(sd[0])


cdef int _fill_normals(Normals* out, normals) except -1:
    """Copy the description of a mixture of normals."""
    cdef Py_ssize_t j
    out.n = len(normals.sds)
    for j, (sd, share) in enumerate(sorted(zip(normals.sds, normals.shares, strict=True))):
        out.share[j], out.sq[j] = share, <double>sd * <double>sd
    return 0


cdef int _use_normals(Noise* noise, normals) except -1:
    """Set the operations on a mixture of normals."""
    noise.var, noise.normals_var = _normals_var, normals.var
    if normals.sds == (1.0,):
        noise.log_density = _gaussian_log_density
    else:
        noise.log_density = _normals_log_density
    return 0


cdef int _fill_table() except -1:
    cdef Py_ssize_t index
    cdef Noise* noise
    if len(spec.Family) > MAX_FAMILIES or max(len(each.sds) for each in spec.NORMALS.values()) > MAX_NORMALS:
        raise ImportError("noise.py has more families, or normals in a family, than compiled code has room for")
    if len(spec.FLEXIBLE_NORMALS.sds) != N_FLEXIBLE_NORMALS:
        raise ImportError(f"flexible noise has {len(spec.FLEXIBLE_NORMALS.sds)} normals, in C {N_FLEXIBLE_NORMALS}")
    sds = spec.FLEXIBLE_NORMALS.sds.tolist()
    for index in range(N_FLEXIBLE_NORMALS):
        FLEXIBLE_NORMALS.center[index] = spec.FLEXIBLE_NORMALS.centers[index]
        FLEXIBLE_NORMALS.sq[index] = spec.FLEXIBLE_NORMALS.sds[index] ** 2
        FLEXIBLE_NORMALS.twin[index] = len(sds) - 1 - sds[::-1].index(sds[index])
        FLEXIBLE_START[index] = spec.FLEXIBLE_NORMALS.start[index]
    for index in range(MAX_FAMILIES):      # unused rows are Gaussian, so that every masked index is valid
        family = spec.Family(index) if index < len(spec.Family) else spec.Family.GAUSSIAN
        noise = &NOISES[index]
        noise.start_log = log(spec.START_SCALE.get(family, 1.0))
        noise.has_epsilon = family is spec.Family.INSENSITIVE
        noise.normals = &NORMALS[index]
        if family in spec.NORMALS:
            _fill_normals(&NORMALS[index], spec.NORMALS[family])
            _use_normals(noise, spec.NORMALS[family])
        elif family is spec.Family.INSENSITIVE:
            noise.var = _insensitive_var
            noise.log_density = _insensitive_log_density
        elif family is spec.Family.STUDENT:         # in forecasts only
            _fill_normals(&NORMALS[index], spec.NORMALS[spec.Family.GAUSSIAN])
            noise.var, noise.log_density = _student_var, _student_log_density
        elif family is spec.Family.FLEXIBLE:        # never that of a component
            _fill_normals(&NORMALS[index], spec.NORMALS[spec.Family.GAUSSIAN])
            _use_normals(noise, spec.NORMALS[spec.Family.GAUSSIAN])
        else:
            raise ImportError(f"families.pyx has no operations for {family!r}")
        if noise.normals.n == 0 and family is not spec.Family.INSENSITIVE:
            raise ImportError(f"{family!r} has no normals: noise.h and lanes.pyx would take it for insensitive noise")
    return 0


INSENSITIVE = spec.Family.INSENSITIVE
GAUSSIAN = spec.Family.GAUSSIAN
MODERATE = spec.Family.MODERATE
STUDENT = spec.Family.STUDENT
_fill_table()


# Mixtures of components.

cdef bint is_known(const Component* parts) noexcept nogil:
    """Return whether anything is known about the forecast."""
    return not isnan(parts[0].mean)


cdef double mix_log_density(const Component* parts, Py_ssize_t n, double y) noexcept nogil:
    """Return the log density of a mixture, summed relative to the largest term so far."""
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
    return larger(top + log(total), -MAX_VALUE)       # log(0) where no component has a density


cdef void back_moments(int64_t target, double mean, double var, double* out_mean, double* out_var) noexcept nogil:
    """Write mean and variance of y whose log or root is normal with `mean` and `var`: equation (J.4)."""
    cdef double sd, ratio, fourth, unit
    if target == IDENTITY:
        out_mean[0], out_var[0] = mean, var
        return
    if target == LOG:
        var = smaller(var, MAX_LOG_VAR)
        out_mean[0] = exp(smaller(mean + 0.5 * var, LOG_MAX_VALUE))
        out_var[0] = smaller(out_mean[0] * out_mean[0] * expm1(var), MAX_VALUE)
        return
    unit = larger(fabs(mean), sqrt(var))        # scales the root, so that no power of it can overflow
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
    out_mean[0] = smaller(larger(out_mean[0] * unit * unit, -MAX_VALUE), MAX_VALUE)
    out_var[0] = smaller(out_var[0] * unit * unit * unit * unit, MAX_VALUE)


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
    var[0] = smaller(larger(var[0], 1.0 / MAX_VALUE), MAX_VALUE)


cdef void _student_moments(const Component* part, double* mean, double* var) noexcept nogil:
    """Write mean and variance of y where y or log y has Student's t distribution; log y is taken as normal."""
    cdef double dof = larger(part.dof, MIN_DOF)
    var[0] = smaller(part.noise_scale * part.noise_scale * (dof / (dof - 2.0)), MAX_VALUE)
    back_moments(part.target, part.mean, var[0], mean, var)


cdef double _target_moments(
    const Component* parts, Py_ssize_t n, int64_t target, double* mean, double* var
) noexcept nogil:
    """Return the weight of the components of y, its log or its root, and write their mean and variance of y."""
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
    """Return mean and variance of each forecast; the GIL is released."""
    mean, var = np.empty(forecasts.shape[0]), np.empty(forecasts.shape[0])
    cdef double[::1] means = mean, variances = var
    cdef Py_ssize_t t
    if forecasts.shape[1] == 0:
        raise ValueError("forecasts have no components; pass shape (n, n_components) with at least one")
    with nogil:
        for t in range(forecasts.shape[0]):
            _moments(&forecasts[t, 0], forecasts.shape[1], &means[t], &variances[t])
    return mean, var


# The evidence of one observation, for tests.

def flexible_evidence(const double[::1] shares, double d, double v):
    """Return what `evidence` does, under flexible noise whose normals have these shares."""
    if shares.shape[0] != N_FLEXIBLE_NORMALS:
        raise ValueError(f"shares has {shares.shape[0]} values, but flexible noise has {N_FLEXIBLE_NORMALS} normals")
    cdef Evidence seen = SIMD.flexible_evidence(&FLEXIBLE_NORMALS, &shares[0], d, v)
    return seen.log_density, seen.shift, seen.var, seen.scale_slope, seen.epsilon_slope


def evidence(Py_ssize_t family, double d, double v, double epsilon):
    """Return log density, shift, variance and the derivatives by log σ and ε, for one observation."""
    cdef const Noise* noise = noise_of(family)
    cdef Evidence seen = SIMD.evidence(noise.normals, d, v, epsilon)
    return seen.log_density, seen.shift, seen.var, seen.scale_slope, seen.epsilon_slope
