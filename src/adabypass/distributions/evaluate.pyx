"""Evaluate forecasts: probabilities, densities, quantiles, the CRPS and the entropy, of many at once.

How a quantile is found: `Mixture.quantile` (mixture.py) calls `quantile` here. `Forecasts.lay_out` (lanes.pyx) sorts
the components of each forecast into lanes, those of a record by `_add_record`, `_add_target` and `_add_flexible`. Then
`_search` solves for the quantile: `_bracket` bounds it, `_grain` returns the width of the narrowest component, and
`_halfway` halves a bracket that steps do not shorten. It evaluates the distribution function by `tail_of` (lanes.pyx),
which calls `SIMD.mixture_tail` (numerics/c/tails.h).

Who wrote the record: `Runner` (kernels/runner.pyx) calls `describe` of its kernel; that of AutoBypass is `describe` in
kernels/auto_bypass.pyx, which calls `describe_bank` (kernels/bank.pyx) for each of its banks, and that
`SIMD.bank_describe` (numerics/c/mixing.h).

All functions take forecasts as components (n, n_components), or as records (n, size) with their layout, and their
`MixtureExtras`. They release the GIL, except briefly for each forecast of a pool, and handle Ctrl-C. The result for a
forecast about which nothing is known is nan.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, M_PI, NAN, asinh, ceil, cosh, exp, fabs, isnan, log, sinh, sqrt, tan
from libc.stdint cimport INT64_MIN, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

cimport numpy as cnp

import numpy as np

from adabypass.distributions.component cimport IDENTITY, LOG, N_TARGETS, ROOT
from adabypass.distributions.lanes cimport (
    Forecasts, Mix, Student, choose_largest, count_transformed, is_whole, lay_out_record, make_room, probability,
    tail_of, value_of,
)
from adabypass.distributions.record cimport RecordLayout
from adabypass.numerics.dispatch cimport MixtureLanes, TailValues
from adabypass.numerics.scipy_functions cimport ndtri, stdtrit
from adabypass.numerics.special cimport larger, smaller

from adabypass.distributions.moments import CENTRAL
from adabypass.numerics import limits

cnp.import_array()

cdef double MAX_VALUE = limits.MAX_VALUE
cdef double LOG_MAX_VALUE = limits.LOG_MAX_VALUE
cdef double INV_SQRT_2PI = 1.0 / sqrt(2.0 * M_PI)

cdef enum:
    SIGNALS = 64            # forecasts between two checks for Ctrl-C


# Probabilities and densities.

def cdf(forecasts, const double[::1] y, RecordLayout layout=None, extras=None):
    """Return P(Y <= y)."""
    return _probabilities(Forecasts(forecasts, layout, extras), y, True)


def sf(forecasts, const double[::1] y, RecordLayout layout=None, extras=None):
    """Return P(Y > y)."""
    return _probabilities(Forecasts(forecasts, layout, extras), y, False)


cdef object _probabilities(Forecasts many, const double[::1] y, bint lower):
    out = np.empty(_count(many, y))
    cdef double[::1] values = out
    cdef Py_ssize_t i
    cdef bint is_known = False
    with nogil:
        for i in range(values.shape[0]):
            if i % SIGNALS == 0:
                with gil:
                    PyErr_CheckSignals()
            if many.n > 1 or i == 0:
                is_known = many.lay_out(i, 0.0)
            values[i] = probability(&many.mix, y[i], lower) if is_known and not isnan(y[i]) else NAN
    return out


def logpdf(forecasts, const double[::1] y, RecordLayout layout=None, extras=None):
    """Return the log density at y, or the log probability of an atom."""
    cdef Forecasts many = Forecasts(forecasts, layout, extras)
    out = np.empty(_count(many, y))
    cdef double[::1] values = out
    cdef Py_ssize_t i
    with nogil:
        for i in range(values.shape[0]):
            if i % SIGNALS == 0:
                with gil:
                    PyErr_CheckSignals()
            values[i] = NAN if isnan(y[i]) else many.log_density(i if many.n > 1 else 0, y[i])
    return out


cdef Py_ssize_t _count(Forecasts many, const double[::1] y) except -1:
    """Return the number of results: one for each forecast, or for a single forecast one for each value."""
    if y.shape[0] != many.n and many.n != 1:
        raise ValueError(f"y has {y.shape[0]} values, but there are {many.n} forecasts; pass one for each")
    return y.shape[0]


# Quantiles.

def quantile(forecasts, const double[::1] q, RecordLayout layout=None, extras=None, Py_ssize_t restart=0):
    """Return the quantiles of each forecast: (n_levels, n).

    Each search starts where that of the previous forecast ended, which is faster where forecasts are alike. If
    `restart` is above 0, every `restart`-th search starts afresh, and does not depend on earlier forecasts.
    """
    cdef Forecasts many = Forecasts(forecasts, layout, extras)
    out = np.full((q.shape[0], many.n), NAN)
    cdef double[:, ::1] values = out
    cdef double[::1] starts = np.zeros(q.shape[0])
    cdef Py_ssize_t i, t
    cdef bint is_new = True, has_largest = False
    with nogil:
        for t in range(many.n):
            if t % SIGNALS == 0:
                with gil:
                    PyErr_CheckSignals()
            if not many.lay_out(t, NEGLIGIBLE if many.n_students > 0 else 0.0):
                continue
            is_new = is_new or (restart > 0 and t % restart == 0)
            has_largest = is_new and choose_largest(&many.mix)
            for i in range(q.shape[0]):
                if is_new or isnan(starts[i]):
                    values[i, t] = quantile_cold_start(&many.mix, q[i], has_largest, &starts[i])
                else:
                    values[i, t] = quantile_of(&many.mix, q[i], &starts[i], SETTLED)
            is_new = False
    return out


def interval(
    cnp.ndarray record not None, RecordLayout layout not None, double low, double high, cnp.ndarray starts=None
):
    """Return quantiles `low` and `high` of one forecast, which is a record.

    Parameters
    ----------
    starts : array (2,), optional
        Start of both searches, in mean standard deviations of the components from the mean; overwritten with their
        ends, for the next forecast of a stream. The quantiles are then accurate to about 1e-5 standard deviations.
    """
    cdef double lower = NAN, upper = NAN
    cdef double[2] ends
    cdef bint has_largest
    cdef Mix mix
    cdef const double* memory = <const double*>cnp.PyArray_DATA(record)
    # Checked by hand: making a typed memoryview takes as long as finding a quantile.
    if cnp.PyArray_NDIM(record) != 1 or cnp.PyArray_TYPE(record) != cnp.NPY_FLOAT64 or len(record) != layout.size:
        raise ValueError(f"record must be a float64 array of {layout.size} numbers")
    if not cnp.PyArray_ISCARRAY_RO(record):
        raise ValueError("record must be contiguous; pass np.ascontiguousarray(record)")
    if starts is not None and not (
        cnp.PyArray_NDIM(starts) == 1 and cnp.PyArray_TYPE(starts) == cnp.NPY_FLOAT64 and len(starts) == 2
        and cnp.PyArray_ISCARRAY(starts)
    ):
        raise ValueError("starts must be a contiguous, writeable float64 array of two numbers")
    make_room(&mix, layout.n_components, count_transformed(layout), 0)
    if not isnan(layout.open(memory).mean[0]):
        lay_out_record(memory, layout, &mix)
        if starts is None:
            has_largest = choose_largest(&mix)
            lower = quantile_cold_start(&mix, low, has_largest, &ends[0])
            upper = quantile_cold_start(&mix, high, has_largest, &ends[1])
        else:
            memcpy(ends, cnp.PyArray_DATA(starts), sizeof(ends))
            lower = quantile_of(&mix, low, &ends[0], NEARLY_SETTLED)
            upper = quantile_of(&mix, high, &ends[1], NEARLY_SETTLED)
            memcpy(cnp.PyArray_DATA(starts), ends, sizeof(ends))
    free(mix.memory)
    return lower, upper


def intervals(
    const double[:, ::1] records,       # (n, size)
    RecordLayout layout not None,
    double low,
    double high,
    const Py_ssize_t[::1] chosen,       # positions of forecasts, in the order of the search
    const Py_ssize_t[::1] which,        # (n,) row of `starts` of each forecast
    double[:, ::1] starts,            # inout  (m, 2) starts of searches, then their ends
    double[:, ::1] bounds,              # out  (n, 2) bounds of the chosen forecasts; nan where nothing is known
):
    """Write quantiles `low` and `high` of chosen forecasts: the same numbers as `interval` with starts."""
    cdef Forecasts many = Forecasts(records, layout)
    cdef Py_ssize_t i, t
    if which.shape[0] != many.n or starts.shape[1] != 2 or bounds.shape[0] != many.n or bounds.shape[1] != 2:
        raise ValueError(f"pass which, starts and bounds of shapes ({many.n},), (m, 2) and ({many.n}, 2)")
    for i in range(chosen.shape[0]):
        t = chosen[i]
        if not 0 <= t < many.n:
            raise IndexError(f"chosen contains {t}, but must be from 0 to {many.n - 1}")
        if not 0 <= which[t] < starts.shape[0]:
            raise IndexError(f"which contains {which[t]}, but must be from 0 to {starts.shape[0] - 1}")
    with nogil:
        for i in range(chosen.shape[0]):
            t = chosen[i]
            bounds[t, 0] = bounds[t, 1] = NAN
            if many.lay_out(t, 0.0):
                bounds[t, 0] = quantile_of(&many.mix, low, &starts[which[t], 0], NEARLY_SETTLED)
                bounds[t, 1] = quantile_of(&many.mix, high, &starts[which[t], 1], NEARLY_SETTLED)


# The search for a quantile: one for every kind of forecast.
#
# Between two modes a mixture may have hardly any density, and its widest or farthest component may lie anywhere. So a
# step of Halley's method is taken only if it stays inside the bracket, and is the last one only if it is short; all
# other steps halve the bracket, which the components set.

cdef enum:
    MAX_TRIES = 40          # steps after which the bracket is halved in the order of floating-point numbers
    MAX_STEPS = 110         # of a search; 64 halvings reach neighbouring numbers

cdef double MAX_STRIDE = 30.0       # length of a step without a bracket, in `mix.unit`s
cdef double MAX_LAST_STRIDE = 0.1   # length of the last step, whose end is not evaluated, over the narrowest component
cdef double SETTLED = 1e-4          # error, as a normal deviate, from which one more step suffices: the step cubes it
cdef double NEARLY_SETTLED = 2e-2   # the same for a search that begins where the previous one ended
cdef double SEEN = 1e-9             # the same for a root, whose density may be infinite: its error is not estimated
cdef double ROUGHLY_SETTLED = 0.2   # the same for an approximate quantile
cdef double STUDENT_SETTLED = 1e-2  # the same for a search with a rough distribution function, before the exact one
cdef double NEGLIGIBLE = 1e-10      # weight up to which components are left out of the search


cdef double quantile_of(const Mix* mix, double q, double* start, double settled) noexcept nogil:
    """Solve P(Y <= y) = q for the forecast with its atom and bounds, starting at `start`: see `_search`."""
    cdef double inner = _inner_probability(mix, q)
    if isnan(inner) and not isnan(q):
        return larger(smaller(0.0, mix.high), mix.low)
    if mix.n_students > 0 and settled <= SETTLED:
        _search(mix, &mix.lanes[IDENTITY], inner, start, STUDENT_SETTLED, True)
    return _within(mix, _rounded(mix, _search(mix, &mix.lanes[IDENTITY], inner, start, settled, False)))


cdef double quantile_cold_start(Mix* mix, double q, bint has_largest, double* start) noexcept nogil:
    """Solve P(Y <= y) = q without a start: first for the components of large weight alone, which is fast."""
    start[0] = larger(smaller(ndtri(q), 8.0), -8.0)
    if has_largest:
        _search(mix, &mix.largest, q, start, ROUGHLY_SETTLED, False)
    return quantile_of(mix, q, start, SETTLED)


cdef double rough_quantile(const Mix* mix, double q) noexcept nogil:
    """Return an approximate quantile of the components, without the atom."""
    cdef double start = 0.0
    return _within(mix, _search(mix, &mix.lanes[IDENTITY], q, &start, ROUGHLY_SETTLED, True))


cdef double inner_quantile(const Mix* mix, double q) noexcept nogil:
    """Return the quantile of the components, without the atom."""
    cdef double start = 0.0
    return _within(mix, _search(mix, &mix.lanes[IDENTITY], q, &start, SETTLED, False))


cdef inline double _within(const Mix* mix, double y) noexcept nogil:
    """Clip a value to the bounds."""
    return smaller(larger(y, mix.low), mix.high)


cdef inline double _rounded(const Mix* mix, double y) noexcept nogil:
    """Return the count up to which a value of the components is rounded, or any other forecast's value as it is."""
    return larger(ceil(y - 0.5), mix.least) if mix.is_count else y


