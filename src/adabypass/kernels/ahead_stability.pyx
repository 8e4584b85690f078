"""Weights of lags that do not let a series explode, many steps ahead: equations (64), (65) and (70)."""

from libc.math cimport pow, sqrt
from libc.string cimport memcpy

from adabypass.kernels.ahead cimport MultistepForecaster, finite, packed
from adabypass.kernels.step cimport LinearMixture
from adabypass.kernels.stability cimport growths
from adabypass.numerics.special cimport larger, smaller

cdef double SMALLEST = 1e-300


cdef void stabilise(MultistepForecaster ahead, const Past* past) noexcept nogil:
    """Assume that the series does not explode: equations (64), (65) and (70).

    Writes the weights from the second step on to `stable`, and by what their deviations are multiplied to `shrink`.
    """
    cdef LinearMixture* belief = &ahead.belief
    cdef Py_ssize_t i, j, k, at, K = belief.n_linears, W = belief.n_weights, T = W * (W + 1) // 2
    cdef Py_ssize_t n_lags = ahead.design.n_lags, n_values = ahead.design.n_values, n_taps = ahead.design.n_taps
    cdef Py_ssize_t n_steps = max(max(ahead.n_steps, 2 * n_values), LEAST_STEPS), n_recent = n_values - n_taps + 1
    cdef double doubt = 0.0, recent = 0.0, bound, growth, early, apart, factor, old, moved, spread, total
    memcpy(ahead.stable, belief.mean, K * W * sizeof(double))
    for k in range(K):
        ahead.shrink[k] = 1.0
    if n_lags == 0:
        return
    for i in range(n_lags):
        ahead.typical[i] = 0.0
        for k in range(ahead.stride):
            old = belief.mean[k * W + ahead.lags_at + i] if k < K else 0.0
            ahead.weights[i * ahead.stride + k] = old
            ahead.typical[i] += belief.share[k] * old if k < K else 0.0
    for k in range(K):
        for i in range(n_lags):
            at = ahead.lags_at + i
            apart = belief.mean[k * W + at] - ahead.typical[i]
            doubt += belief.share[k] * (apart * apart + belief.cov[k * T + packed(at, at)])
    growths(&ahead.design, 1, ahead.typical, ahead.response, n_steps, &growth, &early)
    # Growth is taken for real where two standard deviations less of it would still be growth.
    bound = larger(growth - 2.0 * sqrt(doubt), 1.0)
    growths(&ahead.design, ahead.stride, ahead.weights, ahead.response, n_steps, ahead.growth, ahead.early)
    for i in range(n_recent):
        total = 0.0
        for j in range(n_taps):
            total += ahead.design.taps[j] * past.values[i + j]
        recent += total
    recent = finite(recent / n_recent)
    for k in range(K):
        factor = smaller(bound / ahead.growth[k], 1.0)
        moved = spread = 0.0
        for i in range(n_lags):
            at = ahead.lags_at + i
            old = belief.mean[k * W + at]
            ahead.stable[k * W + at] = old * pow(factor, ahead.design.lags[i])                            # (64)
            moved += (old - ahead.stable[k * W + at]) * (recent - belief.x_center[at - ahead.intercept])
            at = packed(at, at)
            spread += belief.cov[k * T + at] + ahead.n_steps * belief.drift[k * T + at]
        if ahead.lags_at > 0:
            ahead.stable[k * W] = finite(ahead.stable[k * W] + moved)                                     # (70)
        total = larger((1.0 - ahead.growth[k]) / 3.0, 0.7 / ahead.n_steps)
        ahead.shrink[k] = smaller(total / sqrt(larger(spread, SMALLEST)), 1.0)                           # (65)
