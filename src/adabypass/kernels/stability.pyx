"""Weights of lags that do not let a series explode: equations (64) and (65), and what they make of unknown values."""

from libc.math cimport fabs, isnan, pow, sqrt

from adabypass.kernels.step cimport LARGEST, WeightsView, StepContext, Weights, weight_cov, weight_drift, weight_mean
from adabypass.numerics.special cimport larger, smaller
from adabypass.numerics.dispatch cimport KERNELS

from adabypass.numerics import limits

cdef double LARGEST_RESPONSE = limits.LARGEST_RESPONSE
cdef double SMALLEST = 1e-300

cdef enum:
    LEAST_STEPS = 30        # for which the response to an impulse is followed


cdef Py_ssize_t n_response(const Design* design) noexcept nogil:
    """Most steps for which an impulse is followed: none for a single lag."""
    if design.n_lags < 2:
        return 0
    return max(max(design.capacity + 1, 2 * design.n_values), LEAST_STEPS)


cdef void growths(
    const Design* design, Py_ssize_t m, const double* weights, double* response, Py_ssize_t n_steps, double* growth,
    double* early,
) noexcept nogil:
    """Factor by which an impulse grows in a step, in the long run, for each of m sets of weights (n_lags, m).

    `response` (n_steps, m) and `early` (m,) are scratch.
    """
    cdef Py_ssize_t k, half = n_steps // 2
    if design.n_lags == 1:
        for k in range(m):
            growth[k] = pow(larger(fabs(weights[k]), SMALLEST), 1.0 / design.lags[0])
        return
    KERNELS.follow_impulse(
        m, design.n_lags, <const ptrdiff_t*>design.lags, weights, n_steps, LARGEST_RESPONSE, response, growth, early
    )
    for k in range(m):
        growth[k] = pow(larger(growth[k], SMALLEST) / early[k], 1.0 / half)


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
        work.sd[k] = sqrt(larger(spread, SMALLEST))


cdef double _most_growth(
    const Design* design, const Workspace* work, Py_ssize_t n_walks, Py_ssize_t n_steps
) noexcept nogil:
    """Growth that the mixture is certain of by two standard deviations; 1 if it is of none."""
    cdef const WeightsView* linear
    cdef Py_ssize_t i, k
    cdef double doubt = 0.0, apart, growth, early
    for k in range(n_walks):
        linear = work.linears + k
        for i in range(design.n_lags):
            apart = work.weights[i * work.stride + k] - work.typical[i]
            doubt += linear.share * (apart * apart + weight_cov(linear, design.bias + i, design.bias + i))
    growths(design, 1, work.typical, work.response, n_steps, &growth, &early)
    return larger(growth - 2.0 * sqrt(doubt), 1.0)


cdef void stabilised_gains(
    const Design* design, const Workspace* work, const StepContext* step, Weights weights_of, Py_ssize_t n_walks,
    Py_ssize_t horizon, Py_ssize_t n_touched, double base_var,
) noexcept nogil:
    """Variance of each component's forecast because values are unknown, with weights that do not explode: (64)-(66).

    `work.spread` and `work.crossed` hold the covariance of the lags made of unknown values, and theirs with the base.
    """
    cdef const WeightsView* linear
    cdef Py_ssize_t i, j, k, a, b, K = n_walks, stride = work.stride, bias = design.bias
    cdef Py_ssize_t n_steps = max(max(horizon, 2 * design.n_values), LEAST_STEPS)
    cdef double least_room = 0.7 / horizon, bound = 1.0, factor, shrink, gain, cov, weight, other
    cdef bint grows = False, spreads = False
    _gather(design, work, step, weights_of, K, horizon)
    for k in range(K):
        # Weights that add up to 1 at most cannot explode: then only a large spread asks how fast an impulse fades.
        spreads = spreads or (design.n_lags > 0 and (work.size[k] > 1.0 or work.sd[k] > least_room))
    if spreads:
        growths(design, stride, work.weights, work.response, n_steps, work.growth, work.extra)
        for k in range(K):
            grows = grows or work.growth[k] > 1.0
        if grows:
            bound = _most_growth(design, work, K, n_steps)
    for k in range(K):
        linear = work.linears + k
        factor = shrink = 1.0
        if spreads:
            factor = smaller(bound / work.growth[k], 1.0) if work.growth[k] > 1.0 else 1.0
            shrink = smaller(larger((1.0 - work.growth[k]) / 3.0, least_room) / work.sd[k], 1.0)    # (65)
        gain = base_var
        for a in range(n_touched):
            i = work.touched[a]
            weight = work.weights[i * stride + k] * (1.0 if factor == 1.0 else pow(factor, design.lags[i]))    # (64)
            gain += 2.0 * weight * work.crossed[a]
            for b in range(n_touched):
                j = work.touched[b]
                other = work.weights[j * stride + k] * (1.0 if factor == 1.0 else pow(factor, design.lags[j]))
                cov = weight_cov(linear, bias + i, bias + j)
                if i == j:
                    cov += weight_drift(linear, bias + i)
                gain += (weight * other + shrink * shrink * cov) * work.spread[a * n_touched + b]
        work.extra[k] = LARGEST if isnan(gain) else smaller(larger(gain, 0.0), LARGEST)         # (66)
