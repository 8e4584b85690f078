"""Discounted evidence and the shares that follow from it: equations (N.10), (N.11), (N.19)-(N.22) and (N.29)-(N.31).

Structures, the pool of structures and regressions, and both kinds of judged horizons use these functions; what a score
is, and when it is due, is theirs.
"""

from libc.math cimport exp, isnan, log

from adabypass.kernels.step cimport saturate
from adabypass.numerics.special cimport larger, smaller

from adabypass.state import structures as design

cdef double MIN_EVIDENCE = design.MIN_EVIDENCE
cdef double SCALE_DISCOUNT = design.SCALE_DISCOUNT
cdef double PRIOR_COUNT = design.HORIZON_PRIOR_COUNT


cdef void add_log_scores(
    double* evidence,           # inout  (n,)  the best one has 0 afterwards
    const double* scores,       # in     (n,)  nan of a member that made no forecast
    Py_ssize_t n, double discount, double power,
) noexcept nogil:
    """Add log scores to the evidence: equation (N.10). A score that is nan is replaced by that of the mixture."""
    cdef Py_ssize_t k
    cdef double best = -1e300, best_score = -1e300, total = 0.0, mixed = 0.0, share, score, largest = -1e300
    cdef bint is_complete = True
    for k in range(n):
        if isnan(scores[k]):
            is_complete = False
        else:
            best = larger(best, evidence[k])
            best_score = larger(best_score, scores[k])
    if not is_complete:
        for k in range(n):
            if not isnan(scores[k]):
                share = exp(evidence[k] - best)
                total += share
                mixed += share * exp(scores[k] - best_score)
        mixed = best_score + (larger(log(mixed / total), MIN_EVIDENCE) if mixed > 0.0 else MIN_EVIDENCE)
    for k in range(n):
        score = mixed if isnan(scores[k]) else larger(scores[k], best_score + MIN_EVIDENCE)
        evidence[k] = discount * evidence[k] + power * (score - best_score)
        largest = larger(largest, evidence[k])
    for k in range(n):
        evidence[k] -= largest


cdef void fill_shares(
    const double* evidence,     # in     (n,)
    Py_ssize_t n,
    double* share,              # inout  (n,)  0 of a member without a share; then the shares, which add up to 1
) noexcept nogil:
    """share = exp(evidence) / sum(exp(evidence)) over the members that have one: equation (N.11)."""
    cdef Py_ssize_t k
    cdef double best = -1e300, total = 0.0
    for k in range(n):
        if share[k] != 0.0:
            best = larger(best, evidence[k])
    for k in range(n):
        if share[k] != 0.0:
            share[k] = exp(evidence[k] - best)
        total += share[k]
    for k in range(n):
        share[k] /= total


cdef void judge_horizon(
    Horizons* horizons, Py_ssize_t j,
    const double* scores,       # in  (n_members,)  of forecasts whose time has come; NULL if they do not count yet
    const double* squares,      # in  (n_members,)  their squared errors
    double discount, double power,
) noexcept nogil:
    """Learn from the forecasts of horizon j: equations (N.19), (N.20), (N.29) and (N.30)."""
    cdef Py_ssize_t k, n = horizons.n_members
    cdef double* square_sum = horizons.square_sum + j * n
    if scores != NULL:
        add_log_scores(horizons.evidence + j * n, scores, n, discount, power)
        horizons.count[j] = discount * horizons.count[j] + 1.0
    for k in range(n):
        square_sum[k] = saturate(SCALE_DISCOUNT * square_sum[k] + squares[k])
    horizons.dof[j] = SCALE_DISCOUNT * horizons.dof[j] + 1.0


cdef double horizon_row(const Horizons* horizons, double place, Py_ssize_t* row) noexcept nogil:
    """Return the part of the way from one row of a table of horizons to the next at which a step is: equation (N.22).

    `place` is the step's logarithm to the base of the ratio of the horizons. Row 0 is of one step; row j + 1 of
    horizon j.
    """
    place = smaller(place, <double>horizons.n)
    row[0] = min(<Py_ssize_t>place, horizons.n - 1)
    return place - row[0]


cdef double evidence_at(
    const Horizons* horizons, Py_ssize_t k, double one_step, Py_ssize_t row, double part
) noexcept nogil:
    """Return the evidence of member k at a step that `horizon_row` has placed, from that of one step ahead."""
    cdef Py_ssize_t j
    cdef double own, last = one_step, here = one_step
    for j in range(row + 1):
        own = horizons.count[j] / (horizons.count[j] + PRIOR_COUNT)
        last, here = here, own * horizons.evidence[j * horizons.n_members + k] + (1.0 - own) * here    # (N.21)
    return (1.0 - part) * last + part * here    # (N.22)
