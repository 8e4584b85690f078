"""What the filters of the bank learn together: their weights, the anchor, shocks: equations (51) and (57)-(60)."""

from libc.math cimport exp, fabs, isnan, log, sqrt
from libc.string cimport memcpy

from adabypass.model.special cimport larger, smaller

from adabypass.inference.kernel.bank_state cimport (
    ANCHOR_RATE, Bank, DISTANCE_AFTER_SHOCKS, DRIFT, DRIFT_INDEX, DRIFT_LOG, DRIFT_SHARE_0, EPSILON, FAILURE_MARGIN,
    HYPER_SWITCHING_RATE, LAST_Y, LOG_SCORE, MAX_FAILURES, MAX_SHOCKS, NOISE_SCALE, N_REPEATS, N_SEEN,
    N_SETTINGS, PRIOR_SHARE, SHOCKS, SHOCK_DECAY, SHOCK_DISTANCE, SMALLEST_ANCHOR_VAR, Y_CENTER, Y_SCALE,
)
from adabypass.inference.kernel.filters cimport absorb_filters, filter_noise, noise_var
from adabypass.inference.kernel.step cimport saturate

from adabypass.model import limits

cdef double LARGEST_D = limits.LARGEST_DISTANCE
cdef double LARGEST_LOG = limits.LARGEST_LOG_SCALE


cdef Py_ssize_t _best(const Bank* bank) noexcept nogil:
    """np.argmax(share)"""
    cdef Py_ssize_t k, best = 0
    for k in range(1, bank.n_filters):
        if bank.share[k] > bank.share[best]:
            best = k
    return best


cdef void _reweigh(Bank* bank) noexcept nogil:
    """Move the filters' shares to those that foresaw y, then a little to all of them: equations (57) and (58)."""
    cdef Py_ssize_t k, s, K = bank.n_filters
    cdef double top = bank.log_density[0], total = 0.0, rate, subtotal
    cdef double* rated
    for k in range(1, K):
        top = larger(top, bank.log_density[k])
    for k in range(K):
        bank.log_density[k] = exp(bank.log_density[k] - top)        # from here on the density, over the largest
        total += bank.share[k] * bank.log_density[k]
        bank.share[k] = 0.0
    bank.row[LOG_SCORE] = top + log(total) - log(bank.row[Y_SCALE])
    for s in range(bank.n_rates):
        rated, rate, subtotal = bank.rated_share + s * K, bank.switching_rates[s], 0.0
        for k in range(K):
            rated[k] *= bank.log_density[k]
            subtotal += rated[k]
        for k in range(K):                                                                  # (57)
            rated[k] = (1.0 - rate) * rated[k] / subtotal + rate * bank.settings[k * N_SETTINGS + PRIOR_SHARE]
        bank.rate_share[s] *= subtotal / total                                              # (58)
        bank.rate_share[s] += bank.constants[HYPER_SWITCHING_RATE] * (1.0 / bank.n_rates - bank.rate_share[s])
        for k in range(K):
            bank.share[k] += bank.rate_share[s] * rated[k]


cdef void _restart_failing(Bank* bank) noexcept nogil:
    """Let filters that keep failing go on from the weights of the best: equation (59)."""
    cdef Py_ssize_t k, s, best = _best(bank)
    cdef double rate = 0.0
    for s in range(bank.n_rates):
        rate += bank.rate_share[s] * bank.switching_rates[s]
    for k in range(bank.n_filters):
        if (
            k == best
            or bank.share[k] > bank.constants[FAILURE_MARGIN] * rate * bank.settings[k * N_SETTINGS + PRIOR_SHARE]
        ):
            bank.failures[k] = larger(bank.failures[k] - 1.0, 0.0)
            continue
        bank.failures[k] += 1.0
        if bank.failures[k] >= bank.constants[MAX_FAILURES]:
            bank.failures[k] = 0.0
            memcpy(bank.m + k * bank.size, bank.m + best * bank.size, bank.size * sizeof(double))
            memcpy(bank.S + k * bank.n_packed, bank.S + best * bank.n_packed, bank.n_packed * sizeof(double))


cdef void _summarise(Bank* bank) noexcept nogil:
    """Write into the row's head what the bank has learned, in the user's units."""
    cdef Py_ssize_t k, index
    cdef const double* setting
    cdef double scale_log = 0.0, epsilon = 0.0, insensitive_share = 0.0, drift_log = 0.0
    for index in range(bank.n_drifts):
        bank.row[DRIFT_SHARE_0 + index] = 0.0
    for k in range(bank.n_filters):
        setting = bank.settings + k * N_SETTINGS
        scale_log += bank.share[k] * (bank.slow[k] + bank.fast[k] + 0.5 * log(noise_var(bank, k)))
        drift_log += bank.share[k] * setting[DRIFT_LOG]
        bank.row[DRIFT_SHARE_0 + <Py_ssize_t>setting[DRIFT_INDEX]] += bank.share[k]
        if filter_noise(bank, k).has_epsilon:
            epsilon += bank.share[k] * bank.epsilon[k]
            insensitive_share += bank.share[k]
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
        bank.anchor_var[i] = larger(bank.anchor_var[i], bank.constants[SMALLEST_ANCHOR_VAR])


cdef void _widen_after_shocks(Bank* bank, double y) noexcept nogil:
    """If observations keep being out of all proportion, widen every filter's noise to what is seen: equation (60)."""
    cdef Py_ssize_t k, best = _best(bank)
    cdef double var = bank.scale[best] * bank.scale[best], distance
    var *= noise_var(bank, best)
    distance = fabs(y - bank.mean[best]) / sqrt(bank.h[best] + var)
    if distance < bank.constants[SHOCK_DISTANCE]:
        bank.row[SHOCKS] = larger(bank.row[SHOCKS] - bank.constants[SHOCK_DECAY], 0.0)
        return
    bank.row[SHOCKS] += 1.0
    if bank.row[SHOCKS] < bank.constants[MAX_SHOCKS]:
        return
    bank.row[SHOCKS] = 0.0
    for k in range(bank.n_filters):
        bank.slow[k] = smaller(bank.slow[k] + log(distance / bank.constants[DISTANCE_AFTER_SHOCKS]), LARGEST_LOG)
        bank.fast[k] = 0.0


cdef void learn(Bank* bank, double y) noexcept nogil:
    """Learn from one observation, in the user's units, after `standardise` and `forecast_filters`."""
    cdef double standard = y
    if isnan(y):
        absorb_filters(bank, y, y)
        return
    bank.row[N_REPEATS] = bank.row[N_REPEATS] + 1.0 if y == bank.row[LAST_Y] else 1.0
    standard = smaller(larger((y - bank.row[Y_CENTER]) / bank.row[Y_SCALE], -LARGEST_D), LARGEST_D)
    absorb_filters(bank, standard, y)
    _widen_after_shocks(bank, standard)
    _reweigh(bank)
    _restart_failing(bank)
    bank.row[LAST_Y] = y
    bank.row[N_SEEN] += 1.0
    _move_anchor(bank)
    _summarise(bank)
