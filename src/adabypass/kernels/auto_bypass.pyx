"""AutoBypass's kernel: the bank of y and, while y is positive, those of its log and its root: equations (J.1)-(J.6).

The three are rows of their own within one row. The others follow the first as long as every value of y is positive, and
have shares in the forecast by evidence once their units are settled; after a value that is not, the first is alone.
"""

from libc.math cimport INFINITY, exp, fabs, isfinite, isnan, log, sqrt
from libc.string cimport memset

from adabypass.distributions.component cimport IDENTITY, LOG, N_TARGETS, ROOT, has_target, log_slope, to_target
from adabypass.distributions.families cimport back_moments
from adabypass.distributions.record cimport ABSENT, RecordFields, open_record
from adabypass.kernels.bank cimport (
    describe_bank, export_mixture, forecast_bank, learn_bank, mixture_weights, open_bank, setting, weights,
)
from adabypass.kernels.covariance cimport FULL
from adabypass.kernels.step cimport Kernel, MAX_VALUE, LINE, StepContext, saturate
from adabypass.numerics.dispatch cimport LANES, N_FLEXIBLE_NORMALS, OPENED
from adabypass.numerics.special cimport larger, smaller
from adabypass.state.bank_table cimport (
    Bank, MIN_EVIDENCE, LOG_SCORE, NOISE_VAR, N_SETTINGS, PHASE, PHASE_SETTLED, PRIOR_PREC, SEASON_STEP,
    TARGET_DISCOUNT, row_size, scratch_size,
)

from adabypass.numerics import limits

cdef double MAX_SPREAD = limits.MAX_SPREAD
cdef double FEW_UNITS = 30.0        # a log or a root up to which neither y nor its square in such units is extreme


ctypedef struct Targets:
    # The banks of a row.
    Bank[N_TARGETS] bank
    double* evidence        # of each; NULL if there is but the first
    double* unit            # of y: 0 before its first value, -1 once one was not positive; then of each feature
    double* share           # scratch  of each bank in the newest forecast,
    double* fits            # scratch  and whether it took the features
    double* extra           # scratch  variance of x'w of every walk, of the log and of the root
    double* x               # scratch  features, as the log and the root have them
    Py_ssize_t[N_TARGETS] n_record

if sizeof(Targets) > sizeof(double) * (3 * OPENED + 16):
    raise ImportError("a step has too little room for three banks")


cdef inline Targets* opened(StepContext* step) noexcept nogil:
    """The banks of the step's row; their fields are looked for once, as long as the row is the same."""
    cdef Targets* targets = <Targets*>step.opened
    if step.opened_row != step.row:
        open_targets(step, targets)
        step.opened_row = step.row
    targets.bank[IDENTITY].extra = step.extra
    return targets


cdef void open_targets(StepContext* step, Targets* targets) noexcept nogil:
    """Point at the rows of the banks, in the order of `TRANSFORMED_LAYOUT`, and at the scratch memory."""
    cdef Py_ssize_t n = step.n
    cdef Bank* own = &targets.bank[IDENTITY]
    cdef Bank* bank
    cdef StepContext part
    cdef int target
    open_bank(step, own)
    targets.evidence = NULL
    if own.transformed_at == 0:
        return
    targets.n_record[IDENTITY] = _record_size(own)
    targets.evidence = own.row + row_size(own)
    targets.unit = targets.evidence + N_TARGETS
    targets.share = step.scratch + scratch_size(own)
    targets.fits = targets.share + N_TARGETS
    targets.extra = targets.share + LINE
    part.n, part.covariance, part.extra = n, &FULL, NULL
    part.constants = step.constants + own.transformed_at
    part.row, part.scratch = targets.unit + 1 + n, targets.extra + 2 * LANES
    for target in range(LOG, N_TARGETS):
        bank = &targets.bank[target]
        open_bank(&part, bank)
        part.row += ((own.walk_mean - bank.walk_mean) % LINE + LINE) % LINE         # so that both begin a cache line
        open_bank(&part, bank)
        targets.n_record[target] = _record_size(bank)
        part.row += row_size(bank)
        part.scratch += scratch_size(bank)
    targets.x = part.scratch


