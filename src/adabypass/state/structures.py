"""The structures of the automatic forecaster: what each filter assumes of a series.

docs/decisions/0010 explains each number.
"""

from functools import cache
from typing import NamedTuple

LEVEL_GAINS = (0.05, 0.2, 0.5, 1.0)
"""Share of a surprise that goes to the level, in the long run: from a level that hardly moves to a random walk."""
MIN_NOISE = 0.001
"""Variance of the noise beside a random walk, in units of the variance of a one-step error."""
DAMPING = 0.9
"""Share of a damped slope that is left a step later."""
DAMPED_SLOPE_GAIN = 0.1
"""Standard deviation of a step of a damped slope, over that of a step of the level."""
SEASON_STEP = 0.03
"""Standard deviation of a step of a harmonic's weight, in units of the one-step error."""
LAG_LEVEL_VAR = 1e-6
LAG_WEIGHT_VAR = 1e-8
"""Variances of a step of the intercept and of the weights of a regression on lags."""
EXOG_STEP_VAR = 1e-5
"""Variance of a step of the weight of an exogenous column of unit scale."""
LEVEL_PRIOR_VAR = 1.0
SLOPE_PRIOR_VAR = 0.1
SEASON_PRIOR_VAR = 1.0
LAG_PRIOR_VAR = 0.25
EXOG_PRIOR_VAR = 100.0
"""Variances before anything is learned, in units of the variance of a one-step error."""
MIN_DRIFT_SHARE = 1e-7
"""Share of the prior's variance by which every number of a state drifts at least, so that no filter stops learning."""
SCALE_DISCOUNT = 0.97
"""Share of its past that the scale of the noise remembers a step later."""
PRIOR_DOF = 2.0
"""Degrees of freedom of the scale before anything is learned, when its mean is the unit of the series."""
MAX_SURPRISE = 6.0
"""A squared error counts for no more than this many variances in the scale of the noise."""
EVIDENCE_POWER = 0.5
EVIDENCE_DISCOUNT = 0.994
"""Each log score is multiplied by the first; the sum of those before by the second."""
POOL_DISCOUNT = 0.99
"""By this where the structures together are weighed against AutoBypass models."""
HORIZONS = (4, 16)
"""Steps ahead at which forecasts are judged as well: powers of the first one. A new forecast is made when the one
before has been judged."""
HORIZON_PRIOR_DOF = 10.0
"""Weight of the scale one step ahead in that at a horizon, in squared errors seen at the horizon."""
HORIZON_PRIOR_COUNT = 100.0
"""Weight of the evidence at the horizon before in that at a horizon, in forecasts judged there."""
MIN_EVIDENCE = -50.0
"""No log score counts for less than this below the best one."""
N_UNCOUNTED = 3
"""Number of first observations that do not count as evidence."""
N_START = 12
"""Number of first observations whose mean absolute difference is the unit of a series."""
ZERO_SHARE_FROM = 0.2
"""From this share of zeros on, in the discounted past, 0 has a probability of its own."""
SEASON_FROM = 1.5
"""Number of periods after which a season has a share in the forecast."""
LAGS_FROM = 5
"""Observations beyond its longest lag after which a regression has a share in the forecast."""
REGRESSION_LAGS = ((1,), (1, 2, 3, 4, 5, 6))
"""Lags of the AutoBypass models in the forecast one step ahead; with a season, seasonal lags take the place of the
second."""
REGRESSION_FROM = 5
"""Observations for each of its weights after which such a model has a share in the forecast."""
MAX_UNKNOWN = 32
"""Missing values among the lags of such a model whose covariance is kept; older ones are taken as known."""
RANGES_BEYOND = 2.0
"""No mean of a structure lies beyond the values seen by more than this many times their range."""
MAX_LAG_SPREAD = 3.0
"""The standard deviation of a regression on lags grows at most to this times that of a random walk, or to
`RANGES_BEYOND` ranges."""
MAX_LOG_SCALE = 2.0
MIN_LOG_DOF = 5.0
"""Largest scale, and fewest degrees of freedom, of the forecast of a log: beyond them its quantiles are out of all
proportion."""
MAX_ZERO_SHARE = 0.999
"""Largest probability of an exact 0: then the mean lies within the central interval of 99.9 %."""
GROSS_ERROR = 5.0
"""Standard deviations beyond which an error is gross."""
MIN_SHOCK_DOF = 8.0
"""Degrees of freedom of the scale of the noise from which on an error can be gross."""
MIN_ROBUST_GAIN, MAX_JUMPING_GAIN = 0.2, 0.5
"""A level of a smaller gain hardly moves with one value, and one of a larger gain by nearly all of it: they have no
robust twin, and no jumping one."""
FARTHEST = 1e6
"""A value this many units from the first one starts the forecaster anew."""
MAX_OBSERVATION = 1e290
"""Observations are kept within plus or minus this."""
MAX_STATE_VAR = 1e12
"""A filter that knows less than this starts anew."""
MIN_STATE_VAR = 1e-14
MIN_SCALE_VAR = 1e-20
"""Least variance of a number of the state, and least squared scale of the noise, in units of the series."""
MAX_LAG = 400
"""Periods beyond it have harmonics, but no lags."""
MAX_PROFILE = 1500
"""Periods beyond it have no profile."""
PROFILE_RATE = 0.1
"""Share of a surprise that goes to the number of its position in the profile of one period."""
DOUBLE_PROFILE_RATES = (0.2, 0.3)
"""Those of two periods at once, the shorter one first."""
PROFILE_LAGS = (1, 2)
"""Lags of the regressions on what a profile leaves."""
MANY_HARMONICS, FEW_HARMONICS, LONG_PERIOD = 8, 4, 48
"""Harmonics of a period up to, and beyond, the last number."""
SMOOTH_HARMONICS = 2
"""Those of a smooth season."""
MAX_LAGS = 6
MIN_IMPULSE_STEPS, IMPULSE_STEPS_PER_LAG = 60, 6
"""An impulse in a regression on lags is followed for at least this many steps, and this many times the longest lag."""