cdef double _inner_probability(const Mix* mix, double q) noexcept nogil:
    """Return the probability of the components below the quantile; nan if the quantile is the atom."""
    cdef double below
    if mix.atom_share == 0.0:
        return q
    below = 0.0 if mix.is_count else (1.0 - mix.atom_share) * tail_of(
        mix, &mix.lanes[IDENTITY], 0.0, True, False
    ).tail
    if below <= q <= below + mix.atom_share:
        return NAN
    return smaller(larger((q if q < below else q - mix.atom_share) / (1.0 - mix.atom_share), 0.0), 1.0)


cdef double _search(
    const Mix* mix, const MixtureLanes* lanes, double q, double* start, double settled, bint is_rough
) noexcept nogil:
    """Solve P(Y < y) = q by Halley's method on the scale of a normal deviate, where the function is nearly linear.

    The equation is solved for the nearer tail. `start` is in `mix.unit`s from `mix.center`, and is overwritten with the
    end. A step is the last if it is short and begins at an error below `settled`, as a normal deviate: it cubes the
    error. Short means short beside the narrowest component, and beside y for the log of y.
    """
    cdef double low = -MAX_VALUE, high = MAX_VALUE, y, next_y, wanted, at, goal, rate, curved, stride, least, most
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
    steepest = sqrt(settled)        # relative change of the density allowed in the last step
    wanted = q if lower else 1.0 - q
    goal = ndtri(wanted)
    y = smaller(larger(mix.center + start[0] * mix.unit, -MAX_VALUE), MAX_VALUE)
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
        is_inside = low < next_y < high         # false where the tail has underflowed: the stride is nan
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
            if not low < next_y < high:         # the bracket is empty up to rounding
                y = smaller(larger(next_y, low), high)
                break
        y = next_y
    start[0] = (y - mix.center) / mix.unit
    return y


