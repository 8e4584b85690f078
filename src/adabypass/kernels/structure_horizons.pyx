"""Evidence many steps ahead: equations (190)-(195).

Forecasts h steps ahead are made at every multiple of h steps, and judged when their time has come: a structure costs a
horizon about one forecast every h steps. Only regressions on lags are carried ahead step by step.
"""

from libc.math cimport M_PI, NAN, exp, fmod, lgamma, log, log1p, log2
from libc.string cimport memset

from adabypass.kernels.structure_ahead cimport Future, forecast_ahead, forecast_step
from adabypass.kernels.structure_filter cimport Filter, scale_var
from adabypass.kernels.structure_shares cimport fill_season, has_share, is_awake, weigh
from adabypass.kernels.structure_state cimport (
    IS_SCALED, LOG_CENTER, LOG_UNIT, UNIT, Limits, limits_of,
)
from adabypass.numerics.special cimport larger, smaller

from adabypass.state import structures as design

cdef double EVIDENCE_DISCOUNT = design.EVIDENCE_DISCOUNT
cdef double SCALE_DISCOUNT = design.SCALE_DISCOUNT
cdef double LARGEST_SURPRISE = design.LARGEST_SURPRISE
cdef double LEAST_SCALE_VAR = design.LEAST_SCALE_VAR
cdef double PRIOR_DOF = design.HORIZON_PRIOR_DOF
cdef double RANGES_BEYOND = design.RANGES_BEYOND
cdef double PRIOR_COUNT = design.HORIZON_PRIOR_COUNT
cdef enum:
    FIRST_HORIZON = 2   # each is twice the one before, as in design, checked below

assert design.HORIZONS == tuple(FIRST_HORIZON << j for j in range(len(design.HORIZONS)))


cdef inline Py_ssize_t steps_of(Py_ssize_t j) noexcept nogil:
    """How many steps ahead horizon j is."""
    return FIRST_HORIZON << j


cdef void forget(Bank* bank) noexcept nogil:
    """Know nothing of any horizon."""
    cdef Py_ssize_t n = bank.n_horizons * bank.n_structures
    memset(bank.horizon_count, 0, bank.n_horizons * sizeof(double))
    memset(bank.horizon_dof, 0, bank.n_horizons * sizeof(double))
    memset(bank.horizon_evidence, 0, n * sizeof(double))
    memset(bank.horizon_square_sum, 0, n * sizeof(double))
    memset(bank.pending_var, 0, n * sizeof(double))


cdef double _scale(const Bank* bank, Py_ssize_t j, Py_ssize_t k, double one_step, double* dof) noexcept nogil:
    """Return the squared scale of structure k at horizon j, and write its degrees of freedom: equation (190)."""
    cdef double prior = smaller(PRIOR_DOF, bank.filters[k].dof[0])
    cdef double total = bank.horizon_square_sum[j * bank.n_structures + k] + prior * one_step
    dof[0] = bank.horizon_dof[j] + prior
    return larger(total / dof[0], LEAST_SCALE_VAR)


cdef void judge(Bank* bank, double z, double log_z, double t) noexcept nogil:
    """Learn from the forecasts of time t, whose value came: equations (191)-(193)."""
    cdef Py_ssize_t j
    for j in range(bank.n_horizons):
        if fmod(t + 1.0, <double>steps_of(j)) == 0.0:
            _judge_horizon(bank, j, z, log_z)


cdef void _judge_horizon(Bank* bank, Py_ssize_t j, double z, double log_z) noexcept nogil:
    cdef Py_ssize_t k, at = j * bank.n_structures
    cdef double scale, dof = 0.0, last_dof = 0.0, constant = 0.0, square, value
    cdef double jacobian = log_z * bank.head[LOG_UNIT] + bank.head[LOG_CENTER] + log(
        bank.head[LOG_UNIT] / bank.head[UNIT]
    )
    cdef const Filter* f
    cdef bint is_judged = False
    for k in range(bank.n_structures):
        f = bank.filters + k
        bank.scores[k] = NAN
        square = bank.horizon_square_sum[at + k] / larger(bank.horizon_dof[j], 1.0)
        if bank.pending_var[at + k] > 0.0 and is_awake(bank, f):
            value = log_z if f.is_log else z
            scale = _scale(bank, j, k, bank.pending_scale_var[at + k], &dof)
            square = (value - bank.pending_mean[at + k]) ** 2 / bank.pending_var[at + k]
            if dof != last_dof:
                constant, last_dof = lgamma(0.5 * (dof + 1.0)) - lgamma(0.5 * dof) - 0.5 * log(dof * M_PI), dof
            bank.scores[k] = (
                constant - 0.5 * log(scale * bank.pending_var[at + k])
                - 0.5 * (dof + 1.0) * log1p(square / (dof * scale)) - (jacobian if f.is_log else 0.0)
            )  # (191)
            square = smaller(square, LARGEST_SURPRISE * scale)
            is_judged = True
        bank.future_scratch[k] = square
    if not is_judged:
        return
    weigh(bank.horizon_evidence + at, bank.scores, bank.n_structures, EVIDENCE_DISCOUNT)  # (192)
    for k in range(bank.n_structures):
        bank.horizon_square_sum[at + k] = (
            SCALE_DISCOUNT * bank.horizon_square_sum[at + k] + bank.future_scratch[k]
        )  # (193)
    bank.horizon_dof[j] = SCALE_DISCOUNT * bank.horizon_dof[j] + 1.0
    bank.horizon_count[j] = EVIDENCE_DISCOUNT * bank.horizon_count[j] + 1.0


