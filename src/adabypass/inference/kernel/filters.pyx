"""The filters of the bank: each forecasts and learns by itself, in standard units: equations (49)-(56)."""

from libc.math cimport copysign, exp, fabs, isnan, sqrt

from adabypass.model.families cimport Evidence, Noise
from adabypass.model.special cimport larger, smaller

from adabypass.inference.kernel.bank_state cimport (
    ANCHORED, Bank, DRIFT_LOG, EPSILON_RATE, EPSILON_SLOPE_SQ, FAST, FAST_DECAY, FAST_RATE, FILTER_EPSILON,
    N_SCALARS, N_SEEN, N_SETTINGS, SCALE_SLOPE_SQ, SLOPE_RATE, SLOW, SLOW_RATE, Y_SCALE,
)
from adabypass.inference.kernel.evidence cimport move
from adabypass.inference.kernel.linalg cimport dot, symv

from adabypass.model import limits

cdef double LARGEST_D = limits.LARGEST_DISTANCE
cdef double LARGE_FEATURE = limits.LARGE_FEATURE
cdef double SMALLEST_V = limits.SMALLEST_SIGNAL
cdef double LARGEST_LOG = limits.LARGEST_LOG_SCALE
cdef double CONSTANT = limits.CONSTANT
cdef double LARGEST_SLOPE = limits.LARGEST_SLOPE
cdef double SMALLEST_EPSILON, LARGEST_EPSILON
SMALLEST_EPSILON, LARGEST_EPSILON = limits.EPSILON_RANGE


cdef void standardise(Bank* bank, const double* x, double scale) noexcept nogil:
    """z = (1, (x - x_center) / x_scale): equation (49)."""
    cdef Py_ssize_t i
    cdef double* z = bank.z + bank.intercept
    cdef double deviation
    if bank.intercept:
        bank.z[0] = 1.0
    for i in range(bank.n):
        deviation = scale * x[i] - bank.x_center[i]
        if bank.x_scale[i] > 0.0:
            z[i] = smaller(larger(deviation / bank.x_scale[i], -LARGE_FEATURE), LARGE_FEATURE)
        elif bank.x_scale[i] == 0.0 and moves(bank, i, deviation):
            z[i] = copysign(1.0, deviation)     # constant so far: this move is its unit
        else:
            z[i] = 0.0


cdef bint moves(const Bank* bank, Py_ssize_t i, double deviation) noexcept nogil:
    return fabs(deviation) > CONSTANT * fabs(bank.x_center[i])


cdef void forecast_filters(Bank* bank) noexcept nogil:
    """For every filter p = P @ z, h = z @ p and mean = z @ m."""
    cdef Py_ssize_t k, i, J = bank.size, n = bank.n
    cdef const double* setting
    cdef double* filter
    cdef double* p
    cdef const double* z = bank.z + bank.intercept
    cdef double q, slope, level
    for k in range(bank.n_filters):
        setting, filter, p = bank.settings + k * N_SETTINGS, bank.filters + k * bank.stride, bank.p + k * J
        symv(J, filter + N_SCALARS + J, bank.z, p)
        bank.scale[k] = exp(filter[SLOW] + filter[FAST])
        # The drift is in units of the slow part of the noise's variance.
        bank.drift_var[k] = q = exp(setting[DRIFT_LOG] + 2.0 * filter[SLOW])                # (52)
        level = 1.0
        for i in range(n):                                                                  # (53)  p += Q @ z
            if setting[ANCHORED] != 0.0:
                slope = (z[i] - bank.anchor_center[i]) / bank.anchor_var[i]
                level -= bank.anchor_center[i] * slope
            else:
                slope = z[i]
            p[bank.intercept + i] += q * slope
        if bank.intercept:
            p[0] += q * level
        bank.h[k] = larger(dot(J, bank.z, p), 0.0)
        if bank.extra != NULL:
            bank.h[k] += smaller(bank.extra[k] / bank.row[Y_SCALE] / bank.row[Y_SCALE], LARGEST_D)      # (66)
        bank.mean[k] = dot(J, bank.z, filter + N_SCALARS)


