/* Where everything of a bank of filters is: in its row, in the constants and in the scratch memory.

   Row and constants are declared by `AutoBypassSpec`; a test holds these names and offsets equal to it. Weights follow
   LANES random walks, one in each lane: [weight][walk], [element][walk]; elements of a covariance are its lower triangle,
   or its diagonal. A filter is a walk with one of the noise models: filter k has walk k % LANES, and a quantity that
   belongs to filters stands as [noise model][walk]. */

#ifndef ADABYPASS_BANK_H
#define ADABYPASS_BANK_H

#include "kernels.h"

#define SMALLEST_SHARE 1e-300       /* of a walk in the mixture */
#define SMALLEST_DENSITY 1e-290     /* of a filter, over the largest: where all of a walk's are less, its shares decide */

/* The row's scalars; the shares of the other drift rates follow. */
enum {
    N_SEEN,
    N_WARM,             /* observations of the warm-up that are kept */
    PHASE,
    Y_CENTER,
    Y_SCALE,
    LAST_Y,             /* the newest observation */
    N_REPEATS,          /* how many observations up to it were equal to it */
    SHOCKS,             /* how often of late an observation was out of all proportion */
    LOG_SCORE,          /* of the newest observation, before it was seen */
    Y_RUNNING_MEAN,     /* in standard units */
    Y_RUNNING_VAR,
    SEASON_STEP,        /* of the next observation, from 0 up to the period */
    NOISE_SCALE,        /* standard deviation of the noise: comparable among families */
    EPSILON,
    DRIFT,
    DRIFT_SHARE_0
};

/* The constants; then the switching rates, the milestones and the filters' settings. */
enum {
    N_FILTERS,
    N_FLEXIBLE,         /* filters of flexible noise, which come first */
    N_DRIFTS,
    N_FIXED_RATES,      /* switching rates; there is one more, which falls */
    N_MILESTONES,
    N_WARM_UP,
    INTERCEPT,
    PERIOD,             /* of the season; 1 if there is none */
    N_SHIFTS,           /* steps of the season that shift the forecast: all, or none */
    PRIOR_VAR,
    MOST_WIDE_SLOPES,   /* features up to which each slope has that variance */
    WARM_UP_WIDENING,
    CHANGE_SCALE,
    CHANGE_TAIL,
    HYPER_SWITCHING_RATE,
    FAILURE_MARGIN,
    MAX_FAILURES,
    JUMP_DISTANCE,
    MAX_STRIKES,
    ANCHOR_RATE,
    SMALLEST_ANCHOR_VAR,
    LEAST_SIZE,
    EPSILON_START,
    EPSILON_RATE,
    SMALLEST_EPSILON,
    LARGEST_EPSILON,
    SLOPE_RATE,
    SCALE_SLOPE_SQ_START,
    EPSILON_SLOPE_SQ_START,
    LARGEST_EPSILON_SLOPE,
    PRIOR_PREC,
    PREC_DECAY,
    LARGEST_ERROR,
    LARGEST_LEVERAGE,
    SMALLEST_FAST_LOG,
    LARGEST_FAST_LOG,
    SMALLEST_FADING_LOG,
    LARGEST_FADING_LOG,
    LARGEST_FAST_DECAY,
    LEVEL_RATE,
    LARGEST_LEVEL,
    LARGEST_LEVEL_SLOPE,
    LEVEL_FLOOR,
    NORMAL_SHARE_RATE,
    NORMAL_SHARE_PRIOR,
    NORMAL_SHARE_SPEED,
    NORMAL_SHARE_PULL,
    SEASON_RATE,
    SEASON_PRIOR,
    LARGEST_SEASON_LOG,
    SHOCK_DISTANCE,
    SHOCK_DECAY,
    MAX_SHOCKS,
    DISTANCE_AFTER_SHOCKS,
    MAX_REPEATS,
    SHIFT_RATE,
    SHIFT_PRIOR,
    TARGET_DISCOUNT,
    LEAST_EVIDENCE,
    TRANSFORMED_AT,
    N_CONSTANTS
};

/* The filters' settings: n_filters numbers each. */
enum {
    FAMILY,             /* of the noise: `Family` in noise.py; filters are sorted by it */
    NOISE_VAR,          /* variance of noise of scale 1; 0 if it depends on epsilon */
    NOISE_LOG_SD,       /* half the log of that */
    DRIFT_INDEX,        /* of its drift rate */
    DRIFT_VAR,          /* q, in units of the noise's scale squared */
    DRIFT_LOG,          /* log of that */
    JUMP_VAR,           /* what a jump adds to it; 0 for none */
    SLOW_RATE,
    FAST_RATE,
    FAST_DECAY,
    ANCHORED,
    SLOPES_DRIFT,       /* not the level alone */
    DIFFERENCED,        /* the weights explain the newest observation, and drift about it */
    LEVEL_LAW,          /* how its scale follows the level: `LevelLaw` in bank_design.py */
    LARGEST_SLOPE,
    PRIOR_SHARE,
    N_SETTINGS
};

