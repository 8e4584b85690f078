"""One table of operations on every family of noise: evidence, variance, density, distribution function, distance.

A new family gets its functions and its row of the table here, its description in noise.py, and a place among the bank's
noise models.
"""

from libc.math cimport INFINITY, M_PI, erfc, exp, fabs, hypot, log, sqrt

from adabypass.model.smoothed_noise cimport Pieces, log_pdf, lower_tail, mean_distance, pair_distance, pieces
from adabypass.model.special cimport larger, smaller

from adabypass.model import limits, noise as spec

cdef double SQRT_HALF = sqrt(0.5)
cdef double INV_SQRT_2PI = 1.0 / sqrt(2.0 * M_PI)
cdef double HALF_LOG_2PI = 0.5 * log(2.0 * M_PI)
cdef double LARGEST = limits.LARGEST
cdef double SMALLEST_SD = 1.0 / sqrt(limits.LARGEST)
cdef double LARGEST_D = limits.LARGEST_DISTANCE
cdef double SMALLEST_V = limits.SMALLEST_SIGNAL
cdef double FLOODED = 1e8       # beyond it the noise's shape moves no digit of the sum's distribution function
cdef double WIDEST_TOP = 1e6     # epsilon beyond which the tails of the noise are as good as none
cdef double HIDDEN = 1e30       # and beyond it none of its log density, however far out


# Gaussian noise.

cdef Evidence _gaussian_evidence(const Noise* noise, double d, double v, double epsilon) noexcept nogil:
    """Evidence under Gaussian noise: equation (44)."""
    cdef Evidence seen
    cdef double D = 1.0 + v, mean = d / D
    seen.log_density = -HALF_LOG_2PI - 0.5 * (log(D) + d * mean)
    seen.shift = -v * mean
    seen.var = v / D
    seen.scale_slope = mean * mean + seen.var - 1.0
    seen.epsilon_slope = 0.0
    return seen


