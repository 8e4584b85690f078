"""All structures on one row: units, observations, shares, and evidence many steps ahead.

Equations (N.1), (N.10), (N.11), (N.17)-(N.23), (N.45) and (N.46). Forecasts h steps ahead are made at every multiple of
h steps, and judged when their time has come: to judge a structure h steps ahead takes about one forecast every h steps.
Only regressions on lags are carried ahead step by step.
"""

from libc.math cimport M_PI, M_SQRT2, NAN, cos, exp, fabs, fmod, isnan, lgamma, log, log1p, log2, sin, sqrt
from libc.string cimport memcpy, memmove, memset

from adabypass.distributions.lanes cimport is_whole
from adabypass.kernels.profiles cimport (
    PROFILE_VALUES, ProfileDesign, clear_profile, is_known_for, learn_profile, profile_at, push_rest,
)
from adabypass.kernels.shares cimport (
    add_log_scores, evidence_at, fill_shares, horizon_row, horizon_steps, judge_horizon,
)
from adabypass.kernels.step cimport saturate
from adabypass.kernels.structures cimport (
    FOLLOWS, Future, Limits, StructuralFilter, Surprise, advance, advance_mean, exog_part, expect, fill_regressors,
    forecast, forecast_ahead, forecast_step, learn_cov, learn_mean, learn_with_shocks, reset, scale_var, step_mean,
)
from adabypass.numerics.special cimport larger, smaller

from adabypass.numerics.limits import MAX_LOG_VAR as MAX_LOG_VAR_
from adabypass.state import structures as design
from adabypass.state.structure_row import LAYOUT, N_PROFILE_VALUES

cdef double FARTHEST = design.FARTHEST
cdef double MAX_OBSERVATION = design.MAX_OBSERVATION
cdef double SCALE_DISCOUNT = design.SCALE_DISCOUNT
cdef double EVIDENCE_DISCOUNT = design.EVIDENCE_DISCOUNT
cdef double EVIDENCE_POWER = design.EVIDENCE_POWER
cdef double MAX_SURPRISE = design.MAX_SURPRISE
cdef double MIN_SCALE_VAR = design.MIN_SCALE_VAR
cdef double HORIZON_PRIOR_DOF = design.HORIZON_PRIOR_DOF
cdef double SEASON_FROM = design.SEASON_FROM
cdef Py_ssize_t LAGS_FROM = design.LAGS_FROM
cdef double ZERO_SHARE_FROM = design.ZERO_SHARE_FROM
cdef double MAX_ZERO_SHARE = design.MAX_ZERO_SHARE
cdef double RANGES_BEYOND = design.RANGES_BEYOND
cdef double MAX_LOG_SCALE = design.MAX_LOG_SCALE
cdef double MIN_LOG_DOF = design.MIN_LOG_DOF
cdef double MAX_LOG_VAR = MAX_LOG_VAR_
cdef double N_UNCOUNTED = design.N_UNCOUNTED
cdef Py_ssize_t N_START = design.N_START
cdef Py_ssize_t RATIO = design.HORIZONS[0]  # of a horizon to the one before

cdef ProfileDesign PROFILE_DESIGN = ProfileDesign(
    design.PRIOR_DOF, design.SCALE_DISCOUNT, design.MAX_SURPRISE, design.GROSS_ERROR, design.MIN_SHOCK_DOF,
    design.MIN_SCALE_VAR, N_PROFILE_VALUES,
)

assert design.HORIZONS == tuple(RATIO ** (j + 1) for j in range(len(design.HORIZONS)))
assert LAYOUT.position("log_lowest") == LOG_LOWEST


cdef Limits limits_of(const StructureBank* bank, const StructuralFilter* f) noexcept nogil:
    """Return limits `RANGES_BEYOND` ranges beyond the values seen: equation (N.14)."""
    cdef Limits out
    cdef const double* head = bank.head
    cdef double beyond = RANGES_BEYOND * (head[HIGHEST] - head[LOWEST])
    if not f.is_log:
        out.low = (head[LOWEST] - beyond - head[CENTER]) / head[UNIT]
        out.high = (head[HIGHEST] + beyond - head[CENTER]) / head[UNIT]
        out.range = (head[HIGHEST] - head[LOWEST]) / head[UNIT]
        return out
    out.range = (log(head[HIGHEST]) - head[LOG_LOWEST]) / head[LOG_UNIT]
    out.low = (head[LOG_LOWEST] - head[LOG_CENTER]) / head[LOG_UNIT] - RANGES_BEYOND * out.range
    out.high = (log(head[HIGHEST] + beyond) - head[LOG_CENTER]) / head[LOG_UNIT]
    return out


