"""One structure: its filter on its part of a row, and its forecasts many steps ahead.

Equations (N.1)-(N.9), (N.12), (N.13) and (N.42)-(N.44). A structure without lags is linear in its state, so that its
moments many steps ahead are exact. The lags of a regression reach values that lie ahead: their covariance, and that
with the state, are carried along to first order. That cannot explode where the weights do not. Products of two
unknowns, which equation (K.7) in multistep.pyx counts, can: the two propagations differ in mathematics, and stay two.
"""

from libc.math cimport M_PI, fabs, lgamma, log, log1p
from libc.string cimport memcpy, memset

from adabypass.kernels.stability cimport damped, find_growths
from adabypass.numerics.special cimport larger, smaller

from adabypass.numerics.limits import MAX_RESPONSE
from adabypass.state import structures as design

cdef double LEVEL_PRIOR_VAR = design.LEVEL_PRIOR_VAR
cdef double SLOPE_PRIOR_VAR = design.SLOPE_PRIOR_VAR
cdef double SEASON_PRIOR_VAR = design.SEASON_PRIOR_VAR
cdef double LAG_PRIOR_VAR = design.LAG_PRIOR_VAR
cdef double EXOG_PRIOR_VAR = design.EXOG_PRIOR_VAR
cdef double PRIOR_DOF = design.PRIOR_DOF
cdef double SCALE_DISCOUNT = design.SCALE_DISCOUNT
cdef double MAX_SURPRISE = design.MAX_SURPRISE
cdef double MAX_STATE_VAR = design.MAX_STATE_VAR
cdef double MIN_STATE_VAR = design.MIN_STATE_VAR
cdef double MIN_SCALE_VAR = design.MIN_SCALE_VAR
cdef double BOUND = MAX_RESPONSE
cdef double RANGES_BEYOND = design.RANGES_BEYOND
cdef double MAX_LAG_SPREAD = design.MAX_LAG_SPREAD
cdef double GROSS_ERROR = design.GROSS_ERROR
cdef double MIN_SHOCK_DOF = design.MIN_SHOCK_DOF
cdef Py_ssize_t MIN_IMPULSE_STEPS = design.MIN_IMPULSE_STEPS
cdef Py_ssize_t IMPULSE_STEPS_PER_LAG = design.IMPULSE_STEPS_PER_LAG

cdef struct Unknown:
    # Values that lie ahead and are reached by lags; a value's slot is its position modulo the number of slots.
    Py_ssize_t n_slots
    double* cov                 # (n_slots, n_slots)
    double* cross               # (n, n_slots)  with the state
    double* slope               # (n_slots,)    of the next value by each
    double* along               # (n_slots,)
    double* cross_slope         # (n,)


cdef inline Py_ssize_t corner(Py_ssize_t i) noexcept nogil:
    """Place of the diagonal's number i in a lower triangle."""
    return i * (i + 3) // 2


cdef void reset(StructuralFilter* f) noexcept nogil:
    """Know nothing but the prior."""
    cdef Py_ssize_t i
    memset(f.mean, 0, f.n * sizeof(double))
    for i in range(f.n_lags):
        f.mean[f.n - f.n_lags + i] = f.lag_prior[i]
    f.square_sum[0] = f.dof[0] = PRIOR_DOF
    f.evidence[0] = f.n_shocks[0] = 0.0
    _reset_cov(f, f.cov)


