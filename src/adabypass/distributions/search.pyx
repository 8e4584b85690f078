"""The search for a quantile, whatever the distribution is made of.

A mixture may be all but without density between two of its modes, as wide as its widest component and as far off as its
farthest one. So a step of Halley's method is taken only where it leads into the bracket, and is the last one only where
it is short; everything else halves the bracket, which components of the mixture set.
"""

from libc.math cimport INFINITY, M_PI, NAN, exp, fabs, isnan, sqrt
from libc.stdint cimport INT64_MIN, int64_t
from libc.string cimport memcpy
from scipy.special.cython_special cimport ndtri

from adabypass.numerics.special cimport larger, smaller

from adabypass.numerics import limits

cdef enum:
    MAX_TRIES = 40          # after which a bracket is halved in the order of floating-point numbers:
    MAX_STEPS = 110         # there are 64 halvings to that

cdef double INV_SQRT_2PI = 1.0 / sqrt(2.0 * M_PI)
cdef double LARGEST = limits.LARGEST
cdef double MAX_STRIDE = 30.0       # of a step without a bracket, in units
cdef double MAX_LAST_STRIDE = 0.1   # of a step whose end is not looked at, over the grain


cdef double find_quantile(const Search* search, double q, double* deviate, double settled) noexcept nogil:
    """Solve P(Y < y) = q by Halley's method on the scale of a normal deviate, where the function is nearly straight.

    The nearer tail is the one that is solved for. `deviate` is where to begin, in units from the centre, and afterwards
    where it ended; a short step from a miss below `settled`, as a normal deviate, is the last: it cubes the miss.
    """
    cdef double low = -LARGEST, high = LARGEST, y, next_y, wanted, at, goal, rate, curved, stride, grain, least, most
    cdef double steepest = sqrt(settled)        # by how much the density may change, as a share, in such a step
    cdef TailValues here
    cdef int step
    cdef bint lower = q <= 0.5, is_bracketed = False, is_inside, is_short
    if isnan(q):
        return NAN
    if q <= 0.0 or q >= 1.0:
        return -INFINITY if q <= 0.0 else INFINITY
    wanted = q if lower else 1.0 - q
    goal = ndtri(wanted)
    y = smaller(larger(search.center + deviate[0] * search.unit, -LARGEST), LARGEST)
    for step in range(MAX_STEPS):
        here = search.tail(search.distribution, y, lower)
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
        grain = smaller(search.grain, fabs(y)) if search.has_logs else search.grain
        is_short = stride <= MAX_LAST_STRIDE * grain and stride * fabs(here.slope) <= steepest * here.density
        if is_inside and is_short and fabs(goal - at) <= settled:
            y = next_y
            break
        if not is_bracketed and not (is_inside and stride <= MAX_STRIDE * search.unit):
            search.bracket(search.distribution, wanted, lower, &least, &most)
            low, high, is_bracketed = larger(least, low), smaller(most, high), True
            is_inside = low < next_y < high
        if not is_inside or step >= MAX_TRIES:
            next_y = low + 0.5 * (high - low) if step < MAX_TRIES else _halfway(low, high)
            if not low < next_y < high:         # next to each other, or apart by rounding alone
                y = smaller(larger(next_y, low), high)
                break
        y = next_y
    deviate[0] = (y - search.center) / search.unit
    return y


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
