"""Forecasts laid out for evaluation: distribution function (G.13) and density.

A forecast may be stored as components, as a record (record.pyx) or as a pool of several of these. Here its components
are sorted by kind into lanes, which vector instructions add up.
"""

from libc.math cimport INFINITY, M_SQRT1_2, NAN, erfc, exp, fabs, floor, isinf, isnan, log, log1p, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from adabypass.distributions.component cimport (
    IDENTITY, LOG, N_TARGETS, ROOT, Component, has_target, log_slope, to_target,
)
from adabypass.distributions.families cimport (
    FLEXIBLE_NORMALS, STUDENT, Noise, is_known, is_normal, mix_log_density, noise_of, part_sd, student_log_height,
    total_sd,
)
from adabypass.distributions.record cimport RecordFields, RecordLayout
from adabypass.numerics.dispatch cimport LANES, MAX_NORMALS, MixtureLanes, N_FLEXIBLE_NORMALS, SIMD, TailValues
from adabypass.numerics.scipy_functions cimport stdtr
from adabypass.numerics.special cimport larger, smaller

from adabypass.numerics import limits

cdef double MAX_VALUE = limits.MAX_VALUE
cdef double LOG_MAX_VALUE = limits.LOG_MAX_VALUE
cdef double MAX_SD = sqrt(1.0 / limits.MIN_SIGNAL)
cdef double HUGE_SD = 1e140         # standard deviation whose square may overflow
cdef double CANCELLED = 1e-9    # difference of two probabilities, over these, that rounding has spoiled
cdef double TINY_SD = 1e-140        # standard deviation whose square may underflow
cdef double LARGE_WEIGHT = 1e-3     # weight above which a component takes part in the first steps of a cold start
cdef double MIN_DOF_OF_HILL = 5.0   # degrees of freedom from which Hill's approximation is accurate to 2e-7


# Memory of a laid-out forecast.

cdef int make_room(Mix* mix, Py_ssize_t n_components, Py_ssize_t n_transformed, Py_ssize_t n_students) except -1:
    """Allocate a Mix with room for n_components components, of which n_students may be Student's t distributions.

    Up to n_transformed components may describe the log of y, and up to n_transformed its root.
    """
    cdef Py_ssize_t n_doubles
    cdef double* memory
    if n_components == 0:
        raise ValueError("a forecast needs at least one component")
    n_doubles = 2 * _n_lanes(n_components) + 2 * _n_lanes(n_transformed)
    mix.memory = <double*>malloc(
        n_doubles * sizeof(double) + n_components * sizeof(Component) + n_students * sizeof(Student)
    )
    if mix.memory == NULL:
        raise MemoryError()
    mix.parts = <Component*>(mix.memory + n_doubles)
    mix.students = <Student*>(mix.parts + n_components)
    memory = _place(&mix.lanes[IDENTITY], mix.memory, n_components)
    memory = _place(&mix.largest, memory, n_components)
    memory = _place(&mix.lanes[LOG], memory, n_transformed)
    _place(&mix.lanes[ROOT], memory, n_transformed)
    mix.student_room = n_students
    mix.atom_share, mix.low, mix.high, mix.is_count, mix.least = 0.0, -INFINITY, INFINITY, False, 0.0
    return 0


cdef inline Py_ssize_t _n_lanes(Py_ssize_t n) noexcept nogil:
    """Return the number of doubles in the lanes of n components."""
    return 3 * (MAX_NORMALS * n + LANES) + 5 * (n + LANES)


cdef double* _place(MixtureLanes* lanes, double* memory, Py_ssize_t n) noexcept nogil:
    """Point the lanes of n components at memory, and return its end."""
    cdef Py_ssize_t n_normals = MAX_NORMALS * n + LANES, n_shaped = n + LANES
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


# Components into lanes.