cdef double in_units(const StructureBank* bank, double value, Py_ssize_t column) noexcept nogil:
    """Return an exogenous value in the units of its column."""
    return larger(-FARTHEST, smaller((value - bank.exog_center[column]) / bank.exog_unit[column], FARTHEST))


cdef void describe(StructureBank* bank, const double* exog, bint is_limited, const Table* out) noexcept nogil:
    """Write the components of the forecast of the next observation, in the units of the series or of its log.

    Without limits they are what evidence judges.
    """
    cdef Py_ssize_t k
    cdef StructuralFilter* f
    cdef Surprise found
    cdef Limits limits
    cdef double unit, known
    cdef const double* values
    structure_shares(bank, bank.filters[0].evidence, out.shares)
    _fill_regressors(bank, bank.head[N_STEPS], exog)
    for k in range(bank.n_structures):
        f = bank.filters + k
        out.means[k], out.scales[k], out.dofs[k] = 0.0, 1.0, larger(f.dof[0], 1.0)
        if out.shares[k] == 0.0 or bank.head[IS_SCALED] == 0.0:
            continue
        values = lagged_values(bank, f)
        fill_regressors(f, bank.season, bank.exog, values, bank.x)
        if f.has_slope:
            bank.x[1] = f.damping  # T'x: the state itself stays where it is
        if f.owner < k and out.shares[f.owner] != 0.0:
            found.mean, found.var = expect(f, bank.x, values), bank.scores[f.owner]
        else:
            forecast(f, bank.x, values, bank.cov_x, &found)
            bank.scores[k] = found.var      # for the twin
        if f.profile >= 0:
            found.mean += bank.profile_values[f.profile]
        unit = bank.head[LOG_UNIT if f.is_log else UNIT]
        if is_limited:
            limits = limits_of(bank, f)
            known = fabs(exog_part(f, f.mean, bank.x))
            found.mean = larger(limits.low - known, smaller(found.mean, limits.high + known))  # (N.14)
        out.scales[k] = saturate(unit * sqrt(larger(scale_var(f) * (found.var + _step_var(f, bank.x)), 0.0)))
        out.means[k] = saturate(bank.head[LOG_CENTER if f.is_log else CENTER] + unit * found.mean)
        if is_limited:
            keep_near(bank, f, out.means + k, out.scales + k, out.dofs + k)


cdef void keep_near(
    const StructureBank* bank, const StructuralFilter* f, double* mean, double* scale, double* dof
) noexcept nogil:
    """Limit the forecast of a log, whose quantiles would be out of all proportion, and its mean too: (N.14), (N.16)."""
    cdef double beyond, var
    if not f.is_log or not bank.head[HIGHEST] > 0.0:
        return
    scale[0], dof[0] = smaller(scale[0], MAX_LOG_SCALE), larger(dof[0], MIN_LOG_DOF)    # (N.16)
    if bank.n_exog > 0:         # which may lead anywhere
        return
    beyond = RANGES_BEYOND * (bank.head[HIGHEST] - bank.head[LOWEST])
    var = smaller(scale[0] * scale[0] * dof[0] / (dof[0] - 2.0), MAX_LOG_VAR)
    mean[0] = smaller(mean[0], log(bank.head[HIGHEST] + beyond) - 0.5 * var)            # (N.14)


cdef double _step_var(const StructuralFilter* f, const double* x) noexcept nogil:
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


cdef double zero_share(const StructureBank* bank) noexcept nogil:
    """Probability that the next observation is exactly 0; 0 where that is rare: equation (N.23)."""
    cdef double share = bank.head[N_ZERO] / larger(bank.head[N_COUNTED], 1e-300)
    return smaller(share, MAX_ZERO_SHARE) if share >= ZERO_SHARE_FROM else 0.0


cdef double count_reserve(const StructureBank* bank) noexcept nogil:
    """Of a series of counts that has moved the probability that the next value is none, otherwise 0: (G.21)."""
    if bank.head[IS_COUNT] == 0.0 or bank.head[N_SEEN] < N_START or bank.head[LOWEST] == bank.head[HIGHEST]:
        return 0.0
    return 1.0 / (bank.head[N_SEEN] + 2.0)


