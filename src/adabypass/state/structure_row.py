"""What the automatic forecaster knows before it sees data, and the layout of its row."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adabypass.errors import StateError
from adabypass.numerics.limits import MAX_COUNT, MAX_VALUE
from adabypass.state import structures as design
from adabypass.state.layout import Layout, check_count, scalars, triangle, unpack, vectors
from adabypass.state.structures import Harmonic, Profile, Structure
from adabypass.validation import Floats, Integers

LAYOUT = Layout(
    (
        *scalars("n_seen", "n_steps", "n_start", "n_values", "n_missing", "is_scaled", "is_positive"),
        *scalars("center", "unit", "log_center", "log_unit", "n_zero", "n_counted"),
        *scalars("lowest", "highest", "log_lowest", "is_count"),
        *vectors("start", size="n_start_numbers"),
        *vectors("values", "log_values", size="longest"),
        *vectors("exog_center", "exog_unit", "exog_mean", "exog_last", "exog_count", size="n_exog"),
        *vectors("evidence", "square_sum", "dof", size="n_structures"),
        *vectors("n_shocks", size="n_structures"),
        *vectors("horizon_count", "horizon_dof", size="n_horizons"),
        *vectors("horizon_evidence", "horizon_square_sum", size="n_judged"),
        *vectors("pending_mean", size="n_judged"),
        *vectors("pending_var", size="n_pending_vars"),
        *vectors("profiles", size="n_profile_numbers"),
        *vectors("mean", size="n_means"),
        *vectors("cov", size="n_covs"),
    )
)
"""The row of the automatic forecaster.

