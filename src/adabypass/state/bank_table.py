"""The tables of AutoBypass's bank: its row, its constants, its filters' settings and its scratch memory.

Every name stands here once. When the library is built, `tools/write_bank_table.py` reads this file and writes from it
what C and Cython declare; the text below each entry becomes its comment in C. The file needs nothing of the library.

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
    What belongs to filters stands as (noise model, walk): filter k follows walk k modulo `n_walks`.
    """

    n_seen = "1"
    """Number of observations that were seen; missing ones do not count."""
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
    """Steady part of the log of each filter's noise scale, in standard units."""
    filter_fast = "n_filters"
    """Fading part of the log of each filter's noise scale."""
    filter_epsilon = "n_filters"
    """Half-width of the flat top of each filter's noise, if that is insensitive."""
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
    """Log of the rate of `filter_fast` in each noise model, over the rate in its settings."""
    noise_fast_prec = "n_noises"
    """Precision of `noise_fast_log`."""
    filter_fast_effect = "n_filters"
    """Derivative of `filter_fast` by `noise_fast_log`."""
    noise_fading_log = "n_noises"
    """Log of the share of `filter_fast` that fades in a step in each noise model, over the share in its settings."""
    noise_fading_prec = "n_noises"
    """Precision of `noise_fading_log`."""
    filter_fading_effect = "n_filters"
    """Derivative of `filter_fast` by `noise_fading_log`."""
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
    """What each step of the season adds to the log of the noise scale, besides the wave."""
    season_shift = "n_shifts"
    """What each step of the season adds to the forecast, in standard units, before it is centred and shrunk."""
    season_shift_var = "n_shifts"
    """Variance of each of `season_shift`, in units of the variance of an error."""
    season_sums = "n_season_sums"
    """What the steps of `season_shift` have in common: one number for each `SeasonSum`."""

    rate_share = "n_rates"
    """Share of each switching rate."""
    rated_share = "n_rates * n_filters"
    """Share of each filter under each switching rate."""

    walk_failures = "n_walks"
    """Number of recent failures of each walk: it rises by 1 with each, and falls by 1 with each success."""
    walk_strikes = "n_walks"
    """Number of consecutive observations, up to the newest, that each walk was far off."""
    walk_mean = "n_weights * n_walks"
    """Mean of the weights of each walk, in standard units; the intercept, if there is one, comes first."""
    walk_cov = "n_packed * n_walks"
    """Covariance of the weights of each walk, in standard units: its lower triangle, row after row, or its diagonal."""

    warm_x = "n_warm_up * n_features"
    """Features of the warm-up's observations, in the user's units."""
    warm_y = "n_warm_up"
    """Values of y of the warm-up's observations, in the user's units."""


class Phase(IntEnum):
    """How far the warm-up has come."""

    UNSCALED = 0
    """All values of y so far are equal, so that its scale is not known."""
    WARMING = 1
    """Scales are known, but will be set anew."""
    SETTLED = 2
    """Scales are final."""


class SeasonSum(IntEnum):
    """What the steps of `season_shift` have in common."""

    SHARE = 0
    """Factor by which they are shrunk."""
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
    """Number of steps of the season that add to the forecast: `period`, or 0 if none does."""


