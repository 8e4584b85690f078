"""Forecasts several steps ahead."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from adabypass.data import frames
from adabypass.distributions.base import Predictive, check_predictive, check_probability
from adabypass.distributions.empirical import Empirical
from adabypass.errors import ShapeError
from adabypass.files import FilePath
from adabypass.page.export import write_page
from adabypass.results import pages
from adabypass.results.columns import column_names
from adabypass.validation import Floats, check_array


class Forecast:
    """A predictive distribution for each step ahead.

    Parameters
    ----------
    predictive
        The forecast of every step: a Normal or a Mixture of arrays of length `horizon`, for example.
    paths : array (n_paths, horizon), optional
        Simulated paths, if any.
    """

    def __init__(self, predictive: Predictive, paths: Floats | None = None) -> None:
        self.predictive = check_predictive(predictive, "predictive")
        self.paths = None if paths is None else _check_paths(paths, len(self))

    @classmethod
    def from_paths(cls, paths: Floats) -> Self:
        """Return the empirical forecast of simulated paths."""
        drawn = Empirical(paths)
        return cls(drawn, drawn.draws)

    def __len__(self) -> int:
        return len(self.mean)

    def __repr__(self) -> str:
        rows = [f"{'step':>4} {'mean':>12}" + ("" if self.is_point else f" {'sd':>12} {'90 % interval':>27}")]
        shown = range(len(self)) if len(self) <= 12 else [*range(6), *range(len(self) - 3, len(self))]
        low, high = (self.mean, self.mean) if self.is_point else self.interval(0.9)
        for step in shown:
            row = f"{step + 1:>4} {self.mean[step]:>12.6g}"
            if not self.is_point:
                row += f" {self.sd[step]:>12.4g}   {low[step]:>11.6g} to {high[step]:>9.6g}"
            rows.append(row)
        return "\n".join(rows)

    @property
    def is_point(self) -> bool:
        """Whether the forecast is a point forecast: a mean without a distribution."""
        return self.predictive.is_point

    @property
    def is_known(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Whether anything is known about the value at each step, shape (horizon,)."""
        return np.asarray(self.predictive.is_known)

    @property
    def mean(self) -> Floats:
        """Expected value at each step."""
        return np.asarray(self.predictive.mean)

    @property
    def median(self) -> Floats:
        """Median at each step."""
        return np.asarray(self.predictive.median)

    @property
    def var(self) -> Floats:
        """Variance at each step."""
        return np.asarray(self.predictive.var)

    @property
    def sd(self) -> Floats:
        """Standard deviation at each step."""
        return np.asarray(self.predictive.sd)

    def cdf(self, y: ArrayLike) -> Floats:
        """Return the probability of a value up to `y` at each step; `y` is a number, or one for each step.

        Examples
        --------
        >>> from adabypass import Naive
        >>> model = Naive()
        >>> trace = model.run([3.0, 4.0, 2.0, 3.0, 5.0, 4.0])
        >>> model.forecast(horizon=2).cdf(4.0)
        array([0.5, 0.5])
        """
        return np.asarray(self.predictive.cdf(check_array(y, "y")))

    def sf(self, y: ArrayLike) -> Floats:
        """Return the probability of a value above `y` at each step; `y` is a number, or one for each step."""
        return np.asarray(self.predictive.sf(check_array(y, "y")))

    def quantile(self, q: ArrayLike) -> Floats:
        """Return the quantile `q` at each step, shape (horizon,), or (*q.shape, horizon) if `q` is an array."""
        return np.asarray(self.predictive.quantile(q))

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return the bounds of the central interval at each step, which contains the value with probability `level`."""
        low, high = self.predictive.interval(level)
        return np.asarray(low), np.asarray(high)

    def columns(self, levels: Sequence[float] = (0.9,), quantiles: Sequence[float] = ()) -> dict[str, Floats]:
        """Return the columns of a table by name: see `adabypass.results.columns`."""
        wanted = np.atleast_1d(check_probability(quantiles)).tolist() if len(quantiles) else []
        names = column_names(levels, wanted, is_point=self.is_point)
        if self.is_point:
            return dict(zip(names, [self.mean], strict=True))
        bounds = [bound for level in levels for bound in self.interval(level)]
        values = [self.mean, self.median, self.sd, *bounds, *(self.quantile(q) for q in wanted)]
        return dict(zip(names, values, strict=True))

    def to_frame(
        self,
        levels: Sequence[float] = (0.9,),
        backend: frames.Backend = "pandas",
        *,
        quantiles: Sequence[float] = (),
    ) -> Any:
        """Return the forecast as a data frame with one record per step.

        Parameters
        ----------
        levels
            Levels of the intervals.
        backend : "pandas", "polars" or "pyarrow"
        quantiles
            Probabilities of quantiles to add: 0.05 makes a column `quantile_5`.
        """
        return frames.make({"step": np.arange(1, len(self) + 1), **self.columns(levels, quantiles)}, backend)

    def to_html(self, path: FilePath, *, y: ArrayLike | None = None, title: str = "Forecast") -> None:
        """Write the forecast as a page of its own, which needs no server: one file.

        Parameters
        ----------
        path : str or path
        y : array (n,), optional
            The past, to be shown before it.
        title : str

        Examples
        --------
        >>> import tempfile
        >>> from adabypass import Naive
        >>> model = Naive()
        >>> trace = model.run([3.0, 4.0, 2.0, 3.0, 5.0, 4.0])
        >>> model.forecast(horizon=4).to_html(tempfile.mkdtemp() + "/next.html", y=trace.y)
        """
        past = check_array([] if y is None else y, "y").reshape(-1)
        data = {"answers": pages.observed(past), "forecast": pages.ahead_of(self.predictive, len(past))}
        write_page(path, {"title": str(title), "learned": None, **data})


def _check_paths(paths: object, horizon: int) -> Floats:
    drawn = check_array(paths, "paths")
    if drawn.ndim != 2 or drawn.shape[1] != horizon:
        raise ShapeError(
            f"paths have shape {drawn.shape}, but must have shape (n_paths, {horizon}): one value per step."
        )
    return drawn
