# What every model's step looks like: the one shape that lets a single loop drive them all.

from libc.stdint cimport int64_t

from adabypass.numerics.special cimport larger, smaller
from adabypass.numerics.dispatch cimport N_FLEXIBLE_NORMALS, OPENED, GradientMove, Update


cdef enum:                      # those of the row that change by an `Update`
    COVARIANCE
    GRADIENT                    # of the covariance
    N_MATRICES


ctypedef struct Pending:
    # An update of a matrix that waits for the next product with it: then both take one pass through the matrix.
    double* matrix              # NULL if no update waits
    Update update
    double* vectors             # memory for the update's: 2 n numbers


ctypedef struct StepContext


ctypedef struct Covariance:
    # How a covariance of weights is kept, and so is its gradient: what a step does with them. covariance.pyx has each.
    bint is_diagonal            # whether its diagonal is all of it
    Py_ssize_t (*size)(Py_ssize_t n) noexcept nogil     # numbers that keep it

    # prior_var = x @ S @ x, square = x @ x, product = scale * (x @ m)
    # Writes S @ x and S's diagonal, which `condition` needs, to the first 2 n numbers of scratch memory.
    void (*project)(StepContext* step, const double* m, double* S) noexcept nogil

    # Conditions the weights on one observation. On entry the scratch memory is as `project` left it; on exit it begins
    # with p = P @ x. The mean moves by `move` p, and `explained` p p' / D is taken off P; all in the units of x.
    void (*condition)(
        StepContext* step, double* m, double* S, double drift_var, double D, double move, double explained
    ) noexcept nogil

    # S += amount * eye(n)
    void (*add_drift)(StepContext* step, double amount, double* S) noexcept nogil

    # Carries ADA-BYPASS's gradients, of the mean and of the covariance, through the step that the weights have taken;
    # the scratch memory, of 3 n numbers, begins with p.
    void (*follow)(StepContext* step, const GradientMove* by, double* psi, double* G) noexcept nogil


ctypedef struct StepContext:
    # One observation on its way through a model. `forecast` fills what `learn` then uses.
    Py_ssize_t n                # in     number of features: of those that are given, if they are sparse
    Py_ssize_t n_total          # in     number of all features
    const Covariance* covariance  # in   how it is kept
    double* row                 # inout  the model's memory (state/layout.py)
    const double* constants     # in     hyperparameters that never change (state/spec.py)
    const double* x             # in     features, divided by `scale`
    double scale                # in     a power of two; 1 unless the features are huge
    const double* extra         # in     variance of x'w because x is not known exactly, of each component; or NULL
    double* scaled              # out    room for the scaled features
    double* scratch             # out    n_scratch numbers of the spec; owned by the caller
    Pending* pending            # inout  one for each matrix; NULL if every update is made at once
    bint is_plain               # in     whether the record has no room for the log and the root of y
    bint is_mixed               # out    whether the forecast says anything about these
    double mean                 # out    forecast; of a model without a variance, `var` is nan
    double var
    double prior_var            # scratch  x'Sx, in units of scale²
    double square               # scratch  x'x, in units of scale²
    double product              # scratch  x'm
    const double* opened_row    # scratch  the row whose fields are found in `opened`; at first NULL
    double[3 * OPENED + 16] opened      # scratch  the kernel's own


ctypedef struct WeightsView:
    # The weights of one component, as they stand in the row.
    double share                # mixture weight
    const double* mean          # of the features' weights
    const double* cov           # packed triangle of all weights, or NULL if they are known
    Py_ssize_t stride           # from a number of these two to the next
    Py_ssize_t offset           # number of weights before the features' own: 1 with an intercept
    double drift_var            # what a step of time adds to the variance of each
    const double* drift_divisor  # and what that is divided by, for each feature; or NULL
    double y_scale              # a weight in the user's units is that in the row times y_scale / x_scale
    const double* x_scale       # or NULL if they stand in the user's units; not above 0: the weight is 0


cdef struct LinearMixture:
    # The belief of a model about future observations, in the user's units: `LinearMixture` for compiled code.
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
    double[N_FLEXIBLE_NORMALS] normal_share  # out  of the normals of flexible noise
    double* fading              # out  (K,)  part of the log of noise_scale that fades,
    double* fade                # out  (K,)  and the share of it that is left a step later
    double* level_slope         # out  (K,)
    double* level_linear        # out  (K,)  1 if the noise's scale, not its log, is linear in the level, else 0
    double* differenced         # out  (K,)  1 if the weights move until they explain each observation, else 0
    double* feature_size        # out  (n_features,)  then, without an intercept: their usual sizes,
    double min_mean_square           # out  and how small their mean square over these may be, before they move less
    double level_center         # out
    double level_unit           # out
    const double* season_log    # out  (period,)  what each step of the season adds to the log of noise_scale; or NULL
    double[2] season_wave       # out  and what a cosine and a sine over the season add besides
    Py_ssize_t period           # out
    Py_ssize_t season_step      # out  of the next observation
    double* x_center            # out  (n_features,)
    double y_center             # out


