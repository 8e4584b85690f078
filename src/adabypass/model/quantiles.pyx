"""Distribution function and quantiles of mixtures of smoothed noise: equation (47).

As in mixture.pyx, forecasts have shape (n, n_components), those about which nothing is known give nan, and the
interpreter's lock is released. Forecasts with a packing are records, of shape (n, size): model/packing.pyx.
"""

from libc.math cimport NAN, exp, fabs, isnan, log, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from scipy.special.cython_special cimport ndtri

cimport numpy as cnp

import numpy as np

from adabypass.model.component cimport (
    IDENTITY, LOG, N_TARGETS, ROOT, Component, has_target, log_slope, to_target,
)
from adabypass.model.families cimport FLEXIBLE_NORMALS, Noise, is_normal, noise_of, part_sd, total_sd
from adabypass.model.mixture cimport is_known
from adabypass.model.packing cimport Packing, Record
from adabypass.model.search cimport Search, find_quantile
from adabypass.model.special cimport larger, smaller
from adabypass.simd.dispatch cimport KERNELS, LANES, MOST_FLEXIBLE, MOST_NORMALS, MixtureLanes, TailValues

from adabypass.model import limits

cnp.import_array()

cdef double LARGEST = limits.LARGEST
cdef double LARGEST_LOG = limits.LARGEST_LOG
cdef double LARGEST_SD = sqrt(1.0 / limits.SMALLEST_SIGNAL)
cdef double HUGE_SD = 1e140          # beyond it squares could overflow
cdef double SETTLED = 1e-4          # miss, as a normal deviate, after which a step is the last; it is cubed by that
cdef double SEEN = 1e-9             # the same where a root's density may be infinite: no step tells how good it is
cdef double NEARLY_SETTLED = 2e-2
cdef double ROUGHLY_SETTLED = 0.2
cdef double LARGE_WEIGHT = 1e-3     # of a component that takes part in the first steps of a search from nowhere


cdef struct Mix:
    # A forecast, as it is searched.
    MixtureLanes[N_TARGETS] lanes       # of the components about y, its log and its root
    MixtureLanes largest        # those about y of large weight alone
    bint is_transformed         # whether there are any about the log or the root
    double mean
    double unit         # mean standard deviation of the parts: unlike that of the mixture, it hardly feels the widest
    double* memory
    Component* parts    # room for the components of a record


cdef struct Part:
    # What of a forecast is searched: all of it, or the components of large weight.
    const Mix* mix
    const MixtureLanes* lanes   # of the components about y


cdef int _make_room(Mix* mix, Py_ssize_t n_components, Py_ssize_t n_transformed) except -1:
    """Allocate the lanes of a mixture of so many components, and room for these.

    Up to n_transformed of them are about the log of y, and as many about its root.
    """
    cdef Py_ssize_t n_doubles
    cdef double* memory
    if n_components == 0:
        raise ValueError("a forecast needs at least one component")
    n_doubles = 2 * _n_lanes(n_components) + 2 * _n_lanes(n_transformed)
    mix.memory = <double*>malloc(n_doubles * sizeof(double) + n_components * sizeof(Component))
    if mix.memory == NULL:
        raise MemoryError()
    mix.parts = <Component*>(mix.memory + n_doubles)
    memory = _place(&mix.lanes[IDENTITY], mix.memory, n_components)
    memory = _place(&mix.largest, memory, n_components)
    memory = _place(&mix.lanes[LOG], memory, n_transformed)
    _place(&mix.lanes[ROOT], memory, n_transformed)
    return 0


cdef inline Py_ssize_t _n_lanes(Py_ssize_t n) noexcept nogil:
    """Count the numbers of the lanes of n components."""
    return 3 * (MOST_NORMALS * n + LANES) + 5 * (n + LANES)


