"""The tables of AutoBypass's bank: its row, its constants, its filters' settings and its scratch memory.

Every name is defined here once. When the library is built, `tools/write_bank_table.py` reads this file and generates
the declarations for C and Cython; the text below each entry becomes its comment in C. This file imports nothing from
the library.

A size is a product of dimensions and whole numbers, in the order of the axes of an array. The dimensions are the fields
of `Dimensions`, and those of `Opened` that count something.
"""

from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from adabypass.numerics.noise import Family


class Row:
    """The model's memory: the size of each field, in order. A field of size 1 is a scalar, and scalars come first.

    Standard units are those of the filters: features and y less their centre, over their scale, both from the warm-up.
    Fields of the filters have the axes (noise model, walk): filter k belongs to walk k modulo `n_walks`.
    """

    n_seen = "1"
    """Number of observations that were seen, without missing ones."""
    n_warm = "1"
    """Number of observations of the warm-up that are kept in `warm_x` and `warm_y`."""
    phase = "1"
    """Progress of the warm-up: a `Phase`."""
    y_center = "1"
    """Centre of y, in the user's units."""
    y_scale = "1"
    """Scale of y, in the user's units; 0 before it is known."""
    last_y = "1"
    """Newest observation that was not missing, in the user's units."""
    n_repeats = "1"
    """Number of consecutive observations, up to the newest, that were equal to it."""
    shocks = "1"
    """Number of recent shocks: it rises by 1 with each, and falls by `shock_decay` with any other observation."""
    log_score = "1"
    """Log density of the newest observation under the forecast that was made before it was seen."""
    y_running_mean = "1"
    """Running mean of y, in standard units."""
    y_running_var = "1"
    """Running variance of y, in standard units."""
    season_step = "1"
    """Step of the season of the next observation, from 0 to `period` - 1."""
    noise_scale = "1"
    """Standard deviation of the noise, in the user's units: the geometric mean over the filters, by their shares."""
    epsilon = "1"
    """Mean epsilon of the filters of insensitive noise, by their shares; 0 if there are none."""
    drift = "1"
    """Geometric mean of the drift rates of the walks, by their shares."""
    drift_share = "n_drifts"
    """Share of each drift rate in the mixture; in Python each is a scalar: `drift_share_0`, `drift_share_1` ..."""

    x_center = "n_features"
    """Centre of each feature in the warm-up, in the user's units."""
    x_scale = "n_features"
    """Scale of each feature in the warm-up, in the user's units; 0 while it is constant, -1 before it is seen."""
    anchor_center = "n_features"
    """Running mean of each feature, in standard units; 0 without an intercept."""
    anchor_var = "n_features"
    """Running variance of each feature, in standard units; without an intercept, its running mean square."""
    newest_center = "n_features"
    """Value of each feature at the newest observation, in standard units; 0 without an intercept."""
    move_var = "n_features"
    """Running mean square of the change of each feature between observations, in standard units."""

    filter_share = "n_filters"
    """Share of each filter in the mixture."""
    filter_slow = "n_filters"
    """Slow component of each filter's log noise scale, in standard units."""
    filter_fast = "n_filters"
    """Fast component of each filter's log noise scale, which decays to 0."""
    filter_epsilon = "n_filters"
    """Epsilon of each filter with insensitive noise: the half-width of its flat top."""
    filter_scale_slope_sq = "n_filters"
    """Running mean square of the slope of each filter's evidence by the log of its noise scale."""
    filter_epsilon_slope_sq = "n_filters"
    """Running mean square of the slope of each filter's evidence by its epsilon."""

    noise_leverage = "n_noises"
    """Leverage of each noise model: how much more `filter_fast` moves after an error of one sign than of the other."""
    noise_leverage_prec = "n_noises"
    """Precision of `noise_leverage`."""
    filter_leverage_effect = "n_filters"
    """Derivative of `filter_fast` by `noise_leverage`."""
    noise_fast_log = "n_noises"
    """Log of the ratio of the learned rate of `filter_fast` to that in the settings, for each noise model."""
    noise_fast_prec = "n_noises"
    """Precision of `noise_fast_log`."""
    filter_fast_effect = "n_filters"
    """Derivative of `filter_fast` by `noise_fast_log`."""
    noise_log_decay_ratio = "n_noises"
    """Log of the ratio of the learned decay of `filter_fast` to that in the settings, for each noise model; the decay
    is the fraction that is lost at each step."""
    noise_decay_prec = "n_noises"
    """Precision of `noise_log_decay_ratio`."""
    filter_decay_effect = "n_filters"
    """Derivative of `filter_fast` by `noise_log_decay_ratio`."""
    filter_level_slope = "n_filters"
    """Slope with which each filter's noise scale follows the level of its forecast."""
    filter_level_prec = "n_filters"
    """Precision of `filter_level_slope`."""
    normal_share = "n_normals"
    """Share of each normal in flexible noise."""

    season_wave = "2"
    """Amplitudes of a cosine and a sine over the season in the log of the noise scale."""
    season_wave_prec = "2"
    """Precision of each of `season_wave`."""
    season_log = "period"
    """Effect of each step of the season on the log noise scale, besides the wave."""
    season_shift = "n_shifts"
    """Effect of each step of the season on the forecast, in standard units, before centring and shrinkage."""
    season_shift_var = "n_shifts"
    """Variance of each of `season_shift`, in units of the variance of an error."""
    season_sums = "n_season_sums"
    """Sums over the steps of `season_shift`: one number for each `SeasonSum`."""

    rate_share = "n_rates"
    """Share of each switching rate."""
    rated_share = "n_rates * n_filters"
    """Share of each filter under each switching rate."""

    walk_underperformance_count = "n_walks"
    """Number of recent underperformances of each walk: it rises by 1 with each, and falls by 1 with each success."""
    walk_consecutive_outliers = "n_walks"
    """Number of consecutive observations, up to the newest, that were outliers for each walk."""
    walk_mean = "n_weights * n_walks"
    """Mean of the weights of each walk, in standard units; the intercept, if there is one, comes first."""
    walk_cov = "n_packed * n_walks"
    """Covariance of the weights of each walk, in standard units: its lower triangle, row after row, or its diagonal."""

    warm_x = "n_warm_up * n_features"
    """Features of the warm-up's observations, in the user's units."""
    warm_y = "n_warm_up"
    """Values of y of the warm-up's observations, in the user's units."""


