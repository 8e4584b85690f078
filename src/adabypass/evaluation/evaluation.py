"""`evaluate`: how well a forecaster would have forecast one series, or each of many."""

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from threading import Lock
from typing import Any, Literal

import numpy as np

from adabypass import notebook
from adabypass.data import frames
from adabypass.data.freq import Freq
from adabypass.errors import NotReadyError, ParameterError
from adabypass.evaluation.diebold_mariano import MIN_PAIRS
from adabypass.evaluation.observations import series_table
from adabypass.evaluation.prequential import SKIP, Counts, Plan, SeriesForecasts, SeriesScores, forecast_along
from adabypass.forecasting import Baseline, Forecaster
from adabypass.panel.batch import copy_for
from adabypass.panel.columns import TARGET
from adabypass.panel.forecasts import check_on_error, report, warn
from adabypass.panel.pipeline import FILL_MISSING, KEEP_LAST, as_forecaster, map_series
from adabypass.panel.series import Series, SeriesTable
from adabypass.regressors import Regressor
from adabypass.results.trace import Scores, Trace
from adabypass.state.series import Missing
from adabypass.validation import Floats, Integers, check_function, shown


class Evaluation:
    """Scores of forecasts that were made before their targets were seen: over all series, and of each."""

    def __init__(self, panel: SeriesTable, series: Mapping[str, SeriesForecasts | SeriesScores]) -> None:
        self._panel, self._series = panel, series

    @property
    def names(self) -> list[str]:
        """The ids of the series, as text; "" if the data have no ids."""
        return list(self._series)

    @property
    def horizon(self) -> int:
        """How many steps ahead the farthest forecast is."""
        return next(iter(self._series.values())).horizon

    def scores(self, step: int = 1) -> Scores:
        """Compute the scores of all series' forecasts `step` steps ahead; of several series without `mad`."""
        return pooled([each.scores(self._checked(step)) for each in self._series.values()])

    @property
    def n_origins(self) -> int:
        """How many forecasts were made, each of `horizon` steps."""
        return self._counts(1).n_origins

    @property
    def n_skipped(self) -> int:
        """How many forecasts are not scored since they are made from fewer than `skip` observations."""
        return self._counts(1).n_skipped

    def n_scored(self, step: int = 1) -> int:
        """Return how many forecasts `step` steps ahead are scored: those that knew something of what was observed."""
        return self._counts(step).n_scored

    def n_left_out(self, step: int = 1) -> int:
        """Return how many more are not scored: their target is missing, or they knew nothing of it."""
        return self._counts(step).n_left_out

    def counts(self, step: int = 1) -> str:
        """Return in words how many forecasts `step` steps ahead are scored, and how many are not.

        Examples
        --------
        >>> from adabypass import Naive, load_dataset
        >>> evaluate(load_dataset("nile").y, Naive(), horizon=4, every=10).counts(4)
        '64 of 65 forecasts scored, after every 10th observation; 1 skipped (made from fewer than 20 observations)'
        """
        found, parts = self._counts(step), list(self._series.values())
        of = f" of {len(parts)} series" if len(parts) > 1 else ""
        strides, skips = {each.every for each in parts}, {each.skip for each in parts}
        stride = f", after every {_ordinal(min(strides))} observation" if len(strides) == 1 and strides != {1} else ""
        fewer = f"fewer than {min(skips)}" if len(skips) == 1 else "too few"
        reasons = [f"{found.n_skipped} skipped (made from {fewer} observations)"] if found.n_skipped else []
        if found.n_left_out:
            reasons.append(f"{found.n_left_out} left out whose target is missing or of which nothing was known")
        ending = f"; {', '.join(reasons)}" if reasons else ""
        forecasts = f"forecast{'s' * (found.n_origins != 1)}{of}"
        return f"{found.n_scored} of {found.n_origins} {forecasts} scored{stride}{ending}"

    @property
    def origins(self) -> Integers:
        """How many observations of the only series had been seen when each forecast was made."""
        return self._forecasts.origins

    def trace(self, step: int = 1) -> Trace:
        """Return the forecasts of the only series `step` steps ahead, and what was observed then."""
        return self._forecasts.traces[self._checked(step)]

    def losses(self, step: int = 1, loss: str = "log") -> Floats:
        """Return the loss of each forecast of the only series that is not skipped; nan where it is not scored.

        Parameters
        ----------
        step : int
            How many steps ahead.
        loss : "log" (negative log score), "crps", "squared" or "absolute" error
        """
        return self._forecasts.losses(self._checked(step), loss)

    def columns(self) -> dict[str, Any]:
        """Return what a table shows, one record for each series and step: its id, if it has one, counts and scores."""
        steps = range(1, self.horizon + 1)
        key = self._panel.columns.id
        columns: dict[str, Any] = {} if key is None else {key: self._panel.ids(self.names, self.horizon)}
        columns["step"] = np.tile(steps, len(self._series))
        series = self._series.values()
        counts = [each.counts(step) for each in series for step in steps]
        scores = [each.scores(step) for each in series for step in steps]
        columns |= {name: np.array([getattr(each, name) for each in counts]) for name in Counts._fields}
        names = [name for name in scores[0] if name not in ("n", "n_left_out")]
        return columns | {name: np.array([each[name] for each in scores]) for name in names}

    def to_frame(self, backend: frames.Backend = "pandas") -> Any:
        """Return counts and scores as a data frame, one row for each series and step ahead.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
        """
        return frames.make(self.columns(), backend)

    def too_few(self) -> list[str]:
        """Return in words which series have too few scored forecasts for scores to mean much."""
        scored = {name: each.counts(each.horizon).n_scored for name, each in self._series.items()}
        return [_too_few(name, n) for name, n in scored.items() if n < MIN_PAIRS]

    def __repr__(self) -> str:
        scores = {step: self.scores(step) for step in range(1, self.horizon + 1)}
        names = next(iter(scores.values()))
        lines = [f"{'step':>4} " + " ".join(f"{name:>14}" for name in names)]
        lines += [f"{step:>4} " + " ".join(f"{each[name]:>14.6g}" for name in names) for step, each in scores.items()]
        return "\n".join([self.counts(self.horizon), *lines])

    def _repr_html_(self) -> str:
        scores = [self.scores(step) for step in range(1, self.horizon + 1)]
        names = [name for name in ("rmse", "mae", "crps", "coverage_50", "coverage_90", "n") if name in scores[0]]
        records = [(step, *(notebook.number(each[name]) for name in names)) for step, each in enumerate(scores, 1)]
        main = np.array([each.get("crps", each["mae"]) for each in scores])
        picture = notebook.sparkline(np.empty(0), main) if len(main) > 1 else ""
        shown = [name.replace("coverage_", "within ") + " %" * name.startswith("coverage") for name in names]
        return notebook.table(self.counts(self.horizon), ["step", *shown], records, picture)

    def plot(self, ax: Any = None) -> Any:
        """Draw errors and coverage by the number of steps ahead; of one series, one step ahead, its calibration.

        It needs matplotlib.

        Parameters
        ----------
        ax : array of two Axes, optional
            Where to draw errors and coverage; new axes if not given.

        Returns
        -------
        array of Axes
            A notebook shows them where they are the value of a cell; `plots.save` writes them to a file.

        Examples
        --------
        >>> from adabypass import Forecaster, load_dataset
        >>> axes = evaluate(load_dataset("nile").y, Forecaster(lags=1), horizon=5, every=10).plot()
        >>> [each.get_ylabel() for each in axes]
        ['mean error', 'share of observations within']
        """
        one_step = self.horizon == 1 and len(self._series) == 1
        if one_step and ax is None and "crps" in self.scores():
            return notebook.plots().calibration(self.trace())
        return notebook.plots().scores_by_step([self.scores(step) for step in range(1, self.horizon + 1)], ax)

    @property
    def _forecasts(self) -> SeriesForecasts:
        first = next(iter(self._series.values()))
        if not isinstance(first, SeriesForecasts):
            raise NotReadyError(
                f"there are {len(self._series)} series, of which only scores are kept; evaluate the rows of one series "
                "to have its forecasts."
            )
        return first

    def _counts(self, step: int) -> Counts:
        """Return the counts of all series together."""
        counts = [each.counts(self._checked(step)) for each in self._series.values()]
        return Counts(*map(sum, zip(*counts, strict=True)))

    def _checked(self, step: Any) -> int:
        """Return a number of steps ahead that was evaluated."""
        if not isinstance(step, int | np.integer) or not 1 <= step <= self.horizon:
            raise ParameterError(
                f"step is {shown(step)}, but forecasts from 1 to {self.horizon} steps ahead were evaluated; evaluate "
                "with a longer horizon."
            )
        return int(step)


