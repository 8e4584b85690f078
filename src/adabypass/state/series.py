"""The spec of a forecaster with lags, and the layout of its row."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from adabypass.errors import StateError
from adabypass.numerics.limits import MAX_UNKNOWN
from adabypass.state.layout import Layout, check_count, scalars, symmetric_matrices, triangle, unpack, vectors
from adabypass.state.past import Design, Past
from adabypass.state.spec import Spec
from adabypass.validation import Floats

Missing = Literal["raise", "mean", "last"]

LAYOUT = Layout(
    (
        *scalars("n_filled", "max_abs", "n_unknown"),
        *vectors("values", size="n_values"),
        *vectors("unknown_positions", size="capacity"),
        *symmetric_matrices("unknown_cov", size="capacity"),
        *vectors("exog_mean", "exog_last", "exog_count", size="n_exog"),
        *vectors("horizon_time", "horizon_count", "horizon_dof", size="n_horizons"),
        *vectors("horizon_evidence", "horizon_square_sum", "pending_mean", size="n_judged"),
        *vectors("model", size="model_size"),
    )
)
"""Layout of the row of a forecaster.

`n_filled` is the number of known `values`, which are newest first; `max_abs` is the largest absolute observation.
`n_unknown` observations among the values are missing: `unknown_positions` lists them, oldest first, and `unknown_cov`
is their covariance. `exog_mean`, `exog_last` and `exog_count` are the mean, the last value and the number of values of
each exogenous column. For each horizon at which drift rates are scored, `horizon_time` is the number of steps until its
forecast is scored, 0 if there is none; `horizon_count` and `horizon_dof` are the discounted number of scored forecasts
and their degrees of freedom. For each horizon and drift rate, `horizon_evidence` is the log evidence,
`horizon_square_sum` the discounted sum of squared errors, and `pending_mean` the forecast that is not yet scored.
`model` is the row of the regressor.
"""

HORIZONS = (8, 64)
"""Horizons at which the drift rates of a bank are scored."""
MAX_JUDGED_LAGS = 16
"""Maximum number of lags with which drift rates are scored several steps ahead; with more, that would take longer than
an update."""
EVIDENCE_DISCOUNT = 0.99
"""Factor by which the evidence is discounted at each scored forecast. Constants that drift rates and structures share
at their horizons are in `structures`."""
MIN_SQUARES = 3.0
"""Minimum discounted number of squared errors from which on forecasts count as evidence."""
MIN_SHARE = 1e-12
"""Minimum share of a drift rate one step ahead, where it is used as a prior several steps ahead."""


@dataclass(frozen=True)
class SeriesSpec:
    """A regressor, the features it is given, and how missing exogenous values are filled."""

    model: Spec
    design: Design
    missing: Missing = "raise"
    is_judged: bool = True
    """Whether drift rates are scored several steps ahead; if not, the series is forecast one step ahead only."""
    max_unknown: int = MAX_UNKNOWN
    """Maximum number of unknown values whose covariance is kept."""

    @property
    def capacity(self) -> int:
        """Number of unknown values for whose covariance there is room."""
        return min(self.design.n_values, self.max_unknown)

    def n_features(self, n_exog: int) -> int:
        """Return the number of features of the model."""
        return int(self.design.bias) + len(self.design.lags) + n_exog

    def horizons(self, n_exog: int) -> tuple[int, ...]:
        """Return the horizons at which drift rates are scored: none with a single drift rate, or with exog."""
        can_be = self.model.n_linears > 1 and n_exog == 0 and 0 < len(self.design.lags) <= MAX_JUDGED_LAGS
        return HORIZONS if self.is_judged and can_be else ()

    @cached_property
    def _n_drifts(self) -> int:
        return 1 + max(self.model.drift_groups)

    def dims(self, n_exog: int) -> dict[str, int]:
        """Return the dimensions of a row's fields, by name."""
        n_horizons = len(self.horizons(n_exog))
        return {
            "n_values": self.design.n_values,
            "capacity": self.capacity,
            "n_exog": n_exog,
            "n_horizons": n_horizons,
            "n_judged": n_horizons * self._n_drifts,
            "model_size": self.model.row_size(self.n_features(n_exog)),
        }

    def row_size(self, n_exog: int) -> int:
        """Count the numbers of a row."""
        return LAYOUT.size(**self.dims(n_exog))

    def aligned_at(self, n_exog: int) -> int | None:
        """Return the index in the row to align to a cache line; None if alignment makes no difference."""
        place, _ = LAYOUT.places(**self.dims(n_exog))["model"]
        at = self.model.aligned_at(self.n_features(n_exog))
        return None if at is None else place.start + at

    def new_row(self, n_exog: int) -> Floats:
        """Return the row of an untrained forecaster."""
        row = LAYOUT.new_row({}, **self.dims(n_exog))
        self.model_row(row, n_exog)[:] = self.model.new_row(self.n_features(n_exog))
        return row

    def model_row(self, row: Floats, n_exog: int) -> Floats:
        """Return a view of the regressor's own row."""
        return LAYOUT.view(row, "model", **self.dims(n_exog))

    def shapes(self, n_exog: int) -> list[tuple[str, list[int]]]:
        """Return the name and the shape of every field of a row; those of the model's row begin with "model."."""
        own = LAYOUT.shapes(**self.dims(n_exog))[:-1]
        model = self.model.layout.shapes(**self.model.dims(self.n_features(n_exog)))
        return own + [(f"model.{name}", shape) for name, shape in model]

    def check_row(self, row: Floats, n_exog: int) -> None:
        """Check the counts and positions of a saved row, which compiled code uses as indices."""
        n_values, dims = self.design.n_values, self.dims(n_exog)
        check_count(LAYOUT.scalar(row, "n_filled"), "n_filled", n_values)
        check_count(LAYOUT.scalar(row, "n_unknown"), "n_unknown", self.capacity)
        positions = LAYOUT.view(row, "unknown_positions", **dims)[: int(LAYOUT.scalar(row, "n_unknown"))]
        for position in positions.tolist():
            check_count(position, "a position in the past", n_values - 1)
        if not (np.diff(positions) < 0).all():
            raise StateError("the unknown positions in the row are not in order of time, oldest first.")
        for time, horizon in zip(LAYOUT.view(row, "horizon_time", **dims), self.horizons(n_exog), strict=True):
            check_count(float(time), "horizon_time", horizon)
        for name in ("horizon_count", "horizon_dof", "horizon_square_sum"):
            if not (LAYOUT.view(row, name, **dims) >= 0.0).all():
                raise StateError(f"{name} of the row has a negative value, but must be at least 0.")
        self.model.check_row(self.model_row(row, n_exog), self.n_features(n_exog))

    def past(self, row: Floats, n_exog: int) -> Past:
        """Return copies of the past values and of the covariance of the unknown ones."""
        n_unknown, dims = int(LAYOUT.scalar(row, "n_unknown")), self.dims(n_exog)
        return Past(
            values=LAYOUT.view(row, "values", **dims).copy(),
            unknown=LAYOUT.view(row, "unknown_positions", **dims)[:n_unknown].astype(np.int64),
            cov=unpack(LAYOUT.view(row, "unknown_cov", **dims)[: triangle(n_unknown)]),
            largest=LAYOUT.scalar(row, "max_abs"),
        )