cdef double* _place(MixtureLanes* lanes, double* memory, Py_ssize_t n) noexcept nogil:
    """Point the lanes of n components at memory, and return its end."""
    cdef Py_ssize_t n_normals = MOST_NORMALS * n + LANES, n_shaped = n + LANES
    lanes.n_normals = lanes.n_shaped = 0
    lanes.weight = memory
    lanes.mean = lanes.weight + n_normals
    lanes.inverse_sd = lanes.mean + n_normals
    lanes.shaped_weight = lanes.inverse_sd + n_normals
    lanes.shaped_mean = lanes.shaped_weight + n_shaped
    lanes.shaped_inverse_scale = lanes.shaped_mean + n_shaped
    lanes.shaped_epsilon = lanes.shaped_inverse_scale + n_shaped
    lanes.shaped_signal_sd = lanes.shaped_epsilon + n_shaped
    return lanes.shaped_signal_sd + n_shaped


cdef inline void _add_normal(MixtureLanes* lanes, double weight, double mean, double var) noexcept nogil:
    cdef Py_ssize_t k = lanes.n_normals
    lanes.weight[k], lanes.mean[k], lanes.inverse_sd[k] = weight, mean, var     # for `_invert`
    lanes.n_normals = k + 1


cdef inline void _add_shaped(
    MixtureLanes* lanes, double weight, double mean, double scale, double epsilon, double signal_sd
) noexcept nogil:
    cdef Py_ssize_t k = lanes.n_shaped
    lanes.shaped_weight[k], lanes.shaped_mean[k], lanes.shaped_inverse_scale[k] = weight, mean, 1.0 / scale
    lanes.shaped_epsilon[k] = epsilon
    lanes.shaped_signal_sd[k] = smaller(larger(signal_sd, 1.0 / LARGEST_SD), LARGEST_SD)
    lanes.n_shaped = k + 1


cdef void _spread(const Component* parts, Py_ssize_t n, Mix* mix) noexcept nogil:
    """Sort the components into normals and others, each in lanes of its own."""
    cdef MixtureLanes* lanes
    cdef const Noise* noise
    cdef const Component* part
    cdef Py_ssize_t j, k
    cdef double sd, scale_sq, var, largest = 1.0
    _empty(mix)
    for k in range(n):
        part = parts + k
        lanes = &mix.lanes[part.target]
        noise = noise_of(part.family)
        sd = total_sd(part)
        largest = larger(sd, largest)
        _add_center(mix, part.target, part.weight, part.mean, sd)
        scale_sq = part.noise_scale * part.noise_scale
        if part.weight == 0.0:
            continue
        if is_normal(part):
            _add_normal(lanes, part.weight, part.mean, sd * sd)
        elif noise.normals.n > 0:
            for j in range(noise.normals.n):
                var = part.signal_var + scale_sq * noise.normals.sq[j]
                _add_normal(lanes, part.weight * noise.normals.share[j], part.mean, var)
        else:
            sd = sqrt(part.signal_var) / part.noise_scale
            _add_shaped(lanes, part.weight, part.mean, part.noise_scale, part.epsilon, sd)
    if largest < HUGE_SD:
        _fill_lanes(mix)
        return
    mix.unit = smaller(larger(mix.unit, 1.0 / LARGEST), LARGEST)
    for k in range(N_TARGETS):
        _fill_up(&mix.lanes[k], mix.mean, mix.unit)
    _invert_huge(parts, n, mix.lanes)


cdef void _empty(Mix* mix) noexcept nogil:
    """Begin with no component."""
    cdef int target
    mix.mean = mix.unit = 0.0
    mix.is_transformed = False
    for target in range(N_TARGETS):
        mix.lanes[target].n_normals = mix.lanes[target].n_shaped = 0


cdef inline void _add_center(Mix* mix, int64_t target, double weight, double mean, double sd) noexcept nogil:
    """Add to where a search begins, and to its unit."""
    cdef double slope = 1.0
    if target != IDENTITY and weight > 0.0:
        mix.is_transformed = True
        if target == LOG:
            mean = slope = exp(larger(smaller(mean, LARGEST_LOG), -LARGEST_LOG))
        else:
            slope = 2.0 * fabs(mean) + sd
            mean *= fabs(mean)
    mix.mean += weight * mean
    mix.unit += weight * smaller(sd * slope, LARGEST)


