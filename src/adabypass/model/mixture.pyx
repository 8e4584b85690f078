"""Mixtures of smoothed noise: density, distribution function and quantiles of many forecasts at once.

A forecast is an array of components (component.py); one about which nothing is known has components of mean nan, and
everything about it is nan. All functions take forecasts of shape (n, n_components) and release the interpreter's lock.
"""

from libc.math cimport INFINITY, M_PI, NAN, exp, fabs, hypot, isnan, log, sqrt
from libc.stdlib cimport free, malloc
from scipy.special.cython_special cimport ndtri

import numpy as np

from adabypass.model.families cimport Noise, noise_of, total_sd
from adabypass.model.special cimport larger, smaller

from adabypass.model import component, limits

if sizeof(Component) != component.COMPONENT.itemsize:
    raise ImportError(
        f"a component has {sizeof(Component)} bytes in C, but {component.COMPONENT.itemsize} in NumPy; rebuild it."
    )

cdef enum:
    MAX_STEPS = 2000        # a double has fewer than this many halvings

cdef double INV_SQRT_2PI = 1.0 / sqrt(2.0 * M_PI)
cdef double LARGEST = limits.LARGEST
cdef double SETTLED = 1e-6
cdef double NEARLY_SETTLED = 3e-3


cdef bint is_known(const Component* parts) noexcept nogil:
    """Whether anything is known about the forecast."""
    return not isnan(parts[0].mean)


cdef void standardise(const Component* parts, Py_ssize_t n, double center, double unit, Room* room) noexcept nogil:
    """Write the components of (Y - center) / unit, their weights adding up to 1, and their standard deviations."""
    cdef const Noise* noise
    cdef double total = 0.0
    cdef Py_ssize_t k
    for k in range(n):
        total += parts[k].weight
    for k in range(n):
        room.parts[k] = parts[k]
        room.parts[k].weight /= total
        room.parts[k].mean = (parts[k].mean - center) / unit
        room.parts[k].signal_var = parts[k].signal_var / unit / unit
        room.parts[k].noise_scale /= unit
        noise = noise_of(parts[k].family)
        room.noise_sd[k] = room.parts[k].noise_scale * sqrt(noise.var(noise, parts[k].epsilon))
        room.sd[k] = hypot(sqrt(room.parts[k].signal_var), room.noise_sd[k])


cdef double mix_log_density(const Component* parts, Py_ssize_t n, double y) noexcept nogil:
    """Log density of the mixture, the sum carried relative to the largest term so far."""
    cdef double top = -INFINITY, total = 0.0, each
    cdef const Noise* noise
    cdef Py_ssize_t k
    for k in range(n):
        if parts[k].weight == 0.0:
            continue
        noise = noise_of(parts[k].family)
        each = noise.log_density(noise, parts + k, y)
        if each > top:
            total *= exp(top - each)
            top = each
        total += parts[k].weight * exp(each - top)
    return larger(top + log(total), -LARGEST)


cdef double _tail(const Component* parts, Py_ssize_t n, double y, bint lower, double* density) noexcept nogil:
    """P(Y < y), or P(Y > y) if not `lower`, and the density at y."""
    cdef double total = 0.0, each = 0.0
    cdef const Noise* noise
    cdef Component mirror
    cdef Py_ssize_t k
    density[0] = 0.0
    for k in range(n):
        noise = noise_of(parts[k].family)
        if lower:
            total += parts[k].weight * noise.below(noise, parts + k, y, &each)
        else:       # what lies above y lies below -y in the mirror image, and keeps its digits there
            mirror = parts[k]
            mirror.mean = -mirror.mean
            total += parts[k].weight * noise.below(noise, &mirror, -y, &each)
        density[0] += parts[k].weight * each
    return smaller(larger(total, 0.0), 1.0)     # the weights add up to 1 but for rounding


cdef double _log_density(const Component* parts, Py_ssize_t n, double y, Room* room) noexcept nogil:
    return mix_log_density(parts, n, y)


cdef double _below(const Component* parts, Py_ssize_t n, double y, Room* room) noexcept nogil:
    cdef double density
    return _tail(parts, n, y, True, &density)


cdef double _above(const Component* parts, Py_ssize_t n, double y, Room* room) noexcept nogil:
    cdef double density
    return _tail(parts, n, y, False, &density)


cdef void _moments(const Component* parts, Py_ssize_t n, double* mean, double* var) noexcept nogil:
    cdef Py_ssize_t k
    cdef double deviation, sd
    if not is_known(parts):
        mean[0], var[0] = NAN, INFINITY
        return
    mean[0] = var[0] = 0.0
    for k in range(n):
        mean[0] += parts[k].weight * parts[k].mean
    for k in range(n):
        deviation = parts[k].mean - mean[0]
        sd = total_sd(parts + k)
        var[0] += parts[k].weight * (sd * sd + deviation * deviation)
    var[0] = smaller(larger(var[0], 1.0 / LARGEST), LARGEST)


cdef void _place(const Component* parts, Py_ssize_t n, double* mean, double* unit) noexcept nogil:
    """Mean, and the mean of the parts' standard deviations: unlike that of the mixture, it hardly feels the widest."""
    cdef Py_ssize_t k
    mean[0] = unit[0] = 0.0
    for k in range(n):
        mean[0] += parts[k].weight * parts[k].mean
        unit[0] += parts[k].weight * total_sd(parts + k)
    unit[0] = smaller(larger(unit[0], 1.0 / LARGEST), LARGEST)


