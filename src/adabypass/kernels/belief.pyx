"""What a model that is no mixture believes: weights that drift independently, features as they are."""

from libc.math cimport M_PI, cos, sin, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from adabypass.distributions.families cimport noise_of


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
    """What a step of the season adds to the log of noise_scale: equation (113)."""
    cdef double angle
    if belief.season_wave[0] == 0.0 and belief.season_wave[1] == 0.0:
        return belief.season_log[step]
    angle = 2.0 * M_PI * step / belief.period
    return belief.season_log[step] + sqrt(2.0) * (
        belief.season_wave[0] * cos(angle) + belief.season_wave[1] * sin(angle)
    )
