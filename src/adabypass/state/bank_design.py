"""The filters of AutoBypass's bank: what each assumes of the noise and of the weights' drift.

docs/decisions/0004 explains each number.
"""

from enum import IntEnum
from functools import cache
from math import exp, log
from typing import NamedTuple

from adabypass.numerics.noise import FLEXIBLE_NORMALS, NORMALS, Family
from adabypass.state.bank_table import LevelLaw, Setting


class DriftKind(IntEnum):
    """What of a filter's weights drifts."""

    FIXED = 0
    """Level and slopes, independently about the features' centre in the warm-up."""
    ANCHORED = 1
    """Level and slopes, independently about the features' running mean."""
    LEVEL = 2
    """The level alone: the slopes stay what they are."""
    DIFFERENCED = 3
    """Level and slopes, about the newest observation, which they explain exactly: a regression in differences.

    Without an intercept the slopes move until they explain it."""


class NoiseModel(NamedTuple):
    """How a filter of the bank sees the noise, and how fast it lets its scale move."""

    family: Family
    slow_rate: float
    """Rate of the steady part of the log of the scale."""
    fast_rate: float
    """Rate of the part that fades, before anything is learned,"""
    fast_decay: float
    """and the share of it that is left a step later."""
    level_law: LevelLaw
    largest_slope: float
    """Bound of a normalised slope, so that an outlier moves the log of the scale by no more than this many rates."""


class Drift(NamedTuple):
    """How the weights of a filter drift."""

    log_var: float
    """Log of the variance of a step, in units of the noise's scale squared."""
    kind: DriftKind
    jump_log: float | None = None
    """The same of a jump, which is taken for granted when the filter was far off several times in a row."""

    @property
    def reported_log(self) -> float:
        """Log of the variance of a step, as it is reported: of a regression in differences, one that drowns noise."""
        return DIFFERENCED_LOG if self.kind is DriftKind.DIFFERENCED else self.log_var

    @property
    def fastest_log(self) -> float:
        """Log of the variance of the largest step."""
        return self.reported_log if self.jump_log is None else self.jump_log


NOISE_MODELS = (
    NoiseModel(Family.FLEXIBLE, 0.002, 0.05, 0.9, LevelLaw.LINEAR, largest_slope=3.0),
    NoiseModel(Family.INSENSITIVE, 0.06, 0.03, 0.9, LevelLaw.NONE, largest_slope=3.0),
    NoiseModel(Family.MODERATE, 0.005, 0.1, 0.96, LevelLaw.EXPONENTIAL, largest_slope=3.0),
    NoiseModel(Family.HEAVY, 0.002, 0.05, 0.85, LevelLaw.EXPONENTIAL, largest_slope=3.0),
    NoiseModel(Family.GAUSSIAN, 0.002, 0.0, 0.0, LevelLaw.NONE, largest_slope=10.0),
)
"""Each learns from the rates of its fast part that stand here, unless these are 0."""
TRANSFORMED_NOISE_MODELS = tuple(
    each._replace(level_law=min(each.level_law, LevelLaw.EXPONENTIAL))
    for each in NOISE_MODELS
    if each.family in (Family.FLEXIBLE, Family.GAUSSIAN)
)
"""Those of the banks that learn the log and the root of y: the others gain next to nothing there, and so does a scale
that is linear in a log, which has no point from which it is measured."""
DIFFERENCED_LOG = 3.5
"""What counts for the drift of a regression in differences, whatever its slopes do."""
DRIFTS = (
    Drift(-15.0, DriftKind.ANCHORED),
    Drift(-7.0, DriftKind.ANCHORED),
    Drift(-3.5, DriftKind.FIXED),
    Drift(-18.0, DriftKind.ANCHORED, jump_log=3.0),
    Drift(-3.0, DriftKind.LEVEL),
    Drift(-1.0, DriftKind.LEVEL),
    Drift(-8.0, DriftKind.DIFFERENCED),
    Drift(-3.5, DriftKind.DIFFERENCED),
)
"""One for each random walk that weights follow: as many as compiled code has lanes."""
DRIFTS_WITHOUT_LEVEL = (
    *(drift for drift in DRIFTS if drift.kind in (DriftKind.ANCHORED, DriftKind.FIXED)),
    Drift(-3.5, DriftKind.ANCHORED),
    Drift(0.0, DriftKind.ANCHORED),
    Drift(3.5, DriftKind.FIXED),
    Drift(-18.0, DriftKind.DIFFERENCED),
)
"""Without an intercept the slopes are all there is to follow a jump of the level."""
IN_PLACE_OF_DIFFERENCES = (Drift(3.5, DriftKind.LEVEL), Drift(0.0, DriftKind.ANCHORED))
IN_PLACE_WITHOUT_LEVEL = (Drift(0.0, DriftKind.FIXED),)
"""A covariance that is kept as its diagonal cannot say that weights explain an observation together: it has these
drifts in place of those in differences, as many."""

