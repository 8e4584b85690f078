"""A bank of exact-evidence filters, in place on one row: equations (H.1)-(H.5), (H.39)-(H.41) and (H.43).

The other equations of section H are in numerics/c: SIMD.bank_forecast and SIMD.bank_learn, of mixing.h.
Inside, everything is in standard units: features and y less their centre, over their scale, both from the warm-up.
In this order: units; the first observations, which set them; how a bank is opened, forecasts and learns; and what it
believes about future observations, for forecasts many steps ahead.
"""

from libc.math cimport INFINITY, NAN, copysign, exp, fabs, isnan, ldexp, log, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memmove, memset

from adabypass.distributions.component cimport Component
from adabypass.distributions.families cimport (
    FLEXIBLE_NORMALS, FLEXIBLE_START, GAUSSIAN, MODERATE, NORMALS, Noise, noise_of,
)
from adabypass.distributions.record cimport RecordFields, open_record
from adabypass.kernels.covariance cimport covariance_of
from adabypass.kernels.step cimport Covariance, MAX_VALUE, StepContext, WeightsView, saturate
from adabypass.numerics.dispatch cimport FilterForecasts, LANES, Limits, N_FLEXIBLE_NORMALS, SIMD
from adabypass.numerics.special cimport larger, smaller
from adabypass.state.bank_table cimport (
    ANCHORED, Bank, CHANGE_SCALE, CHANGE_TAIL, DIFFERENCED, DRIFT_VAR, EPSILON_SLOPE_SQ_START, EPSILON_START, FAMILY,
    FAST_DECAY, JUMP_VAR, LAST_Y, LEVEL_LAW, LEVEL_LAW_LINEAR, LEVEL_RATE, LOG_SCORE, MAX_CONSECUTIVE_OUTLIERS,
    MAX_ERROR, MAX_FAST_DECAY, MAX_WIDE_SLOPES, MIN_MEAN_SQUARE, NOISE_VAR, N_FIELDS, N_REPEATS, N_SEASON_SUMS,
    N_SEEN, N_SETTINGS, N_SHIFTS, N_WARM, PHASE, PHASE_SETTLED, PHASE_UNSCALED, PHASE_WARMING, PRIOR_PREC,
    PRIOR_SHARE, PRIOR_VAR, SCALE_SLOPE_SQ_START, SEASON_STEP, SEASON_SUM_NOISE, SEASON_SUM_SHARE, SEASON_SUM_SQUARES,
    SEASON_SUM_TOTAL, SEASON_SUM_VARS, SHIFT_PRIOR, SHIFT_RATE, SHOCKS, SLOPES_DRIFT, WARM_UP_WIDENING, Y_CENTER,
    Y_RUNNING_MEAN, Y_RUNNING_VAR, Y_SCALE, find_fields, lay_row, lay_scratch, read_constants, row_size, scratch_size,
)

from adabypass.numerics import limits

cdef double LARGE_FEATURE = limits.LARGE_FEATURE
cdef double RESOLUTION = limits.RESOLUTION


cdef void standardise(Bank* bank, const double* x, double scale) noexcept nogil:
    """z = (1, (x - x_center) / x_scale): equation (H.4)."""
    cdef Py_ssize_t i
    cdef double* z = bank.z + bank.intercept
    cdef double deviation
    if bank.intercept:
        bank.z[0] = 1.0
    for i in range(bank.n_features):
        deviation = scale * x[i] - bank.x_center[i]
        if bank.x_scale[i] > 0.0:
            z[i] = smaller(larger(deviation / bank.x_scale[i], -LARGE_FEATURE), LARGE_FEATURE)
        elif bank.x_scale[i] == 0.0 and _moves(bank, i, deviation):
            z[i] = copysign(1.0, deviation)     # constant so far: this move is its unit
        else:
            z[i] = 0.0


cdef void find_scales(Bank* bank, const double* x, double scale) noexcept nogil:
    """Give a feature that was constant until now its scale, which is its first move; a new one its centre."""
    cdef Py_ssize_t i
    cdef double deviation
    for i in range(bank.n_features):
        if bank.x_scale[i] > 0.0:
            continue
        if bank.x_scale[i] < 0.0:
            bank.x_center[i], bank.x_scale[i] = scale * x[i], 0.0
        deviation = scale * x[i] - bank.x_center[i]
        if _moves(bank, i, deviation):
            bank.x_scale[i] = smaller(fabs(deviation), MAX_VALUE)


