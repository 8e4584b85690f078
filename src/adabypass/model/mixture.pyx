"""Mixtures of smoothed noise: density, distribution function, quantiles and CRPS of many forecasts at once.

A forecast is an array of components (component.py). All functions take forecasts of shape (n, n_components) and release
the interpreter's lock.
"""

from libc.math cimport INFINITY, M_PI, cosh, erfc, exp, fabs, isnan, log, sinh, sqrt
from scipy.special.cython_special cimport ndtri

from adabypass.model.special cimport larger, smaller

import numpy as np

from adabypass.model.component cimport GAUSSIAN, HEAVY, INSENSITIVE, Component
from adabypass.model.smoothed_noise cimport log_pdf, lower_tail, mean_distance

from adabypass.model import component, limits, noise

if sizeof(Component) != component.COMPONENT.itemsize:
    raise ImportError(
        f"a component has {sizeof(Component)} bytes in C, but {component.COMPONENT.itemsize} in NumPy; rebuild it."
    )

cdef enum:
    MAX_STEPS = 2000        # a double has fewer than this many halvings
    MAX_DEPTH = 12
    MAX_HALVINGS = 3

cdef enum:
    N_HEAVY = 4

cdef double[N_HEAVY] HEAVY_SHARE = noise.HEAVY_SHARES
cdef double[N_HEAVY] HEAVY_LOG_SHARE = [log(share) for share in noise.HEAVY_SHARES]
cdef double[N_HEAVY] HEAVY_VAR = [sd * sd for sd in noise.HEAVY_SDS]
cdef double HEAVY_TOTAL_VAR = noise.HEAVY_VAR
cdef double SQRT_HALF = sqrt(0.5)
cdef double INV_SQRT_2PI = 1.0 / sqrt(2.0 * M_PI)
cdef double HALF_LOG_2PI = 0.5 * log(2.0 * M_PI)
cdef double LARGEST = limits.LARGEST
cdef double LARGEST_D = limits.LARGEST_DISTANCE
cdef double SMALLEST_V = limits.SMALLEST_SIGNAL
cdef double SETTLED = 1e-6
cdef double NEARLY_SETTLED = 3e-3
cdef double NOTHING = 1e-8
cdef double REACH = 60.0             # standard deviations: Laplace tails have no mass left beyond them
cdef double FLOODED = 1e30       # beyond it the noise moves no digit of the sum's density


cdef inline double _total_var(const Component* part) noexcept nogil:
    """Variance of one component."""
    cdef double e = part.epsilon, scale = part.noise_scale
    if part.family != INSENSITIVE:
        return part.signal_var + scale * scale * (HEAVY_TOTAL_VAR if part.family == HEAVY else 1.0)
    return part.signal_var + scale * scale * (e * (e * (e / 3.0 + 1.0) + 2.0) + 2.0) / (1.0 + e)       # (5)


cdef inline bint _is_normal(const Component* part) noexcept nogil:
    """Whether the noise is Gaussian, or too small beside x'w to be told from it."""
    return part.family == GAUSSIAN or part.signal_var > FLOODED * part.noise_scale * part.noise_scale


cdef inline double _heavy_density(const Component* part, double y, double* below, double* distance) noexcept nogil:
    """Density of a component with heavy tails, which is four normals; and if asked for P(Y < y) and E |Y - y|."""
    cdef double density = 0.0, scale_sq = part.noise_scale * part.noise_scale, sd, d, bell, tail
    cdef Py_ssize_t j
    for j in range(N_HEAVY):
        sd = sqrt(larger(part.signal_var + scale_sq * HEAVY_VAR[j], 1.0 / LARGEST))
        d = (y - part.mean) / sd
        bell = INV_SQRT_2PI * exp(-0.5 * d * d)
        density += HEAVY_SHARE[j] * bell / sd
        if below != NULL:
            tail = 0.5 * erfc(-d * SQRT_HALF)
            below[0] += HEAVY_SHARE[j] * tail
            if distance != NULL:
                distance[0] += HEAVY_SHARE[j] * sd * (d * (2.0 * tail - 1.0) + 2.0 * bell)
    return density