cdef void _bracket(
    const Mix* mix, const MixtureLanes* lanes, double wanted, bint lower, double* low, double* high
) noexcept nogil:
    """Set a bracket: a mixture's quantile lies between the smallest and the largest of its components'."""
    cdef double reach
    cdef Py_ssize_t k
    cdef int target
    low[0], high[0] = MAX_VALUE, -MAX_VALUE
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
    """Widen a bracket by the quantiles of the components of y, its log or its root."""
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
    """Widen a bracket to contain a value of y, its log or its root."""
    if target == LOG:
        value = exp(smaller(value, LOG_MAX_VALUE))
    elif target == ROOT:
        value *= fabs(value)
    low[0] = smaller(larger(value, -MAX_VALUE), low[0])
    high[0] = larger(smaller(value, MAX_VALUE), high[0])


cdef double _student_reach(double dof, double wanted) noexcept nogil:
    """Return an upper bound of a quantile's distance from the centre, which falls with the degrees of freedom."""
    if dof >= 2.0:
        return (1.0 - 2.0 * wanted) / sqrt(2.0 * wanted * (1.0 - wanted))
    return 1.0 / tan(M_PI * wanted) if dof >= 1.0 else -stdtrit(dof, wanted)


cdef double _grain(const Mix* mix, const MixtureLanes* lanes) noexcept nogil:
    """Return the approximate width of the narrowest component, in units of y."""
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
    """Reduce a grain to the width of the narrowest component of y, its log or its root."""
    cdef double sd, slope = 1.0
    cdef Py_ssize_t k
    for k in range(lanes.n_normals):
        if lanes.weight[k] == 0.0:
            continue
        sd = 1.0 / lanes.inverse_sd[k]
        if target == LOG:
            slope = exp(smaller(lanes.mean[k] - 2.0 * sd, LOG_MAX_VALUE))
        elif target == ROOT:
            slope = 2.0 * fabs(lanes.mean[k]) + sd
        grain[0] = smaller(sd * slope, grain[0])
    for k in range(lanes.n_shaped):
        if lanes.shaped_weight[k] > 0.0:
            grain[0] = smaller(lanes.shaped_signal_sd[k] / lanes.shaped_inverse_scale[k], grain[0])


