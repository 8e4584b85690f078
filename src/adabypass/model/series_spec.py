"""What a forecaster is given before it sees data, and the layout of its row."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from adabypass.errors import StateError
from adabypass.model.limits import MOST_UNKNOWN
from adabypass.model.past import Design, Past
from adabypass.model.row import Layout, check_count, scalars, symmetric_matrices, triangle, unpack, vectors
from adabypass.model.spec import Spec
from adabypass.validation import Floats

Missing = Literal["raise", "mean", "last"]

LAYOUT = Layout(
    (
        *scalars("n_filled", "largest_value", "n_unknown"),
        *vectors("values", size="n_values"),
        *vectors("unknown_positions", size="capacity"),
        *symmetric_matrices("unknown_cov", size="capacity"),
        *vectors("exog_mean", "exog_last", "exog_count", size="n_exog"),
        *vectors("model", size="model_size"),
    )
)
"""The row of a forecaster.

`n_filled` of the `values` that lags need are there, newest first. The observations of `n_unknown` of them are missing:
their positions, oldest first, and covariance. Of each exogenous column the mean, the last value, and how many there
were. The model's own row.
"""


@dataclass(frozen=True)
class SeriesSpec:
    """A model, the features it is given, and what becomes of missing exogenous values."""

    model: Spec
    design: Design
    missing: Missing = "raise"

    @property
    def capacity(self) -> int:
        """Most unknown values whose covariance is kept."""
        return min(self.design.n_values, MOST_UNKNOWN)

    def n_features(self, n_exog: int) -> int:
        """Return the number of features of the model."""
        return int(self.design.bias) + len(self.design.lags) + n_exog

    def dims(self, n_exog: int) -> dict[str, int]:
        """Return the dimensions of a row's fields, by name."""
        return {
            "n_values": self.design.n_values,
            "capacity": self.capacity,
            "n_exog": n_exog,
            "model_size": self.model.row_size(self.n_features(n_exog)),
        }

    def row_size(self, n_exog: int) -> int:
        """Count the numbers of a row."""
        return LAYOUT.size(**self.dims(n_exog))

    def aligned_at(self, n_exog: int) -> int | None:
        """Return which number of a row is best kept at the start of a cache line; None if it makes no difference."""
        place, _ = LAYOUT.places(**self.dims(n_exog))["model"]
        at = self.model.aligned_at(self.n_features(n_exog))
        return None if at is None else place.start + at

    def new_row(self, n_exog: int) -> Floats:
        """Return the memory of a forecaster that has seen nothing."""
        row = LAYOUT.new_row({}, **self.dims(n_exog))
        self.model_row(row, n_exog)[:] = self.model.new_row(self.n_features(n_exog))
        return row

    def model_row(self, row: Floats, n_exog: int) -> Floats:
        """Return a view of the model's own row."""
        return LAYOUT.view(row, "model", **self.dims(n_exog))

    def shapes(self, n_exog: int) -> list[tuple[str, list[int]]]:
        """Return the name and the shape of every field of a row; those of the model's row begin with "model."."""
        own = LAYOUT.shapes(**self.dims(n_exog))[:-1]
        model = self.model.layout.shapes(**self.model.dims(self.n_features(n_exog)))
        return own + [(f"model.{name}", shape) for name, shape in model]

    def check_row(self, row: Floats, n_exog: int) -> None:
        """Check the counts and positions of a row that was saved, which compiled code indexes with."""
        n_values, dims = self.design.n_values, self.dims(n_exog)
        check_count(LAYOUT.scalar(row, "n_filled"), "n_filled", n_values)
        check_count(LAYOUT.scalar(row, "n_unknown"), "n_unknown", self.capacity)
        positions = LAYOUT.view(row, "unknown_positions", **dims)[: int(LAYOUT.scalar(row, "n_unknown"))]
        for position in positions.tolist():
            check_count(position, "a position in the past", n_values - 1)
        if not (np.diff(positions) < 0).all():
            raise StateError("the row does not list what is unknown of the past in the order of time.")
        self.model.check_row(self.model_row(row, n_exog), self.n_features(n_exog))

    def past(self, row: Floats, n_exog: int) -> Past:
        """Return copies of the past values and of what is unknown of them."""
        n_unknown, dims = int(LAYOUT.scalar(row, "n_unknown")), self.dims(n_exog)
        return Past(
            values=LAYOUT.view(row, "values", **dims).copy(),
            unknown=LAYOUT.view(row, "unknown_positions", **dims)[:n_unknown].astype(np.int64),
            cov=unpack(LAYOUT.view(row, "unknown_cov", **dims)[: triangle(n_unknown)]),
            largest=LAYOUT.scalar(row, "largest_value"),
        )
