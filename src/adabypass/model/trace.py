"""The record of a stream: each forecast made before its observation was seen, and the parameters after it."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from adabypass import door, frames
from adabypass.door import Floats
from adabypass.errors import ShapeError
from adabypass.model.limits import LARGEST
from adabypass.model.predictive import Point, Predictive

LEVELS = (0.5, 0.9, 0.95)


class Scores(Mapping[str, float]):
    """Scores by name, printed as a small table.

    `rmse`, `mad` (median absolute error), `mae`; and of models with a distribution `log_likelihood` (a sum), `crps` (a
    mean), `coverage_50`, `width_50` and likewise at 90 and 95 %: the share of observations within the central
    interval, and its mean width.
    """

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return "\n".join(f"{name:<15}{value:>12.6g}" for name, value in self._values.items())


class Trace:
    """The record of a stream: forecasts before, parameters after each observation.

    Parameters
    ----------
    y : array (n,)
        What was observed; nan where nothing was.
    predictive : Normal, Insensitive, Mixture or Point
        The forecasts, each made before its observation was seen.
    history : mapping of names to arrays (n,)
        The parameters after each observation.
    weights_mean, weights_var : arrays (n, n_features), optional
        The weights after each observation, if they were asked for.
    log_score : array (n,), optional
        Log density of each observation under its forecast, if it is known already.
    """

    def __init__(
        self,
        y: Floats,
        predictive: Predictive,
        history: Mapping[str, Floats],
        *,
        weights_mean: Floats | None = None,
        weights_var: Floats | None = None,
        log_score: Floats | None = None,
    ) -> None:
        self.y = y
        self.predictive = predictive
        self.history = dict(history)
        self.weights_mean = weights_mean
        self.weights_var = weights_var
        if log_score is not None:
            self.log_score = log_score

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        missing = int(np.isnan(self.y).sum())
        return f"Trace({len(self)} observations, {missing} missing; history of {', '.join(self.history) or 'nothing'})"

    @property
    def mean(self) -> Floats:
        """Expected value of each observation, before it was seen."""
        mean: Floats = self.predictive.mean
        return mean

    @property
    def var(self) -> Floats:
        """Variance of each forecast."""
        var: Floats = self.predictive.var
        return var

    @property
    def sd(self) -> Floats:
        """Standard deviation of each forecast."""
        sd: Floats = self.predictive.sd
        return sd

    @cached_property
    def log_score(self) -> Floats:
        """Log density of each observation under its forecast; nan where the observation is missing."""
        log_score: Floats = self.predictive.logpdf(self.y)
        return log_score

    def scores(self, skip: int = 0) -> Scores:
        """Score the forecasts of the observations that were seen, without the first `skip`.

        Returns
        -------
        Scores
            By name: see `Scores`. A point forecast has only the first three.
        """
        skip = door.whole(skip, "skip", 0, len(self))
        seen = np.flatnonzero(~np.isnan(self.y[skip:])) + skip
        if len(seen) == 0:
            raise ShapeError("there is nothing to score: every observation is missing or skipped.")
        y, mean = self.y[seen], self.mean[seen]
        with np.errstate(over="ignore"):
            error = np.minimum(np.abs(y - mean), LARGEST)
        largest = float(error.max()) or 1.0  # so that the squares of huge errors stay finite
        values = {
            "rmse": largest * float(np.sqrt(np.mean((error / largest) ** 2))),
            "mad": float(np.median(error)),
            "mae": largest * float(np.mean(error / largest)),
        }
        if isinstance(self.predictive, Point):
            return Scores(values)
        predictive = self.predictive[seen]
        values["log_likelihood"] = float(self.log_score[seen].sum())
        values["crps"] = float(predictive.crps(y).mean())
        for level in LEVELS:
            low, high = predictive.interval(level)
            values[f"coverage_{level * 100:.0f}"] = float(np.mean((low <= y) & (y <= high)))
            values[f"width_{level * 100:.0f}"] = float(np.mean(high - low))
        return Scores(values)

    def to_frame(self, backend: frames.Backend = "pandas") -> Any:
        """Give the trace as a data frame, one row per observation.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
        """
        columns = {"y": self.y, "mean": self.mean}
        if not isinstance(self.predictive, Point):
            columns |= {"sd": self.sd, "log_score": self.log_score}
        return frames.make(columns | self.history, backend)