cdef bint _moves(const Bank* bank, Py_ssize_t i, double deviation) noexcept nogil:
    return fabs(deviation) > RESOLUTION * fabs(bank.x_center[i])


cdef double MAX_D = limits.MAX_DISTANCE
cdef double MIN_V = limits.MIN_SIGNAL

cdef enum:
    MAX_WARM_UP = 64


cdef void start_component(const Bank* bank, Py_ssize_t k, Component* out) noexcept nogil:
    """Component k of the forecast after n values, all equal to c: equations (H.1)-(H.3).

    The first says that the next value is c again, the others that it differs, each by twice as much as the one before.
    If nothing is known of the size of y, every component is blank: mean nan, variance infinite.
    """
    cdef double n = bank.row[N_SEEN], c = bank.row[Y_CENTER], size = bank.constants[CHANGE_SCALE] * fabs(c), ratio
    cdef double extra = smaller(bank.extra[k % LANES], MAX_VALUE) if bank.extra != NULL else 0.0          # (K.12)
    if n == 0.0 or c == 0.0:
        out[0] = Component(1.0 / bank.n_filters, NAN, extra, INFINITY, 0.0, GAUSSIAN, 0, 0.0)
        return
    if k == 0:
        out[0] = Component(n / (n + 1.0), c, extra, larger(size / n, 1.0 / MAX_VALUE), 0.0, MODERATE, 0, 0.0)
        return
    ratio = exp(-bank.constants[CHANGE_TAIL] * log(2.0))
    out[0] = Component(1.0 / (n + 1.0), c, extra, smaller(size, MAX_VALUE), 0.0, MODERATE, 0, 0.0)
    out.weight *= ratio ** (k - 1) * (1.0 - ratio) / (1.0 - ratio ** (bank.n_filters - 1))      # (H.2)
    out.noise_scale = smaller(larger(ldexp(out.noise_scale, <int>k - 1), 1.0 / MAX_VALUE), MAX_VALUE)


cdef double start_log_density(const Bank* bank, double y) noexcept nogil:
    """Log density of y under the components above, nan if they are blank: equation (H.3)."""
    cdef Component part
    cdef Py_ssize_t k
    cdef double top = -INFINITY, total = 0.0, each, d, v
    cdef const Noise* noise = noise_of(MODERATE)
    for k in range(bank.n_filters):
        start_component(bank, k, &part)
        if isnan(part.mean):
            return NAN
        d = smaller(larger((y - part.mean) / part.noise_scale, -MAX_D), MAX_D)
        v = smaller(larger(part.signal_var / part.noise_scale / part.noise_scale, MIN_V), 1.0 / MIN_V)
        each = log(part.weight) - log(part.noise_scale) + SIMD.evidence(noise.normals, d, v, 0.0).log_density
        if each > top:
            total *= exp(top - each)
            top = each
        total += exp(each - top)
    return larger(top + log(total), -MAX_VALUE)


