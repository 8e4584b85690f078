"""The exact-evidence filter, in place on rows: equations (38)-(46)."""

from libc.math cimport INFINITY, M_PI, exp, fabs, isnan, log, sqrt

from adabypass.model.special cimport larger, smaller

from adabypass.inference.kernel.linalg cimport add_diagonal, add_outer, dot, symv
from adabypass.model.smoothed_noise cimport Pieces, pieces
from adabypass.inference.kernel.step cimport Kernel, Linear, Step, guard, saturate, saturate_weight, single_component
from adabypass.model.component cimport INSENSITIVE, Component

from adabypass.model import limits, noise

cdef enum:      # the row
    N_SEEN = 0
    MEAN = 1    # then the covariance

cdef enum:      # the constants
    DRIFT_VAR = 0
    NOISE_SCALE = 1
    EPSILON = 2

cdef enum:
    N_HEAVY = 4

cdef double[N_HEAVY] HEAVY_LOG_SHARE = [log(share) for share in noise.HEAVY_SHARES]
cdef double[N_HEAVY] HEAVY_VAR = [sd * sd for sd in noise.HEAVY_SDS]
cdef double LARGEST_D = limits.LARGEST_DISTANCE
cdef double SMALLEST_V = limits.SMALLEST_SIGNAL
cdef double HALF_LOG_2PI = 0.5 * log(2.0 * M_PI)


cdef Evidence insensitive(double d, double v, double epsilon) noexcept nogil:
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


cdef Evidence gaussian(double d, double v) noexcept nogil:
    """Evidence under Gaussian noise: equation (44)."""
    cdef Evidence seen
    cdef double D = 1.0 + v, mean = d / D
    seen.log_density = -HALF_LOG_2PI - 0.5 * (log(D) + d * mean)
    seen.shift = -v * mean
    seen.var = v / D
    seen.scale_slope = mean * mean + seen.var - 1.0
    seen.epsilon_slope = 0.0
    return seen


cdef Evidence heavy(double d, double v) noexcept nogil:
    """Evidence under noise with heavy tails, a mixture of normals: equations (68) and (69)."""
    cdef Evidence seen
    cdef double[N_HEAVY] weight, center
    cdef double top = -INFINITY, total = 0.0, mean = 0.0, D
    cdef Py_ssize_t j
    for j in range(N_HEAVY):
        D = HEAVY_VAR[j] + v
        center[j] = d / D
        weight[j] = HEAVY_LOG_SHARE[j] - 0.5 * (log(D) + d * center[j])
        top = larger(top, weight[j])
    for j in range(N_HEAVY):
        weight[j] = exp(weight[j] - top)
        total += weight[j]
    seen.log_density = top + log(total) - HALF_LOG_2PI
    seen.shift = seen.var = seen.epsilon_slope = 0.0
    seen.scale_slope = -1.0
    for j in range(N_HEAVY):
        weight[j] /= total
        seen.shift -= weight[j] * v * center[j]
        center[j] *= HEAVY_VAR[j]           # of the noise, under each normal
        mean += weight[j] * center[j]
        D = v / (HEAVY_VAR[j] + v)
        seen.scale_slope += weight[j] * (center[j] * center[j] / HEAVY_VAR[j] + D)
        seen.var += weight[j] * HEAVY_VAR[j] * D
    for j in range(N_HEAVY):
        seen.var += weight[j] * (center[j] - mean) * (center[j] - mean)
    return seen


cdef void move(
    Py_ssize_t n, double* m, double* S, const double* p, const double* x, double h, double noise_scale,
    const Evidence* seen, double v, double unit,
) noexcept nogil:
    """Give the weights the posterior mean and variance of x'w, in place: equations (45) and (46).

    p = P @ x and h = x @ p, for x in units of `unit`; S is P on entry.
    """
    cdef Py_ssize_t i
    cdef double step = saturate(seen.shift * noise_scale / unit / h), floor = guard(n, S, x, h)
    for i in range(n):
        m[i] = saturate_weight(m[i] - step * p[i])                                          # (45)
    add_outer(n, -larger(1.0 - seen.var / v, 0.0) / larger(h, floor), p, S)                     # (46)


cdef void forecast(Step* step) noexcept nogil:
    """mean = x @ m, var = x @ P @ x + noise_scale² Var(η)"""
    cdef double* p = step.scratch
    cdef double drift_var = step.constants[DRIFT_VAR]
    cdef Py_ssize_t i
    symv(step.n, step.row + MEAN + step.n, step.x, p)
    for i in range(step.n):
        p[i] += drift_var * step.x[i]
    step.prior_var = larger(dot(step.n, step.x, p), 0.0)
    if step.extra != NULL:
        step.prior_var += smaller(step.extra[0] / step.scale / step.scale, LARGEST_D)       # (66)
    step.mean = saturate(step.scale * dot(step.n, step.x, step.row + MEAN))
    step.var = saturate(_signal_var(step) + step.constants[NOISE_SCALE] * step.constants[NOISE_SCALE] * _unit_var(step))


cdef inline double _signal_var(const Step* step) noexcept nogil:
    """x @ P @ x"""
    return saturate(step.scale * (step.scale * step.prior_var))


cdef inline double _unit_var(const Step* step) noexcept nogil:
    """Variance of noise of scale 1: equation (5)."""
    cdef double e = step.constants[EPSILON]
    return (e * (e * (e / 3.0 + 1.0) + 2.0) + 2.0) / (1.0 + e)


cdef void absorb(Step* step, double y) noexcept nogil:
    cdef double* m = step.row + MEAN
    cdef double* S = m + step.n
    cdef double noise_scale = step.constants[NOISE_SCALE]
    cdef double d, v
    cdef Evidence seen
    add_diagonal(step.n, step.constants[DRIFT_VAR], S)
    if isnan(y):
        return
    step.row[N_SEEN] += 1.0
    if step.prior_var <= SMALLEST_V:
        return
    d = smaller(larger(saturate(y - step.mean) / noise_scale, -LARGEST_D), LARGEST_D)
    v = smaller(larger(_signal_var(step) / noise_scale / noise_scale, SMALLEST_V), 1.0 / SMALLEST_V)
    seen = insensitive(d, v, step.constants[EPSILON])
    move(step.n, m, S, step.scratch, step.x, step.prior_var, noise_scale, &seen, v, step.scale)


cdef void describe(Step* step, Component* out) noexcept nogil:
    """Write the forecast's one component, after `forecast`."""
    out.weight, out.mean, out.signal_var = 1.0, step.mean, _signal_var(step)
    out.noise_scale, out.epsilon, out.family = step.constants[NOISE_SCALE], step.constants[EPSILON], INSENSITIVE


cdef void weights(const Step* step, Py_ssize_t component, Linear* out) noexcept nogil:
    single_component(out, step.row + MEAN, step.row + MEAN + step.n, step.constants[DRIFT_VAR])


KERNEL = Kernel.of(forecast, absorb, weights, scale_up=False, learns_extra=True, describe=describe)


def insensitive_evidence(double d, double v, double epsilon):
    """Give `insensitive` to Python: log density, shift, variance, slopes by log σ and by ε."""
    cdef Evidence seen = insensitive(d, v, epsilon)
    return seen.log_density, seen.shift, seen.var, seen.scale_slope, seen.epsilon_slope


def heavy_evidence(double d, double v):
    """Give `heavy` to Python, likewise."""
    cdef Evidence seen = heavy(d, v)
    return seen.log_density, seen.shift, seen.var, seen.scale_slope, seen.epsilon_slope
