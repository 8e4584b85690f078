"""Distribution function and quantiles of mixtures of smoothed noise: equation (47).

As in mixture.pyx, forecasts have shape (n, n_components), those about which nothing is known give nan, and the
interpreter's lock is released.
"""

from libc.math cimport INFINITY, M_PI, NAN, exp, fabs, isnan, sqrt
from libc.stdlib cimport free, malloc
from scipy.special.cython_special cimport ndtri

cimport numpy as cnp

import numpy as np

from adabypass.model.component cimport Component
from adabypass.model.families cimport Noise, is_normal, noise_of, part_sd, total_sd
from adabypass.model.mixture cimport is_known
from adabypass.model.special cimport larger, smaller
from adabypass.simd.dispatch cimport KERNELS, LANES, MOST_NORMALS, MixtureLanes, TailValues

from adabypass.model import limits
from adabypass.model.component import COMPONENT

cnp.import_array()

cdef enum:
    MAX_STEPS = 2000        # a double has fewer than this many halvings

cdef double INV_SQRT_2PI = 1.0 / sqrt(2.0 * M_PI)
cdef double LARGEST = limits.LARGEST
cdef double LARGEST_SD = sqrt(1.0 / limits.SMALLEST_SIGNAL)
cdef double HUGE_SD = 1e140          # beyond it squares could overflow
cdef double SETTLED = 1e-4          # miss, as a normal deviate, after which a step is the last; it is cubed by that
cdef double NEARLY_SETTLED = 2e-2


cdef struct Mix:
    # A forecast, as it is searched.
    MixtureLanes lanes
    double mean
    double unit         # mean standard deviation of the parts: unlike that of the mixture, it hardly feels the widest
    double* memory


cdef int _make_room(Mix* mix, Py_ssize_t n_components) except -1:
    """Allocate the lanes of a mixture of so many components."""
    cdef Py_ssize_t n_normals, n_shaped
    if n_components == 0:
        raise ValueError("a forecast needs at least one component")
    n_normals, n_shaped = MOST_NORMALS * n_components + LANES, n_components + LANES
    mix.memory = <double*>malloc((3 * n_normals + 5 * n_shaped) * sizeof(double))
    if mix.memory == NULL:
        raise MemoryError()
    mix.lanes.weight = mix.memory
    mix.lanes.mean = mix.lanes.weight + n_normals
    mix.lanes.inverse_sd = mix.lanes.mean + n_normals
    mix.lanes.shaped_weight = mix.lanes.inverse_sd + n_normals
    mix.lanes.shaped_mean = mix.lanes.shaped_weight + n_shaped
    mix.lanes.shaped_inverse_scale = mix.lanes.shaped_mean + n_shaped
    mix.lanes.shaped_epsilon = mix.lanes.shaped_inverse_scale + n_shaped
    mix.lanes.shaped_signal_sd = mix.lanes.shaped_epsilon + n_shaped
    return 0


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
    cdef MixtureLanes* lanes = &mix.lanes
    cdef const Noise* noise
    cdef const Component* part
    cdef Py_ssize_t j, k
    cdef double sd, scale_sq, var, largest = 1.0
    lanes.n_normals = lanes.n_shaped = 0
    mix.mean = mix.unit = 0.0
    for k in range(n):
        part = parts + k
        noise = noise_of(part.family)
        sd = total_sd(part)
        largest = larger(sd, largest)
        mix.mean += part.weight * part.mean
        mix.unit += part.weight * sd
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
    mix.unit = smaller(larger(mix.unit, 1.0 / LARGEST), LARGEST)
    while lanes.n_normals % LANES != 0:
        _add_normal(lanes, 0.0, mix.mean, 1.0)
    while lanes.n_shaped % LANES != 0:
        _add_shaped(lanes, 0.0, mix.mean, mix.unit, 1.0, 1.0)
    if largest < HUGE_SD:
        KERNELS.inverse_roots(lanes.inverse_sd, lanes.n_normals)
    else:
        _invert_huge(parts, n, lanes)


cdef void _invert_huge(const Component* parts, Py_ssize_t n, MixtureLanes* lanes) noexcept nogil:
    """Write the normals' inverse standard deviations, where their squares could overflow."""
    cdef const Noise* noise
    cdef Py_ssize_t j, k, at = 0
    for k in range(n):
        noise = noise_of(parts[k].family)
        if parts[k].weight == 0.0:
            continue
        if is_normal(parts + k):
            lanes.inverse_sd[at] = 1.0 / total_sd(parts + k)
            at += 1
        else:
            for j in range(noise.normals.n):
                lanes.inverse_sd[at] = 1.0 / part_sd(parts + k, noise.normals.sq[j])
                at += 1


cdef inline TailValues _tail(const Mix* mix, double y, bint lower) noexcept nogil:
    """P(Y < y), or P(Y > y) if not `lower`, the density at y and its slope away from the tail."""
    cdef TailValues values = KERNELS.mixture_tail(&mix.lanes, y, 1.0 if lower else -1.0)
    values.tail = smaller(larger(values.tail, 0.0), 1.0)        # the weights add up to 1 but for rounding
    return values