cdef double _halfway(double low, double high) noexcept nogil:
    """Return the median of the floating-point numbers from `low` to `high`."""
    cdef int64_t first = _place(low), last = _place(high)
    return _value((first >> 1) + (last >> 1) + (first & last & 1))


cdef int64_t _place(double value) noexcept nogil:
    """Return the rank of a number in the order of floating-point numbers; that of 0 is 0."""
    cdef int64_t place
    memcpy(&place, &value, sizeof(place))
    return place if place >= 0 else INT64_MIN - place


cdef double _value(int64_t place) noexcept nogil:
    """Return the number of a rank in the order of floating-point numbers."""
    cdef double value
    if place < 0:
        place = INT64_MIN - place
    memcpy(&value, &place, sizeof(value))
    return value


# The CRPS (G.15) and the entropy (G.16): one quadrature.

cdef enum:
    MAX_PIECES = 96         # into which an integral is cut
    N_OUTER = 4             # nodes from which the end of a piece is extrapolated
    N_LEVELS = 5
    N_EDGES = N_LEVELS + 5  # of the first pieces, at most

cdef double HARDLY_ANY = 1e-8       # weight up to which components are left out of the CRPS
cdef double EXTREME = 1e-4          # tail probability of the outermost edges; beyond them nodes are spaced as sinh
cdef double MIN_REACH = 1e4         # minimum length of an integrated tail, over the width between the outermost edges
cdef double STUDENT_REACH = 1e3     # length of the tail of Student's t, over its scale
cdef double NORMAL_REACH = 12.0     # length of the tail of a normal, over its standard deviation
cdef double LAPLACE_REACH = 40.0    # length of the tail of insensitive noise, over its scale
cdef double CRPS_ERROR = 5e-5       # relative error of the CRPS at which refinement stops
cdef double ENTROPY_ERROR = 1e-6    # error of the entropy at which refinement stops, in nats
cdef double COUNT_EXTREME = 1e-6    # tail probability of the least and the largest count of a sum
cdef double OUTSIDE = 0.7 * (1.0 - CENTRAL)     # tail probability beyond which no mean lies, with room for rounding
cdef double MAX_COUNTS = 64.0       # in a sum; beyond, sums and integrals hardly differ
cdef double WIDE = 4.0              # mean standard deviation of components from which there are as many
cdef double[N_LEVELS] LEVELS = [EXTREME, 0.03, 0.5, 0.97, 1.0 - EXTREME]   # of the quantiles between the first pieces

