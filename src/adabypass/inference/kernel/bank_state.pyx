"""Where compiled code finds everything of a bank, for the test that holds it equal to `AutoBypassSpec`."""

from adabypass.model import covariance, limits

LIMITS = Limits(
    largest=limits.LARGEST,
    largest_weight=limits.LARGEST_WEIGHT,
    largest_distance=limits.LARGEST_DISTANCE,
    smallest_signal=limits.SMALLEST_SIGNAL,
    largest_log_scale=limits.LARGEST_LOG_SCALE,
    resolution=limits.RESOLUTION,
    rounding=limits.ROUNDING,
    most_explained=covariance.MOST_EXPLAINED,
    max_spread=limits.MAX_SPREAD,
)


def offsets(const double[::1] constants, double[::1] row, Py_ssize_t n_features, bint is_diagonal):
    """Return where each field of the row begins, where the filters' settings do, and the size of the scratch memory."""
    cdef Step step
    cdef Bank bank
    step.n, step.row, step.constants, step.scratch, step.extra = n_features, &row[0], &constants[0], &row[0], NULL
    step.is_diagonal = is_diagonal
    bank = open_bank(&step)
    return {
        "x_center": bank.x_center - bank.row,
        "x_scale": bank.x_scale - bank.row,
        "anchor_center": bank.anchor_center - bank.row,
        "anchor_var": bank.anchor_var - bank.row,
        "newest_center": bank.newest_center - bank.row,
        "move_var": bank.move_var - bank.row,
        "filter_share": bank.filter_share - bank.row,
        "filter_slow": bank.filter_slow - bank.row,
        "filter_fast": bank.filter_fast - bank.row,
        "filter_epsilon": bank.filter_epsilon - bank.row,
        "filter_scale_slope_sq": bank.filter_scale_slope_sq - bank.row,
        "filter_epsilon_slope_sq": bank.filter_epsilon_slope_sq - bank.row,
        "noise_leverage": bank.noise_leverage - bank.row,
        "noise_leverage_prec": bank.noise_leverage_prec - bank.row,
        "filter_leverage_effect": bank.filter_leverage_effect - bank.row,
        "noise_fast_log": bank.noise_fast_log - bank.row,
        "noise_fast_prec": bank.noise_fast_prec - bank.row,
        "filter_fast_effect": bank.filter_fast_effect - bank.row,
        "noise_fading_log": bank.noise_fading_log - bank.row,
        "noise_fading_prec": bank.noise_fading_prec - bank.row,
        "filter_fading_effect": bank.filter_fading_effect - bank.row,
        "filter_level_slope": bank.filter_level_slope - bank.row,
        "filter_level_prec": bank.filter_level_prec - bank.row,
        "normal_share": bank.normal_share - bank.row,
        "season_wave": bank.season_wave - bank.row,
        "season_wave_prec": bank.season_wave_prec - bank.row,
        "season_log": bank.season_log - bank.row,
        "season_shift": bank.season_shift - bank.row,
        "season_shift_var": bank.season_shift_var - bank.row,
        "season_sums": bank.season_sums - bank.row,
        "rate_share": bank.rate_share - bank.row,
        "rated_share": bank.rated_share - bank.row,
        "walk_failures": bank.walk_failures - bank.row,
        "walk_strikes": bank.walk_strikes - bank.row,
        "walk_mean": bank.walk_mean - bank.row,
        "walk_cov": bank.walk_cov - bank.row,
        "warm_x": bank.warm_x - bank.row,
        "warm_y": bank.warm_y - bank.row,
    }, bank.settings - bank.constants, bank.newest + LANES - step.scratch
