# Where compiled code finds everything of a bank: simd/bank.h says what each name means. A test holds them equal to
# `AutoBypassSpec`, which declares the row and the constants.

from adabypass.inference.kernel.step cimport Step
from adabypass.model.families cimport FLEXIBLE_NORMALS, FLEXIBLE_START, NORMALS
from adabypass.model.special cimport larger
from adabypass.simd.dispatch cimport MOST_FLEXIBLE, FlexibleNormals, Normals

from libc.math cimport exp


cdef extern from "bank.h" nogil:
    cpdef enum:
        LANES

    double SMALLEST_SHARE

    cpdef enum:
        N_SEEN
        N_WARM
        PHASE
        Y_CENTER
        Y_SCALE
        LAST_Y
        N_REPEATS
        SHOCKS
        LOG_SCORE
        Y_RUNNING_MEAN
        Y_RUNNING_VAR
        SEASON_STEP
        NOISE_SCALE
        EPSILON
        DRIFT
        DRIFT_SHARE_0

    cpdef enum:
        N_FILTERS
        N_FLEXIBLE
        N_DRIFTS
        N_FIXED_RATES
        N_MILESTONES
        N_WARM_UP
        INTERCEPT
        PERIOD
        N_SHIFTS
        PRIOR_VAR
        MOST_WIDE_SLOPES
        WARM_UP_WIDENING
        CHANGE_SCALE
        CHANGE_TAIL
        HYPER_SWITCHING_RATE
        FAILURE_MARGIN
        MAX_FAILURES
        JUMP_DISTANCE
        MAX_STRIKES
        ANCHOR_RATE
        SMALLEST_ANCHOR_VAR
        LEAST_SIZE
        EPSILON_START
        EPSILON_RATE
        SMALLEST_EPSILON
        LARGEST_EPSILON
        SLOPE_RATE
        SCALE_SLOPE_SQ_START
        EPSILON_SLOPE_SQ_START
        LARGEST_EPSILON_SLOPE
        PRIOR_PREC
        PREC_DECAY
        LARGEST_ERROR
        LARGEST_LEVERAGE
        SMALLEST_FAST_LOG
        LARGEST_FAST_LOG
        SMALLEST_FADING_LOG
        LARGEST_FADING_LOG
        LARGEST_FAST_DECAY
        LEVEL_RATE
        LARGEST_LEVEL
        LARGEST_LEVEL_SLOPE
        LEVEL_FLOOR
        NORMAL_SHARE_RATE
        NORMAL_SHARE_PRIOR
        NORMAL_SHARE_SPEED
        NORMAL_SHARE_PULL
        SEASON_RATE
        SEASON_PRIOR
        LARGEST_SEASON_LOG
        SHOCK_DISTANCE
        SHOCK_DECAY
        MAX_SHOCKS
        DISTANCE_AFTER_SHOCKS
        MAX_REPEATS
        SHIFT_RATE
        SHIFT_PRIOR
        TARGET_DISCOUNT
        LEAST_EVIDENCE
        TRANSFORMED_AT
        N_CONSTANTS

    cpdef enum:
        FAMILY
        NOISE_VAR
        NOISE_LOG_SD
        DRIFT_INDEX
        DRIFT_VAR
        DRIFT_LOG
        JUMP_VAR
        SLOW_RATE
        FAST_RATE
        FAST_DECAY
        ANCHORED
        SLOPES_DRIFT
        DIFFERENCED
        LEVEL_LAW
        LARGEST_SLOPE
        PRIOR_SHARE
        N_SETTINGS

    cpdef enum:
        NO_LAW
        EXPONENTIAL_LAW
        LINEAR_LAW

    ctypedef struct Limits:
        double largest, largest_weight, largest_distance, smallest_signal, largest_log_scale, resolution, rounding
        double most_explained, max_spread

    struct Bank:
        Py_ssize_t n_features, n_weights, n_packed, n_filters, n_flexible, n_drifts, n_rates, n_warm_up
        Py_ssize_t period
        bint intercept
        bint is_diagonal
        bint replays
        const Normals* normals
        const FlexibleNormals* flexible
        const double* flexible_start
        const Limits* limits
        const double* constants
        const double* switching_rates
        const double* milestones
        const double* settings
        double* row
        double* x_center
        double* x_scale
        double* anchor_center
        double* anchor_var
        double* newest_center
        double* move_var
        double* filter_share
        double* filter_slow
        double* filter_fast
        double* filter_epsilon
        double* filter_scale_slope_sq
        double* filter_epsilon_slope_sq
        double* walk_failures
        double* walk_strikes
        double* noise_leverage
        double* noise_leverage_prec
        double* filter_leverage_effect
        double* noise_fast_log
        double* noise_fast_prec
        double* filter_fast_effect
        double* noise_fading_log
        double* noise_fading_prec
        double* filter_fading_effect
        double* filter_level_slope
        double* filter_level_prec
        double* normal_share
        double* season_wave
        double* season_wave_prec
        double* season_log
        double* season_shift
        double* season_shift_var
        double* season_sums
        double* rate_share
        double* rated_share
        double* walk_mean
        double* walk_cov
        double* warm_x
        double* warm_y
        double* z
        double* anchored_slope
        double* anchored_diagonal
        double* anchored_cross
        double* moved_slope
        double* moved_diagonal
        double* moved_cross
        double* direction
        double* p
        double* h
        double* mean
        double* level
        double* drift_var
        double* walk_share
        double* walk_noise
        double* move
        double* left
        double* scale
        double* noise_var
        double* d
        double* v
        double* inverse_scale
        double* mass
        double* log_unit
        double* shift
        double* posterior_var
        double* scale_slope
        double* epsilon_slope
        double* term
        double* responsibility
        double* newest
        const double* extra


