"""Random walks of unknown variance, one for each phase of a season: the models behind the baselines.

Each value is the one a period before, plus a drift (0, or learned), plus Gaussian noise: y_t = y_{t-m} + c + e_t. With
the reference prior p(c, σ²) ∝ 1/σ² every forecast, however many steps ahead, is a Student's t: see docs/equations.md.
A walk over k periods without an observation adds up k increments; the equations below weigh it so.
"""

from math import inf, nan, sqrt
from typing import NamedTuple

import numpy as np

from adabypass.distributions.normal import MAX_SCALE, StudentT
from adabypass.errors import StateError
from adabypass.numerics.limits import MAX_COUNT, MAX_VALUE, RESOLUTION
from adabypass.state.layout import Layout, check_count, scalars, vectors
from adabypass.validation import Floats

MIN_DOF = 3
"""Degrees of freedom from which on there are forecasts: with fewer their variance is infinite."""
MIN_SCALE = 1e-150
"""Lower end of a forecast's scale: its square is above 0."""

LAYOUT = Layout(
    (
        *scalars("n_seen", "n_rows", "n_periods", "drift", "sum_sq", "max_abs"),
        *vectors("values", "ages", size="period"),
    )
)
"""The row of a baseline.

`n_seen` increments were seen, over `n_periods` periods together; their mean a period is `drift`, and `sum_sq` their
squared deviations from it. `n_rows` observations came, missing ones too. Of each phase the last value, and how many
periods it will be old when that phase comes next: 0 if there is none yet.
"""
N_SEEN, N_ROWS, N_PERIODS, DRIFT, SUM_SQ, MAX_ABS = (LAYOUT.position(field.name) for field in LAYOUT.fields[:6])
N_SCALARS = 6


class Walks(NamedTuple):
    """Which random walks: one for each phase of the period, with a drift that is learned, or none."""

    period: int
    has_drift: bool

    def new_row(self) -> Floats:
        """Return the row of walks that have seen nothing."""
        return LAYOUT.new_row({}, period=self.period)

    def dof(self, row: Floats) -> float:
        """Return the degrees of freedom that are left to learn the variance from."""
        return float(row[N_SEEN]) - self.has_drift

    def is_ready(self, row: Floats) -> bool:
        """Return whether enough increments were seen to forecast with a finite variance."""
        return self.dof(row) >= MIN_DOF

    def update(self, row: Floats, y: float) -> None:
        """Learn the next observation in place; nan if it is missing."""
        phase = N_SCALARS + int(row[N_ROWS]) % self.period
        row[N_ROWS] += 1.0
        age = float(row[phase + self.period])
        if y != y:  # noqa: PLR0124  (nan)
            row[phase + self.period] += age > 0.0
            return
        if age > 0.0:
            self._learn(row, y - float(row[phase]), age)
        row[phase], row[phase + self.period] = y, 1.0
        row[MAX_ABS] = max(float(row[MAX_ABS]), abs(y))

    def _learn(self, row: Floats, increment: float, age: float) -> None:
        """Learn the increment over `age` periods: normal with mean c `age` and variance σ² `age`."""
        total = float(row[N_PERIODS]) + age
        error = min(max(increment / age - float(row[DRIFT]), -MAX_VALUE), MAX_VALUE)
        share = age / total if self.has_drift else 0.0
        row[DRIFT] += share * error  # (L.2)
        row[SUM_SQ] = min(float(row[SUM_SQ]) + error * (error * (age * (1.0 - share))), MAX_VALUE)  # (L.3)
        row[N_PERIODS] = total
        row[N_SEEN] += 1.0

    def predict(self, row: Floats) -> tuple[float, float, float]:
        """Return mean, scale and degrees of freedom of the next observation; the row is ready."""
        phase = N_SCALARS + int(row[N_ROWS]) % self.period
        age = float(row[phase + self.period])
        if age == 0.0:
            return nan, inf, self.dof(row)
        steps = age + age * age / float(row[N_PERIODS]) if self.has_drift else age  # (L.4)
        mean = min(max(float(row[phase]) + age * float(row[DRIFT]), -MAX_VALUE), MAX_VALUE)
        return mean, min(self.noise_scale(row) * sqrt(steps), MAX_SCALE), self.dof(row)

    def locations(self, row: Floats, horizon: int) -> tuple[Floats, Floats]:
        """Return, for each step ahead, the last value of its phase and how many periods it is then old; 0 if none."""
        steps = np.arange(horizon)
        phases = (int(row[N_ROWS]) + steps) % self.period
        values, ages = row[N_SCALARS:][phases], row[N_SCALARS + self.period :][phases]
        return values, np.where(ages > 0.0, ages + steps // self.period, 0.0)

    def noise_scale(self, row: Floats) -> float:
        """Return the scale of an increment; above 0 even if all were equal."""
        scale = sqrt(float(row[SUM_SQ]) / self.dof(row))
        return max(scale, RESOLUTION * float(row[MAX_ABS]), MIN_SCALE)

    def forecast(self, row: Floats, horizon: int) -> StudentT:
        """Return the forecasts 1 to `horizon` steps ahead; the row is ready."""
        values, ages = self.locations(row, horizon)
        is_known = ages > 0.0
        steps = ages + ages * ages / row[N_PERIODS] if self.has_drift else ages  # (L.4)
        with np.errstate(over="ignore"):
            mean = np.clip(values + ages * row[DRIFT], -MAX_VALUE, MAX_VALUE)
            scale = np.minimum(self.noise_scale(row) * np.sqrt(steps), MAX_SCALE)
        return StudentT(np.where(is_known, mean, nan), np.where(is_known, scale, inf), np.full(horizon, self.dof(row)))

    def paths(self, row: Floats, horizon: int, n_paths: int, rng: np.random.Generator) -> Floats:
        """Draw futures: variance and drift first, then the walks; shape (n_paths, horizon), nan where none is known."""
        dof = self.dof(row)
        scale = self.noise_scale(row) * np.sqrt(dof / rng.chisquare(dof, (n_paths, 1)))
        drift = np.full((n_paths, 1), row[DRIFT])
        if self.has_drift:
            drift = drift + scale * rng.normal(size=(n_paths, 1)) / sqrt(float(row[N_PERIODS]))
        values, ages = self.locations(row, horizon)
        drawn = np.empty((n_paths, horizon))
        for at in range(0, horizon, self.period):
            stop = min(at + self.period, horizon)
            before = values[at:stop] if at == 0 else drawn[:, at - self.period : stop - self.period]
            gap = ages[at:stop] if at == 0 else np.ones(stop - at)
            noise = scale * np.sqrt(gap) * rng.normal(size=(n_paths, stop - at))
            with np.errstate(over="ignore"):
                drawn[:, at:stop] = np.clip(before + drift * gap + noise, -MAX_VALUE, MAX_VALUE)
        drawn[:, ages == 0.0] = nan
        return drawn

    def check_row(self, row: Floats) -> None:
        """Check a row that was saved."""
        if not np.isfinite(row).all():
            raise StateError("the row holds numbers that are not finite.")
        for position, name in ((N_SEEN, "the number of increments"), (N_ROWS, "the number of observations")):
            check_count(float(row[position]), name, MAX_COUNT)
        if row[SUM_SQ] < 0.0 or row[N_PERIODS] < row[N_SEEN] or (row[N_SCALARS + self.period :] < 0.0).any():
            raise StateError("the row holds a negative sum of squares, or counts that do not fit together.")