Observations seen; steps of time, the missing ones included; observations in `start`, from which units are set; values
that lags can reach; missing ones since the last that was seen; whether units are known; whether every observation was
above 0. Center and unit of the series and of its log; zeros, and observations, each discounted. The lowest and the
highest observation, and the log of the lowest that is above 0 (1e300 before there is one); whether every observation
was a whole number, and none below 0. The first observations with
their exogenous values; past values in units, newest first; of each structure its discounted evidence, sum of squares
and degrees of freedom, and the gross errors since the last value that was none. Of each horizon the forecasts that
were judged and the degrees of freedom, both discounted; of each horizon and structure the evidence and the sum of
squares, and the forecast that is still to be judged: its mean, and its variance over the squared scale of the noise, 0
if there is none. Of each profile its level, the sum of squares and the degrees of freedom of its errors, the values it
has learned, what it leaves of the newest values, newest first, and the number of each position in each period. Of each
structure the mean of its state, and the lower triangle of the covariance. Structures without lags have that
variance and covariance in common with those of the log, and with their robust and jumping twins.
"""

SETTINGS = (
    "is_log", "noise_var", "has_slope", "damping", "season_at", "n_season", "n_lags", "is_difference", "n_values",
    "level_var", "slope_var", "season_var", "lag_var", "exog_var", "shock", "profile",
)  # fmt: skip
"""What compiled code reads of each structure, in this order; variances are of a step."""
N_SETTINGS = len(SETTINGS)
SHOCKS = ("follows", "ignores", "jumps")
"""What structures do at a gross error, in the order of the numbers that compiled code knows them by."""
N_ALIKE = 4
"""Numbers of a record that are those of all structures alike."""
N_PROFILE_VALUES = max(design.PROFILE_LAGS) + 1
"""What a profile leaves of the newest values, newest first."""
PROFILE_HEAD = ("level", "square_sum", "dof", "n_learned")
"""Numbers of a profile in the row, before these values and the number of each position in each period."""


@dataclass(frozen=True)
class StructureSpec:
    """The periods of a series, and the number of its exogenous columns."""

    periods: tuple[float, ...] = ()
    n_exog: int = 0

    @cached_property
    def structures(self) -> tuple[Structure, ...]:
        """What each filter assumes."""
        return design.structures(self.periods)

    @cached_property
    def harmonics(self) -> tuple[Harmonic, ...]:
        """The waves of the season."""
        return design.harmonics(self.periods)

    @cached_property
    def n_season(self) -> int:
        """Number of the weights of the season."""
        return sum(1 + wave.has_sine for wave in self.harmonics)

    def season(self, structure: Structure) -> slice:
        """Return which of the regressors of the season a structure has."""
        waves = design.season_waves(structure.season, self.periods)
        start, stop = (sum(1 + wave.has_sine for wave in self.harmonics[:end]) for end in (waves.start, waves.stop))
        return slice(start, stop)

    def n_waves(self, structure: Structure) -> int:
        """Count the weights of a structure's season."""
        season = self.season(structure)
        return int(season.stop - season.start)

    def n_states(self, structure: Structure) -> int:
        """Count the numbers of a structure's state."""
        return 1 + (structure.slope != "none") + self.n_waves(structure) + self.n_exog + len(structure.lags)

    @cached_property
    def sizes(self) -> Integers:
        """Numbers of every structure's state."""
        return np.array([self.n_states(each) for each in self.structures], dtype=np.intp)

    @cached_property
    def cov_owners(self) -> Integers:
        """Index of the structure whose covariance each has: its own, or that of the first of its twins.

        Without lags, what is regressed on does not depend on the values, so that structures of the log, and those that
        differ in what they do at gross errors, have the same.
        """
        plain = [each._replace(is_log=False, shock="follows") for each in self.structures]
        owners = [k if each.lags else plain.index(each) for k, each in enumerate(plain)]
        return np.array(owners, np.intp)

    @cached_property
    def _covs(self) -> tuple[Integers, int]:
        """Where the covariance of each structure begins in the field `cov`, and how many numbers all take."""
        starts, end = np.zeros(len(self.structures), np.intp), 0
        for k, owner in enumerate(self.cov_owners.tolist()):
            starts[k] = end if owner == k else starts[owner]
            end += triangle(int(self.sizes[k])) if owner == k else 0
        return starts, end

    @cached_property
    def pending_places(self) -> Integers:
        """Index of each structure's variance in `pending_var`, among those of its horizon."""
        owners = self.cov_owners
        return np.searchsorted(np.unique(owners), owners).astype(np.intp)

    @property
    def cov_starts(self) -> Integers:
        """Where the covariance of each structure begins in the field `cov`."""
        return self._covs[0]

    def belief(self, row: Floats, k: int) -> tuple[Floats, Floats]:
        """Return the mean of structure k's state, a view, and its covariance over the squared scale of the noise."""
        start, size, cov = int(self.sizes[:k].sum()), int(self.sizes[k]), int(self.cov_starts[k])
        packed = self.view(row, "cov")[cov : cov + triangle(size)]
        return self.view(row, "mean")[start : start + size], unpack(packed)

    @cached_property
    def profiles(self) -> tuple[tuple[Profile, bool], ...]:
        """The profiles, and whether they are of the log."""
        return tuple(dict.fromkeys((each.profile, each.is_log) for each in self.structures if each.profile))

    @cached_property
    def profile_starts(self) -> Integers:
        """Where each profile begins in the field `profiles`, and where the last one ends."""
        head = len(PROFILE_HEAD) + N_PROFILE_VALUES
        return np.cumsum([0, *(head + sum(profile.periods) for profile, _ in self.profiles)], dtype=np.intp)

    def past(self, row: Floats, k: int) -> Floats:
        """Return the past values that structure k's lags reach, newest first: a view."""
        structure = self.structures[k]
        if structure.profile is None:
            return self.view(row, "log_values" if structure.is_log else "values")
        start = int(self.profile_starts[self.profiles.index((structure.profile, structure.is_log))]) + len(PROFILE_HEAD)
        return self.view(row, "profiles")[start : start + N_PROFILE_VALUES]

    @cached_property
    def profile_settings(self) -> Floats:
        """What compiled code reads of the profiles: whether of the log, periods and rates; 0 for no second."""
        rows = [(is_log, *(*each.periods, 0)[:2], *(*each.rates, 0.0)[:2]) for each, is_log in self.profiles]
        return np.array(rows, dtype=np.float64).reshape(-1, 5)

    @cached_property
    def longest(self) -> int:
        """Number of past values that are kept."""
        return max(each.n_values for each in self.structures)

    @property
    def horizons(self) -> tuple[int, ...]:
        """Steps ahead at which forecasts are judged: none with exogenous columns, whose future is not known."""
        return () if self.n_exog else design.HORIZONS

    @cached_property
    def dims(self) -> dict[str, int]:
        """Dimensions of the row's fields, by name."""
        return {
            "n_start_numbers": design.N_START * (1 + self.n_exog),
            "longest": self.longest,
            "n_exog": self.n_exog,
            "n_structures": len(self.structures),
            "n_horizons": len(self.horizons),
            "n_judged": len(self.horizons) * len(self.structures),
            "n_pending_vars": len(self.horizons) * len(np.unique(self.cov_owners)),
            "n_profile_numbers": int(self.profile_starts[-1]),
            "n_means": int(self.sizes.sum()),
            "n_covs": int(self._covs[1]),
        }

    @cached_property
    def row_size(self) -> int:
        """Count the numbers of a row."""
        return LAYOUT.size(**self.dims)

    @property
    def n_record(self) -> int:
        """Count the numbers that keep a forecast: see `read_records` in state/structure_forecasts.py."""
        return 4 * len(self.structures) + N_ALIKE

    def new_row(self) -> Floats:
        """Return the memory of a forecaster that has seen nothing."""
        return LAYOUT.new_row(
            {
                "is_positive": 1.0, "is_count": 1.0, "unit": 1.0, "log_unit": 1.0,
                "lowest": MAX_VALUE, "highest": -MAX_VALUE, "log_lowest": MAX_VALUE,
            },
            **self.dims,
        )  # fmt: skip

    def shapes(self) -> list[tuple[str, list[int]]]:
        """Return the name and the shape of every field of a row."""
        return LAYOUT.shapes(**self.dims)

    def view(self, row: Floats, name: str) -> Floats:
        """Return a view of a field."""
        return LAYOUT.view(row, name, **self.dims)

    @cached_property
    def settings(self) -> Floats:
        """What compiled code reads of the structures, shape (n_structures, N_SETTINGS)."""
        return np.array([self._setting(each) for each in self.structures], dtype=np.float64)

    def _setting(self, each: Structure) -> tuple[float, ...]:
        gain, is_damped = each.gain, each.slope == "damped"
        least = design.MIN_DRIFT_SHARE
        level = gain**2 if not each.lags else design.LAG_LEVEL_VAR
        slope = (design.DAMPED_SLOPE_GAIN * gain) ** 2 if is_damped else 0.0
        return (
            float(each.is_log), 1.0 if each.lags else max(1.0 - gain, design.MIN_NOISE),
            float(each.slope != "none"), design.DAMPING if is_damped else 1.0, float(self.season(each).start),
            float(self.n_waves(each)), float(len(each.lags)), float(each.difference), float(each.n_values),
            level, max(slope, least * design.SLOPE_PRIOR_VAR),
            least * design.SEASON_PRIOR_VAR if each.lags else design.SEASON_STEP**2,
            design.LAG_WEIGHT_VAR, design.EXOG_STEP_VAR, float(SHOCKS.index(each.shock)),
            float(self.profiles.index((each.profile, each.is_log)) if each.profile else -1),
        )  # fmt: skip

    @cached_property
    def lags(self) -> Integers:
        """The lags of every structure, shape (n_structures, MAX_LAGS); 1 where there are fewer."""
        rows = [[*each.lags, *[1] * (design.MAX_LAGS - len(each.lags))] for each in self.structures]
        return np.array(rows, dtype=np.intp)

    @cached_property
    def lag_priors(self) -> Floats:
        """The expected weights of the lags, shape (n_structures, MAX_LAGS)."""
        rows = [[*each.lag_prior, *[0.0] * (design.MAX_LAGS - len(each.lags))] for each in self.structures]
        return np.array(rows, dtype=np.float64)

    @cached_property
    def waves(self) -> Floats:
        """Period, order and whether there is a sine of every wave, shape (n_harmonics, 3)."""
        rows = [(wave.period, wave.order, wave.has_sine) for wave in self.harmonics]
        return np.array(rows, dtype=np.float64).reshape(-1, 3)

    def check_row(self, row: Floats) -> None:
        """Check the counts of a row that was saved, which compiled code indexes with."""
        limits = {"n_start": design.N_START, "n_values": self.longest, "is_scaled": 1, "is_positive": 1, "is_count": 1}
        for name, most in limits.items():
            check_count(LAYOUT.scalar(row, name), name, most)
        for name in ("n_seen", "n_steps", "n_missing"):
            check_count(LAYOUT.scalar(row, name), name, int(MAX_COUNT))
        if not (LAYOUT.scalar(row, "unit") > 0.0 and LAYOUT.scalar(row, "log_unit") > 0.0):
            raise StateError("the row's units are not above 0.")
        if not (self.view(row, "dof") >= 0.0).all():
            raise StateError("the row has degrees of freedom below 0.")
        for start in self.profile_starts[:-1].tolist():
            numbers = dict(zip(PROFILE_HEAD, self.view(row, "profiles")[start:].tolist(), strict=False))
            check_count(numbers["n_learned"], "n_learned", int(MAX_COUNT))
            if not (numbers["square_sum"] >= 0.0 and numbers["dof"] >= min(numbers["n_learned"], 1.0)):
                raise StateError("the row has a profile whose scale is below 0, or of nothing.")
        for name in ("horizon_count", "horizon_dof", "horizon_square_sum", "pending_var"):
            if not (self.view(row, name) >= 0.0).all():
                raise StateError(f"the row has a {name} below 0.")