class Phase(IntEnum):
    """Progress of the warm-up."""

    UNSCALED = 0
    """The scale of y is unknown, because all values so far are equal."""
    WARMING = 1
    """Scales are known, but still provisional."""
    SETTLED = 2
    """Scales are final."""


class SeasonSum(IntEnum):
    """Sums over the steps of `season_shift`."""

    SHARE = 0
    """Shrinkage factor of `season_shift`."""
    NOISE = 1
    """Running mean square of an error, in standard units."""
    TOTAL = 2
    """Sum of `season_shift`."""
    SQUARES = 3
    """Sum of the squares of `season_shift`."""
    VARS = 4
    """Sum of `season_shift_var`."""


class Dimensions(NamedTuple):
    """Whole numbers that depend on the model's arguments: compiled code reads them before the constants."""

    n_filters: int
    """Number of filters: one for each noise model and walk."""
    n_flexible: int
    """Number of filters of flexible noise, which come first."""
    n_drifts: int
    """Number of different drift rates."""
    n_fixed_rates: int
    """Number of `switching_rates`."""
    n_milestones: int
    """Number of `milestones`."""
    n_warm_up: int
    """Number of observations of the whole warm-up."""
    intercept: int
    """Number of weights before those of the features: 1 with an intercept, 0 without."""
    period: int
    """Number of steps of the season; 1 if there is none."""
    n_shifts: int
    """Number of elements of `season_shift`: `period`, or 0 if the season does not shift the forecast."""


