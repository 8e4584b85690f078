"""All structures on one row: units and observations, equations (130) and (143)."""

from libc.math cimport NAN, exp, fabs, isnan, log, sqrt
from libc.string cimport memcpy, memmove

from adabypass.kernels.structure_filter cimport (
    Filter, Surprise, advance, exog_part, fill_regressors, forecast, learn, reset, scale_var,
)
from adabypass.kernels.structure_horizons cimport forget, judge, look_ahead
from adabypass.kernels.structure_shares cimport fill_season, fill_shares, is_awake, weigh
from adabypass.kernels.structure_state cimport (
    CENTER, IS_POSITIVE, IS_SCALED, LOG_CENTER, LOG_UNIT, N_COUNTED, N_FIRST, N_MISSING, N_SEEN, N_STEPS, N_VALUES,
    N_ZERO, UNIT, HIGHEST, LOG_LOWEST, LOWEST, Bank, Limits, limits_of,
)
from adabypass.kernels.step cimport saturate
from adabypass.numerics.special cimport larger, smaller

from adabypass.state import structures as design
from adabypass.numerics.limits import LARGEST_LOG_VAR as LARGEST_LOG_VAR_
from adabypass.state.structure_row import LAYOUT

cdef double FARTHEST = design.FARTHEST
cdef double LARGEST_VALUE = design.LARGEST_VALUE
cdef double SCALE_DISCOUNT = design.SCALE_DISCOUNT
cdef double EVIDENCE_DISCOUNT = design.EVIDENCE_DISCOUNT
cdef double ZERO_SHARE_FROM = design.ZERO_SHARE_FROM
cdef double MAX_ZERO_SHARE = design.MAX_ZERO_SHARE
cdef double RANGES_BEYOND = design.RANGES_BEYOND
cdef double MAX_LOG_SCALE = design.MAX_LOG_SCALE
cdef double MIN_LOG_DOF = design.MIN_LOG_DOF
cdef double LARGEST_LOG_VAR = LARGEST_LOG_VAR_
cdef double N_UNCOUNTED = design.N_UNCOUNTED
cdef Py_ssize_t N_START = design.N_START

assert LAYOUT.position("log_lowest") == LOG_LOWEST


cdef double in_units(const Bank* bank, double value, Py_ssize_t column) noexcept nogil:
    """Return an exogenous value in the units of its column."""
    return larger(-FARTHEST, smaller((value - bank.exog_center[column]) / bank.exog_unit[column], FARTHEST))


cdef void describe(Bank* bank, const double* exog, bint is_limited, const Table* out) noexcept nogil:
    """Write the components of the forecast of the next observation, in the units of the series or of its log.

    Without limits they are what evidence judges.
    """
    cdef Py_ssize_t k, i
    cdef Filter* f
    cdef Surprise found
    cdef Limits limits
    cdef double unit, known
    cdef const double* values
    fill_shares(bank, bank.filters[0].evidence, out.shares)
    fill_season(bank, bank.head[N_STEPS], bank.season)
    for i in range(bank.n_exog):
        bank.exog[i] = in_units(bank, exog[i], i)
    for k in range(bank.n_structures):
        f = bank.filters + k
        out.means[k], out.scales[k], out.dofs[k] = 0.0, 1.0, larger(f.dof[0], 1.0)
        if out.shares[k] == 0.0 or bank.head[IS_SCALED] == 0.0:
            continue
        values = bank.log_values if f.is_log else bank.values
        fill_regressors(f, bank.season, bank.exog, values, bank.x)
        if f.has_slope:
            bank.x[1] = f.damping  # T'x: the state itself stays where it is
        forecast(f, bank.x, values, bank.cov_x, &found)
        unit = bank.head[LOG_UNIT if f.is_log else UNIT]
        if is_limited:
            limits = limits_of(bank, f, RANGES_BEYOND)
            known = fabs(exog_part(f, f.mean, bank.x))
            found.mean = larger(limits.low - known, smaller(found.mean, limits.high + known))  # (226)
        out.scales[k] = saturate(unit * sqrt(larger(scale_var(f) * (found.var + _step_var(f, bank.x)), 0.0)))
        out.means[k] = saturate(bank.head[LOG_CENTER if f.is_log else CENTER] + unit * found.mean)
        if is_limited:
            keep_near(bank, f, out.means + k, out.scales + k, out.dofs + k)


