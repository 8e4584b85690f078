"""Quantiles: one search, whatever a forecast is made of.

A mixture may be all but without density between two of its modes, as wide as its widest component and as far off as its
farthest one. So a step of Halley's method is taken only where it leads into the bracket, and is the last one only where
it is short; everything else halves the bracket, which components of the mixture set.
"""

from libc.math cimport INFINITY, M_PI, NAN, exp, fabs, isnan, log, sqrt, tan
from libc.stdint cimport INT64_MIN, int64_t
from libc.string cimport memcpy
from scipy.special.cython_special cimport ndtri, stdtrit

from adabypass.distributions.component cimport IDENTITY, LOG, N_TARGETS, ROOT
from adabypass.distributions.lanes cimport Mix, Student, tail_of, value_of
from adabypass.numerics.special cimport larger, smaller
from adabypass.numerics.dispatch cimport MixtureLanes, TailValues

from adabypass.numerics import limits

cdef enum:
    MAX_TRIES = 40          # after which a bracket is halved in the order of floating-point numbers:
    MAX_STEPS = 110         # there are 64 halvings to that

cdef double INV_SQRT_2PI = 1.0 / sqrt(2.0 * M_PI)
cdef double LARGEST = limits.LARGEST
cdef double LARGEST_LOG = limits.LARGEST_LOG
cdef double MAX_STRIDE = 30.0       # of a step without a bracket, in units
cdef double MAX_LAST_STRIDE = 0.1   # of a step whose end is not looked at, over the narrowest component
cdef double SETTLED = 1e-4          # miss, as a normal deviate, after which a step is the last; it is cubed by that
cdef double SEEN = 1e-9             # the same where a root's density may be infinite: no step tells how good it is
cdef double ROUGHLY_SETTLED = 0.2
cdef double STUDENT_SETTLED = 1e-2  # of a search with a rough distribution function, before the exact one


cdef double quantile_of(const Mix* mix, double q, double* deviate, double settled) noexcept nogil:
    """Solve P(Y <= y) = q for the whole forecast, from a deviate on: see `_search`."""
    cdef double inner = _inner_probability(mix, q)
    if isnan(inner) and not isnan(q):
        return larger(smaller(0.0, mix.high), mix.low)
    if mix.n_students > 0 and settled <= SETTLED:
        _search(mix, &mix.lanes[IDENTITY], inner, deviate, STUDENT_SETTLED, True)
    return _within(mix, _search(mix, &mix.lanes[IDENTITY], inner, deviate, settled, False))


cdef double quantile_cold_start(Mix* mix, double q, bint has_largest, double* deviate) noexcept nogil:
    """Solve P(Y <= y) = q: first for the components of large weight alone, which is soon done."""
    deviate[0] = larger(smaller(ndtri(q), 8.0), -8.0)
    if has_largest:
        _search(mix, &mix.largest, q, deviate, ROUGHLY_SETTLED, False)
    return quantile_of(mix, q, deviate, SETTLED)


cdef double rough_quantile(const Mix* mix, double q) noexcept nogil:
    """A value near the quantile of the components, without the atom."""
    cdef double deviate = 0.0
    return _within(mix, _search(mix, &mix.lanes[IDENTITY], q, &deviate, ROUGHLY_SETTLED, True))


cdef double inner_quantile(const Mix* mix, double q) noexcept nogil:
    """The quantile of the components, without the atom."""
    cdef double deviate = 0.0
    return _within(mix, _search(mix, &mix.lanes[IDENTITY], q, &deviate, SETTLED, False))


cdef inline double _within(const Mix* mix, double y) noexcept nogil:
    """The value within the bounds."""
    return smaller(larger(y, mix.low), mix.high)


cdef double _inner_probability(const Mix* mix, double q) noexcept nogil:
    """The probability that the components leave below the quantile; nan if the atom is the quantile."""
    cdef double below
    if mix.atom_share == 0.0:
        return q
    below = (1.0 - mix.atom_share) * tail_of(mix, &mix.lanes[IDENTITY], 0.0, True, False).tail
    if below <= q <= below + mix.atom_share:
        return NAN
    return smaller(larger((q if q < below else q - mix.atom_share) / (1.0 - mix.atom_share), 0.0), 1.0)