def evaluate(
    data: object,
    forecaster: Forecaster | Baseline | Regressor | None = None,
    *,
    target: str = TARGET,
    time: str | None = None,
    id: str | None = None,
    exog: object = None,
    calendar: str | Sequence[str] = (),
    freq: Freq | None = None,
    missing: Missing | None = None,
    period: float | Sequence[float] | None = None,
    support: str | Sequence[float] | None = None,
    horizon: int = 1,
    every: int | None = None,
    skip: int = SKIP,
    on_error: Literal["warn", "raise"] = "warn",
    n_threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Score a forecaster prequentially: each forecast is made before its target is seen, and scored when it is.

    Parameters
    ----------
    data : array (n,), or pandas, polars or pyarrow frame, or dict of arrays
        One row for each observation, one series after another; nan where the observation is missing.
    forecaster : Forecaster, Baseline or Regressor, optional
        A copy of it learns each series; a new `Forecaster()` if None.
    target, time, id, calendar, freq, missing, period, support
        As in `forecast`.
    exog : array (n, n_exog), or names of a frame's columns, optional
        Their values at the targets are taken as known when the forecast is made.
    horizon : int
        Forecasts 1 to `horizon` steps ahead are scored.
    every : int, optional
        Number of observations from one forecast's origin to the next. By default 1 or, where that would be
        more than 20,000 forecasts of a series (observations times `horizon`), the smallest number that keeps to this
        limit; but from 50 origins at least.
    skip : int
        Number of observations at the beginning: forecasts made from fewer are not scored.
    on_error : "warn" or "raise"
        What to do about a series that cannot be evaluated: leave it out with a `SeriesWarning` that names it and the
        reason, or raise the error. If every series fails, the error is raised.
    n_threads : int, optional
        How many threads evaluate several series: as many as there are processors by default; no score depends on it.
    progress : function, optional
        Called now and then with the number of observations done since the last call, one call at a time.

    Returns
    -------
    Evaluation
        Its `scores(step)` are over all series, its `to_frame()` has those of each. Of a single series it keeps the
        forecasts: `trace(step)`. A `SeriesWarning` names series with fewer than 8 scored forecasts.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset
    >>> result = evaluate(load_dataset("nile").y, Forecaster(lags=1))
    >>> round(result.scores()["coverage_90"], 3), result.n_scored()
    (0.922, 643)
    """
    check_on_error(on_error)
    check_function(progress, "progress")
    plan = Plan.checked(horizon, every, skip)
    template = as_forecaster(forecaster, missing=missing, period=period, support=support)
    panel = series_table(data, target, time, id, exog, calendar, freq, missing)
    advance = one_at_a_time(progress)

    def work(series: Series) -> SeriesForecasts | SeriesScores:
        found = forecasts_of(series, template, plan, advance)
        return found if len(panel) == 1 else found.scored()

    found, failures = map_series(panel, work, n_threads=n_threads)
    result = Evaluation(panel, {series.name: each for series, each in found})
    if failures:
        report(failures, len(panel), on_error)
    warn([*panel.remarks([template], KEEP_LAST), *result.too_few()])
    return result


def forecasts_of(
    series: Series,
    template: Forecaster | Baseline,
    plan: Plan,
    progress: Callable[[int], None] | None,
    remedy: str = FILL_MISSING,
) -> SeriesForecasts:
    """Forecast one series along its times, by a copy of the template.

    Parameters
    ----------
    remedy : str
        What the error about a missing exogenous value advises besides filling it.
    """
    series = series.with_known_exog(template, 0, remedy)
    twin = copy_for(series, template)
    return forecast_along(series.y, series.exog_of(twin), twin, plan, progress)


def one_at_a_time(progress: Callable[[int], None] | None) -> Callable[[int], None] | None:
    """Return a function that threads may call, and that calls `progress` for one of them at a time."""
    if progress is None:
        return None
    lock = Lock()

    def advance(n: int) -> None:
        with lock:
            progress(n)

    return advance


def pooled(parts: Sequence[Scores]) -> Scores:
    """Return the scores over all forecasts of several series from the scores of each."""
    if len(parts) == 1:
        return parts[0]
    n = np.array([part["n"] for part in parts])
    columns = {name: np.array([part[name] for part in parts]) for name in parts[0] if name != "mad"}
    means = {name: float(values @ (n / n.sum())) for name, values in columns.items()}
    largest = float(columns["rmse"].max()) or 1.0  # so that squares of huge errors stay finite
    sums = {name: float(columns[name].sum()) for name in ("log_likelihood", "n", "n_left_out") if name in columns}
    return Scores(means | {"rmse": largest * sqrt((columns["rmse"] / largest) ** 2 @ (n / n.sum()))} | sums)


def _too_few(name: str, n: int) -> str:
    named = f'series "{name}": ' if name else ""
    return (
        f"{named}only {n} forecast{'s are' if n != 1 else ' is'} scored, fewer than {MIN_PAIRS}: the scores may be "
        "chance; give a longer series, or a smaller skip, every or horizon."
    )


def _ordinal(n: int) -> str:
    """Return "2nd" for 2."""
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"
