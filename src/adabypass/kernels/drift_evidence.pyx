"""Drift rates judged by their forecasts many steps ahead: equations (N.28)-(N.31).

Fast drift, which wins one step ahead, harms many steps ahead. So the likeliest filter of every drift rate forecasts 8
and 64 steps ahead, every 8 and 64 steps; its errors there are its evidence there. A structure's scale at a horizon
starts from that of one step, and its forecast has a variance, equations (N.17) and (N.18); here squared errors are all
there is, and the first three do not count as evidence.
"""

from libc.math cimport isnan, log, log1p

from adabypass.kernels.multistep cimport MultistepForecaster, stabilise
from adabypass.kernels.past cimport Design, Past
from adabypass.kernels.shares cimport evidence_at, fill_shares, horizon_row, horizon_steps, judge_horizon
from adabypass.kernels.step cimport saturate
from adabypass.numerics.special cimport larger, smaller

from adabypass.state import series as design_of
from adabypass.state import structures
from adabypass.state.bank import AutoBypassSpec

cdef double EVIDENCE_DISCOUNT = design_of.EVIDENCE_DISCOUNT
cdef double MIN_SQUARES = design_of.MIN_SQUARES
cdef double MAX_SURPRISE = structures.MAX_SURPRISE
cdef double MIN_POSITIVE = 1e-300
cdef double MIN_SHARE = design_of.MIN_SHARE
cdef enum:
    RATIO = 8           # of a horizon to the one before, as in design, checked below
    MAX_GROUPS = 16    # of any bank, checked below

assert max(1 + max(AutoBypassSpec(each).drift_groups) for each in (False, True)) <= MAX_GROUPS
assert design_of.HORIZONS == tuple(RATIO ** (j + 1) for j in range(len(design_of.HORIZONS)))


cdef bint is_due(const Past* past, const Design* design) noexcept nogil:
    """Whether a horizon has no forecast that is still to be judged."""
    cdef Py_ssize_t j
    for j in range(design.n_horizons):
        if past.horizon_time[j] == 0.0:
            return True
    return False


cdef void judge_drifts(Past* past, const Design* design, double y) noexcept nogil:
    """Let a step pass, and judge the forecasts of the observation y: equations (N.29) and (N.30)."""
    cdef Py_ssize_t j
    for j in range(design.n_horizons):
        if past.horizon_time[j] > 0.0:
            past.horizon_time[j] -= 1.0
            if past.horizon_time[j] == 0.0 and not isnan(y):
                _judge(past, design, j, y)


cdef void _judge(Past* past, const Design* design, Py_ssize_t j, double y) noexcept nogil:
    cdef Py_ssize_t g, n = design.n_groups
    cdef double[MAX_GROUPS] scores, squares
    cdef double dof = past.horizons.dof[j], scale, error
    cdef bint is_scored = dof >= MIN_SQUARES
    for g in range(n):
        error = y - past.pending_mean[j * n + g]
        squares[g] = saturate(error * error)
        if is_scored:
            scale = larger(past.horizons.square_sum[j * n + g] / dof, MIN_POSITIVE)
            scores[g] = -0.5 * log(scale) - 0.5 * (dof + 1.0) * log1p(squares[g] / scale / dof)
            scores[g] = larger(scores[g], -1e300)
            squares[g] = smaller(squares[g], MAX_SURPRISE * scale)
    judge_horizon(&past.horizons, j, scores if is_scored else NULL, squares, EVIDENCE_DISCOUNT, 1.0)


cdef void begin_drifts(
    MultistepForecaster ahead, Past* past, const Design* design, const Py_ssize_t* groups
) noexcept nogil:
    """Forecast with the likeliest filter of every drift rate, for the horizons that are due: equation (N.28)."""
    cdef Py_ssize_t g, j, k, farthest = 0
    cdef Py_ssize_t[MAX_GROUPS] likeliest
    if not ahead.belief.is_known:
        return
    for j in range(design.n_horizons):
        if past.horizon_time[j] == 0.0:
            farthest = max(farthest, horizon_steps(RATIO, j))
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
                past.pending_mean[j * design.n_groups + g] = ahead.values[design.n_values + horizon_steps(RATIO, j) - 1]
    for j in range(design.n_horizons):
        if past.horizon_time[j] == 0.0:
            past.horizon_time[j] = horizon_steps(RATIO, j)


cdef void fill_step_shares(
    MultistepForecaster ahead, const Past* past, const Design* design, const Py_ssize_t* groups
) noexcept nogil:
    """Write the shares of all filters at each step ahead: equation (N.31)."""
    cdef Py_ssize_t g, k, t, row = 0, n = design.n_groups, K = ahead.belief.n_linears
    cdef double[MAX_GROUPS] total, evidence, share
    cdef double part
    ahead.has_step_shares = ahead.belief.is_known
    if not ahead.belief.is_known:
        return
    for g in range(n):
        total[g] = 0.0
    for k in range(K):
        total[groups[k]] += ahead.belief.share[k]
        ahead.step_share[k] = ahead.belief.share[k]
    for t in range(1, ahead.n_steps):
        part = horizon_row(&past.horizons, log(t + 1.0) / log(<double>RATIO), &row)
        for g in range(n):
            evidence[g] = evidence_at(&past.horizons, g, log(larger(total[g], MIN_SHARE)), row, part)
            share[g] = total[g] > 0.0
        fill_shares(evidence, n, share)
        for k in range(K):
            g = groups[k]
            ahead.step_share[t * K + k] = share[g] * (ahead.belief.share[k] / total[g]) if total[g] > 0.0 else 0.0
