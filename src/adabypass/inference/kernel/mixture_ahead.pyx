"""Forecasts many steps ahead of a mixture that is given by arrays: what the reference is compared with."""

from libc.string cimport memcpy

cimport numpy as cnp

from adabypass.inference.kernel.ahead cimport Horizon
from adabypass.inference.kernel.belief cimport Belief
from adabypass.inference.kernel.past cimport HEAD, N_UNKNOWN, Past
from adabypass.model.component cimport Component

import numpy as np

from adabypass.model.component import COMPONENT
from adabypass.model.limits import MOST_UNKNOWN

cnp.import_array()


cdef int _copy(object values, Py_ssize_t n, double* out) except -1:
    """out[:n] = values.reshape(-1)"""
    flat = np.ascontiguousarray(values, dtype=np.float64)
    if flat.size != n:
        raise ValueError(f"{n} numbers are needed, but there are {flat.size}")
    memcpy(out, cnp.PyArray_DATA(flat), n * sizeof(double))
    return 0


def moments(Horizon ahead not None, mixture, past, const double[:, ::1] exog):
    """Return the components of the forecasts at every step ahead, shape (n_steps, n_components).

    Parameters
    ----------
    ahead : Horizon
        For as many steps.
    mixture : LinearMixture
    past : adabypass.model.past.Past
    exog : array (n_steps, n_exog)
    """
    cdef Belief* belief = &ahead.belief
    cdef Py_ssize_t K = belief.n_linears, W = belief.n_weights, n_unknown = len(past.unknown)
    rows, columns = np.tril_indices(W)
    if mixture.mean.shape != (K, W) or mixture.intercept != ahead.intercept or n_unknown > MOST_UNKNOWN:
        raise ValueError("the mixture is not of the size that this memory was made for")
    if exog.shape[0] != ahead.n_steps or exog.shape[1] != ahead.design.n_exog:
        raise ValueError("exog must have a row for each step, and a column for each exogenous value")
    _copy(mixture.share, K, belief.share)
    _copy(mixture.mean, K * W, belief.mean)
    _copy(mixture.cov[:, rows, columns], K * ahead.n_packed, belief.cov)
    _copy(mixture.drift[:, rows, columns], K * ahead.n_packed, belief.drift)
    _copy(mixture.noise_scale, K, belief.noise_scale)
    _copy(mixture.epsilon, K, belief.epsilon)
    _copy(mixture.fading, K, belief.fading)
    _copy(mixture.fade, K, belief.fade)
    _copy(mixture.level_slope, K, belief.level_slope)
    _copy(mixture.level_linear if len(mixture.level_linear) else np.zeros(K), K, belief.level_linear)
    _copy(mixture.x_center, belief.n_features, belief.x_center)
    _copy(mixture.differenced if len(mixture.differenced) else np.zeros(K), K, belief.differenced)
    size = mixture.feature_size if len(mixture.feature_size) else np.zeros(belief.n_features)
    _copy(size, belief.n_features, belief.feature_size)
    belief.least_size = mixture.least_size
    _copy(mixture.unit_var, K, belief.unit_var)
    for k in range(K):
        belief.family[k] = mixture.family[k]
    season_logs = np.array(mixture.season_logs, float)
    belief.n_flexible, belief.period, belief.season_step = 0, len(season_logs), 0
    belief.season_log = <const double*>cnp.PyArray_DATA(season_logs)
    belief.season_wave[0] = belief.season_wave[1] = 0.0         # they are in these
    belief.level_center, belief.level_unit = mixture.level_center, mixture.level_unit
    belief.y_center, belief.is_known = mixture.y_center, mixture.is_known
    head, values, positions = np.zeros(HEAD), np.array(past.values, float), np.array(past.unknown, float)
    head[N_UNKNOWN] = n_unknown
    if len(values) != ahead.design.n_values or not ((0 <= positions) & (positions < len(values))).all():
        raise ValueError("the past is not that of this design")
    cov = np.array(past.cov, float).reshape(n_unknown, n_unknown)[np.tril_indices(n_unknown)]
    cdef Past known
    known.head, known.values = <double*>cnp.PyArray_DATA(head), <double*>cnp.PyArray_DATA(values)
    known.positions, known.cov = <double*>cnp.PyArray_DATA(positions), <double*>cnp.PyArray_DATA(cov)
    found = np.empty((ahead.n_steps, K), dtype=COMPONENT)
    ahead.forecast(&known, &exog[0, 0] if exog.shape[1] else NULL, <Component*>cnp.PyArray_DATA(found))
    return found