class Profile(NamedTuple):
    """A number for each position in a period, or in each of two, the shorter one first."""

    periods: tuple[int, ...]
    rates: tuple[float, ...]
    """Share of a surprise that goes to the number of its position."""

    @property
    def length(self) -> int:
        """Number of steps after which every position has been seen."""
        return max(self.periods)


class Structure(NamedTuple):
    """What one filter assumes of the series."""

    is_log: bool
    """Whether it forecasts the log of the series."""
    gain: float = 0.0
    """Of the level; 0 of a regression on lags."""
    slope: str = "none"
    """"none", "steady" or "damped"."""
    season: str = "none"
    """"none", "full", "smooth" (the slowest waves of each period) or "short" (the shortest of several periods)."""
    lags: tuple[int, ...] = ()
    lag_prior: tuple[float, ...] = ()
    """Expected weights of the lags, before anything is learned."""
    difference: bool = False
    """Whether the lags are those of the differences."""
    shock: str = "follows"
    """What it does at a gross error: it "follows" as at any other, "ignores" it, or "jumps" by all of it."""
    profile: Profile | None = None
    """What is subtracted from the series before it is regressed on its lags, and added to forecasts."""

    @property
    def n_values(self) -> int:
        """Number of past values that it needs."""
        return max(self.lags, default=0) + int(self.difference)

    @property
    def has_season(self) -> bool:
        """Whether there are waves among the regressors."""
        return self.season != "none"

    @property
    def kind(self) -> str:
        """What it is, in words."""
        if self.lags:
            name = f"lags {', '.join(map(str, self.lags))}" + " of differences" * self.difference
        else:
            name = (
                {"ignores": "robust ", "jumps": "jumping "}.get(self.shock, "")
                + "level"
                + f" and {self.slope} slope" * (self.slope != "none")
            )
        season = {"none": "", "full": " with season"}.get(self.season, f" with {self.season} season")
        return name + season + " after a profile" * (self.profile is not None) + " of the log" * self.is_log


class Harmonic(NamedTuple):
    """A wave of a season: a cosine and, but for the fastest wave of an even period, a sine."""

    period: float
    order: int

    @property
    def has_sine(self) -> bool:
        """Whether the sine differs from 0 somewhere."""
        return 2 * self.order != self.period


