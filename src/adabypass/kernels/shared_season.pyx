"""AutoBypass with a season whose share is learned: three models in one row, mixed by evidence: equations (J.8)-(J.10).

The first learns the season step by step (H.37)-(H.41), the second knows of none, and the third has a few waves over the
season as features. Each is a whole AutoBypass, banks of the log and the root included; weights and parameters are those
of the first.
"""

from libc.math cimport INFINITY, M_PI, NAN, cos, exp, isnan, log, sin, sqrt
from libc.string cimport memcpy, memset

from adabypass.kernels.auto_bypass cimport Extent, find_extent
from adabypass.kernels.bank cimport export_mixture, mixture_weights, weights
from adabypass.kernels.step cimport (
    LINE, MAX_VALUE, Describe, Forecast, Kernel, Learn, LinearMixture, StepContext, WeightsView, next_line, saturate,
)
from adabypass.numerics.special cimport larger, smaller
from adabypass.state.bank_table cimport LOG_SCORE, MIN_EVIDENCE, PERIOD, SEASON_STEP, TARGET_DISCOUNT

from adabypass.kernels.auto_bypass import KERNEL as PART
from adabypass.numerics import limits
from adabypass.state import shared_season as design

cdef enum:
    STEPS, NONE, WAVES, N_PARTS     # the models: with steps of the season, without a season, with waves over it
    STEP_SIZE = 384                 # room for a StepContext, in doubles
    MAX_WAVES = 3

assert (N_PARTS, STEP_SIZE, MAX_WAVES) == (len(design.Part), design.STEP_SIZE, design.MAX_WAVES)

if sizeof(StepContext) > sizeof(double) * STEP_SIZE:
    raise ImportError("the scratch memory of a shared season has too little room for a step")

cdef double MAX_SPREAD = limits.MAX_SPREAD

cdef Forecast forecast_part = (<Kernel>PART).forecast
cdef Learn learn_part = (<Kernel>PART).learn
cdef Describe describe_part = (<Kernel>PART).describe


ctypedef struct Parts:
    # The models of a row.
    StepContext* step           # scratch  of each
    Py_ssize_t[N_PARTS] n_record
    Py_ssize_t period
    Py_ssize_t n_waves          # features of the third that come before those that are given
    double* x                   # scratch  features of the third
    double* evidence            # of each part
    double[N_PARTS] share       # scratch  of each in the newest forecast,
    double[N_PARTS] mean        # scratch  and its mean and variance, kept near those of the likeliest
    double[N_PARTS] var


cdef inline Parts* opened(StepContext* step) noexcept nogil:
    """The parts of the step's row; they are looked for once, as long as the row is the same."""
    cdef Parts* parts = <Parts*>step.opened
    if step.opened_row != step.row:
        open_parts(step, parts)
        step.opened_row = step.row
    return parts


cdef void open_parts(StepContext* step, Parts* parts) noexcept nogil:
    """Point at the parts of a row, in the order of `SharedSeasonSpec.layout`, and at the scratch memory."""
    cdef double* memory = step.scratch
    cdef double* row = step.row
    cdef const double* constants = step.constants
    cdef const double* plain_constants = NULL
    cdef StepContext* part
    cdef Extent own, extent
    cdef int k
    parts.period = <Py_ssize_t>constants[PERIOD]
    parts.n_waves = count_waves(parts.period)
    parts.x = memory
    memory = next_line(memory + parts.n_waves + step.n)
    parts.step = <StepContext*>memory
    memset(parts.step, 0, N_PARTS * sizeof(StepContext))
    memory += N_PARTS * STEP_SIZE
    for k in range(N_PARTS):
        part = &parts.step[k]
        part.n = part.n_total = step.n + (parts.n_waves if k == WAVES else 0)
        part.covariance, part.x, part.scale = step.covariance, NULL, 1.0
        part.row, part.constants, part.scratch = row, constants, next_line(memory)
        find_extent(part, &extent)
        if k == STEPS:
            own, plain_constants = extent, extent.constants_end
        else:
            part.row += ((own.first_walk - extent.first_walk) % LINE + LINE) % LINE     # so that all begin a cache line
            find_extent(part, &extent)
        row, memory, constants = extent.row_end, extent.scratch_end, plain_constants
        parts.n_record[k] = extent.n_record
    parts.evidence = row


cdef inline Py_ssize_t count_waves(Py_ssize_t period) noexcept nogil:
    """How many features the waves over a season are; a sine of half the period is 0."""
    return 2 * MAX_WAVES if period > 2 * MAX_WAVES else period - 1