cdef void center_and_scale(
    const double* first, Py_ssize_t count, Py_ssize_t stride, bint centred, double* center, double* scale
) noexcept nogil:
    """Median, and the lesser of root mean square deviation and interquartile range, of every `stride`-th number: (H.4).

    The scale is 0 if the numbers do not differ.
    """
    cdef double[MAX_WARM_UP] values
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
    scale[0] = smaller(larger(deviation * largest, 1.0 / MAX_VALUE), MAX_VALUE) if deviation > RESOLUTION else 0.0


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
    for i in range(N_FLEXIBLE_NORMALS):
        bank.normal_share[i] = bank.flexible_start[i]
    memset(bank.walk_mean, 0, LANES * bank.n_weights * sizeof(double))
    memset(bank.walk_cov, 0, LANES * bank.n_packed * sizeof(double))
    for k in range(LANES):
        bank.walk_underperformance_count[k] = bank.walk_consecutive_outliers[k] = 0.0
        for i in range(bank.n_weights):
            bank.walk_cov[var_at(bank, k, i)] = bank.constants[PRIOR_VAR]
            if i >= bank.intercept and bank.n_features > bank.constants[MAX_WIDE_SLOPES]:
                bank.walk_cov[var_at(bank, k, i)] *= bank.constants[MAX_WIDE_SLOPES] / bank.n_features
    _forget(bank, bank.noise_leverage, bank.noise_leverage_prec, bank.filter_leverage_effect)
    _forget(bank, bank.noise_fast_log, bank.noise_fast_prec, bank.filter_fast_effect)
    _forget(bank, bank.noise_log_decay_ratio, bank.noise_decay_prec, bank.filter_decay_effect)
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
    """Set scales from the warm-up's observations, forget the rest, and learn from them anew: equation (H.5).

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
        SIMD.bank_forecast(bank, &mean, &var)
        SIMD.bank_learn(bank, bank.warm_y[t])
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


cdef double MAX_UNIT = limits.MAX_UNIT
cdef double MAX_SHIFT = limits.MAX_SHIFT

cdef Limits LIMITS = Limits(
    max_value=limits.MAX_VALUE,
    max_weight=limits.MAX_WEIGHT,
    max_distance=limits.MAX_DISTANCE,
    min_signal=limits.MIN_SIGNAL,
    max_log_noise_scale=limits.MAX_LOG_NOISE_SCALE,
    resolution=limits.RESOLUTION,
    rounding=limits.ROUNDING,
    max_explained=limits.MAX_EXPLAINED,
    max_spread=limits.MAX_SPREAD,
)


cdef void measure_bank(
    Bank* bank, const double* constants, Py_ssize_t n_features, const Covariance* covariance
) noexcept nogil:
    """Find all dimensions of a bank, on which the places in its row and its scratch memory depend."""
    read_constants(bank, constants)
    bank.n_features, bank.n_weights = n_features, n_features + bank.intercept
    bank.n_packed = covariance.size(bank.n_weights)
    bank.n_rates = bank.n_fixed_rates + 1
    bank.n_season_sums = N_SEASON_SUMS if bank.n_shifts > 0 else 0
    bank.n_walks, bank.n_noises, bank.n_normals = LANES, LANES, N_FLEXIBLE_NORMALS
    bank.is_diagonal = covariance.is_diagonal


cdef void open_bank(const StepContext* step, Bank* bank) noexcept nogil:
    """Fill `bank` with pointers into the row, constants and scratch memory of a step."""
    measure_bank(bank, step.constants, step.n, step.covariance)
    lay_row(bank, step.row)
    lay_scratch(bank, step.scratch)
    bank.limits, bank.normals, bank.flexible, bank.flexible_start = &LIMITS, NORMALS, &FLEXIBLE_NORMALS, FLEXIBLE_START
    bank.replays, bank.extra = False, step.extra


def places(const double[::1] constants, double[::1] row, Py_ssize_t n_features, bint is_full):
    """Return where each field of a row begins, for the test that holds compiled code and Python's layout equal.

    Parameters
    ----------
    constants : array
        Those of a spec that transforms nothing.
    row : array

    Returns
    -------
    fields : list of int
        Where each field that is no scalar begins.
    sizes : tuple of int
        How many numbers row, scratch memory and constants have.
    """
    cdef Bank bank
    cdef ptrdiff_t[N_FIELDS] found
    measure_bank(&bank, &constants[0], n_features, covariance_of(is_full))
    lay_row(&bank, &row[0])
    find_fields(&bank, found)
    n_constants = bank.settings - bank.constants + N_SETTINGS * bank.n_filters
    return [found[i] for i in range(N_FIELDS)], (row_size(&bank), scratch_size(&bank), n_constants)


cdef void forecast_start(const Bank* bank, double* mean, double* var) noexcept nogil:
    """Mean and variance while all values are equal: equation (H.3); nan and infinite where nothing is known."""
    cdef Component part
    cdef double noise_var = noise_of(MODERATE).normals_var
    cdef Py_ssize_t k
    var[0] = 0.0
    for k in range(bank.n_filters):
        start_component(bank, k, &part)
        var[0] += part.weight * (part.signal_var + part.noise_scale * part.noise_scale * noise_var)
    mean[0] = part.mean
    if not isnan(part.mean):
        var[0] = larger(saturate(var[0]), 1.0 / MAX_VALUE)


cdef void forecast_bank(Bank* bank, const double* x, double scale, double* mean, double* var) noexcept nogil:
    """Mean and variance of the mixture of the filters' forecasts."""
    if bank.row[PHASE] == PHASE_UNSCALED:
        forecast_start(bank, mean, var)
        return
    standardise(bank, x, scale)
    SIMD.bank_forecast(bank, mean, var)
    bank.newest[0], bank.newest[1] = mean[0], var[0]
    if has_shift(bank):
        mean[0] = saturate(mean[0] + shift(bank))