/* How the scale of the noise follows the level: `LevelLaw` in bank_design.py. */
enum { NO_LAW, EXPONENTIAL_LAW, LINEAR_LAW };

/* The range of every number that a bank keeps: model/limits.py. */
typedef struct {
    double largest, largest_weight, largest_distance, smallest_signal, largest_log_scale, resolution, rounding;
    double most_explained, max_spread;
} Limits;

typedef struct Bank {
    ptrdiff_t n_features;            /* features */
    ptrdiff_t n_weights;         /* weights of a walk */
    ptrdiff_t n_packed;     /* numbers of their packed covariance */
    ptrdiff_t n_filters, n_flexible, n_drifts, n_rates, n_warm_up;
    ptrdiff_t period;
    int intercept;
    int is_diagonal;        /* whether covariances are kept as their diagonals alone */
    int replays;            /* whether it learns from the warm-up anew, and time does not pass */
    const Normals* normals;         /* of each family; of those without, n is 0 and the noise is insensitive */
    const FlexibleNormals* flexible;
    const double* flexible_start;   /* shares of its normals before anything is learned */
    const Limits* limits;
    const double* constants;
    const double* switching_rates;
    const double* milestones;
    const double* settings;
    double* row;
    double* x_center;
    double* x_scale;
    double* anchor_center;
    double* anchor_var;
    double* newest_center;          /* features of the newest observation; 0 without an intercept */
    double* move_var;               /* running mean square of their moves */
    double* filter_share;                  /* of each filter in the mixture */
    double* filter_slow;                   /* log of a filter's noise scale: slow + fast + season_log + what the level adds */
    double* filter_fast;
    double* filter_epsilon;
    double* filter_scale_slope_sq;
    double* filter_epsilon_slope_sq;
    double* walk_failures;               /* how often a walk has failed of late */
    double* walk_strikes;                /* how many times in a row, up to the last observation, it was far off */
    double* noise_leverage;               /* of errors on the fast part */
    double* noise_leverage_prec;
    double* filter_leverage_effect;
    double* noise_fast_log;               /* log of the fast rate over its setting */
    double* noise_fast_prec;
    double* filter_fast_effect;
    double* noise_fading_log;             /* log of what fades of the fast part in a step, over its setting */
    double* noise_fading_prec;
    double* filter_fading_effect;
    double* filter_level_slope;
    double* filter_level_prec;
    double* normal_share;           /* of each normal in flexible noise */
    double* season_wave;            /* what a cosine and a sine over the season add to the log of the noise's scale, */
    double* season_wave_prec;       /* how much was seen of them, */
    double* season_log;             /* and what each step of the season adds besides */
    double* season_shift;           /* what each step adds to the forecast, in standard units, but for a common factor, */
    double* season_shift_var;       /* its variance, in units of that of an error, */
    double* season_sums;            /* and what they have in common: `SHIFT_SHARE` ... */
    double* rate_share;             /* of each switching rate */
    double* rated_share;            /* of each filter under each switching rate */
    double* walk_mean;                      /* means of the walks' weights */
    double* walk_cov;                      /* and their covariances */
    double* warm_x;
    double* warm_y;
    double* z;                      /* scratch: features in standard units, after the intercept's 1 */
    double* anchored_slope;         /* scratch: what find_anchor writes, for each weight */
    double* anchored_diagonal;
    double* anchored_cross;
    double* moved_slope;            /* scratch: the same of drift about the newest observation */
    double* moved_diagonal;
    double* moved_cross;
    double* direction;              /* scratch: how an error moves differenced weights, (117) */
    double* p;                      /* scratch: P @ z, of every walk */
    double* h;                      /* scratch: z @ P @ z */
    double* mean;                   /* scratch: z @ m */
    double* level;                  /* scratch: that, beside the running mean of y, in its standard deviations */
    double* drift_var;              /* scratch */
    double* walk_share;             /* scratch: of all filters of a walk in the mixture */
    double* walk_noise;             /* scratch: variance of its noise, over those filters */
    double* move;                   /* scratch: what y does to the mean of z @ w */
    double* left;                   /* scratch: the variance that y leaves to it */
    double* scale;                  /* scratch: noise scale, of every filter */
    double* noise_var;              /* scratch: in units of scale² */
    double* d;                      /* scratch: distance of y from the forecast, in units of scale */
    double* v;                      /* scratch: h in units of scale² */
    double* inverse_scale;          /* scratch: 1 / scale */
    double* mass;                   /* scratch: `EvidenceLanes` */
    double* log_unit;
    double* shift;
    double* posterior_var;
    double* scale_slope;
    double* epsilon_slope;
    double* term;                   /* scratch: what is summed; between the two steps of learning, the slopes of (54) */
    double* responsibility;         /* scratch: of each normal for y, [normal][lane], of the blocks with flexible noise */
    double* newest;                 /* scratch: mean and variance of the newest forecast */
    const double* extra;            /* variance of x'w of every walk because x is not known exactly, in the user's units;
                                       or NULL */
} Bank;

_Static_assert(sizeof(Bank) <= OPENED * sizeof(double), "a step has too little room for a bank");

#endif