cdef double _search(
    const Mix* mix, const MixtureLanes* lanes, double q, double* deviate, double settled, bint is_rough
) noexcept nogil:
    """Solve P(Y < y) = q by Halley's method on the scale of a normal deviate, where the function is nearly straight.

    The nearer tail is the one that is solved for. `deviate` is where to begin, in units from the centre, and afterwards
    where it ended; a short step from a miss below `settled`, as a normal deviate, is the last: it cubes the miss. A
    step is short beside the narrowest component; the density of a log changes over a part of y itself.
    """
    cdef double low = -LARGEST, high = LARGEST, y, next_y, wanted, at, goal, rate, curved, stride, least, most
    cdef double narrowest = mix.unit, grain, steepest
    cdef TailValues here
    cdef int step
    cdef bint lower = q <= 0.5, is_bracketed = False, is_inside, is_short
    if isnan(q):
        return NAN
    if q <= 0.0 or q >= 1.0:
        return -INFINITY if q <= 0.0 else INFINITY
    if settled <= SETTLED:
        narrowest = _grain(mix, lanes)
        settled = SEEN if mix.is_transformed else settled
    steepest = sqrt(settled)        # by how much the density may change, as a share, in a step that is the last
    wanted = q if lower else 1.0 - q
    goal = ndtri(wanted)
    y = smaller(larger(mix.center + deviate[0] * mix.unit, -LARGEST), LARGEST)
    for step in range(MAX_STEPS):
        here = tail_of(mix, lanes, y, lower, is_rough)
        if here.tail == wanted:
            break
        if (here.tail > wanted) == lower:
            high = y
        else:
            low = y
        at = ndtri(here.tail)
        rate = here.density / (INV_SQRT_2PI * exp(-0.5 * at * at))      # of the deviate `at`, by y
        curved = 1.0 + 0.5 * (goal - at) * (here.slope / here.density / rate + at)     # their product may underflow
        stride = fabs((goal - at) / rate / smaller(larger(curved, 0.5), 2.0))
        next_y = y + stride if high > y else y - stride
        is_inside = low < next_y < high         # not where the tail has vanished, which makes the stride nan
        grain = smaller(narrowest, fabs(y)) if mix.has_log_students else narrowest
        is_short = stride <= MAX_LAST_STRIDE * grain and stride * fabs(here.slope) <= steepest * here.density
        if is_inside and is_short and fabs(goal - at) <= settled:
            y = next_y
            break
        if not is_bracketed and not (is_inside and stride <= MAX_STRIDE * mix.unit):
            _bracket(mix, lanes, wanted, lower, &least, &most)
            low, high, is_bracketed = larger(least, low), smaller(most, high), True
            is_inside = low < next_y < high
        if not is_inside or step >= MAX_TRIES:
            next_y = low + 0.5 * (high - low) if step < MAX_TRIES else _halfway(low, high)
            if not low < next_y < high:         # next to each other, or apart by rounding alone
                y = smaller(larger(next_y, low), high)
                break
        y = next_y
    deviate[0] = (y - mix.center) / mix.unit
    return y


cdef void _bracket(
    const Mix* mix, const MixtureLanes* lanes, double wanted, bint lower, double* low, double* high
) noexcept nogil:
    """A mixture's quantile lies between the least and the largest of its components'."""
    cdef double reach
    cdef Py_ssize_t k
    cdef int target
    low[0], high[0] = LARGEST, -LARGEST
    _bracket_lanes(lanes, IDENTITY, wanted, lower, low, high)
    if mix.is_transformed:
        for target in range(LOG, N_TARGETS):
            _bracket_lanes(&mix.lanes[target], target, wanted, lower, low, high)
    for k in range(mix.n_students):
        reach = _student_reach(mix.students[k].dof, wanted)
        _widen(IDENTITY, value_of(mix.students + k, 0.0), low, high)
        _widen(IDENTITY, value_of(mix.students + k, -reach if lower else reach), low, high)


