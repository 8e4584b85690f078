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
        "filter_share": bank.share - bank.row,
        "filter_slow": bank.slow - bank.row,
        "filter_fast": bank.fast - bank.row,
        "filter_epsilon": bank.epsilon - bank.row,
        "filter_scale_slope_sq": bank.scale_slope_sq - bank.row,
        "filter_epsilon_slope_sq": bank.epsilon_slope_sq - bank.row,
        "noise_leverage": bank.leverage.value - bank.row,
        "noise_leverage_prec": bank.leverage.prec - bank.row,
        "filter_leverage_effect": bank.leverage.effect - bank.row,
        "noise_fast_log": bank.fast_log.value - bank.row,
        "noise_fast_prec": bank.fast_log.prec - bank.row,
        "filter_fast_effect": bank.fast_log.effect - bank.row,
        "noise_fading_log": bank.fading_log.value - bank.row,
        "noise_fading_prec": bank.fading_log.prec - bank.row,
        "filter_fading_effect": bank.fading_log.effect - bank.row,
        "filter_level_slope": bank.level_slope - bank.row,
        "filter_level_prec": bank.level_prec - bank.row,
        "normal_share": bank.normal_share - bank.row,
        "season_wave": bank.season_wave - bank.row,
        "season_wave_prec": bank.season_wave_prec - bank.row,
        "season_log": bank.season_log - bank.row,
        "season_shift": bank.season_shift - bank.row,
        "season_shift_var": bank.season_shift_var - bank.row,
        "season_sums": bank.season_sums - bank.row,
        "rate_share": bank.rate_share - bank.row,
        "rated_share": bank.rated_share - bank.row,
        "walk_failures": bank.failures - bank.row,
        "walk_strikes": bank.strikes - bank.row,
        "walk_mean": bank.m - bank.row,
        "walk_cov": bank.S - bank.row,
        "warm_x": bank.warm_x - bank.row,
        "warm_y": bank.warm_y - bank.row,
    }, bank.settings - bank.constants, bank.newest + LANES - step.scratch
