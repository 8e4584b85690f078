# What a model believes about the observations to come, in the user's units: `LinearMixture`, for compiled code.

from libc.stdint cimport int64_t

from adabypass.numerics.dispatch cimport MOST_FLEXIBLE


cdef struct LinearMixture:
    Py_ssize_t n_linears        # in   K
    Py_ssize_t n_features       # in
    Py_ssize_t n_weights        # in   I: one more than features if there is an intercept
    bint is_known               # out  whether anything is known about the observations
    double* share               # out  (K,)
    double* mean                # out  (K, I)
    double* cov                 # out  (K, I (I + 1) / 2)  lower triangles
    double* drift               # out  (K, I (I + 1) / 2)  what a step of time adds to them
    double* noise_scale         # out  (K,)  nan of a point
    double* epsilon             # out  (K,)
    int64_t* family             # out  (K,)
    double* unit_var            # out  (K,)  variance of the noise, in units of noise_scale²
    Py_ssize_t n_flexible       # out  how many have flexible noise: they come first, and each is a component a normal
    double[MOST_FLEXIBLE] normal_share  # out  of the normals of flexible noise
    double* fading              # out  (K,)  part of the log of noise_scale that fades,
    double* fade                # out  (K,)  and the share of it that is left a step later
    double* level_slope         # out  (K,)
    double* level_linear        # out  (K,)  1 if the noise's scale, not its log, is linear in the level, else 0
    double* differenced         # out  (K,)  1 if the weights move until they explain each observation, else 0
    double* feature_size        # out  (n_features,)  then, without an intercept: their usual sizes,
    double least_size           # out  and how small their mean square over these may be, before they move less
    double level_center         # out
    double level_unit           # out
    const double* season_log    # out  (period,)  what each step of the season adds to the log of noise_scale; or NULL
    double[2] season_wave       # out  and what a cosine and a sine over the season add besides
    Py_ssize_t period           # out
    Py_ssize_t season_step      # out  of the next observation
    double* x_center            # out  (n_features,)
    double y_center             # out


cdef void export_single(
    LinearMixture* out, const double* mean, const double* cov, double drift_var, double noise_scale, double epsilon,
    int64_t family, double noise_mean,
) noexcept nogil

cdef double season_effect(const LinearMixture* belief, Py_ssize_t step) noexcept nogil