cdef bint is_counted(const StructureBank* bank) noexcept nogil:
    """Whether the forecast of the next observation is a density in units that stay."""
    return bank.head[IS_SCALED] != 0.0 and bank.head[N_FIRST] == N_START and zero_share(bank) == 0.0


cdef double observe(StructureBank* bank, double y, const double* exog) noexcept nogil:
    """Learn the next observation, nan if it is missing, and return its log density in the forecast: equation (N.24).

    Zeros of a series with many count by themselves. Where the density does not count, nan is returned.
    """
    bank.log_score = NAN
    bank.is_weighed = is_counted(bank) and not isnan(y)
    if bank.is_weighed:
        structure_shares(bank, bank.filters[0].evidence, bank.shares)
    _observe(bank, y, exog)
    return bank.log_score if is_counted(bank) else NAN


cdef void _observe(StructureBank* bank, double y, const double* exog) noexcept nogil:
    cdef double* head = bank.head
    if head[N_SEEN] == 0.0 and isnan(y):
        return
    head[N_STEPS] += 1.0
    if not isnan(y):
        y = larger(-MAX_OBSERVATION, smaller(y, MAX_OBSERVATION))
        head[N_SEEN] += 1.0
        if y < 0.0 or not is_whole(y):
            head[IS_COUNT] = 0.0
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


cdef void _start(StructureBank* bank, double y, const double* exog) noexcept nogil:
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


cdef bint _set_units(StructureBank* bank) noexcept nogil:
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


cdef void _replay(StructureBank* bank) noexcept nogil:
    """Learn the first observations again, in the units that they have set."""
    cdef Py_ssize_t i, k, n = <Py_ssize_t>bank.head[N_FIRST], width = 1 + bank.n_exog
    for k in range(bank.n_structures):
        reset(bank.filters + k)
    for i in range(bank.n_profiles):
        clear_profile(bank.profiles + i, &PROFILE_DESIGN)
    forget(bank)
    bank.head[N_VALUES] = bank.head[N_MISSING] = 0.0
    for i in range(n):
        _move(bank, bank.start[i * width], bank.start + i * width + 1, bank.head[N_STEPS] - n + i)


cdef void _move(StructureBank* bank, double y, const double* exog, double t) noexcept nogil:
    """Move every filter a step on, to time t, with the observation y."""
    cdef Py_ssize_t i, k
    cdef double* head = bank.head
    cdef double z = 0.0, log_z = 0.0
    cdef const double* values
    cdef StructuralFilter* f
    cdef StructuralFilter* twin
    cdef Surprise found
    cdef bint is_seen = not isnan(y)
    cdef double value
    cdef double log_jacobian
    if is_seen:
        z = (y - head[CENTER]) / head[UNIT]
        if y <= 0.0:
            head[IS_POSITIVE] = 0.0
        elif head[IS_POSITIVE] != 0.0:
            log_z = (log(y) - head[LOG_CENTER]) / head[LOG_UNIT]
    _fill_regressors(bank, t, exog)
    if is_seen:
        judge(bank, z, log_z, t)        # before the scales of the noise have seen it
    found.dof = 0.0
    for k in range(bank.n_structures):
        bank.scores[k] = NAN  # asleep
    for k in range(bank.n_structures):
        f = bank.filters + k
        if f.owner < k:         # its twin has moved it
            continue
        advance(f)
        twin = f
        while twin.twin:
            twin = bank.filters + twin.twin
            advance_mean(twin, twin.mean)
        if not is_seen or not is_awake(bank, f):
            continue
        values = lagged_values(bank, f)
        fill_regressors(f, bank.season, bank.exog, values, bank.x)
        forecast(f, bank.x, values, bank.cov_x, &found)
        value = (log_z if f.is_log else z) - (bank.profile_values[f.profile] if f.profile >= 0 else 0.0)
        learn_mean(f, bank.cov_x, value, &found)
        bank.scores[k] = found.log_density
        twin = f
        while twin.twin:
            i = twin.twin
            twin = bank.filters + i
            if not is_awake(bank, twin):
                continue
            found.mean, value = expect(twin, bank.x, NULL), log_z if twin.is_log else z
            if twin.shock != FOLLOWS:
                learn_with_shocks(twin, bank.filters + twin.following, bank.cov_x, value, &found)
            else:
                learn_mean(twin, bank.cov_x, value, &found)
            bank.scores[i] = found.log_density
        learn_cov(f, bank.cov_x, found.var)
    if is_seen:
        log_jacobian = log_z * head[LOG_UNIT] + head[LOG_CENTER] + log(head[LOG_UNIT] / head[UNIT])
        for k in range(bank.n_structures):
            if bank.filters[k].is_log:
                bank.scores[k] -= log_jacobian

        if bank.is_weighed:
            bank.log_score = _mixed(bank.shares, bank.scores, bank.n_structures) - log(head[UNIT])
        if head[N_VALUES] >= N_UNCOUNTED:
            add_log_scores(bank.filters[0].evidence, bank.scores, bank.n_structures, EVIDENCE_DISCOUNT, EVIDENCE_POWER)
        head[N_MISSING] = 0.0
    else:
        head[N_MISSING] += 1.0
        _mean_values(bank, &z, &log_z)
    _push(bank, z, log_z)
    for i in range(bank.n_profiles):
        value = log_z if bank.profiles[i].is_log else z
        if is_seen and (head[IS_POSITIVE] != 0.0 or not bank.profiles[i].is_log):
            learn_profile(bank.profiles + i, &PROFILE_DESIGN, t, value)
        value -= bank.profile_values[i]
        push_rest(bank.profiles + i, &PROFILE_DESIGN, larger(-FARTHEST, smaller(value, FARTHEST)))
    find_doubt(bank)
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