cdef double _gaussian_log_density(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double sd = 0.0, log_var = _log_var(part, noise.var(noise, part.epsilon), &sd)
    cdef double d = smaller(larger((y - part.mean) / sd, -LARGEST_D), LARGEST_D)
    return -HALF_LOG_2PI - 0.5 * (log_var + d * d)


cdef double _gaussian_below(const Noise* noise, const Component* part, double y, double* density) noexcept nogil:
    cdef double sd = _sd(part, noise.var(noise, part.epsilon)), d = (y - part.mean) / sd
    density[0] = INV_SQRT_2PI * exp(-0.5 * d * d) / sd
    return 0.5 * erfc(-d * SQRT_HALF)


cdef double _gaussian_mean_distance(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double sd = _sd(part, noise.var(noise, part.epsilon)), d = fabs(y - part.mean) / sd
    return sd * (d * (1.0 - erfc(d * SQRT_HALF)) + 2.0 * INV_SQRT_2PI * exp(-0.5 * d * d))


# Mixtures of normals of mean 0.

cdef Evidence _normals_evidence(const Noise* noise, double d, double v, double epsilon) noexcept nogil:
    """Evidence under noise that is a mixture of normals: equations (68) and (69)."""
    cdef Evidence seen
    cdef double[MOST_NORMALS] weight, center
    cdef double top = -INFINITY, total = 0.0, mean = 0.0, D
    cdef Py_ssize_t j
    for j in range(noise.n_normals):
        D = noise.sq[j] + v
        center[j] = d / D
        weight[j] = noise.log_share[j] - 0.5 * (log(D) + d * center[j])
        top = larger(top, weight[j])
    for j in range(noise.n_normals):
        weight[j] = exp(weight[j] - top)
        total += weight[j]
    seen.log_density = top + log(total) - HALF_LOG_2PI
    seen.shift = seen.var = seen.epsilon_slope = 0.0
    seen.scale_slope = -1.0
    for j in range(noise.n_normals):
        weight[j] /= total
        seen.shift -= weight[j] * v * center[j]
        center[j] *= noise.sq[j]            # of the noise, under each normal
        mean += weight[j] * center[j]
        D = v / (noise.sq[j] + v)
        seen.scale_slope += weight[j] * (center[j] * center[j] / noise.sq[j] + D)
        seen.var += weight[j] * noise.sq[j] * D
    for j in range(noise.n_normals):
        seen.var += weight[j] * (center[j] - mean) * (center[j] - mean)
    return seen


cdef double _normals_var(const Noise* noise, double epsilon) noexcept nogil:
    return noise.normals_var


cdef double _normals_log_density(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double top = -INFINITY, total = 0.0, sd = 0.0, log_var, d, each
    cdef Py_ssize_t j
    for j in range(noise.n_normals - 1, -1, -1):        # from the widest, which is seldom lost
        log_var = _log_var(part, noise.sq[j], &sd)
        d = smaller(larger((y - part.mean) / sd, -LARGEST_D), LARGEST_D)
        each = noise.log_share[j] - 0.5 * (log_var + d * d)
        if each > top:
            total *= exp(top - each)
            top = each
        total += exp(each - top)
    return top + log(total) - HALF_LOG_2PI


cdef double _normals_below(const Noise* noise, const Component* part, double y, double* density) noexcept nogil:
    cdef double total = 0.0, sd, d
    cdef Py_ssize_t j
    density[0] = 0.0
    for j in range(noise.n_normals):
        sd = _sd(part, noise.sq[j])
        d = (y - part.mean) / sd
        density[0] += noise.share[j] * (INV_SQRT_2PI * exp(-0.5 * d * d)) / sd
        total += noise.share[j] * (0.5 * erfc(-d * SQRT_HALF))
    return total


cdef double _normals_mean_distance(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double total = 0.0, sd, d
    cdef Py_ssize_t j
    for j in range(noise.n_normals):
        sd = _sd(part, noise.sq[j])
        d = fabs(y - part.mean) / sd
        total += noise.share[j] * sd * (d * (1.0 - erfc(d * SQRT_HALF)) + 2.0 * INV_SQRT_2PI * exp(-0.5 * d * d))
    return total


# Insensitive noise: a flat top with Laplace tails.

cdef Evidence _insensitive_evidence(const Noise* noise, double d, double v, double epsilon) noexcept nogil:
    """Evidence under noise with a flat top and Laplace tails: equations (38)-(43)."""
    cdef Evidence seen
    cdef double distance = fabs(d), s = sqrt(v)
    cdef Pieces split = pieces(distance, v, epsilon)
    cdef double base = smaller(distance, epsilon)      # means are measured from here, to keep their differences
    cdef double beyond_right = s * split.right_piece.mean, beyond_left = s * split.left_piece.mean
    cdef double flat = -s * split.flat_piece.mean
    cdef double right = epsilon - base + beyond_right
    cdef double left = -(epsilon + base) - beyond_left
    cdef double mean = split.flat * flat + split.right * right + split.left * left
    seen.log_density = split.log_unit + log(split.total / (2.0 * (1.0 + epsilon)))          # (38)
    seen.shift = v * (split.left - split.right) if v <= 1.0 else base - distance + mean     # (40)
    seen.var = (                                                                            # (41)
        split.flat * (v * split.flat_piece.var + (flat - mean) * (flat - mean))
        + split.right * (v * split.right_piece.var + (right - mean) * (right - mean))
        + split.left * (v * split.left_piece.var + (left - mean) * (left - mean))
    )
    seen.scale_slope = split.right * (epsilon + beyond_right) + split.left * (epsilon + beyond_left) - 1.0      # (42)
    seen.epsilon_slope = split.right + split.left - 1.0 / (1.0 + epsilon)                   # (43)
    if d < 0.0:
        seen.shift = -seen.shift
    return seen


cdef double _insensitive_var(const Noise* noise, double epsilon) noexcept nogil:
    return (epsilon * (epsilon * (epsilon / 3.0 + 1.0) + 2.0) + 2.0) / (1.0 + epsilon)      # (5)


cdef double _insensitive_log_density(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double scale = part.noise_scale, d, v
    if part.signal_var >= HIDDEN * scale * scale:
        return _gaussian_log_density(noise, part, y)
    d = smaller(larger((y - part.mean) / scale, -LARGEST_D), LARGEST_D)
    v = smaller(larger(part.signal_var / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
    return log_pdf(d, v, part.epsilon) - log(scale)


cdef double _insensitive_below(const Noise* noise, const Component* part, double y, double* density) noexcept nogil:
    cdef double scale = part.noise_scale, d, v, tail
    if is_normal(part):
        return _gaussian_below(noise, part, y, density)
    d = smaller(larger((y - part.mean) / scale, -LARGEST_D), LARGEST_D)
    v = smaller(larger(part.signal_var / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
    tail = lower_tail(fabs(d), v, part.epsilon, density)
    density[0] /= scale
    return tail if d < 0.0 else 1.0 - tail


cdef double _insensitive_mean_distance(const Noise* noise, const Component* part, double y) noexcept nogil:
    cdef double scale, epsilon = _bounded(part, &scale), v
    if is_normal(part):
        return _gaussian_mean_distance(noise, part, y)
    v = smaller(larger(part.signal_var / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
    return scale * mean_distance(smaller(fabs(y - part.mean) / scale, LARGEST_D), v, epsilon)


cdef double _insensitive_pair_distance(
    const Noise* noise, const Component* part, const Component* other
) noexcept nogil:
    cdef double scale, other_scale, epsilon = _bounded(part, &scale), other_epsilon = _bounded(other, &other_scale)
    cdef double v = part.signal_var + other.signal_var
    return pair_distance(fabs(part.mean - other.mean), v, scale, epsilon, other_scale, other_epsilon)


cdef inline double _bounded(const Component* part, double* scale) noexcept nogil:
    """Epsilon and the noise's scale, of a flat top of the same width whose tails are not narrower than need be."""
    scale[0] = part.noise_scale
    if part.epsilon <= WIDEST_TOP:
        return part.epsilon
    scale[0] *= part.epsilon / WIDEST_TOP
    return WIDEST_TOP


# What all have in common.

cdef double total_sd(const Component* part) noexcept nogil:
    """Standard deviation of one component."""
    cdef const Noise* noise = noise_of(part.family)
    return _sd(part, noise.var(noise, part.epsilon))


cdef bint is_normal(const Component* part) noexcept nogil:
    """Whether the noise is Gaussian, or too small beside x'w for its shape to show."""
    cdef const Noise* noise = noise_of(part.family)
    cdef double scale = part.noise_scale
    if noise.evidence == _gaussian_evidence:
        return True
    return part.signal_var >= FLOODED * scale * scale * noise.var(noise, part.epsilon)


cdef inline double _sd(const Component* part, double noise_var) noexcept nogil:
    """sqrt(signal_var + noise_scale² noise_var), which does not overflow."""
    cdef double var = part.signal_var + part.noise_scale * part.noise_scale * noise_var
    if var < LARGEST:
        return sqrt(larger(var, 1.0 / LARGEST))
    return hypot(sqrt(part.signal_var), part.noise_scale * sqrt(noise_var))


cdef inline double _log_var(const Component* part, double noise_var, double* sd) noexcept nogil:
    """Log of the square of `_sd`, which is written."""
    cdef double var = part.signal_var + part.noise_scale * part.noise_scale * noise_var
    if var < LARGEST:
        var = larger(var, 1.0 / LARGEST)
        sd[0] = sqrt(var)
        return log(var)
    sd[0] = _sd(part, noise_var)
    return 2.0 * log(sd[0])


cdef int _fill_table() except -1:
    cdef Py_ssize_t index, j
    cdef Noise* noise
    if len(spec.Family) > MOST_FAMILIES or max(len(each.sds) for each in spec.NORMALS.values()) > MOST_NORMALS:
        raise ImportError("there are more families of noise, or normals in one of them, than families.pxd has room for")
    for index in range(MOST_FAMILIES):      # rows without a family are Gaussian: a wrong index does no harm
        family = spec.Family(index) if index < len(spec.Family) else spec.Family.GAUSSIAN
        noise = &NOISES[index]
        noise.start_log = log(spec.START_SCALE[family])
        noise.has_epsilon = family not in spec.NORMALS
        noise.n_normals = 0
        if family in spec.NORMALS:
            normals = spec.NORMALS[family]
            noise.n_normals = len(normals.sds)
            for j in range(noise.n_normals):
                noise.share[j], noise.log_share[j] = normals.shares[j], log(normals.shares[j])
                noise.sq[j] = <double>normals.sds[j] * <double>normals.sds[j]
            noise.var, noise.normals_var = _normals_var, normals.var
            sd, kurtosis = normals.var**0.5, normals.kurtosis
            noise.normal_miss = sqrt(2.0 / M_PI) * sum(
                share * abs(each / sd - 1.0) for share, each in zip(normals.shares, normals.sds, strict=True)
            )
            noise.smoothed_miss = (kurtosis + 3.0) / 30.0 if len(normals.sds) > 1 else 0.0
            if normals.sds == (1.0,):
                noise.evidence, noise.log_density = _gaussian_evidence, _gaussian_log_density
                noise.below, noise.mean_distance = _gaussian_below, _gaussian_mean_distance
            else:
                noise.evidence, noise.log_density = _normals_evidence, _normals_log_density
                noise.below, noise.mean_distance = _normals_below, _normals_mean_distance
        elif family is spec.Family.INSENSITIVE:
            noise.normal_miss, noise.smoothed_miss = 0.16, 0.3      # uniform and Laplace noise miss most
            noise.var, noise.evidence = _insensitive_var, _insensitive_evidence
            noise.log_density, noise.below = _insensitive_log_density, _insensitive_below
            noise.mean_distance, noise.pair_distance = _insensitive_mean_distance, _insensitive_pair_distance
        else:
            raise ImportError(f"families.pyx has no operations for {family!r}")
    return 0


INSENSITIVE = spec.Family.INSENSITIVE
GAUSSIAN = spec.Family.GAUSSIAN
HEAVY = spec.Family.HEAVY
_fill_table()


def evidence(Py_ssize_t family, double d, double v, double epsilon):
    """Return log density, shift, variance, and slopes by log σ and by ε, of one observation."""
    cdef const Noise* noise = noise_of(family)
    cdef Evidence seen = noise.evidence(noise, d, v, epsilon)
    return seen.log_density, seen.shift, seen.var, seen.scale_slope, seen.epsilon_slope
