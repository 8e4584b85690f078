"""Where each number of an AutoBypass model is in its row: of every form that its covariances and targets can have."""

from adabypass.model.bank_design import DRIFT_LOGS
from adabypass.model.row import Field, Layout, scalars, vectors

LEARNED = ("noise_scale", "epsilon", "drift", *(f"drift_share_{index}" for index in range(len(DRIFT_LOGS))))
"""The scalars that say what was learned; the last are the shares of the drift rates."""

BANK_LAYOUT = Layout(
    (
        *scalars("n_seen", "n_warm", "phase", "y_center", "y_scale", "last_y", "n_repeats", "shocks", "log_score"),
        *scalars("y_running_mean", "y_running_var", "season_step", *LEARNED),
        *vectors("x_center", "x_scale", "anchor_center", "anchor_var", "newest_center", "move_var"),
        *vectors("filter_share", "filter_slow", "filter_fast", "filter_epsilon", size="n_filters"),
        *vectors("filter_scale_slope_sq", "filter_epsilon_slope_sq", size="n_filters"),
        *vectors("noise_leverage", "noise_leverage_prec", size="n_noises"),
        *vectors("filter_leverage_effect", size="n_filters"),
        *vectors("noise_fast_log", "noise_fast_prec", size="n_noises"),
        *vectors("filter_fast_effect", size="n_filters"),
        *vectors("noise_fading_log", "noise_fading_prec", size="n_noises"),
        *vectors("filter_fading_effect", size="n_filters"),
        *vectors("filter_level_slope", "filter_level_prec", size="n_filters"),
        *vectors("normal_share", size="n_normals"),
        Field("season_wave", lambda **_: (2,)),
        Field("season_wave_prec", lambda **_: (2,)),
        *vectors("season_log", size="period"),
        *vectors("season_shift", "season_shift_var", size="n_shifts"),
        Field("season_sums", lambda n_shifts, **_: (5 if n_shifts > 0 else 0,)),
        *vectors("rate_share", size="n_rates"),
        Field("rated_share", lambda n_rates, n_filters, **_: (n_rates, n_filters)),
        *vectors("walk_failures", "walk_strikes", size="n_walks"),
        Field("walk_mean", lambda n_walks, n_weights, **_: (n_weights, n_walks)),
        Field("walk_cov", lambda n_walks, n_packed, **_: (n_packed, n_walks)),
        Field("warm_x", lambda n_warm_up, n_features, **_: (n_warm_up, n_features)),
        *vectors("warm_y", size="n_warm_up"),
    )
)
"""For each of `leverage`, `fast_log` and `fading_log`, which a noise model learns, `prec` says how much was seen of
it, and `effect` how the fast part of each of its filters' noise depends on it; there is room for more noise models.
`newest_center` and `move_var` are the features of the newest observation, and the running mean square of their
moves, in standard units. `season_wave` is what a cosine and a sine over the season add to the log of the noise's
scale, `season_log` what each of its steps adds besides; `season_shift` what each adds to the forecast, and
`season_sums` what these have in common (223)-(225). `rated_share` is the share of each filter under each
switching rate; `warm_x` and `warm_y` are the observations of the warm-up, of which there are `n_warm`; the weights
of a walk begin with the intercept, if there is one. Filter k is of walk k modulo their number; `walks_of` returns
what belongs to walks walk by walk."""

N_TARGETS = 3
"""y itself, its log and its root."""
TRANSFORMED = ("log_bank", "root_bank")
TRANSFORMED_LAYOUT = Layout(
    (
        *BANK_LAYOUT.fields,
        Field("target_evidence", lambda **_: (N_TARGETS,)),
        Field("target_unit", lambda n_features, **_: (1 + n_features,)),
        *vectors("before_log", size="n_before_log"),
        *vectors("log_bank", size="n_bank"),
        *vectors("before_root", size="n_before_root"),
        *vectors("root_bank", size="n_bank"),
    )
)
"""That of the bank of y itself, then the evidence for y, its log and its root, and the units of y and of every feature:
(218). The unit of y is 0 before its first value, and -1 once a value was not positive, that of a feature 0 if it is not
transformed, as once it has not kept its sign. Then come the rows of the other two banks, with what aligns them before
each."""

SPARSE_LAYOUT = Layout(
    (
        *BANK_LAYOUT.fields,
        Field("new_log", lambda **_: (2,)),
        *vectors("slope_scale", "slope_count", "slope_square", size="n_slopes"),
        *vectors("drift_sum", size="n_walks"),
        Field("slope_mean", lambda n_slopes, n_walks, **_: (n_slopes, n_walks)),
        Field("slope_var", lambda n_slopes, n_walks, **_: (n_slopes, n_walks)),
    )
)
"""That of a bank without features, whose weights are the intercept's alone, and then the slopes: (183)-(189).

`new_log` is the log of the deviation of new slopes, over that of (183), and how much was seen of it."""
