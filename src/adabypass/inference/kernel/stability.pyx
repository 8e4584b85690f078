"""Weights of lags that do not let a series explode: equations (64) and (65), and what they make of unknown values."""

from libc.math cimport fabs, isnan, pow, sqrt

from adabypass.inference.kernel.step cimport LARGEST, Linear, Step, Weights, weight_cov, weight_drift, weight_mean
from adabypass.model.special cimport larger, smaller

from adabypass.model import limits

cdef double LARGEST_RESPONSE = limits.LARGEST_RESPONSE
cdef double SMALLEST = 1e-300

cdef enum:
    LEAST_STEPS = 30        # for which the response to an impulse is followed


cdef Py_ssize_t n_response(const Design* design) noexcept nogil:
    """Most steps for which an impulse is followed."""
    return max(max(design.capacity + 1, 2 * design.n_values), LEAST_STEPS)


cdef double _growth(const Design* design, const double* weights, double* response, Py_ssize_t n_steps) noexcept nogil:
    """Factor by which an impulse grows in a step, in the long run."""
    cdef Py_ssize_t i, step, half = n_steps // 2
    cdef double early = 0.0, late = SMALLEST, value
    if design.n_lags == 1:
        return pow(larger(fabs(weights[0]), SMALLEST), 1.0 / design.lags[0])
    response[0] = early = 1.0
    for step in range(1, n_steps):
        value = 0.0
        for i in range(design.n_lags):
            if design.lags[i] > step:
                break
            value += weights[i] * response[step - design.lags[i]]
        response[step] = value = larger(smaller(value, LARGEST_RESPONSE), -LARGEST_RESPONSE)
        if step < half:
            early = larger(early, fabs(value))
        else:
            late = larger(late, fabs(value))
    return pow(late / early, 1.0 / half)


cdef void _set_typical(
    const Design* design, const Workspace* work, const Step* step, Weights weights_of, Py_ssize_t n_components
) noexcept nogil:
    """Mean weights of the lags under the mixture."""
    cdef Linear linear
    cdef Py_ssize_t i, k
    for i in range(design.n_lags):
        work.typical[i] = 0.0
    for k in range(n_components):
        weights_of(step, k, &linear)
        for i in range(design.n_lags):
            work.typical[i] += linear.share * weight_mean(&linear, design.bias + i)


cdef double _most_growth(
    const Design* design, const Workspace* work, const Step* step, Weights weights_of, Py_ssize_t n_components,
    Py_ssize_t n_steps,
) noexcept nogil:
    """Growth that the mixture is certain of by two standard deviations; 1 if it is of none."""
    cdef Linear linear
    cdef Py_ssize_t i, k
    cdef double doubt = 0.0, apart
    for k in range(n_components):
        weights_of(step, k, &linear)
        for i in range(design.n_lags):
            apart = weight_mean(&linear, design.bias + i) - work.typical[i]
            doubt += linear.share * (apart * apart + weight_cov(&linear, design.bias + i, design.bias + i))
    return larger(_growth(design, work.typical, work.response, n_steps) - 2.0 * sqrt(doubt), 1.0)


cdef void stabilised_gains(
    const Design* design, const Workspace* work, const Step* step, Weights weights_of, Py_ssize_t n_components,
    Py_ssize_t horizon, Py_ssize_t n_touched, double base_var,
) noexcept nogil:
    """Variance of each component's forecast because values are unknown, with weights that do not explode: (64)-(66).

    `work.spread` and `work.crossed` hold the covariance of the lags made of unknown values, and theirs with the base.
    """
    cdef Linear linear
    cdef Py_ssize_t i, j, k, a, b, bias = design.bias
    cdef Py_ssize_t n_steps = max(max(horizon, 2 * design.n_values), LEAST_STEPS)
    cdef double least_room = 0.7 / horizon, bound = 0.0, size, sd, growth, factor, shrink, gain, cov
    _set_typical(design, work, step, weights_of, n_components)
    for k in range(n_components):
        weights_of(step, k, &linear)
        size = sd = 0.0
        for i in range(design.n_lags):
            work.damped[i] = weight_mean(&linear, bias + i)
            size += fabs(work.damped[i])
            sd += weight_cov(&linear, bias + i, bias + i) + horizon * weight_drift(&linear, bias + i)
        sd = sqrt(larger(sd, SMALLEST))
        factor = shrink = 1.0
        # Weights that add up to 1 at most cannot explode: then only a large spread asks how fast an impulse fades.
        if design.n_lags > 0 and (size > 1.0 or sd > least_room):
            growth = _growth(design, work.damped, work.response, n_steps)
            if growth > 1.0:
                if bound == 0.0:
                    bound = _most_growth(design, work, step, weights_of, n_components, n_steps)
                factor = smaller(bound / growth, 1.0)
            shrink = smaller(larger((1.0 - growth) / 3.0, least_room) / sd, 1.0)                # (65)
        for a in range(n_touched):
            i = work.touched[a]
            work.damped[i] *= 1.0 if factor == 1.0 else pow(factor, design.lags[i])             # (64)
        gain = base_var
        for a in range(n_touched):
            i = work.touched[a]
            gain += 2.0 * work.damped[i] * work.crossed[a]
            for b in range(n_touched):
                j = work.touched[b]
                cov = weight_cov(&linear, bias + i, bias + j)
                if i == j:
                    cov += weight_drift(&linear, bias + i)
                gain += (work.damped[i] * work.damped[j] + shrink * shrink * cov) * work.spread[a * n_touched + b]
        work.extra[k] = LARGEST if isnan(gain) else smaller(larger(gain, 0.0), LARGEST)         # (66)
