"""AutoBypass: a bank of exact-evidence filters, in place on one row.

Inside, everything is in standard units: features and y less their centre, over their scale, both from the warm-up.
"""

from libc.math cimport isnan, sqrt
from libc.string cimport memcpy

from adabypass.model.component cimport Component
from adabypass.model.families cimport MODERATE, noise_of
from adabypass.model.packing cimport Record, open_record
from adabypass.model.special cimport larger, smaller
from adabypass.simd.dispatch cimport KERNELS, FilterForecasts, MOST_FLEXIBLE

from adabypass.inference.kernel.bank_state cimport (
    ANCHORED, Bank, DIFFERENCED, LANES, LARGEST_ERROR, LEVEL_RATE, LOG_SCORE, N_SEEN, N_SHIFTS, NOISE_VAR, PHASE,
    SEASON_STEP, SETTLED, SHIFT_NOISE, SHIFT_PRIOR, SHIFT_RATE, SHIFT_SHARE, SHIFT_SQUARES, SHIFT_SUM, SHIFT_VARS,
    SLOPES_DRIFT,
    UNSCALED, Y_SCALE, drift_of_walk, open_bank, setting, share_of_walk, var_at,
)
from adabypass.inference.kernel.step cimport LARGEST, Linear, Step, saturate
from adabypass.inference.kernel.units cimport find_scales, standardise
from adabypass.inference.kernel.warm_up cimport (
    is_milestone, remember, start_component, start_log_density, start_over,
)

from adabypass.model import limits

cdef double LARGEST_UNIT = limits.LARGEST_UNIT
cdef double LARGEST_SHIFT = limits.LARGEST_SHIFT


cdef void forecast_start(const Bank* bank, double* mean, double* var) noexcept nogil:
    """Mean and variance while all values are equal: equation (83); nan and infinite where nothing is known."""
    cdef Component part
    cdef double noise_var = noise_of(MODERATE).normals_var
    cdef Py_ssize_t k
    var[0] = 0.0
    for k in range(bank.n_filters):
        start_component(bank, k, &part)
        var[0] += part.weight * (part.signal_var + part.noise_scale * part.noise_scale * noise_var)
    mean[0] = part.mean
    if not isnan(part.mean):
        var[0] = larger(saturate(var[0]), 1.0 / LARGEST)


cdef void forecast_bank(Bank* bank, const double* x, double scale, double* mean, double* var) noexcept nogil:
    """Mean and variance of the mixture of the filters' forecasts: equation (58)."""
    if bank.row[PHASE] == UNSCALED:
        forecast_start(bank, mean, var)
        return
    standardise(bank, x, scale)
    KERNELS.bank_forecast(bank, mean, var)
    bank.newest[0], bank.newest[1] = mean[0], var[0]
    if has_shift(bank):
        mean[0] = saturate(mean[0] + shift(bank))


cdef inline bint has_shift(const Bank* bank) noexcept nogil:
    """Whether the season shifts the forecast."""
    return bank.constants[N_SHIFTS] > 0.0 and bank.row[PHASE] == SETTLED


cdef inline double shift(const Bank* bank) noexcept nogil:
    """What the season adds to the forecast at this step, in the units of y: equation (223)."""
    return bank.row[Y_SCALE] * standard_shift(bank, <Py_ssize_t>bank.row[SEASON_STEP])


cdef inline double standard_shift(const Bank* bank, Py_ssize_t step) noexcept nogil:
    """The same in standard units."""
    cdef const double* sums = bank.season_sums
    return sums[SHIFT_SHARE] * (bank.season_shift[step] - sums[SHIFT_SUM] / bank.constants[N_SHIFTS])


cdef void learn_shift(Bank* bank, double y) noexcept nogil:
    """Learn what the season adds to the forecast, from y less what it was taken to add: equations (223)-(225)."""
    cdef Py_ssize_t step = <Py_ssize_t>bank.row[SEASON_STEP]
    cdef const double* constants = bank.constants
    cdef double* sums = bank.season_sums
    cdef double unit = bank.row[Y_SCALE], most = constants[LARGEST_ERROR], n = constants[N_SHIFTS]
    cdef double largest = most * sqrt(bank.newest[1]) / unit, error, rate, noise_rate, new
    if sums[SHIFT_NOISE] > 0.0:
        largest = smaller(largest, most * sqrt(sums[SHIFT_NOISE]))
    error = smaller(larger((y - bank.newest[0]) / unit, -largest), largest)
    rate = larger(constants[SHIFT_RATE], 1.0 / (constants[SHIFT_PRIOR] + bank.row[N_SEEN] / n))
    noise_rate = larger(constants[LEVEL_RATE], 1.0 / (bank.row[N_SEEN] + 2.0)) if sums[SHIFT_NOISE] > 0.0 else 1.0
    new = bank.season_shift[step] + rate * (error + standard_shift(bank, step) - bank.season_shift[step])   # (223)
    new = smaller(larger(new, -LARGEST_SHIFT), LARGEST_SHIFT)
    sums[SHIFT_SUM] += new - bank.season_shift[step]
    sums[SHIFT_SQUARES] += (new - bank.season_shift[step]) * (new + bank.season_shift[step])
    sums[SHIFT_VARS] -= bank.season_shift_var[step]
    bank.season_shift[step] = new
    bank.season_shift_var[step] = (1.0 - rate) * (1.0 - rate) * bank.season_shift_var[step] + rate * rate   # (224)
    sums[SHIFT_VARS] += bank.season_shift_var[step]
    sums[SHIFT_NOISE] += noise_rate * (smaller(error * error, LARGEST_SHIFT) - sums[SHIFT_NOISE])
    if step == 0:
        sum_season(bank)
    share_season(bank)