cdef enum Course:
    STRAIGHT        # x = origin + size u
    SQUARE          # x = origin + size u²: a root of y has an infinite density at 0
    TAIL            # x = origin + size sinh(u)


cdef struct Piece:
    # An interval of the line, and the integral over it.
    Course course
    double origin
    double size
    double begin        # first and last u
    double end
    double value        # integral over the piece
    double error        # estimate of its error


cdef struct Integral:
    const Mix* mix
    double y            # observation, for the CRPS
    bint is_entropy


# Gauss-Kronrod nodes and weights on [-1, 1], from the outermost to the middle; every second is a Gauss node.
cdef double[8] NODE = [
    0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
    0.741531185599394439863864773280788, 0.586087235467691130294144691693320, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245, 0.0,
]
cdef double[8] WEIGHT = [
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
    0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
]
cdef double[4] GAUSS_WEIGHT = [
    0.129484966168869693270611432679082, 0.279705391489276667901467771423780, 0.381830050505118944950369775488975,
    0.417959183673469387755102040816327,
]

cdef double[N_OUTER] EXTRAPOLATION      # weights of a polynomial through the outermost nodes, at the end of a piece
for _k in range(N_OUTER):
    EXTRAPOLATION[_k] = np.prod([(1.0 - NODE[j]) / (NODE[_k] - NODE[j]) for j in range(N_OUTER) if j != _k])


def crps(forecasts, const double[::1] y, RecordLayout layout=None, extras=None):
    """Return ∫ (P(Y <= x) - [y <= x])² dx.

    The relative error is about 1e-6, and up to 1e-4 where components differ by many orders of magnitude. Tails of
    components of the log are cut at 1e4 times the width between the quantiles of 1e-4 and 1 - 1e-4: beyond, the log of
    a Student's t distribution would make any score infinite.
    """
    return _integrals(Forecasts(forecasts, layout, extras), y, False)


def entropy(forecasts, const double[::1] y, RecordLayout layout=None, extras=None):
    """Return -E log p(Y), accurate to about 1e-5 nats; of `y` only the shape matters."""
    return _integrals(Forecasts(forecasts, layout, extras), y, True)


cdef object _integrals(Forecasts many, const double[::1] y, bint is_entropy):
    cdef Py_ssize_t i
    cdef Integral integral
    cdef double correction
    out = np.empty(_count(many, y))
    cdef double[::1] values = out
    integral.mix, integral.is_entropy = &many.mix, is_entropy
    with nogil:
        for i in range(values.shape[0]):
            with gil:
                PyErr_CheckSignals()
            values[i], integral.y, correction = NAN, y[i], 0.0
            if not many.lay_out(i if many.n > 1 else 0, 0.0 if is_entropy else HARDLY_ANY) or isnan(y[i]):
                continue
            if many.mix.is_count:
                values[i] = _count_entropy(&many.mix) if is_entropy else _count_crps(&many.mix, y[i])
                if not isnan(values[i]):
                    continue
                many.mix.low, many.mix.is_count = larger(many.mix.low, many.mix.least), False   # steps are short
                if not is_entropy and is_whole(y[i]):
                    correction = tail_of(&many.mix, &many.mix.lanes[IDENTITY], y[i], True, True).density
                    correction *= (1.0 - many.mix.atom_share) / 12.0        # Euler and Maclaurin's
            values[i] = _integrate(&integral) - correction
    return out


# Counts: sums over whole numbers, (G.18)-(G.20), where there are not too many of them.