cdef inline bint has_shift(const Bank* bank) noexcept nogil:
    """Whether the season shifts the forecast."""
    return bank.constants[N_SHIFTS] > 0.0 and bank.row[PHASE] == PHASE_SETTLED


cdef inline double shift(const Bank* bank) noexcept nogil:
    """What the season adds to the forecast at this step, in the units of y: equation (H.39)."""
    return bank.row[Y_SCALE] * standard_shift(bank, <Py_ssize_t>bank.row[SEASON_STEP])


cdef inline double standard_shift(const Bank* bank, Py_ssize_t step) noexcept nogil:
    """The same in standard units."""
    cdef const double* sums = bank.season_sums
    return sums[SEASON_SUM_SHARE] * (bank.season_shift[step] - sums[SEASON_SUM_TOTAL] / bank.constants[N_SHIFTS])


cdef void learn_shift(Bank* bank, double y) noexcept nogil:
    """Learn what the season adds to the forecast, from y less what it was taken to add: equations (H.39)-(H.41)."""
    cdef Py_ssize_t step = <Py_ssize_t>bank.row[SEASON_STEP]
    cdef const double* constants = bank.constants
    cdef double* sums = bank.season_sums
    cdef double unit = bank.row[Y_SCALE], most = constants[MAX_ERROR], n = constants[N_SHIFTS]
    cdef double largest = most * sqrt(bank.newest[1]) / unit, error, rate, noise_rate, new
    if sums[SEASON_SUM_NOISE] > 0.0:
        largest = smaller(largest, most * sqrt(sums[SEASON_SUM_NOISE]))
    error = smaller(larger((y - bank.newest[0]) / unit, -largest), largest)
    rate = larger(constants[SHIFT_RATE], 1.0 / (constants[SHIFT_PRIOR] + bank.row[N_SEEN] / n))
    noise_rate = larger(constants[LEVEL_RATE], 1.0 / (bank.row[N_SEEN] + 2.0)) if sums[SEASON_SUM_NOISE] > 0.0 else 1.0
    new = bank.season_shift[step] + rate * (error + standard_shift(bank, step) - bank.season_shift[step])   # (H.39)
    new = smaller(larger(new, -MAX_SHIFT), MAX_SHIFT)
    sums[SEASON_SUM_TOTAL] += new - bank.season_shift[step]
    sums[SEASON_SUM_SQUARES] += (new - bank.season_shift[step]) * (new + bank.season_shift[step])
    sums[SEASON_SUM_VARS] -= bank.season_shift_var[step]
    bank.season_shift[step] = new
    bank.season_shift_var[step] = (1.0 - rate) * (1.0 - rate) * bank.season_shift_var[step] + rate * rate   # (H.40)
    sums[SEASON_SUM_VARS] += bank.season_shift_var[step]
    sums[SEASON_SUM_NOISE] += noise_rate * (smaller(error * error, MAX_SHIFT) - sums[SEASON_SUM_NOISE])
    if step == 0:
        sum_season(bank)
    share_season(bank)


cdef void sum_season(Bank* bank) noexcept nogil:
    """Sum what the steps add anew, once a season, so that rounding does not add up."""
    cdef double* sums = bank.season_sums
    cdef Py_ssize_t step
    sums[SEASON_SUM_TOTAL] = sums[SEASON_SUM_SQUARES] = sums[SEASON_SUM_VARS] = 0.0
    for step in range(<Py_ssize_t>bank.constants[N_SHIFTS]):
        sums[SEASON_SUM_TOTAL] += bank.season_shift[step]
        sums[SEASON_SUM_SQUARES] += bank.season_shift[step] * bank.season_shift[step]
        sums[SEASON_SUM_VARS] += bank.season_shift_var[step]