ctypedef void (*Forecast)(StepContext* step) noexcept nogil
ctypedef void (*Learn)(StepContext* step, double y) noexcept nogil
ctypedef void (*Weights)(const StepContext* step, WeightsView* out) noexcept nogil      # of every component
ctypedef void (*Describe)(StepContext* step, double base, double* record) noexcept nogil  # distributions/record.pxd
ctypedef void (*ExportMixture)(StepContext* step, LinearMixture* out) noexcept nogil   # many steps ahead
ctypedef void (*MixtureWeights)(StepContext* step, double* mean, double* var) noexcept nogil


cdef class Kernel:
    cdef Forecast forecast
    cdef Learn learn
    cdef Weights weights
    cdef Describe describe      # NULL unless the forecast is a mixture
    cdef ExportMixture export_mixture
    cdef MixtureWeights mixture_weights     # NULL unless the forecast is a mixture
    cdef bint scale_up          # whether tiny features are scaled as well as huge ones
    cdef bint learns_extra      # whether `extra` goes into what is learned (K.12), not only into the forecast

    @staticmethod
    cdef Kernel of(
        Forecast forecast, Learn learn, Weights weights, ExportMixture export_mixture, bint scale_up=*,
        bint learns_extra=*, Describe describe=*, MixtureWeights mixture_weights=*,
    )


cdef double MAX_VALUE, MAX_WEIGHT, MAX_UNIT


cdef enum:
    LINE = 8        # numbers in a line of a processor's cache


cdef inline double* next_line(double* memory) noexcept nogil:
    """The first number from here on that is at the beginning of a cache line: at most LINE - 1 further on."""
    return <double*>((<size_t>memory + (LINE * sizeof(double) - 1)) & ~<size_t>(LINE * sizeof(double) - 1))


cdef inline double saturate(double value) noexcept nogil:
    """np.clip(value, -MAX_VALUE, MAX_VALUE)"""
    return larger(-MAX_VALUE, smaller(value, MAX_VALUE))


cdef inline double saturate_weight(double value) noexcept nogil:
    """np.clip(value, -MAX_WEIGHT, MAX_WEIGHT)"""
    return larger(-MAX_WEIGHT, smaller(value, MAX_WEIGHT))


cdef inline void single_component(
    WeightsView* out, const double* mean, const double* cov, double drift_var
) noexcept nogil:
    """The weights of a model that is no mixture, which stand in the user's units."""
    out.share, out.mean, out.cov, out.stride, out.offset, out.drift_var = 1.0, mean, cov, 1, 0, drift_var
    out.drift_divisor, out.y_scale, out.x_scale = NULL, 1.0, NULL


cdef inline double unit_of(const WeightsView* linear, Py_ssize_t i) noexcept nogil:
    """By what a feature's weight in the row is multiplied to stand in the user's units."""
    if linear.x_scale == NULL:
        return 1.0
    return smaller(linear.y_scale / linear.x_scale[i], MAX_UNIT) if linear.x_scale[i] > 0.0 else 0.0


cdef inline double weight_mean(const WeightsView* linear, Py_ssize_t i) noexcept nogil:
    return linear.mean[i * linear.stride] * unit_of(linear, i)


cdef inline double weight_cov(const WeightsView* linear, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """Covariance of the weights of features i and j, in the user's units."""
    cdef Py_ssize_t row = linear.offset + (i if i > j else j), column = linear.offset + (j if i > j else i)
    cdef Py_ssize_t at = (row * (row + 1) // 2 + column) * linear.stride
    if linear.cov == NULL:
        return 0.0
    return saturate(linear.cov[at] * unit_of(linear, i) * unit_of(linear, j))


cdef inline double weight_drift(const WeightsView* linear, Py_ssize_t i) noexcept nogil:
    """Variance that a step of time adds to the weight of feature i, in the user's units."""
    cdef double unit = unit_of(linear, i)
    return saturate(
        linear.drift_var / (linear.drift_divisor[i] if linear.drift_divisor != NULL else 1.0) * unit * unit
    )


cdef void scale_features(StepContext* step, const double* x, bint scale_up) noexcept nogil

cdef void export_single(
    LinearMixture* out, const double* mean, const double* cov, double drift_var, double noise_scale, double epsilon,
    int64_t family, double noise_mean,
) noexcept nogil

cdef double season_effect(const LinearMixture* belief, Py_ssize_t step) noexcept nogil