cdef enum:
    MOST_WARM_UP = 64

cdef enum:      # PHASE
    UNSCALED = 0            # all values of y so far are equal
    WARMING = 1             # scales are known, but not yet final
    SETTLED = 2

cdef enum:      # of `season_sums`
    SHIFT_SHARE             # the common factor of what the steps add
    SHIFT_NOISE             # running mean square of an error
    SHIFT_SUM               # sum of what they add,
    SHIFT_SQUARES           # of its squares,
    SHIFT_VARS              # and of their variances
    N_SUMS

cdef Limits LIMITS


cdef inline Py_ssize_t n_scratch(Py_ssize_t n_filters, Py_ssize_t n_flexible, Py_ssize_t size) noexcept nogil:
    """Count the numbers of the scratch memory of a bank whose walks have `size` weights."""
    return LANES * (8 + size) + 12 * n_filters + MOST_FLEXIBLE * n_flexible + 8 * size + LANES


cdef inline void lay_scratch(Bank* bank, double* scratch) noexcept nogil:
    """Divide the scratch memory."""
    cdef Py_ssize_t K = bank.n_filters
    bank.p = scratch
    bank.h = bank.p + LANES * bank.n_weights
    bank.mean = bank.h + LANES
    bank.level = bank.mean + LANES
    bank.drift_var = bank.level + LANES
    bank.walk_share = bank.drift_var + LANES
    bank.walk_noise = bank.walk_share + LANES
    bank.move = bank.walk_noise + LANES
    bank.left = bank.move + LANES
    bank.scale = bank.left + LANES
    bank.noise_var = bank.scale + K
    bank.d = bank.noise_var + K
    bank.v = bank.d + K
    bank.inverse_scale = bank.v + K
    bank.mass = bank.inverse_scale + K
    bank.log_unit = bank.mass + K
    bank.shift = bank.log_unit + K
    bank.posterior_var = bank.shift + K
    bank.scale_slope = bank.posterior_var + K
    bank.epsilon_slope = bank.scale_slope + K
    bank.term = bank.epsilon_slope + K
    bank.responsibility = bank.term + K
    bank.z = bank.responsibility + MOST_FLEXIBLE * bank.n_flexible
    bank.anchored_slope = bank.z + bank.n_weights
    bank.anchored_diagonal = bank.anchored_slope + bank.n_weights
    bank.anchored_cross = bank.anchored_diagonal + bank.n_weights
    bank.moved_slope = bank.anchored_cross + bank.n_weights
    bank.moved_diagonal = bank.moved_slope + bank.n_weights
    bank.moved_cross = bank.moved_diagonal + bank.n_weights
    bank.direction = bank.moved_cross + bank.n_weights
    bank.newest = bank.direction + bank.n_weights