class Constants:
    """Numbers that are the same for every model. docs/decisions/0004 explains each."""

    prior_var = 10.0
    """Prior variance of each weight, in standard units."""
    most_wide_slopes = 5
    """Maximum number of features with which each slope has `prior_var`; more of them share the sum of this many."""

    warm_up_widening = 8.0
    """After n observations of the warm-up the noise starts 1 + this/n times as wide as after the whole of it."""
    change_scale = 2.0
    """Scale of the first change after values that are all equal, in units of their size."""
    change_tail = 3.0
    """Power of the tail of such a change: the probability that it is larger than t falls as t to minus this power."""

    hyper_switching_rate = 0.0001
    """Rate at which the best switching rate may give way to another."""
    failure_margin = 1.1
    """A walk fails if its share is at most this many times the share that switching alone gives it."""
    max_failures = 8
    """Number of `walk_failures` after which a walk goes on from the weights of the best walk."""

    jump_distance = 3.0
    """Number of standard deviations beyond which an error counts as a strike."""
    max_strikes = 2
    """Number of consecutive strikes after which weights jump, in the walks that have a jump."""

    anchor_rate = 0.003
    """Minimum rate of the running means and variances of the features."""
    smallest_anchor_var = 1e-4
    """Minimum of a running variance, of a feature or of y, in units of its variance in the warm-up."""
    least_size = 0.25
    """Minimum of the features' mean square, over its running mean, at which weights without an intercept explain the
    newest observation exactly; at a lower one they move less."""

    epsilon_start = 0.5
    """Epsilon before anything is learned."""
    epsilon_rate = 0.02
    """Rate of the log of epsilon along the normalised slope of the evidence."""
    smallest_epsilon = 0.02
    """Minimum of epsilon, at which insensitive noise is all but Laplace noise."""
    largest_epsilon = 20.0
    """Maximum of epsilon, at which insensitive noise is all but uniform."""
    slope_rate = 0.01
    """Minimum rate of the running mean squares of the slopes of the evidence."""
    scale_slope_sq_start = 0.5
    """Mean square of the slope by the log of the noise scale before anything is learned."""
    epsilon_slope_sq_start = 0.05
    """Mean square of the slope by epsilon before anything is learned."""
    largest_epsilon_slope = 3.0
    """Maximum size of the normalised slope by epsilon."""

    prior_prec = 4.0
    """Precision of a learned number, such as the leverage or the level's slope, before anything is seen."""
    prec_decay = 0.001
    """Rate at which such a precision returns to `prior_prec`."""
    largest_error = 3.0
    """Maximum size of an error, in standard deviations, where it moves the volatility or the season."""
    largest_leverage = 3.0
    """Maximum size of the leverage."""
    smallest_fast_log = -2.0
    """Minimum of `noise_fast_log`."""
    largest_fast_log = 1.5
    """Maximum of `noise_fast_log`."""
    smallest_fading_log = -2.5
    """Minimum of `noise_fading_log`."""
    largest_fading_log = 2.0
    """Maximum of `noise_fading_log`."""
    largest_fast_decay = 0.999
    """Maximum share of `filter_fast` that is left a step later."""

    level_rate = 0.003
    """Minimum rate of the running mean and variance of y, from which the level of a forecast is measured."""
    largest_level = 3.0
    """Maximum distance of a forecast from the running mean of y, in standard deviations of y, at which the noise scale
    still follows the level."""
    largest_level_slope = 3.0
    """Maximum size of the slope with which the noise scale, or its log, follows the level."""
    level_floor = 0.1
    """Noise scale that is left where one that is linear in the level would be 0, over that at the running mean of y."""

    normal_share_rate = 0.002
    """Minimum rate at which the shares of the normals in flexible noise follow the observations."""
    normal_share_prior = 20.0
    """Number of observations that the start of these shares counts for."""
    normal_share_speed = 6.0
    """Factor by which these shares first move faster than counting would: neighbouring normals give way slowly."""
    normal_share_pull = 0.001
    """Minimum share of their rate that draws these shares back to their start, so that none is lost."""

    season_rate = 0.005
    """Minimum rate of `season_log`."""
    season_prior = 20.0
    """Number of periods that the start of `season_log` counts for."""
    largest_season_log = 6.0
    """Maximum size of each of `season_log` and of `season_wave`."""

    shock_distance = 6.0
    """Number of standard deviations from which on an error is a shock."""
    shock_decay = 0.25
    """Share of a shock that any other observation makes up for."""
    max_shocks = 5.0
    """Number of `shocks` after which the noise of every filter is widened."""
    distance_after_shocks = 2.0
    """Number of standard deviations that the newest observation is off after the noise was widened."""
    max_repeats = 100
    """Number of equal values in a row after which the noise scale may grow, but no longer fall."""

    shift_rate = 0.05
    """Minimum rate of `season_shift`."""
    shift_prior = 2.0
    """Number of periods that the start of `season_shift` counts for."""

    target_discount = 0.99
    """Share of the evidence for y itself, its log and its root that is left a step later."""
    least_evidence = -500.0
    """Minimum of that evidence, beside the largest of the three, so that a target can recover."""


class Links(NamedTuple):
    """Where in the memory of the constants others begin: compiled code reads them after the constants."""

    transformed_at: int
    """Position of the constants of the banks of the log and the root of y; 0 if there are no such banks."""


class Sequences:
    """Constants that are several numbers."""

    switching_rates = (0.05, 0.005, 0.0001)
    """Rates at which the best filter may give way to another, besides the one that falls."""
    milestones = (1, 2, 3, 4, 6, 8, 11, 15, 20)
    """Numbers of observations after which the units are set anew; the last is the end of the warm-up."""


class LevelLaw(IntEnum):
    """How the scale of the noise follows the level of the forecast: equation (106)."""

    NONE = 0
    """The scale does not depend on the level."""
    EXPONENTIAL = 1
    """The log of the scale is linear in the level: of the log of y, the scale is a power of y."""
    LINEAR = 2
    """The scale is linear in the level, like noise that is proportional to what is measured from some point."""


