"""The past of a series as state, in place on its row: equations (K.2)-(K.6) and (K.12)."""

from libc.math cimport fabs, isnan, sqrt
from libc.string cimport memmove, memset

from adabypass.kernels.stability cimport certain_growth, damped, find_growths, impulse_steps, shrinkage
from adabypass.kernels.step cimport (
    MAX_VALUE, StepContext, Weights, WeightsView, saturate, weight_cov, weight_drift, weight_mean,
)
from adabypass.numerics.special cimport larger, smaller

from adabypass.numerics import limits

cdef double KNOWS_NOTHING = limits.KNOWS_NOTHING
cdef double MIN_POSITIVE = 1e-300


cdef Past open_past(double* row, const Design* design) noexcept nogil:
    cdef Past past
    past.head = row
    past.values = row + HEAD
    past.positions = past.values + design.n_values
    past.cov = past.positions + design.capacity
    past.exog_mean = past.cov + design.capacity * (design.capacity + 1) // 2
    past.exog_last = past.exog_mean + design.n_exog
    past.exog_count = past.exog_last + design.n_exog
    past.horizon_time = past.exog_count + design.n_exog
    past.horizons.n, past.horizons.n_members = design.n_horizons, design.n_groups
    past.horizons.count = past.horizon_time + design.n_horizons
    past.horizons.dof = past.horizons.count + design.n_horizons
    past.horizons.evidence = past.horizons.dof + design.n_horizons
    past.horizons.square_sum = past.horizons.evidence + design.n_horizons * design.n_groups
    past.pending_mean = past.horizons.square_sum + design.n_horizons * design.n_groups
    past.model = past.pending_mean + design.n_horizons * design.n_groups
    return past


cdef bint is_ready(const Past* past, const Design* design) noexcept nogil:
    return past.head[N_FILLED] >= design.n_values


