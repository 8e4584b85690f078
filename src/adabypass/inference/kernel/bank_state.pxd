# Where everything of a bank stands: in its row, in the constants and in the scratch. The layout is `AutoBypassSpec`'s.

from adabypass.inference.kernel.step cimport Step


cdef enum:      # the row's head; shares of the drift rates follow
    N_SEEN = 0
    N_WARM = 1          # observations in the warm-up's buffer
    PHASE = 2
    Y_CENTER = 3
    Y_SCALE = 4
    SHOCKS = 5          # how often of late an observation was out of all proportion
    LOG_SCORE = 6       # of the newest observation, before it was seen
    NOISE_SCALE = 7     # standard deviation of the noise: comparable among families
    EPSILON = 8
    DRIFT = 9
    DRIFT_SHARES = 10

cdef enum:
    MOST_WARM_UP = 64

cdef enum:      # PHASE
    UNSCALED = 0        # fewer than two different values of y have been seen
    WARMING = 1         # scales are known, but not yet final
    SETTLED = 2

cdef enum:      # the constants; the filters' settings follow
    N_FILTERS = 0
    N_DRIFTS = 1
    WARM_UP = 2
    INTERCEPT = 3
    N_SHARES = 4
    SHARE_SHARE = 5     # how much the mixture's switching rates share among themselves
    PRIOR_VAR = 6
    ANCHOR_RATE = 7
    EPSILON_START = 8
    EPSILON_RATE = 9
    SLOPE_RATE = 10
    RESPAWN = 11
    PATIENCE = 12
    CAUTION = 13
    SHARES = 14         # the switching rates, then the filters' settings

cdef enum:      # a filter's settings
    FAMILY = 0          # of the noise: `Family` in noise.py
    DRIFT_LEVEL = 1     # index of its drift rate
    DRIFT_LOG = 2       # log of q, in units of the noise's scale squared
    SLOW_RATE = 3
    FAST_RATE = 4
    FAST_DECAY = 5
    ANCHORED = 6
    PRIOR_WEIGHT = 7
    N_SETTINGS = 8

cdef enum:      # a filter; its mean and covariance follow
    SLOW = 0            # log of the noise's scale is SLOW + FAST
    FAST = 1
    FILTER_EPSILON = 2
    SCALE_SLOPE_SQ = 3
    EPSILON_SLOPE_SQ = 4
    FAILURES = 5        # how often it has failed of late
    N_SCALARS = 6


ctypedef struct Bank:       # where everything is
    Py_ssize_t n            # features
    Py_ssize_t size         # weights of a filter
    Py_ssize_t n_filters
    Py_ssize_t n_drifts
    Py_ssize_t n_shares
    Py_ssize_t stride       # numbers of a filter
    bint intercept
    const double* constants
    const double* settings
    double* row
    double* x_center
    double* x_scale
    double* anchor_center
    double* anchor_var
    double* weights         # of the filters in the mixture
    double* rate_weights    # of the switching rates
    double* rated           # weights of the filters under each switching rate
    double* filters
    double* buffer
    double* z               # scratch: features in standard units, after the intercept's 1
    double* p               # scratch: P @ z, filter after filter
    double* h               # scratch: z @ P @ z
    double* mean            # scratch: z @ m
    double* log_density     # scratch
    double* scale           # scratch: noise scale
    double* drift_var       # scratch
    const double* extra     # variance of x'w because x is not known exactly, in the user's units; or NULL


cdef inline Bank open_bank(Step* step) noexcept nogil:
    cdef Bank bank
    cdef Py_ssize_t n = step.n, K
    bank.constants = step.constants
    bank.n_shares = <Py_ssize_t>step.constants[N_SHARES]
    bank.settings = step.constants + SHARES + bank.n_shares
    bank.row = step.row
    bank.n = n
    bank.intercept = step.constants[INTERCEPT] != 0.0
    bank.size = n + bank.intercept
    bank.n_filters = K = <Py_ssize_t>step.constants[N_FILTERS]
    bank.n_drifts = <Py_ssize_t>step.constants[N_DRIFTS]
    bank.stride = N_SCALARS + bank.size + bank.size * (bank.size + 1) // 2
    bank.x_center = step.row + DRIFT_SHARES + bank.n_drifts
    bank.x_scale = bank.x_center + n
    bank.anchor_center = bank.x_scale + n
    bank.anchor_var = bank.anchor_center + n
    bank.weights = bank.anchor_var + n
    bank.rate_weights = bank.weights + K
    bank.rated = bank.rate_weights + bank.n_shares
    bank.filters = bank.rated + bank.n_shares * K
    bank.buffer = bank.filters + K * bank.stride
    bank.z = step.scratch
    bank.h = bank.z + bank.size
    bank.mean = bank.h + K
    bank.log_density = bank.mean + K
    bank.scale = bank.log_density + K
    bank.drift_var = bank.scale + K
    bank.p = bank.drift_var + K
    bank.extra = step.extra
    return bank
