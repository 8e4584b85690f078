"""What the filters of the bank learn together: their weights, the anchor, shocks: equations (51) and (57)-(60)."""

from libc.math cimport exp, fabs, isnan, log, sqrt
from libc.string cimport memcpy

from adabypass.model.special cimport larger, smaller

from adabypass.inference.kernel.bank_state cimport (
    ANCHOR_RATE, Bank, DRIFT, DRIFT_LEVEL, DRIFT_LOG, DRIFT_SHARES, EPSILON, FAILURES, FAST, FILTER_EPSILON,
    LOG_SCORE, NOISE_SCALE, N_SCALARS, N_SEEN, N_SETTINGS, PATIENCE, PRIOR_WEIGHT, RESPAWN, SHARES, SHARE_SHARE,
    SHOCKS, SLOW, Y_CENTER, Y_SCALE,
)
from adabypass.inference.kernel.filters cimport absorb_filters, filter_noise, noise_var
from adabypass.inference.kernel.step cimport saturate

from adabypass.model import limits

cdef double LARGEST_D = limits.LARGEST_DISTANCE
cdef double LARGEST_LOG = limits.LARGEST_LOG_SCALE
cdef double SMALLEST_ANCHOR_VAR = limits.SMALLEST_ANCHOR_VAR
cdef double SHOCK, SHOCK_DECAY, SHOCK_REST, PATIENT_SHOCKS
SHOCK, SHOCK_DECAY, SHOCK_REST, PATIENT_SHOCKS = limits.SHOCK


cdef void _reweigh(Bank* bank) noexcept nogil:
    """Move the mixture's weights to the filters that foresaw y, then share a little: equations (57) and (58)."""
    cdef Py_ssize_t k, s, K = bank.n_filters
    cdef double top = bank.log_density[0], total = 0.0, share, subtotal
    cdef double* rated
    for k in range(1, K):
        top = larger(top, bank.log_density[k])
    for k in range(K):
        bank.log_density[k] = exp(bank.log_density[k] - top)        # from here on the density, over the largest
        total += bank.weights[k] * bank.log_density[k]
        bank.weights[k] = 0.0
    bank.row[LOG_SCORE] = top + log(total) - log(bank.row[Y_SCALE])
    for s in range(bank.n_shares):
        rated, share, subtotal = bank.rated + s * K, bank.constants[SHARES + s], 0.0
        for k in range(K):
            rated[k] *= bank.log_density[k]
            subtotal += rated[k]
        for k in range(K):
            rated[k] = (1.0 - share) * rated[k] / subtotal + share * bank.settings[k * N_SETTINGS + PRIOR_WEIGHT]
        bank.rate_weights[s] *= subtotal / total
        bank.rate_weights[s] += bank.constants[SHARE_SHARE] * (1.0 / bank.n_shares - bank.rate_weights[s])
        for k in range(K):
            bank.weights[k] += bank.rate_weights[s] * rated[k]


cdef void _respawn(Bank* bank) noexcept nogil:
    """Let filters that have just failed go on from the belief of the best: equation (59)."""
    cdef Py_ssize_t k, s, best = 0
    cdef double share = 0.0
    cdef const double* prior
    cdef double* failures
    for s in range(bank.n_shares):
        share += bank.rate_weights[s] * bank.constants[SHARES + s]
    for k in range(1, bank.n_filters):
        if bank.weights[k] > bank.weights[best]:
            best = k
    for k in range(bank.n_filters):
        prior = bank.settings + k * N_SETTINGS + PRIOR_WEIGHT
        failures = bank.filters + k * bank.stride + FAILURES
        if k == best or bank.weights[k] > bank.constants[RESPAWN] * share * prior[0]:
            failures[0] = larger(failures[0] - 1.0, 0.0)
            continue
        failures[0] += 1.0
        if failures[0] >= bank.constants[PATIENCE]:
            failures[0] = 0.0
            memcpy(
                bank.filters + k * bank.stride + N_SCALARS, bank.filters + best * bank.stride + N_SCALARS,
                (bank.stride - N_SCALARS) * sizeof(double),
            )