cdef void _fill_lanes(Mix* mix) noexcept nogil:
    """Fill the lanes up to whole blocks, with what has no weight, and invert the normals' standard deviations."""
    cdef int target
    mix.unit = smaller(larger(mix.unit, 1.0 / LARGEST), LARGEST)
    for target in range(N_TARGETS):
        _fill_up(&mix.lanes[target], mix.mean, mix.unit)
        if mix.lanes[target].n_normals > 0:
            KERNELS.inverse_roots(mix.lanes[target].inverse_sd, mix.lanes[target].n_normals)


cdef void _fill_up(MixtureLanes* lanes, double mean, double unit) noexcept nogil:
    while lanes.n_normals % LANES != 0:
        _add_normal(lanes, 0.0, mean, 1.0)
    while lanes.n_shaped % LANES != 0:
        _add_shaped(lanes, 0.0, mean, unit, 1.0, 1.0)


cdef bint _choose_largest(Mix* mix) noexcept nogil:
    """Copy the components of large weight, as a mixture of their own; return whether it is worth a search."""
    cdef MixtureLanes* lanes = &mix.lanes[IDENTITY]
    cdef MixtureLanes* large = &mix.largest
    cdef double total = 0.0
    cdef Py_ssize_t k
    if mix.is_transformed:
        return False
    large.n_normals = large.n_shaped = 0
    for k in range(lanes.n_normals):
        if lanes.weight[k] > LARGE_WEIGHT:
            _add_normal(large, lanes.weight[k], lanes.mean[k], lanes.inverse_sd[k])
            total += lanes.weight[k]
    for k in range(lanes.n_shaped):
        if lanes.shaped_weight[k] > LARGE_WEIGHT:
            _add_shaped(
                large, lanes.shaped_weight[k], lanes.shaped_mean[k], 1.0 / lanes.shaped_inverse_scale[k],
                lanes.shaped_epsilon[k], lanes.shaped_signal_sd[k],
            )
            total += lanes.shaped_weight[k]
    if total < 0.5 or 2 * (large.n_normals + large.n_shaped) > lanes.n_normals + lanes.n_shaped:
        return False
    for k in range(large.n_normals):
        large.weight[k] /= total
    for k in range(large.n_shaped):
        large.shaped_weight[k] /= total
    _fill_up(large, mix.mean, mix.unit)
    return True


cdef void _spread_flexible(const Record* record, Packing packing, MixtureLanes* lanes) noexcept nogil:
    """Add the normals of the linear models of flexible noise: equation (107)."""
    cdef double center = 0.0, share, offset, sq
    cdef double* weight
    cdef double* mean
    cdef double* var
    cdef Py_ssize_t j, k, n = packing.n_flexible
    for j in range(MOST_FLEXIBLE):
        center += record.normal_share[j] * FLEXIBLE_NORMALS.center[j]
    for j in range(MOST_FLEXIBLE):
        share, offset, sq = record.normal_share[j], FLEXIBLE_NORMALS.center[j] - center, FLEXIBLE_NORMALS.sq[j]
        weight, mean, var = (
            lanes.weight + lanes.n_normals, lanes.mean + lanes.n_normals, lanes.inverse_sd + lanes.n_normals
        )
        for k in range(n):
            weight[k] = record.weight[k] * share
            mean[k] = record.mean[packing.signal_at[k]] + record.noise_scale[k] * offset
            var[k] = record.signal_var[packing.signal_at[k]] + record.noise_scale[k] * record.noise_scale[k] * sq
        lanes.n_normals += n


