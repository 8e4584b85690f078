# Where compiled code finds everything of a bank: in its row, in the constants and in the scratch memory. The row and
# the constants are declared by `AutoBypassSpec`; a test holds these names and offsets equal to it.

from adabypass.inference.kernel.step cimport Step


cpdef enum:        # the row's scalars; the shares of the other drift rates follow
    N_SEEN
    N_WARM              # observations of the warm-up that are kept
    PHASE
    Y_CENTER
    Y_SCALE
    LAST_Y              # the newest observation
    N_REPEATS           # how many observations up to it were equal to it
    SHOCKS              # how often of late an observation was out of all proportion
    LOG_SCORE           # of the newest observation, before it was seen
    NOISE_SCALE         # standard deviation of the noise: comparable among families
    EPSILON
    DRIFT
    DRIFT_SHARE_0

cdef enum:
    MOST_WARM_UP = 64

cdef enum:      # PHASE
    UNSCALED = 0        # all values of y so far are equal
    WARMING = 1         # scales are known, but not yet final
    SETTLED = 2

cpdef enum:    # then the switching rates, the milestones and the filters' settings
    N_FILTERS
    N_DRIFTS
    N_RATES
    N_MILESTONES
    N_WARM_UP
    INTERCEPT
    PRIOR_VAR
    WARM_UP_WIDENING
    CHANGE_SCALE
    CHANGE_TAIL
    HYPER_SWITCHING_RATE
    FAILURE_MARGIN
    MAX_FAILURES
    ANCHOR_RATE
    SMALLEST_ANCHOR_VAR
    EPSILON_START
    EPSILON_RATE
    SMALLEST_EPSILON
    LARGEST_EPSILON
    SLOPE_RATE
    SCALE_SLOPE_SQ_START
    EPSILON_SLOPE_SQ_START
    LARGEST_SLOPE
    SHOCK_DISTANCE
    SHOCK_DECAY
    MAX_SHOCKS
    DISTANCE_AFTER_SHOCKS
    MAX_REPEATS
    N_CONSTANTS

cpdef enum:
    FAMILY              # of the noise: `Family` in noise.py
    DRIFT_INDEX         # of its drift rate
    DRIFT_LOG           # log of q, in units of the noise's scale squared
    SLOW_RATE
    FAST_RATE
    FAST_DECAY
    ANCHORED
    PRIOR_SHARE
    N_SETTINGS


ctypedef struct Bank:       # where everything is
    Py_ssize_t n            # features
    Py_ssize_t size         # weights of a filter
    Py_ssize_t n_packed     # numbers of their packed covariance
    Py_ssize_t n_filters
    Py_ssize_t n_drifts
    Py_ssize_t n_rates
    Py_ssize_t n_warm_up
    bint intercept
    const double* constants
    const double* switching_rates
    const double* milestones
    const double* settings
    double* row
    double* x_center
    double* x_scale
    double* anchor_center
    double* anchor_var
    double* share           # of each filter in the mixture
    double* slow            # log of a filter's noise scale is slow + fast
    double* fast
    double* epsilon
    double* scale_slope_sq
    double* epsilon_slope_sq
    double* failures        # how often a filter has failed of late
    double* rate_share      # of each switching rate
    double* rated_share     # of each filter under each switching rate
    double* m               # means of the filters' weights
    double* S               # and their covariances
    double* warm_x
    double* warm_y
    double* z               # scratch: features in standard units, after the intercept's 1
    double* p               # scratch: P @ z, filter after filter
    double* h               # scratch: z @ P @ z
    double* mean            # scratch: z @ m
    double* log_density     # scratch
    double* scale           # scratch: noise scale
    double* drift_var       # scratch
    const double* extra     # variance of x'w because x is not known exactly, in the user's units; or NULL


cdef inline Bank open_bank(Step* step) noexcept nogil:
    """Point at every field of the row, in the order of `AutoBypassSpec.layout`."""
    cdef Bank bank
    cdef Py_ssize_t n = step.n, K
    bank.row, bank.n, bank.constants, bank.extra = step.row, n, step.constants, step.extra
    bank.n_filters = K = <Py_ssize_t>step.constants[N_FILTERS]
    bank.n_drifts = <Py_ssize_t>step.constants[N_DRIFTS]
    bank.n_rates = <Py_ssize_t>step.constants[N_RATES]
    bank.n_warm_up = <Py_ssize_t>step.constants[N_WARM_UP]
    bank.intercept = step.constants[INTERCEPT] != 0.0
    bank.size = n + bank.intercept
    bank.n_packed = bank.size * (bank.size + 1) // 2
    bank.switching_rates = step.constants + N_CONSTANTS
    bank.milestones = bank.switching_rates + bank.n_rates
    bank.settings = bank.milestones + <Py_ssize_t>step.constants[N_MILESTONES]
    bank.x_center = step.row + DRIFT_SHARE_0 + bank.n_drifts
    bank.x_scale = bank.x_center + n
    bank.anchor_center = bank.x_scale + n
    bank.anchor_var = bank.anchor_center + n
    bank.share = bank.anchor_var + n
    bank.slow = bank.share + K
    bank.fast = bank.slow + K
    bank.epsilon = bank.fast + K
    bank.scale_slope_sq = bank.epsilon + K
    bank.epsilon_slope_sq = bank.scale_slope_sq + K
    bank.failures = bank.epsilon_slope_sq + K
    bank.rate_share = bank.failures + K
    bank.rated_share = bank.rate_share + bank.n_rates
    bank.m = bank.rated_share + bank.n_rates * K
    bank.S = bank.m + K * bank.size
    bank.warm_x = bank.S + K * bank.n_packed
    bank.warm_y = bank.warm_x + bank.n_warm_up * n
    bank.z = step.scratch
    bank.h = bank.z + bank.size
    bank.mean = bank.h + K
    bank.log_density = bank.mean + K
    bank.scale = bank.log_density + K
    bank.drift_var = bank.scale + K
    bank.p = bank.drift_var + K
    return bank