cdef void _mean_values(StructureBank* bank, double* z, double* log_z) noexcept nogil:
    """Expect a value that is missing: the mean of the structures without lags, of the series and of its log."""
    cdef Py_ssize_t i, k
    cdef StructuralFilter* f
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


cdef void _push(StructureBank* bank, double z, double log_z) noexcept nogil:
    """Let the newest value join those that lags reach."""
    memmove(bank.values + 1, bank.values, (bank.longest - 1) * sizeof(double))
    memmove(bank.log_values + 1, bank.log_values, (bank.longest - 1) * sizeof(double))
    bank.values[0] = larger(-FARTHEST, smaller(z, FARTHEST))
    bank.log_values[0] = larger(-FARTHEST, smaller(log_z, FARTHEST))
    bank.head[N_VALUES] = smaller(bank.head[N_VALUES] + 1.0, <double>bank.longest)


cdef void fill_season(const StructureBank* bank, double t, double* out) noexcept nogil:
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


cdef void _fill_regressors(StructureBank* bank, double t, const double* exog) noexcept nogil:
    """Write what the next value depends on at time t."""
    cdef Py_ssize_t i
    fill_season(bank, t, bank.season)
    for i in range(bank.n_exog):
        bank.exog[i] = in_units(bank, exog[i], i)
    for i in range(bank.n_profiles):
        bank.profile_values[i] = profile_at(bank.profiles + i, t)


cdef const double* lagged_values(const StructureBank* bank, const StructuralFilter* f) noexcept nogil:
    """Return the past values of a structure, newest first."""
    if f.profile >= 0:
        return bank.profiles[f.profile].numbers + PROFILE_VALUES
    return bank.log_values if f.is_log else bank.values


cdef bint fill_profile(
    const StructureBank* bank, const StructuralFilter* f, double t, Py_ssize_t n, double* out
) noexcept nogil:
    """Write a structure's profile at n times from t on; return whether it has one."""
    cdef Py_ssize_t h
    if f.profile < 0:
        return False
    for h in range(n):
        out[h] = profile_at(bank.profiles + f.profile, t + h)
    return True


cdef bint is_awake(const StructureBank* bank, const StructuralFilter* f) noexcept nogil:
    """Whether a filter can forecast: one with lags needs them, one of the log needs values above 0."""
    if f.is_log and bank.head[IS_POSITIVE] == 0.0:
        return False
    if f.profile >= 0 and not is_known_for(bank.profiles + f.profile, SEASON_FROM):
        return False
    return f.n_lags == 0 or (bank.head[N_VALUES] >= f.n_values and bank.head[N_MISSING] == 0.0)


cdef bint has_share(const StructureBank* bank, const StructuralFilter* f) noexcept nogil:
    """Whether a filter has seen enough to have a share in the forecast."""
    if not is_awake(bank, f):
        return False
    if f.n_season > 0 and bank.head[N_STEPS] < SEASON_FROM * bank.first_period:
        return False
    return f.n_lags == 0 or (bank.head[N_SEEN] >= f.n_values + LAGS_FROM and not bank.is_doubted)


