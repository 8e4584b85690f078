"""Forecasts several steps ahead."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from adabypass import notebook
from adabypass.data import frames
from adabypass.distributions.base import Predictive, check_predictive, check_probability
from adabypass.distributions.empirical import Empirical
from adabypass.errors import ShapeError
from adabypass.files import FilePath
from adabypass.page.export import write_page
from adabypass.results import pages
from adabypass.results.columns import column_names
from adabypass.validation import Floats, check_array

SHOWN_AHEAD = 24
"""Number of steps ahead that a notebook shows of a forecaster."""


class Forecast:
    """Forecast of several steps ahead: a predictive distribution for each.

    Parameters
    ----------
    predictive
        The forecast of every step: a Normal or a Mixture of arrays of length `horizon`, for example.
    paths : array (n_paths, horizon), optional
        Simulated paths, if any.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset
    >>> forecaster = Forecaster()
    >>> forecaster.learn(load_dataset("nile").y)
    >>> ahead = forecaster.forecast(horizon=10)
    >>> low, high = ahead.interval(0.9)
    >>> len(ahead), bool((low < ahead.median).all())
    (10, True)
    """

    def __init__(self, predictive: Predictive, paths: Floats | None = None) -> None:
        self.predictive = check_predictive(predictive, "predictive")
        self.paths: Floats | Any = None if paths is None else _check_paths(paths, len(self))

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

    def _repr_html_(self) -> str:
        steps = range(len(self))
        if self.is_point:
            means = [(step + 1, notebook.number(self.mean[step])) for step in steps]
            return notebook.table(f"Forecast of {len(self)} steps", ("step", "mean"), means, self._sparkline())
        columns = (self.mean, self.median, self.sd, *self.interval(0.9))
        records = [(step + 1, *(notebook.number(column[step]) for column in columns)) for step in steps]
        names = ("step", "mean", "median", "sd", "90 % from", "to")
        return notebook.table(f"Forecast of {len(self)} steps", names, records, self._sparkline())

    def _sparkline(self) -> notebook.Markup:
        low, high = (None, None) if self.is_point else self.interval(0.9)
        return notebook.sparkline(np.empty(0), self.mean, low, high)

    def plot(
        self,
        y: object = None,
        time: object = None,
        future_time: object = None,
        *,
        levels: Sequence[float] | None = None,
        paths: int = 0,
        history: int | None = None,
        title: str = "",
        ax: Any = None,
    ) -> Any:
        """Draw the forecast as a fan of intervals, after the end of the series; needs matplotlib.

        Parameters
        ----------
        y : array (n,), pandas Series or data set, optional
            What was observed before: a forecaster keeps no past. A pandas Series brings its dates and its name, what
            `load_dataset` returns its times and units.
        time, future_time, levels, paths, history, ax
            As in `adabypass.plots.fan`.
        title : str
            Drawn above the picture.

        Returns
        -------
        Axes
            A notebook shows them where they are the value of a cell; `plots.save` writes them to a file.

        Examples
        --------
        >>> from adabypass import Forecaster, load_dataset
        >>> nile = load_dataset("nile")
        >>> forecaster = Forecaster()
        >>> forecaster.learn(nile.y)
        >>> axes = forecaster.forecast(horizon=20).plot(nile)
        >>> axes.get_ylabel()
        'm'
        """
        drawn = notebook.plots().fan(self, y, time, future_time, levels, paths, ax, history=history)
        if title:
            notebook.plots().label(drawn, drawn.get_xlabel(), drawn.get_ylabel(), title)
        return drawn

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
        """Return the quantile `q` at each step, shape (horizon,), or `(*q.shape, horizon)` if `q` is an array."""
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


def card_ahead(title: str, facts: dict[str, object], forecast: Callable[[int], Forecast] | None) -> str:
    """Return what a notebook shows of a forecaster: facts, and the next steps where it can forecast them."""
    if forecast is None:
        return notebook.card(title, facts)
    ahead = forecast(SHOWN_AHEAD)
    next_value = notebook.number(ahead.mean[0])
    if not ahead.is_point:
        low, high = ahead.interval(0.9)
        next_value += f" (90 %: {notebook.number(low[0])} to {notebook.number(high[0])})"
    return notebook.card(title, facts | {"next": next_value}, ahead._sparkline())


def _check_paths(paths: object, horizon: int) -> Floats:
    drawn = check_array(paths, "paths")
    if drawn.ndim != 2 or drawn.shape[1] != horizon:
        raise ShapeError(
            f"paths have shape {drawn.shape}, but must have shape (n_paths, {horizon}): one value per step."
        )
    return drawn