cdef void _spread_record(const double* memory, Packing packing, Mix* mix) noexcept nogil:
    """Do as `_spread`, with a record."""
    cdef const double* transformed
    cdef int target
    cdef bint is_plain = _is_plain(memory, packing)
    if packing.transformed is not None:
        for target in range(LOG, N_TARGETS):
            transformed = packing.record_of(memory, target)
            is_plain = is_plain and (transformed == NULL or _is_plain(transformed, packing.transformed))
    if not is_plain:
        packing.expand_one(memory, mix.parts, packing.transformed is not None)
        _spread(mix.parts, packing.n_components, mix)
        return
    _empty(mix)
    _spread_target(memory, packing, IDENTITY, mix)
    if packing.transformed is not None:
        for target in range(LOG, N_TARGETS):
            transformed = packing.record_of(memory, target)
            if transformed != NULL:
                _spread_target(transformed, packing.transformed, target, mix)
    _fill_lanes(mix)


cdef bint _is_plain(const double* memory, Packing packing) noexcept nogil:
    """Whether each linear model has its own noise, and no square could overflow."""
    cdef Record record = packing.open(memory)
    cdef double largest = 0.0
    cdef Py_ssize_t k
    for k in range(packing.n_signals):
        largest = larger(record.signal_var[k], largest)
    for k in range(packing.n_linears):
        largest = larger(record.noise_scale[k], largest)
    return record.common_family[0] < 0.0 and largest < HUGE_SD


cdef void _spread_target(const double* memory, Packing packing, int target, Mix* mix) noexcept nogil:
    """Add what a record, or a part of it, says of y, its log or its root."""
    cdef Record record = packing.open(memory)
    cdef MixtureLanes* lanes = &mix.lanes[target]
    cdef const Noise* noise
    cdef Component part
    cdef Py_ssize_t j, k
    cdef double sq
    _spread_flexible(&record, packing, lanes)
    for k in range(packing.n_linears):
        part = packing.linear(&record, k)
        _add_center(mix, target, part.weight, part.mean, sqrt(part.signal_var + part.noise_scale * part.noise_scale))
    for k in range(packing.n_flexible, packing.n_linears):
        part = packing.linear(&record, k)
        noise = noise_of(part.family)
        sq = part.noise_scale * part.noise_scale
        for j in range(noise.normals.n):
            _add_normal(
                lanes, part.weight * noise.normals.share[j], part.mean, part.signal_var + sq * noise.normals.sq[j]
            )
        if noise.normals.n == 0:
            if is_normal(&part):
                _add_normal(lanes, part.weight, part.mean, part.signal_var + sq * noise.var(noise, part.epsilon))
            else:
                _add_shaped(
                    lanes, part.weight, part.mean, part.noise_scale, part.epsilon,
                    sqrt(part.signal_var) / part.noise_scale,
                )


cdef void _invert_huge(const Component* parts, Py_ssize_t n, MixtureLanes* every) noexcept nogil:
    """Write the normals' inverse standard deviations, where their squares could overflow."""
    cdef const Noise* noise
    cdef Py_ssize_t[N_TARGETS] at
    cdef Py_ssize_t j, k
    cdef int64_t target
    at[IDENTITY] = at[LOG] = at[ROOT] = 0
    for k in range(n):
        noise, target = noise_of(parts[k].family), parts[k].target
        if parts[k].weight == 0.0:
            continue
        if is_normal(parts + k):
            every[target].inverse_sd[at[target]] = 1.0 / total_sd(parts + k)
            at[target] += 1
        else:
            for j in range(noise.normals.n):
                every[target].inverse_sd[at[target]] = 1.0 / part_sd(parts + k, noise.normals.sq[j])
                at[target] += 1


cdef inline TailValues _tail(const Mix* mix, const MixtureLanes* lanes, double y, bint lower) noexcept nogil:
    """P(Y < y), or P(Y > y) if not `lower`, the density at y and its slope away from the tail."""
    cdef double sign = 1.0 if lower else -1.0
    cdef TailValues values = KERNELS.mixture_tail(lanes, y, sign)
    if mix.is_transformed:
        _add_tail(&mix.lanes[LOG], LOG, y, sign, &values)
        _add_tail(&mix.lanes[ROOT], ROOT, y, sign, &values)
    values.tail = smaller(larger(values.tail, 0.0), 1.0)        # the weights add up to 1 but for rounding
    return values