cdef void _let_drift(Bank* bank, const double* setting, double* filter, double q) noexcept nogil:
    """S += Q: equation (53)."""
    cdef Py_ssize_t i, row = bank.intercept
    cdef double* S = filter + N_SCALARS + bank.size
    cdef double weight, level = q
    for i in range(bank.n):
        weight = q
        if setting[ANCHORED] != 0.0:
            weight = q / bank.anchor_var[i]
            if bank.intercept:
                S[row * (row + 1) // 2] -= weight * bank.anchor_center[i]
                level += weight * bank.anchor_center[i] * bank.anchor_center[i]
        S[row * (row + 1) // 2 + row] += weight
        row += 1
    if bank.intercept:
        S[0] += level


cdef inline double _normalised(double slope, double* mean_square, double rate) noexcept nogil:
    """The slope over its running root mean square, within bounds: equation (54)."""
    mean_square[0] += rate * (slope * slope - mean_square[0])
    return smaller(larger(slope / sqrt(mean_square[0] + 1e-12), -LARGEST_SLOPE), LARGEST_SLOPE)


cdef inline void _learn_noise(Bank* bank, const double* setting, double* filter, const Evidence* seen) noexcept nogil:
    """Move the noise's scale and shape along the evidence: equations (54)-(56)."""
    cdef double n = bank.row[N_SEEN], rate = larger(bank.constants[SLOPE_RATE], 1.0 / (n + 2.0))
    cdef double slope = _normalised(smaller(seen.scale_slope, LARGEST_D), &filter[SCALE_SLOPE_SQ], rate)
    filter[SLOW] += larger(setting[SLOW_RATE], 1.0 / (n + 3.0)) * slope                       # (55)
    filter[SLOW] = smaller(larger(filter[SLOW], -LARGEST_LOG), LARGEST_LOG)
    filter[FAST] = setting[FAST_DECAY] * filter[FAST] + setting[FAST_RATE] * slope
    if filter_noise(setting).has_epsilon:
        slope = _normalised(seen.epsilon_slope, &filter[EPSILON_SLOPE_SQ], rate)
        filter[FILTER_EPSILON] *= exp(bank.constants[EPSILON_RATE] * slope)                 # (56)
        filter[FILTER_EPSILON] = smaller(larger(filter[FILTER_EPSILON], SMALLEST_EPSILON), LARGEST_EPSILON)


cdef void absorb_filters(Bank* bank, double y) noexcept nogil:
    """Let every filter learn from y, in standard units."""
    cdef Py_ssize_t k, J = bank.size
    cdef const double* setting
    cdef double* filter
    cdef double scale, d, v
    cdef Evidence seen
    cdef const Noise* noise
    for k in range(bank.n_filters):
        setting, filter = bank.settings + k * N_SETTINGS, bank.filters + k * bank.stride
        _let_drift(bank, setting, filter, bank.drift_var[k])
        if isnan(y):
            filter[FAST] *= setting[FAST_DECAY]
            continue
        scale = bank.scale[k]
        d = smaller(larger((y - bank.mean[k]) / scale, -LARGEST_D), LARGEST_D)
        v = smaller(larger(bank.h[k] / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
        noise = filter_noise(setting)
        seen = noise.evidence(noise, d, v, filter[FILTER_EPSILON])
        bank.log_density[k] = seen.log_density - filter[SLOW] - filter[FAST]
        if bank.h[k] > SMALLEST_V:
            move(
                J, filter + N_SCALARS, filter + N_SCALARS + J, bank.p + k * J, bank.z, bank.h[k], scale, &seen, v, 1.0
            )
        _learn_noise(bank, setting, filter, &seen)
