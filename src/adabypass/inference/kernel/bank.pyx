"""AutoBypass: a bank of exact-evidence filters, in place on one row.

Inside, everything is in standard units: features and y less their centre, over their scale, both from the warm-up.
"""

from libc.math cimport exp, isnan, sqrt
from libc.stdint cimport int64_t

from adabypass.model.component cimport Component
from adabypass.model.families cimport GAUSSIAN, MODERATE, noise_of
from adabypass.model.special cimport smaller
from adabypass.simd.dispatch cimport KERNELS, MOST_FLEXIBLE

from adabypass.inference.kernel.bank_belief cimport believe
from adabypass.inference.kernel.bank_state cimport (
    ANCHORED, Bank, DRIFT_VAR, FAMILY, LANES, LOG_SCORE, N_SEEN, NOISE_VAR, PHASE, SEASON_STEP, SETTLED, SLOPES_DRIFT,
    UNSCALED, Y_CENTER, Y_SCALE, cov_at, mean_at, open_bank, setting,
)
from adabypass.inference.kernel.step cimport LARGEST, Kernel, Linear, Step, saturate
from adabypass.inference.kernel.units cimport find_scales, standardise
from adabypass.inference.kernel.warm_up cimport (
    is_milestone, remember, start_component, start_log_density, start_over,
)

from adabypass.model import limits

cdef double LARGEST_UNIT = limits.LARGEST_UNIT


cdef void _forecast_start(const Bank* bank, Step* step) noexcept nogil:
    """Mean and variance while all values are equal: equation (83); nan and infinite where nothing is known."""
    cdef Component part
    cdef double noise_var = noise_of(MODERATE).normals_var
    cdef Py_ssize_t k
    step.var = 0.0
    for k in range(bank.n_filters):
        start_component(bank, k, &part)
        step.var += part.weight * (part.signal_var + part.noise_scale * part.noise_scale * noise_var)
    step.mean = part.mean
    if not isnan(part.mean):
        step.var = saturate(step.var)


cdef void forecast(Step* step) noexcept nogil:
    """Mean and variance of the mixture of the filters' forecasts: equation (58)."""
    cdef Bank bank = open_bank(step)
    if bank.row[PHASE] == UNSCALED:
        _forecast_start(&bank, step)
        return
    standardise(&bank, step.x, step.scale)
    KERNELS.bank_forecast(&bank, &step.mean, &step.var)


cdef void absorb(Step* step, double y) noexcept nogil:
    """Learn from y, after `forecast`; nan lets time pass."""
    cdef Bank bank = open_bank(step)
    if bank.row[PHASE] == UNSCALED:
        if not isnan(y):
            bank.row[LOG_SCORE] = start_log_density(&bank, y)
            bank.row[N_SEEN] += 1.0
    else:
        if bank.row[PHASE] == SETTLED or isnan(y):
            find_scales(&bank, step.x, step.scale)
        KERNELS.bank_learn(&bank, y)
    if bank.row[PHASE] != SETTLED and not isnan(y):
        remember(&bank, step, y)
        if is_milestone(&bank):
            start_over(&bank)
    bank.row[SEASON_STEP] = bank.row[SEASON_STEP] + 1.0 if bank.row[SEASON_STEP] + 1.0 < bank.period else 0.0


cdef Component* _split(const Bank* bank, Component* out) noexcept nogil:
    """Put in place of a component of flexible noise its normals, in the user's units; return what comes after them.

    Before the scale of y is known the first of them stays what it is, and the others have no weight.
    """
    cdef Component whole = out[0]
    cdef double mean = 0.0
    cdef Py_ssize_t j
    for j in range(MOST_FLEXIBLE):
        mean += bank.normal_share[j] * bank.flexible.center[j]
    for j in range(MOST_FLEXIBLE):
        out[j] = whole
        if bank.row[PHASE] == UNSCALED:
            out[j].weight *= j == 0
            continue
        out[j].weight *= bank.normal_share[j]
        out[j].mean = saturate(whole.mean + whole.noise_scale * (bank.flexible.center[j] - mean))       # (107)
        out[j].noise_scale = saturate(whole.noise_scale * sqrt(bank.flexible.sq[j]))
        out[j].family = GAUSSIAN
    return out + MOST_FLEXIBLE


cdef void describe(Step* step, Component* out) noexcept nogil:
    """Write the forecast's components in the user's units, after `forecast`."""
    cdef Bank bank = open_bank(step)
    cdef Py_ssize_t k, n_filters = bank.n_filters
    cdef double center = bank.row[Y_CENTER], unit = bank.row[Y_SCALE]
    cdef const double* family = setting(&bank, FAMILY)
    cdef const double* noise_var = setting(&bank, NOISE_VAR)        # 0 if it depends on epsilon
    cdef const double* mean = bank.mean
    cdef const double* signal_var = bank.h
    cdef const double* scale = bank.scale
    cdef const double* share = bank.share
    cdef const double* epsilon = bank.epsilon
    for k in range(n_filters):
        if bank.row[PHASE] == UNSCALED:
            start_component(&bank, k, out)
        else:
            out.weight = share[k]
            out.mean = saturate(center + unit * mean[k])
            out.signal_var = saturate(unit * (unit * signal_var[k]))
            out.noise_scale = saturate(unit * scale[k])
            out.epsilon = epsilon[k] if noise_var[k] == 0.0 else 0.0
            out.family = <int64_t>family[k]
        out = _split(&bank, out) if k < bank.n_flexible else out + 1


cdef void weigh(Step* step, double* mean, double* var) noexcept nogil:
    """Write mean and variance of the features' weights under the mixture, in the user's units."""
    cdef Bank bank = open_bank(step)
    cdef Py_ssize_t k, i, at
    cdef double each, unit
    for i in range(bank.n):
        at = i + bank.intercept
        mean[i] = var[i] = 0.0
        for k in range(bank.n_filters):
            mean[i] += bank.share[k] * bank.m[mean_at(&bank, k, at)]
        for k in range(bank.n_filters):
            each = bank.m[mean_at(&bank, k, at)] - mean[i]
            var[i] += bank.share[k] * (bank.S[cov_at(&bank, k, at * (at + 3) // 2)] + each * each)
        unit = smaller(bank.row[Y_SCALE] / bank.x_scale[i], LARGEST_UNIT) if bank.x_scale[i] > 0.0 else 0.0
        mean[i] *= unit
        var[i] = var[i] * unit * unit if unit > 0.0 else LARGEST


cdef void weights(const Step* step, Linear* out) noexcept nogil:
    """Point at the weights of every filter."""
    cdef Bank bank = open_bank(<Step*>step)
    cdef Py_ssize_t k
    for k in range(bank.n_filters):
        out[k].share = bank.share[k]
        out[k].mean = bank.m + mean_at(&bank, k, bank.intercept)
        out[k].cov = bank.S + cov_at(&bank, k, 0)
        out[k].stride = LANES
        out[k].offset = bank.intercept
        out[k].drift_var = setting(&bank, DRIFT_VAR)[k] * exp(2.0 * bank.slow[k])           # (52), after any jump
        out[k].drift_var *= setting(&bank, SLOPES_DRIFT)[k]
        out[k].drift_divisor = bank.anchor_var if setting(&bank, ANCHORED)[k] != 0.0 else NULL      # (53)
        out[k].y_scale = bank.row[Y_SCALE] if bank.row[PHASE] != UNSCALED else 0.0
        out[k].x_scale = bank.x_scale


KERNEL = Kernel.of(
    forecast, absorb, weights, believe, scale_up=False, learns_extra=True, describe=describe, weigh=weigh
)