cdef void find_extent(StepContext* step, Extent* out) noexcept nogil:
    """Find where the row, the scratch memory and the constants of a step end."""
    cdef Targets* targets = opened(step)
    cdef const Bank* own = &targets.bank[IDENTITY]
    cdef const Bank* last = own if targets.evidence == NULL else &targets.bank[ROOT]
    cdef int target
    out.first_walk, out.row_end = own.walk_mean, last.row + row_size(last)
    out.scratch_end = step.scratch + scratch_size(own)
    out.constants_end = last.settings + N_SETTINGS * last.n_filters
    out.n_record = _record_size(own)
    if targets.evidence == NULL:
        return
    out.scratch_end = targets.x + (N_TARGETS - 1) * step.n
    for target in range(LOG, N_TARGETS):
        out.n_record += targets.n_record[target]


cdef Py_ssize_t _record_size(const Bank* bank) noexcept nogil:
    """Count the numbers that keep a forecast: distributions/record.pyx."""
    cdef Py_ssize_t k, n_shaped = 0
    for k in range(bank.n_filters):
        n_shaped += setting(bank, NOISE_VAR)[k] == 0.0
    return 1 + N_FLEXIBLE_NORMALS + 2 * (bank.n_filters + LANES) + n_shaped


cdef inline double over_unit(double value, double unit, int target) noexcept nogil:
    """g(value / unit), also where the quotient is too large or too small to be kept."""
    cdef double quotient = value / unit
    if isfinite(quotient) and quotient != 0.0:
        return to_target(target, quotient)
    if target == LOG:
        return log(fabs(value)) - log(fabs(unit))
    return to_target(ROOT, value) / to_target(ROOT, unit)


cdef bint transform_features(const Targets* targets, const StepContext* step, int target, double* out) noexcept nogil:
    """Write h(x): equation (J.1). Return whether every feature that is transformed has kept its sign."""
    cdef Py_ssize_t i
    cdef double value
    cdef const double* unit = targets.unit + 1
    for i in range(step.n):
        value = step.scale * step.x[i]
        out[i] = value
        if unit[i] != 0.0:
            if not keeps_sign(value, unit[i]):
                return False
            out[i] = over_unit(value, unit[i], target)
    return True


cdef inline bint keeps_sign(double value, double unit) noexcept nogil:
    return value > 0.0 if unit > 0.0 else value < 0.0


cdef inline bint is_followed(const Targets* targets) noexcept nogil:
    """Whether there are banks of the log and the root that follow y."""
    return targets.evidence != NULL and targets.unit[0] > 0.0


cdef void forecast(StepContext* step) noexcept nogil:
    """Mean and variance of the mixture of the banks' forecasts."""
    cdef Targets* targets = opened(step)
    step.is_mixed = False
    forecast_bank(&targets.bank[IDENTITY], step.x, step.scale, &step.mean, &step.var)
    if is_followed(targets):
        mix_banks(step, targets)


cdef void mix_banks(StepContext* step, Targets* targets) noexcept nogil:
    """Forecast with the other banks too, and mix what they say of y: equations (J.3) and (J.4)."""
    cdef double[N_TARGETS] mean, var
    cdef double best = 0.0, total = 0.0, center = 0.0, spread = 0.0
    cdef double* x
    cdef Bank* bank
    cdef int target, likeliest = IDENTITY
    cdef bint is_settled = targets.bank[IDENTITY].row[PHASE] == PHASE_SETTLED     # values differ by more than rounding
    mean[IDENTITY], var[IDENTITY], targets.share[IDENTITY] = step.mean, step.var, 1.0
    best = targets.evidence[IDENTITY]
    for target in range(LOG, N_TARGETS):
        bank, x = &targets.bank[target], targets.x + (target - 1) * step.n
        targets.share[target] = mean[target] = var[target] = 0.0
        targets.fits[target] = transform_features(targets, step, target, x)
        if targets.fits[target] == 0.0:
            continue
        targets.share[target] = spread_extra(step, targets, target) and is_settled and bank.row[PHASE] == PHASE_SETTLED
        forecast_bank(bank, x, 1.0, &mean[target], &var[target])
        if targets.share[target] > 0.0:
            bring_back(target, targets.unit[0], &mean[target], &var[target])
            best = larger(best, targets.evidence[target])
    for target in range(N_TARGETS):
        if targets.share[target] > 0.0:
            targets.share[target] = exp(targets.evidence[target] - best)
            total += targets.share[target]
    if targets.share[IDENTITY] == total:
        targets.share[IDENTITY] = 1.0
        return
    for target in range(N_TARGETS):
        targets.share[target] /= total
        if targets.share[target] > targets.share[likeliest]:
            likeliest = target
    keep_near(mean[likeliest], var[likeliest], mean, var)
    for target in range(N_TARGETS):
        center += targets.share[target] * mean[target]
    for target in range(N_TARGETS):
        if targets.share[target] > 0.0:
            spread += targets.share[target] * (var[target] + (mean[target] - center) * (mean[target] - center))
    step.mean, step.var = saturate(center), smaller(larger(spread, 1.0 / MAX_VALUE), MAX_VALUE)
    step.is_mixed = True


