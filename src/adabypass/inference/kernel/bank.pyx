"""AutoBypass: a bank of exact-evidence filters, in place on one row: equations (49)-(58).

Inside, everything is in standard units: features and y less their centre, over their scale, both from the warm-up. The
layout of the row and of the constants is that of `AutoBypassSpec`.
"""

from libc.math cimport M_PI, copysign, exp, fabs, isnan, log, sqrt
from libc.string cimport memcpy, memmove

from adabypass.model.special cimport larger, smaller

from adabypass.inference.kernel.evidence cimport Evidence, gaussian, heavy, insensitive, move
from adabypass.inference.kernel.linalg cimport dot, symv
from adabypass.inference.kernel.step cimport LARGEST, Kernel, Step, saturate

from adabypass.model import limits, noise

cdef enum:      # the row's head; shares of the drift rates follow
    N_SEEN = 0
    N_WARM = 1          # observations in the warm-up's buffer
    PHASE = 2
    Y_CENTER = 3
    Y_SCALE = 4
    SHOCKS = 5          # how often of late an observation was out of all proportion
    LOG_SCORE = 6       # of the newest observation, before it was seen
    NOISE_SCALE = 7     # standard deviation of the noise: comparable among families
    EPSILON = 8
    DRIFT = 9
    DRIFT_SHARES = 10

cdef enum:
    MOST_WARM_UP = 64

cdef enum:      # PHASE
    UNSCALED = 0        # fewer than two different values of y have been seen
    WARMING = 1         # scales are known, but not yet final
    SETTLED = 2

cdef enum:      # the constants; the filters' settings follow
    N_FILTERS = 0
    N_DRIFTS = 1
    WARM_UP = 2
    INTERCEPT = 3
    N_SHARES = 4
    SHARE_SHARE = 5     # how much the mixture's switching rates share among themselves
    PRIOR_VAR = 6
    ANCHOR_RATE = 7
    EPSILON_START = 8
    EPSILON_RATE = 9
    SLOPE_RATE = 10
    RESPAWN = 11
    PATIENCE = 12
    CAUTION = 13
    SHARES = 14         # the switching rates, then the filters' settings

cdef enum:      # a filter's settings
    FAMILY = 0          # of the noise: 0 for insensitive
    DRIFT_LEVEL = 1     # index of its drift rate
    DRIFT_LOG = 2       # log of q, in units of the noise's scale squared
    SLOW_RATE = 3
    FAST_RATE = 4
    FAST_DECAY = 5
    ANCHORED = 6
    PRIOR_WEIGHT = 7
    N_SETTINGS = 8

cdef enum:      # a filter; its mean and covariance follow
    SLOW = 0            # log of the noise's scale is SLOW + FAST
    FAST = 1
    FILTER_EPSILON = 2
    SCALE_SLOPE_SQ = 3
    EPSILON_SLOPE_SQ = 4
    FAILURES = 5        # how often it has failed of late
    N_SCALARS = 6

cdef enum:      # a component of the forecast, for Python
    N_COMPONENT = 5     # weight, mean, variance of x'w, noise scale, epsilon (below 0: another family)

cdef double HEAVY = noise.HEAVY
cdef double HEAVY_VAR = noise.HEAVY_VAR
cdef double[3] START_LOG = [log(limits.START_SCALE[-family]) for family in range(3)]
cdef double HALF_LOG_2PI = 0.5 * log(2.0 * M_PI)
cdef double LARGEST_D = limits.LARGEST_DISTANCE
cdef double LARGE_FEATURE = limits.LARGE_FEATURE
cdef double LARGEST_UNIT = limits.LARGEST_UNIT
cdef double SMALLEST_V = limits.SMALLEST_SIGNAL
cdef double LARGEST_LOG = limits.LARGEST_LOG_SCALE
cdef double SMALLEST_EPSILON, LARGEST_EPSILON
SMALLEST_EPSILON, LARGEST_EPSILON = limits.EPSILON_RANGE
cdef double CONSTANT = limits.CONSTANT
cdef double SMALLEST_ANCHOR_VAR = limits.SMALLEST_ANCHOR_VAR
cdef double LARGEST_SLOPE = limits.LARGEST_SLOPE
cdef double SHOCK, SHOCK_DECAY, SHOCK_REST, PATIENT_SHOCKS
SHOCK, SHOCK_DECAY, SHOCK_REST, PATIENT_SHOCKS = limits.SHOCK