cdef void sum_season(Bank* bank) noexcept nogil:
    """Sum what the steps add anew, once a season, so that rounding does not add up."""
    cdef double* sums = bank.season_sums
    cdef Py_ssize_t step
    sums[SHIFT_SUM] = sums[SHIFT_SQUARES] = sums[SHIFT_VARS] = 0.0
    for step in range(<Py_ssize_t>bank.constants[N_SHIFTS]):
        sums[SHIFT_SUM] += bank.season_shift[step]
        sums[SHIFT_SQUARES] += bank.season_shift[step] * bank.season_shift[step]
        sums[SHIFT_VARS] += bank.season_shift_var[step]


cdef void share_season(Bank* bank) noexcept nogil:
    """How much of what the steps add is more than noise: equation (225)."""
    cdef double* sums = bank.season_sums
    cdef double squares = sums[SHIFT_SQUARES] - sums[SHIFT_SUM] * sums[SHIFT_SUM] / bank.constants[N_SHIFTS]
    cdef double noise = sums[SHIFT_NOISE] * sums[SHIFT_VARS]
    sums[SHIFT_SHARE] = 1.0 - noise / squares if squares > noise else 0.0


cdef void absorb_bank(Bank* bank, const double* x, double scale, double y) noexcept nogil:
    """Learn from y, after `forecast_bank`; nan lets time pass."""
    if bank.row[PHASE] == UNSCALED:
        if not isnan(y):
            bank.row[LOG_SCORE] = start_log_density(bank, y)
            bank.row[N_SEEN] += 1.0
    else:
        if bank.row[PHASE] == SETTLED or isnan(y):
            find_scales(bank, x, scale)
        if has_shift(bank) and not isnan(y):
            y = saturate(y - shift(bank))
            KERNELS.bank_learn(bank, y)
            learn_shift(bank, y)
        else:
            KERNELS.bank_learn(bank, y)
    if bank.row[PHASE] != SETTLED and not isnan(y):
        remember(bank, x, scale, y)
        if is_milestone(bank):
            start_over(bank)
    bank.row[SEASON_STEP] = bank.row[SEASON_STEP] + 1.0 if bank.row[SEASON_STEP] + 1.0 < bank.period else 0.0


cdef void describe_bank(const Bank* bank, double base, double* record) noexcept nogil:
    """Write the forecast in the user's units, with `base` added to it, after `forecast_bank`."""
    cdef Record out = open_record(record, bank.n_filters, LANES, True)
    cdef FilterForecasts places
    memcpy(out.normal_share, bank.normal_share, MOST_FLEXIBLE * sizeof(double))
    if bank.row[PHASE] == UNSCALED:
        _describe_start(bank, base, &out)
        return
    out.common_family[0] = -1.0
    if has_shift(bank):
        base += shift(bank)
    places = FilterForecasts(out.weight, out.mean, out.signal_var, out.noise_scale, out.epsilon)
    KERNELS.bank_describe(bank, base, &places)


cdef void _describe_start(const Bank* bank, double base, Record* out) noexcept nogil:
    """Write the forecast before the scale of y is known: equation (83)."""
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


cdef void weigh(Step* step, double* mean, double* var) noexcept nogil:
    """Write mean and variance of the features' weights under the mixture, in the user's units."""
    cdef Bank bank = open_bank(step)
    cdef double[LANES] share
    cdef Py_ssize_t walk, i, at
    cdef double each, unit
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
        unit = smaller(bank.row[Y_SCALE] / bank.x_scale[i], LARGEST_UNIT) if bank.x_scale[i] > 0.0 else 0.0
        mean[i] *= unit
        var[i] = var[i] * unit * unit if unit > 0.0 else LARGEST


cdef void weights(const Step* step, Linear* out) noexcept nogil:
    """Point at the weights of every walk."""
    cdef Bank bank = open_bank(<Step*>step)
    cdef Py_ssize_t walk
    for walk in range(LANES):
        out[walk].share = share_of_walk(&bank, walk)
        out[walk].mean = bank.walk_mean + bank.intercept * LANES + walk
        out[walk].cov = bank.walk_cov + walk
        out[walk].stride = LANES
        out[walk].offset = bank.intercept
        out[walk].drift_var = drift_of_walk(&bank, walk) * setting(&bank, SLOPES_DRIFT)[walk]       # after any jump
        out[walk].drift_divisor = bank.anchor_var if setting(&bank, ANCHORED)[walk] != 0.0 else NULL    # (53)
        if setting(&bank, DIFFERENCED)[walk] != 0.0:
            out[walk].drift_divisor = bank.move_var                                                 # (120)
        out[walk].y_scale = bank.row[Y_SCALE] if bank.row[PHASE] != UNSCALED else 0.0
        out[walk].x_scale = bank.x_scale
