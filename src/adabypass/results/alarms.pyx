"""The step of a monitor of alarms: equations (P.2)-(P.15).

`reference/alarms.py` is its specification.
"""

from libc.math cimport INFINITY, M_PI as pi, NAN, exp, fabs, floor, isfinite, isnan, log, log1p, sqrt
from libc.string cimport memset

from adabypass.numerics.scipy_functions cimport log_ndtr, ndtr, ndtri

from adabypass.state import alarms as design

cdef enum:
    N_SHIFTS = 6
    N_BETS = 10
    N_LARGEST = 8

assert (N_SHIFTS, N_BETS, N_LARGEST) == (len(design.LEVEL_SHIFTS), design.N_BETS, design.N_LARGEST)

cdef enum:
    N_ROWS, N_FRESH, USUAL_SCALE, USUAL_DRIFT, N_DRIFT
    N_ABOVE, N_BELOW, N_MIDDLE, SUM_ABOVE, SUM_BELOW, OWN_SUM_ABOVE, OWN_SUM_BELOW, N_ERRORS
    NEWEST_ROW, NEWEST_KIND, NEWEST_ONSET, NEWEST_MEAN, NEWEST_SPREAD, SCALE_BEFORE, DRIFT_BEFORE
    ERROR_SUM, ERROR_SIZE, ERROR_SQUARES, N_REVIEWED, DRIFT_RISE, N_DRIFT_RISE
    EVIDENCE
    ONSET = EVIDENCE + N_BETS
    SUM = ONSET + N_BETS
    SUM_SQUARES = SUM + N_BETS
    LARGEST = SUM_SQUARES + N_BETS
    SIZE = LARGEST + N_LARGEST

assert SIZE == design.SIZE
assert [design.LAYOUT.position(name) for name in ("n_errors", "n_drift_rise")] == [N_ERRORS, N_DRIFT_RISE]
assert [design.LAYOUT.places()[name][0].start for name in ("evidence", "sum", "largest")] == [EVIDENCE, SUM, LARGEST]

# What changed, if anything.
cdef enum:
    NOTHING, LEVEL, NOISE, SLOPE

cdef double[N_BETS] PARAMETERS
cdef double[N_BETS] SHARES
cdef Py_ssize_t _i
for _i in range(N_BETS):
    PARAMETERS[_i] = (*design.LEVEL_SHIFTS, *design.NOISE_RATIOS)[_i]
    SHARES[_i] = design.LEVEL_SHARE if _i < N_SHIFTS else design.NOISE_SHARE

cdef double MAX_EVIDENCE_DEVIATE = design.MAX_EVIDENCE_DEVIATE
cdef double SCALE_MEMORY = design.SCALE_MEMORY
cdef double MAX_LOG_RATIO = design.MAX_LOG_RATIO
cdef double N_WARM_UP = design.N_WARM_UP
cdef double TAIL_PRIOR = design.TAIL_PRIOR
cdef double MAX_SURPRISAL = design.MAX_SURPRISAL
cdef double REVIEW_ROWS = design.REVIEW_ROWS
cdef double REVIEW_DRIFT_ROWS = design.REVIEW_DRIFT_ROWS
cdef double REVIEW_ERROR_ROWS = design.REVIEW_ERROR_ROWS
cdef double MAX_LOG_FACTOR = design.MAX_LOG_FACTOR
cdef double MAX_REVIEW_ERROR = design.MAX_REVIEW_ERROR
cdef double MIN_NOISE_ERROR = design.MIN_NOISE_ERROR
cdef double MAX_NOISE_BIAS = design.MAX_NOISE_BIAS
cdef double MAX_LEVEL_BIAS = design.MAX_LEVEL_BIAS
cdef double MIN_DRIFT_LOG = design.MIN_DRIFT_LOG
cdef double MIN_DRIFT_LOG_OF_LEVEL = design.MIN_DRIFT_LOG_OF_LEVEL
cdef double TAIL_POWER = design.TAIL_POWER
cdef double MIN_EXPECTED = design.MIN_EXPECTED
cdef double CERTAIN = -1e-9             # largest log probability of a tail


cdef inline double clipped(double x, double bound) noexcept nogil:
    """np.clip(x, -bound, bound)"""
    return min(max(x, -bound), bound)


cdef inline double surprisal(double v) noexcept nogil:
    """-log(2 Φ(-|v|)): equation (P.4)"""
    return max(-log_ndtr(-fabs(v)) - log(2.0), 0.0)