cdef inline Bank open_bank(Step* step) noexcept nogil:
    """Point at every field of the row, in the order of `AutoBypassSpec.layout`, and at the scratch memory."""
    cdef Bank bank
    cdef Py_ssize_t n = step.n, K
    bank.row, bank.n_features, bank.constants, bank.extra = step.row, n, step.constants, step.extra
    bank.normals, bank.limits = NORMALS, &LIMITS
    bank.flexible, bank.flexible_start = &FLEXIBLE_NORMALS, FLEXIBLE_START
    bank.n_filters = K = <Py_ssize_t>step.constants[N_FILTERS]
    bank.n_flexible = <Py_ssize_t>step.constants[N_FLEXIBLE]
    bank.n_drifts = <Py_ssize_t>step.constants[N_DRIFTS]
    bank.n_rates = <Py_ssize_t>step.constants[N_FIXED_RATES] + 1
    bank.n_warm_up = <Py_ssize_t>step.constants[N_WARM_UP]
    bank.period = <Py_ssize_t>step.constants[PERIOD]
    bank.intercept = step.constants[INTERCEPT] != 0.0
    bank.replays = False
    bank.n_weights = n + bank.intercept
    bank.is_diagonal = step.is_diagonal
    bank.n_packed = bank.n_weights if bank.is_diagonal else bank.n_weights * (bank.n_weights + 1) // 2
    bank.switching_rates = step.constants + N_CONSTANTS
    bank.milestones = bank.switching_rates + bank.n_rates - 1
    bank.settings = bank.milestones + <Py_ssize_t>step.constants[N_MILESTONES]
    bank.x_center = step.row + DRIFT_SHARE_0 + bank.n_drifts
    bank.x_scale = bank.x_center + n
    bank.anchor_center = bank.x_scale + n
    bank.anchor_var = bank.anchor_center + n
    bank.newest_center = bank.anchor_var + n
    bank.move_var = bank.newest_center + n
    bank.filter_share = bank.move_var + n
    bank.filter_slow = bank.filter_share + K
    bank.filter_fast = bank.filter_slow + K
    bank.filter_epsilon = bank.filter_fast + K
    bank.filter_scale_slope_sq = bank.filter_epsilon + K
    bank.filter_epsilon_slope_sq = bank.filter_scale_slope_sq + K
    bank.noise_leverage = bank.filter_epsilon_slope_sq + K
    bank.noise_leverage_prec = bank.noise_leverage + LANES
    bank.filter_leverage_effect = bank.noise_leverage_prec + LANES
    bank.noise_fast_log = bank.filter_leverage_effect + K
    bank.noise_fast_prec = bank.noise_fast_log + LANES
    bank.filter_fast_effect = bank.noise_fast_prec + LANES
    bank.noise_fading_log = bank.filter_fast_effect + K
    bank.noise_fading_prec = bank.noise_fading_log + LANES
    bank.filter_fading_effect = bank.noise_fading_prec + LANES
    bank.filter_level_slope = bank.filter_fading_effect + K
    bank.filter_level_prec = bank.filter_level_slope + K
    bank.normal_share = bank.filter_level_prec + K
    bank.season_wave = bank.normal_share + MOST_FLEXIBLE
    bank.season_wave_prec = bank.season_wave + 2
    bank.season_log = bank.season_wave_prec + 2
    bank.season_shift = bank.season_log + bank.period
    bank.season_shift_var = bank.season_shift + <Py_ssize_t>step.constants[N_SHIFTS]
    bank.season_sums = bank.season_shift_var + <Py_ssize_t>step.constants[N_SHIFTS]
    bank.rate_share = bank.season_sums + (N_SUMS if step.constants[N_SHIFTS] > 0.0 else 0)
    bank.rated_share = bank.rate_share + bank.n_rates
    bank.walk_failures = bank.rated_share + bank.n_rates * K
    bank.walk_strikes = bank.walk_failures + LANES
    bank.walk_mean = bank.walk_strikes + LANES
    bank.walk_cov = bank.walk_mean + LANES * bank.n_weights
    bank.warm_x = bank.walk_cov + LANES * bank.n_packed
    bank.warm_y = bank.warm_x + bank.n_warm_up * n
    lay_scratch(&bank, step.scratch)
    return bank


cdef inline const double* setting(const Bank* bank, Py_ssize_t which) noexcept nogil:
    """One of the settings, of every filter."""
    return bank.settings + which * bank.n_filters


cdef inline Py_ssize_t var_at(const Bank* bank, Py_ssize_t walk, Py_ssize_t i) noexcept nogil:
    """Where in `S` the variance of weight i of a walk is."""
    return (i if bank.is_diagonal else i * (i + 3) // 2) * LANES + walk


cdef inline double share_of_walk(const Bank* bank, Py_ssize_t walk) noexcept nogil:
    """Share of all filters of a walk in the mixture."""
    cdef Py_ssize_t j
    cdef double total = 0.0
    for j in range(bank.n_filters // LANES):
        total += bank.filter_share[j * LANES + walk]
    return total


cdef inline double drift_of_walk(const Bank* bank, Py_ssize_t walk) noexcept nogil:
    """Variance of a step of a walk, in standard units, but for jumps: equation (52)."""
    cdef Py_ssize_t j
    cdef double slow = 0.0
    for j in range(bank.n_filters // LANES):
        slow += bank.filter_share[j * LANES + walk] * bank.filter_slow[j * LANES + walk]
    slow /= larger(share_of_walk(bank, walk), SMALLEST_SHARE)
    return setting(bank, DRIFT_VAR)[walk] * exp(2.0 * slow)