cdef void _bracket_lanes(
    const MixtureLanes* lanes, int target, double wanted, bint lower, double* low, double* high
) noexcept nogil:
    """Widen a bracket by the quantiles of components about y, its log or its root."""
    cdef double sign = -1.0 if lower else 1.0, deviate = -ndtri(wanted), half = -ndtri(0.5 * wanted), reach
    cdef Py_ssize_t k
    for k in range(lanes.n_normals):
        if lanes.weight[k] > 0.0:
            _widen(target, lanes.mean[k] + sign * deviate / lanes.inverse_sd[k], low, high)
    for k in range(lanes.n_shaped):
        if lanes.shaped_weight[k] > 0.0:
            # P(N + E > a + b) <= P(N > a) + P(E > b), each at most half of what is wanted; both are symmetric.
            reach = lanes.shaped_signal_sd[k] * half + lanes.shaped_epsilon[k] - log(wanted)
            _widen(target, lanes.shaped_mean[k], low, high)
            _widen(target, lanes.shaped_mean[k] + sign * reach / lanes.shaped_inverse_scale[k], low, high)


cdef inline void _widen(int target, double value, double* low, double* high) noexcept nogil:
    """Let a bracket hold a value of y, its log or its root."""
    if target == LOG:
        value = exp(smaller(value, LARGEST_LOG))
    elif target == ROOT:
        value *= fabs(value)
    low[0] = smaller(larger(value, -LARGEST), low[0])
    high[0] = larger(smaller(value, LARGEST), high[0])


cdef double _student_reach(double dof, double wanted) noexcept nogil:
    """At least the distance of a quantile from the centre: the fewer degrees of freedom, the farther it is."""
    if dof >= 2.0:
        return (1.0 - 2.0 * wanted) / sqrt(2.0 * wanted * (1.0 - wanted))
    return 1.0 / tan(M_PI * wanted) if dof >= 1.0 else -stdtrit(dof, wanted)


cdef double _grain(const Mix* mix, const MixtureLanes* lanes) noexcept nogil:
    """About how wide the narrowest component is, in units of y."""
    cdef double grain = mix.unit
    cdef const Student* part
    cdef Py_ssize_t k
    cdef int target
    _refine(lanes, IDENTITY, &grain)
    if mix.is_transformed:
        for target in range(LOG, N_TARGETS):
            _refine(&mix.lanes[target], target, &grain)
    for k in range(mix.n_students):
        part = mix.students + k
        grain = smaller(part.scale * (value_of(part, -2.0) if part.is_log else 1.0), grain)
    return grain


cdef void _refine(const MixtureLanes* lanes, int target, double* grain) noexcept nogil:
    cdef double sd, slope = 1.0
    cdef Py_ssize_t k
    for k in range(lanes.n_normals):
        if lanes.weight[k] == 0.0:
            continue
        sd = 1.0 / lanes.inverse_sd[k]
        if target == LOG:
            slope = exp(smaller(lanes.mean[k] - 2.0 * sd, LARGEST_LOG))
        elif target == ROOT:
            slope = 2.0 * fabs(lanes.mean[k]) + sd
        grain[0] = smaller(sd * slope, grain[0])
    for k in range(lanes.n_shaped):
        if lanes.shaped_weight[k] > 0.0:
            grain[0] = smaller(lanes.shaped_signal_sd[k] / lanes.shaped_inverse_scale[k], grain[0])


cdef double _halfway(double low, double high) noexcept nogil:
    """The number with as many floating-point numbers between it and `low` as between it and `high`."""
    cdef int64_t first = _place(low), last = _place(high)
    return _value((first >> 1) + (last >> 1) + (first & last & 1))


cdef int64_t _place(double value) noexcept nogil:
    """Place of a number in the order of floating-point numbers, 0 that of 0."""
    cdef int64_t place
    memcpy(&place, &value, sizeof(place))
    return place if place >= 0 else INT64_MIN - place


cdef double _value(int64_t place) noexcept nogil:
    """The number at a place in the order of floating-point numbers."""
    cdef double value
    if place < 0:
        place = INT64_MIN - place
    memcpy(&value, &place, sizeof(value))
    return value
