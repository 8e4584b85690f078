"""Many steps ahead under one structure: equations (140)-(142).

A structure without lags is linear in its state, so that its moments are exact. The lags of a regression reach values
that lie ahead: their covariance, and that with the state, are carried along to first order, which cannot explode where
the weights do not: products of two unknowns, as in (62), can.
"""

from libc.math cimport fabs, pow
from libc.string cimport memcpy, memset

from adabypass.kernels.structure_filter cimport (
    Filter, advance_state, exog_part, fill_regressors, scale_var, times_cov,
)
from adabypass.numerics.special cimport larger, smaller

from adabypass.state import structures as design
from adabypass.numerics.limits import LARGEST_RESPONSE

cdef double BOUND = LARGEST_RESPONSE
cdef double RANGES_BEYOND = design.RANGES_BEYOND
cdef double MAX_LAG_SPREAD = design.MAX_LAG_SPREAD
cdef enum:
    MOST_LAGS = 6       # as in design, checked below
    LEAST_RESPONSE = 60     # an impulse is followed for so many steps at least,
    RESPONSE_LAGS = 6       # and for this many times the longest lag

assert MOST_LAGS == design.MOST_LAGS

cdef struct Unknown:
    # What lies ahead and is reached by lags: slots are positions modulo their number.
    Py_ssize_t n_slots
    double* cov                 # (n_slots, n_slots)
    double* cross               # (n, n_slots), with the state
    double* slope               # (n_slots,), of the next value by each
    double* along               # (n_slots,)
    double* cross_slope         # (n,)


cdef Py_ssize_t ahead_size(Py_ssize_t n, Py_ssize_t longest) noexcept nogil:
    """Count the numbers of scratch for states of up to n numbers and lags up to `longest`."""
    return n * (n + 1) // 2 + 4 * n + longest * (longest + n + 4 + RESPONSE_LAGS) + LEAST_RESPONSE


cdef inline double bounded(double value) noexcept nogil:
    return larger(-BOUND, smaller(value, BOUND))


cdef double _growth(const Filter* f, const double* weights, double* response) noexcept nogil:
    """Factor by which an impulse grows in a step, in the long run."""
    cdef Py_ssize_t i, t, longest = f.lags[f.n_lags - 1], n_steps = max(LEAST_RESPONSE, RESPONSE_LAGS * longest), half
    cdef double total, early = 0.0, late = 0.0
    if f.n_lags == 1:
        return pow(larger(fabs(weights[0]), 1e-300), 1.0 / longest)
    half = n_steps // 2
    for t in range(n_steps):
        total = 1.0 if t == 0 else 0.0
        for i in range(f.n_lags):
            if t >= f.lags[i]:
                total += weights[i] * response[t - f.lags[i]]
        response[t] = bounded(total)
        if t < half:
            early = larger(early, fabs(response[t]))
        elif t >= n_steps - half:
            late = larger(late, fabs(response[t]))
    return pow(larger(late, 1e-300) / early, 1.0 / half)


cdef void _stabilise(const Filter* f, const double* values, double* mean, double* response) noexcept nogil:
    """Damp lag weights under which the series would explode, about its recent mean: equations (64) and (70)."""
    cdef Py_ssize_t i
    cdef double growth, damped, recent = 0.0
    cdef double* weights = mean + f.n - f.n_lags
    growth = _growth(f, weights, response)
    if growth <= 1.0:
        return
    for i in range(f.n_values - f.is_difference):
        recent += values[i] - (values[i + 1] if f.is_difference else 0.0)
    recent /= f.n_values - f.is_difference
    for i in range(f.n_lags):
        damped = weights[i] * pow(growth, -<double>f.lags[i])
        mean[0] += (weights[i] - damped) * recent
        weights[i] = damped