cdef double _quantile(
    const Component* parts, Py_ssize_t n, double q, double mean, double unit, double* deviate, double settled
) noexcept nogil:
    """Solve P(Y < y) = q by Newton's method on the scale of a normal deviate, where the function is nearly straight.

    The nearer tail is the one that is solved for. `deviate` is where to begin, in units of `unit` from the mean, and
    afterwards where it ended; a miss below `settled` makes the next step the last.
    """
    cdef double low = -LARGEST, high = LARGEST, y, next_y, tail, wanted, density, at, goal, step
    cdef int _step
    cdef bint lower = q <= 0.5
    if isnan(q) or not is_known(parts):
        return NAN
    if q <= 0.0 or q >= 1.0:
        return -INFINITY if q <= 0.0 else INFINITY
    step = unit
    wanted = q if lower else 1.0 - q
    goal = ndtri(wanted)
    y = smaller(larger(mean + deviate[0] * unit, -LARGEST), LARGEST)
    for _step in range(MAX_STEPS):
        tail = _tail(parts, n, y, lower, &density)
        if tail == wanted:
            break
        if (tail > wanted) == lower:
            high = y
        else:
            low = y
        at = ndtri(tail)
        next_y = y + (goal - at) * (1.0 if lower else -1.0) * INV_SQRT_2PI * exp(-0.5 * at * at) / density
        if not low < next_y < high:         # a tail that vanished, or a step too far
            next_y = y - step if low == -LARGEST else y + step if high == LARGEST else low + 0.5 * (high - low)
            step *= 2.0
            if not low < next_y < high:
                y = smaller(larger(next_y, low), high)
                break
        elif fabs(goal - at) <= settled:        # the next step would be about the square of this one
            y = next_y
            break
        y = next_y
    deviate[0] = (y - mean) / unit
    return y


cdef object each_forecast(Function function, const Component[:, ::1] forecasts, const double[::1] at):
    """Return function(forecast, at) for each forecast; nan where `at` is nan or the forecast is not known."""
    out = np.empty(forecasts.shape[0])
    cdef double[::1] values = out
    cdef Py_ssize_t t, n = forecasts.shape[1]
    cdef Room room
    cdef char* memory
    if at.shape[0] != forecasts.shape[0]:
        raise ValueError("as many values as forecasts are needed")
    if n == 0:
        raise ValueError("a forecast needs at least one component")
    memory = <char*>malloc(n * (sizeof(Component) + 2 * sizeof(double)))
    if memory == NULL:
        raise MemoryError()
    room.parts = <Component*>memory
    room.sd = <double*>(memory + n * sizeof(Component))
    room.noise_sd = room.sd + n
    with nogil:
        for t in range(forecasts.shape[0]):
            if isnan(at[t]) or not is_known(&forecasts[t, 0]):
                values[t] = NAN
            else:
                values[t] = function(&forecasts[t, 0], n, at[t], &room)
    free(memory)
    return out


def logpdf(const Component[:, ::1] forecasts, const double[::1] y):
    """Return the log density at y."""
    return each_forecast(_log_density, forecasts, y)


def cdf(const Component[:, ::1] forecasts, const double[::1] y):
    """Return P(Y < y)."""
    return each_forecast(_below, forecasts, y)


def sf(const Component[:, ::1] forecasts, const double[::1] y):
    """Return P(Y > y)."""
    return each_forecast(_above, forecasts, y)


def quantile(const Component[:, ::1] forecasts, const double[::1] q):
    """Return the value below which Y falls with probability q; a search begins where the one before it ended."""
    out = np.empty(forecasts.shape[0])
    cdef double[::1] values = out
    cdef Py_ssize_t t
    cdef double deviate = 0.0, mean, unit
    if q.shape[0] != forecasts.shape[0]:
        raise ValueError("as many probabilities as forecasts are needed")
    if forecasts.shape[1] == 0:
        raise ValueError("a forecast needs at least one component")
    with nogil:
        for t in range(forecasts.shape[0]):
            if t == 0 or q[t] != q[t - 1]:
                deviate = larger(smaller(ndtri(q[t]), 8.0), -8.0)
            _place(&forecasts[t, 0], forecasts.shape[1], &mean, &unit)
            values[t] = _quantile(&forecasts[t, 0], forecasts.shape[1], q[t], mean, unit, &deviate, SETTLED)
    return out


def interval(const Component[::1] forecast, double low, double high, double[::1] deviates):
    """Return quantiles `low` and `high` of one forecast to 1e-5 standard deviations as a rule: quick, for a stream.

    `deviates` is where to begin, in mean standard deviations of the components from the mean: for the next forecast,
    where this one ended.
    """
    cdef double lower, upper, mean, unit
    cdef Py_ssize_t n = forecast.shape[0]
    if n == 0 or deviates.shape[0] != 2:
        raise ValueError("a forecast needs at least one component, and an interval two deviates to begin at")
    with nogil:
        _place(&forecast[0], n, &mean, &unit)
        lower = _quantile(&forecast[0], n, low, mean, unit, &deviates[0], NEARLY_SETTLED)
        upper = _quantile(&forecast[0], n, high, mean, unit, &deviates[1], NEARLY_SETTLED)
    return lower, upper


def moments(const Component[:, ::1] forecasts):
    """Return mean and variance."""
    mean, var = np.empty(forecasts.shape[0]), np.empty(forecasts.shape[0])
    cdef double[::1] means = mean, variances = var
    cdef Py_ssize_t t
    if forecasts.shape[1] == 0:
        raise ValueError("a forecast needs at least one component")
    with nogil:
        for t in range(forecasts.shape[0]):
            _moments(&forecasts[t, 0], forecasts.shape[1], &means[t], &variances[t])
    return mean, var
