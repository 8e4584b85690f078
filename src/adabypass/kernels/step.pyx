"""What the models' kernels have in common."""

from libc.math cimport M_PI, cos, fabs, frexp, ldexp, sin, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from adabypass.distributions.families cimport noise_of
from adabypass.numerics.dispatch cimport Conditioning, Projection, SIMD, Update

from adabypass.numerics import limits

MAX_VALUE = limits.MAX_VALUE
MAX_WEIGHT = limits.MAX_WEIGHT
MAX_UNIT = limits.MAX_UNIT
cdef double LARGE_FEATURE = limits.LARGE_FEATURE
cdef double ROUNDING = limits.ROUNDING

cdef enum:
    CALL_FROM = 16      # features; below it a loop takes less time than a call


cdef class Kernel:
    """How one kind of model forecasts and learns: its compiled functions."""

    @staticmethod
    cdef Kernel of(
        Forecast forecast, Learn learn, Weights weights, ExportMixture export_mixture, bint scale_up=False,
        bint learns_extra=False, Describe describe=NULL, Weigh weigh=NULL,
        MayMix may_mix=NULL,
    ):
        cdef Kernel kernel = Kernel.__new__(Kernel)
        kernel.forecast = forecast
        kernel.learn = learn
        kernel.weights = weights
        kernel.export_mixture = export_mixture
        kernel.describe = describe
        kernel.weigh = weigh
        kernel.may_mix = may_mix
        kernel.scale_up = scale_up
        kernel.learns_extra = learns_extra
        return kernel


cdef inline const Update* _take(StepContext* step, int which) noexcept nogil:
    """The update that waits for a matrix, which the caller makes; NULL if there is none."""
    if step.pending == NULL or step.pending[which].matrix == NULL:
        return NULL
    step.pending[which].matrix = NULL
    return &step.pending[which].update


cdef void multiply(StepContext* step, int which, double* matrix, double* out) noexcept nogil:
    """out = matrix @ x, after the update that waits"""
    SIMD.multiply(step.n, _take(step, which), matrix, step.x, out, NULL)


cdef void update(StepContext* step, int which, const Update* by, double* matrix) noexcept nogil:
    """Update a matrix, or let that wait; before it, a product has made any update that waited."""
    cdef Pending* pending
    cdef Py_ssize_t n = step.n
    cdef const double* second = by.b if by.b != NULL else by.diagonal
    if step.pending == NULL:
        SIMD.update(n, by, matrix)
        return
    pending = step.pending + which
    pending.matrix = matrix
    pending.update = by[0]
    memcpy(pending.vectors, by.a, n * sizeof(double))
    memcpy(pending.vectors + n, second, n * sizeof(double))
    pending.update.a = pending.vectors
    if by.b != NULL:
        pending.update.b = pending.vectors + n
    else:
        pending.update.diagonal = pending.vectors + n


cdef void flush_updates(StepContext* step) noexcept nogil:
    """Make all updates that wait, so that the row says what the model has learned."""
    cdef int which
    if step.pending == NULL:
        return
    for which in range(N_MATRICES):
        if step.pending[which].matrix != NULL:
            SIMD.update(step.n, &step.pending[which].update, step.pending[which].matrix)
            step.pending[which].matrix = NULL


cdef void project(StepContext* step, const double* m, double* S) noexcept nogil:
    """prior_var = x @ S @ x, square = x @ x, product = scale * (x @ m)

    Writes S @ x and S's diagonal, which `condition` needs, to the first 2 n numbers of scratch memory.
    """
    cdef Projection seen
    if step.is_diagonal:
        _project_diagonal(step, m, S)
        return
    seen = SIMD.project(step.n, m, _take(step, COVARIANCE), S, step.x, step.scratch, step.scratch + step.n)
    step.prior_var, step.square, step.product = seen.prior_var, seen.square, saturate(step.scale * seen.product)


cdef void condition(
    StepContext* step, double* m, double* S, double drift_var, double D, double move, double explained
) noexcept nogil:
    """Condition the weights on one observation: equations (C.28)-(C.31).

    On entry the scratch memory is as `project` left it; on exit it begins with p = P @ x. The mean moves by `move` p,
    and `explained` p p' / D is taken off P; all in the units in which x stands.
    """
    if step.is_diagonal:
        _condition_diagonal(step, m, S, drift_var, D, move, explained)
        return
    cdef Conditioning by = Conditioning(drift_var, (step.n + 4) * ROUNDING, D, move, MAX_WEIGHT, explained)
    cdef double factor = SIMD.condition(step.n, &by, step.x, step.scratch, step.scratch + step.n, m)
    cdef Update change = Update(factor, -1.0, step.scratch, NULL, step.scratch + step.n)
    update(step, COVARIANCE, &change, S)