cdef void _empty_mix(Mix* mix) noexcept nogil:
    """Remove all components."""
    cdef int target
    mix.center = mix.unit = 0.0
    mix.is_transformed = mix.has_extreme = mix.has_log_students = False
    mix.n_students = 0
    for target in range(N_TARGETS):
        mix.lanes[target].n_normals = mix.lanes[target].n_shaped = 0


cdef inline void _add_normal(MixtureLanes* lanes, double weight, double mean, double var) noexcept nogil:
    """Add a normal; `var` is its variance, or minus the inverse standard deviation of an extreme one."""
    cdef Py_ssize_t k = lanes.n_normals
    lanes.weight[k], lanes.mean[k], lanes.inverse_sd[k] = weight, mean, var     # `_finish_mix` inverts it
    lanes.n_normals = k + 1


cdef inline void _add_shaped(
    MixtureLanes* lanes, double weight, double mean, double scale, double epsilon, double signal_sd
) noexcept nogil:
    cdef Py_ssize_t k = lanes.n_shaped
    lanes.shaped_weight[k], lanes.shaped_mean[k], lanes.shaped_inverse_scale[k] = weight, mean, 1.0 / scale
    lanes.shaped_epsilon[k] = epsilon
    lanes.shaped_signal_sd[k] = smaller(larger(signal_sd, 1.0 / MAX_SD), MAX_SD)
    lanes.n_shaped = k + 1


cdef void _add_student(Mix* mix, const Component* part, double weight) noexcept nogil:
    cdef double n = part.dof, height
    cdef const Student* last = mix.students + mix.n_students - 1
    if mix.n_students > 0 and last.dof == n:        # as a rule
        height = last.log_height + log(last.scale)
    else:
        height = student_log_height(n)
    mix.students[mix.n_students] = Student(
        weight, part.mean, part.noise_scale, n, height - log(part.noise_scale), part.target == LOG
    )
    mix.n_students += 1
    mix.has_log_students = mix.has_log_students or part.target == LOG


cdef inline double _normal_var(Mix* mix, const Component* part, double noise_var, double sd) noexcept nogil:
    """Return the `var` of `_add_normal` for a component with normal noise of this variance at scale 1."""
    if TINY_SD < sd < HUGE_SD:
        return part.signal_var + part.noise_scale * part.noise_scale * noise_var
    mix.has_extreme = True
    return -1.0 / sd


cdef void _add_components(const Component* parts, Py_ssize_t n, double share, Mix* mix) noexcept nogil:
    """Sort components into Student's t, normals and smoothed insensitive noise, each in its own lanes."""
    cdef MixtureLanes* lanes
    cdef const Noise* noise
    cdef const Component* part
    cdef Py_ssize_t j, k
    cdef double sd, weight, var
    for k in range(n):
        part = parts + k
        weight = share * part.weight
        if weight == 0.0:
            continue
        if part.family == STUDENT:
            if mix.n_students < mix.student_room:       # keeps memory safe whatever a record contains
                _add_student(mix, part, weight)
            continue
        lanes = &mix.lanes[part.target]
        noise = noise_of(part.family)
        sd = total_sd(part)
        _add_center(mix, part.target, weight, part.mean, sd)
        if is_normal(part):
            _add_normal(lanes, weight, part.mean, _normal_var(mix, part, noise.var(noise, part.epsilon), sd))
        elif noise.normals.n > 0:
            for j in range(noise.normals.n):
                var = _normal_var(mix, part, noise.normals.sq[j], part_sd(part, noise.normals.sq[j]))
                _add_normal(lanes, weight * noise.normals.share[j], part.mean, var)
        else:
            sd = sqrt(part.signal_var) / part.noise_scale
            _add_shaped(lanes, weight, part.mean, part.noise_scale, part.epsilon, sd)


