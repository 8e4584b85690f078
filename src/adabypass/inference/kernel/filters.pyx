"""The filters of the bank: each forecasts and learns by itself, in standard units: equations (49)-(56)."""

from libc.math cimport copysign, exp, fabs, isnan, log, sqrt

from adabypass.model.families cimport Evidence, Noise
from adabypass.model.special cimport larger, smaller

from adabypass.inference.kernel.bank_state cimport (
    ANCHORED, Bank, DRIFT_LOG, EPSILON_RATE, FAST_DECAY, FAST_RATE, LARGEST_EPSILON, LARGEST_SLOPE, LAST_Y,
    MAX_REPEATS, N_REPEATS, N_SEEN, N_SETTINGS, SLOPE_RATE, SLOW_RATE, SMALLEST_EPSILON, Y_CENTER, Y_SCALE,
)
from adabypass.inference.kernel.evidence cimport move
from adabypass.inference.kernel.linalg cimport dot, symv

from adabypass.model import limits

cdef double LARGEST_D = limits.LARGEST_DISTANCE
cdef double LARGE_FEATURE = limits.LARGE_FEATURE
cdef double SMALLEST_V = limits.SMALLEST_SIGNAL
cdef double LARGEST_LOG = limits.LARGEST_LOG_SCALE
cdef double RESOLUTION = limits.RESOLUTION
cdef double ROUNDED = 2.0**20 * limits.RESOLUTION       # so wide a noise hides the rounding of y


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
    return fabs(deviation) > RESOLUTION * fabs(bank.x_center[i])


cdef inline double _least_scale(const Bank* bank) noexcept nogil:
    """The least noise scale that the newest observation lets through, whose last digits are rounded: equation (85)."""
    return RESOLUTION * fabs(bank.row[LAST_Y]) / bank.row[Y_SCALE]


cdef void forecast_filters(Bank* bank) noexcept nogil:
    """For every filter p = P @ z, h = z @ p and mean = z @ m."""
    cdef Py_ssize_t k, i, J = bank.size, n = bank.n
    cdef const double* setting
    cdef double* p
    cdef const double* z = bank.z + bank.intercept
    cdef double q, slope, level, least = _least_scale(bank)
    for k in range(bank.n_filters):
        setting, p = bank.settings + k * N_SETTINGS, bank.p + k * J
        symv(J, bank.S + k * bank.n_packed, bank.z, p)
        bank.scale[k] = larger(exp(bank.slow[k] + bank.fast[k]), least)                     # (85)
        # The drift is in units of the slow part of the noise's variance.
        bank.drift_var[k] = q = exp(setting[DRIFT_LOG] + 2.0 * bank.slow[k])                # (52)
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
        bank.mean[k] = dot(J, bank.z, bank.m + k * J)


cdef void _let_drift(Bank* bank, Py_ssize_t k) noexcept nogil:
    """S += Q: equation (53)."""
    cdef Py_ssize_t i, row = bank.intercept
    cdef bint anchored = bank.settings[k * N_SETTINGS + ANCHORED] != 0.0
    cdef double* S = bank.S + k * bank.n_packed
    cdef double q = bank.drift_var[k], weight, level = q
    for i in range(bank.n):
        weight = q
        if anchored:
            weight = q / bank.anchor_var[i]
            if bank.intercept:
                S[row * (row + 1) // 2] -= weight * bank.anchor_center[i]
                level += weight * bank.anchor_center[i] * bank.anchor_center[i]
        S[row * (row + 1) // 2 + row] += weight
        row += 1
    if bank.intercept:
        S[0] += level


cdef inline double _normalised(double slope, double* mean_square, double rate, double bound) noexcept nogil:
    """The slope over its running root mean square, within bounds: equation (54)."""
    mean_square[0] += rate * (slope * slope - mean_square[0])
    return smaller(larger(slope / sqrt(mean_square[0] + 1e-12), -bound), bound)


cdef inline void _learn_noise(Bank* bank, Py_ssize_t k, double least_log, const Evidence* seen) noexcept nogil:
    """Move the noise's scale and shape along the evidence: equations (54)-(56), (84) and (85)."""
    cdef const double* constants = bank.constants
    cdef const double* setting = bank.settings + k * N_SETTINGS
    cdef double n = bank.row[N_SEEN], rate = larger(constants[SLOPE_RATE], 1.0 / (n + 2.0))
    cdef double bound = constants[LARGEST_SLOPE]
    cdef double slope = _normalised(smaller(seen.scale_slope, LARGEST_D), &bank.scale_slope_sq[k], rate, bound)
    if bank.row[N_REPEATS] > constants[MAX_REPEATS]:
        slope = larger(slope, 0.0)                                                          # (84)
    bank.slow[k] += larger(setting[SLOW_RATE], 1.0 / (n + 3.0)) * slope                     # (55)
    bank.slow[k] = smaller(larger(bank.slow[k], least_log), LARGEST_LOG)
    bank.fast[k] = setting[FAST_DECAY] * bank.fast[k] + setting[FAST_RATE] * slope
    if filter_noise(bank, k).has_epsilon:
        slope = _normalised(seen.epsilon_slope, &bank.epsilon_slope_sq[k], rate, bound)
        bank.epsilon[k] *= exp(constants[EPSILON_RATE] * slope)                             # (56)
        bank.epsilon[k] = smaller(larger(bank.epsilon[k], constants[SMALLEST_EPSILON]), constants[LARGEST_EPSILON])


cdef inline double _distance(const Bank* bank, Py_ssize_t k, double observed) noexcept nogil:
    """Distance of an observation from a filter's forecast as it is given, rounded, in units of its noise's scale."""
    cdef double unit = bank.row[Y_SCALE]
    return (observed - (bank.row[Y_CENTER] + unit * bank.mean[k])) / (unit * bank.scale[k])


cdef void absorb_filters(Bank* bank, double y, double observed) noexcept nogil:
    """Let every filter learn from y, in standard units; `observed` is the same in the user's."""
    cdef Py_ssize_t k, J = bank.size
    cdef double scale, d, v, least_log, scale_log, rounded
    cdef Evidence seen
    cdef const Noise* noise
    least_log = larger(log(_least_scale(bank)), -LARGEST_LOG)
    rounded = ROUNDED * fabs(observed) / bank.row[Y_SCALE]
    for k in range(bank.n_filters):
        _let_drift(bank, k)
        if isnan(y):
            bank.fast[k] *= bank.settings[k * N_SETTINGS + FAST_DECAY]
            continue
        scale, scale_log = bank.scale[k], larger(bank.slow[k] + bank.fast[k], least_log)
        d = (y - bank.mean[k]) / scale
        if scale < rounded:     # then what is given is what counts: the mixture's weights go by its density
            d = _distance(bank, k, observed)
        d = smaller(larger(d, -LARGEST_D), LARGEST_D)
        v = smaller(larger(bank.h[k] / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
        noise = filter_noise(bank, k)
        seen = noise.evidence(noise, d, v, bank.epsilon[k])
        bank.log_density[k] = seen.log_density - scale_log
        if bank.h[k] > SMALLEST_V:
            move(
                J, bank.m + k * J, bank.S + k * bank.n_packed, bank.p + k * J, bank.z, bank.h[k], scale, &seen, v, 1.0
            )
        _learn_noise(bank, k, least_log, &seen)