cdef void _reset_cov(const StructuralFilter* f, double* cov) noexcept nogil:
    cdef Py_ssize_t i, at = 1 + f.has_slope
    memset(cov, 0, f.n * (f.n + 1) // 2 * sizeof(double))
    cov[0] = LEVEL_PRIOR_VAR
    if f.has_slope:
        cov[2] = SLOPE_PRIOR_VAR
    for i in range(at, at + f.n_season):
        cov[corner(i)] = SEASON_PRIOR_VAR
    at += f.n_season
    for i in range(at, at + f.n_exog):
        cov[corner(i)] = EXOG_PRIOR_VAR
    for i in range(at + f.n_exog, f.n):
        cov[corner(i)] = LAG_PRIOR_VAR


cdef void advance(StructuralFilter* f) noexcept nogil:
    """Carry the state a step on."""
    advance_state(f, f.mean, f.cov)
    if f.cov[0] > MAX_STATE_VAR:
        _reset_cov(f, f.cov)


cdef void advance_state(const StructuralFilter* f, double* mean, double* cov) noexcept nogil:
    """m = T m, P = T P T' + Q: equations (N.2) and (N.3)."""
    advance_mean(f, mean)
    _advance_cov(f, cov)


cdef void advance_mean(const StructuralFilter* f, double* mean) noexcept nogil:
    """m = T m: equation (N.2)."""
    if f.has_slope:
        mean[1] *= f.damping
        mean[0] += mean[1]


cdef void _advance_cov(const StructuralFilter* f, double* cov) noexcept nogil:
    """P = T P T' + Q: equation (N.3)."""
    cdef Py_ssize_t i, at = 1 + f.has_slope
    cdef double phi = f.damping
    cdef double* row
    if f.has_slope:
        cov[0] += phi * (2.0 * cov[1] + phi * cov[2])
        cov[1] = phi * (cov[1] + phi * cov[2])
        cov[2] = phi * phi * cov[2] + f.slope_var
        for i in range(2, f.n):
            row = cov + i * (i + 1) // 2
            row[1] *= phi
            row[0] += row[1]
    cov[0] += f.level_var
    for i in range(at, at + f.n_season):
        cov[corner(i)] += f.season_var
    at += f.n_season
    for i in range(at, at + f.n_exog):
        cov[corner(i)] += f.exog_var
    for i in range(at + f.n_exog, f.n):
        cov[corner(i)] += f.lag_var


cdef void fill_regressors(
    const StructuralFilter* f, const double* season, const double* exog, const double* values, double* x
) noexcept nogil:
    """Write what the state is multiplied with: equation (N.1)."""
    cdef Py_ssize_t i, at = 1 + f.has_slope
    x[0] = 1.0
    if f.has_slope:
        x[1] = 0.0
    for i in range(f.n_season):
        x[at + i] = season[f.season_at + i]
    at += f.n_season
    for i in range(f.n_exog):
        x[at + i] = exog[i]
    at += f.n_exog
    for i in range(f.n_lags):
        x[at + i] = values[f.lags[i] - 1]
        if f.is_difference:
            x[at + i] -= values[f.lags[i]]


cdef double exog_part(const StructuralFilter* f, const double* mean, const double* x) noexcept nogil:
    """What the exogenous columns add to a forecast."""
    cdef Py_ssize_t i, at = 1 + f.has_slope + f.n_season
    cdef double total = 0.0
    for i in range(at, at + f.n_exog):
        total += mean[i] * x[i]
    return total


cdef double times_cov(const double* cov, const double* x, Py_ssize_t n, double* out) noexcept nogil:
    """out = P @ x; return x @ P @ x."""
    cdef Py_ssize_t i, j
    cdef double total, at, square = 0.0
    cdef const double* row = cov
    for i in range(n):
        at, total = x[i], 0.0
        for j in range(i):
            total += row[j] * x[j]
            out[j] += row[j] * at
        out[i] = total + row[i] * at
        row += i + 1
    for i in range(n):
        square += out[i] * x[i]
    return larger(square, 0.0)


cdef double scale_var(const StructuralFilter* f) noexcept nogil:
    """Squared scale of the noise: equation (N.5)."""
    return larger(f.square_sum[0] / f.dof[0], MIN_SCALE_VAR)


cdef void forecast(
    const StructuralFilter* f, const double* x, const double* values, double* cov_x, Surprise* out
) noexcept nogil:
    """Forecast the next value: equation (N.4)."""
    out.var = f.noise_var + times_cov(f.cov, x, f.n, cov_x)
    out.mean = expect(f, x, values)


cdef double expect(const StructuralFilter* f, const double* x, const double* values) noexcept nogil:
    """Return the mean of the next value: equation (N.4)."""
    cdef Py_ssize_t i
    cdef double mean = values[0] if f.is_difference else 0.0
    for i in range(f.n):
        mean += f.mean[i] * x[i]
    return mean


cdef void learn_mean(StructuralFilter* f, const double* cov_x, double z, Surprise* out) noexcept nogil:
    """Score the value z, then condition all but the covariance on it: equations (N.6), (N.7) and (N.9)."""
    cdef Py_ssize_t i
    cdef double error = z - out.mean, dof = f.dof[0], scale = scale_var(f), square = error * error / out.var
    _score(f, square, scale, dof, out)
    for i in range(f.n):
        f.mean[i] += cov_x[i] / out.var * error  # (N.7)
    f.square_sum[0] = SCALE_DISCOUNT * dof * scale + smaller(square, MAX_SURPRISE * scale)  # (N.9)
    f.dof[0] = SCALE_DISCOUNT * dof + 1.0


cdef void learn_with_shocks(
    StructuralFilter* f, const StructuralFilter* following, const double* cov_x, double z, Surprise* out
) noexcept nogil:
    """Score the value z, and condition all but the covariance on it unless it is a gross error: (N.42)-(N.44).

    After a second one in succession the structure believes what its following twin does.
    """
    cdef double error = z - out.mean, dof = f.dof[0], scale = scale_var(f), square = error * error / out.var
    if dof < MIN_SHOCK_DOF or square <= GROSS_ERROR * GROSS_ERROR * scale:
        f.n_shocks[0] = 0.0
        learn_mean(f, cov_x, z, out)
        return
    _score(f, square, scale, dof, out)
    f.n_shocks[0] += 1.0
    if f.n_shocks[0] == 1.0 and f.shock == JUMPS:
        f.mean[0] += error                                                  # (N.43)
    elif f.n_shocks[0] > 1.0:                                               # (N.44)
        f.n_shocks[0] = 0.0
        memcpy(f.mean, following.mean, f.n * sizeof(double))
        f.square_sum[0], f.dof[0] = following.square_sum[0], following.dof[0]


cdef inline void _score(
    const StructuralFilter* f, double square, double scale, double dof, Surprise* out
) noexcept nogil:
    """Write the log density of a value whose squared error is `square` variances: equation (N.6)."""
    if dof != out.dof:
        out.dof, out.constant = dof, lgamma(0.5 * (dof + 1.0)) - lgamma(0.5 * dof)
    out.log_density = (
        out.constant - 0.5 * log(dof * M_PI * scale * out.var) - 0.5 * (dof + 1.0) * log1p(square / (dof * scale))
    )  # (N.6)


cdef void learn_cov(StructuralFilter* f, const double* cov_x, double var) noexcept nogil:
    """Condition the covariance on a value: equation (N.8)."""
    cdef Py_ssize_t i, j
    cdef double gain
    cdef double* row = f.cov
    for i in range(f.n):
        gain = cov_x[i] / var
        for j in range(i + 1):
            row[j] -= gain * cov_x[j]
        row[i] = larger(row[i], MIN_STATE_VAR)
        row += i + 1


cdef Py_ssize_t ahead_size(Py_ssize_t n, Py_ssize_t longest) noexcept nogil:
    """Count the numbers of scratch for states of up to n numbers and lags up to `longest`."""
    return n * (n + 1) // 2 + 4 * n + longest * (longest + n + 4 + IMPULSE_STEPS_PER_LAG) + MIN_IMPULSE_STEPS


cdef inline double bounded(double value) noexcept nogil:
    return larger(-BOUND, smaller(value, BOUND))


cdef void _stabilise(const StructuralFilter* f, const double* values, double* mean, double* response) noexcept nogil:
    """Damp lag weights under which the series would explode, about its recent mean: equations (K.9) and (K.10)."""
    cdef Py_ssize_t i, n_steps = max(MIN_IMPULSE_STEPS, IMPULSE_STEPS_PER_LAG * f.lags[f.n_lags - 1])
    cdef double growth, early, weight, recent = 0.0, size = 0.0
    cdef double* weights = mean + f.n - f.n_lags
    for i in range(f.n_lags):
        size += fabs(weights[i])
    if size <= 1.0:             # then no impulse grows
        return
    find_growths(f.n_lags, f.lags, 1, weights, response, n_steps, &growth, &early)
    if growth <= 1.0:
        return
    for i in range(f.n_values - f.is_difference):
        recent += values[i] - (values[i + 1] if f.is_difference else 0.0)
    recent /= f.n_values - f.is_difference
    for i in range(f.n_lags):
        weight = damped(weights[i], 1.0 / growth, f.lags[i])
        mean[0] += (weights[i] - weight) * recent
        weights[i] = weight


cdef double _carry(
    const StructuralFilter* f, Unknown* u, Py_ssize_t h, const double* mean, const double* x, const double* cov_x,
    double signal, double most,
) noexcept nogil:
    """Add what is not known of the values that lags reach, to first order; return the variance: equation (N.12).

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


cdef void forecast_ahead(
    const StructuralFilter* f, const Future* future, double* means, double* variances
) noexcept nogil:
    """Write means and variances (over the squared scale of the noise) of the values at each step ahead."""
    cdef Py_ssize_t h, i, v, n = f.n, longest = f.n_values
    cdef double signal, value, added = 0.0, known = 0.0, ranges = RANGES_BEYOND * future.limits.range, most = BOUND
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
                most = larger(most, ranges * ranges / scale_var(f))                             # (N.15)
            signal = _carry(f, &u, h, mean, x, cov_x, signal, smaller(most, BOUND))
        known = larger(fabs(exog_part(f, mean, x)), known)
        if future.profile != NULL:
            added = future.profile[h]
        value = larger(future.limits.low - known - added, smaller(value, future.limits.high + known - added))  # (N.14)
        if longest > 0:
            for v in range(longest - 1, 0, -1):
                values[v] = values[v - 1]
            values[0] = value
        means[h] = bounded(value + added)
        variances[h] = smaller(signal, BOUND) + f.noise_var


cdef void forecast_step(
    const StructuralFilter* f, Py_ssize_t h, const double* season, const Limits* limits, double* x, double* cov_x,
    double* mean, double* var,
) noexcept nogil:
    """Write mean and variance h steps ahead, without lags and exogenous columns: T'^h x takes the place of x.

    `season` is that of h steps ahead.
    """
    cdef Py_ssize_t i
    cdef double sum_of_powers = 0.0, power = 1.0, slope_steps = 0.0, season_sq = 0.0
    fill_regressors(f, season, NULL, NULL, x)
    if f.has_slope:
        for _ in range(h):
            slope_steps += sum_of_powers * sum_of_powers  # of a step of the slope in each step before the last
            power *= f.damping
            sum_of_powers += power
        x[1] = sum_of_powers
    for i in range(f.n_season):
        season_sq += season[f.season_at + i] * season[f.season_at + i]
    var[0] = smaller(
        times_cov(f.cov, x, f.n, cov_x) + h * (f.level_var + season_sq * f.season_var) + slope_steps * f.slope_var,
        BOUND,
    ) + f.noise_var
    mean[0] = step_mean(f, x, limits)


cdef double step_mean(const StructuralFilter* f, const double* x, const Limits* limits) noexcept nogil:
    """Return the mean some steps ahead, without lags, where x is what `forecast_step` left: equation (N.14)."""
    return larger(limits.low, smaller(expect(f, x, NULL), limits.high))