cdef double recalibrated(double e, bint above, double count, double total, double n) noexcept nogil:
    """The deviate of a surprisal by the past of its side: equations (P.5) and (P.7)."""
    cdef double log_tail = log((count + 1.0) / (n + 2.0)) - (TAIL_PRIOR + count) * log1p(e / (TAIL_PRIOR + total))
    cdef double deviate = -ndtri(exp(min(log_tail, CERTAIN)))
    return deviate if above else -deviate


cdef inline double level_bet(double shift, double v) noexcept nogil:
    """Log ratio of the densities of N(shift, 1) and N(0, 1): equation (P.8)."""
    return shift * v - 0.5 * shift * shift


cdef inline double noise_bet(double ratio, double v) noexcept nogil:
    """Log ratio of the densities of N(0, ratio²) and N(0, 1): equation (P.8)."""
    return 0.5 * v * v * (1.0 - 1.0 / (ratio * ratio)) - log(ratio)


cdef double middle_bet(Py_ssize_t i, double share) noexcept nogil:
    """The bet on a value in an atom in the middle of its forecast, no evidence of a change: equation (P.10)."""
    cdef double edge = ndtri(0.5 + 0.5 * share), p = PARAMETERS[i]
    if i < N_SHIFTS:
        return min(log((ndtr(edge - p) - ndtr(-edge - p)) / share), 0.0)
    return min(log((2.0 * ndtr(edge / p) - 1.0) / share), 0.0)


cdef bint is_anomaly(double* row, double deviate, double error, double rate) noexcept nogil:
    """Whether a value is beyond its forecast, and beyond the past errors: equation (P.13)."""
    cdef double n = row[N_ERRORS] + 1.0, tail = -1.0
    cdef double order = min(2.0 + floor(n * rate), <double>N_LARGEST)
    cdef double bound = row[LARGEST + <Py_ssize_t>max(order, 2.0) - 1]
    error = fabs(error)
    if 2.0 * ndtr(-fabs(deviate)) > rate or n * rate < MIN_EXPECTED:
        return False
    tail = (order - 1.0) / n
    if error > bound > 0.0:
        tail *= (bound / error) ** TAIL_POWER
    return tail <= rate


cdef void remember_error(double* row, double error, double rate) noexcept nogil:
    """Put an error among the largest, and let the past count half where they are too few: equation (P.14)."""
    cdef Py_ssize_t i = N_LARGEST - 1
    cdef double* largest = row + LARGEST
    error = fabs(error)
    row[N_ERRORS] += 1.0
    if error > largest[i]:
        while i > 0 and largest[i - 1] < error:
            largest[i] = largest[i - 1]
            i -= 1
        largest[i] = error
    if row[N_ERRORS] * rate >= N_LARGEST - 1:     # so that (P.13) needs no more of them
        row[N_ERRORS] = floor(0.5 * row[N_ERRORS])
        for i in range(N_LARGEST):
            largest[i] = largest[min(2 * i + 1, N_LARGEST - 1)]     # of those beyond the last, no more is known


cdef double in_usual_scale(double* row, double deviate, double log_scale) noexcept nogil:
    """Return the deviate in units of the usual scale, and update that: equations (P.2) and (P.3)."""
    cdef double u
    if row[N_FRESH] == 0.0:
        row[USUAL_SCALE] = log_scale
    u = deviate * exp(clipped(log_scale - row[USUAL_SCALE], MAX_LOG_RATIO))
    row[N_FRESH] += 1.0
    if row[N_FRESH] <= N_WARM_UP:
        row[USUAL_SCALE] = max(row[USUAL_SCALE], log_scale)
    else:
        row[USUAL_SCALE] += (log_scale - row[USUAL_SCALE]) / min(row[N_FRESH] + 1.0, SCALE_MEMORY)
    return u


cdef void watch_drift(double* row, double log_drift) noexcept nogil:
    """Update the usual log drift: equation (P.3), for the drift."""
    row[N_DRIFT] += 1.0
    if row[N_DRIFT] == 1.0:
        row[USUAL_DRIFT] = log_drift
    row[USUAL_DRIFT] += (log_drift - row[USUAL_DRIFT]) / min(row[N_DRIFT] + 1.0, SCALE_MEMORY)