def count_moments(forecasts, RecordLayout layout=None, extras=None):
    """Return mean and variance of forecasts of counts, (n,) each; nan of others, and of counts with many values."""
    cdef Forecasts many = Forecasts(forecasts, layout, extras)
    means, variances = np.full(many.n, NAN), np.full(many.n, NAN)
    cdef double[::1] mean = means, var = variances
    cdef Py_ssize_t t
    with nogil:
        for t in range(many.n):
            if t % SIGNALS == 0:
                with gil:
                    PyErr_CheckSignals()
            if many.lay_out(t, COUNT_EXTREME) and many.mix.is_count:
                _count_moments(&many.mix, &mean[t], &var[t])
    return means, variances


cdef bint _find_counts(const Mix* mix, double* first, double* last) noexcept nogil:
    """Find the counts between the extreme quantiles, roughly; return whether there are not too many to sum over."""
    if mix.unit > WIDE:
        return False
    first[0] = 0.0 if mix.atom_share > 0.0 else _within(mix, _rounded(mix, rough_quantile(mix, COUNT_EXTREME)))
    last[0] = _within(mix, _rounded(mix, rough_quantile(mix, 1.0 - COUNT_EXTREME)))
    return 0.0 <= last[0] - first[0] < MAX_COUNTS


cdef double _up_to(const Mix* mix, double k) noexcept nogil:
    """Return P(Y <= k) of a count from `least` on, as exactly as sums need it: equation (G.17)."""
    cdef double inside = tail_of(mix, &mix.lanes[IDENTITY], k + 0.5, True, True).tail if k >= mix.least else 0.0
    return (1.0 - mix.atom_share) * inside + mix.atom_share


cdef void _count_moments(const Mix* mix, double* mean, double* var) noexcept nogil:
    """Write mean and variance, the mean within the central interval: equations (G.18) and (J.7)."""
    cdef double first = 0.0, last = 0.0, below = 0.0, here, share, total = 0.0, k, apart, low = 0.0, high = -1.0
    if not _find_counts(mix, &first, &last):
        return
    mean[0] = var[0] = 0.0
    k = first
    while k <= last:
        here = _up_to(mix, k)
        share, below = here - below, here
        if here < OUTSIDE:
            low = k + 1.0
        if here >= 1.0 - OUTSIDE and high < 0.0:
            high = k
        if share > 0.0:         # West (1979)
            total += share
            apart = k - mean[0]
            mean[0] += apart * share / total
            var[0] += share * apart * (k - mean[0])
        k += 1.0
    var[0] = larger(var[0] / total, COUNT_EXTREME)      # what was left out may be a step away
    mean[0] = larger(low, smaller(mean[0], high))


cdef double _count_crps(const Mix* mix, double y) noexcept nogil:
    """Return the CRPS, the sum of (G.19); nan where there are too many counts."""
    cdef double first = 0.0, last = 0.0, k, p, inside, total = 0.0
    if not _find_counts(mix, &first, &last):
        return NAN
    k = first
    while k < last:
        p = _up_to(mix, k)
        inside = smaller(larger(y - k, 0.0), 1.0)       # the part of [k, k + 1) below y
        total += inside * p * p + (1.0 - inside) * (1.0 - p) * (1.0 - p)
        k += 1.0
    return total + larger(first - y, 0.0) + larger(y - last, 0.0)


cdef double _count_entropy(const Mix* mix) noexcept nogil:
    """Return the entropy, the sum of (G.20); nan where there are too many counts."""
    cdef double first = 0.0, last = 0.0, below = 0.0, here, k, share, total = 0.0
    if not _find_counts(mix, &first, &last):
        return NAN
    k = first
    while k <= last:
        here = _up_to(mix, k)
        share, below = here - below, here
        if share > 0.0:
            total -= share * log(share)
        k += 1.0
    return total


cdef double _integrate(const Integral* integral) noexcept nogil:
    """Integrate adaptively: halve the piece of the largest error until the sum of errors is small enough."""
    cdef Piece[MAX_PIECES] pieces
    cdef Py_ssize_t n = _first_pieces(integral, pieces), k, worst
    cdef double total = 0.0, error = 0.0, enough
    cdef Piece half
    for k in range(n):
        _sum_up(integral, &pieces[k])
    while True:
        worst, total, error = 0, 0.0, 0.0
        for k in range(n):
            total += pieces[k].value
            error += pieces[k].error
            if pieces[k].error > pieces[worst].error:
                worst = k
        enough = ENTROPY_ERROR if integral.is_entropy else CRPS_ERROR * fabs(total)
        if n == 0 or n == MAX_PIECES or not error > enough:
            break
        half = pieces[worst]
        pieces[worst].end = half.begin = 0.5 * (half.begin + half.end)
        pieces[n] = half
        _sum_up(integral, &pieces[worst])
        _sum_up(integral, &pieces[n])
        n += 1
    return total + _of_atoms(integral)