cdef double squared_projection(StepContext* step) noexcept nogil:
    """|S @ x|², after `project`"""
    return SIMD.dot(step.n, step.scratch, step.scratch)


cdef void _project_diagonal(StepContext* step, const double* m, const double* S) noexcept nogil:
    """The same of a covariance that is kept as its diagonal: equation (M.1)."""
    cdef Py_ssize_t i, n = step.n
    cdef double product = 0.0
    step.prior_var = step.square = 0.0
    for i in range(n):
        step.scratch[i], step.scratch[n + i] = S[i] * step.x[i], S[i]
        step.prior_var += step.x[i] * step.scratch[i]
        step.square += step.x[i] * step.x[i]
        product += step.x[i] * m[i]
    step.product = saturate(step.scale * product)


cdef void _condition_diagonal(
    StepContext* step, double* m, double* S, double drift_var, double D, double move, double explained
) noexcept nogil:
    """The same of a covariance that is kept as its diagonal: equations (C.29) and (M.2)."""
    cdef Py_ssize_t i, n = step.n
    cdef double P, p
    for i in range(n):
        P = step.scratch[n + i] + drift_var
        step.scratch[i] = p = step.scratch[i] + drift_var * step.x[i]
        m[i] = saturate_weight(m[i] + move * p)
        S[i] = larger(P * (1.0 - explained * smaller(p * step.x[i] / D, 1.0)), 0.0)


cdef void scale_features(StepContext* step, const double* x, bint scale_up) noexcept nogil:
    """Point the step at x, divided by a power of two if its squares could overflow (or, if asked, vanish): (C.33)."""
    cdef Py_ssize_t i
    cdef double largest = 0.0
    cdef double* scaled = step.scaled
    cdef int exponent
    step.x = x
    step.scale = 1.0
    if step.n >= CALL_FROM:
        largest = SIMD.max_abs(step.n, x)
    else:
        for i in range(step.n):
            if fabs(x[i]) > largest:
                largest = fabs(x[i])
    if largest > LARGE_FEATURE or (scale_up and 0.0 < largest < 1.0 / LARGE_FEATURE):
        frexp(largest, &exponent)
        exponent = min(max(exponent, -1022), 1023)      # so that the scale itself is a normal number
        for i in range(step.n):
            scaled[i] = ldexp(x[i], -exponent)
        step.x = scaled
        step.scale = ldexp(1.0, exponent)


cdef void export_single(
    LinearMixture* out, const double* mean, const double* cov, double drift_var, double noise_scale, double epsilon,
    int64_t family, double noise_mean,
) noexcept nogil:
    """Fill a belief of one component; `cov` is a packed triangle, or NULL if the weights are known."""
    cdef Py_ssize_t i, n = out.n_weights, n_packed = n * (n + 1) // 2
    out.is_known = True
    out.share[0] = 1.0
    memcpy(out.mean, mean, n * sizeof(double))
    if cov == NULL:
        memset(out.cov, 0, n_packed * sizeof(double))
    else:
        memcpy(out.cov, cov, n_packed * sizeof(double))
    memset(out.drift, 0, n_packed * sizeof(double))
    for i in range(n):
        out.drift[i * (i + 3) // 2] = drift_var
        out.x_center[i] = 0.0
    out.noise_scale[0], out.epsilon[0], out.family[0] = noise_scale, epsilon, family
    out.unit_var[0] = noise_of(family).var(noise_of(family), epsilon)
    out.n_flexible, out.season_log, out.period, out.season_step = 0, NULL, 1, 0
    out.season_wave[0] = out.season_wave[1] = 0.0
    out.fading[0] = out.fade[0] = out.level_slope[0] = out.level_linear[0] = out.differenced[0] = 0.0
    out.level_center, out.level_unit, out.y_center = 0.0, 1.0, noise_mean


cdef double season_effect(const LinearMixture* belief, Py_ssize_t step) noexcept nogil:
    """What a step of the season adds to the log of noise_scale: equation (H.37)."""
    cdef double angle
    if belief.season_wave[0] == 0.0 and belief.season_wave[1] == 0.0:
        return belief.season_log[step]
    angle = 2.0 * M_PI * step / belief.period
    return belief.season_log[step] + sqrt(2.0) * (
        belief.season_wave[0] * cos(angle) + belief.season_wave[1] * sin(angle)
    )