cdef void share_season(Bank* bank) noexcept nogil:
    """How much of what the steps add is more than noise: equation (H.41)."""
    cdef double* sums = bank.season_sums
    cdef double total = sums[SEASON_SUM_TOTAL]
    cdef double squares = sums[SEASON_SUM_SQUARES] - total * total / bank.constants[N_SHIFTS]
    cdef double noise = sums[SEASON_SUM_NOISE] * sums[SEASON_SUM_VARS]
    sums[SEASON_SUM_SHARE] = 1.0 - noise / squares if squares > noise else 0.0


cdef void learn_bank(Bank* bank, const double* x, double scale, double y) noexcept nogil:
    """Learn from y, after `forecast_bank`; nan lets time pass."""
    if bank.row[PHASE] == PHASE_UNSCALED:
        if not isnan(y):
            bank.row[LOG_SCORE] = start_log_density(bank, y)
            bank.row[N_SEEN] += 1.0
    else:
        if bank.row[PHASE] == PHASE_SETTLED or isnan(y):
            find_scales(bank, x, scale)
        if has_shift(bank) and not isnan(y):
            y = saturate(y - shift(bank))
            SIMD.bank_learn(bank, y)
            learn_shift(bank, y)
        else:
            SIMD.bank_learn(bank, y)
    if bank.row[PHASE] != PHASE_SETTLED and not isnan(y):
        remember(bank, x, scale, y)
        if is_milestone(bank):
            start_over(bank)
    bank.row[SEASON_STEP] = bank.row[SEASON_STEP] + 1.0 if bank.row[SEASON_STEP] + 1.0 < bank.period else 0.0


cdef void describe_bank(const Bank* bank, double base, double* record) noexcept nogil:
    """Write the forecast in the user's units, with `base` added to it, after `forecast_bank`."""
    cdef RecordFields out = open_record(record, bank.n_filters, LANES, True)
    cdef FilterForecasts places
    memcpy(out.normal_share, bank.normal_share, N_FLEXIBLE_NORMALS * sizeof(double))
    if bank.row[PHASE] == PHASE_UNSCALED:
        _describe_start(bank, base, &out)
        return
    out.common_family[0] = -1.0
    if has_shift(bank):
        base += shift(bank)
    places = FilterForecasts(out.weight, out.mean, out.signal_var, out.noise_scale, out.epsilon)
    SIMD.bank_describe(bank, base, &places)


cdef void _describe_start(const Bank* bank, double base, RecordFields* out) noexcept nogil:
    """Write the forecast before the scale of y is known: equation (H.3)."""
    cdef Component part
    cdef Py_ssize_t k, n_shaped = 0
    for k in range(bank.n_filters):
        start_component(bank, k, &part)
        out.weight[k], out.noise_scale[k] = part.weight, part.noise_scale
        if k < LANES:
            out.mean[k], out.signal_var[k] = part.mean, part.signal_var
            if not isnan(part.mean):
                out.mean[k] = saturate(part.mean + base)
        if setting(bank, NOISE_VAR)[k] == 0.0:
            out.epsilon[n_shaped] = 0.0
            n_shaped += 1
    out.common_family[0] = <double>part.family


cdef void mixture_weights(StepContext* step, double* mean, double* var) noexcept nogil:
    """Write mean and variance of the features' weights under the mixture, in the user's units."""
    cdef Bank bank
    cdef double[LANES] share
    cdef Py_ssize_t walk, i, at
    cdef double each, unit
    open_bank(step, &bank)
    for walk in range(LANES):
        share[walk] = share_of_walk(&bank, walk)
    for i in range(bank.n_features):
        at = i + bank.intercept
        mean[i] = var[i] = 0.0
        for walk in range(LANES):
            mean[i] += share[walk] * bank.walk_mean[at * LANES + walk]
        for walk in range(LANES):
            each = bank.walk_mean[at * LANES + walk] - mean[i]
            var[i] += share[walk] * (bank.walk_cov[var_at(&bank, walk, at)] + each * each)
        unit = smaller(bank.row[Y_SCALE] / bank.x_scale[i], MAX_UNIT) if bank.x_scale[i] > 0.0 else 0.0
        mean[i] *= unit
        var[i] = var[i] * unit * unit if unit > 0.0 else MAX_VALUE