cdef void review(double* row, double error, double log_scale, double log_drift) noexcept nogil:
    """Name the newest change again, when enough was learned since: equation (P.15)."""
    cdef double age = row[N_ROWS] - row[NEWEST_ROW], bias = 0.0
    cdef bint is_level = row[NEWEST_KIND] == LEVEL
    if row[NEWEST_KIND] == NOTHING or row[N_REVIEWED] < 0.0:
        return
    if age <= REVIEW_DRIFT_ROWS and isfinite(log_drift) and row[N_DRIFT_RISE] >= 0.0:
        row[DRIFT_RISE] += log_drift - row[DRIFT_BEFORE]
        row[N_DRIFT_RISE] += 1.0
    if age > REVIEW_ROWS - REVIEW_ERROR_ROWS:
        error = clipped(error * exp(min(log_scale - row[SCALE_BEFORE], MAX_LOG_FACTOR)), MAX_REVIEW_ERROR)
        row[ERROR_SUM] += error
        row[ERROR_SIZE] += fabs(error)
        row[ERROR_SQUARES] += error * error
        row[N_REVIEWED] += 1.0
    if age < REVIEW_ROWS:
        return
    if row[N_DRIFT_RISE] > 0.0:
        is_level = row[DRIFT_RISE] > (MIN_DRIFT_LOG_OF_LEVEL if is_level else MIN_DRIFT_LOG) * row[N_DRIFT_RISE]
    if row[ERROR_SQUARES] > 0.0:
        bias = fabs(row[ERROR_SUM]) / sqrt(row[ERROR_SQUARES])
    if row[ERROR_SIZE] > MIN_NOISE_ERROR * row[N_REVIEWED] and bias <= MAX_NOISE_BIAS:
        row[NEWEST_KIND], row[NEWEST_SPREAD] = NOISE, log(row[ERROR_SIZE] / row[N_REVIEWED] * sqrt(0.5 * pi))
    else:
        row[NEWEST_KIND] = LEVEL if is_level and bias <= MAX_LEVEL_BIAS else SLOPE
    row[N_REVIEWED] = -1.0


cdef void bet(double* row, double deviate, double u) noexcept nogil:
    """Update the evidence of every bet, then the past of the deviates: equations (P.4)-(P.11)."""
    cdef double n = row[N_ABOVE] + row[N_BELOW] + row[N_MIDDLE]
    cdef bint above = deviate > 0.0, is_middle = deviate == 0.0
    cdef Py_ssize_t i, side = 0 if above else 1
    cdef double count = row[N_ABOVE + side], e = surprisal(u), own_e = surprisal(deviate)
    cdef double r, own_r, gain
    r = clipped(recalibrated(e, above, count, row[SUM_ABOVE + side], n), MAX_EVIDENCE_DEVIATE)
    own_r = clipped(recalibrated(own_e, above, count, row[OWN_SUM_ABOVE + side], n), MAX_EVIDENCE_DEVIATE)
    u, deviate = clipped(u, MAX_EVIDENCE_DEVIATE), clipped(deviate, MAX_EVIDENCE_DEVIATE)
    for i in range(N_BETS):
        if is_middle:
            gain = middle_bet(i, (row[N_MIDDLE] + 1.0) / (n + 3.0))
        elif i < N_SHIFTS:
            gain = min(level_bet(PARAMETERS[i], u), level_bet(PARAMETERS[i], r))
        elif PARAMETERS[i] > 1.0:
            gain = min(noise_bet(PARAMETERS[i], u), noise_bet(PARAMETERS[i], r))
        else:
            gain = min(noise_bet(PARAMETERS[i], deviate), noise_bet(PARAMETERS[i], own_r))
        if row[EVIDENCE + i] <= 0.0:
            row[EVIDENCE + i] = row[SUM + i] = row[SUM_SQUARES + i] = 0.0
            row[ONSET + i] = row[N_ROWS]
        row[EVIDENCE + i] += gain
        row[SUM + i] += u
        row[SUM_SQUARES + i] += u * u
    if is_middle:
        row[N_MIDDLE] += 1.0
    else:
        row[N_ABOVE + side] += 1.0
        row[SUM_ABOVE + side] += min(e, MAX_SURPRISAL)
        row[OWN_SUM_ABOVE + side] += min(own_e, MAX_SURPRISAL)