cdef inline double _heavy_log_density(const Component* part, double y) noexcept nogil:
    cdef double top = -INFINITY, total = 0.0, scale_sq = part.noise_scale * part.noise_scale, v, d, each
    cdef Py_ssize_t j
    for j in range(N_HEAVY - 1, -1, -1):        # from the widest, which is seldom lost
        v = larger(part.signal_var + scale_sq * HEAVY_VAR[j], 1.0 / LARGEST)
        d = smaller(larger((y - part.mean) / sqrt(v), -LARGEST_D), LARGEST_D)
        each = HEAVY_LOG_SHARE[j] - 0.5 * (log(v) + d * d)
        if each > top:
            total *= exp(top - each)
            top = each
        total += exp(each - top)
    return top + log(total) - HALF_LOG_2PI


cdef inline double _log_density(const Component* part, double y) noexcept nogil:
    cdef double scale, d, v
    if part.family == HEAVY:
        return _heavy_log_density(part, y)
    if _is_normal(part):
        v = larger(_total_var(part), 1.0 / LARGEST)
        d = smaller(larger((y - part.mean) / sqrt(v), -LARGEST_D), LARGEST_D)
        return -HALF_LOG_2PI - 0.5 * (log(v) + d * d)
    scale = part.noise_scale
    d = smaller(larger((y - part.mean) / scale, -LARGEST_D), LARGEST_D)
    v = smaller(larger(part.signal_var / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
    return log_pdf(d, v, part.epsilon) - log(scale)


cdef inline double _below(const Component* part, double y, double* density) noexcept nogil:
    """P(Y < y) of one component, and its density there."""
    cdef double scale, d, v, tail = 0.0
    if part.family == HEAVY:
        density[0] = _heavy_density(part, y, &tail, NULL)
        return tail
    if _is_normal(part):
        scale = sqrt(larger(_total_var(part), 1.0 / LARGEST))
        d = (y - part.mean) / scale
        density[0] = INV_SQRT_2PI * exp(-0.5 * d * d) / scale
        return 0.5 * erfc(-d * SQRT_HALF)
    scale = part.noise_scale
    d = smaller(larger((y - part.mean) / scale, -LARGEST_D), LARGEST_D)
    v = smaller(larger(part.signal_var / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
    tail = lower_tail(fabs(d), v, part.epsilon, density)
    density[0] /= scale
    return tail if d < 0.0 else 1.0 - tail


cdef inline double _above(const Component* part, double y, double* density) noexcept nogil:
    """P(Y > y) of one component: that of its mirror image below -y."""
    cdef Component mirror = part[0]
    mirror.mean = -part.mean
    return _below(&mirror, -y, density)


cdef inline double _mean_distance(const Component* part, double y) noexcept nogil:
    """E |Y - y| of one component."""
    cdef double scale, d = 0.0, v = 0.0
    if part.family == HEAVY:
        _heavy_density(part, y, &v, &d)
        return d
    if _is_normal(part):
        scale = sqrt(larger(_total_var(part), 1.0 / LARGEST))
        d = fabs(y - part.mean) / scale
        return scale * (d * (1.0 - erfc(d * SQRT_HALF)) + 2.0 * INV_SQRT_2PI * exp(-0.5 * d * d))
    scale = part.noise_scale
    d = smaller(fabs(y - part.mean) / scale, LARGEST_D)
    v = smaller(larger(part.signal_var / scale / scale, SMALLEST_V), 1.0 / SMALLEST_V)
    return scale * mean_distance(d, v, part.epsilon)


cdef double _mix_log_density(const Component* parts, Py_ssize_t n, double y) noexcept nogil:
    """Log density of the mixture, the sum carried relative to the largest term so far."""
    cdef double top = -INFINITY, total = 0.0, each
    cdef Py_ssize_t k
    for k in range(n):
        each = _log_density(parts + k, y)
        if each > top:
            total *= exp(top - each)
            top = each
        total += parts[k].weight * exp(each - top)
    return larger(top + log(total), -LARGEST)


cdef double _mix_tail(const Component* parts, Py_ssize_t n, double y, bint lower, double* density) noexcept nogil:
    """P(Y < y), or P(Y > y) if not `lower`, and the density at y."""
    cdef double total = 0.0, each
    cdef Py_ssize_t k
    density[0] = 0.0
    for k in range(n):
        if lower:
            total += parts[k].weight * _below(parts + k, y, &each)
        else:
            total += parts[k].weight * _above(parts + k, y, &each)
        density[0] += parts[k].weight * each
    return total


cdef double _mix_below(const Component* parts, Py_ssize_t n, double y) noexcept nogil:
    cdef double density
    return _mix_tail(parts, n, y, True, &density)


cdef double _mix_above(const Component* parts, Py_ssize_t n, double y) noexcept nogil:
    cdef double density
    return _mix_tail(parts, n, y, False, &density)


cdef void _mix_moments(const Component* parts, Py_ssize_t n, double* mean, double* var) noexcept nogil:
    cdef Py_ssize_t k
    cdef double deviation
    mean[0] = var[0] = 0.0
    for k in range(n):
        mean[0] += parts[k].weight * parts[k].mean
    for k in range(n):
        deviation = parts[k].mean - mean[0]
        var[0] += parts[k].weight * (_total_var(parts + k) + deviation * deviation)
    var[0] = smaller(larger(var[0], 1.0 / LARGEST), LARGEST)


cdef void _mix_place(const Component* parts, Py_ssize_t n, double* mean, double* unit) noexcept nogil:
    """Mean, and the mean of the parts' standard deviations: unlike that of the mixture, it hardly feels the widest."""
    cdef Py_ssize_t k
    mean[0] = unit[0] = 0.0
    for k in range(n):
        mean[0] += parts[k].weight * parts[k].mean
        unit[0] += parts[k].weight * sqrt(_total_var(parts + k))
    unit[0] = smaller(larger(unit[0], 1.0 / LARGEST), LARGEST)


cdef double _mix_quantile(
    const Component* parts, Py_ssize_t n, double q, double mean, double unit, double* deviate, double settled
) noexcept nogil:
    """Solve P(Y < y) = q by Newton's method on the scale of a normal deviate, where the function is nearly straight.

    The nearer tail is the one that is solved for. `deviate` is where to begin, in units of `unit` from the mean, and
    afterwards where it ended; a miss below `settled` makes the next step the last.
    """
    cdef double low = -LARGEST, high = LARGEST, y, next_y, tail, wanted, density, at, goal, step
    cdef int _step
    cdef bint lower = q <= 0.5
    if q <= 0.0 or q >= 1.0:
        return -INFINITY if q <= 0.0 else INFINITY
    step = unit
    wanted = q if lower else 1.0 - q
    goal = ndtri(wanted)
    y = mean + deviate[0] * unit
    for _step in range(MAX_STEPS):
        tail = _mix_tail(parts, n, y, lower, &density)
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


ctypedef double (*Function)(const Component* parts, Py_ssize_t n, double at) noexcept nogil


cdef double _apart(const Component* parts, Py_ssize_t n, double t) noexcept nogil:
    """F (1 - F): its integral is E |Y - Y'| / 2 of two independent draws."""
    cdef double F = _mix_below(parts, n, t)
    return F * (1.0 - F)


cdef double _unforeseen(const Component* parts, Py_ssize_t n, double t) noexcept nogil:
    """-p log p: its integral is the entropy."""
    cdef double log_density = _mix_log_density(parts, n, t)
    return -exp(log_density) * log_density


cdef double _simpson(
    Function f, const Component* parts, Py_ssize_t n, double a, double b, double fa, double fm, double fb, double tol,
    int depth,
) noexcept nogil:
    """Integrate from a to b by Simpson's rule, halving the interval where it is not yet settled."""
    cdef double middle = 0.5 * (a + b), width = b - a
    cdef double left = f(parts, n, 0.5 * (a + middle)), right = f(parts, n, 0.5 * (middle + b))
    cdef double whole = width / 6.0 * (fa + 4.0 * fm + fb)
    cdef double halves = width / 12.0 * (fa + 4.0 * left + 2.0 * fm + 4.0 * right + fb)
    if depth == 0 or not fabs(halves - whole) > 15.0 * tol:
        return halves + (halves - whole) / 15.0
    return (
        _simpson(f, parts, n, a, middle, fa, left, fm, 0.5 * tol, depth - 1)
        + _simpson(f, parts, n, middle, b, fm, right, fb, 0.5 * tol, depth - 1)
    )


cdef double _in_panels(
    Function f, const Component* parts, Py_ssize_t n, double mean, double reach, double core, double tol
) noexcept nogil:
    """Integrate in panels that widen away from the mean."""
    cdef double low, high, sign, total = 0.0
    cdef int side
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        low, high = 0.0, core
        while low < reach:
            high = smaller(high, reach)
            total += sign * _simpson(
                f, parts, n, mean + sign * low, mean + sign * high, f(parts, n, mean + sign * low),
                f(parts, n, mean + sign * 0.5 * (low + high)), f(parts, n, mean + sign * high), tol, MAX_DEPTH,
            )
            low, high = high, 2.0 * high + core
    return total


cdef double _ladder(
    Function f, const Component* parts, Py_ssize_t n, double mean, double core, double reach, double first, double step
) noexcept nogil:
    """Sum f(t) dt/du over t = mean + core sinh(u), u = ±first, ±(first + step), ... until nothing is added."""
    cdef double u, total = 0.0, size = 0.0, each
    cdef int side
    for side in range(2):
        u = first
        while core * sinh(u) < reach:
            each = cosh(u) * f(parts, n, mean + (core if side == 1 else -core) * sinh(u))
            total += each
            size += fabs(each)
            if not fabs(each) > NOTHING * size:
                break
            u += step
    return core * total


cdef double _integral(Function f, const Component* parts, Py_ssize_t n, double tol) noexcept nogil:
    """Integrate f over the whole line, to within `tol` at most.

    The trapezoidal rule converges exponentially on a smooth function over the whole line; what does not settle in a few
    halvings, such as peaks far apart, is left to panels.
    """
    cdef double mean, var, sd, core, step = 0.5, coarse, fine
    cdef Py_ssize_t k
    cdef int _halving
    _mix_moments(parts, n, &mean, &var)
    sd = core = sqrt(var)
    for k in range(n):      # the narrowest part that matters sets the scale
        if parts[k].weight > 1e-3:
            core = smaller(core, sqrt(_total_var(parts + k)))
    core = larger(0.5 * core, 1e-8 * sd)
    coarse = step * (core * f(parts, n, mean) + _ladder(f, parts, n, mean, core, REACH * sd, step, step))
    for _halving in range(MAX_HALVINGS):
        fine = 0.5 * coarse + 0.5 * step * _ladder(f, parts, n, mean, core, REACH * sd, 0.5 * step, step)
        if fabs(fine - coarse) <= tol:      # the error of the coarse sum: that of the fine one is far smaller
            return fine
        coarse = fine
        step *= 0.5
    return _in_panels(f, parts, n, mean, REACH * sd, core, 0.01 * tol)


cdef double _mix_crps(const Component* parts, Py_ssize_t n, double y) noexcept nogil:
    """E |Y - y| - E |Y - Y'| / 2."""
    cdef double distance = 0.0, mean, var
    cdef Py_ssize_t k
    for k in range(n):
        distance += parts[k].weight * _mean_distance(parts + k, y)
    _mix_moments(parts, n, &mean, &var)
    return smaller(larger(distance - _integral(_apart, parts, n, 2e-5 * sqrt(var)), 0.0), LARGEST)


cdef double _density(const Component* parts, Py_ssize_t n, double t) noexcept nogil:
    return exp(_mix_log_density(parts, n, t))


cdef double _part_entropy(const Component* parts, Py_ssize_t n, const Component* part) noexcept nogil:
    """E [-log p(Y)] over one component's Y, as a mean over points of its own scale, dense about its mean."""
    cdef double sd = sqrt(larger(_total_var(part), 1.0 / LARGEST)), u = -6.0, t, mass, total = 0.0, all_mass = 0.0
    while u <= 6.0:
        t = part.mean + 0.5 * sd * sinh(u)
        mass = cosh(u) * exp(_log_density(part, t) + log(sd))
        if mass > 0.0:
            total -= mass * _mix_log_density(parts, n, t)
            all_mass += mass
        u += 0.0625
    return total / all_mass


cdef double _mix_entropy(const Component* parts, Py_ssize_t n, double _unused) noexcept nogil:
    """Integrate over the whole line; where peaks far apart hide mass from that, component by component."""
    cdef double total = 0.0
    cdef Py_ssize_t k
    if fabs(_integral(_density, parts, n, 1e-4) - 1.0) < 1e-4:
        return _integral(_unforeseen, parts, n, 1e-4)
    for k in range(n):
        if parts[k].weight > 0.0:
            total += parts[k].weight * _part_entropy(parts, n, parts + k)
    return total


cdef object _each(Function function, const Component[:, ::1] forecasts, const double[::1] at):
    """Give function(forecast, at) for each forecast; nan where `at` is nan."""
    out = np.empty(forecasts.shape[0])
    cdef double[::1] values = out
    cdef Py_ssize_t t, n = forecasts.shape[1]
    if at.shape[0] != forecasts.shape[0]:
        raise ValueError("as many values as forecasts are needed")
    with nogil:
        for t in range(forecasts.shape[0]):
            values[t] = at[t] if isnan(at[t]) else function(&forecasts[t, 0], n, at[t])
    return out


def logpdf(const Component[:, ::1] forecasts, const double[::1] y):
    """Log density at y."""
    return _each(_mix_log_density, forecasts, y)


def cdf(const Component[:, ::1] forecasts, const double[::1] y):
    """P(Y < y)."""
    return _each(_mix_below, forecasts, y)


def sf(const Component[:, ::1] forecasts, const double[::1] y):
    """P(Y > y)."""
    return _each(_mix_above, forecasts, y)


def quantile(const Component[:, ::1] forecasts, const double[::1] q):
    """Value below which Y falls with probability q; a forecast begins where the one before it ended."""
    out = np.empty(forecasts.shape[0])
    cdef double[::1] values = out
    cdef Py_ssize_t t
    cdef double deviate = 0.0, mean, unit
    if q.shape[0] != forecasts.shape[0]:
        raise ValueError("as many levels as forecasts are needed")
    with nogil:
        for t in range(forecasts.shape[0]):
            if t == 0 or q[t] != q[t - 1]:
                deviate = larger(smaller(ndtri(q[t]), 8.0), -8.0)
            _mix_place(&forecasts[t, 0], forecasts.shape[1], &mean, &unit)
            values[t] = _mix_quantile(&forecasts[t, 0], forecasts.shape[1], q[t], mean, unit, &deviate, SETTLED)
    return out


def interval(const Component[::1] forecast, double low, double high, double[::1] deviates):
    """Quantiles `low` and `high` of one forecast to 1e-5 standard deviations as a rule: quick, for a stream.

    `deviates` is where to begin, in mean standard deviations of the components from the mean: for the next forecast,
    where this one ended.
    """
    cdef double lower, upper, mean, unit
    cdef Py_ssize_t n = forecast.shape[0]
    with nogil:
        _mix_place(&forecast[0], n, &mean, &unit)
        lower = _mix_quantile(&forecast[0], n, low, mean, unit, &deviates[0], NEARLY_SETTLED)
        upper = _mix_quantile(&forecast[0], n, high, mean, unit, &deviates[1], NEARLY_SETTLED)
    return lower, upper


def crps(const Component[:, ::1] forecasts, const double[::1] y):
    """Continuous ranked probability score at y."""
    return _each(_mix_crps, forecasts, y)


def entropy(const Component[:, ::1] forecasts):
    """Expected negative log density."""
    return _each(_mix_entropy, forecasts, np.zeros(forecasts.shape[0]))


def moments(const Component[:, ::1] forecasts):
    """Mean and variance."""
    mean, var = np.empty(forecasts.shape[0]), np.empty(forecasts.shape[0])
    cdef double[::1] means = mean, variances = var
    cdef Py_ssize_t t
    with nogil:
        for t in range(forecasts.shape[0]):
            _mix_moments(&forecasts[t, 0], forecasts.shape[1], &means[t], &variances[t])
    return mean, var