cdef void keep_near(const Bank* bank, const Filter* f, double* mean, double* scale, double* dof) noexcept nogil:
    """Limit the forecast of a log, whose quantiles would be out of all proportion, and its mean too: (226), (229)."""
    cdef double beyond, var
    if not f.is_log or not bank.head[HIGHEST] > 0.0:
        return
    scale[0], dof[0] = smaller(scale[0], MAX_LOG_SCALE), larger(dof[0], MIN_LOG_DOF)    # (229)
    if bank.n_exog > 0:         # which may lead anywhere
        return
    beyond = RANGES_BEYOND * (bank.head[HIGHEST] - bank.head[LOWEST])
    var = smaller(scale[0] * scale[0] * dof[0] / (dof[0] - 2.0), LARGEST_LOG_VAR)
    mean[0] = smaller(mean[0], log(bank.head[HIGHEST] + beyond) - 0.5 * var)            # (226)


cdef double _step_var(const Filter* f, const double* x) noexcept nogil:
    """x @ Q @ x: what a step of the state adds to the variance of a forecast."""
    cdef Py_ssize_t i, at = 1 + f.has_slope
    cdef double season = 0.0, exog = 0.0, lags = 0.0
    for i in range(at, at + f.n_season):
        season += x[i] * x[i]
    at += f.n_season
    for i in range(at, at + f.n_exog):
        exog += x[i] * x[i]
    for i in range(at + f.n_exog, f.n):
        lags += x[i] * x[i]
    return f.level_var + season * f.season_var + exog * f.exog_var + lags * f.lag_var


cdef double zero_share(const Bank* bank) noexcept nogil:
    """Probability that the next observation is exactly 0; 0 where that is rare: equation (143)."""
    cdef double share = bank.head[N_ZERO] / larger(bank.head[N_COUNTED], 1e-300)
    return smaller(share, MAX_ZERO_SHARE) if share >= ZERO_SHARE_FROM else 0.0


cdef bint is_counted(const Bank* bank) noexcept nogil:
    """Whether the forecast of the next observation is a density in units that stay."""
    return bank.head[IS_SCALED] != 0.0 and bank.head[N_FIRST] == N_START and zero_share(bank) == 0.0


cdef double observe(Bank* bank, double y, const double* exog) noexcept nogil:
    """Learn the next observation, nan if it is missing, and return its log density in the forecast: equation (214).

    Zeros of a series with many count by themselves. Where the density does not count, nan is returned.
    """
    bank.log_score = NAN
    bank.is_weighed = is_counted(bank) and not isnan(y)
    if bank.is_weighed:
        fill_shares(bank, bank.filters[0].evidence, bank.shares)
    _observe(bank, y, exog)
    return bank.log_score if is_counted(bank) else NAN


cdef void _observe(Bank* bank, double y, const double* exog) noexcept nogil:
    cdef double* head = bank.head
    if head[N_SEEN] == 0.0 and isnan(y):
        return
    head[N_STEPS] += 1.0
    if not isnan(y):
        y = larger(-LARGEST_VALUE, smaller(y, LARGEST_VALUE))
        head[N_SEEN] += 1.0
        head[LOWEST], head[HIGHEST] = smaller(y, head[LOWEST]), larger(y, head[HIGHEST])
        if y > 0.0:
            head[LOG_LOWEST] = smaller(log(y), head[LOG_LOWEST])
        head[N_ZERO] = SCALE_DISCOUNT * head[N_ZERO] + (y == 0.0)
        head[N_COUNTED] = SCALE_DISCOUNT * head[N_COUNTED] + 1.0
        if y == 0.0 and zero_share(bank) > 0.0:
            y = NAN
        elif head[IS_SCALED] != 0.0 and fabs(y - head[CENTER]) > FARTHEST * head[UNIT]:
            head[N_FIRST] = head[IS_SCALED] = 0.0  # the units have changed beyond all bounds
    if head[N_FIRST] == N_START and head[IS_SCALED] != 0.0:
        _move(bank, y, exog, head[N_STEPS] - 1.0)
    elif head[N_FIRST] > 0.0 or not isnan(y):
        _start(bank, y, exog)


