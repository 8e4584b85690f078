"""What the models' kernels have in common."""

from libc.math cimport M_PI, cos, fabs, frexp, ldexp, sin, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from adabypass.distributions.families cimport noise_of
from adabypass.numerics.dispatch cimport SIMD

from adabypass.numerics import limits

MAX_VALUE = limits.MAX_VALUE
MAX_WEIGHT = limits.MAX_WEIGHT
MAX_UNIT = limits.MAX_UNIT
cdef double LARGE_FEATURE = limits.LARGE_FEATURE

cdef enum:
    CALL_FROM = 16      # features; below it a loop takes less time than a call


cdef class Kernel:
    """How one kind of model forecasts and learns: its compiled functions."""

    @staticmethod
    cdef Kernel of(
        Forecast forecast, Learn learn, Weights weights, ExportMixture export_mixture, bint scale_up=False,
        bint learns_extra=False, Describe describe=NULL, MixtureWeights mixture_weights=NULL,
    ):
        cdef Kernel kernel = Kernel.__new__(Kernel)
        kernel.forecast = forecast
        kernel.learn = learn
        kernel.weights = weights
        kernel.export_mixture = export_mixture
        kernel.describe = describe
        kernel.mixture_weights = mixture_weights
        kernel.scale_up = scale_up
        kernel.learns_extra = learns_extra
        return kernel


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
