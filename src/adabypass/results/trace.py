"""The trace of a run: each forecast, made before its observation was seen, and the parameters after it."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from adabypass import notebook
from adabypass.data import frames
from adabypass.distributions.base import check_predictive, interval_tails
from adabypass.distributions.predictive import Predictive, concatenate
from adabypass.errors import NotANumberError, NotEnoughDataError, ParameterError, ShapeError
from adabypass.files import FilePath
from adabypass.numerics.limits import MAX_VALUE
from adabypass.numerics.read_only import ReadOnly
from adabypass.page.export import write_page
from adabypass.results import pages
from adabypass.results.changes import FALSE_ALARMS, Alarms, Change, ChangeMonitor
from adabypass.validation import Floats, Integers, check_array, check_function, check_int, shown

LEVELS = (0.5, 0.9, 0.95)
SCORED_AT_ONCE = 500
"""Number of forecasts that are scored between two calls of `progress`: about half a second for mixtures."""
LATEST_START = 2**62


class Scores(ReadOnly[float]):
    """Scores of forecasts by name, printed as a small table.

    `rmse` and `mad` (median absolute error) are those of the means, `mae` that of the medians, which minimise it, or of
    point forecasts. Models that forecast distributions also have `log_likelihood` (a sum), `crps` (a mean), and
    `coverage_50`, `coverage_90`, `coverage_95`, `width_50`, `width_90` and `width_95`: the fraction of observations
    within the central interval, and its mean width. `n` is the number of scored forecasts, `n_left_out` the number of
    observations that came before anything was known, which are not scored. Missing observations count in neither.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset
    >>> scores = Forecaster(lags=1).run(load_dataset("nile").y).scores(skip=20)
    >>> scores["crps"] < scores["mae"] < scores["rmse"]
    True
    """

    def __init__(self, values: Mapping[str, float]) -> None:
        super().__init__(values)
        for name, value in self.items():
            if not isinstance(value, Real):
                raise NotANumberError(f"the score {name!r} is {shown(value)}, but must be a number.")

    def __repr__(self) -> str:
        return "\n".join(f"{name:<15}{value:>12.6g}" for name, value in self._values.items())


class Trace:
    """What a run returns: the forecast before each observation, and the parameters after it.

    Parameters
    ----------
    y : array (n,)
        The observations; nan where one is missing.
    predictive : Normal, Mixture or Point
        The forecasts, each made before its observation was seen.
    history : mapping of names to arrays (n,)
        The parameters after each observation.
    weights_mean, weights_var : arrays (n, n_features), optional
        The weights after each observation, if they were kept.
    log_score : array (n,), optional
        Log density of each observation under its forecast, if already computed.
    first : int
        Index of the first forecast observation in the series.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset
    >>> trace = Forecaster(lags=1).run(load_dataset("nile").y)
    >>> trace.first, len(trace), trace.mean.shape
    (1, 662, (662,))
    >>> round(trace.scores(skip=20)["coverage_90"], 1)
    0.9
    """

    origins: Integers | None = None
    """How many observations each forecast was made from, where that is not `first`, `first` + 1, ..."""

    def __init__(
        self,
        y: Floats,
        predictive: Predictive,
        history: Mapping[str, Floats],
        *,
        weights_mean: Floats | None = None,
        weights_var: Floats | None = None,
        log_score: Floats | None = None,
        first: int = 0,
    ) -> None:
        self.y = check_array(y, "y")
        if self.y.ndim != 1:
            raise ShapeError(f"y has shape {self.y.shape}, but must have shape (n,).")
        n = len(self.y)
        self.predictive = check_predictive(predictive, "predictive", n)
        if not isinstance(history, Mapping):
            raise ParameterError(f"history is {shown(history)}, but must be a dict of names and arrays; {{}} for none.")
        self.history = {str(name): _record(values, f"history[{name!r}]", n, 1) for name, values in history.items()}
        self.weights_mean = None if weights_mean is None else _record(weights_mean, "weights_mean", n, 2)
        self.weights_var = None if weights_var is None else _record(weights_var, "weights_var", n, 2)
        self.first = check_int(first, "first", minimum=0, maximum=LATEST_START)
        if log_score is not None:
            self.log_score = _record(log_score, "log_score", n, 1)

    @classmethod
    def unchecked(
        cls,
        y: Floats,
        predictive: Predictive,
        history: dict[str, Floats],
        *,
        weights_mean: Floats | None = None,
        weights_var: Floats | None = None,
        log_score: Floats | None = None,
        first: int = 0,
    ) -> "Trace":
        """Return the trace of a run of our own: nothing is checked."""
        trace = cls.__new__(cls)
        trace.y, trace.predictive, trace.history, trace.first = y, predictive, history, first
        trace.weights_mean, trace.weights_var = weights_mean, weights_var
        if log_score is not None:
            trace.log_score = log_score
        return trace

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        missing = int(np.isnan(self.y).sum())
        return f"Trace({len(self)} observations, {missing} missing; history of {', '.join(self.history) or 'nothing'})"

    def _repr_html_(self) -> str:
        missing = int(np.isnan(self.y).sum())
        known = self.is_known & ~np.isnan(self.y)
        facts: dict[str, object] = {"observations": f"{len(self)}, {missing} missing"}
        if known.any():
            with np.errstate(over="ignore"):
                facts["mean absolute error"] = notebook.number(np.mean(np.abs(self.y - self.mean)[known]))
        facts["learned over time"] = ", ".join(self.history) or "nothing"
        newest = slice(max(len(self) - notebook.MAX_POINTS, 0), None)
        is_known = self.is_known[newest]
        mean = np.where(is_known, self.mean[newest], np.nan)
        low = high = None
        if not self.is_point:
            # Two standard deviations, since the quantiles of mixtures take longer than a cell should.
            low, high = (np.where(is_known, mean + side * 2.0 * self.sd[newest], np.nan) for side in (-1, 1))
        return notebook.card("Trace", facts, notebook.sparkline(self.y[newest], mean, low, high))

    def plot(
        self,
        time: object = None,
        *,
        levels: Sequence[float] = (0.5, 0.9),
        y_label: str = "",
        title: str = "",
        ax: Any = None,
    ) -> Any:
        """Draw the observations over the intervals in which each was expected; needs matplotlib.

        More is in `adabypass.plots`: `calibration`, `changes`, `parameters` and `weights` of a trace.

        Parameters
        ----------
        time : array (n,), optional
            When each observation was made; the times of the whole series will do, too. Their number if not given.
        levels : numbers between 0 and 1
            Of the intervals.
        y_label, title : str
            Drawn at the axis, and above the picture.
        ax
            Where to draw; new axes if not given.

        Returns
        -------
        Axes
            A notebook shows them where they are the value of a cell; `plots.save` writes them to a file.

        Examples
        --------
        >>> from adabypass import Forecaster, load_dataset
        >>> nile = load_dataset("nile")
        >>> trace = Forecaster().run(nile.y[-100:])
        >>> axes = trace.plot(nile.time[-100:], y_label="metres")
        >>> axes.get_ylabel()
        'metres'
        """
        drawn = notebook.plots().history(self, time, levels, ax)
        if y_label or title:
            notebook.plots().label(drawn, drawn.get_xlabel(), y_label or drawn.get_ylabel(), title)
        return drawn

    @property
    def is_point(self) -> bool:
        """Whether the forecasts are point forecasts: means without distributions."""
        return self.predictive.is_point

    @property
    def is_known(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Whether anything was known when each forecast was made, shape (n,)."""
        return np.asarray(self.predictive.is_known)

    @property
    def mean(self) -> Floats:
        """Mean of each forecast."""
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

    @cached_property
    def crps(self) -> Floats:
        """Continuous ranked probability score of each forecast; nan where the observation is missing."""
        crps: Floats = self.predictive.crps(self.y)
        return crps

    def scores(self, skip: int = 0, *, progress: Callable[[int], None] | None = None) -> Scores:
        """Score the forecasts that were made from `skip` observations or more; missing observations are left out.

        Parameters
        ----------
        skip : int
            Number of observations at the beginning of the series, as in `evaluate`: those before the first forecast,
            `first`, are among them.
        progress : function, optional
            Called repeatedly with the number of forecasts scored since the last call: the CRPS of 10,000 mixtures
            takes about ten seconds.

        Returns
        -------
        Scores
            Scores by name: see `Scores`. Point forecasts have only `rmse`, `mad`, `mae` and the two counts.
        """
        n_skipped = self.n_skipped(skip)
        check_function(progress, "progress")
        is_seen = ~np.isnan(self.y[n_skipped:])
        is_known = np.asarray(self.predictive.is_known)[n_skipped:]
        seen = np.flatnonzero(is_seen & is_known) + n_skipped
        n_left_out = int(np.count_nonzero(is_seen & ~is_known))
        if len(seen) == 0:
            raise NotEnoughDataError(
                f"there is nothing to score: of {len(self)} observations, the first {n_skipped} are skipped, "
                f"{len(is_seen) - int(is_seen.sum())} are missing, and {n_left_out} came before anything could be "
                "forecast; give a longer series, or skip fewer."
            )
        y, mean = self.y[seen], self.mean[seen]
        with np.errstate(over="ignore"):
            error = np.minimum(np.abs(y - mean), MAX_VALUE)
        largest = float(error.max()) or 1.0  # so that the squares of huge errors stay finite
        values = {
            "rmse": largest * float(np.sqrt(np.mean((error / largest) ** 2))),
            "mad": float(np.median(error)),
            "mae": largest * float(np.mean(error / largest)),
        }
        counts = {"n": len(seen), "n_left_out": n_left_out}
        if self.is_point:
            return Scores(values | counts)
        median, *bounds = self.predictive[seen].quantile([0.5, *(q for level in LEVELS for q in interval_tails(level))])
        with np.errstate(over="ignore"):
            error = np.minimum(np.abs(y - median), MAX_VALUE)
        values["mae"] = largest * float(np.mean(error / largest))
        values["log_likelihood"] = float(self.log_score[seen].sum())
        if progress is not None:
            self._score_in_parts(progress)
        values["crps"] = float(self.crps[seen].mean())
        for level, low, high in zip(LEVELS, bounds[::2], bounds[1::2], strict=True):
            values[f"coverage_{level * 100:.0f}"] = float(np.mean((low <= y) & (y <= high)))
            values[f"width_{level * 100:.0f}"] = float(np.mean(high - low))
        return Scores(values | counts)

    def n_skipped(self, skip: int) -> int:
        """Return how many forecasts were made from fewer than `skip` observations of the series."""
        if self.origins is not None:
            return int(np.searchsorted(self.origins, check_int(skip, "skip", minimum=0, maximum=LATEST_START)))
        return max(check_int(skip, "skip", minimum=0, maximum=self.first + len(self)) - self.first, 0)

    def _score_in_parts(self, progress: Callable[[int], None]) -> None:
        """Compute the CRPS of all forecasts, unless already computed, and report progress."""
        if "crps" in self.__dict__:
            progress(len(self))
            return
        parts = []
        for start in range(0, len(self), SCORED_AT_ONCE):
            part = slice(start, start + SCORED_AT_ONCE)
            parts.append(self.predictive[part].crps(self.y[part]))
            progress(len(parts[-1]))
        self.crps = np.concatenate(parts)

    def surprise(self) -> Floats:
        """Return how surprising each observation was, as a standard normal deviate: see `Predictive.surprise`.

        If the forecasts are calibrated, the deviates are standard normal; an absolute value above 3 is a surprise. nan
        where the observation is missing.
        """
        surprise: Floats = self.predictive.surprise(self.y)
        return surprise

    def surprisal(self) -> Floats:
        """Return the excess surprisal of each observation, in nats: the negative log score minus its expectation.

        The expectation is taken under the forecast. The mean is 0 if the forecasts are calibrated, and positive if the
        data are less predictable than the model assumes. nan where the observation is missing.
        """
        surprisal: Floats = -self.log_score - self.predictive.entropy()
        return surprisal

    def changes(self, false_alarms: float = FALSE_ALARMS) -> list[Change]:
        """Return when the regime changed, and what: the level, the noise or a slope; see `ChangeMonitor`.

        Parameters
        ----------
        false_alarms : number between 0 and 0.5
            Maximum rate of false alarms, per row.

        Returns
        -------
        list of Change
            Changes in order of time; `at` is an index of this trace.
        """
        return self._alarms(false_alarms).changes

    def anomalies(self, false_alarms: float = FALSE_ALARMS) -> Integers:
        """Return the indices of values that are anomalies: see `ChangeMonitor`.

        Parameters
        ----------
        false_alarms : number between 0 and 0.5
            Maximum rate of false alarms, per row.
        """
        return self._alarms(false_alarms).anomalies

    def _alarms(self, false_alarms: float) -> Alarms:
        return ChangeMonitor(false_alarms=false_alarms).run(self.predictive, self.y, self.history.get("drift"))

    def to_html(self, path: FilePath, *, time: object = None, title: str = "Forecasts, one step ahead") -> None:
        """Write the trace as a page of its own, which needs no server: one file, with its newest 5,000 rows.

        It is the live page: forecasts with their intervals, surprises, changes of regime, and whether intervals hold.

        Parameters
        ----------
        path : str or path
        time : array (n,) of dates or numbers, optional
            When the observations were made.
        title : str

        Examples
        --------
        >>> import tempfile
        >>> from adabypass import Forecaster, load_dataset
        >>> nile = load_dataset("nile")
        >>> trace = Forecaster(lags=1).run(nile.y)
        >>> trace.to_html(tempfile.mkdtemp() + "/nile.html", time=nile.time[trace.first:], title="The Nile")
        """
        alarms = None if self.is_point else self._alarms(FALSE_ALARMS)
        answers = pages.past_of(self.y, self.predictive, time, alarms)
        write_page(path, {"title": str(title), "answers": answers, "forecast": None, "learned": None})

    def to_frame(self, backend: frames.Backend = "pandas") -> Any:
        """Return the trace as a data frame with one record per observation.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
        """
        columns = {"y": self.y, "mean": self.mean}
        if not self.is_point:
            columns |= {"sd": self.sd, "log_score": self.log_score}
        return frames.make(columns | self.history, backend)