cdef double _quantile(const Mix* mix, double q, double* deviate, double settled) noexcept nogil:
    """Solve P(Y < y) = q by Halley's method on the scale of a normal deviate, where the function is nearly straight.

    The nearer tail is the one that is solved for. `deviate` is where to begin, in units of `mix.unit` from the mean,
    and afterwards where it ended; a miss below `settled` makes the next step the last.
    """
    cdef double low = -LARGEST, high = LARGEST, y, next_y, wanted, at, goal, step = mix.unit, rate, curved
    cdef TailValues here
    cdef int _step
    cdef bint lower = q <= 0.5
    if isnan(q):
        return NAN
    if q <= 0.0 or q >= 1.0:
        return -INFINITY if q <= 0.0 else INFINITY
    wanted = q if lower else 1.0 - q
    goal = ndtri(wanted)
    y = smaller(larger(mix.mean + deviate[0] * mix.unit, -LARGEST), LARGEST)
    for _step in range(MAX_STEPS):
        here = _tail(mix, y, lower)
        if here.tail == wanted:
            break
        if (here.tail > wanted) == lower:
            high = y
        else:
            low = y
        at = ndtri(here.tail)
        rate = here.density / (INV_SQRT_2PI * exp(-0.5 * at * at))      # of the deviate `at`, by y
        curved = 1.0 + 0.5 * (goal - at) * (here.slope / (here.density * rate) + at)
        next_y = (goal - at) / rate / smaller(larger(curved, 0.5), 2.0)
        next_y = y + next_y if lower else y - next_y
        if not low < next_y < high:         # a tail that vanished, or a step too far
            next_y = y - step if low == -LARGEST else y + step if high == LARGEST else low + 0.5 * (high - low)
            step *= 2.0
            if not low < next_y < high:
                y = smaller(larger(next_y, low), high)
                break
        elif fabs(goal - at) <= settled:
            y = next_y
            break
        y = next_y
    deviate[0] = (y - mix.mean) / mix.unit
    return y


cdef object _each(const Component[:, ::1] forecasts, const double[::1] y, bint lower):
    """Return P(Y < y), or P(Y > y), of each forecast; nan where y is nan or the forecast is not known."""
    out = np.empty(forecasts.shape[0])
    cdef double[::1] values = out
    cdef Py_ssize_t t
    cdef Mix mix
    if y.shape[0] != forecasts.shape[0]:
        raise ValueError("as many values as forecasts are needed")
    _make_room(&mix, forecasts.shape[1])
    with nogil:
        for t in range(forecasts.shape[0]):
            if isnan(y[t]) or not is_known(&forecasts[t, 0]):
                values[t] = NAN
                continue
            _spread(&forecasts[t, 0], forecasts.shape[1], &mix)
            values[t] = _tail(&mix, y[t], lower).tail
    free(mix.memory)
    return out


def cdf(const Component[:, ::1] forecasts, const double[::1] y):
    """Return P(Y < y)."""
    return _each(forecasts, y, True)


def sf(const Component[:, ::1] forecasts, const double[::1] y):
    """Return P(Y > y)."""
    return _each(forecasts, y, False)


def quantile(const Component[:, ::1] forecasts, const double[::1] q, Py_ssize_t restart=0):
    """Return the value below which Y falls with probability q; a search begins where the one before it ended.

    It begins anew after every `restart` forecasts, unless that is 0, and then depends on none of those before.
    """
    out = np.empty(forecasts.shape[0])
    cdef double[::1] values = out
    cdef Py_ssize_t t
    cdef double deviate = 0.0
    cdef Mix mix
    if q.shape[0] != forecasts.shape[0]:
        raise ValueError("as many probabilities as forecasts are needed")
    _make_room(&mix, forecasts.shape[1])
    with nogil:
        for t in range(forecasts.shape[0]):
            if not is_known(&forecasts[t, 0]):
                values[t] = NAN
                continue
            if t == 0 or q[t] != q[t - 1] or isnan(deviate) or (restart > 0 and t % restart == 0):
                deviate = larger(smaller(ndtri(q[t]), 8.0), -8.0)
            _spread(&forecasts[t, 0], forecasts.shape[1], &mix)
            values[t] = _quantile(&mix, q[t], &deviate, SETTLED)
    free(mix.memory)
    return out


def interval(cnp.ndarray forecast not None, double low, double high, cnp.ndarray deviates not None):
    """Return quantiles `low` and `high` of one forecast to 1e-5 standard deviations as a rule: quick, for a stream.

    `deviates` is where to begin, in mean standard deviations of the components from the mean: for the next forecast,
    where this one ended.
    """
    cdef double lower = NAN, upper = NAN
    cdef Mix mix
    cdef Component* parts = <Component*>cnp.PyArray_DATA(forecast)
    cdef double* ends = <double*>cnp.PyArray_DATA(deviates)
    cdef Py_ssize_t n
    # By hand, since a typed memoryview of records takes longer to make than a quantile to find.
    if cnp.PyArray_NDIM(forecast) != 1 or <object>cnp.PyArray_DESCR(forecast) != COMPONENT:
        raise ValueError("a forecast is a vector of components")
    if cnp.PyArray_NDIM(deviates) != 1 or cnp.PyArray_TYPE(deviates) != cnp.NPY_FLOAT64 or len(deviates) != 2:
        raise ValueError("an interval needs two deviates to begin at")
    if not (cnp.PyArray_ISCARRAY_RO(forecast) and cnp.PyArray_ISCARRAY(deviates)):
        raise ValueError("components and deviates must be contiguous, and deviates writeable")
    n = cnp.PyArray_DIM(forecast, 0)
    _make_room(&mix, n)
    if is_known(parts):
        _spread(parts, n, &mix)
        lower = _quantile(&mix, low, &ends[0], NEARLY_SETTLED)
        upper = _quantile(&mix, high, &ends[1], NEARLY_SETTLED)
    free(mix.memory)
    return lower, upper