cdef Py_ssize_t _first_pieces(const Integral* integral, Piece* pieces) noexcept nogil:
    """Cut the line at quantiles, at the observation, at atoms and where the density may be infinite."""
    cdef const Mix* mix = integral.mix
    cdef double[N_EDGES] edges
    cdef double width, low, high, part, farthest
    cdef Py_ssize_t k, n = 0, m = 0
    cdef bint has_root = mix.lanes[ROOT].n_normals + mix.lanes[ROOT].n_shaped > 0
    for k in range(N_LEVELS):
        edges[k] = rough_quantile(mix, LEVELS[k])
    if mix.is_transformed or mix.n_students > 0:        # the score depends on where tails of logs are cut
        edges[0], edges[N_LEVELS - 1] = inner_quantile(mix, LEVELS[0]), inner_quantile(mix, LEVELS[N_LEVELS - 1])
    low, high = smaller(edges[0], edges[N_LEVELS - 1]), larger(edges[0], edges[N_LEVELS - 1])
    width = larger(high - low, larger(1e-12 * larger(fabs(low), fabs(high)), 1e-290))
    n = N_LEVELS
    if not integral.is_entropy:
        edges[n] = integral.y
        n += 1
    if mix.atom_share > 0.0 or (has_root and low < 0.0 < high):
        edges[n] = larger(smaller(0.0, mix.high), mix.low)
        n += 1
    for part in (mix.low, mix.high):
        if fabs(part) < INFINITY:
            edges[n] = part
            n += 1
    _sort(edges, n)
    for k in range(n - 1):
        low, high = edges[k], edges[k + 1]
        if high <= low or (integral.is_entropy and (high <= mix.low or low >= mix.high)):
            continue
        if has_root and (low == 0.0 or high == 0.0):
            pieces[m] = Piece(SQUARE, 0.0, high if low == 0.0 else low, 0.0, 1.0, 0.0, 0.0)
        else:
            pieces[m] = Piece(STRAIGHT, low, high - low, 0.0, 1.0, 0.0, 0.0)
        m += 1
    farthest = asinh(larger(MIN_REACH, smaller(_reach(mix, edges[0]) / width, MAX_VALUE)))
    if edges[0] > mix.low:
        pieces[m] = Piece(TAIL, edges[0], -width, 0.0, farthest, 0.0, 0.0)
        m += 1
    if edges[n - 1] < mix.high:
        pieces[m] = Piece(TAIL, edges[n - 1], width, 0.0, farthest, 0.0, 0.0)
        m += 1
    return m


cdef double _reach(const Mix* mix, double center) noexcept nogil:
    """Return the distance from a centre within which all components of y lie, but for negligible tails."""
    cdef const MixtureLanes* lanes = &mix.lanes[IDENTITY]
    cdef double reach = 0.0, each
    cdef Py_ssize_t k
    for k in range(lanes.n_normals):
        if lanes.weight[k] > 0.0:
            reach = larger(reach, fabs(lanes.mean[k] - center) + NORMAL_REACH / lanes.inverse_sd[k])
    for k in range(lanes.n_shaped):
        if lanes.shaped_weight[k] > 0.0:
            each = NORMAL_REACH * lanes.shaped_signal_sd[k] + lanes.shaped_epsilon[k] + LAPLACE_REACH
            reach = larger(reach, fabs(lanes.shaped_mean[k] - center) + each / lanes.shaped_inverse_scale[k])
    for k in range(mix.n_students):
        if not mix.students[k].is_log:
            reach = larger(reach, fabs(mix.students[k].location - center) + STUDENT_REACH * mix.students[k].scale)
    return reach


cdef void _sort(double* values, Py_ssize_t n) noexcept nogil:
    """Sort a few numbers, by insertion."""
    cdef Py_ssize_t i, k
    cdef double each
    for k in range(1, n):
        each, i = values[k], k
        while i > 0 and values[i - 1] > each:
            values[i] = values[i - 1]
            i -= 1
        values[i] = each


