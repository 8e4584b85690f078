"""One structure's filter on its part of a row: equations (130)-(139)."""

from libc.math cimport M_PI, lgamma, log, log1p
from libc.string cimport memset

from adabypass.numerics.special cimport larger, smaller

from adabypass.state import structures as design

cdef double LEVEL_PRIOR_VAR = design.LEVEL_PRIOR_VAR
cdef double SLOPE_PRIOR_VAR = design.SLOPE_PRIOR_VAR
cdef double SEASON_PRIOR_VAR = design.SEASON_PRIOR_VAR
cdef double LAG_PRIOR_VAR = design.LAG_PRIOR_VAR
cdef double EXOG_PRIOR_VAR = design.EXOG_PRIOR_VAR
cdef double PRIOR_DOF = design.PRIOR_DOF
cdef double SCALE_DISCOUNT = design.SCALE_DISCOUNT
cdef double LARGEST_SURPRISE = design.LARGEST_SURPRISE
cdef double LARGEST_STATE_VAR = design.LARGEST_STATE_VAR
cdef double LEAST_STATE_VAR = design.LEAST_STATE_VAR
cdef double LEAST_SCALE_VAR = design.LEAST_SCALE_VAR


cdef inline Py_ssize_t corner(Py_ssize_t i) noexcept nogil:
    """Place of the diagonal's number i in a lower triangle."""
    return i * (i + 3) // 2


cdef void reset(Filter* f) noexcept nogil:
    """Know nothing but the prior."""
    cdef Py_ssize_t i
    memset(f.mean, 0, f.n * sizeof(double))
    for i in range(f.n_lags):
        f.mean[f.n - f.n_lags + i] = f.lag_prior[i]
    f.square_sum[0] = f.dof[0] = PRIOR_DOF
    f.evidence[0] = 0.0
    _reset_cov(f, f.cov)


cdef void _reset_cov(const Filter* f, double* cov) noexcept nogil:
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


cdef void advance(Filter* f) noexcept nogil:
    """Carry the state a step on."""
    advance_state(f, f.mean, f.cov)
    if f.cov[0] > LARGEST_STATE_VAR:
        _reset_cov(f, f.cov)


cdef void advance_state(const Filter* f, double* mean, double* cov) noexcept nogil:
    """m = T m, P = T P T' + Q: equations (131) and (132)."""
    cdef Py_ssize_t i, at = 1 + f.has_slope
    cdef double phi = f.damping
    cdef double* row
    if f.has_slope:
        mean[1] *= phi
        mean[0] += mean[1]
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
    const Filter* f, const double* season, const double* exog, const double* values, double* x
) noexcept nogil:
    """Write what the state is multiplied with: equation (130)."""
    cdef Py_ssize_t i, at = 1 + f.has_slope
    x[0] = 1.0
    if f.has_slope:
        x[1] = 0.0
    for i in range(f.n_season):
        x[at + i] = season[i]
    at += f.n_season
    for i in range(f.n_exog):
        x[at + i] = exog[i]
    at += f.n_exog
    for i in range(f.n_lags):
        x[at + i] = values[f.lags[i] - 1]
        if f.is_difference:
            x[at + i] -= values[f.lags[i]]


cdef double exog_part(const Filter* f, const double* mean, const double* x) noexcept nogil:
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


cdef double scale_var(const Filter* f) noexcept nogil:
    """Squared scale of the noise: equation (134)."""
    return larger(f.square_sum[0] / f.dof[0], LEAST_SCALE_VAR)


cdef void forecast(
    const Filter* f, const double* x, const double* values, double* cov_x, Surprise* out
) noexcept nogil:
    """Forecast the next value: equation (133)."""
    cdef Py_ssize_t i
    out.var = f.noise_var + times_cov(f.cov, x, f.n, cov_x)
    out.mean = values[0] if f.is_difference else 0.0
    for i in range(f.n):
        out.mean += f.mean[i] * x[i]


cdef void learn(Filter* f, const double* cov_x, double z, Surprise* out) noexcept nogil:
    """Score the value z, then condition on it: equations (135)-(138)."""
    cdef Py_ssize_t i, j
    cdef double error = z - out.mean, dof = f.dof[0], scale = scale_var(f), square = error * error / out.var, gain
    cdef double* row = f.cov
    out.log_density = (
        lgamma(0.5 * (dof + 1.0)) - lgamma(0.5 * dof) - 0.5 * log(dof * M_PI * scale * out.var)
        - 0.5 * (dof + 1.0) * log1p(square / (dof * scale))
    )  # (135)
    for i in range(f.n):
        gain = cov_x[i] / out.var
        f.mean[i] += gain * error  # (136)
        for j in range(i + 1):
            row[j] -= gain * cov_x[j]  # (137)
        row[i] = larger(row[i], LEAST_STATE_VAR)
        row += i + 1
    f.square_sum[0] = SCALE_DISCOUNT * dof * scale + smaller(square, LARGEST_SURPRISE * scale)  # (138)
    f.dof[0] = SCALE_DISCOUNT * dof + 1.0