cdef void find_doubt(StructureBank* bank) noexcept nogil:
    """Find out whether the newest value is a gross error to the likeliest structure that doubts any: (N.45)."""
    cdef Py_ssize_t k, best = -1
    for k in range(bank.n_structures):
        if bank.filters[k].shock != FOLLOWS and is_awake(bank, bank.filters + k) and (
            best < 0 or bank.filters[k].evidence[0] > bank.filters[best].evidence[0]
        ):
            best = k
    bank.is_doubted = best >= 0 and bank.filters[best].n_shocks[0] > 0.0


cdef void structure_shares(const StructureBank* bank, const double* evidence, double* out) noexcept nogil:
    """Write the shares of the structures that have one: equation (N.11)."""
    cdef Py_ssize_t k
    for k in range(bank.n_structures):
        out[k] = has_share(bank, bank.filters + k)
    fill_shares(evidence, bank.n_structures, out)


cdef void forget(StructureBank* bank) noexcept nogil:
    """Clear the evidence and the pending forecasts of every horizon."""
    cdef Py_ssize_t n = bank.horizons.n * bank.n_structures
    memset(bank.horizons.count, 0, bank.horizons.n * sizeof(double))
    memset(bank.horizons.dof, 0, bank.horizons.n * sizeof(double))
    memset(bank.horizons.evidence, 0, n * sizeof(double))
    memset(bank.horizons.square_sum, 0, n * sizeof(double))
    memset(bank.pending_var, 0, bank.horizons.n * bank.n_pending * sizeof(double))


cdef double _scale(const StructureBank* bank, Py_ssize_t j, Py_ssize_t k, double one_step, double* dof) noexcept nogil:
    """Return the squared scale of structure k at horizon j, and write its degrees of freedom: equation (N.17)."""
    cdef double prior = smaller(HORIZON_PRIOR_DOF, bank.filters[k].dof[0])
    cdef double total = bank.horizons.square_sum[j * bank.n_structures + k] + prior * one_step
    dof[0] = bank.horizons.dof[j] + prior
    return larger(total / dof[0], MIN_SCALE_VAR)


cdef void judge(StructureBank* bank, double z, double log_z, double t) noexcept nogil:
    """Learn from the forecasts of time t, whose value came: equations (N.18)-(N.20)."""
    cdef Py_ssize_t j
    for j in range(bank.horizons.n):
        if fmod(t + 1.0, <double>horizon_steps(RATIO, j)) == 0.0:
            _judge_horizon(bank, j, z, log_z)


cdef void _judge_horizon(StructureBank* bank, Py_ssize_t j, double z, double log_z) noexcept nogil:
    cdef Py_ssize_t k, at = j * bank.n_structures
    cdef double scale, dof = 0.0, last_dof = 0.0, constant = 0.0, square, value, var
    cdef double jacobian = log_z * bank.head[LOG_UNIT] + bank.head[LOG_CENTER] + log(
        bank.head[LOG_UNIT] / bank.head[UNIT]
    )
    cdef const StructuralFilter* f
    cdef bint is_judged = False
    for k in range(bank.n_structures):
        f = bank.filters + k
        bank.scores[k] = NAN
        square = bank.horizons.square_sum[at + k] / larger(bank.horizons.dof[j], 1.0)
        var = bank.pending_var[j * bank.n_pending + f.pending_at]
        if var > 0.0 and is_awake(bank, f):
            value = log_z if f.is_log else z
            scale = _scale(bank, j, k, scale_var(f), &dof)
            square = (value - bank.pending_mean[at + k]) ** 2 / var
            if dof != last_dof:
                constant, last_dof = lgamma(0.5 * (dof + 1.0)) - lgamma(0.5 * dof) - 0.5 * log(dof * M_PI), dof
            bank.scores[k] = (
                constant - 0.5 * log(scale * var)
                - 0.5 * (dof + 1.0) * log1p(square / (dof * scale)) - (jacobian if f.is_log else 0.0)
            )  # (N.18)
            square = smaller(square, MAX_SURPRISE * scale)
            is_judged = True
        bank.future_scratch[k] = square
    if not is_judged:
        return
    judge_horizon(&bank.horizons, j, bank.scores, bank.future_scratch, EVIDENCE_DISCOUNT, EVIDENCE_POWER)