cdef void _sum_up(const Integral* integral, Piece* piece) noexcept nogil:
    """Integrate over a piece by the Gauss-Kronrod rule, and estimate the error by its difference from the Gauss rule.

    A narrow component may lie between all nodes. So the error of the entropy includes the probability that the density
    at the nodes misses; that of the CRPS, whose integrand is monotonic, the misfit at both ends of the piece.
    """
    cdef double middle = 0.5 * (piece.begin + piece.end), half = 0.5 * (piece.end - piece.begin)
    cdef double by_gauss = 0.0, by_kronrod = 0.0, mass = 0.0, each, density = 0.0
    cdef double[2] extrapolated = [0.0, 0.0]
    cdef Py_ssize_t k, side
    for k in range(8):
        for side in range(1 if k == 7 else 2):
            each = _at(integral, piece, middle + (half * NODE[k] if side else -half * NODE[k]), &density)
            by_kronrod += WEIGHT[k] * each
            mass += WEIGHT[k] * density
            if k % 2 == 1:
                by_gauss += GAUSS_WEIGHT[k // 2] * each
            if k < N_OUTER:
                extrapolated[side] += EXTRAPOLATION[k] * each
    piece.value = smaller(half * by_kronrod, MAX_VALUE)
    piece.error = smaller(fabs(half * (by_kronrod - by_gauss)), MAX_VALUE)
    if integral.is_entropy:
        piece.error += fabs(half * mass - fabs(_mass_below(integral, piece, piece.end)
                                               - _mass_below(integral, piece, piece.begin)))
        return
    for side in range(2):
        each = _at(integral, piece, piece.end if side else piece.begin, &density) - extrapolated[side]
        piece.error += smaller(fabs(half * (1.0 - NODE[0]) * each), MAX_VALUE)


cdef inline double _place_of(const Piece* piece, double u, double* slope) noexcept nogil:
    """Return x at u, and write dx/du."""
    if piece.course == STRAIGHT:
        slope[0] = piece.size
        return piece.origin + piece.size * u
    if piece.course == SQUARE:
        slope[0] = 2.0 * piece.size * u
        return piece.origin + piece.size * u * u
    slope[0] = smaller(larger(piece.size * cosh(u), -MAX_VALUE), MAX_VALUE)
    return smaller(larger(piece.origin + piece.size * sinh(u), -MAX_VALUE), MAX_VALUE)


cdef double _mass_below(const Integral* integral, const Piece* piece, double u) noexcept nogil:
    """Return the probability of the components below x at u, from the nearer tail."""
    cdef double slope = 0.0, x = _place_of(piece, u, &slope), below
    below = tail_of(integral.mix, &integral.mix.lanes[IDENTITY], x, True, False).tail
    if below < 0.5:
        return (1.0 - integral.mix.atom_share) * below
    below = 1.0 - tail_of(integral.mix, &integral.mix.lanes[IDENTITY], x, False, False).tail
    return (1.0 - integral.mix.atom_share) * below


cdef double _at(const Integral* integral, const Piece* piece, double u, double* mass) noexcept nogil:
    """Return the integrand at u; for the entropy, write the density of u as well."""
    cdef const Mix* mix = integral.mix
    cdef double slope = 0.0, x = _place_of(piece, u, &slope), share = 1.0 - mix.atom_share, found, density
    cdef bint lower = x < integral.y, is_within
    cdef TailValues here
    if integral.is_entropy:
        density = share * tail_of(mix, &mix.lanes[IDENTITY], x, True, False).density
        mass[0] = density * fabs(slope)
        return -mass[0] * log(density) if density > 0.0 else 0.0
    is_within = mix.low <= x < mix.high
    if is_within:
        here = tail_of(mix, &mix.lanes[IDENTITY], x, lower, True)
        found = here.tail
    else:
        found = (x >= mix.high) == lower
    if mix.atom_share > 0.0:
        found = share * found + mix.atom_share * ((x >= larger(smaller(0.0, mix.high), mix.low)) == lower)
    return found * found * fabs(slope)


cdef double _of_atoms(const Integral* integral) noexcept nogil:
    """Return what atoms, at 0 and at the bounds, add to the entropy."""
    cdef const Mix* mix = integral.mix
    cdef double share = 1.0 - mix.atom_share, atom = larger(smaller(0.0, mix.high), mix.low), total = 0.0, each
    if not integral.is_entropy:
        return 0.0
    each = mix.atom_share if atom != mix.low and atom != mix.high else 0.0
    total -= each * log(each) if each > 0.0 else 0.0
    if mix.low > -INFINITY:
        each = share * tail_of(mix, &mix.lanes[IDENTITY], mix.low, True, False).tail
        each += mix.atom_share * (atom == mix.low)
        total -= each * log(each) if each > 0.0 else 0.0
    if mix.high < INFINITY:
        each = share * tail_of(mix, &mix.lanes[IDENTITY], mix.high, False, False).tail
        each += mix.atom_share * (atom == mix.high and mix.low < mix.high)
        total -= each * log(each) if each > 0.0 else 0.0
    return total
