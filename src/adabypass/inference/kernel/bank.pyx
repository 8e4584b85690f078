"""AutoBypass: a bank of exact-evidence filters, in place on one row.

Inside, everything is in standard units: features and y less their centre, over their scale, both from the warm-up.
"""

from libc.math cimport M_PI, exp, fabs, isnan, log, sqrt
from libc.stdint cimport int64_t

from adabypass.model.component cimport Component
from adabypass.model.families cimport GAUSSIAN, noise_of
from adabypass.model.special cimport larger, smaller

from adabypass.inference.kernel.bank_state cimport (
    ANCHORED, Bank, DRIFT_LOG, FAMILY, FILTER_EPSILON, LOG_SCORE, N_SCALARS, N_SEEN, N_SETTINGS, N_WARM, open_bank,
    PHASE, SETTLED, SLOW, UNSCALED, WARM_UP, WARMING, Y_CENTER, Y_SCALE,
)
from adabypass.inference.kernel.filters cimport forecast_filters, moves, noise_var, standardise
from adabypass.inference.kernel.mixing cimport learn
from adabypass.inference.kernel.step cimport LARGEST, Kernel, Linear, Step, saturate
from adabypass.inference.kernel.warm_up cimport is_milestone, remember, start_over

from adabypass.model import limits

cdef double HALF_LOG_2PI = 0.5 * log(2.0 * M_PI)
cdef double LARGEST_UNIT = limits.LARGEST_UNIT


cdef void forecast(Step* step) noexcept nogil:
    """Mean and variance of the mixture of the filters' forecasts: equation (58)."""
    cdef Bank bank = open_bank(step)
    cdef Py_ssize_t k
    cdef double mean = 0.0, var = 0.0, scale, spread, count = bank.row[N_SEEN]
    cdef const double* filter
    if bank.row[PHASE] == UNSCALED:
        # One value says nothing of the scale; several equal ones, that it is small beside their size.
        step.mean = 0.0 if count == 0.0 else bank.buffer[bank.n]
        step.var = LARGEST
        if count >= 2.0:
            scale = (fabs(step.mean) if step.mean != 0.0 else 1.0) / count
            step.var = saturate(scale * scale)
        return
    standardise(&bank, step.x, step.scale)
    forecast_filters(&bank)
    for k in range(bank.n_filters):
        mean += bank.weights[k] * bank.mean[k]
    for k in range(bank.n_filters):
        filter = bank.filters + k * bank.stride
        scale = bank.scale[k]
        spread = scale * scale * noise_var(bank.settings + k * N_SETTINGS, filter)
        var += bank.weights[k] * (bank.h[k] + spread + (bank.mean[k] - mean) * (bank.mean[k] - mean))
    step.mean = saturate(bank.row[Y_CENTER] + bank.row[Y_SCALE] * mean)
    step.var = saturate(bank.row[Y_SCALE] * (bank.row[Y_SCALE] * var))


cdef void absorb(Step* step, double y) noexcept nogil:
    cdef Bank bank = open_bank(step)
    cdef Py_ssize_t i
    cdef double deviation, score
    if bank.row[PHASE] == SETTLED or isnan(y):
        if bank.row[PHASE] != UNSCALED:
            for i in range(bank.n):     # a feature that was constant until now gets its scale from its first move
                if bank.x_scale[i] < 0.0:
                    bank.x_center[i], bank.x_scale[i] = step.scale * step.x[i], 0.0
                deviation = step.scale * step.x[i] - bank.x_center[i]
                if bank.x_scale[i] == 0.0 and moves(&bank, i, deviation):
                    bank.x_scale[i] = smaller(fabs(deviation), LARGEST)
            learn(&bank, y)
        return
    if bank.row[PHASE] == WARMING:
        learn(&bank, y)
    else:
        deviation = (y - step.mean) / sqrt(step.var)
        bank.row[LOG_SCORE] = larger(-HALF_LOG_2PI - 0.5 * (log(step.var) + deviation * deviation), -LARGEST)
        bank.row[N_SEEN] += 1.0
    remember(&bank, step, y)
    if is_milestone(<Py_ssize_t>bank.row[N_WARM], <Py_ssize_t>bank.constants[WARM_UP]):
        score = bank.row[LOG_SCORE]     # of the forecast that was made, not of the ones that learning anew makes
        start_over(&bank, bank.row[N_SEEN])
        bank.row[LOG_SCORE] = score


cdef void describe(Step* step, Component* out) noexcept nogil:
    """Write the forecast's components in the user's units, after `forecast`."""
    cdef Bank bank = open_bank(step)
    cdef Py_ssize_t k
    cdef const double* filter
    cdef double unit = bank.row[Y_SCALE]
    for k in range(bank.n_filters):
        filter = bank.filters + k * bank.stride
        if bank.row[PHASE] == UNSCALED:
            out[k] = Component(1.0 / bank.n_filters, step.mean, step.var, 0.0, 0.0, GAUSSIAN)
        else:
            out[k].weight = bank.weights[k]
            out[k].mean = saturate(bank.row[Y_CENTER] + unit * bank.mean[k])
            out[k].signal_var = saturate(unit * (unit * bank.h[k]))
            out[k].noise_scale = saturate(unit * bank.scale[k])
            out[k].family = <int64_t>bank.settings[k * N_SETTINGS + FAMILY]
            out[k].epsilon = filter[FILTER_EPSILON] if noise_of(out[k].family).has_epsilon else 0.0


cdef void weigh(Step* step, double* mean, double* var) noexcept nogil:
    """Write mean and variance of the features' weights under the mixture, in the user's units."""
    cdef Bank bank = open_bank(step)
    cdef Py_ssize_t k, i, at
    cdef const double* filter
    cdef double each, unit
    for i in range(bank.n):
        at = i + bank.intercept
        mean[i] = var[i] = 0.0
        for k in range(bank.n_filters):
            mean[i] += bank.weights[k] * bank.filters[k * bank.stride + N_SCALARS + at]
        for k in range(bank.n_filters):
            filter = bank.filters + k * bank.stride
            each = filter[N_SCALARS + at] - mean[i]
            var[i] += bank.weights[k] * (filter[N_SCALARS + bank.size + at * (at + 3) // 2] + each * each)
        unit = smaller(bank.row[Y_SCALE] / bank.x_scale[i], LARGEST_UNIT) if bank.x_scale[i] > 0.0 else 0.0
        mean[i] *= unit
        var[i] = var[i] * unit * unit if unit > 0.0 else LARGEST


cdef void weights(const Step* step, Py_ssize_t component, Linear* out) noexcept nogil:
    cdef Bank bank = open_bank(<Step*>step)
    cdef const double* filter = bank.filters + component * bank.stride
    cdef const double* setting = bank.settings + component * N_SETTINGS
    out.share = bank.weights[component]
    out.mean = filter + N_SCALARS + bank.intercept
    out.cov = filter + N_SCALARS + bank.size
    out.offset = bank.intercept
    out.drift_var = exp(setting[DRIFT_LOG] + 2.0 * filter[SLOW])                            # (52)
    out.drift_divisor = bank.anchor_var if setting[ANCHORED] != 0.0 else NULL               # (53)
    out.y_scale = bank.row[Y_SCALE] if bank.row[PHASE] != UNSCALED else 0.0
    out.x_scale = bank.x_scale


KERNEL = Kernel.of(forecast, absorb, weights, scale_up=False, learns_extra=True, describe=describe, weigh=weigh)