class Constants:
    """Numbers that are the same for every model. docs/decisions/0004 explains each."""

    prior_var = 10.0
    """Prior variance of each weight, in standard units."""
    max_wide_slopes = 5
    """Maximum number of features with which each slope has `prior_var`; more of them share the sum of this many."""

    warm_up_widening = 8.0
    """After n observations of the warm-up the initial noise scale is 1 + this/n times that at its end."""
    change_scale = 2.0
    """Scale of the first change after equal values, in units of their absolute value."""
    change_tail = 3.0
    """Tail index of the first change after equal values: P(change > t) falls as t to minus this power."""

    hyper_switching_rate = 0.0001
    """Rate at which the best switching rate may be replaced by another."""
    failure_margin = 1.1
    """A walk underperforms if its share is at most this factor times the share that switching alone gives it."""
    max_underperformance_count = 8
    """Value of `walk_underperformance_count` at which a walk restarts from the weights of the best walk."""

    jump_distance = 3.0
    """Number of standard deviations beyond which an observation counts as an outlier."""
    max_consecutive_outliers = 2
    """Number of consecutive outliers after which the weights jump, in walks with jumps."""

    anchor_rate = 0.003
    """Minimum rate of the running means and variances of the features."""
    min_anchor_var = 1e-4
    """Minimum of a running variance, of a feature or of y, in units of its variance in the warm-up."""
    min_mean_square = 0.25
    """Minimum of the features' mean square, over its running mean, at which weights without an intercept explain the
    newest observation exactly; at a lower one they move less."""

    epsilon_start = 0.5
    """Initial value of epsilon."""
    epsilon_rate = 0.02
    """Rate of the log of epsilon along the normalised slope of the evidence."""
    min_epsilon = 0.02
    """Minimum of epsilon, at which insensitive noise is nearly Laplace noise."""
    max_epsilon = 20.0
    """Maximum of epsilon, at which insensitive noise is nearly uniform."""
    slope_rate = 0.01
    """Minimum rate of the running mean squares of the slopes of the evidence."""
    scale_slope_sq_start = 0.5
    """Initial mean square of the slope by the log noise scale."""
    epsilon_slope_sq_start = 0.05
    """Initial mean square of the slope by epsilon."""
    max_epsilon_slope = 3.0
    """Maximum size of the normalised slope by epsilon."""

    prior_prec = 4.0
    """Prior precision of a learned parameter, such as the leverage or the slope of the level."""
    prec_decay = 0.001
    """Rate at which the precision of a learned parameter returns to `prior_prec`."""
    max_error = 3.0
    """Maximum size of an error, in standard deviations, where it moves the volatility or the season."""
    max_leverage = 3.0
    """Maximum size of the leverage."""
    min_fast_log = -2.0
    """Minimum of `noise_fast_log`."""
    max_fast_log = 1.5
    """Maximum of `noise_fast_log`."""
    min_log_decay_ratio = -2.5
    """Minimum of `noise_log_decay_ratio`."""
    max_log_decay_ratio = 2.0
    """Maximum of `noise_log_decay_ratio`."""
    max_fast_decay = 0.999
    """Maximum factor by which `filter_fast` decays at each step."""

    level_rate = 0.003
    """Minimum rate of the running mean and variance of y, from which the level of a forecast is measured."""
    max_level_distance = 3.0
    """Maximum distance of a forecast from the running mean of y, in standard deviations of y, at which the noise scale
    still follows the level."""
    max_level_slope = 3.0
    """Maximum size of the slope with which the noise scale, or its log, follows the level."""
    level_floor = 0.1
    """Minimum of a noise scale that is linear in the level, relative to the scale at the running mean of y."""

    normal_share_rate = 0.002
    """Minimum rate at which the shares of the normals in flexible noise follow the observations."""
    normal_share_prior = 20.0
    """Number of observations for which the initial shares of the normals count."""
    normal_share_speed = 6.0
    """Factor by which the shares of the normals first move faster than by counting: neighbouring normals overlap."""
    normal_share_pull = 0.001
    """Minimum fraction of their rate at which the shares of the normals return to their start, so that none is lost."""

    season_rate = 0.005
    """Minimum rate of `season_log`."""
    season_prior = 20.0
    """Number of periods for which the initial `season_log` counts."""
    max_season_log = 6.0
    """Maximum size of each of `season_log` and of `season_wave`."""

    shock_distance = 6.0
    """Number of standard deviations from which on an error counts as a shock."""
    shock_decay = 0.25
    """Amount by which `shocks` falls with any other observation."""
    max_shocks = 5.0
    """Number of `shocks` after which the noise of every filter is widened."""
    distance_after_shocks = 2.0
    """Size of the error of the newest observation, in standard deviations, after the noise was widened."""
    max_repeats = 100
    """Number of consecutive equal values after which the noise scale may rise, but no longer fall."""

    shift_rate = 0.05
    """Minimum rate of `season_shift`."""
    shift_prior = 2.0
    """Number of periods for which the initial `season_shift` counts."""

    target_discount = 0.99
    """Factor by which the evidence for y, its log and its square root is discounted at each step."""
    min_evidence = -500.0
    """Minimum of the evidence of a target relative to the best of the three, so that a target can recover."""


