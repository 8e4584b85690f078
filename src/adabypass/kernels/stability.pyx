"""Weights of lags that let no series explode: equations (K.9) and (K.11).

An impulse is followed through a regression on lags, and its growth in a step taken from how much larger it is in the
second half of the steps than in the first.
"""

from libc.math cimport fabs, pow, sqrt

from adabypass.numerics.dispatch cimport LANES, SIMD
from adabypass.numerics.special cimport larger

import numpy as np

from adabypass.numerics.limits import MAX_RESPONSE as MAX_RESPONSE_

cdef double MAX_RESPONSE = MAX_RESPONSE_
cdef double MIN_POSITIVE = 1e-300


cdef void find_growths(
    Py_ssize_t n_lags, const Py_ssize_t* lags, Py_ssize_t m,
    const double* weights,      # in   (n_lags, m)
    double* response,           # out  (n_steps, m)  scratch, as `early`
    Py_ssize_t n_steps,
    double* growth,             # out  (m,)
    double* early,              # out  (m,)
) noexcept nogil:
    """Write the factor by which an impulse grows in a step, in the long run, for each of m sets of weights."""
    cdef Py_ssize_t k, half = n_steps // 2
    if n_lags == 1:
        for k in range(m):
            growth[k] = pow(larger(fabs(weights[k]), MIN_POSITIVE), 1.0 / lags[0])
        return
    SIMD.follow_impulse(
        m, n_lags, <const ptrdiff_t*>lags, weights, n_steps, MAX_RESPONSE, response, growth, early
    )
    for k in range(m):
        growth[k] = pow(larger(growth[k], MIN_POSITIVE) / early[k], 1.0 / half)


cdef double certain_growth(
    Py_ssize_t n_lags, const Py_ssize_t* lags, const double* typical, double doubt, double* response,
    Py_ssize_t n_steps,
) noexcept nogil:
    """Return the growth under the mixture's mean weights less two standard deviations, sqrt(doubt); 1 if it is none."""
    cdef double growth, early
    find_growths(n_lags, lags, 1, typical, response, n_steps, &growth, &early)
    return larger(growth - 2.0 * sqrt(doubt), 1.0)


def damping(weights, lags, Py_ssize_t n_steps):
    """Return by what the weights of lags are to be multiplied, so that no impulse grows: equation (K.9).

    Parameters
    ----------
    weights : array (m, n_lags)
        Sets of weights.
    lags : sequence of int
        Ascending.
    n_steps : int
        Steps for which an impulse is followed.

    Returns
    -------
    array (m, n_lags)
    """
    cdef Py_ssize_t m = weights.shape[0], n_lags = len(lags)
    cdef Py_ssize_t stride = m if m == 1 else (m + LANES - 1) // LANES * LANES
    order = np.array(lags, dtype=np.intp)
    padded, response = np.zeros((n_lags, stride)), np.empty((n_steps, stride))
    padded[:, :m] = weights.T
    cdef const Py_ssize_t[::1] lag = order
    cdef double[:, ::1] weight = padded, follows = response
    found = np.empty((2, stride))
    cdef double[:, ::1] out = found
    if weights.shape[1] != n_lags or m == 0 or n_lags == 0 or n_steps < 2:
        raise ValueError("there must be weights, one for each lag, and two steps at least")
    if order[0] < 1 or (np.diff(order) < 1).any():
        raise ValueError("lags must ascend from 1 on")
    with nogil:
        find_growths(n_lags, &lag[0], stride, &weight[0, 0], &follows[0, 0], n_steps, &out[0, 0], &out[1, 0])
    return np.minimum(1.0 / found[0, :m, None], 1.0) ** order
