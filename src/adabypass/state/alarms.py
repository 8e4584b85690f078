"""What alarms consist of: the layout of a monitor's memory, and the constants of equations (P.2)-(P.15).

The compiled monitor and its reference read both here.
"""

from math import log

from adabypass.state.layout import Field, Layout, scalars

LEVEL_SHIFTS = (1.0, 2.0, 3.0, -1.0, -2.0, -3.0)
"""Shifts of the level that are bet on, in standard deviations of the forecasts: λ of (P.8)."""
NOISE_RATIOS = (1.7, 3.0, 0.5, 0.3)
"""Ratios of the noise's scale that are bet on: τ of (P.8)."""
N_BETS = len(LEVEL_SHIFTS) + len(NOISE_RATIOS)
LEVEL_SHARE = 1.0 / 18.0
"""Share of each bet on a level; together they have a third, as have louder and quieter noise."""
NOISE_SHARE = 1.0 / 6.0
"""Share of each bet on a scale of the noise."""
MAX_EVIDENCE_DEVIATE = 3.5
"""Deviates are clipped there, so that no single value raises an alarm of change."""
SCALE_MEMORY = 50.0
"""Rows over which the usual scale, and the usual drift, are averaged."""
MAX_LOG_RATIO = log(2.0)
"""How far a deviate in units of the usual scale may be from that in units of the forecast, as a log ratio.

With a log of 10, an outlier of 30 standard deviations was taken for a change in half of the series instead of a
seventh: the model believes for a row that the level has moved.
"""
N_WARM_UP = 20.0
"""Rows during which the usual scale can only grow: models settle their units then."""
TAIL_PRIOR = 1.0
"""Values with a surprisal of 1, as calibrated forecasts have on average, that count beforehand on each side."""
MAX_SURPRISAL = 10.0
"""Surprisals above it count as this, so that one value does not spoil the record."""
REVIEW_ROWS = 30.0
"""Rows after an alarm, when what changed is named again by what the model has learned since."""
REVIEW_DRIFT_ROWS = 10.0
"""Rows, the first ones, over which the drift is averaged for that."""
REVIEW_ERROR_ROWS = 20.0
"""Rows, the last ones, over which errors are averaged."""
MAX_LOG_FACTOR = 100.0
"""Limit of the log ratio of two scales whose exponential is taken."""
MAX_REVIEW_ERROR = 10.0
"""Errors, in units of the usual scale before the alarm, are clipped there, so that an outlier is no noise."""
MIN_NOISE_ERROR = 1.35
"""Mean size of these errors from which on the noise has changed: a normal one of the scale before has 0.8.

Of models that follow a jump of the level by 3 to 50 standard deviations, 1 % have more; after a noise times 3, 2 %
have less. What the model believes of the noise does not tell: a jump raises that for longer than 30 rows.
"""
MAX_NOISE_BIAS = 2.0
"""Bias of these errors, by (P.15), beyond which they lie on one side, as those about a slope do."""
MAX_LEVEL_BIAS = 1.3
"""Bias beyond which a level would still be moving."""
MIN_DRIFT_LOG = 9.0
"""Rise of the log drift with which a model follows a level that jumped; after a slope that jumped it is smaller."""
MIN_DRIFT_LOG_OF_LEVEL = 7.0
"""The same for what looked like a level at the alarm."""
N_LARGEST = 8
"""Largest errors that are remembered."""
TAIL_POWER = 3.0
"""Power of the tail beyond them: the least, in whole numbers, for which errors have a variance."""
MIN_EXPECTED = 0.05
"""Flags expected among the past rows from which on a row can be flagged."""


def _bets(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name, lambda **_: (N_BETS,)) for name in names)


LAYOUT = Layout(
    (
        *scalars(
            # Rows given, the missing ones too; rows with a value since the monitor started afresh.
            "n_rows", "n_fresh",
            # The usual log scale, and the usual log drift, if it is known.
            "usual_scale", "usual_drift", "n_drift",
            # Values above, below, and in the middle of their forecasts; sums of surprisals in units of the usual scale,
            # and in units of the forecast.
            "n_above", "n_below", "n_middle", "sum_above", "sum_below", "own_sum_above", "own_sum_below",
            # Errors behind the largest ones.
            "n_errors",
            # The newest change: row of its alarm, kind, onset, mean and log scale of its deviates; the usual log scale
            # and log drift before it; the errors since in units of that scale, their sizes and their squares, added up,
            # and what the log drift rose by.
            "newest_row", "newest_kind", "newest_onset", "newest_mean", "newest_spread", "scale_before", "drift_before",
            "error_sum", "error_size", "error_squares", "n_reviewed", "drift_rise", "n_drift_rise",
        ),
        # Log evidence of each bet, the row where it began, and sums of the deviates and their squares from there on.
        *_bets("evidence", "onset", "sum", "sum_squares"),
        Field("largest", lambda **_: (N_LARGEST,)),
    )
)  # fmt: skip
SIZE = LAYOUT.size()