class Links(NamedTuple):
    """Offsets into the memory of the constants: compiled code reads them after the constants."""

    transformed_at: int
    """Position of the constants of the banks of the log and the root of y; 0 if there are no such banks."""


class Sequences:
    """Constants that are several numbers."""

    switching_rates = (0.05, 0.005, 0.0001)
    """Rates at which the best filter may be replaced by another, besides the one that falls with time."""
    milestones = (1, 2, 3, 4, 6, 8, 11, 15, 20)
    """Numbers of observations after which the units are recomputed; the last is the end of the warm-up."""


class LevelLaw(IntEnum):
    """How the noise scale follows the level of the forecast: equation (H.30)."""

    NONE = 0
    """The scale does not depend on the level."""
    EXPONENTIAL = 1
    """The log of the scale is linear in the level; if the target is log y, the scale is a power of y."""
    LINEAR = 2
    """The scale is linear in the level, as when noise is proportional to the distance from some origin."""


class Setting(NamedTuple):
    """Settings of one filter."""

    family: "Family"
    """Family of the noise; filters are grouped by it, those of flexible noise first."""
    noise_var: float
    """Initial variance of the noise at scale 1; 0 if it depends on epsilon."""
    noise_log_sd: float
    """Half the log of `noise_var`; 0 if the shape of the noise is learned."""
    drift_index: int
    """Index of the drift rate in the sorted list of different rates."""
    drift_var: float
    """Variance of a step of the weights, in units of the squared noise scale."""
    drift_log: float
    """Log of `drift_var` as it is reported: whatever drifts less than `LIKELIEST_DRIFT_LOG` is as good as static."""
    jump_var: float
    """Variance that a jump adds to `drift_var`; 0 if the weights do not jump."""
    slow_rate: float
    """Minimum rate of `filter_slow`."""
    fast_rate: float
    """Initial rate of `filter_fast`; 0 if there is no fast component."""
    fast_decay: float
    """Initial factor by which `filter_fast` decays at each step."""
    anchored: bool
    """Whether the weights drift about the features' running mean, not about their centre in the warm-up."""
    slopes_drift: bool
    """Whether the slopes drift as well as the level."""
    differenced: bool
    """Whether the weights fit the newest observation exactly, and drift about it."""
    level_law: LevelLaw
    """How the noise scale follows the level."""
    max_slope: float
    """Maximum size of the normalised slope by the log of the noise scale."""
    prior_share: float
    """Prior share in the mixture."""


