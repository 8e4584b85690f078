"""The first observations, which set the units of the bank: equations (49) and (50)."""

from libc.math cimport fabs, log, sqrt
from libc.string cimport memmove

from adabypass.model.special cimport larger, smaller

from adabypass.inference.kernel.bank_state cimport (
    Bank, CAUTION, EPSILON_SLOPE_SQ, EPSILON_START, FAILURES, FAST, FILTER_EPSILON, MOST_WARM_UP, N_SCALARS,
    N_SEEN, N_SETTINGS, N_WARM, PHASE, PRIOR_VAR, PRIOR_WEIGHT, SCALE_SLOPE_SQ, SETTLED, SHOCKS, SLOW, UNSCALED,
    WARMING, WARM_UP, Y_CENTER, Y_SCALE,
)
from adabypass.inference.kernel.filters cimport filter_noise, forecast_filters, standardise
from adabypass.inference.kernel.mixing cimport learn
from adabypass.inference.kernel.step cimport LARGEST, Step

from adabypass.model import limits

cdef double CONSTANT = limits.CONSTANT


cdef void _center_and_scale(
    const double* first, Py_ssize_t count, Py_ssize_t stride, bint centred, double* center, double* scale
) noexcept nogil:
    """Median, and the lesser of root mean square deviation and interquartile range, of every `stride`-th number: (49).

    The scale is 0 if the numbers do not differ.
    """
    cdef double[MOST_WARM_UP] values
    cdef Py_ssize_t t, at
    cdef double largest = 0.0, median, square = 0.0, deviation, quartiles
    for t in range(count):
        largest = larger(largest, fabs(first[t * stride]))
    center[0] = scale[0] = 0.0
    if largest == 0.0:
        return
    for t in range(count):      # sorted, in units of the largest
        at = t
        while at > 0 and values[at - 1] > first[t * stride] / largest:
            values[at] = values[at - 1]
            at -= 1
        values[at] = first[t * stride] / largest
    median = 0.5 * (values[(count - 1) // 2] + values[count // 2]) if centred else 0.0
    for t in range(count):
        deviation = values[t] - median
        square += deviation * deviation / count
    quartiles = values[count - 1 - (count - 1) // 4] - values[(count - 1) // 4]
    deviation = sqrt(square)
    if quartiles > CONSTANT and centred:
        deviation = smaller(deviation, quartiles)
    center[0] = median * largest
    scale[0] = smaller(larger(deviation * largest, 1.0 / LARGEST), LARGEST) if deviation > CONSTANT else 0.0


cdef void start_over(Bank* bank, double n_seen) noexcept nogil:
    """Set scales from the warm-up's observations, forget the rest, and learn from them anew: equation (50)."""
    cdef Py_ssize_t t, k, i, J = bank.size, count = <Py_ssize_t>bank.row[N_WARM], width = bank.n + 1
    cdef double* filter
    cdef double* S
    _center_and_scale(bank.buffer + bank.n, count, width, bank.intercept, &bank.row[Y_CENTER], &bank.row[Y_SCALE])
    bank.row[N_SEEN] = n_seen
    if bank.row[Y_SCALE] == 0.0 or count < 2:
        bank.row[PHASE] = UNSCALED
        return
    bank.row[PHASE] = WARMING if count < bank.constants[WARM_UP] else SETTLED
    bank.row[N_SEEN] = bank.row[SHOCKS] = 0.0
    for i in range(bank.n):
        _center_and_scale(bank.buffer + i, count, width, bank.intercept, &bank.x_center[i], &bank.x_scale[i])
        bank.anchor_center[i] = 0.0
        bank.anchor_var[i] = 1.0
    for k in range(bank.n_filters):
        filter = bank.filters + k * bank.stride
        bank.weights[k] = bank.settings[k * N_SETTINGS + PRIOR_WEIGHT]
        for i in range(bank.n_shares):
            bank.rated[i * bank.n_filters + k] = bank.weights[k]
            bank.rate_weights[i] = 1.0 / bank.n_shares
        filter[SLOW] = filter_noise(bank.settings + k * N_SETTINGS).start_log
        if bank.row[PHASE] == WARMING:      # few observations know little of their own scale
            filter[SLOW] += log(1.0 + bank.constants[CAUTION] / count)
        filter[FAST] = 0.0
        filter[FILTER_EPSILON] = bank.constants[EPSILON_START]
        filter[SCALE_SLOPE_SQ] = 0.5
        filter[EPSILON_SLOPE_SQ] = 0.05
        filter[FAILURES] = 0.0
        S = filter + N_SCALARS + J
        for i in range(J + J * (J + 1) // 2):
            filter[N_SCALARS + i] = 0.0
        for i in range(J):
            S[i * (i + 1) // 2 + i] = bank.constants[PRIOR_VAR]
    bank.extra = NULL       # the warm-up's features are taken as they were
    for t in range(count):
        standardise(bank, bank.buffer + t * width, 1.0)
        forecast_filters(bank)
        learn(bank, bank.buffer[t * width + bank.n])
    bank.row[N_SEEN] = n_seen


cdef bint is_milestone(Py_ssize_t count, Py_ssize_t warm_up) noexcept nogil:
    """Whether to set the scales anew: often at first, when an observation changes them most."""
    return count >= warm_up or count in (2, 3, 4, 6, 8, 11, 15)


cdef void remember(Bank* bank, Step* step, double y) noexcept nogil:
    """Keep an observation of the warm-up, the oldest making room if there is none."""
    cdef Py_ssize_t i, width = bank.n + 1, warm_up = <Py_ssize_t>bank.constants[WARM_UP]
    cdef double* slot
    if bank.row[PHASE] == UNSCALED and bank.row[N_WARM] > 1.0 and y != bank.buffer[bank.n]:
        bank.row[N_WARM] = 1.0          # a long constant start says nothing of what begins now
    if bank.row[N_WARM] >= warm_up:
        memmove(bank.buffer, bank.buffer + width, (warm_up - 1) * width * sizeof(double))
        bank.row[N_WARM] -= 1.0
    slot = bank.buffer + <Py_ssize_t>bank.row[N_WARM] * width
    for i in range(bank.n):
        slot[i] = step.scale * step.x[i]
    slot[bank.n] = y
    bank.row[N_WARM] += 1.0