ctypedef struct Bank:       # where everything is
    Py_ssize_t n            # features
    Py_ssize_t size         # weights of a filter
    Py_ssize_t n_filters
    Py_ssize_t n_drifts
    Py_ssize_t n_shares
    Py_ssize_t stride       # numbers of a filter
    bint intercept
    const double* constants
    const double* settings
    double* row
    double* x_center
    double* x_scale
    double* anchor_center
    double* anchor_var
    double* weights         # of the filters in the mixture
    double* rate_weights    # of the switching rates
    double* rated           # weights of the filters under each switching rate
    double* filters
    double* buffer
    double* z               # scratch: features in standard units, after the intercept's 1
    double* p               # scratch: P @ z, filter after filter
    double* h               # scratch: z @ P @ z
    double* mean            # scratch: z @ m
    double* log_density     # scratch
    double* scale           # scratch: noise scale
    double* drift_var       # scratch
    const double* extra     # variance of x'w because x is not known exactly, in the user's units; or NULL


cdef inline Bank _open(Step* step) noexcept nogil:
    cdef Bank bank
    cdef Py_ssize_t n = step.n, K
    bank.constants = step.constants
    bank.n_shares = <Py_ssize_t>step.constants[N_SHARES]
    bank.settings = step.constants + SHARES + bank.n_shares
    bank.row = step.row
    bank.n = n
    bank.intercept = step.constants[INTERCEPT] != 0.0
    bank.size = n + bank.intercept
    bank.n_filters = K = <Py_ssize_t>step.constants[N_FILTERS]
    bank.n_drifts = <Py_ssize_t>step.constants[N_DRIFTS]
    bank.stride = N_SCALARS + bank.size + bank.size * (bank.size + 1) // 2
    bank.x_center = step.row + DRIFT_SHARES + bank.n_drifts
    bank.x_scale = bank.x_center + n
    bank.anchor_center = bank.x_scale + n
    bank.anchor_var = bank.anchor_center + n
    bank.weights = bank.anchor_var + n
    bank.rate_weights = bank.weights + K
    bank.rated = bank.rate_weights + bank.n_shares
    bank.filters = bank.rated + bank.n_shares * K
    bank.buffer = bank.filters + K * bank.stride
    bank.z = step.scratch
    bank.h = bank.z + bank.size
    bank.mean = bank.h + K
    bank.log_density = bank.mean + K
    bank.scale = bank.log_density + K
    bank.drift_var = bank.scale + K
    bank.p = bank.drift_var + K
    bank.extra = step.extra
    return bank


cdef void _standardise(Bank* bank, const double* x, double scale) noexcept nogil:
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
        elif bank.x_scale[i] == 0.0 and _moves(bank, i, deviation):
            z[i] = copysign(1.0, deviation)     # constant so far: this move is its unit
        else:
            z[i] = 0.0


cdef inline bint _moves(const Bank* bank, Py_ssize_t i, double deviation) noexcept nogil:
    return fabs(deviation) > CONSTANT * fabs(bank.x_center[i])


cdef void _forecast_filters(Bank* bank) noexcept nogil:
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
    if setting[FAMILY] == 0.0:
        slope = _normalised(seen.epsilon_slope, &filter[EPSILON_SLOPE_SQ], rate)
        filter[FILTER_EPSILON] *= exp(bank.constants[EPSILON_RATE] * slope)                 # (56)
        filter[FILTER_EPSILON] = smaller(larger(filter[FILTER_EPSILON], SMALLEST_EPSILON), LARGEST_EPSILON)


