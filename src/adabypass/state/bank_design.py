"""The filters of AutoBypass's bank: what each assumes about the noise and the drift of the weights.

docs/decisions/0004 explains each number.
"""

from enum import IntEnum
from functools import cache, lru_cache
from math import exp, isfinite, log
from numbers import Real
from typing import Any, NamedTuple

from adabypass.errors import ParameterError
from adabypass.numerics.noise import Family, unit_var
from adabypass.state.bank_table import LevelLaw, Setting
from adabypass.validation import as_tuple


class DriftKind(IntEnum):
    """Which of a filter's weights drift, and about which point."""

    FIXED = 0
    """Level and slopes drift independently about the centre of the features in the warm-up."""
    ANCHORED = 1
    """Level and slopes drift independently about the running mean of the features."""
    LEVEL = 2
    """Only the level drifts; the slopes are constant."""
    DIFFERENCED = 3
    """Level and slopes drift about the newest observation, which they fit exactly: a regression in differences.

    Without an intercept the slopes move until they fit it."""


class NoiseModel(NamedTuple):
    """Noise that a filter assumes, and how fast its scale adapts."""

    family: Family
    slow_rate: float
    """Learning rate of the slow component of the log noise scale."""
    fast_rate: float
    """Initial learning rate of the fast component of the log noise scale."""
    fast_decay: float
    """Initial factor by which the fast component decays at each step."""
    level_law: LevelLaw
    max_slope: float
    """Maximum size of a normalised slope: an outlier moves the log noise scale by at most this times its rate."""


class Drift(NamedTuple):
    """How the weights of a filter drift."""

    log_var: float
    """Log of the variance of a step, in units of the squared noise scale."""
    kind: DriftKind
    jump_log: float | None = None
    """Log of the variance of a jump, which happens after several consecutive outliers; None without jumps."""

    @property
    def reported_log(self) -> float:
        """Log of the variance of a step, as reported; for a regression in differences, `DIFFERENCED_LOG`."""
        return DIFFERENCED_LOG if self.kind is DriftKind.DIFFERENCED else self.log_var

    @property
    def fastest_log(self) -> float:
        """Log of the variance of a jump if there are jumps, otherwise of a step."""
        return self.reported_log if self.jump_log is None else self.jump_log


NOISE_MODELS = (
    NoiseModel(Family.FLEXIBLE, 0.002, 0.05, 0.9, LevelLaw.LINEAR, max_slope=3.0),
    NoiseModel(Family.INSENSITIVE, 0.06, 0.03, 0.9, LevelLaw.NONE, max_slope=3.0),
    NoiseModel(Family.MODERATE, 0.005, 0.1, 0.96, LevelLaw.EXPONENTIAL, max_slope=3.0),
    NoiseModel(Family.HEAVY, 0.002, 0.05, 0.85, LevelLaw.EXPONENTIAL, max_slope=3.0),
    NoiseModel(Family.GAUSSIAN, 0.002, 0.0, 0.0, LevelLaw.NONE, max_slope=10.0),
)
"""Noise models of the bank of y. Each adapts the rate and decay of its fast component, unless these are 0.

Those of one family stand together, flexible noise first. There is room for 8: `LANES` of numerics/c/simd_table.h."""
TRANSFORMED_NOISE_MODELS = tuple(
    each._replace(level_law=min(each.level_law, LevelLaw.EXPONENTIAL))
    for each in NOISE_MODELS
    if each.family in (Family.FLEXIBLE, Family.GAUSSIAN)
)
"""Noise models of the banks of the log and the square root of y. The other families hardly improve forecasts
there, and neither does a scale that is linear in a log, which has no natural origin."""
DIFFERENCED_LOG = 3.5
"""Log of the drift variance that is reported for a regression in differences, whatever the drift of its slopes."""
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
"""Drift of each random walk of the weights: one for each lane of compiled code."""
DRIFTS_WITHOUT_LEVEL = (
    *(drift for drift in DRIFTS if drift.kind in (DriftKind.ANCHORED, DriftKind.FIXED)),
    Drift(-3.5, DriftKind.ANCHORED),
    Drift(0.0, DriftKind.ANCHORED),
    Drift(3.5, DriftKind.FIXED),
    Drift(-18.0, DriftKind.DIFFERENCED),
)
"""Drifts of a model without an intercept, where only the slopes can follow a jump of the level."""
IN_PLACE_OF_DIFFERENCES = (Drift(3.5, DriftKind.LEVEL), Drift(0.0, DriftKind.ANCHORED))
IN_PLACE_WITHOUT_LEVEL = (Drift(0.0, DriftKind.FIXED),)
"""Drifts that replace those in differences where covariances are diagonal: a diagonal covariance cannot represent
weights that jointly fit an observation. There are equally many of both."""

DRIFT_LOGS = tuple(sorted({drift.reported_log for drift in (*DRIFTS, *DRIFTS_WITHOUT_LEVEL)}))
"""Logs of the different drift rates, sorted."""
DRIFT_ODDS = 0.75
"""Ratio of the prior shares of two drifts whose logs differ by `DRIFT_STEP`, the faster over the slower."""
DRIFT_STEP = 3.5
"""Difference of log drift variances to which `DRIFT_ODDS` belongs."""
LIKELIEST_DRIFT_LOG = -14.0
"""Log drift variance below which all drifts have the same prior share."""


def _start_var(family: Family) -> float:
    """Return `Setting.noise_var`."""
    return 0.0 if family is Family.INSENSITIVE else unit_var(family, epsilon=0.0)


def _log_sd(family: Family) -> float:
    """Return `Setting.noise_log_sd`."""
    return 0.0 if family in (Family.INSENSITIVE, Family.FLEXIBLE) else 0.5 * log(_start_var(family))


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
    """Return the settings of every filter, grouped by the family of its noise: flexible noise comes first."""
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
            noise_log_sd=_log_sd(noise.family),
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
            max_slope=noise.max_slope,
            prior_share=odd / total,
        )
        for noise in noise_models
        for drift, odd in zip(drifts, odds, strict=True)
    )


@lru_cache(maxsize=8)
def shared(filters: tuple[Setting, ...], shares: tuple[float, ...]) -> tuple[Setting, ...]:
    """Return the settings of every filter with its prior share replaced."""
    return tuple(each._replace(prior_share=share) for each, share in zip(filters, shares, strict=True))


def check_shares(shares: Any, n_filters: int) -> tuple[float, ...]:
    """Check prior shares, and normalise them to the sum 1."""
    given = as_tuple(shares)
    if given is None or len(given) != n_filters or not all(_is_positive(each) for each in given):
        raise ParameterError(f"prior_shares must be {n_filters} numbers above 0, one for each filter.")
    total = sum(float(each) for each in given)
    if not isfinite(total):
        raise ParameterError("prior_shares must be finite.")
    is_normal = abs(total - 1.0) < 1e-12  # so that saved shares are restored exactly
    return tuple(float(each) if is_normal else float(each) / total for each in given)


def _is_positive(share: Any) -> bool:
    return isinstance(share, Real) and not isinstance(share, bool) and bool(float(share) > 0.0)