cdef inline void _add_center(Mix* mix, int64_t target, double weight, double mean, double sd) noexcept nogil:
    """Add a component to the start and the unit of a search."""
    cdef double slope = 1.0
    if target != IDENTITY and weight > 0.0:
        mix.is_transformed = True
        if target == LOG:
            mean = slope = exp(larger(smaller(mean, LOG_MAX_VALUE), -LOG_MAX_VALUE))
        else:
            slope = 2.0 * fabs(mean) + sd
            mean *= fabs(mean)
    mix.center += weight * mean
    mix.unit += weight * smaller(sd * slope, MAX_VALUE)


cdef void _finish_mix(Mix* mix) noexcept nogil:
    """Pad the lanes to whole blocks with components of weight 0, and invert the normals' standard deviations."""
    cdef int target
    if mix.n_students > 0:
        _center_on_likeliest(mix)
    mix.unit = smaller(larger(mix.unit, 1.0 / MAX_VALUE), MAX_VALUE)
    for target in range(N_TARGETS):
        _fill_up(&mix.lanes[target], mix.center, mix.unit)
        _invert(&mix.lanes[target], mix.has_extreme)


cdef void _fill_up(MixtureLanes* lanes, double mean, double unit) noexcept nogil:
    while lanes.n_normals % LANES != 0:
        _add_normal(lanes, 0.0, mean, 1.0)
    while lanes.n_shaped % LANES != 0:
        _add_shaped(lanes, 0.0, mean, unit, 1.0, 1.0)


cdef void _invert(MixtureLanes* lanes, bint has_extreme) noexcept nogil:
    cdef Py_ssize_t k
    cdef double var
    if lanes.n_normals == 0:
        return
    if not has_extreme:
        SIMD.inverse_roots(lanes.inverse_sd, lanes.n_normals)
        return
    for k in range(lanes.n_normals):
        var = lanes.inverse_sd[k]
        lanes.inverse_sd[k] = -var if var < 0.0 else 1.0 / sqrt(larger(var, 1.0 / MAX_VALUE))


cdef void _center_on_likeliest(Mix* mix) noexcept nogil:
    """Start a search at the Student's t of the largest weight: the mean may lie far from all components."""
    cdef const Student* part = mix.students
    cdef Py_ssize_t k
    cdef double unit
    for k in range(mix.n_students):
        if mix.students[k].weight > part.weight:
            part = mix.students + k
    mix.center = value_of(part, 0.0)
    unit = part.scale * (mix.center if part.is_log else 1.0)
    mix.unit = larger(unit, 1e-12 * fabs(mix.center))


cdef void _drop_negligible(Mix* mix, double negligible) noexcept nogil:
    """Remove components of no more than this weight: they are numerous, and cost as much as others."""
    cdef MixtureLanes* lanes
    cdef Py_ssize_t i, k
    cdef int target
    for target in range(N_TARGETS):
        lanes = &mix.lanes[target]
        i = 0
        for k in range(lanes.n_normals):
            if lanes.weight[k] > negligible:
                lanes.weight[i], lanes.mean[i] = lanes.weight[k], lanes.mean[k]
                lanes.inverse_sd[i] = lanes.inverse_sd[k]
                i += 1
        lanes.n_normals = i
        i = 0
        for k in range(lanes.n_shaped):
            if lanes.shaped_weight[k] > negligible:
                lanes.shaped_weight[i], lanes.shaped_mean[i] = lanes.shaped_weight[k], lanes.shaped_mean[k]
                lanes.shaped_inverse_scale[i] = lanes.shaped_inverse_scale[k]
                lanes.shaped_epsilon[i], lanes.shaped_signal_sd[i] = lanes.shaped_epsilon[k], lanes.shaped_signal_sd[k]
                i += 1
        lanes.n_shaped = i
    i = 0
    for k in range(mix.n_students):
        if mix.students[k].weight > negligible:
            mix.students[i] = mix.students[k]
            i += 1
    mix.n_students = i


