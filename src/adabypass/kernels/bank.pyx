"""AutoBypass: a bank of exact-evidence filters, in place on one row.

Inside, everything is in standard units: features and y less their centre, over their scale, both from the warm-up.
"""

from libc.math cimport isnan, sqrt
from libc.string cimport memcpy

from adabypass.state.bank_table cimport (
    ANCHORED, Bank, DIFFERENCED, LARGEST_ERROR, LEVEL_RATE, LOG_SCORE, NOISE_VAR, N_FIELDS, N_SEASON_SUMS, N_SEEN,
    N_SETTINGS, N_SHIFTS, PHASE, PHASE_SETTLED, PHASE_UNSCALED, SEASON_STEP, SEASON_SUM_NOISE, SEASON_SUM_SHARE,
    SEASON_SUM_SQUARES, SEASON_SUM_TOTAL, SEASON_SUM_VARS, SHIFT_PRIOR, SHIFT_RATE, SLOPES_DRIFT, Y_SCALE, find_fields,
    lay_row, lay_scratch, read_constants, row_size, scratch_size,
)
from adabypass.distributions.component cimport Component
from adabypass.distributions.families cimport FLEXIBLE_NORMALS, FLEXIBLE_START, MODERATE, NORMALS, noise_of
from adabypass.distributions.record cimport Record, open_record
from adabypass.numerics.special cimport larger, smaller
from adabypass.numerics.dispatch cimport KERNELS, LANES, MOST_FLEXIBLE, FilterForecasts, Limits

from adabypass.kernels.bank_walks cimport drift_of_walk, setting, share_of_walk, var_at
from adabypass.kernels.step cimport LARGEST, WeightsView, StepContext, saturate
from adabypass.kernels.units cimport find_scales, standardise
from adabypass.kernels.warm_up cimport (
    is_milestone, remember, start_component, start_log_density, start_over,
)

from adabypass.state import covariance
from adabypass.numerics import limits

cdef double LARGEST_UNIT = limits.LARGEST_UNIT
cdef double LARGEST_SHIFT = limits.LARGEST_SHIFT

cdef Limits LIMITS = Limits(
    largest=limits.LARGEST,
    largest_weight=limits.LARGEST_WEIGHT,
    largest_distance=limits.LARGEST_DISTANCE,
    smallest_signal=limits.SMALLEST_SIGNAL,
    largest_log_scale=limits.LARGEST_LOG_SCALE,
    resolution=limits.RESOLUTION,
    rounding=limits.ROUNDING,
    most_explained=covariance.MOST_EXPLAINED,
    max_spread=limits.MAX_SPREAD,
)


cdef void measure_bank(Bank* bank, const double* constants, Py_ssize_t n_features, bint is_diagonal) noexcept nogil:
    """Find all dimensions of a bank, on which the places in its row and its scratch memory depend."""
    read_constants(bank, constants)
    bank.n_features, bank.n_weights = n_features, n_features + bank.intercept
    bank.n_packed = bank.n_weights if is_diagonal else bank.n_weights * (bank.n_weights + 1) // 2
    bank.n_rates = bank.n_fixed_rates + 1
    bank.n_season_sums = N_SEASON_SUMS if bank.n_shifts > 0 else 0
    bank.n_walks, bank.n_noises, bank.n_normals = LANES, LANES, MOST_FLEXIBLE
    bank.is_diagonal = is_diagonal


cdef void open_bank(const StepContext* step, Bank* bank) noexcept nogil:
    """Find everything of the bank whose row, constants and scratch memory a step has."""
    measure_bank(bank, step.constants, step.n, step.is_diagonal)
    lay_row(bank, step.row)
    lay_scratch(bank, step.scratch)
    bank.limits, bank.normals, bank.flexible, bank.flexible_start = &LIMITS, NORMALS, &FLEXIBLE_NORMALS, FLEXIBLE_START
    bank.replays, bank.extra = False, step.extra


def places(const double[::1] constants, double[::1] row, Py_ssize_t n_features, bint is_diagonal):
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
    measure_bank(&bank, &constants[0], n_features, is_diagonal)
    lay_row(&bank, &row[0])
    find_fields(&bank, found)
    n_constants = bank.settings - bank.constants + N_SETTINGS * bank.n_filters
    return [found[i] for i in range(N_FIELDS)], (row_size(&bank), scratch_size(&bank), n_constants)


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
    if bank.row[PHASE] == PHASE_UNSCALED:
        forecast_start(bank, mean, var)
        return
    standardise(bank, x, scale)
    KERNELS.bank_forecast(bank, mean, var)
    bank.newest[0], bank.newest[1] = mean[0], var[0]
    if has_shift(bank):
        mean[0] = saturate(mean[0] + shift(bank))


