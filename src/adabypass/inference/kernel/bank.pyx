"""AutoBypass: a bank of exact-evidence filters, in place on one row.

Inside, everything is in standard units: features and y less their centre, over their scale, both from the warm-up.
"""

from libc.math cimport exp, fabs, isnan
from libc.stdint cimport int64_t

from adabypass.model.component cimport Component
from adabypass.model.families cimport HEAVY, noise_of
from adabypass.model.special cimport smaller

from adabypass.inference.kernel.bank_state cimport (
    ANCHORED, Bank, DRIFT_LOG, FAMILY, LOG_SCORE, N_SEEN, N_SETTINGS, PHASE, SETTLED, UNSCALED, Y_CENTER, Y_SCALE,
    open_bank,
)
from adabypass.inference.kernel.filters cimport forecast_filters, moves, noise_var, standardise
from adabypass.inference.kernel.mixing cimport learn
from adabypass.inference.kernel.step cimport LARGEST, Kernel, Linear, Step, saturate
from adabypass.inference.kernel.warm_up cimport (
    is_milestone, remember, start_component, start_log_density, start_over,
)

from adabypass.model import limits

cdef double LARGEST_UNIT = limits.LARGEST_UNIT


cdef void _forecast_start(const Bank* bank, Step* step) noexcept nogil:
    """Mean and variance while all values are equal: equation (83); nan and infinite where nothing is known."""
    cdef Component part
    cdef Py_ssize_t k
    step.var = 0.0
    for k in range(bank.n_filters):
        start_component(bank, k, &part)
        step.var += part.weight * (part.signal_var + part.noise_scale * part.noise_scale * noise_of(HEAVY).normals_var)
    step.mean = part.mean
    if not isnan(part.mean):
        step.var = saturate(step.var)


cdef void forecast(Step* step) noexcept nogil:
    """Mean and variance of the mixture of the filters' forecasts: equation (58)."""
    cdef Bank bank = open_bank(step)
    cdef Py_ssize_t k
    cdef double mean = 0.0, var = 0.0, spread
    if bank.row[PHASE] == UNSCALED:
        _forecast_start(&bank, step)
        return
    standardise(&bank, step.x, step.scale)
    forecast_filters(&bank)
    for k in range(bank.n_filters):
        mean += bank.share[k] * bank.mean[k]
    for k in range(bank.n_filters):
        spread = bank.scale[k] * bank.scale[k] * noise_var(&bank, k)
        var += bank.share[k] * (bank.h[k] + spread + (bank.mean[k] - mean) * (bank.mean[k] - mean))
    step.mean = saturate(bank.row[Y_CENTER] + bank.row[Y_SCALE] * mean)
    step.var = saturate(bank.row[Y_SCALE] * (bank.row[Y_SCALE] * var))


cdef void _find_scales(Bank* bank, const Step* step) noexcept nogil:
    """Give a feature that was constant until now its scale, which is its first move; a new one its centre."""
    cdef Py_ssize_t i
    cdef double deviation
    for i in range(bank.n):
        if bank.x_scale[i] < 0.0:
            bank.x_center[i], bank.x_scale[i] = step.scale * step.x[i], 0.0
        deviation = step.scale * step.x[i] - bank.x_center[i]
        if bank.x_scale[i] == 0.0 and moves(bank, i, deviation):
            bank.x_scale[i] = smaller(fabs(deviation), LARGEST)


cdef void absorb(Step* step, double y) noexcept nogil:
    """Learn from y, after `forecast`; nan lets time pass."""
    cdef Bank bank = open_bank(step)
    if bank.row[PHASE] == UNSCALED:
        if isnan(y):
            return
        bank.row[LOG_SCORE] = start_log_density(&bank, y)
        bank.row[N_SEEN] += 1.0
    else:
        if bank.row[PHASE] == SETTLED or isnan(y):
            _find_scales(&bank, step)
        learn(&bank, y)
    if bank.row[PHASE] != SETTLED and not isnan(y):
        remember(&bank, step, y)
        if is_milestone(&bank):
            start_over(&bank)


cdef void describe(Step* step, Component* out) noexcept nogil:
    """Write the forecast's components in the user's units, after `forecast`."""
    cdef Bank bank = open_bank(step)
    cdef Py_ssize_t k
    cdef double unit = bank.row[Y_SCALE]
    for k in range(bank.n_filters):
        if bank.row[PHASE] == UNSCALED:
            start_component(&bank, k, &out[k])
            continue
        out[k].weight = bank.share[k]
        out[k].mean = saturate(bank.row[Y_CENTER] + unit * bank.mean[k])
        out[k].signal_var = saturate(unit * (unit * bank.h[k]))
        out[k].noise_scale = saturate(unit * bank.scale[k])
        out[k].family = <int64_t>bank.settings[k * N_SETTINGS + FAMILY]
        out[k].epsilon = bank.epsilon[k] if noise_of(out[k].family).has_epsilon else 0.0


cdef void weigh(Step* step, double* mean, double* var) noexcept nogil:
    """Write mean and variance of the features' weights under the mixture, in the user's units."""
    cdef Bank bank = open_bank(step)
    cdef Py_ssize_t k, i, at
    cdef double each, unit
    for i in range(bank.n):
        at = i + bank.intercept
        mean[i] = var[i] = 0.0
        for k in range(bank.n_filters):
            mean[i] += bank.share[k] * bank.m[k * bank.size + at]
        for k in range(bank.n_filters):
            each = bank.m[k * bank.size + at] - mean[i]
            var[i] += bank.share[k] * (bank.S[k * bank.n_packed + at * (at + 3) // 2] + each * each)
        unit = smaller(bank.row[Y_SCALE] / bank.x_scale[i], LARGEST_UNIT) if bank.x_scale[i] > 0.0 else 0.0
        mean[i] *= unit
        var[i] = var[i] * unit * unit if unit > 0.0 else LARGEST


cdef void weights(const Step* step, Py_ssize_t component, Linear* out) noexcept nogil:
    """Point at the weights of one filter."""
    cdef Bank bank = open_bank(<Step*>step)
    cdef const double* setting = bank.settings + component * N_SETTINGS
    out.share = bank.share[component]
    out.mean = bank.m + component * bank.size + bank.intercept
    out.cov = bank.S + component * bank.n_packed
    out.offset = bank.intercept
    out.drift_var = exp(setting[DRIFT_LOG] + 2.0 * bank.slow[component])                    # (52)
    out.drift_divisor = bank.anchor_var if setting[ANCHORED] != 0.0 else NULL               # (53)
    out.y_scale = bank.row[Y_SCALE] if bank.row[PHASE] != UNSCALED else 0.0
    out.x_scale = bank.x_scale


KERNEL = Kernel.of(forecast, absorb, weights, scale_up=False, learns_extra=True, describe=describe, weigh=weigh)