cdef bint choose_largest(Mix* mix) noexcept nogil:
    """Copy the components of large weight to a mixture of their own; return whether searching it saves time."""
    cdef MixtureLanes* lanes = &mix.lanes[IDENTITY]
    cdef MixtureLanes* large = &mix.largest
    cdef double total = 0.0
    cdef Py_ssize_t k
    if mix.is_transformed or mix.n_students > 0:
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
    _fill_up(large, mix.center, mix.unit)
    return True


cdef double value_of(const Student* part, double z) noexcept nogil:
    """Return the value of y that lies z scales from the location."""
    cdef double value = part.location + z * part.scale
    if part.is_log:
        return exp(smaller(value, LOG_MAX_VALUE))
    return larger(smaller(value, MAX_VALUE), -MAX_VALUE)


# Records into lanes.

cdef Py_ssize_t count_transformed(RecordLayout layout) noexcept:
    """Return the number of components of a record that may describe the log of y."""
    return layout.transformed.n_components if layout.transformed is not None else 0


cdef void lay_out_record(const double* memory, RecordLayout layout, Mix* mix) noexcept nogil:
    """Lay out one record."""
    _empty_mix(mix)
    _add_record(memory, layout, 1.0, mix)
    _finish_mix(mix)


cdef void _add_record(const double* memory, RecordLayout layout, double share, Mix* mix) noexcept nogil:
    """Add the components of a record, straight from it where no square can overflow or underflow."""
    cdef const double* transformed
    cdef int target
    cdef bint is_plain = _is_plain(memory, layout)
    if layout.transformed is not None:
        for target in range(LOG, N_TARGETS):
            transformed = layout.record_of(memory, target)
            is_plain = is_plain and (transformed == NULL or _is_plain(transformed, layout.transformed))
    if not is_plain:
        layout.expand_one(memory, mix.parts, layout.transformed is not None)
        _add_components(mix.parts, layout.n_components, share, mix)
        return
    _add_target(memory, layout, IDENTITY, share, mix)
    if layout.transformed is not None:
        for target in range(LOG, N_TARGETS):
            transformed = layout.record_of(memory, target)
            if transformed != NULL:
                _add_target(transformed, layout.transformed, target, share, mix)


cdef bint _is_plain(const double* memory, RecordLayout layout) noexcept nogil:
    """Whether each linear model has its own noise family, and no square can overflow or underflow."""
    cdef RecordFields record = layout.open(memory)
    cdef double largest = 0.0, least = INFINITY
    cdef Py_ssize_t k
    for k in range(layout.n_signals):
        largest = larger(record.signal_var[k], largest)
    for k in range(layout.n_linears):
        largest = larger(record.noise_scale[k], largest)
        least = smaller(record.noise_scale[k], least)
    return record.common_family[0] < 0.0 and largest < HUGE_SD and least > TINY_SD


cdef void _add_target(const double* memory, RecordLayout layout, int target, double share, Mix* mix) noexcept nogil:
    """Add the components of one part of a record: those of y, its log or its root."""
    cdef RecordFields record = layout.open(memory)
    cdef MixtureLanes* lanes = &mix.lanes[target]
    cdef const Noise* noise
    cdef Component part
    cdef Py_ssize_t j, k
    cdef double sq
    _add_flexible(&record, layout, share, lanes)
    for k in range(layout.n_linears):
        part = layout.linear(&record, k)
        sq = part.noise_scale * part.noise_scale
        _add_center(mix, target, share * part.weight, part.mean, sqrt(part.signal_var + sq))
    for k in range(layout.n_flexible, layout.n_linears):
        part = layout.linear(&record, k)
        part.weight *= share
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