DRIFT_LOGS = tuple(sorted({drift.reported_log for drift in (*DRIFTS, *DRIFTS_WITHOUT_LEVEL)}))
"""The rates, whatever drifts."""
DRIFT_ODDS = 0.75
"""Prior share of a drift over that of one whose log is less by `DRIFT_STEP`,"""
DRIFT_STEP = 3.5
LIKELIEST_DRIFT_LOG = -14.0
"""unless both are slower than this."""


def _start_var(family: Family) -> float:
    if family is Family.FLEXIBLE:
        return FLEXIBLE_NORMALS.var(FLEXIBLE_NORMALS.start)
    return NORMALS[family].var if family in NORMALS else 0.0


@cache
def families(intercept: bool, noise_models: tuple[NoiseModel, ...] = NOISE_MODELS) -> tuple[Family, ...]:
    """Return the family of every filter's noise."""
    return tuple(setting.family for setting in filters(intercept, noise_models=noise_models))


@cache
def n_flexible(intercept: bool, noise_models: tuple[NoiseModel, ...] = NOISE_MODELS) -> int:
    """Return how many filters have flexible noise."""
    return families(intercept, noise_models).count(Family.FLEXIBLE)


@cache
def filters(
    intercept: bool, is_full: bool = True, noise_models: tuple[NoiseModel, ...] = NOISE_MODELS
) -> tuple[Setting, ...]:
    """Return the settings of every filter, sorted by the family of its noise: flexible noise comes first."""
    drifts = DRIFTS if intercept else DRIFTS_WITHOUT_LEVEL
    if not is_full:
        others = IN_PLACE_OF_DIFFERENCES if intercept else IN_PLACE_WITHOUT_LEVEL
        drifts = (*(drift for drift in drifts if drift.kind is not DriftKind.DIFFERENCED), *others)
    steps = [max(0.0, (drift.fastest_log - LIKELIEST_DRIFT_LOG) / DRIFT_STEP) for drift in drifts]
    odds = [DRIFT_ODDS**step for step in steps]
    total = sum(odds) * len(noise_models)
    return tuple(
        Setting(
            family=noise.family,
            noise_var=_start_var(noise.family),
            noise_log_sd=0.5 * log(NORMALS[noise.family].var) if noise.family in NORMALS else 0.0,
            drift_index=DRIFT_LOGS.index(drift.reported_log),
            drift_var=exp(drift.log_var),
            drift_log=max(drift.reported_log, LIKELIEST_DRIFT_LOG),
            jump_var=0.0 if drift.jump_log is None else exp(drift.jump_log),
            slow_rate=noise.slow_rate,
            fast_rate=noise.fast_rate,
            fast_decay=noise.fast_decay,
            anchored=drift.kind is DriftKind.ANCHORED,
            slopes_drift=drift.kind is not DriftKind.LEVEL,
            differenced=drift.kind is DriftKind.DIFFERENCED,
            level_law=noise.level_law,
            largest_slope=noise.largest_slope,
            prior_share=odd / total,
        )
        for noise in noise_models
        for drift, odd in zip(drifts, odds, strict=True)
    )
