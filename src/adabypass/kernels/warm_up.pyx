"""The first observations, which set the units of the bank: equations (49) and (50).

Before the scale of y is known, forecasts are those of equations (81)-(83).
"""

from libc.math cimport INFINITY, NAN, exp, fabs, isnan, ldexp, log, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memmove, memset

from adabypass.state.bank_table cimport (
    Bank, CHANGE_SCALE, CHANGE_TAIL, EPSILON_SLOPE_SQ_START, EPSILON_START, FAMILY, LAST_Y, LOG_SCORE, MOST_WIDE_SLOPES,
    N_REPEATS, N_SEEN, N_WARM, PHASE, PHASE_SETTLED, PHASE_UNSCALED, PHASE_WARMING, PRIOR_PREC, PRIOR_SHARE, PRIOR_VAR,
    SCALE_SLOPE_SQ_START, SHOCKS, WARM_UP_WIDENING, Y_CENTER, Y_RUNNING_MEAN, Y_RUNNING_VAR, Y_SCALE,
)
from adabypass.distributions.component cimport Component
from adabypass.distributions.families cimport GAUSSIAN, MODERATE, Noise, noise_of
from adabypass.numerics.special cimport larger, smaller
from adabypass.numerics.dispatch cimport KERNELS, LANES, MOST_FLEXIBLE

from adabypass.kernels.bank_walks cimport setting, var_at
from adabypass.kernels.step cimport LARGEST
from adabypass.kernels.units cimport standardise

from adabypass.numerics import limits

cdef double RESOLUTION = limits.RESOLUTION
cdef double LARGEST_D = limits.LARGEST_DISTANCE
cdef double SMALLEST_V = limits.SMALLEST_SIGNAL

cdef enum:
    MOST_WARM_UP = 64


cdef void start_component(const Bank* bank, Py_ssize_t k, Component* out) noexcept nogil:
    """Component k of the forecast after n values, all equal to c: equations (81)-(83).

    The first says that the next value is c again, the others that it differs, each by twice as much as the one before.
    If nothing is known of the size of y, every component is blank: mean nan, variance infinite.
    """
    cdef double n = bank.row[N_SEEN], c = bank.row[Y_CENTER], size = bank.constants[CHANGE_SCALE] * fabs(c), ratio
    cdef double extra = smaller(bank.extra[k % LANES], LARGEST) if bank.extra != NULL else 0.0          # (66)
    if n == 0.0 or c == 0.0:
        out[0] = Component(1.0 / bank.n_filters, NAN, extra, INFINITY, 0.0, GAUSSIAN, 0, 0.0)
        return
    if k == 0:
        out[0] = Component(n / (n + 1.0), c, extra, larger(size / n, 1.0 / LARGEST), 0.0, MODERATE, 0, 0.0)
        return
    ratio = exp(-bank.constants[CHANGE_TAIL] * log(2.0))
    out[0] = Component(1.0 / (n + 1.0), c, extra, smaller(size, LARGEST), 0.0, MODERATE, 0, 0.0)
    out.weight *= ratio ** (k - 1) * (1.0 - ratio) / (1.0 - ratio ** (bank.n_filters - 1))      # (82)
    out.noise_scale = smaller(larger(ldexp(out.noise_scale, <int>k - 1), 1.0 / LARGEST), LARGEST)


cdef double start_log_density(const Bank* bank, double y) noexcept nogil:
    """Log density of y under the components above, nan if they are blank: equation (83)."""
    cdef Component part
    cdef Py_ssize_t k
    cdef double top = -INFINITY, total = 0.0, each, d, v
    cdef const Noise* noise = noise_of(MODERATE)
    for k in range(bank.n_filters):
        start_component(bank, k, &part)
        if isnan(part.mean):
            return NAN
        d = smaller(larger((y - part.mean) / part.noise_scale, -LARGEST_D), LARGEST_D)
        v = smaller(larger(part.signal_var / part.noise_scale / part.noise_scale, SMALLEST_V), 1.0 / SMALLEST_V)
        each = log(part.weight) - log(part.noise_scale) + KERNELS.evidence(noise.normals, d, v, 0.0).log_density
        if each > top:
            total *= exp(top - each)
            top = each
        total += exp(each - top)
    return larger(top + log(total), -LARGEST)