cdef void _add_flexible(
    const RecordFields* record, RecordLayout layout, double share, MixtureLanes* lanes
) noexcept nogil:
    """Add the normals of the linear models of flexible noise: equation (H.31)."""
    cdef double center = 0.0, part, offset, sq
    cdef double* weight
    cdef double* mean
    cdef double* var
    cdef Py_ssize_t j, k, n = layout.n_flexible
    if n == 0:          # the record has no shares of normals
        return
    for j in range(N_FLEXIBLE_NORMALS):
        center += record.normal_share[j] * FLEXIBLE_NORMALS.center[j]
    for j in range(N_FLEXIBLE_NORMALS):
        part, offset = share * record.normal_share[j], FLEXIBLE_NORMALS.center[j] - center
        sq = FLEXIBLE_NORMALS.sq[j]
        weight, mean, var = (
            lanes.weight + lanes.n_normals, lanes.mean + lanes.n_normals, lanes.inverse_sd + lanes.n_normals
        )
        for k in range(n):
            weight[k] = record.weight[k] * part
            mean[k] = record.mean[layout.signal_at[k]] + record.noise_scale[k] * offset
            var[k] = record.signal_var[layout.signal_at[k]] + record.noise_scale[k] * record.noise_scale[k] * sq
        lanes.n_normals += n


# The distribution function.

cdef double probability(const Mix* mix, double y, bint lower) noexcept nogil:
    """Return P(Y <= y), or P(Y > y) if not `lower`, of the forecast with its atom and bounds."""
    cdef double inside, atom = larger(smaller(0.0, mix.high), mix.low)
    if y < mix.low:
        inside = not lower
    elif y >= mix.high:
        inside = lower
    elif mix.is_count and y < mix.least:
        inside = not lower
    else:
        if mix.is_count:
            y = floor(y) + 0.5      # (G.17)
        inside = tail_of(mix, &mix.lanes[IDENTITY], y, lower, False).tail
    if mix.atom_share == 0.0:
        return inside
    return (1.0 - mix.atom_share) * inside + mix.atom_share * ((y >= atom) == lower)


cdef double _probability_of_count(const Mix* mix, double y) noexcept nogil:
    """Return P(X is rounded to y) of the components; 0 where rounding would spoil it: equation (G.17)."""
    cdef const MixtureLanes* lanes = &mix.lanes[IDENTITY]
    cdef bint lower = tail_of(mix, lanes, y, True, False).tail < 0.5    # from the nearer tail
    cdef double step = 0.5 if lower else -0.5
    cdef double near, far = 0.0
    if y <= larger(mix.low, mix.least) or y >= mix.high:                # to which all beyond is clipped
        return tail_of(mix, lanes, y + (0.5 if y < mix.high else -0.5), y < mix.high, False).tail
    near, far = tail_of(mix, lanes, y + step, lower, False).tail, tail_of(mix, lanes, y - step, lower, False).tail
    return near - far if near - far > CANCELLED * near else 0.0


cdef TailValues tail_of(
    const Mix* mix, const MixtureLanes* lanes, double y, bint lower, bint is_rough
) noexcept nogil:
    """Return P(Y < y), or P(Y > y) if not `lower`, of the components, the density at y, and its slope off the tail.

    If `is_rough`, probabilities of Student's t distributions are accurate to 2e-7.
    """
    cdef double sign = 1.0 if lower else -1.0
    cdef TailValues values = SIMD.mixture_tail(lanes, y, sign)
    if mix.is_transformed:
        _add_tail(&mix.lanes[LOG], LOG, y, sign, &values)
        _add_tail(&mix.lanes[ROOT], ROOT, y, sign, &values)
    if mix.n_students > 0:
        _add_students(mix, y, lower, is_rough, &values)
    values.tail = smaller(larger(values.tail, 0.0), 1.0)        # the weights add up to 1 but for rounding
    return values


cdef void _add_tail(const MixtureLanes* lanes, int target, double y, double sign, TailValues* values) noexcept nogil:
    """Add the contribution of the components of the log or the root of y: equation (J.2)."""
    cdef TailValues here
    cdef double slope, curve
    if lanes.n_normals + lanes.n_shaped == 0:
        return
    if not has_target(target, y):       # y has no log, or is the single point 0 of a root: no density
        values.tail += SIMD.mixture_tail(lanes, -MAX_VALUE if target == LOG else 0.0, sign).tail
        return
    here = SIMD.mixture_tail(lanes, to_target(target, y), sign)
    values.tail += here.tail
    slope = exp(log_slope(target, y))
    curve = -slope * slope if target == LOG else -0.5 * slope / y
    values.density += here.density * slope
    values.slope += here.slope * slope * slope + sign * here.density * curve