cdef void fill_waves(Parts* parts, double at, double scale) noexcept nogil:
    """Write the cosines and sines of a step of the season, over `scale`: equation (J.8)."""
    cdef double angle = 2.0 * M_PI * at / parts.period
    cdef Py_ssize_t i
    for i in range(parts.n_waves):
        parts.x[i] = (sin((i // 2 + 1) * angle) if i % 2 else cos((i // 2 + 1) * angle)) / scale


cdef void forecast(StepContext* step) noexcept nogil:
    """Mean and variance of the mixture of the parts' forecasts."""
    cdef Parts* parts = opened(step)
    cdef StepContext* part
    cdef int k
    fill_waves(parts, step.row[SEASON_STEP], step.scale)
    memcpy(parts.x + parts.n_waves, step.x, step.n * sizeof(double))
    for k in range(N_PARTS):
        part = &parts.step[k]
        part.x, part.scale, part.extra = (parts.x if k == WAVES else step.x), step.scale, step.extra
        forecast_part(part)
        parts.mean[k], parts.var[k] = part.mean, part.var
    fill_shares(parts)
    mix_parts(step, parts)
    step.is_mixed = True


cdef void fill_shares(Parts* parts) noexcept nogil:
    """Write the shares: equation (J.9). Of blank forecasts, which all parts make together, the first is enough."""
    cdef double best = -INFINITY, total = 0.0
    cdef int k
    for k in range(N_PARTS):
        parts.share[k] = k == STEPS
        best = larger(best, parts.evidence[k])
    if isnan(parts.mean[STEPS]):
        return
    for k in range(N_PARTS):
        parts.share[k] = exp(parts.evidence[k] - best)
        total += parts.share[k]
    for k in range(N_PARTS):
        parts.share[k] /= total


cdef void mix_parts(StepContext* step, Parts* parts) noexcept nogil:
    """Mix means and variances, none of them far from the likeliest part: equation (J.6)."""
    cdef int k, likeliest = STEPS
    cdef double center, spread, var = 0.0
    step.mean, step.var = parts.mean[STEPS], parts.var[STEPS]
    if isnan(step.mean):
        return
    for k in range(N_PARTS):
        if parts.share[k] > parts.share[likeliest]:
            likeliest = k
    center, spread = parts.mean[likeliest], MAX_SPREAD * sqrt(parts.var[likeliest])
    step.mean = 0.0
    for k in range(N_PARTS):
        parts.mean[k] = larger(smaller(parts.mean[k], center + spread), center - spread)
        parts.var[k] = smaller(parts.var[k], spread * spread)
        step.mean += parts.share[k] * parts.mean[k]
    for k in range(N_PARTS):
        var += parts.share[k] * (parts.var[k] + (parts.mean[k] - step.mean) * (parts.mean[k] - step.mean))
    step.mean, step.var = saturate(step.mean), smaller(larger(var, 1.0 / MAX_VALUE), MAX_VALUE)


cdef void learn(StepContext* step, double y) noexcept nogil:
    """Let every part learn from y, after `forecast`, and weigh them by what they said of it; nan lets time pass."""
    cdef Parts* parts = opened(step)
    cdef bint is_blank = isnan(parts.mean[STEPS])
    cdef double[N_PARTS] score
    cdef int k
    for k in range(N_PARTS):
        learn_part(&parts.step[k], y)
        score[k] = parts.step[k].row[LOG_SCORE]
        if k != STEPS:
            parts.step[k].row[LOG_SCORE] = 0.0      # that of all parts is kept in the first
    if isnan(y) or is_blank:
        return
    step.row[LOG_SCORE] = larger(log_mixture(parts.share, score), -MAX_VALUE)
    weigh(parts, score)


cdef double log_mixture(const double* share, const double* score) noexcept nogil:
    """log Σ share exp(score)"""
    cdef double best = -INFINITY, total = 0.0
    cdef int k
    for k in range(N_PARTS):
        if share[k] > 0.0:
            best = larger(best, score[k])
    for k in range(N_PARTS):
        if share[k] > 0.0:
            total += share[k] * exp(score[k] - best)
    return best + log(total)


cdef void weigh(Parts* parts, const double* score) noexcept nogil:
    """Add the scores to the evidence: equation (J.10)."""
    cdef const double* constants = parts.step[STEPS].constants
    cdef double* evidence = parts.evidence
    cdef double best = -INFINITY
    cdef int k
    for k in range(N_PARTS):
        evidence[k] = constants[TARGET_DISCOUNT] * evidence[k] + score[k]
        best = larger(best, evidence[k])
    for k in range(N_PARTS):
        evidence[k] = larger(evidence[k] - best, constants[MIN_EVIDENCE])


cdef void describe(StepContext* step, double base, double* record) noexcept nogil:
    """Write shares, means and variances of the parts, then the record of each, with `base` added to all values."""
    cdef Parts* parts = opened(step)
    cdef int k
    for k in range(N_PARTS):
        record[k] = parts.share[k]
        record[N_PARTS + k] = saturate(parts.mean[k] + base) if not isnan(parts.mean[k]) else NAN
        record[2 * N_PARTS + k] = parts.var[k]
    record += 3 * N_PARTS
    for k in range(N_PARTS):
        parts.step[k].is_plain = False
        describe_part(&parts.step[k], base, record)
        record += parts.n_record[k]


cdef void weights_of_steps(const StepContext* step, WeightsView* out) noexcept nogil:
    weights(&opened(<StepContext*>step).step[STEPS], out)


cdef void export_steps(StepContext* step, LinearMixture* out) noexcept nogil:
    export_mixture(&opened(step).step[STEPS], out)


cdef void mixture_weights_of_steps(StepContext* step, double* mean, double* var) noexcept nogil:
    mixture_weights(&opened(step).step[STEPS], mean, var)


KERNEL = Kernel.of(
    forecast, learn, weights_of_steps, export_steps, scale_up=False, learns_extra=True, describe=describe,
    mixture_weights=mixture_weights_of_steps,
)
