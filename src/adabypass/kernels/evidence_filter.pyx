"""The exact-evidence filter, in place on rows: equations (G.11) and (G.12)."""

from libc.math cimport isnan

from adabypass.distributions.families cimport INSENSITIVE, noise_of
from adabypass.distributions.record cimport RecordFields, open_record
from adabypass.kernels.step cimport (
    Kernel, LinearMixture, StepContext, WeightsView, export_single, saturate,
    single_component,
)
from adabypass.numerics.dispatch cimport Evidence, SIMD
from adabypass.numerics.special cimport larger, smaller

from adabypass.numerics import limits

cdef enum:      # the row
    N_SEEN = 0
    MEAN = 1    # then the covariance

cdef enum:      # the constants
    DRIFT_VAR = 0
    NOISE_SCALE = 1
    EPSILON = 2

cdef double MAX_D = limits.MAX_DISTANCE
cdef double MIN_V = limits.MIN_SIGNAL


cdef void forecast(StepContext* step) noexcept nogil:
    """mean = x @ m, var = x @ P @ x + noise_scale² Var(η)"""
    step.covariance.project(step, step.row + MEAN, step.row + MEAN + step.n)
    step.prior_var += step.constants[DRIFT_VAR] * step.square
    if step.extra != NULL:
        step.prior_var += smaller(step.extra[0] / step.scale / step.scale, MAX_D)       # (K.12)
    step.mean = step.product
    step.var = saturate(_signal_var(step) + step.constants[NOISE_SCALE] * step.constants[NOISE_SCALE] * _unit_var(step))


cdef inline double _signal_var(const StepContext* step) noexcept nogil:
    """x @ P @ x"""
    return saturate(step.scale * (step.scale * step.prior_var))


cdef inline double _unit_var(const StepContext* step) noexcept nogil:
    """Variance of noise of scale 1: equation (A.7)."""
    cdef double e = step.constants[EPSILON]
    return (e * (e * (e / 3.0 + 1.0) + 2.0) + 2.0) / (1.0 + e)


cdef void learn(StepContext* step, double y) noexcept nogil:
    cdef double* m = step.row + MEAN
    cdef double* S = m + step.n
    cdef double noise_scale = step.constants[NOISE_SCALE], drift_var = step.constants[DRIFT_VAR], h = step.prior_var
    cdef double d, v, gain
    cdef Evidence seen
    if not isnan(y):
        step.row[N_SEEN] += 1.0
    if isnan(y) or h <= MIN_V:
        step.covariance.add_drift(step, drift_var, S)
        return
    d = smaller(larger(saturate(y - step.mean) / noise_scale, -MAX_D), MAX_D)
    v = smaller(larger(_signal_var(step) / noise_scale / noise_scale, MIN_V), 1.0 / MIN_V)
    seen = SIMD.evidence(noise_of(INSENSITIVE).normals, d, v, step.constants[EPSILON])
    gain = -saturate(seen.shift * noise_scale / step.scale / h)                             # (G.11)
    step.covariance.condition(step, m, S, drift_var, h, gain, larger(1.0 - seen.var / v, 0.0))              # (G.12)


cdef void describe(StepContext* step, double base, double* record) noexcept nogil:
    """Write the forecast, of one linear model, after `forecast`."""
    cdef RecordFields out = open_record(record, 1, 1, False)
    out.common_family[0] = -1.0
    out.weight[0], out.mean[0], out.signal_var[0] = 1.0, saturate(step.mean + base), _signal_var(step)
    out.noise_scale[0], out.epsilon[0] = step.constants[NOISE_SCALE], step.constants[EPSILON]


cdef void weights(const StepContext* step, WeightsView* out) noexcept nogil:
    single_component(out, step.row + MEAN, step.row + MEAN + step.n, step.constants[DRIFT_VAR])


cdef void export_mixture(StepContext* step, LinearMixture* out) noexcept nogil:
    cdef double* m = step.row + MEAN
    cdef const double* hyper = step.constants
    export_single(out, m, m + step.n, hyper[DRIFT_VAR], hyper[NOISE_SCALE], hyper[EPSILON], INSENSITIVE, 0.0)


KERNEL = Kernel.of(forecast, learn, weights, export_mixture, scale_up=False, learns_extra=True, describe=describe)