cdef bint is_raised(double* row, double rate) noexcept nogil:
    """Whether the evidence suffices for an alarm; if so, describe the change, and start afresh: equation (P.12)."""
    cdef Py_ssize_t i, best = 0
    cdef double total = 0.0, n, largest = -INFINITY
    for i in range(N_BETS):
        largest = max(largest, row[EVIDENCE + i])
    if largest < -log(rate):        # shares add up to 1
        return False
    for i in range(N_BETS):
        total += SHARES[i] * exp(row[EVIDENCE + i])
        if SHARES[i] * exp(row[EVIDENCE + i]) > SHARES[best] * exp(row[EVIDENCE + best]):
            best = i
    if not total * rate >= 1.0:
        return False
    memset(row + NEWEST_ROW, 0, (EVIDENCE - NEWEST_ROW) * sizeof(double))
    row[NEWEST_ROW], row[NEWEST_ONSET] = row[N_ROWS], row[ONSET + best]
    n = row[N_ROWS] - row[NEWEST_ONSET] + 1.0
    row[NEWEST_KIND], row[NEWEST_MEAN] = LEVEL if best < N_SHIFTS else NOISE, row[SUM + best] / n
    row[NEWEST_SPREAD] = log(PARAMETERS[N_BETS - 1])
    if row[SUM_SQUARES + best] > 0.0:
        row[NEWEST_SPREAD] = 0.5 * log(row[SUM_SQUARES + best] / n)
    row[SCALE_BEFORE] = row[USUAL_SCALE]
    row[DRIFT_BEFORE] = row[USUAL_DRIFT]
    if row[N_DRIFT] == 0.0:
        row[N_DRIFT_RISE] = -1.0
    if best >= N_SHIFTS and PARAMETERS[best] < 1.0:     # quieter noise alone makes deviates small
        row[N_REVIEWED] = -1.0
    memset(row + N_FRESH, 0, (N_ERRORS - N_FRESH) * sizeof(double))
    memset(row + EVIDENCE, 0, 4 * N_BETS * sizeof(double))
    return True


cdef bint step(
    double* row, double deviate, double error, double sd, double drift, double rate, bint* is_flagged
) noexcept nogil:
    """Learn a row: whether it raises an alarm of change, and whether its value is an anomaly."""
    cdef bint is_found = False
    cdef double log_drift = log(drift) if drift > 0.0 else NAN
    is_flagged[0] = False
    if not (isnan(deviate) or isnan(error)):
        is_flagged[0] = is_anomaly(row, deviate, error, rate)
        remember_error(row, error, rate)
        if sd > 0.0 and isfinite(sd):
            review(row, error, log(sd), log_drift)
            bet(row, deviate, in_usual_scale(row, deviate, log(sd)))
            is_found = is_raised(row, rate)
            if isfinite(log_drift) and not is_found:
                watch_drift(row, log_drift)
    row[N_ROWS] += 1.0
    return is_found


cdef tuple newest(double* row):
    """Return row, kind, onset and size of the newest change."""
    size = row[NEWEST_MEAN] if row[NEWEST_KIND] == LEVEL else row[NEWEST_SPREAD]
    return int(row[NEWEST_ROW]), int(row[NEWEST_KIND]), int(row[NEWEST_ONSET]), size


def update(double[::1] memory, double deviate, double error, double sd, double drift, double rate):
    """Learn a row, in place; return whether it raises an alarm of change, and whether its value is an anomaly."""
    cdef bint is_flagged
    if memory.shape[0] != SIZE:
        raise ValueError(f"a memory has {SIZE} numbers")
    return bool(step(&memory[0], deviate, error, sd, drift, rate, &is_flagged)), bool(is_flagged)


def newest_change(double[::1] memory):
    """Return the row of the alarm, the kind, the onset and the size of the newest change; kind 0 if there was none."""
    if memory.shape[0] != SIZE:
        raise ValueError(f"a memory has {SIZE} numbers")
    return newest(&memory[0])


def run(
    double[::1] memory, const double[::1] deviates, const double[::1] errors, const double[::1] sds,
    const double[::1] drifts, double rate
):
    """Learn rows one after another, in place; return a table of changes, and the rows that are anomalies.

    A line of the table is: row of the alarm, kind, onset, size.
    """
    cdef Py_ssize_t t, n = deviates.shape[0]
    cdef bint is_flagged, is_named = True
    cdef double* row
    cdef list changes = [], anomalies = []
    if memory.shape[0] != SIZE or not errors.shape[0] == sds.shape[0] == drifts.shape[0] == n:
        raise ValueError(f"a memory has {SIZE} numbers, and arrays are of one length")
    row = &memory[0]
    for t in range(n):
        if step(row, deviates[t], errors[t], sds[t], drifts[t], rate, &is_flagged):
            changes.append(newest(row))
            is_named = False
        elif not is_named and row[N_REVIEWED] < 0.0:
            changes[len(changes) - 1] = newest(row)     # it may have another name now
            is_named = True
        if is_flagged:
            anomalies.append(t)
    return changes, anomalies