cdef double _carry(
    const Filter* f, Unknown* u, Py_ssize_t h, const double* mean, const double* x, const double* cov_x, double signal,
    double most,
) noexcept nogil:
    """Add what is not known of the values that lags reach, to first order; return the variance: equation (141).

    It is `most` at most.
    """
    cdef Py_ssize_t i, a, v, w, first = f.n - f.n_lags, n_known = min(h, u.n_slots)
    cdef double total, var = signal
    memset(u.slope, 0, u.n_slots * sizeof(double))
    if f.is_difference and h > 0:
        u.slope[(h - 1) % u.n_slots] += 1.0
    for i in range(f.n_lags):
        for a in range(1 + f.is_difference):
            v = h - f.lags[i] - a
            if v >= 0:
                u.slope[v % u.n_slots] += (1.0 - 2.0 * a) * mean[first + i]
    for v in range(n_known):
        total = 0.0
        for w in range(n_known):
            total += u.cov[v * u.n_slots + w] * u.slope[w]
        u.along[v] = total
        var += u.slope[v] * total
    for i in range(f.n):
        total = 0.0
        for v in range(n_known):
            total += u.cross[i * u.n_slots + v] * u.slope[v]
        u.cross_slope[i] = total
        var += 2.0 * x[i] * total
    var = larger(smaller(var, most), 0.0)
    a = h % u.n_slots
    for v in range(n_known):
        for i in range(f.n):
            u.along[v] += u.cross[i * u.n_slots + v] * x[i]
    for v in range(n_known):
        u.cov[a * u.n_slots + v] = u.cov[v * u.n_slots + a] = bounded(u.along[v])
    u.cov[a * u.n_slots + a] = var + f.noise_var
    for i in range(f.n):
        u.cross[i * u.n_slots + a] = bounded(cov_x[i] + u.cross_slope[i])
    return var


cdef void forecast_ahead(const Filter* f, const Future* future, double* means, double* variances) noexcept nogil:
    """Write means and variances (over the squared scale of the noise) of the values at each step ahead."""
    cdef Py_ssize_t h, i, v, n = f.n, longest = f.n_values
    cdef double signal, value, known = 0.0, ranges = RANGES_BEYOND * future.limits.range, most = BOUND
    cdef double* cov = future.scratch
    cdef double* mean = cov + n * (n + 1) // 2
    cdef double* x = mean + n
    cdef double* cov_x = x + n
    cdef double* values = cov_x + n
    cdef Unknown u
    memcpy(cov, f.cov, n * (n + 1) // 2 * sizeof(double))
    memcpy(mean, f.mean, n * sizeof(double))
    memcpy(values, future.values, longest * sizeof(double))
    if longest > 0:
        u.n_slots = longest
        u.slope = values + longest
        u.along = u.slope + longest
        u.cross_slope = u.along + longest
        u.cross = u.cross_slope + n
        u.cov = u.cross + n * longest
        memset(u.cross, 0, (n + longest) * longest * sizeof(double))
        _stabilise(f, values, mean, u.cov + longest * longest)
    for h in range(future.horizon):
        advance_state(f, mean, cov)
        if longest > 0 and f.has_slope:
            for v in range(longest):
                u.cross[longest + v] *= f.damping
                u.cross[v] += u.cross[longest + v]
        fill_regressors(f, future.season + h * future.n_season, future.exog + h * future.n_exog, values, x)
        signal = times_cov(cov, x, n, cov_x)
        value = values[0] if f.is_difference else 0.0
        for i in range(n):
            value += mean[i] * x[i]
        if longest > 0:
            if h > 0:
                most = MAX_LAG_SPREAD * MAX_LAG_SPREAD * (h + 1) * variances[0]
                most = larger(most, ranges * ranges / scale_var(f))                             # (227)
            signal = _carry(f, &u, h, mean, x, cov_x, signal, smaller(most, BOUND))
        known = larger(fabs(exog_part(f, mean, x)), known)
        value = larger(future.limits.low - known, smaller(value, future.limits.high + known))   # (226)
        if longest > 0:
            for v in range(longest - 1, 0, -1):
                values[v] = values[v - 1]
            values[0] = value
        means[h] = bounded(value)
        variances[h] = smaller(signal, BOUND) + f.noise_var


cdef void forecast_step(
    const Filter* f, Py_ssize_t h, const double* season, const Limits* limits, double* x, double* cov_x, double* mean,
    double* var,
) noexcept nogil:
    """Write mean and variance h steps ahead, without lags and exogenous columns: T'^h x takes the place of x.

    `season` is that of h steps ahead.
    """
    cdef Py_ssize_t i
    cdef double sum_of_powers = 0.0, power = 1.0, slope_steps = 0.0, season_sq = 0.0, value = 0.0
    fill_regressors(f, season, NULL, NULL, x)
    if f.has_slope:
        for _ in range(h):
            slope_steps += sum_of_powers * sum_of_powers  # of a step of the slope in each step before the last
            power *= f.damping
            sum_of_powers += power
        x[1] = sum_of_powers
    for i in range(f.n_season):
        season_sq += season[i] * season[i]
    var[0] = smaller(
        times_cov(f.cov, x, f.n, cov_x) + h * (f.level_var + season_sq * f.season_var) + slope_steps * f.slope_var,
        BOUND,
    ) + f.noise_var
    for i in range(f.n):
        value += f.mean[i] * x[i]
    mean[0] = larger(limits.low, smaller(value, limits.high))   # (226)
