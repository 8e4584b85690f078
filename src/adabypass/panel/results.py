"""What a panel answers: the record of many series, and their forecasts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adabypass.data import frames
from adabypass.distributions.predictive import Predictive
from adabypass.results.columns import column_names
from adabypass.validation import Floats

Id = str | int
MEDIAN = 0.5


class PanelTrace:
    """The record of observations of many series: each forecast made before its observation was seen.

    The arrays have the shape of the observations: (n,) for observations that came one by one, (n_series, n_steps) for a
    rectangle of them. They are nan where no forecast could be made yet.
    """

    def __init__(self, ids: Sequence[Id], y: Floats, seen: Floats, predictive: Predictive) -> None:
        self.ids = ids
        """The series: one for each observation, or for each row of the rectangle."""
        self.y = y
        """What was observed; nan where nothing was."""
        self.mean: Floats = seen[:, 0].reshape(y.shape)
        """Expected value of each observation, before it was seen."""
        self.var: Floats = seen[:, 1].reshape(y.shape)
        """Variance of each forecast; nan of a point."""
        self.log_score: Floats = seen[:, 2].reshape(y.shape)
        """Log density of each observation under its forecast."""
        self.predictive = predictive
        """The forecasts, in the order of the flattened arrays."""

    @property
    def sd(self) -> Floats:
        """Standard deviation of each forecast."""
        return np.asarray(np.sqrt(self.var))

    def __len__(self) -> int:
        return self.y.size

    def __repr__(self) -> str:
        return f"PanelTrace({self.y.size} observations of {len(set(self.ids))} series)"


class PanelForecast:
    """Forecasts of many series, many steps ahead."""

    def __init__(
        self,
        ids: Sequence[Id],
        mean: Floats,
        sd: Floats | None,
        intervals: Mapping[float, tuple[Floats, Floats]],
        quantiles: Mapping[float, Floats],
    ) -> None:
        self.ids = ids
        self.mean = mean
        """Expected values, shape (n_series, horizon); nan where no forecast could be made yet."""
        self.sd = sd
        """Standard deviations; None of points."""
        self.intervals = intervals
        """Bounds of the intervals, by their level."""
        self.quantiles = quantiles
        """The median and further quantiles, by their probability; none of points."""

    @property
    def horizon(self) -> int:
        """Number of steps ahead."""
        return int(self.mean.shape[1])

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"PanelForecast({len(self)} series, {self.horizon} steps)"

    def columns(self) -> dict[str, Floats]:
        """Return the columns of a table, one series after another: see `adabypass.results.columns`."""
        values = [self.mean]
        others = [q for q in self.quantiles if q != MEDIAN]
        if self.sd is not None:
            bounds = [bound for both in self.intervals.values() for bound in both]
            values += [self.quantiles[MEDIAN], self.sd, *bounds, *(self.quantiles[q] for q in others)]
        names = column_names(list(self.intervals), others, is_point=self.sd is None)
        return {name: value.reshape(-1) for name, value in zip(names, values, strict=True)}

    def to_frame(self, backend: frames.Backend = "pandas") -> Any:
        """Return a data frame: `unique_id`, `step`, and the columns above.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
        """
        steps = np.tile(np.arange(1, self.horizon + 1), len(self))
        ids = np.repeat(np.array(self.ids), self.horizon)
        return frames.make({"unique_id": ids, "step": steps, **self.columns()}, backend)