cdef void _summarise(Bank* bank) noexcept nogil:
    """Say in the row's head what the bank has learned, in the user's units."""
    cdef Py_ssize_t k, level
    cdef const double* setting
    cdef double* filter
    cdef double scale_log = 0.0, epsilon = 0.0, insensitive_share = 0.0, drift_log = 0.0
    for level in range(bank.n_drifts):
        bank.row[DRIFT_SHARES + level] = 0.0
    for k in range(bank.n_filters):
        setting, filter = bank.settings + k * N_SETTINGS, bank.filters + k * bank.stride
        scale_log += bank.weights[k] * (filter[SLOW] + filter[FAST] + 0.5 * log(noise_var(setting, filter)))
        drift_log += bank.weights[k] * setting[DRIFT_LOG]
        bank.row[DRIFT_SHARES + <Py_ssize_t>setting[DRIFT_LEVEL]] += bank.weights[k]
        if filter_noise(setting).has_epsilon:
            epsilon += bank.weights[k] * filter[FILTER_EPSILON]
            insensitive_share += bank.weights[k]
    bank.row[NOISE_SCALE] = saturate(bank.row[Y_SCALE] * exp(scale_log))
    bank.row[EPSILON] = epsilon / insensitive_share
    bank.row[DRIFT] = exp(drift_log)


cdef void _move_anchor(Bank* bank) noexcept nogil:
    """Follow the features' running mean and variance: equation (51)."""
    cdef double rate = larger(bank.constants[ANCHOR_RATE], 1.0 / (bank.row[N_SEEN] + 2.0)), deviation
    cdef const double* z = bank.z + bank.intercept
    cdef Py_ssize_t i
    for i in range(bank.n):
        if bank.x_scale[i] <= 0.0:
            continue
        if bank.intercept:
            deviation = z[i] - bank.anchor_center[i]
            bank.anchor_center[i] += rate * deviation
            bank.anchor_var[i] = (1.0 - rate) * (bank.anchor_var[i] + rate * deviation * deviation)
        else:
            bank.anchor_var[i] += rate * (z[i] * z[i] - bank.anchor_var[i])
        bank.anchor_var[i] = larger(bank.anchor_var[i], SMALLEST_ANCHOR_VAR)


cdef void _widen_after_shocks(Bank* bank, double y) noexcept nogil:
    """If observations keep being out of all proportion, widen every filter's noise to what is seen: equation (60)."""
    cdef Py_ssize_t k, best = 0
    cdef double var, distance
    cdef double* filter
    for k in range(1, bank.n_filters):
        if bank.weights[k] > bank.weights[best]:
            best = k
    var = bank.scale[best] * bank.scale[best]
    var *= noise_var(bank.settings + best * N_SETTINGS, bank.filters + best * bank.stride)
    distance = fabs(y - bank.mean[best]) / sqrt(bank.h[best] + var)
    if distance < SHOCK:
        bank.row[SHOCKS] = larger(bank.row[SHOCKS] - SHOCK_DECAY, 0.0)
        return
    bank.row[SHOCKS] += 1.0
    if bank.row[SHOCKS] < PATIENT_SHOCKS:
        return
    bank.row[SHOCKS] = 0.0
    for k in range(bank.n_filters):
        filter = bank.filters + k * bank.stride
        filter[SLOW] = smaller(filter[SLOW] + log(distance / SHOCK_REST), LARGEST_LOG)
        filter[FAST] = 0.0


cdef void learn(Bank* bank, double y) noexcept nogil:
    """One observation, in the user's units, after `standardise` and `forecast_filters`."""
    cdef double standard = y if isnan(y) else (y - bank.row[Y_CENTER]) / bank.row[Y_SCALE]
    if not isnan(y):
        standard = smaller(larger(standard, -LARGEST_D), LARGEST_D)
    absorb_filters(bank, standard)
    if not isnan(y):
        _widen_after_shocks(bank, standard)
        _reweigh(bank)
        _respawn(bank)
        bank.row[N_SEEN] += 1.0
        _move_anchor(bank)
        _summarise(bank)