cdef void keep_near(double center, double spread_var, double* mean, double* var) noexcept nogil:
    """Let no bank count as farther from the likeliest one, or as wider, than (J.6) says."""
    cdef double spread = MAX_SPREAD * sqrt(spread_var)
    cdef int target
    for target in range(N_TARGETS):
        mean[target] = larger(smaller(mean[target], center + spread), center - spread)
        var[target] = smaller(var[target], MAX_SPREAD * MAX_SPREAD * spread_var)


cdef void bring_back(int target, double unit, double* mean, double* var) noexcept nogil:
    """From mean and variance of the log or the root over its unit to those of y: equation (J.4)."""
    if fabs(mean[0]) < FEW_UNITS:       # which keeps most digits of a y that is far from 0
        back_moments(target, mean[0], var[0], mean, var)
        mean[0], var[0] = saturate(unit * mean[0]), smaller(unit * var[0] * unit, MAX_VALUE)
    elif target == LOG:
        back_moments(target, mean[0] + log(unit), var[0], mean, var)
    else:
        back_moments(target, mean[0] * sqrt(unit), var[0] * unit, mean, var)


cdef bint spread_extra(StepContext* step, Targets* targets, int target) noexcept nogil:
    """Write what unknown features add to the variance of the log or the root: equation (J.5). Return whether it can be.
    """
    cdef double* extra = targets.extra + (target - 1) * LANES
    cdef double slope
    cdef Py_ssize_t walk
    targets.bank[target].extra = NULL
    if step.extra == NULL:
        return True
    if not step.mean > 0.0:
        return False
    slope = exp(log_slope(target, step.mean / targets.unit[0])) / targets.unit[0]
    for walk in range(LANES):
        extra[walk] = smaller(slope * step.extra[walk] * slope, MAX_VALUE)
    targets.bank[target].extra = extra
    return True


cdef void learn(StepContext* step, double y) noexcept nogil:
    """Learn from y, after `forecast`; nan lets time pass."""
    cdef Targets* targets = opened(step)
    cdef Py_ssize_t i
    learn_bank(&targets.bank[IDENTITY], step.x, step.scale, y)
    if targets.evidence == NULL or targets.unit[0] < 0.0:
        return
    if targets.unit[0] > 0.0:
        follow(step, targets, y)
    elif y > 0.0:
        targets.unit[0] = y
        for i in range(step.n):
            targets.unit[1 + i] = step.scale * step.x[i]
        follow_first(step, targets, y)
    if y <= 0.0:
        targets.unit[0] = -1.0


cdef void follow_first(StepContext* step, Targets* targets, double y) noexcept nogil:
    """Let the banks of the log and the root learn their first observation."""
    cdef int target
    for target in range(LOG, N_TARGETS):
        start_again(targets, target)
        transform_features(targets, step, target, targets.x)
        learn_bank(&targets.bank[target], targets.x, 1.0, over_unit(y, targets.unit[0], target))
        targets.bank[target].row[LOG_SCORE] = 0.0


cdef void start_again(Targets* targets, int target) noexcept nogil:
    """Forget what a bank has learned, at this step of the season."""
    cdef Bank* bank = &targets.bank[target]
    cdef double step = targets.bank[IDENTITY].row[SEASON_STEP] - 1.0    # the first bank has learned already
    memset(bank.row, 0, row_size(bank) * sizeof(double))
    bank.season_wave_prec[0] = bank.season_wave_prec[1] = bank.constants[PRIOR_PREC]
    bank.row[SEASON_STEP] = step if step >= 0.0 else bank.period - 1.0