cdef void _start(Bank* bank, double y, const double* exog) noexcept nogil:
    """Take one of the first observations, by which units are set."""
    cdef Py_ssize_t n, width = 1 + bank.n_exog
    cdef double* head = bank.head
    if head[N_FIRST] == N_START:  # all were equal so far
        memmove(bank.start, bank.start + width, (N_START - 1) * width * sizeof(double))
        head[N_FIRST] -= 1.0
    n = <Py_ssize_t>head[N_FIRST]
    bank.start[n * width] = y
    if bank.n_exog > 0:
        memcpy(bank.start + n * width + 1, exog, bank.n_exog * sizeof(double))
    head[N_FIRST] += 1.0
    n += 1
    if n == 2 or n == 3 or n == 5 or n == 8 or n == N_START or head[IS_SCALED] == 0.0:
        if _set_units(bank):
            _replay(bank)
    else:
        _move(bank, y, exog, head[N_STEPS] - 1.0)


cdef bint _set_units(Bank* bank) noexcept nogil:
    """Take units from the first observations; return whether any two of them differ."""
    cdef Py_ssize_t i, c, n = <Py_ssize_t>bank.head[N_FIRST], width = 1 + bank.n_exog, count = 0
    cdef double y, last = 0.0, total = 0.0, log_total = 0.0, first = 0.0, mean, spread
    cdef bint is_positive = True
    for i in range(n):
        y = bank.start[i * width]
        if isnan(y):
            continue
        is_positive = is_positive and y > 0.0
        if count == 0:
            first = y
        else:
            total += smaller(fabs(y - last), 1e300) / N_START
            if is_positive:
                log_total += fabs(log(y) - log(last)) / N_START
        last = y
        count += 1
    bank.head[IS_POSITIVE] = is_positive
    if count < 2 or total <= 1e-14 * fabs(first) or total < 1e-290:
        return False
    bank.head[CENTER], bank.head[UNIT] = first, smaller(total, 1e290) * N_START / (count - 1)
    bank.head[LOG_CENTER] = log(first) if is_positive else 0.0
    bank.head[LOG_UNIT] = larger(log_total * N_START / (count - 1), 1e-12) if is_positive else 1.0
    for c in range(bank.n_exog):
        mean = spread = 0.0
        for i in range(n):
            mean += bank.start[i * width + 1 + c] / n
        for i in range(n):
            spread += fabs(bank.start[i * width + 1 + c] - mean) / n
        if not spread > 1e-14 * fabs(mean):
            spread = fabs(mean)
        bank.exog_center[c] = mean
        bank.exog_unit[c] = spread if spread > 1e-290 else 1.0
    bank.head[IS_SCALED] = 1.0
    return True


cdef void _replay(Bank* bank) noexcept nogil:
    """Learn the first observations again, in the units that they have set."""
    cdef Py_ssize_t i, k, n = <Py_ssize_t>bank.head[N_FIRST], width = 1 + bank.n_exog
    for k in range(bank.n_structures):
        reset(bank.filters + k)
    forget(bank)
    bank.head[N_VALUES] = bank.head[N_MISSING] = 0.0
    for i in range(n):
        _move(bank, bank.start[i * width], bank.start + i * width + 1, bank.head[N_STEPS] - n + i)