def check_trace(trace: object) -> Trace:
    """Check that `trace` is a Trace."""
    if not isinstance(trace, Trace):
        raise ParameterError(f"trace is {shown(trace)}, but must be a Trace; pass what model.run(X, y) returned.")
    return trace


def _record(values: object, name: str, n: int, ndim: int) -> Floats:
    """Check an array with one entry for each of `n` observations."""
    array = check_array(values, name)
    if array.ndim != ndim or len(array) != n:
        expected = f"({n},)" if ndim == 1 else f"({n}, n_features)"
        raise ShapeError(
            f"{name} has shape {array.shape}, but must have shape {expected}: one entry for each value of y."
        )
    return array


def joined(pieces: Sequence[Trace], first: int) -> Trace:
    """Join consecutive traces into one."""
    names = pieces[0].history
    weights = [piece.weights_mean for piece in pieces]
    weights_var = [piece.weights_var for piece in pieces]
    return Trace(
        y=np.concatenate([piece.y for piece in pieces]),
        predictive=concatenate([piece.predictive for piece in pieces]) if len(pieces) > 1 else pieces[0].predictive,
        history={name: np.concatenate([piece.history[name] for piece in pieces]) for name in names},
        weights_mean=None if weights[0] is None else np.concatenate([w for w in weights if w is not None]),
        weights_var=None if weights_var[0] is None else np.concatenate([w for w in weights_var if w is not None]),
        log_score=pieces[0].__dict__.get("log_score") if len(pieces) == 1 else None,
        first=first,
    )