@cache
def harmonics(periods: tuple[float, ...]) -> tuple[Harmonic, ...]:
    """Return the waves of these periods; those that a shorter period has already are left out.

    They are in an order in which the waves of every kind of season stand side by side.
    """
    found: list[Harmonic] = []
    for period in sorted(periods):
        most = MANY_HARMONICS if period <= LONG_PERIOD else FEW_HARMONICS
        for order in range(1, min(int(period // 2), most) + 1):
            if all(abs(order / period - wave.order / wave.period) > 1e-12 for wave in found):
                found.append(Harmonic(period, order))
    return tuple(sorted(found, key=lambda wave: _place(wave, periods)))


def _place(wave: Harmonic, periods: tuple[float, ...]) -> int:
    """Return where a wave stands: fast and slow ones of the shortest of several periods, slow ones, fast ones."""
    is_fast = wave.order > SMOOTH_HARMONICS
    return 1 - is_fast if len(periods) > 1 and wave.period == min(periods) else 2 + is_fast


@cache
def season_waves(season: str, periods: tuple[float, ...]) -> range:
    """Return the indices of the `harmonics` that a season has."""
    places = {"none": (), "short": (0, 1), "smooth": (1, 2), "full": (0, 1, 2, 3)}[season]
    chosen = [i for i, wave in enumerate(harmonics(periods)) if _place(wave, periods) in places]
    return range(chosen[0], chosen[-1] + 1) if chosen else range(0)


def _seasons(periods: tuple[float, ...]) -> list[str]:
    """Return the kinds of season, each of waves of its own."""
    kinds = {season_waves(kind, periods): kind for kind in ("short", "smooth", "full", "none")}
    return [kind for kind in ("none", "full", "smooth", "short") if kind in kinds.values()]


def _slopes(season: str) -> tuple[str, ...]:
    """Return the slopes that structures with a season have."""
    return {"full": ("none", "steady"), "smooth": ("none",)}.get(season, ("none", "steady", "damped"))


def _seasonal_lags(periods: tuple[float, ...]) -> list[int]:
    """Return the periods that a lag can have."""
    return [int(period) for period in sorted(periods) if period == int(period) and period < MAX_LAG]


def regression_lags(periods: tuple[float, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the lags of each AutoBypass model of a series with these periods."""
    shortest, longer = REGRESSION_LAGS
    s = next(iter(_seasonal_lags(periods)), 0)
    return (shortest, (1, 2, s, s + 1) if s > 2 else longer)


def _lag_sets(periods: tuple[float, ...]) -> list[Structure]:
    """Return the regressions on lags, of the series itself."""
    seasons = _seasonal_lags(periods)
    sets = [((1,), (1.0,)), ((1, 2), (1.0, 0.0))]
    if seasons:
        s = seasons[0]
        sets.append(((1, s, s + 1), (0.5, 1.0, -0.5)))
        if s > 2:
            sets.append(((1, 2, s, s + 1), (0.5, 0.0, 1.0, -0.5)))
    if len(seasons) > 1 and seasons[0] > 2:
        s, long = seasons[:2]
        sets.append(((1, 2, s, s + 1, long, long + 1), (0.5, 0.0, 0.5, -0.25, 0.5, -0.25)))
    found = [Structure(False, lags=lags, lag_prior=prior) for lags, prior in sets]
    if periods:
        found.append(Structure(False, season="full", lags=(1, 2), lag_prior=(0.5, 0.0)))
    season = "full" if periods else "none"
    found.append(Structure(False, season=season, lags=(1, 2), lag_prior=(0.0, 0.0), difference=True))
    return found


@cache
def profiles(periods: tuple[float, ...]) -> tuple[Profile, ...]:
    """Return the profiles of a series with these periods: of the longer of the two shortest, and of both."""
    own = [int(period) for period in sorted(periods) if period == int(period) and period <= MAX_PROFILE][:2]
    found = [Profile((own[-1],), (PROFILE_RATE,))] if own else []
    if len(own) == 2:
        found.append(Profile((own[0], own[1]), DOUBLE_PROFILE_RATES))
    return tuple(found)


def _after_profiles(periods: tuple[float, ...]) -> list[Structure]:
    """Return the regressions on what a profile leaves, and on the differences of that."""
    plain = Structure(False, lags=PROFILE_LAGS, lag_prior=(0.5, 0.0))
    changes = Structure(False, lags=PROFILE_LAGS, lag_prior=(0.0, 0.0), difference=True)
    return [each._replace(profile=profile) for profile in profiles(periods) for each in (plain, changes)]


@cache
def structures(periods: tuple[float, ...]) -> tuple[Structure, ...]:
    """Return every structure of a series with these periods: first of the series itself, then of its log."""
    plain = [
        Structure(False, gain, slope, season)
        for gain in LEVEL_GAINS
        for season in _seasons(periods)
        for slope in _slopes(season)
    ]
    doubled = [each for each in plain if each.slope != "damped"]
    plain += [each._replace(shock="ignores") for each in doubled if each.gain >= MIN_ROBUST_GAIN]
    plain += [each._replace(shock="jumps") for each in doubled if each.gain <= MAX_JUMPING_GAIN]
    plain += _lag_sets(periods) + _after_profiles(periods)
    return (*plain, *(each._replace(is_log=True) for each in plain))