cdef void follow(StepContext* step, Targets* targets, double y) noexcept nogil:
    """Let the banks of the log and the root learn, and weigh all by what they said of y: equations (J.2) and (J.3)."""
    cdef double[N_TARGETS] score
    cdef double* log_score = targets.bank[IDENTITY].row + LOG_SCORE
    cdef double* x
    cdef int target
    score[IDENTITY] = log_score[0]
    for target in range(LOG, N_TARGETS):
        x = targets.x + (target - 1) * step.n
        if targets.fits[target] == 0.0:
            leave_features(step, targets, target, x)
        score[target] = learn_target(targets, target, x, y)
    if isnan(y) or isnan(score[IDENTITY]):
        return
    log_score[0] = larger(log_mixture(targets.share, score), -MAX_VALUE)
    weigh_targets(targets, score, log_score[0])


cdef double learn_target(Targets* targets, int target, const double* x, double y) noexcept nogil:
    """Let a bank learn, and return the log density that it gave y; nan if y is missing."""
    cdef Bank* bank = &targets.bank[target]
    cdef double unit = targets.unit[0], score
    if isnan(y):
        learn_bank(bank, x, 1.0, y)
        return y
    if not has_target(target, y):
        return -INFINITY
    learn_bank(bank, x, 1.0, over_unit(y, unit, target))
    score = bank.row[LOG_SCORE] + log_slope(target, y) + (0.0 if target == LOG else -0.5 * log(unit))
    bank.row[LOG_SCORE] = 0.0       # that of all banks is kept in the first
    return score


cdef void leave_features(StepContext* step, Targets* targets, int target, double* x) noexcept nogil:
    """Take features that have not kept their sign as they are from now on: the bank learns from the start."""
    cdef Py_ssize_t i
    for i in range(step.n):
        if not keeps_sign(step.scale * step.x[i], targets.unit[1 + i]):
            targets.unit[1 + i] = 0.0
    start_again(targets, target)
    transform_features(targets, step, target, x)


cdef double log_mixture(const double* share, const double* score) noexcept nogil:
    """log Σ share exp(score)"""
    cdef double best = -INFINITY, total = 0.0
    cdef int target
    for target in range(N_TARGETS):
        if share[target] > 0.0:
            best = larger(best, score[target])
    for target in range(N_TARGETS):
        if share[target] > 0.0:
            total += share[target] * exp(score[target] - best)
    return best + log(total)


cdef void weigh_targets(Targets* targets, const double* score, double mixture) noexcept nogil:
    """Add the scores to the evidence: equation (J.3). One without a share gets that of the mixture."""
    cdef const double* constants = targets.bank[IDENTITY].constants
    cdef double best = -INFINITY
    cdef int target
    for target in range(N_TARGETS):
        targets.evidence[target] *= constants[TARGET_DISCOUNT]
        targets.evidence[target] += score[target] if targets.share[target] > 0.0 else mixture
        best = larger(best, targets.evidence[target])
    for target in range(N_TARGETS):
        targets.evidence[target] = larger(targets.evidence[target] - best, constants[MIN_EVIDENCE])


cdef void describe(StepContext* step, double base, double* record) noexcept nogil:
    """Write the forecast in the user's units, with `base` added to it, after `forecast`."""
    cdef Targets* targets = opened(step)
    cdef int target
    describe_bank(&targets.bank[IDENTITY], base, record)
    if targets.evidence == NULL or step.is_plain:
        return
    if step.is_mixed:
        scale_record(targets, IDENTITY, record)
    for target in range(LOG, N_TARGETS):
        record += targets.n_record[target - 1]
        if step.is_mixed and targets.share[target] > 0.0:
            describe_bank(&targets.bank[target], log(targets.unit[0]) if target == LOG else 0.0, record)
            scale_record(targets, target, record)
        else:
            memset(record, 0, targets.n_record[target] * sizeof(double))
            record[0] = ABSENT


cdef void scale_record(const Targets* targets, int target, double* record) noexcept nogil:
    """Multiply weights by the bank's share, and bring a root from units of y's to the user's."""
    cdef const Bank* bank = &targets.bank[target]
    cdef RecordFields out = open_record(record, bank.n_filters, LANES, True)
    cdef double unit = sqrt(targets.unit[0]) if target == ROOT else 1.0
    cdef Py_ssize_t k
    for k in range(bank.n_filters):
        out.weight[k] *= targets.share[target]
        out.noise_scale[k] *= unit
    for k in range(LANES):
        out.mean[k] *= unit
        out.signal_var[k] *= unit * unit


KERNEL = Kernel.of(
    forecast, learn, weights, export_mixture, scale_up=False, learns_extra=True, describe=describe,
    mixture_weights=mixture_weights,
)