class Scratch:
    """Memory of a single step: the size of each part, in order."""

    p = "n_weights * n_walks"
    """Product P @ z of each walk's covariance with the features."""
    h = "n_walks"
    """Variance z @ P @ z of each walk's signal."""
    mean = "n_walks"
    """Mean z @ m of each walk's signal."""
    level = "n_walks"
    """Distance of each walk's mean from the running mean of y, in standard deviations of y."""
    drift_var = "n_walks"
    """Variance of a step of each walk's weights."""
    walk_share = "n_walks"
    """Share of each walk in the mixture: the sum over its filters."""
    walk_noise = "n_walks"
    """Variance of each walk's noise, over its filters."""
    move = "n_walks"
    """How far y moves the mean of each walk's signal."""
    left = "n_walks"
    """Variance of each walk's signal after y is seen."""

    scale = "n_filters"
    """Noise scale of each filter."""
    noise_var = "n_filters"
    """Variance of each filter's noise, in units of `scale` squared."""
    d = "n_filters"
    """Distance of y from each filter's forecast, in units of `scale`."""
    v = "n_filters"
    """Variance of each filter's signal, in units of `scale` squared."""
    inverse_scale = "n_filters"
    """Reciprocal of `scale`."""
    mass = "n_filters"
    """Density of y under each filter: `EvidenceLanes.mass`."""
    log_unit = "n_filters"
    """Log of the unit of `mass`: `EvidenceLanes.log_unit`."""
    shift = "n_filters"
    """Posterior less prior mean of the error: `EvidenceLanes.shift`."""
    posterior_var = "n_filters"
    """Posterior variance of the error: `EvidenceLanes.var`."""
    scale_slope = "n_filters"
    """Slope of the evidence by the log of `scale`."""
    epsilon_slope = "n_filters"
    """Slope of the evidence by epsilon."""
    term = "n_filters"
    """Terms of a sum; between the two steps of learning, the normalised slopes by the log of `scale`."""
    responsibility = "n_normals * n_flexible"
    """Probability that y came from each normal of flexible noise."""

    z = "n_weights"
    """Features in standard units, after a 1 if there is an intercept."""
    anchored_slope = "n_weights"
    """Product A @ z, where the covariance of drift about the running mean is proportional to A."""
    anchored_diagonal = "n_weights"
    """Diagonal of A."""
    anchored_cross = "n_weights"
    """Column of A for the intercept, without its diagonal element, with the opposite sign."""
    moved_slope = "n_weights"
    """Product B @ z, where the covariance of drift about the newest observation is proportional to B."""
    moved_diagonal = "n_weights"
    """Diagonal of B."""
    moved_cross = "n_weights"
    """Column of B for the intercept, without its diagonal element, with the opposite sign."""
    direction = "n_weights"
    """Direction in which an error moves the weights that fit the newest observation exactly."""
    newest = "n_walks"
    """Mean and variance of the newest forecast; the rest fills a cache line."""


class Opened:
    """Other members of the bank's struct in compiled code: the C type of each."""

    n_features = "ptrdiff_t"
    """Number of features."""
    n_weights = "ptrdiff_t"
    """Number of weights of a walk: those of the features, and that of the intercept if there is one."""
    n_packed = "ptrdiff_t"
    """Number of stored elements of a walk's covariance."""
    n_rates = "ptrdiff_t"
    """Number of switching rates: `switching_rates`, and one that falls with the number of observations."""
    n_season_sums = "ptrdiff_t"
    """Number of `season_sums`: one for each `SeasonSum`, or 0 if the season does not add to the forecast."""
    n_walks = "ptrdiff_t"
    """Number of random walks that weights follow: `LANES`."""
    n_noises = "ptrdiff_t"
    """Maximum number of noise models: `LANES`."""
    n_normals = "ptrdiff_t"
    """Number of normals of which flexible noise is a mixture: `N_FLEXIBLE_NORMALS`."""
    is_diagonal = "int"
    """Whether covariances are kept as their diagonals alone."""
    replays = "int"
    """Whether the bank is learning from the warm-up again, so that time does not pass."""
    row = "double*"
    """The row."""
    constants = "const double*"
    """Dimensions and constants."""
    settings = "const double*"
    """Settings of the filters: `n_filters` numbers for each field of `Setting`."""
    limits = "const Limits*"
    """Limits of every number that a bank keeps: numerics/limits.py."""
    normals = "const Normals*"
    """Normals of each family of noise; without any, the noise is insensitive."""
    flexible = "const FlexibleNormals*"
    """Normals of flexible noise."""
    flexible_start = "const double*"
    """Initial shares of the normals of flexible noise."""
    extra = "const double*"
    """Variance of x'w of each walk due to uncertainty of x, in the user's units; NULL if x is known exactly."""


def entries(table: type) -> dict[str, Any]:
    """Return the names and values of `Row`, `Constants`, `Sequences`, `Scratch` or `Opened`, in order."""
    return {name: value for name, value in vars(table).items() if not name.startswith("_")}