cdef inline bint has_shift(const Bank* bank) noexcept nogil:
    """Whether the season shifts the forecast."""
    return bank.constants[N_SHIFTS] > 0.0 and bank.row[PHASE] == PHASE_SETTLED


cdef inline double shift(const Bank* bank) noexcept nogil:
    """What the season adds to the forecast at this step, in the units of y: equation (223)."""
    return bank.row[Y_SCALE] * standard_shift(bank, <Py_ssize_t>bank.row[SEASON_STEP])


cdef inline double standard_shift(const Bank* bank, Py_ssize_t step) noexcept nogil:
    """The same in standard units."""
    cdef const double* sums = bank.season_sums
    return sums[SEASON_SUM_SHARE] * (bank.season_shift[step] - sums[SEASON_SUM_TOTAL] / bank.constants[N_SHIFTS])


cdef void learn_shift(Bank* bank, double y) noexcept nogil:
    """Learn what the season adds to the forecast, from y less what it was taken to add: equations (223)-(225)."""
    cdef Py_ssize_t step = <Py_ssize_t>bank.row[SEASON_STEP]
    cdef const double* constants = bank.constants
    cdef double* sums = bank.season_sums
    cdef double unit = bank.row[Y_SCALE], most = constants[LARGEST_ERROR], n = constants[N_SHIFTS]
    cdef double largest = most * sqrt(bank.newest[1]) / unit, error, rate, noise_rate, new
    if sums[SEASON_SUM_NOISE] > 0.0:
        largest = smaller(largest, most * sqrt(sums[SEASON_SUM_NOISE]))
    error = smaller(larger((y - bank.newest[0]) / unit, -largest), largest)
    rate = larger(constants[SHIFT_RATE], 1.0 / (constants[SHIFT_PRIOR] + bank.row[N_SEEN] / n))
    noise_rate = larger(constants[LEVEL_RATE], 1.0 / (bank.row[N_SEEN] + 2.0)) if sums[SEASON_SUM_NOISE] > 0.0 else 1.0
    new = bank.season_shift[step] + rate * (error + standard_shift(bank, step) - bank.season_shift[step])   # (223)
    new = smaller(larger(new, -LARGEST_SHIFT), LARGEST_SHIFT)
    sums[SEASON_SUM_TOTAL] += new - bank.season_shift[step]
    sums[SEASON_SUM_SQUARES] += (new - bank.season_shift[step]) * (new + bank.season_shift[step])
    sums[SEASON_SUM_VARS] -= bank.season_shift_var[step]
    bank.season_shift[step] = new
    bank.season_shift_var[step] = (1.0 - rate) * (1.0 - rate) * bank.season_shift_var[step] + rate * rate   # (224)
    sums[SEASON_SUM_VARS] += bank.season_shift_var[step]
    sums[SEASON_SUM_NOISE] += noise_rate * (smaller(error * error, LARGEST_SHIFT) - sums[SEASON_SUM_NOISE])
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
    """How much of what the steps add is more than noise: equation (225)."""
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
            KERNELS.bank_learn(bank, y)
            learn_shift(bank, y)
        else:
            KERNELS.bank_learn(bank, y)
    if bank.row[PHASE] != PHASE_SETTLED and not isnan(y):
        remember(bank, x, scale, y)
        if is_milestone(bank):
            start_over(bank)
    bank.row[SEASON_STEP] = bank.row[SEASON_STEP] + 1.0 if bank.row[SEASON_STEP] + 1.0 < bank.period else 0.0


cdef void describe_bank(const Bank* bank, double base, double* record) noexcept nogil:
    """Write the forecast in the user's units, with `base` added to it, after `forecast_bank`."""
    cdef Record out = open_record(record, bank.n_filters, LANES, True)
    cdef FilterForecasts places
    memcpy(out.normal_share, bank.normal_share, MOST_FLEXIBLE * sizeof(double))
    if bank.row[PHASE] == PHASE_UNSCALED:
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


cdef void weigh(StepContext* step, double* mean, double* var) noexcept nogil:
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
        unit = smaller(bank.row[Y_SCALE] / bank.x_scale[i], LARGEST_UNIT) if bank.x_scale[i] > 0.0 else 0.0
        mean[i] *= unit
        var[i] = var[i] * unit * unit if unit > 0.0 else LARGEST


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
        out[walk].drift_divisor = bank.anchor_var if setting(&bank, ANCHORED)[walk] != 0.0 else NULL    # (53)
        if setting(&bank, DIFFERENCED)[walk] != 0.0:
            out[walk].drift_divisor = bank.move_var                                                 # (120)
        out[walk].y_scale = bank.row[Y_SCALE] if bank.row[PHASE] != PHASE_UNSCALED else 0.0
        out[walk].x_scale = bank.x_scale