cdef void _move(Bank* bank, double y, const double* exog, double t) noexcept nogil:
    """Move every filter a step on, to time t, with the observation y."""
    cdef Py_ssize_t i, k
    cdef double* head = bank.head
    cdef double z = 0.0, log_z = 0.0
    cdef const double* values
    cdef Filter* f
    cdef Surprise found
    cdef bint is_seen = not isnan(y)
    if is_seen:
        z = (y - head[CENTER]) / head[UNIT]
        if y <= 0.0:
            head[IS_POSITIVE] = 0.0
        elif head[IS_POSITIVE] != 0.0:
            log_z = (log(y) - head[LOG_CENTER]) / head[LOG_UNIT]
    fill_season(bank, t, bank.season)
    for i in range(bank.n_exog):
        bank.exog[i] = in_units(bank, exog[i], i)
    for k in range(bank.n_structures):
        f = bank.filters + k
        advance(f)
        bank.scores[k] = NAN  # asleep
        if not is_seen or not is_awake(bank, f):
            continue
        values = bank.log_values if f.is_log else bank.values
        fill_regressors(f, bank.season, bank.exog, values, bank.x)
        forecast(f, bank.x, values, bank.cov_x, &found)
        learn(f, bank.cov_x, log_z if f.is_log else z, &found)
        bank.scores[k] = found.log_density
        if f.is_log:
            bank.scores[k] -= log_z * head[LOG_UNIT] + head[LOG_CENTER] + log(head[LOG_UNIT] / head[UNIT])
    if is_seen:
        if bank.is_weighed:
            bank.log_score = _mixed(bank.shares, bank.scores, bank.n_structures) - log(head[UNIT])
        if head[N_VALUES] >= N_UNCOUNTED:
            weigh(bank.filters[0].evidence, bank.scores, bank.n_structures, EVIDENCE_DISCOUNT)
        judge(bank, z, log_z, t)
        head[N_MISSING] = 0.0
    else:
        head[N_MISSING] += 1.0
        _mean_values(bank, &z, &log_z)
    _push(bank, z, log_z)
    look_ahead(bank, t)


cdef double _mixed(const double* shares, const double* scores, Py_ssize_t n) noexcept nogil:
    """log(shares @ exp(scores)), where a score that is nan is that of a structure without a density there."""
    cdef Py_ssize_t k
    cdef double best = -1e300, total = 0.0
    for k in range(n):
        if shares[k] > 0.0 and not isnan(scores[k]):
            best = larger(best, scores[k])
    for k in range(n):
        if shares[k] > 0.0 and not isnan(scores[k]):
            total += shares[k] * exp(scores[k] - best)
    return best + log(total) if total > 0.0 else best


cdef void _mean_values(Bank* bank, double* z, double* log_z) noexcept nogil:
    """Expect a value that is missing: the mean of the structures without lags, of the series and of its log."""
    cdef Py_ssize_t i, k
    cdef Filter* f
    cdef double[2] best = [-1e300, -1e300]
    cdef double[2] total = [0.0, 0.0]
    cdef double[2] mean = [0.0, 0.0]
    cdef double share, own
    for k in range(bank.n_structures):
        if bank.filters[k].n_lags == 0:
            best[bank.filters[k].is_log] = larger(best[bank.filters[k].is_log], bank.filters[k].evidence[0])
    for k in range(bank.n_structures):
        f = bank.filters + k
        if f.n_lags > 0:
            continue
        fill_regressors(f, bank.season, bank.exog, bank.values, bank.x)
        share, own = exp(f.evidence[0] - best[f.is_log]), 0.0
        for i in range(f.n):
            own += f.mean[i] * bank.x[i]
        total[f.is_log] += share
        mean[f.is_log] += share * own
    z[0], log_z[0] = mean[0] / total[0], mean[1] / total[1]


cdef void _push(Bank* bank, double z, double log_z) noexcept nogil:
    """Let the newest value join those that lags reach."""
    memmove(bank.values + 1, bank.values, (bank.longest - 1) * sizeof(double))
    memmove(bank.log_values + 1, bank.log_values, (bank.longest - 1) * sizeof(double))
    bank.values[0] = larger(-FARTHEST, smaller(z, FARTHEST))
    bank.log_values[0] = larger(-FARTHEST, smaller(log_z, FARTHEST))
    bank.head[N_VALUES] = smaller(bank.head[N_VALUES] + 1.0, <double>bank.longest)
