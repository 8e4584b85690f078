"""Shares of the structures by their evidence: equations (139) and (140)."""

from libc.math cimport M_PI, M_SQRT2, cos, exp, fmod, isnan, log, sin

from adabypass.kernels.structure_state cimport IS_POSITIVE, N_MISSING, N_SEEN, N_STEPS, N_VALUES
from adabypass.numerics.special cimport larger

from adabypass.state import structures as design

cdef double EVIDENCE_POWER = design.EVIDENCE_POWER
cdef double LEAST_EVIDENCE = design.LEAST_EVIDENCE
cdef double SEASON_FROM = design.SEASON_FROM
cdef Py_ssize_t LAGS_FROM = design.LAGS_FROM


cdef void fill_season(const Bank* bank, double t, double* out) noexcept nogil:
    """Write the waves of the season at time t."""
    cdef const double* wave = bank.waves
    cdef double turn
    for _ in range(bank.n_waves):
        turn = 2.0 * M_PI * fmod(wave[1] * fmod(t, wave[0]), wave[0]) / wave[0]
        if wave[2] != 0.0:
            out[0] = M_SQRT2 * cos(turn)
            out[1] = M_SQRT2 * sin(turn)
            out += 2
        else:
            out[0] = cos(turn)
            out += 1
        wave += 3


cdef bint is_awake(const Bank* bank, const Filter* f) noexcept nogil:
    """Whether a filter can forecast: one with lags needs them, one of the log needs values above 0."""
    if f.is_log and bank.head[IS_POSITIVE] == 0.0:
        return False
    return f.n_lags == 0 or (bank.head[N_VALUES] >= f.n_values and bank.head[N_MISSING] == 0.0)


cdef bint has_share(const Bank* bank, const Filter* f) noexcept nogil:
    """Whether a filter has seen enough to have a share in the forecast."""
    if not is_awake(bank, f):
        return False
    if f.n_season > 0 and bank.head[N_STEPS] < SEASON_FROM * bank.first_period:
        return False
    return f.n_lags == 0 or bank.head[N_SEEN] >= f.n_values + LAGS_FROM


cdef void fill_shares(const Bank* bank, const double* evidence, double* out) noexcept nogil:
    """Write the mixture weights: equation (140)."""
    cdef Py_ssize_t k
    cdef double best = -1e300, total = 0.0
    for k in range(bank.n_structures):
        if has_share(bank, bank.filters + k):
            best = larger(best, evidence[k])
    for k in range(bank.n_structures):
        out[k] = exp(evidence[k] - best) if has_share(bank, bank.filters + k) else 0.0
        total += out[k]
    for k in range(bank.n_structures):
        out[k] /= total


cdef void weigh(double* evidence, const double* scores, Py_ssize_t n, double discount) noexcept nogil:
    """Add log scores to the evidence: equation (139). Those that are nan, of filters asleep, are the mixture's."""
    cdef Py_ssize_t k
    cdef double best = -1e300, best_score = -1e300, total = 0.0, mixed = 0.0, share, score, largest = -1e300
    for k in range(n):
        if not isnan(scores[k]):
            best = larger(best, evidence[k])
            best_score = larger(best_score, scores[k])
    for k in range(n):
        if not isnan(scores[k]):
            share = exp(evidence[k] - best)
            total += share
            mixed += share * exp(scores[k] - best_score)
    mixed = best_score + larger(log(mixed / total), LEAST_EVIDENCE) if mixed > 0.0 else best_score + LEAST_EVIDENCE
    for k in range(n):
        score = mixed if isnan(scores[k]) else larger(scores[k], best_score + LEAST_EVIDENCE)
        evidence[k] = discount * evidence[k] + EVIDENCE_POWER * (score - best_score)
        largest = larger(largest, evidence[k])
    for k in range(n):
        evidence[k] -= largest