cdef void _add_tail(const MixtureLanes* lanes, int target, double y, double sign, TailValues* values) noexcept nogil:
    """Add what the components about the log or the root of y contribute: equation (219)."""
    cdef TailValues here
    cdef double slope, curve
    if lanes.n_normals + lanes.n_shaped == 0:
        return
    if not has_target(target, y):       # below all of a log, and a single point of a root: without density
        values.tail += KERNELS.mixture_tail(lanes, -LARGEST if target == LOG else 0.0, sign).tail
        return
    here = KERNELS.mixture_tail(lanes, to_target(target, y), sign)
    values.tail += here.tail
    slope = exp(log_slope(target, y))
    curve = -slope * slope if target == LOG else -0.5 * slope / y
    values.density += here.density * slope
    values.slope += here.slope * slope * slope + sign * here.density * curve


cdef TailValues _tail_of_part(const void* part, double y, bint lower) noexcept nogil:
    return _tail((<const Part*>part).mix, (<const Part*>part).lanes, y, lower)


cdef void _bracket(const void* part, double wanted, bint lower, double* low, double* high) noexcept nogil:
    """A mixture's quantile lies between the least and the largest of its components'."""
    cdef const Mix* mix = (<const Part*>part).mix
    cdef int target
    low[0], high[0] = LARGEST, -LARGEST
    _bracket_lanes((<const Part*>part).lanes, IDENTITY, wanted, lower, low, high)
    if mix.is_transformed:
        for target in range(LOG, N_TARGETS):
            _bracket_lanes(&mix.lanes[target], target, wanted, lower, low, high)


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


cdef double _grain(const Mix* mix, const MixtureLanes* lanes) noexcept nogil:
    """About how wide the narrowest component is, in units of y."""
    cdef double grain = mix.unit
    cdef int target
    _refine(lanes, IDENTITY, &grain)
    if mix.is_transformed:
        for target in range(LOG, N_TARGETS):
            _refine(&mix.lanes[target], target, &grain)
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


cdef double _quantile_from_nowhere(Mix* mix, double q, bint has_largest, double* deviate) noexcept nogil:
    """Solve P(Y < y) = q: first for the components of large weight alone, which is soon done."""
    deviate[0] = larger(smaller(ndtri(q), 8.0), -8.0)
    if has_largest:
        _quantile(mix, &mix.largest, q, deviate, ROUGHLY_SETTLED)
    return _quantile(mix, &mix.lanes[IDENTITY], q, deviate, SETTLED)


cdef double _quantile(
    const Mix* mix, const MixtureLanes* lanes, double q, double* deviate, double settled
) noexcept nogil:
    """Solve P(Y < y) = q, from a deviate on: see `find_quantile`."""
    cdef Part part
    cdef Search search
    part.mix, part.lanes = mix, lanes
    search.distribution, search.tail, search.bracket = &part, _tail_of_part, _bracket
    search.center, search.unit, search.grain = mix.mean, mix.unit, mix.unit
    if settled <= SETTLED:
        search.grain = _grain(mix, lanes)
        settled = SEEN if mix.is_transformed else settled
    return find_quantile(&search, q, deviate, settled)


cdef bint _any_target(const Component[:, ::1] parts):
    """Whether any component is about the log or the root of y; each must be about y or one of these."""
    cdef Py_ssize_t t, k
    cdef bint found = False
    for t in range(parts.shape[0]):
        for k in range(parts.shape[1]):
            if not IDENTITY <= parts[t, k].target < N_TARGETS:
                raise ValueError(f"there is no target {parts[t, k].target}")
            found = found or parts[t, k].target != IDENTITY
    return found


cdef Py_ssize_t _n_transformed(Packing packing):
    return packing.transformed.n_components if packing.transformed is not None else 0