cdef void _add_students(const Mix* mix, double y, bint lower, bint is_rough, TailValues* out) noexcept nogil:
    """Add the contribution of Student's t distributions."""
    cdef const Student* part
    cdef Py_ssize_t k
    cdef double z, outside, density, slope, log_y = log(y) if y > 0.0 else -INFINITY
    for k in range(mix.n_students):
        part = mix.students + k
        z = ((log_y if part.is_log else y) - part.location) / part.scale
        outside = z if lower else -z
        out.tail += part.weight * (_rough_student(part.dof, outside) if is_rough else stdtr(part.dof, outside))
        if isinf(z):
            continue
        density = log1p(smaller(z * z, MAX_VALUE) / part.dof)
        density = part.weight * exp(part.log_height - 0.5 * (part.dof + 1.0) * density)
        slope = -density * (part.dof + 1.0) * z / (part.dof + smaller(z * z, MAX_VALUE)) / part.scale
        if part.is_log:
            density /= y
            slope = (slope / y - density) / y
        out.density += density
        out.slope += slope if lower else -slope


cdef double _rough_student(double dof, double z) noexcept nogil:
    """P(T < z) to 2e-7: Hill's approximation to Student's t by a normal deviate."""
    cdef double n = dof - 0.5, b, square, deviate
    if isinf(z) or dof < MIN_DOF_OF_HILL:
        return stdtr(dof, z)
    b = 48.0 * n * n
    square = n * log1p(smaller(z * z, MAX_VALUE) / dof)
    deviate = (((-0.4 * square - 3.3) * square - 24.0) * square - 85.5) / (0.8 * square * square + 100.0 + b)
    deviate = larger(((deviate + square + 3.0) / b + 1.0) * sqrt(square), 0.0)
    return 0.5 * erfc((deviate if z < 0.0 else -deviate) * M_SQRT1_2)


# Many forecasts.