cdef void weights(const StepContext* step, WeightsView* out) noexcept nogil:
    """Point at the weights of every walk."""
    cdef Bank bank
    cdef Py_ssize_t walk
    open_bank(step, &bank)
    for walk in range(LANES):
        out[walk].share = share_of_walk(&bank, walk)
        out[walk].mean = bank.walk_mean + bank.intercept * LANES + walk
        out[walk].cov = bank.walk_cov + walk
        out[walk].stride = LANES
        out[walk].offset = bank.intercept
        out[walk].drift_var = drift_of_walk(&bank, walk) * setting(&bank, SLOPES_DRIFT)[walk]       # after any jump
        out[walk].drift_divisor = bank.anchor_var if setting(&bank, ANCHORED)[walk] != 0.0 else NULL    # (H.8)
        if setting(&bank, DIFFERENCED)[walk] != 0.0:
            out[walk].drift_divisor = bank.move_var                                                 # (H.18)
        out[walk].y_scale = bank.row[Y_SCALE] if bank.row[PHASE] != PHASE_UNSCALED else 0.0
        out[walk].x_scale = bank.x_scale


cdef void export_mixture(StepContext* step, LinearMixture* out) noexcept nogil:
    """Fill the belief of all filters, in the user's units."""
    cdef Bank bank
    open_bank(step, &bank)
    cdef Py_ssize_t i, k
    cdef double y_scale = bank.row[Y_SCALE], floor = RESOLUTION * fabs(bank.row[LAST_Y])
    cdef double center = 0.0, flexible_var = 0.0
    cdef const Noise* noise
    cdef double* unit = bank.z          # scratch: of each weight
    out.n_flexible, out.season_log, out.period, out.season_step = bank.n_flexible, NULL, bank.period, 0
    if bank.row[PHASE] == PHASE_UNSCALED:
        _export_start(&bank, out)
        return
    out.is_known = True
    for k in range(N_FLEXIBLE_NORMALS):
        out.normal_share[k] = bank.normal_share[k]
        center += bank.normal_share[k] * bank.flexible.center[k]
        flexible_var += bank.normal_share[k] * (
            bank.flexible.sq[k] + bank.flexible.center[k] * bank.flexible.center[k]
        )
    flexible_var -= center * center
    out.season_log, out.season_step = bank.season_log, <Py_ssize_t>bank.row[SEASON_STEP]
    out.season_wave[0], out.season_wave[1] = bank.season_wave[0], bank.season_wave[1]
    out.y_center, out.min_mean_square = bank.row[Y_CENTER], bank.constants[MIN_MEAN_SQUARE]
    out.level_center = bank.row[Y_CENTER] + y_scale * bank.row[Y_RUNNING_MEAN]
    out.level_unit = y_scale * sqrt(bank.row[Y_RUNNING_VAR])
    if bank.intercept:
        unit[0] = y_scale
    for i in range(bank.n_features):
        out.x_center[i] = bank.x_center[i]
        out.feature_size[i] = larger(bank.x_scale[i], 0.0) * sqrt(bank.anchor_var[i])
        unit[bank.intercept + i] = smaller(y_scale / bank.x_scale[i], MAX_UNIT) if bank.x_scale[i] > 0.0 else 0.0
    for k in range(bank.n_filters):
        out.share[k] = bank.filter_share[k]
        out.family[k] = <int64_t>setting(&bank, FAMILY)[k]
        noise = noise_of(out.family[k])
        out.epsilon[k] = bank.filter_epsilon[k] if noise.has_epsilon else 0.0
        out.unit_var[k] = flexible_var if k < bank.n_flexible else noise.var(noise, out.epsilon[k])
        out.noise_scale[k] = larger(y_scale * exp(bank.filter_slow[k] + bank.filter_fast[k]), floor)        # (H.43)
        out.fading[k] = bank.filter_fast[k]
        # (H.26)
        out.fade[k] = 1.0 - (1.0 - setting(&bank, FAST_DECAY)[k]) * exp(bank.noise_log_decay_ratio[k // LANES])
        out.fade[k] = larger(smaller(out.fade[k], bank.constants[MAX_FAST_DECAY]), 0.0)
        out.level_slope[k], out.differenced[k] = bank.filter_level_slope[k], setting(&bank, DIFFERENCED)[k]
        out.level_linear[k] = setting(&bank, LEVEL_LAW)[k] == LEVEL_LAW_LINEAR
        _export_weights(&bank, k, unit, out)


cdef void _export_weights(const Bank* bank, Py_ssize_t k, const double* unit, LinearMixture* out) noexcept nogil:
    """Mean and covariance of a filter's weights, and what a step of time adds to it: equations (H.8) and (H.18).

    A jump that is due, equation (H.10), is part of the covariance: it comes with the next step alone.
    """
    cdef Py_ssize_t i, j, at = 0, first = bank.intercept, walk = k % LANES
    cdef bint is_anchored = setting(bank, ANCHORED)[k] != 0.0, is_differenced = setting(bank, DIFFERENCED)[k] != 0.0
    cdef const double* centers = bank.newest_center if is_differenced else bank.anchor_center
    cdef const double* vars = bank.move_var if is_differenced else bank.anchor_var
    cdef double q = drift_of_walk(bank, walk), moves = setting(bank, SLOPES_DRIFT)[k]
    cdef double units, prec, center, of_intercept = 0.0 if is_differenced else 1.0, jump
    is_anchored = is_anchored or is_differenced
    cdef double* cov = out.cov + k * bank.n_packed
    cdef double* drift = out.drift + k * bank.n_packed
    memset(drift, 0, bank.n_packed * sizeof(double))
    for i in range(bank.n_weights):
        out.mean[k * bank.n_weights + i] = bank.walk_mean[i * LANES + walk] * unit[i]
        for j in range(i + 1):
            units = smaller(unit[i] * unit[j], MAX_VALUE)
            cov[at] = saturate(bank.walk_cov[at * LANES + walk] * units)
            at += 1
        if i < first:
            continue
        prec = moves / vars[i - first] if is_anchored else moves
        drift[at - 1] = saturate(q * prec * units)
        if bank.intercept:
            center = centers[i - first] if is_anchored else 0.0
            of_intercept += center * center * prec
            drift[at - 1 - i] = saturate(-q * center * prec * smaller(unit[i] * unit[0], MAX_VALUE))
    if bank.intercept:
        drift[0] = saturate(q * of_intercept * smaller(unit[0] * unit[0], MAX_VALUE))
    if (
        bank.walk_consecutive_outliers[walk] >= bank.constants[MAX_CONSECUTIVE_OUTLIERS]
        and setting(bank, JUMP_VAR)[walk] > 0.0
    ):
        jump = setting(bank, JUMP_VAR)[walk] / setting(bank, DRIFT_VAR)[walk]
        for at in range(bank.n_packed):
            cov[at] = saturate(cov[at] + jump * drift[at])                                                  # (H.10)


cdef void _export_start(const Bank* bank, LinearMixture* out) noexcept nogil:
    """Export the components of equation (H.3), which hold for any features, before the scale of y is known."""
    cdef Component part
    cdef Py_ssize_t i, k
    memset(out.mean, 0, bank.n_filters * bank.n_weights * sizeof(double))
    memset(out.cov, 0, bank.n_filters * bank.n_packed * sizeof(double))
    memset(out.drift, 0, bank.n_filters * bank.n_packed * sizeof(double))
    for i in range(bank.n_features):
        out.x_center[i] = 0.0
    for k in range(bank.n_filters):
        start_component(bank, k, &part)
        out.share[k], out.noise_scale[k], out.epsilon[k], out.family[k] = (
            part.weight, part.noise_scale, part.epsilon, part.family
        )
        out.unit_var[k] = noise_of(part.family).var(noise_of(part.family), part.epsilon)
        out.fading[k] = out.fade[k] = out.level_slope[k] = out.level_linear[k] = out.differenced[k] = 0.0
    out.level_center, out.level_unit, out.y_center = 0.0, 1.0, part.mean
    out.is_known = not isnan(part.mean)