cdef void look_ahead(Bank* bank, double t) noexcept nogil:
    """Forecast as far ahead as the longest horizon that begins after time t; these are judged when they have come."""
    cdef Py_ssize_t h, j, k, n_begun = 0
    cdef Filter* f
    cdef Future future
    while n_begun < bank.n_horizons and fmod(t + 1.0, <double>steps_of(n_begun)) == 0.0:
        n_begun += 1
    if n_begun == 0 or bank.head[IS_SCALED] == 0.0:
        return
    future.horizon, future.n_season, future.n_exog = steps_of(n_begun - 1), bank.n_season, 0
    future.season, future.exog, future.scratch = bank.future_season, NULL, bank.future_scratch
    for h in range(future.horizon):
        fill_season(bank, t + 1.0 + h, bank.future_season + h * bank.n_season)
    for k in range(bank.n_structures):
        f = bank.filters + k
        if f.n_lags > 0 and has_share(bank, f):
            future.values = bank.log_values if f.is_log else bank.values
            future.limits = limits_of(bank, f, RANGES_BEYOND)
            forecast_ahead(f, &future, bank.future_mean, bank.future_var)
        for j in range(n_begun):
            _begin(bank, f, j, k)


cdef void _begin(Bank* bank, const Filter* f, Py_ssize_t j, Py_ssize_t k) noexcept nogil:
    """Remember the forecast of structure k at horizon j, until it is judged."""
    cdef Py_ssize_t at = j * bank.n_structures + k, step = steps_of(j) - 1
    cdef Limits limits
    bank.pending_mean[at] = bank.pending_var[at] = bank.pending_scale_var[at] = 0.0
    if not has_share(bank, f):
        return
    bank.pending_scale_var[at] = scale_var(f)
    if f.n_lags > 0:
        bank.pending_mean[at], bank.pending_var[at] = bank.future_mean[step], bank.future_var[step]
    else:
        limits = limits_of(bank, f, RANGES_BEYOND)
        forecast_step(
            f, step + 1, bank.future_season + step * bank.n_season, &limits, bank.x, bank.cov_x,
            bank.pending_mean + at, bank.pending_var + at,
        )


cdef double _place(const Bank* bank, Py_ssize_t step, Py_ssize_t* row) noexcept nogil:
    """Return the part of the way from one row of a table of horizons to the next at which a step is: equation (195).

    Row 0 is of one step; row j + 1 of horizon j.
    """
    cdef double at = log2(<double>min(step, steps_of(bank.n_horizons - 1))) if bank.n_horizons > 0 else 0.0
    row[0] = <Py_ssize_t>at
    return at - row[0]


cdef void evidence_ahead(const Bank* bank, Py_ssize_t step, double* out) noexcept nogil:
    """Write the evidence of every structure so many steps ahead: equations (194) and (195)."""
    cdef Py_ssize_t j, k, row = 0
    cdef double part = _place(bank, step, &row), last, here, own
    for k in range(bank.n_structures):
        last = here = bank.filters[0].evidence[k]
        for j in range(min(row + 1, bank.n_horizons)):
            last = here
            own = bank.horizon_count[j] / (bank.horizon_count[j] + PRIOR_COUNT)
            here = own * bank.horizon_evidence[j * bank.n_structures + k] + (1.0 - own) * here  # (194)
        if row == bank.n_horizons:
            last = here
        out[k] = (1.0 - part) * last + part * here  # (195)


cdef double scale_ahead(const Bank* bank, Py_ssize_t k, Py_ssize_t step, double* dof) noexcept nogil:
    """Return the squared scale of structure k so many steps ahead, and write its degrees of freedom.

    Where nothing was judged yet, it is that of the horizon before.
    """
    cdef Py_ssize_t j, row = 0
    cdef double part = _place(bank, step, &row), one_step = scale_var(bank.filters + k)
    cdef double here = one_step, last = one_step, here_dof = bank.filters[k].dof[0], last_dof = here_dof
    for j in range(min(row + 1, bank.n_horizons)):
        last, last_dof = here, here_dof
        if bank.horizon_count[j] > 0.0:
            here = _scale(bank, j, k, one_step, &here_dof)
    if row == bank.n_horizons:
        last, last_dof = here, here_dof
    dof[0] = larger((1.0 - part) * last_dof + part * here_dof, 1.0)
    return exp((1.0 - part) * log(last) + part * log(here))