cdef class Forecasts:
    """Many forecasts, stored as components or records, and the memory in which one of them is laid out.

    Parameters
    ----------
    forecasts : array of `COMPONENT` (n, n_components), or of records (n, size)
    layout : RecordLayout or None
    extras : MixtureExtras or None
        Atoms at 0, bounds, and forecasts to pool these with.
    """

    def __cinit__(self, forecasts, RecordLayout layout, extras=None):
        cdef Py_ssize_t n_transformed = 0, n_students = 0
        cdef Forecasts each
        self.layout, self.pool = layout, []
        self.low, self.high = -INFINITY, INFINITY
        self.atom_share = self.reserve = self.share = self.pooled_at = None   # a view never set is not None
        if layout is None:
            self.parts = forecasts
            self.n, self.n_room = self.parts.shape[0], self.parts.shape[1]
            n_transformed = self.n_room if _any_target(self.parts, &n_students) else 0
        else:
            self.records = forecasts
            self.n, self.n_room = self.records.shape[0], layout.n_components
            if self.records.shape[1] != layout.size:
                raise ValueError(f"records have {self.records.shape[1]} numbers, but must have {layout.size}")
            n_transformed = count_transformed(layout)
        if extras is not None:
            self._take(extras)
            for each in self.pool:
                self.n_room += each.n_room
                n_transformed += each.n_transformed
                n_students += each.n_students
        self.n_transformed, self.n_students = n_transformed, n_students
        make_room(&self.mix, self.n_room, n_transformed, n_students)

    def __dealloc__(self):
        free(self.mix.memory)

    def _take(self, extras):
        """Check extras, and keep views of them."""
        cdef Py_ssize_t t
        self.low, self.high = extras.support
        self.atom_share = extras.zero_share
        if self.atom_share.shape[0] != self.n:
            raise ValueError(f"zero_share has {self.atom_share.shape[0]} values, but there are {self.n} forecasts")
        if extras.reserve is not None:
            self.reserve = extras.reserve
            if self.reserve.shape[0] != self.n:
                raise ValueError(f"reserve has {self.reserve.shape[0]} values, but there are {self.n} forecasts")
        if extras.share is None:
            return
        self.share, self.pooled_at = extras.share, extras.pooled_at
        if any(part.extras is not None for part in extras.parts):
            raise ValueError("a part of the pool has extras; pass parts that have components alone")
        self.pool = [Forecasts(part._table, part.record_layout) for part in extras.parts]
        if self.share.shape[1] != 1 + len(self.pool) or self.pooled_at.shape[0] != self.n:
            raise ValueError("share or pooled_at has the wrong shape; pass (n_pooled, 1 + n_parts) and (n,)")
        if any((<Forecasts>each).n != self.share.shape[0] for each in self.pool):
            raise ValueError(f"a part of the pool does not have {self.share.shape[0]} forecasts, as share has")
        for t in range(self.n):
            if not -1 <= self.pooled_at[t] < self.share.shape[0]:
                raise IndexError(f"pooled_at is {self.pooled_at[t]}, but must be from -1 to {self.share.shape[0] - 1}")

    cdef bint lay_out(self, Py_ssize_t t, double negligible) noexcept nogil:
        """Lay out forecast t in `mix`; return whether anything is known about it.

        Components of no more than the `negligible` weight are left out.
        """
        cdef Py_ssize_t row = self.pooled_at[t] if self.share is not None else -1
        _empty_mix(&self.mix)
        if not self._add(t, self.share[row, 0] if row >= 0 else 1.0, &self.mix):
            return False
        if row >= 0:
            with gil:
                if not self._add_pool(row):
                    return False
        if negligible > 0.0:
            _drop_negligible(&self.mix, negligible)
        _finish_mix(&self.mix)
        if self.atom_share is not None:
            self.mix.atom_share, self.mix.low, self.mix.high = self.atom_share[t], self.low, self.high
            self.mix.is_count = self.reserve is not None and self.reserve[t] > 0.0
            self.mix.least = self.mix.is_count and self.mix.atom_share > 0.0
        return True

    cdef bint _add(self, Py_ssize_t t, double share, Mix* mix) noexcept nogil:
        """Add the components of forecast t to `mix` with a total weight; return whether anything is known."""
        if self.layout is None:
            if is_known(&self.parts[t, 0]):
                _add_components(&self.parts[t, 0], self.parts.shape[1], share, mix)
                return True
        elif not isnan(self.layout.open(&self.records[t, 0]).mean[0]):
            _add_record(&self.records[t, 0], self.layout, share, mix)
            return True
        return False

    cdef bint _add_pool(self, Py_ssize_t row) noexcept:
        """Add the other forecasts of the pool; return whether all that have a share are known."""
        cdef Py_ssize_t k
        for k in range(len(self.pool)):
            if self.share[row, 1 + k] > 0.0 and not (<Forecasts>self.pool[k])._add(
                row, self.share[row, 1 + k], &self.mix
            ):
                return False
        return True

    cdef double log_density(self, Py_ssize_t t, double y) noexcept nogil:
        """Return the log density of forecast t at y, or the log probability of an atom; nan if nothing is known."""
        cdef double atom, found = 0.0, low = self.low, high = self.high
        if self.atom_share is None:
            return self._pooled_log_density(t, y)
        if (self.layout is None and not is_known(&self.parts[t, 0])):
            return NAN
        if self.reserve is not None and self.reserve[t] > 0.0:
            return self._count_log_density(t, y)
        atom = larger(smaller(0.0, high), low)
        if y <= low or y >= high or (y == atom and self.atom_share[t] > 0.0):
            if y < low or y > high or not self.lay_out(t, 0.0):
                return -MAX_VALUE
            if y == low:
                found = tail_of(&self.mix, &self.mix.lanes[IDENTITY], y, True, False).tail
            elif y == high:
                found = tail_of(&self.mix, &self.mix.lanes[IDENTITY], y, False, False).tail
            found = (1.0 - self.atom_share[t]) * found + self.atom_share[t] * (y == atom)
            return log(found) if found > 0.0 else -MAX_VALUE
        found = self._pooled_log_density(t, y) + log1p(-self.atom_share[t])
        return found if isnan(found) else larger(found, -MAX_VALUE)

    cdef double _count_log_density(self, Py_ssize_t t, double y) noexcept nogil:
        """Return the log probability of a count, or the log density that is kept back for other values: (G.21)."""
        cdef double share, found
        if not self.lay_out(t, 0.0):
            return NAN
        if not is_whole(y) or y < 0.0 or y < self.low or y > self.high:
            return larger(log(self.reserve[t]) + self._pooled_log_density(t, y), -MAX_VALUE)
        share = log1p(-self.reserve[t])
        if y < self.mix.least:
            return larger(log(self.mix.atom_share) + share, -MAX_VALUE)
        found = _probability_of_count(&self.mix, y)
        found = log(found) if found > 0.0 else self._pooled_log_density(t, y)   # a step is short beside the width
        return larger(found + log1p(-self.mix.atom_share) + share, -MAX_VALUE)

    cdef double _pooled_log_density(self, Py_ssize_t t, double y) noexcept nogil:
        """Return the log density of the components of forecast t and of those it is pooled with."""
        cdef Py_ssize_t row = self.pooled_at[t] if self.share is not None else -1
        cdef double found = self._own_log_density(t, y, self.mix.parts)
        if row >= 0:
            with gil:
                found = self._pool_log_density(row, y, found)
        return found

    cdef double _own_log_density(self, Py_ssize_t t, double y, Component* room) noexcept nogil:
        """Return the log density of the components of forecast t alone; `room` holds those of a record."""
        if self.layout is None:
            if not is_known(&self.parts[t, 0]):
                return NAN
            return mix_log_density(&self.parts[t, 0], self.parts.shape[1], y)
        if isnan(self.layout.open(&self.records[t, 0]).mean[0]):
            return NAN
        self.layout.expand_one(&self.records[t, 0], room, self.layout.transformed is not None)
        return mix_log_density(room, self.layout.n_components, y)

    cdef double _pool_log_density(self, Py_ssize_t row, double y, double own) noexcept:
        """Return log Σ share p(y), as a sum relative to the largest term so far."""
        cdef double top = own, total = self.share[row, 0], each
        cdef Py_ssize_t k
        if total == 0.0:
            top = -INFINITY
        for k in range(len(self.pool)):
            if self.share[row, 1 + k] == 0.0:
                continue
            each = (<Forecasts>self.pool[k])._own_log_density(row, y, self.mix.parts)
            if isnan(each):
                return NAN
            if each > top:
                total *= exp(top - each)
                top = each
            total += self.share[row, 1 + k] * exp(each - top)
        return larger(top + log(total), -MAX_VALUE)


cdef bint _any_target(const Component[:, ::1] parts, Py_ssize_t* n_students):
    """Check all targets, and return whether any normal or insensitive component has another than y.

    `n_students` becomes n_components if any component is a Student's t distribution.
    """
    cdef Py_ssize_t t, k
    cdef bint found = False
    for t in range(parts.shape[0]):
        for k in range(parts.shape[1]):
            if not IDENTITY <= parts[t, k].target < N_TARGETS:
                raise ValueError(f"target is {parts[t, k].target}, but must be one of Target")
            if parts[t, k].family == STUDENT:
                n_students[0] = parts.shape[1]
            else:
                found = found or parts[t, k].target != IDENTITY
    return found
