"""Drift rates judged by their forecasts many steps ahead: equations (196)-(199).

Fast drift, which wins one step ahead, harms many steps ahead. So the likeliest filter of every drift rate forecasts 8
and 64 steps ahead, every so many steps; its errors there are its evidence there.
"""

from libc.math cimport exp, isnan, log, log1p

from adabypass.kernels.ahead cimport MultistepForecaster
from adabypass.kernels.ahead_stability cimport stabilise
from adabypass.kernels.past cimport Design, Past
from adabypass.kernels.step cimport saturate
from adabypass.numerics.special cimport larger, smaller

from adabypass.state import series as design_of
from adabypass.state.bank import AutoBypassSpec

cdef double PRIOR_COUNT = design_of.PRIOR_COUNT
cdef double EVIDENCE_DISCOUNT = design_of.EVIDENCE_DISCOUNT
cdef double SCALE_DISCOUNT = design_of.SCALE_DISCOUNT
cdef double FEWEST_SQUARES = design_of.FEWEST_SQUARES
cdef double LARGEST_SURPRISE = design_of.LARGEST_SURPRISE
cdef double LEAST_EVIDENCE = design_of.LEAST_EVIDENCE
cdef double SMALLEST = 1e-300
cdef double LEAST_SHARE = design_of.LEAST_SHARE
cdef enum:
    RATIO = 8           # of a horizon to the one before, as in design, checked below
    MOST_GROUPS = 16    # of any bank, checked below

assert max(1 + max(AutoBypassSpec(each).drift_groups) for each in (False, True)) <= MOST_GROUPS
assert design_of.HORIZONS == tuple(RATIO ** (j + 1) for j in range(len(design_of.HORIZONS)))


cdef inline Py_ssize_t steps_of(Py_ssize_t j) noexcept nogil:
    """How many steps ahead horizon j is."""
    cdef Py_ssize_t steps = RATIO
    for _ in range(j):
        steps *= RATIO
    return steps


cdef bint is_due(const Past* past, const Design* design) noexcept nogil:
    """Whether a horizon has no forecast that is still to be judged."""
    cdef Py_ssize_t j
    for j in range(design.n_horizons):
        if past.horizon_time[j] == 0.0:
            return True
    return False


cdef void judge_drifts(Past* past, const Design* design, double y) noexcept nogil:
    """Let a step pass, and judge the forecasts of the observation y: equations (197) and (198)."""
    cdef Py_ssize_t j
    for j in range(design.n_horizons):
        if past.horizon_time[j] > 0.0:
            past.horizon_time[j] -= 1.0
            if past.horizon_time[j] == 0.0 and not isnan(y):
                _judge(past, design, j, y)


cdef void _judge(Past* past, const Design* design, Py_ssize_t j, double y) noexcept nogil:
    cdef Py_ssize_t g, n = design.n_groups
    cdef double* evidence = past.horizon_evidence + j * n
    cdef double* squares = past.horizon_square_sum + j * n
    cdef double[MOST_GROUPS] scores
    cdef double dof = past.horizon_dof[j], best = -1e300, square, scale, error
    cdef bint is_scored = dof >= FEWEST_SQUARES
    for g in range(n):
        error = y - past.pending_mean[j * n + g]
        square = saturate(error * error)
        if is_scored:
            scale = larger(squares[g] / dof, SMALLEST)
            scores[g] = -0.5 * log(scale) - 0.5 * (dof + 1.0) * log1p(square / scale / dof)     # (197)
            scores[g] = larger(scores[g], -1e300)
            best = larger(best, scores[g])
            square = smaller(square, LARGEST_SURPRISE * scale)
        squares[g] = saturate(SCALE_DISCOUNT * squares[g] + square)                             # (198)
    past.horizon_dof[j] = SCALE_DISCOUNT * dof + 1.0
    if not is_scored:
        return
    for g in range(n):
        evidence[g] = EVIDENCE_DISCOUNT * evidence[g] + larger(scores[g] - best, LEAST_EVIDENCE)
    best = -1e300
    for g in range(n):
        best = larger(best, evidence[g])
    for g in range(n):
        evidence[g] -= best
    past.horizon_count[j] = EVIDENCE_DISCOUNT * past.horizon_count[j] + 1.0


cdef void begin_drifts(
    MultistepForecaster ahead, Past* past, const Design* design, const Py_ssize_t* groups
) noexcept nogil:
    """Forecast with the likeliest filter of every drift rate, for the horizons that are due: equation (196)."""
    cdef Py_ssize_t g, j, k, farthest = 0
    cdef Py_ssize_t[MOST_GROUPS] likeliest
    if not ahead.belief.is_known:
        return
    for j in range(design.n_horizons):
        if past.horizon_time[j] == 0.0:
            farthest = max(farthest, steps_of(j))
    for g in range(design.n_groups):
        likeliest[g] = -1
    for k in range(ahead.belief.n_linears):
        g = groups[k]
        if likeliest[g] < 0 or ahead.belief.share[k] > ahead.belief.share[likeliest[g]]:
            likeliest[g] = k
    stabilise(ahead, past)
    ahead._place_slots(past)
    for g in range(design.n_groups):
        ahead.forecast_mean(likeliest[g], past, farthest)
        for j in range(design.n_horizons):
            if past.horizon_time[j] == 0.0:
                past.pending_mean[j * design.n_groups + g] = ahead.values[design.n_values + steps_of(j) - 1]
    for j in range(design.n_horizons):
        if past.horizon_time[j] == 0.0:
            past.horizon_time[j] = steps_of(j)


cdef void fill_step_shares(
    MultistepForecaster ahead, const Past* past, const Design* design, const Py_ssize_t* groups
) noexcept nogil:
    """Write the shares of all filters at each step ahead: equation (199)."""
    cdef Py_ssize_t g, j, k, t, row, n = design.n_groups, K = ahead.belief.n_linears
    cdef double[MOST_GROUPS] total, weight
    cdef double place, part, last, here, own, best, norm
    ahead.has_step_shares = ahead.belief.is_known
    if not ahead.belief.is_known:
        return
    for g in range(n):
        total[g] = 0.0
    for k in range(K):
        total[groups[k]] += ahead.belief.share[k]
        ahead.step_share[k] = ahead.belief.share[k]
    for t in range(1, ahead.n_steps):
        place = smaller(log(t + 1.0) / log(<double>RATIO), <double>design.n_horizons)
        row = min(<Py_ssize_t>place, design.n_horizons - 1)
        part, best, norm = place - row, -1e300, 0.0
        for g in range(n):
            last = here = log(larger(total[g], LEAST_SHARE))
            for j in range(row + 1):
                own = past.horizon_count[j] / (past.horizon_count[j] + PRIOR_COUNT)
                last, here = here, own * past.horizon_evidence[j * n + g] + (1.0 - own) * here
            weight[g] = (1.0 - part) * last + part * here
            best = larger(best, weight[g])
        for g in range(n):
            weight[g] = exp(weight[g] - best) if total[g] > 0.0 else 0.0
            norm += weight[g]
        for k in range(K):
            g = groups[k]
            ahead.step_share[t * K + k] = (
                weight[g] / norm * (ahead.belief.share[k] / total[g]) if total[g] > 0.0 else 0.0
            )