class Setting(NamedTuple):
    """How one filter differs from the others."""

    family: "Family"
    """Family of the noise; filters are sorted by it."""
    noise_var: float
    """Variance of the noise, at scale 1, before anything is learned; 0 if it depends on epsilon."""
    noise_log_sd: float
    """Half the log of `noise_var`; 0 if the shape of the noise is learned."""
    drift_index: int
    """Index of the drift rate among the different ones."""
    drift_var: float
    """Variance of a step of the weights, in units of the noise scale squared."""
    drift_log: float
    """Log of `drift_var` as it is reported: whatever drifts less than `LIKELIEST_DRIFT_LOG` is as good as static."""
    jump_var: float
    """What a jump adds to `drift_var`; 0 if the weights do not jump."""
    slow_rate: float
    """Minimum rate of `filter_slow`."""
    fast_rate: float
    """Rate of `filter_fast` before anything is learned; 0 if there is no fading part."""
    fast_decay: float
    """Share of `filter_fast` that is left a step later before anything is learned."""
    anchored: bool
    """Whether the weights drift about the features' running mean, not about their centre in the warm-up."""
    slopes_drift: bool
    """Whether the slopes drift, not the level alone."""
    differenced: bool
    """Whether the weights explain the newest observation exactly, and drift about it."""
    level_law: LevelLaw
    """How the noise scale follows the level."""
    largest_slope: float
    """Maximum size of the normalised slope by the log of the noise scale."""
    prior_share: float
    """Share in the mixture before anything is learned."""


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
    """Share of each walk in the mixture: that of all its filters."""
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
    """Product A @ z of drift about the running mean, whose covariance is in proportion to A."""
    anchored_diagonal = "n_weights"
    """Diagonal of A."""
    anchored_cross = "n_weights"
    """Column of A beside the intercept, with its sign turned."""
    moved_slope = "n_weights"
    """Product B @ z of drift about the newest observation, whose covariance is in proportion to B."""
    moved_diagonal = "n_weights"
    """Diagonal of B."""
    moved_cross = "n_weights"
    """Column of B beside the intercept, with its sign turned."""
    direction = "n_weights"
    """How an error moves the weights that explain the newest observation exactly."""
    newest = "n_walks"
    """Mean and variance of the newest forecast; the rest fills a cache line."""


class Opened:
    """What else compiled code keeps of a bank while it works on it: the type of each number in C."""

    n_features = "ptrdiff_t"
    """Number of features."""
    n_weights = "ptrdiff_t"
    """Number of weights of a walk: those of the features, and that of the intercept if there is one."""
    n_packed = "ptrdiff_t"
    """Number of elements that are kept of a walk's covariance."""
    n_rates = "ptrdiff_t"
    """Number of switching rates: `switching_rates`, and one that falls with the number of observations."""
    n_season_sums = "ptrdiff_t"
    """Number of `season_sums`: one for each `SeasonSum`, or 0 if the season does not add to the forecast."""
    n_walks = "ptrdiff_t"
    """Number of random walks that weights follow: `LANES`."""
    n_noises = "ptrdiff_t"
    """Number of noise models that there is room for: `LANES`."""
    n_normals = "ptrdiff_t"
    """Number of normals of which flexible noise is a mixture: `MOST_FLEXIBLE`."""
    is_diagonal = "int"
    """Whether covariances are kept as their diagonals alone."""
    replays = "int"
    """Whether the bank learns from the warm-up anew, and time does not pass."""
    row = "double*"
    """The row."""
    constants = "const double*"
    """Dimensions and constants."""
    settings = "const double*"
    """Settings of the filters: `n_filters` numbers for each field of `Setting`."""
    limits = "const Limits*"
    """Range of every number that a bank keeps: numerics/limits.py."""
    normals = "const Normals*"
    """Normals of each family of noise; without any, the noise is insensitive."""
    flexible = "const FlexibleNormals*"
    """Normals of flexible noise."""
    flexible_start = "const double*"
    """Shares of the normals of flexible noise before anything is learned."""
    extra = "const double*"
    """Variance of x'w of each walk because x is not known exactly, in the user's units; NULL if it is."""


def entries(table: type) -> dict[str, Any]:
    """Return the names and values of `Row`, `Constants`, `Sequences`, `Scratch` or `Opened`, in order."""
    return {name: value for name, value in vars(table).items() if not name.startswith("_")}