cdef void center_and_scale(
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
    if quartiles > RESOLUTION and centred:
        deviation = smaller(deviation, quartiles)
    center[0] = median * largest
    scale[0] = smaller(larger(deviation * largest, 1.0 / LARGEST), LARGEST) if deviation > RESOLUTION else 0.0


cdef inline void _forget(const Bank* bank, double* value, double* prec, double* effect) noexcept nogil:
    """Forget what every noise model has learned of a number."""
    cdef Py_ssize_t j
    for j in range(LANES):
        value[j], prec[j] = 0.0, bank.constants[PRIOR_PREC]
    memset(effect, 0, bank.n_filters * sizeof(double))


cdef void reset(Bank* bank, double widening) noexcept nogil:
    """Forget what was learned; the noise starts wider by `widening`."""
    cdef Py_ssize_t k, i
    cdef const double* prior = setting(bank, PRIOR_SHARE)
    cdef double prec = bank.constants[PRIOR_PREC]
    bank.row[Y_RUNNING_MEAN], bank.row[Y_RUNNING_VAR] = 0.0, 1.0
    for i in range(bank.n_features):
        bank.anchor_center[i] = 0.0
        bank.anchor_var[i] = bank.move_var[i] = 1.0
        bank.newest_center[i] = 0.0
    for i in range(bank.n_rates):
        bank.rate_share[i] = 1.0 / bank.n_rates
    for i in range(MOST_FLEXIBLE):
        bank.normal_share[i] = bank.flexible_start[i]
    memset(bank.walk_mean, 0, LANES * bank.n_weights * sizeof(double))
    memset(bank.walk_cov, 0, LANES * bank.n_packed * sizeof(double))
    for k in range(LANES):
        bank.walk_failures[k] = bank.walk_strikes[k] = 0.0
        for i in range(bank.n_weights):
            bank.walk_cov[var_at(bank, k, i)] = bank.constants[PRIOR_VAR]
            if i >= bank.intercept and bank.n_features > bank.constants[MOST_WIDE_SLOPES]:
                bank.walk_cov[var_at(bank, k, i)] *= bank.constants[MOST_WIDE_SLOPES] / bank.n_features
    _forget(bank, bank.noise_leverage, bank.noise_leverage_prec, bank.filter_leverage_effect)
    _forget(bank, bank.noise_fast_log, bank.noise_fast_prec, bank.filter_fast_effect)
    _forget(bank, bank.noise_fading_log, bank.noise_fading_prec, bank.filter_fading_effect)
    for k in range(bank.n_filters):
        bank.filter_share[k] = prior[k]
        for i in range(bank.n_rates):
            bank.rated_share[i * bank.n_filters + k] = prior[k]
        bank.filter_slow[k] = noise_of(<int64_t>setting(bank, FAMILY)[k]).start_log + log(widening)
        bank.filter_fast[k] = bank.filter_level_slope[k] = 0.0
        bank.filter_level_prec[k] = prec
        bank.filter_epsilon[k] = bank.constants[EPSILON_START]
        bank.filter_scale_slope_sq[k] = bank.constants[SCALE_SLOPE_SQ_START]
        bank.filter_epsilon_slope_sq[k] = bank.constants[EPSILON_SLOPE_SQ_START]


cdef void start_over(Bank* bank) noexcept nogil:
    """Set scales from the warm-up's observations, forget the rest, and learn from them anew: equation (50).

    The count of what was seen and the log score stay: they are of the forecasts that were made.
    """
    cdef Py_ssize_t t, i, count = <Py_ssize_t>bank.row[N_WARM]
    cdef double n_seen = bank.row[N_SEEN], log_score = bank.row[LOG_SCORE], mean, var
    center_and_scale(bank.warm_y, count, 1, bank.intercept, &bank.row[Y_CENTER], &bank.row[Y_SCALE])
    if bank.row[Y_SCALE] == 0.0:
        bank.row[PHASE] = PHASE_UNSCALED
        return
    bank.row[PHASE] = PHASE_WARMING if count < bank.n_warm_up else PHASE_SETTLED
    for i in range(bank.n_features):
        center_and_scale(bank.warm_x + i, count, bank.n_features, bank.intercept, &bank.x_center[i], &bank.x_scale[i])
    # Few observations know little of their own scale.
    reset(bank, 1.0 + bank.constants[WARM_UP_WIDENING] / count if bank.row[PHASE] == PHASE_WARMING else 1.0)
    bank.row[N_SEEN] = bank.row[SHOCKS] = bank.row[N_REPEATS] = 0.0
    bank.row[LAST_Y] = bank.warm_y[0]
    bank.extra = NULL       # the warm-up's features are taken as they were
    bank.replays = True     # which steps of the season they were is not known: missing values were not kept
    for t in range(count):
        standardise(bank, bank.warm_x + t * bank.n_features, 1.0)
        KERNELS.bank_forecast(bank, &mean, &var)
        KERNELS.bank_learn(bank, bank.warm_y[t])
    bank.replays = False
    bank.row[N_SEEN], bank.row[LOG_SCORE] = n_seen, log_score


cdef bint is_milestone(const Bank* bank) noexcept nogil:
    """Whether to set the units anew: often at first, when an observation changes them most."""
    cdef Py_ssize_t i
    for i in range(bank.n_milestones):
        if bank.row[N_WARM] == bank.milestones[i]:
            return True
    return False


cdef void remember(Bank* bank, const double* x, double scale, double y) noexcept nogil:
    """Keep an observation of the warm-up, the oldest making room if there is none."""
    cdef Py_ssize_t i, n = bank.n_features, last = bank.n_warm_up - 1
    cdef double* slot
    if bank.row[PHASE] == PHASE_UNSCALED and bank.row[N_WARM] > 1.0 and y != bank.warm_y[0]:
        bank.row[N_WARM] = 1.0          # a long constant start says nothing of what begins now
    if bank.row[N_WARM] > last:
        memmove(bank.warm_x, bank.warm_x + n, last * n * sizeof(double))
        memmove(bank.warm_y, bank.warm_y + 1, last * sizeof(double))
        bank.row[N_WARM] = last
    slot = bank.warm_x + <Py_ssize_t>bank.row[N_WARM] * n
    for i in range(n):
        slot[i] = scale * x[i]
    bank.warm_y[<Py_ssize_t>bank.row[N_WARM]] = y
    bank.row[LAST_Y] = y
    bank.row[N_WARM] += 1.0