cdef class Forecasts:
    # Many forecasts, whichever way they are kept, and the room in which one of them is searched.
    cdef const Component[:, ::1] parts
    cdef const double[:, ::1] records
    cdef Packing packing        # None if components were given
    cdef Py_ssize_t n
    cdef Mix mix

    def __cinit__(self, forecasts, Packing packing):
        self.packing = packing
        if packing is None:
            self.parts = forecasts
            self.n = self.parts.shape[0]
            _make_room(&self.mix, self.parts.shape[1], self.parts.shape[1] if _any_target(self.parts) else 0)
            return
        self.records = forecasts
        self.n = self.records.shape[0]
        if self.records.shape[1] != packing.size:
            raise ValueError(f"a record of this packing has {packing.size} numbers")
        _make_room(&self.mix, packing.n_components, _n_transformed(packing))

    def __dealloc__(self):
        free(self.mix.memory)

    cdef bint spread(self, Py_ssize_t t) noexcept nogil:
        """Make forecast t the one that is searched; return whether anything is known about it."""
        if self.packing is None:
            if is_known(&self.parts[t, 0]):
                _spread(&self.parts[t, 0], self.parts.shape[1], &self.mix)
                return True
        elif not isnan(self.packing.open(&self.records[t, 0]).mean[0]):
            _spread_record(&self.records[t, 0], self.packing, &self.mix)
            return True
        return False


cdef object _each(object forecasts, const double[::1] y, bint lower, Packing packing):
    """Return P(Y < y), or P(Y > y), of each forecast; nan where y is nan or the forecast is not known."""
    cdef Forecasts many = Forecasts(forecasts, packing)
    out = np.empty(many.n)
    cdef double[::1] values = out
    cdef Py_ssize_t t
    if y.shape[0] != many.n:
        raise ValueError("as many values as forecasts are needed")
    with nogil:
        for t in range(many.n):
            if isnan(y[t]) or not many.spread(t):
                values[t] = NAN
                continue
            values[t] = _tail(&many.mix, &many.mix.lanes[IDENTITY], y[t], lower).tail
    return out


def cdf(forecasts, const double[::1] y, Packing packing=None):
    """Return P(Y < y)."""
    return _each(forecasts, y, True, packing)


def sf(forecasts, const double[::1] y, Packing packing=None):
    """Return P(Y > y)."""
    return _each(forecasts, y, False, packing)


def cdf_table(forecasts, const double[:, ::1] y, Packing packing=None):
    """Return P(Y < y) of each forecast at each of its values, shape (n, n_values)."""
    cdef Forecasts many = Forecasts(forecasts, packing)
    out = np.full((many.n, y.shape[1]), NAN)
    cdef double[:, ::1] values = out
    cdef Py_ssize_t t, i
    if y.shape[0] != many.n:
        raise ValueError("a row of values for each forecast is needed")
    with nogil:
        for t in range(many.n):
            if many.spread(t):
                for i in range(y.shape[1]):
                    values[t, i] = _tail(&many.mix, &many.mix.lanes[IDENTITY], y[t, i], True).tail
    return out


def quantile(forecasts, const double[::1] q, Packing packing=None, Py_ssize_t restart=0):
    """Return the value below which Y falls with probability q; a search begins where the one before it ended.

    It begins anew after every `restart` forecasts, unless that is 0, and then depends on none of those before.
    """
    cdef Forecasts many = Forecasts(forecasts, packing)
    out = np.empty(many.n)
    cdef double[::1] values = out
    cdef Py_ssize_t t
    cdef double deviate = 0.0
    if q.shape[0] != many.n:
        raise ValueError("as many probabilities as forecasts are needed")
    with nogil:
        for t in range(many.n):
            if not many.spread(t):
                values[t] = NAN
                continue
            if t == 0 or q[t] != q[t - 1] or isnan(deviate) or (restart > 0 and t % restart == 0):
                values[t] = _quantile_from_nowhere(&many.mix, q[t], _choose_largest(&many.mix), &deviate)
            else:
                values[t] = _quantile(&many.mix, &many.mix.lanes[IDENTITY], q[t], &deviate, SETTLED)
    return out