cdef void look_ahead(StructureBank* bank, double t) noexcept nogil:
    """Forecast as far ahead as the longest horizon that begins after time t; these are judged when they have come."""
    cdef Py_ssize_t h, i, j, k, n_begun = 0
    cdef StructuralFilter* f
    cdef Future future
    while n_begun < bank.horizons.n and fmod(t + 1.0, <double>horizon_steps(RATIO, n_begun)) == 0.0:
        n_begun += 1
    if n_begun == 0 or bank.head[IS_SCALED] == 0.0:
        return
    future.horizon, future.n_season, future.n_exog = horizon_steps(RATIO, n_begun - 1), bank.n_season, 0
    future.season, future.exog, future.scratch = bank.future_season, NULL, bank.future_scratch
    for h in range(future.horizon):
        fill_season(bank, t + 1.0 + h, bank.future_season + h * bank.n_season)
    for k in range(bank.n_structures):
        f = bank.filters + k
        if f.n_lags > 0 and has_share(bank, f):
            future.values, future.limits = lagged_values(bank, f), limits_of(bank, f)
            future.profile = NULL
            if fill_profile(bank, f, t + 1.0, future.horizon, bank.future_profile):
                future.profile = bank.future_profile
            forecast_ahead(f, &future, bank.future_mean, bank.future_var)
        for j in range(n_begun):
            if f.owner == k:
                _begin(bank, f, j, k)
                i = f.twin
                while i:
                    _begin_twin(bank, i, j)
                    i = bank.filters[i].twin


cdef void _begin(StructureBank* bank, const StructuralFilter* f, Py_ssize_t j, Py_ssize_t k) noexcept nogil:
    """Remember the forecast of structure k at horizon j, until it is judged."""
    cdef Py_ssize_t step = horizon_steps(RATIO, j) - 1
    cdef double* mean = bank.pending_mean + j * bank.n_structures + k
    cdef double* var = bank.pending_var + j * bank.n_pending + f.pending_at
    cdef Limits limits
    mean[0] = var[0] = 0.0
    if not has_share(bank, f):
        return
    if f.n_lags > 0:
        mean[0], var[0] = bank.future_mean[step], bank.future_var[step]
    else:
        limits = limits_of(bank, f)
        forecast_step(
            f, step + 1, bank.future_season + step * bank.n_season, &limits, bank.x, bank.cov_x, mean, var
        )


cdef void _begin_twin(const StructureBank* bank, Py_ssize_t k, Py_ssize_t j) noexcept nogil:
    """Remember the forecast of a structure whose first twin `_begin` has just done: only the mean differs."""
    cdef const StructuralFilter* f = bank.filters + k
    cdef Limits limits
    if has_share(bank, f):
        limits = limits_of(bank, f)
        bank.pending_mean[j * bank.n_structures + k] = step_mean(f, bank.x, &limits)


cdef inline double _row_ahead(const StructureBank* bank, Py_ssize_t step, Py_ssize_t* row) noexcept nogil:
    return horizon_row(&bank.horizons, log2(<double>step) / log2(<double>RATIO), row)


cdef void evidence_ahead(const StructureBank* bank, Py_ssize_t step, double* out) noexcept nogil:
    """Write the evidence of every structure `step` steps ahead: equations (N.21) and (N.22)."""
    cdef Py_ssize_t k, row = 0
    cdef double part = _row_ahead(bank, step, &row)
    for k in range(bank.n_structures):
        out[k] = evidence_at(&bank.horizons, k, bank.filters[0].evidence[k], row, part)


cdef double scale_ahead(const StructureBank* bank, Py_ssize_t k, Py_ssize_t step, double* dof) noexcept nogil:
    """Return the squared scale of structure k `step` steps ahead, and write its degrees of freedom.

    Where nothing was judged yet, it is that of the horizon before.
    """
    cdef Py_ssize_t j, row = 0
    cdef double part = _row_ahead(bank, step, &row), one_step = scale_var(bank.filters + k)
    cdef double here = one_step, last = one_step, here_dof = bank.filters[k].dof[0], last_dof = here_dof
    for j in range(row + 1):
        last, last_dof = here, here_dof
        if bank.horizons.count[j] > 0.0:
            here = _scale(bank, j, k, one_step, &here_dof)
    dof[0] = larger((1.0 - part) * last_dof + part * here_dof, 1.0)
    return exp((1.0 - part) * log(last) + part * log(here))
