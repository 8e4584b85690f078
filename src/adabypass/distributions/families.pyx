"""One table of operations on every family of noise: variance and density. Its evidence is in numerics/c/noise.h.

A new family gets its functions and its row of the table here, its description in noise.py, and a place among the bank's
noise models.
"""

from libc.math cimport INFINITY, M_PI, exp, hypot, lgamma, log, log1p, sqrt

from adabypass.numerics.special cimport larger, smaller
from adabypass.numerics.dispatch cimport KERNELS, MOST_FLEXIBLE, MOST_NORMALS, Evidence

from adabypass.numerics import limits, noise as spec

cdef double HALF_LOG_2PI = 0.5 * log(2.0 * M_PI)
cdef double MANY_DOF = 1e6
cdef double LARGEST = limits.LARGEST
cdef double LARGEST_D = limits.LARGEST_DISTANCE
cdef double SMALLEST_V = limits.SMALLEST_SIGNAL
cdef double FLOODED = 1e8       # beyond it the noise's shape moves no digit of the sum's distribution function
cdef double HIDDEN = 1e30       # and beyond it none of its log density, however far out


# Gaussian noise.

cdef double _gaussian_log_density(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double sd = 0.0, log_var = _log_var(part, noise.var(noise, part.epsilon), &sd)
    cdef double d = smaller(larger((y - part.mean) / sd, -LARGEST_D), LARGEST_D)
    return -HALF_LOG_2PI - 0.5 * (log_var + d * d)


# Mixtures of normals of mean 0.

cdef double _normals_var(const Noise* noise, double epsilon) noexcept nogil:
    return noise.normals_var


cdef double _normals_log_density(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double top = -INFINITY, total = 0.0, sd = 0.0, log_var, d, each
    cdef Py_ssize_t j
    for j in range(noise.normals.n - 1, -1, -1):        # from the widest, which is seldom lost
        log_var = _log_var(part, noise.normals.sq[j], &sd)
        d = smaller(larger((y - part.mean) / sd, -LARGEST_D), LARGEST_D)
        each = log(noise.normals.share[j]) - 0.5 * (log_var + d * d)
        if each > top:
            total *= exp(top - each)
            top = each
        total += exp(each - top)
    return top + log(total) - HALF_LOG_2PI


# Insensitive noise: a flat top with Laplace tails.

cdef double _insensitive_var(const Noise* noise, double epsilon) noexcept nogil:
    return (epsilon * (epsilon * (epsilon / 3.0 + 1.0) + 2.0) + 2.0) / (1.0 + epsilon)      # (5)


cdef double _insensitive_log_density(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double scale = part.noise_scale, d, v
    if part.signal_var > HIDDEN * scale * scale:
        return _gaussian_log_density(noise, part, y)
    d = smaller(larger((y - part.mean) / scale, -LARGEST_D), LARGEST_D)
    v = smaller(larger(part.signal_var / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
    return KERNELS.evidence(noise.normals, d, v, part.epsilon).log_density - log(scale)


# Student's t.

cdef double _student_var(const Noise* noise, double epsilon) noexcept nogil:
    return 1.0          # of a component, its degrees of freedom tell


cdef double _student_log_density(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double n = part.dof, d = smaller(larger((y - part.mean) / part.noise_scale, -LARGEST_D), LARGEST_D)
    return student_log_height(n) - log(part.noise_scale) - 0.5 * (n + 1.0) * log1p(d * d / n)


cdef double student_log_height(double dof) noexcept nogil:
    """Log density of the standard Student's t distribution at 0."""
    if dof > MANY_DOF:          # the difference below would be of rounding alone
        return -HALF_LOG_2PI - 0.25 / dof
    return lgamma(0.5 * (dof + 1.0)) - lgamma(0.5 * dof) - 0.5 * log(dof * M_PI)


# What all have in common.

cdef double total_sd(const Component* part) noexcept nogil:
    """Standard deviation of one component."""
    cdef const Noise* noise = noise_of(part.family)
    return part_sd(part, noise.var(noise, part.epsilon))


cdef bint is_normal(const Component* part) noexcept nogil:
    """Whether the noise is Gaussian, or too small beside x'w for its shape to show."""
    cdef const Noise* noise = noise_of(part.family)
    cdef double scale = part.noise_scale
    if noise.normals.n == 1:
        return True
    return part.signal_var > FLOODED * scale * scale * noise.var(noise, part.epsilon)   # whose product may be 0


cdef double part_sd(const Component* part, double noise_var) noexcept nogil:
    """sqrt(signal_var + noise_scale² noise_var), which neither overflows nor underflows."""
    cdef double var = part.signal_var + part.noise_scale * part.noise_scale * noise_var
    if 1.0 / LARGEST < var < LARGEST:
        return sqrt(var)
    return larger(hypot(sqrt(part.signal_var), part.noise_scale * sqrt(noise_var)), 1.0 / LARGEST)


cdef inline double _log_var(const Component* part, double noise_var, double* sd) noexcept nogil:
    """Log of the square of `part_sd`, which is written."""
    cdef double var = part.signal_var + part.noise_scale * part.noise_scale * noise_var
    if 1.0 / LARGEST < var < LARGEST:
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
    if len(spec.Family) > MOST_FAMILIES or max(len(each.sds) for each in spec.NORMALS.values()) > MOST_NORMALS:
        raise ImportError("compiled code has no room for so many families of noise, or normals in one of them")
    if len(spec.FLEXIBLE_NORMALS.sds) != MOST_FLEXIBLE:
        raise ImportError(f"flexible noise has {len(spec.FLEXIBLE_NORMALS.sds)} normals, in C {MOST_FLEXIBLE}")
    sds = spec.FLEXIBLE_NORMALS.sds.tolist()
    for index in range(MOST_FLEXIBLE):
        FLEXIBLE_NORMALS.center[index] = spec.FLEXIBLE_NORMALS.centers[index]
        FLEXIBLE_NORMALS.sq[index] = spec.FLEXIBLE_NORMALS.sds[index] ** 2
        FLEXIBLE_NORMALS.twin[index] = len(sds) - 1 - sds[::-1].index(sds[index])
        FLEXIBLE_START[index] = spec.FLEXIBLE_NORMALS.start[index]
    for index in range(MOST_FAMILIES):      # rows without a family are Gaussian: a wrong index does no harm
        family = spec.Family(index) if index < len(spec.Family) else spec.Family.GAUSSIAN
        noise = &NOISES[index]
        noise.start_log = log(spec.START_SCALE.get(family, 1.0))
        noise.has_epsilon = family not in spec.NORMALS
        noise.normals = &NORMALS[index]
        if family in spec.NORMALS:
            _fill_normals(&NORMALS[index], spec.NORMALS[family])
            _use_normals(noise, spec.NORMALS[family])
        elif family is spec.Family.INSENSITIVE:
            noise.var = _insensitive_var
            noise.log_density = _insensitive_log_density
        elif family is spec.Family.STUDENT:         # of forecasts alone
            noise.has_epsilon = False
            _fill_normals(&NORMALS[index], spec.NORMALS[spec.Family.GAUSSIAN])
            noise.var, noise.log_density = _student_var, _student_log_density
        elif family is spec.Family.FLEXIBLE:        # never that of a component
            noise.has_epsilon = False
            _fill_normals(&NORMALS[index], spec.NORMALS[spec.Family.GAUSSIAN])
            _use_normals(noise, spec.NORMALS[spec.Family.GAUSSIAN])
        else:
            raise ImportError(f"families.pyx has no operations for {family!r}")
    return 0


INSENSITIVE = spec.Family.INSENSITIVE
GAUSSIAN = spec.Family.GAUSSIAN
MODERATE = spec.Family.MODERATE
STUDENT = spec.Family.STUDENT
_fill_table()


def flexible_evidence(const double[::1] shares, double d, double v):
    """Return the same under flexible noise whose normals have these shares."""
    if shares.shape[0] != MOST_FLEXIBLE:
        raise ValueError(f"{MOST_FLEXIBLE} shares are needed")
    cdef Evidence seen = KERNELS.flexible_evidence(&FLEXIBLE_NORMALS, &shares[0], d, v)
    return seen.log_density, seen.shift, seen.var, seen.scale_slope, seen.epsilon_slope


def evidence(Py_ssize_t family, double d, double v, double epsilon):
    """Return log density, shift, variance, and slopes by log σ and by ε, of one observation."""
    cdef const Noise* noise = noise_of(family)
    cdef Evidence seen = KERNELS.evidence(noise.normals, d, v, epsilon)
    return seen.log_density, seen.shift, seen.var, seen.scale_slope, seen.epsilon_slope