def interval(cnp.ndarray record not None, Packing packing not None, double low, double high, cnp.ndarray deviates=None):
    """Return quantiles `low` and `high` of one forecast, which is a record.

    Parameters
    ----------
    deviates : array (2,), optional
        Where to begin, in mean standard deviations of the components from the mean, and afterwards where it ended: for
        the next forecast of a stream. Then the quantiles are right to 1e-5 standard deviations as a rule.
    """
    cdef double lower = NAN, upper = NAN
    cdef double[2] ends
    cdef bint has_largest
    cdef Mix mix
    cdef const double* memory = <const double*>cnp.PyArray_DATA(record)
    # By hand, since a typed memoryview takes as long to make as a quantile to find.
    if cnp.PyArray_NDIM(record) != 1 or cnp.PyArray_TYPE(record) != cnp.NPY_FLOAT64 or len(record) != packing.size:
        raise ValueError(f"a forecast is a record of {packing.size} numbers")
    if not cnp.PyArray_ISCARRAY_RO(record):
        raise ValueError("a record must be contiguous")
    if deviates is not None and not (
        cnp.PyArray_NDIM(deviates) == 1 and cnp.PyArray_TYPE(deviates) == cnp.NPY_FLOAT64 and len(deviates) == 2
        and cnp.PyArray_ISCARRAY(deviates)
    ):
        raise ValueError("an interval needs two deviates to begin at, contiguous and writeable")
    _make_room(&mix, packing.n_components, _n_transformed(packing))
    if not isnan(packing.open(memory).mean[0]):
        _spread_record(memory, packing, &mix)
        if deviates is None:
            has_largest = _choose_largest(&mix)
            lower = _quantile_from_nowhere(&mix, low, has_largest, &ends[0])
            upper = _quantile_from_nowhere(&mix, high, has_largest, &ends[1])
        else:
            memcpy(ends, cnp.PyArray_DATA(deviates), sizeof(ends))
            lower = _quantile(&mix, &mix.lanes[IDENTITY], low, &ends[0], NEARLY_SETTLED)
            upper = _quantile(&mix, &mix.lanes[IDENTITY], high, &ends[1], NEARLY_SETTLED)
            memcpy(cnp.PyArray_DATA(deviates), ends, sizeof(ends))
    free(mix.memory)
    return lower, upper


def intervals(
    const double[:, ::1] records,       # (n, size)
    Packing packing not None,
    double low,
    double high,
    const Py_ssize_t[::1] chosen,       # numbers of forecasts, in the order in which they are searched
    const Py_ssize_t[::1] which,        # (n,) at which deviates the search of each begins
    double[:, ::1] deviates,            # inout  (m, 2)
    double[:, ::1] bounds,              # out  (n, 2) of the chosen ones; nan where nothing is known
):
    """Find quantiles `low` and `high` of chosen forecasts: what `interval` returns, with deviates, for each."""
    cdef Forecasts many = Forecasts(records, packing)
    cdef const MixtureLanes* lanes
    cdef Py_ssize_t i, t
    if which.shape[0] != many.n or deviates.shape[1] != 2 or bounds.shape[0] != many.n or bounds.shape[1] != 2:
        raise ValueError("every forecast needs two deviates to begin at, and room for two bounds")
    for i in range(chosen.shape[0]):
        t = chosen[i]
        if not 0 <= t < many.n:
            raise IndexError(f"there is no forecast {t}; there are {many.n}")
        if not 0 <= which[t] < deviates.shape[0]:
            raise IndexError(f"there are no deviates {which[t]}; there are {deviates.shape[0]}")
    with nogil:
        for i in range(chosen.shape[0]):
            t = chosen[i]
            bounds[t, 0] = bounds[t, 1] = NAN
            if many.spread(t):
                lanes = &many.mix.lanes[IDENTITY]
                bounds[t, 0] = _quantile(&many.mix, lanes, low, &deviates[which[t], 0], NEARLY_SETTLED)
                bounds[t, 1] = _quantile(&many.mix, lanes, high, &deviates[which[t], 1], NEARLY_SETTLED)