cdef bint fill(Past* past, const Design* design, double y) noexcept nogil:
    """Take one of the first values; return whether all are there now. Missing ones take the mean of the others."""
    cdef Py_ssize_t i, u = 0, n = design.n_values
    cdef double count = 0.0, mean = 0.0, square = 0.0, deviation
    if n == 0 or (isnan(y) and past.head[N_FILLED] == 0.0):
        return n == 0
    memmove(past.values + 1, past.values, (n - 1) * sizeof(double))
    past.values[0] = y
    past.head[N_FILLED] += 1.0
    if not isnan(y):
        past.head[MAX_ABS] = larger(past.head[MAX_ABS], fabs(y))
    if past.head[N_FILLED] < n:
        return False
    for i in range(n):
        if not isnan(past.values[i]):
            count += 1.0
            mean += (past.values[i] - mean) / count
    for i in range(n):
        if not isnan(past.values[i]):
            deviation = past.values[i] - mean
            square += saturate(deviation * deviation) / count
    if square == 0.0:
        square = mean * mean
    square = smaller(square, MAX_VALUE)
    for i in range(n - 1, -1, -1):
        if isnan(past.values[i]):
            past.values[i] = mean
            if u < design.capacity:
                past.positions[u] = i
                past.cov[u * (u + 1) // 2 + u] = square
                u += 1
    past.head[N_UNKNOWN] = u
    return True


cdef void fill_exog(Past* past, const Design* design, double* exog, bint by_mean, bint learn) noexcept nogil:
    """Fill missing exogenous values in place, by the mean or the last of each column, and learn the others."""
    cdef Py_ssize_t i
    for i in range(design.n_exog):
        if isnan(exog[i]):
            exog[i] = past.exog_mean[i] if by_mean else past.exog_last[i]
            continue
        if not learn:
            continue
        past.exog_count[i] += 1.0
        past.exog_mean[i] += exog[i] / past.exog_count[i] - past.exog_mean[i] / past.exog_count[i]
        past.exog_last[i] = exog[i]


cdef void features(const Past* past, const Design* design, const double* exog, double* x) noexcept nogil:
    """x = (1 if there is a bias, lags of the differenced series, exogenous values): equation (K.2)."""
    cdef Py_ssize_t i, j
    cdef double total
    if design.bias:
        x[0] = 1.0
    x += design.bias
    for i in range(design.n_lags):
        total = 0.0
        for j in range(design.n_taps):
            total += design.taps[j] * past.values[design.lags[i] - 1 + j]
        x[i] = total
    x += design.n_lags
    for i in range(design.n_exog):
        x[i] = exog[i]


cdef double base_of(const Past* past, const Design* design) noexcept nogil:
    """What differencing took away from the next value."""
    cdef Py_ssize_t j
    cdef double total = 0.0
    for j in range(1, design.n_taps):
        total -= design.taps[j] * past.values[j - 1]
    return total


cdef inline double _cov(const Past* past, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    return past.cov[i * (i + 1) // 2 + j] if i > j else past.cov[j * (j + 1) // 2 + i]


cdef inline Py_ssize_t _find(const Past* past, Py_ssize_t position) noexcept nogil:
    """Number of the unknown value at this position, or -1: positions descend."""
    cdef Py_ssize_t low = 0, high = <Py_ssize_t>past.head[N_UNKNOWN], middle
    while low < high:
        middle = (low + high) // 2
        if past.positions[middle] > position:
            low = middle + 1
        else:
            high = middle
    return low if low < past.head[N_UNKNOWN] and past.positions[low] == position else -1


cdef inline double _lag_cov(const Past* past, const Design* design, Py_ssize_t lag, Py_ssize_t u) noexcept nogil:
    """Covariance of a lag feature with unknown value `u`."""
    cdef Py_ssize_t j, v
    cdef double total = 0.0
    for j in range(design.n_taps):
        v = _find(past, lag - 1 + j)
        if v >= 0:
            total += design.taps[j] * _cov(past, v, u)
    return total


cdef inline double _base_tap(const Design* design, double position) noexcept nogil:
    """By what the base depends on the value at this position."""
    return -design.taps[<Py_ssize_t>position + 1] if position + 1.0 < design.n_taps else 0.0


cdef Py_ssize_t n_response(const Design* design) noexcept nogil:
    """Count the rows of `Workspace.response`."""
    return impulse_steps(design.n_lags, design.n_values, design.capacity + 1)


cdef void _gather(
    const Design* design, const Workspace* work, const StepContext* step, Weights weights_of, Py_ssize_t n_walks,
    Py_ssize_t horizon,
) noexcept nogil:
    """Weights of the lags of each component, their sum and spread, and their mean under the mixture."""
    cdef const WeightsView* linear
    cdef Py_ssize_t i, k
    cdef double weight, size, spread
    weights_of(step, work.linears)
    for i in range(design.n_lags):
        work.typical[i] = 0.0
        for k in range(n_walks, work.stride):
            work.weights[i * work.stride + k] = 0.0
    for k in range(n_walks):
        linear = work.linears + k
        size = spread = 0.0
        for i in range(design.n_lags):
            weight = weight_mean(linear, design.bias + i)
            work.weights[i * work.stride + k] = weight
            work.typical[i] += linear.share * weight
            size += fabs(weight)
            spread += weight_cov(linear, design.bias + i, design.bias + i)
            spread += horizon * weight_drift(linear, design.bias + i)
        work.size[k] = size
        work.sd[k] = sqrt(larger(spread, MIN_POSITIVE))


cdef void _add_gains(
    const Design* design, const Workspace* work, const StepContext* step, Weights weights_of, Py_ssize_t n_walks,
    Py_ssize_t horizon, Py_ssize_t n_touched, double base_var,
) noexcept nogil:
    """Variance of each component's forecast because values are unknown, with weights that do not explode: (K.9)-(K.12).

    `work.spread` and `work.crossed` hold the covariance of the lags made of unknown values, and theirs with the base.
    """
    cdef const WeightsView* linear
    cdef Py_ssize_t i, j, k, a, b, K = n_walks, stride = work.stride, bias = design.bias
    cdef Py_ssize_t n_steps = impulse_steps(design.n_lags, design.n_values, horizon)
    cdef double bound = 1.0, doubt = 0.0, apart, factor, shrink, gain, cov, weight, other
    cdef bint grows = False, spreads = False
    _gather(design, work, step, weights_of, K, horizon)
    for k in range(K):
        # Weights that add up to 1 at most cannot explode: then only a large spread asks how fast an impulse fades.
        spreads = spreads or (design.n_lags > 0 and (work.size[k] > 1.0 or work.sd[k] > 0.7 / horizon))
    if spreads:
        find_growths(design.n_lags, design.lags, stride, work.weights, work.response, n_steps, work.growth, work.extra)
        for k in range(K):
            grows = grows or work.growth[k] > 1.0
        if grows:
            for k in range(K):
                linear = work.linears + k
                for i in range(design.n_lags):
                    apart = work.weights[i * stride + k] - work.typical[i]
                    doubt += linear.share * (apart * apart + weight_cov(linear, bias + i, bias + i))
            bound = certain_growth(design.n_lags, design.lags, work.typical, doubt, work.response, n_steps)
    for k in range(K):
        linear = work.linears + k
        factor = shrink = 1.0
        if spreads:
            factor = smaller(bound / work.growth[k], 1.0) if work.growth[k] > 1.0 else 1.0
            shrink = shrinkage(work.growth[k], work.sd[k], horizon)
        gain = base_var
        for a in range(n_touched):
            i = work.touched[a]
            weight = damped(work.weights[i * stride + k], factor, design.lags[i])                       # (K.9)
            gain += 2.0 * weight * work.crossed[a]
            for b in range(n_touched):
                j = work.touched[b]
                other = damped(work.weights[j * stride + k], factor, design.lags[j])
                cov = weight_cov(linear, bias + i, bias + j)
                if i == j:
                    cov += weight_drift(linear, bias + i)
                gain += (weight * other + shrink * shrink * cov) * work.spread[a * n_touched + b]
        work.extra[k] = MAX_VALUE if isnan(gain) else smaller(larger(gain, 0.0), MAX_VALUE)         # (K.12)


cdef void extra_var(
    const Past* past, const Design* design, const Workspace* work, const StepContext* step, Weights weights_of,
    Py_ssize_t n_walks,
) noexcept nogil:
    """Write into `work.extra` the variance that each walk's forecast gains because values are not known: (K.12)."""
    cdef Py_ssize_t i, j, u, a, b, n_touched = 0, n_unknown = <Py_ssize_t>past.head[N_UNKNOWN]
    cdef double base_var = 0.0, total
    for i in range(design.n_lags):
        for j in range(design.n_taps):
            if _find(past, design.lags[i] - 1 + j) >= 0 and n_touched < work.max_touched:
                work.touched[n_touched] = i
                n_touched += 1
                break
    for a in range(n_touched):
        for b in range(n_touched):          # A C A'
            total = 0.0
            for j in range(design.n_taps):
                u = _find(past, design.lags[work.touched[b]] - 1 + j)
                if u >= 0:
                    total += design.taps[j] * _lag_cov(past, design, design.lags[work.touched[a]], u)
            work.spread[a * n_touched + b] = total
        work.crossed[a] = 0.0               # A C d
        for u in range(n_unknown):
            total = _base_tap(design, past.positions[u])
            if total != 0.0:
                work.crossed[a] += total * _lag_cov(past, design, design.lags[work.touched[a]], u)
    for u in range(n_unknown):              # d' C d
        for j in range(n_unknown):
            total = _base_tap(design, past.positions[u])
            if total != 0.0:
                base_var += total * _base_tap(design, past.positions[j]) * _cov(past, u, j)
    _add_gains(design, work, step, weights_of, n_walks, n_unknown + 1, n_touched, base_var)


cdef void observe(
    Past* past, const Design* design, const Workspace* work, double y, double mean, double var
) noexcept nogil:
    """Let y be the newest value, or its forecast if it is missing: equations (K.3)-(K.6).

    After `extra_var`, which has left the mixture's mean weights of the lags in `work.typical`.
    """
    cdef Py_ssize_t i, j, u, v, n_unknown = <Py_ssize_t>past.head[N_UNKNOWN]
    cdef bint says_nothing
    cdef double seen_var = smaller(past.head[MAX_ABS] * past.head[MAX_ABS], MAX_VALUE), due = 0.0, move
    if n_unknown == 0 and not isnan(y):
        past.head[MAX_ABS] = larger(past.head[MAX_ABS], fabs(y))
        _shift(past, design, y)
        return
    if isnan(var):          # a point
        var = 0.0
    for u in range(n_unknown):
        work.slope[u] = _base_tap(design, past.positions[u])
    for i in range(design.n_lags):
        for j in range(design.n_taps):
            u = _find(past, design.lags[i] - 1 + j)
            if u >= 0:
                work.slope[u] += work.typical[i] * design.taps[j]
    for u in range(n_unknown):                                                              # (K.3)
        work.along[u] = 0.0
        for v in range(n_unknown):
            work.along[u] += _cov(past, u, v) * work.slope[v]
        work.along[u] = saturate(work.along[u])
        due += work.slope[u] * work.along[u]
    due = saturate(due)
    says_nothing = not larger(var, due) <= KNOWS_NOTHING * seen_var and design.n_values > 0
    if says_nothing:        # what was seen says more than such a forecast
        mean, var = 0.0, seen_var
        for i in range(design.n_values):
            mean += past.values[i] / design.n_values
    if isnan(y):
        if says_nothing:
            memset(work.along, 0, n_unknown * sizeof(double))
            due = 0.0
        _append_unknown(past, design, work.along, saturate(larger(var, due)))
        _shift(past, design, saturate(mean))
        return
    var = larger(var, due)
    if n_unknown > 0 and var > 0.0:
        for u in range(n_unknown):
            move = saturate(work.along[u] / var * (y - mean))
            i = <Py_ssize_t>past.positions[u]
            past.values[i] = saturate(past.values[i] + move)                                # (K.5)
            for v in range(u + 1):                                                          # (K.6)
                j = u * (u + 1) // 2 + v
                past.cov[j] = saturate(past.cov[j] - work.along[u] * (work.along[v] / var))
            past.cov[u * (u + 1) // 2 + u] = larger(past.cov[u * (u + 1) // 2 + u], 0.0)
    past.head[MAX_ABS] = larger(past.head[MAX_ABS], fabs(y))
    _shift(past, design, y)


cdef void _append_unknown(Past* past, const Design* design, const double* along, double var) noexcept nogil:
    """Add a value that is not known, at the position before the newest: equation (K.4)."""
    cdef Py_ssize_t u, n_unknown = <Py_ssize_t>past.head[N_UNKNOWN], first = 0
    if design.capacity == 0:
        return
    if n_unknown == design.capacity:        # then the oldest is taken as known
        _drop_oldest(past)
        n_unknown, first = n_unknown - 1, 1
    for u in range(n_unknown):
        past.cov[n_unknown * (n_unknown + 1) // 2 + u] = along[first + u]
    past.cov[n_unknown * (n_unknown + 1) // 2 + n_unknown] = var
    past.positions[n_unknown] = -1.0
    past.head[N_UNKNOWN] = n_unknown + 1


cdef void _drop_oldest(Past* past) noexcept nogil:
    cdef Py_ssize_t u, v, n_unknown = <Py_ssize_t>past.head[N_UNKNOWN] - 1
    for u in range(n_unknown):
        past.positions[u] = past.positions[u + 1]
        for v in range(u + 1):
            past.cov[u * (u + 1) // 2 + v] = past.cov[(u + 1) * (u + 2) // 2 + v + 1]
    past.head[N_UNKNOWN] = n_unknown


cdef void _shift(Past* past, const Design* design, double newest) noexcept nogil:
    """Let a step of time pass."""
    cdef Py_ssize_t u
    if design.n_values == 0:
        past.head[N_UNKNOWN] = 0.0
        return
    memmove(past.values + 1, past.values, (design.n_values - 1) * sizeof(double))
    past.values[0] = newest
    for u in range(<Py_ssize_t>past.head[N_UNKNOWN]):
        past.positions[u] += 1.0
    while past.head[N_UNKNOWN] > 0.0 and past.positions[0] >= design.n_values:
        _drop_oldest(past)