cdef void _absorb_filters(Bank* bank, double y) noexcept nogil:
    """Let every filter learn from y, in standard units."""
    cdef Py_ssize_t k, J = bank.size
    cdef const double* setting
    cdef double* filter
    cdef double scale, d, v
    cdef Evidence seen
    for k in range(bank.n_filters):
        setting, filter = bank.settings + k * N_SETTINGS, bank.filters + k * bank.stride
        _let_drift(bank, setting, filter, bank.drift_var[k])
        if isnan(y):
            filter[FAST] *= setting[FAST_DECAY]
            continue
        scale = bank.scale[k]
        d = smaller(larger((y - bank.mean[k]) / scale, -LARGEST_D), LARGEST_D)
        v = smaller(larger(bank.h[k] / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
        if setting[FAMILY] == 0.0:
            seen = insensitive(d, v, filter[FILTER_EPSILON])
        else:
            seen = heavy(d, v) if setting[FAMILY] == HEAVY else gaussian(d, v)
        bank.log_density[k] = seen.log_density - filter[SLOW] - filter[FAST]
        if bank.h[k] > SMALLEST_V:
            move(
                J, filter + N_SCALARS, filter + N_SCALARS + J, bank.p + k * J, bank.z, bank.h[k], scale, &seen, v, 1.0
            )
        _learn_noise(bank, setting, filter, &seen)


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


cdef inline double _noise_var(const double* setting, const double* filter) noexcept nogil:
    """Variance of a filter's noise, in units of its scale: equation (5) for the insensitive one."""
    cdef double epsilon = filter[FILTER_EPSILON]
    if setting[FAMILY] != 0.0:
        return HEAVY_VAR if setting[FAMILY] == HEAVY else 1.0
    return (epsilon * (epsilon * (epsilon / 3.0 + 1.0) + 2.0) + 2.0) / (1.0 + epsilon)


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
        scale_log += bank.weights[k] * (filter[SLOW] + filter[FAST] + 0.5 * log(_noise_var(setting, filter)))
        drift_log += bank.weights[k] * setting[DRIFT_LOG]
        bank.row[DRIFT_SHARES + <Py_ssize_t>setting[DRIFT_LEVEL]] += bank.weights[k]
        if setting[FAMILY] == 0.0:
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


cdef void _brace(Bank* bank, double y) noexcept nogil:
    """If observations keep being out of all proportion, widen every filter's noise to what is seen: equation (60)."""
    cdef Py_ssize_t k, best = 0
    cdef double var, distance
    cdef double* filter
    for k in range(1, bank.n_filters):
        if bank.weights[k] > bank.weights[best]:
            best = k
    var = bank.scale[best] * bank.scale[best]
    var *= _noise_var(bank.settings + best * N_SETTINGS, bank.filters + best * bank.stride)
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


cdef void _learn(Bank* bank, double y) noexcept nogil:
    """One observation, in the user's units, after `_standardise` and `_forecast_filters`."""
    cdef double standard = y if isnan(y) else (y - bank.row[Y_CENTER]) / bank.row[Y_SCALE]
    if not isnan(y):
        standard = smaller(larger(standard, -LARGEST_D), LARGEST_D)
    _absorb_filters(bank, standard)
    if not isnan(y):
        _brace(bank, standard)
        _reweigh(bank)
        _respawn(bank)
        bank.row[N_SEEN] += 1.0
        _move_anchor(bank)
        _summarise(bank)


cdef void _center_and_scale(
    const double* first, Py_ssize_t count, Py_ssize_t stride, bint centred, double* center, double* scale
) noexcept nogil:
    """Median, and the lesser of root mean square deviation and interquartile range, of every `stride`-th number: (49).

    The scale is 0 if the numbers do not differ.
    """
    cdef double[MOST_WARM_UP] values
    cdef Py_ssize_t t, at
    cdef double largest = 0.0, median, square = 0.0, deviation, quartiles
    for t in range(count):
        largest = larger(largest, fabs(first[t * stride]))
    center[0] = scale[0] = 0.0
    if largest == 0.0:
        return
    for t in range(count):      # sorted, in units of the largest
        at = t
        while at > 0 and values[at - 1] > first[t * stride] / largest:
            values[at] = values[at - 1]
            at -= 1
        values[at] = first[t * stride] / largest
    median = 0.5 * (values[(count - 1) // 2] + values[count // 2]) if centred else 0.0
    for t in range(count):
        deviation = values[t] - median
        square += deviation * deviation / count
    quartiles = values[count - 1 - (count - 1) // 4] - values[(count - 1) // 4]
    deviation = sqrt(square)
    if quartiles > CONSTANT and centred:
        deviation = smaller(deviation, quartiles)
    center[0] = median * largest
    scale[0] = smaller(larger(deviation * largest, 1.0 / LARGEST), LARGEST) if deviation > CONSTANT else 0.0


cdef void _start_over(Bank* bank, double n_seen) noexcept nogil:
    """Set scales from the warm-up's observations, forget the rest, and learn from them anew: equation (50)."""
    cdef Py_ssize_t t, k, i, J = bank.size, count = <Py_ssize_t>bank.row[N_WARM], width = bank.n + 1
    cdef double* filter
    cdef double* S
    _center_and_scale(bank.buffer + bank.n, count, width, bank.intercept, &bank.row[Y_CENTER], &bank.row[Y_SCALE])
    bank.row[N_SEEN] = n_seen
    if bank.row[Y_SCALE] == 0.0 or count < 2:
        bank.row[PHASE] = UNSCALED
        return
    bank.row[PHASE] = WARMING if count < bank.constants[WARM_UP] else SETTLED
    bank.row[N_SEEN] = bank.row[SHOCKS] = 0.0
    for i in range(bank.n):
        _center_and_scale(bank.buffer + i, count, width, bank.intercept, &bank.x_center[i], &bank.x_scale[i])
        bank.anchor_center[i] = 0.0
        bank.anchor_var[i] = 1.0
    for k in range(bank.n_filters):
        filter = bank.filters + k * bank.stride
        bank.weights[k] = bank.settings[k * N_SETTINGS + PRIOR_WEIGHT]
        for i in range(bank.n_shares):
            bank.rated[i * bank.n_filters + k] = bank.weights[k]
            bank.rate_weights[i] = 1.0 / bank.n_shares
        filter[SLOW] = START_LOG[<Py_ssize_t>-bank.settings[k * N_SETTINGS + FAMILY]]
        if bank.row[PHASE] == WARMING:      # few observations know little of their own scale
            filter[SLOW] += log(1.0 + bank.constants[CAUTION] / count)
        filter[FAST] = 0.0
        filter[FILTER_EPSILON] = bank.constants[EPSILON_START]
        filter[SCALE_SLOPE_SQ] = 0.5
        filter[EPSILON_SLOPE_SQ] = 0.05
        filter[FAILURES] = 0.0
        S = filter + N_SCALARS + J
        for i in range(J + J * (J + 1) // 2):
            filter[N_SCALARS + i] = 0.0
        for i in range(J):
            S[i * (i + 1) // 2 + i] = bank.constants[PRIOR_VAR]
    bank.extra = NULL       # the warm-up's features are taken as they were
    for t in range(count):
        _standardise(bank, bank.buffer + t * width, 1.0)
        _forecast_filters(bank)
        _learn(bank, bank.buffer[t * width + bank.n])
    bank.row[N_SEEN] = n_seen


cdef inline bint _is_milestone(Py_ssize_t count, Py_ssize_t warm_up) noexcept nogil:
    """Whether to set the scales anew: often at first, when an observation changes them most."""
    return count >= warm_up or count in (2, 3, 4, 6, 8, 11, 15)


cdef void _remember(Bank* bank, Step* step, double y) noexcept nogil:
    """Keep an observation of the warm-up, the oldest making room if there is none."""
    cdef Py_ssize_t i, width = bank.n + 1, warm_up = <Py_ssize_t>bank.constants[WARM_UP]
    cdef double* slot
    if bank.row[PHASE] == UNSCALED and bank.row[N_WARM] > 1.0 and y != bank.buffer[bank.n]:
        bank.row[N_WARM] = 1.0          # a long constant start says nothing of what begins now
    if bank.row[N_WARM] >= warm_up:
        memmove(bank.buffer, bank.buffer + width, (warm_up - 1) * width * sizeof(double))
        bank.row[N_WARM] -= 1.0
    slot = bank.buffer + <Py_ssize_t>bank.row[N_WARM] * width
    for i in range(bank.n):
        slot[i] = step.scale * step.x[i]
    slot[bank.n] = y
    bank.row[N_WARM] += 1.0


cdef void forecast(Step* step) noexcept nogil:
    """Mean and variance of the mixture of the filters' forecasts: equation (58)."""
    cdef Bank bank = _open(step)
    cdef Py_ssize_t k
    cdef double mean = 0.0, var = 0.0, scale, noise_var, count = bank.row[N_SEEN]
    cdef const double* filter
    if bank.row[PHASE] == UNSCALED:
        # One value says nothing of the scale; several equal ones, that it is small beside their size.
        step.mean = 0.0 if count == 0.0 else bank.buffer[bank.n]
        step.var = LARGEST
        if count >= 2.0:
            scale = (fabs(step.mean) if step.mean != 0.0 else 1.0) / count
            step.var = saturate(scale * scale)
        return
    _standardise(&bank, step.x, step.scale)
    _forecast_filters(&bank)
    for k in range(bank.n_filters):
        mean += bank.weights[k] * bank.mean[k]
    for k in range(bank.n_filters):
        filter = bank.filters + k * bank.stride
        scale = bank.scale[k]
        noise_var = scale * scale * _noise_var(bank.settings + k * N_SETTINGS, filter)
        var += bank.weights[k] * (bank.h[k] + noise_var + (bank.mean[k] - mean) * (bank.mean[k] - mean))
    step.mean = saturate(bank.row[Y_CENTER] + bank.row[Y_SCALE] * mean)
    step.var = saturate(bank.row[Y_SCALE] * (bank.row[Y_SCALE] * var))


cdef void absorb(Step* step, double y) noexcept nogil:
    cdef Bank bank = _open(step)
    cdef Py_ssize_t i
    cdef double deviation, score
    if bank.row[PHASE] == SETTLED or isnan(y):
        if bank.row[PHASE] != UNSCALED:
            for i in range(bank.n):     # a feature that was constant until now gets its scale from its first move
                if bank.x_scale[i] < 0.0:
                    bank.x_center[i], bank.x_scale[i] = step.scale * step.x[i], 0.0
                deviation = step.scale * step.x[i] - bank.x_center[i]
                if bank.x_scale[i] == 0.0 and _moves(&bank, i, deviation):
                    bank.x_scale[i] = smaller(fabs(deviation), LARGEST)
            _learn(&bank, y)
        return
    if bank.row[PHASE] == WARMING:
        _learn(&bank, y)
    else:
        deviation = (y - step.mean) / sqrt(step.var)
        bank.row[LOG_SCORE] = larger(-HALF_LOG_2PI - 0.5 * (log(step.var) + deviation * deviation), -LARGEST)
        bank.row[N_SEEN] += 1.0
    _remember(&bank, step, y)
    if _is_milestone(<Py_ssize_t>bank.row[N_WARM], <Py_ssize_t>bank.constants[WARM_UP]):
        score = bank.row[LOG_SCORE]     # of the forecast that was made, not of the ones that learning anew makes
        _start_over(&bank, bank.row[N_SEEN])
        bank.row[LOG_SCORE] = score


cdef void describe(Step* step, double* out) noexcept nogil:
    """Write the forecast's components in the user's units, after `forecast`."""
    cdef Bank bank = _open(step)
    cdef Py_ssize_t k
    cdef const double* filter
    cdef double unit = bank.row[Y_SCALE], family
    for k in range(bank.n_filters):
        filter = bank.filters + k * bank.stride
        if bank.row[PHASE] == UNSCALED:
            out[0], out[1], out[2], out[3], out[4] = 1.0 / bank.n_filters, step.mean, step.var, 0.0, -1.0
        else:
            out[0] = bank.weights[k]
            out[1] = saturate(bank.row[Y_CENTER] + unit * bank.mean[k])
            out[2] = saturate(unit * (unit * bank.h[k]))
            out[3] = saturate(unit * bank.scale[k])
            family = bank.settings[k * N_SETTINGS + FAMILY]
            out[4] = family if family != 0.0 else filter[FILTER_EPSILON]
        out += N_COMPONENT


cdef void weigh(Step* step, double* mean, double* var) noexcept nogil:
    """Write mean and variance of the features' weights under the mixture, in the user's units."""
    cdef Bank bank = _open(step)
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


KERNEL = Kernel.of(forecast, absorb, scale_up=False, describe=describe, weigh=weigh)
