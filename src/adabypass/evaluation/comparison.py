"""Several forecasters on the same observations, and whether their differences are more than chance."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from adabypass import notebook
from adabypass.data import frames
from adabypass.data.freq import Freq
from adabypass.data.periods import season_of, whole_season
from adabypass.errors import ParameterError
from adabypass.evaluation.diebold_mariano import MIN_PAIRS, Difference, difference
from adabypass.evaluation.evaluation import Evaluation, forecasts_of, one_at_a_time
from adabypass.evaluation.observations import series_table
from adabypass.evaluation.prequential import SKIP, Plan, SeriesForecasts, SeriesScores, check_loss
from adabypass.forecasting import Baseline, Drift, Forecaster, Naive, SeasonalNaive
from adabypass.forecasting.structure_settings import check_period
from adabypass.panel.batch import Failure
from adabypass.panel.columns import TARGET
from adabypass.panel.forecasts import check_on_error, report, warn
from adabypass.panel.pipeline import FILL_MISSING, KEEP_LAST, as_forecaster, map_series
from adabypass.panel.series import Series, SeriesTable
from adabypass.regressors import Regressor
from adabypass.results.trace import Scores
from adabypass.state.series import Missing
from adabypass.validation import Floats, check_flag, check_function, shown

MIN_LENGTH_FOR_BASELINES = 20
"""Observations that a series needs for baselines to be added: they forecast from the fifth on."""
MIN_PERIODS = 4
"""Periods that a series needs for the seasonal baseline: it forecasts from the second on, and so all others do."""
Contest: TypeAlias = Mapping[str, Forecaster | Baseline]
Given: TypeAlias = Forecaster | Baseline | Regressor
Parts: TypeAlias = Mapping[str, SeriesForecasts | SeriesScores]
"""What each forecaster came to on one series, by its name."""
Period: TypeAlias = float | Sequence[float]
SHOWN = ("rmse", "mae", "crps", "log_likelihood", "coverage_90", "width_90")


class Line(NamedTuple):
    """One model beside the first."""

    name: str
    scores: Scores
    difference: Difference | Any
    """Of its loss less the first model's: below 0 where it is better. None for the first, where a loss is not
    defined, and where there are too few forecasts to test it, or too few series."""
    n_scored: int
    """How many forecasts the scores are of."""
    n_skipped: int
    """How many are not scored since they, or another model's, are made from too few observations."""
    n_left_out: int
    """How many more are not scored: their target is missing, or they knew nothing of it."""


class Comparison:
    """Models on the same observations: over all series, and of each."""

    def __init__(
        self, panel: SeriesTable, loss: str, series: dict[str, list[Line]], evaluations: dict[str, Evaluation]
    ) -> None:
        self._panel = panel
        self.loss = loss
        """What differences are of."""
        self.series = series
        """The lines of each series, by its id as text: "" if the data have no ids."""
        self.evaluations = evaluations
        """By the models' names: of those that every series has, scored on the same observations."""
        self.lines = next(iter(series.values())) if len(series) == 1 else self._over_all()
        """Scores over all series, and the mean over series of each one's mean difference."""

    def _over_all(self) -> list[Line]:
        """Return the lines of all series together."""
        lines = []
        for name, each in self.evaluations.items():
            step = each.horizon
            counts = each.n_scored(step), each.n_skipped, each.n_left_out(step)
            parts = [line.difference for lines in self.series.values() for line in lines if line.name == name]
            means = np.array([np.nan if part is None else part.mean for part in parts])
            against = _difference(means, np.zeros(len(means)), 1)
            lines.append(Line(name, each.scores(step), against, *counts))
        return lines

    @property
    def first(self) -> Evaluation:
        """Of the model with which the others are compared."""
        return self.evaluations[self.lines[0].name]

    def counts(self) -> str:
        """Return in words how many forecasts are scored, and how many are not."""
        return self.first.counts(self.first.horizon)

    def too_few(self) -> list[str]:
        """Return in words which series have too few scored forecasts for scores to mean much."""
        return self.first.too_few()

    def __repr__(self) -> str:
        against = f"{self.loss} loss less that of {self.lines[0].name}"
        rows = [f"{'':<22}{'forecasts':>10}" + "".join(f"{name:>15}" for name in SHOWN) + f"   {against}"]
        for line in self.lines:
            row = f"{line.name:<22}{line.n_scored:>10}"
            row += "".join(f"{line.scores.get(name, np.nan):>15.5g}" for name in SHOWN)
            if line.difference is not None:
                d = line.difference
                row += f"   {d.mean:+.4g} ± {d.standard_error:.2g} (p = {d.p_value:.2g})"
            rows.append(row)
        return "\n".join([self.counts(), *rows])

    def _repr_html_(self) -> str:
        records = []
        for line in self.lines:
            d = line.difference
            against = "" if d is None else f"{d.mean:+.3g} ± {d.standard_error:.2g} (p = {d.p_value:.2g})"
            scores = (notebook.number(line.scores.get(name, np.nan)) for name in SHOWN)
            records.append((line.name, *scores, self._by_step(line.name), against))
        names = ("", *(name.replace("_", " ") for name in SHOWN), "by step ahead", f"{self.loss} loss less the first's")
        return notebook.table(self.counts(), names, records)

    def _by_step(self, name: str) -> notebook.Markup:
        """Draw the CRPS of a model, or its mean absolute error, by the number of steps ahead."""
        each = self.evaluations.get(name)
        if each is None or each.horizon == 1:
            return notebook.Markup("")
        scores = [each.scores(step) for step in range(1, each.horizon + 1)]
        return notebook.sparkline(np.empty(0), np.array([found.get("crps", found["mae"]) for found in scores]))

    def columns(self) -> dict[str, Any]:
        """Return what a table shows, one record for each series and model.

        They are the id of the series, if it has one, counts, scores, and the difference of the model's loss from the
        first's.
        """
        lines, missing = [line for each in self.series.values() for line in each], float("nan")
        key = self._panel.columns.id
        columns: dict[str, Any] = {}
        if key is not None:
            lengths = [len(each) for each in self.series.values()]
            columns[key] = np.repeat(self._panel.ids(list(self.series), 1), lengths)
        columns["model"] = np.array([line.name for line in lines])
        for count in ("n_scored", "n_skipped", "n_left_out"):
            columns[count] = np.array([getattr(line, count) for line in lines])
        names = list(dict.fromkeys(name for line in lines for name in line.scores if name not in ("n", "n_left_out")))
        for name in names:
            columns[name] = np.array([line.scores.get(name, missing) for line in lines])
        for part, name in (("mean", ""), ("standard_error", "_standard_error"), ("p_value", "_p_value")):
            values = [missing if line.difference is None else getattr(line.difference, part) for line in lines]
            columns[f"difference{name}"] = np.array(values)
        return columns

    def to_frame(self, backend: frames.Backend = "pandas") -> Any:
        """Return the table as a data frame, one row for each series and model.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
        """
        return frames.make(self.columns(), backend)


def compare(
    data: object,
    forecasters: Mapping[str, Given] | Sequence[Given] | None = None,
    *,
    target: str = TARGET,
    time: str | None = None,
    id: str | None = None,
    exog: object = None,
    calendar: str | Sequence[str] = (),
    freq: Freq | None = None,
    missing: Missing | None = None,
    period: Period | None = None,
    support: str | Sequence[float] | None = None,
    horizon: int = 1,
    every: int | None = None,
    skip: int = SKIP,
    loss: str | None = None,
    baselines: bool = True,
    on_error: Literal["warn", "raise"] = "warn",
    n_threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Comparison:
    """Score several forecasters on the same observations, and test their differences against the first.

    Parameters
    ----------
    data
        As in `evaluate`.
    forecasters : list of forecasters or models, or a mapping of names to them, optional
        In a list each goes by what makes it, as in "Forecaster(lags=2)", or by the name of its class, numbered where it
        comes again. The others are compared with the first. A new `Forecaster()` if None.
    target, time, id, exog, calendar, freq, horizon, every, skip, on_error, n_threads
        As in `evaluate`. Scores are those of the farthest step. Only observations that all have forecast are scored.
    missing, period, support : optional
        As in `evaluate`, for those of the forecasters that have a use for them; `period` for `SeasonalNaive` too.
    loss : "crps", "log", "squared" or "absolute", optional
        What the differences are of: the CRPS, or the absolute error where a forecaster has no distribution.
    baselines : bool
        Whether `Naive`, `Drift` and, where `period` or the times of a frame tell a season, `SeasonalNaive` are added at
        the end: what a forecaster should beat. None is added if one is among the forecasters, nor to a series of fewer
        than 20 observations.
    progress : function, optional
        Called now and then with the number of observations done since the last call, one call at a time: those of each
        forecaster count twice, forecast and scored.

    Returns
    -------
    Comparison
        Its `lines` are over all series, `to_frame()` has those of each series. A `SeriesWarning` names series with
        fewer than 8 scored forecasts.

    Examples
    --------
    >>> from adabypass import AutoBypass, SequentialKalman, load_dataset
    >>> table = compare(load_dataset("nile").y, {"auto": AutoBypass(), "SKF": SequentialKalman()}, loss="log")
    >>> table.lines[1].difference.mean > 0      # the log loss of the SKF is larger
    True
    """
    check_on_error(on_error)
    check_function(progress, "progress")
    check_flag(baselines, "baselines")
    check_period(period)
    plan = Plan.checked(horizon, every, skip)
    given = _named([Forecaster()] if forecasters is None else forecasters)
    settings = {"missing": missing, "period": period, "support": support}
    contest = _with_settings({name: as_forecaster(each) for name, each in given.items()}, settings, baselines)
    chosen = default_loss(contest.values()) if loss is None else loss
    panel = series_table(data, target, time, id, exog, calendar, freq, missing)

    def contest_of(series: Series) -> Contest:
        season = season_of(series.frequency) if period is None else whole_season(check_period(period))
        return with_baselines(contest, series.y, season) if baselines else contest

    found, failures = compare_series(panel, contest_of, plan, chosen, n_threads=n_threads, progress=progress)
    if failures:
        report(failures, len(panel), on_error)
    warn([*panel.remarks(contest.values(), KEEP_LAST), *found.too_few()])
    return found


def compare_series(
    panel: SeriesTable,
    contest_of: Callable[[Series], Contest],
    plan: Plan,
    loss: str,
    *,
    n_threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    remedy: str = FILL_MISSING,
    keep_first: bool = False,
) -> tuple[Comparison, list[Failure]]:
    """Compare forecasters on each series of a table; return the series that could not be evaluated as well.

    Parameters
    ----------
    contest_of : function of a Series
        Returns the forecasters by name.
    keep_first : bool
        Whether the forecasts of the first series are made again and kept, to be drawn.
    """
    check_loss(loss)
    advance = one_at_a_time(progress)

    def work(series: Series, keep: bool = len(panel) == 1) -> tuple[list[Line], Parts]:
        found = {
            name: forecasts_of(series, each, plan._replace(skip=0), advance, remedy)
            for name, each in contest_of(series).items()
        }
        found = _aligned(found, plan.skip)
        lines = _lines(found, loss, len(series.y), advance)
        return lines, found if keep else {name: each.scored() for name, each in found.items()}

    results, failures = map_series(panel, work, n_threads=n_threads)
    lines = {series.name: each for series, (each, _) in results}
    parts = {series.name: found for series, (_, found) in results}
    if keep_first:
        first = results[0][0]
        parts[first.name] = work(first, keep=True)[1]
    shared = [name for name in next(iter(parts.values())) if all(name in each for each in parts.values())]
    evaluations = {
        name: Evaluation(panel, {series: each[name] for series, each in parts.items()}) for name in shared
    }  # fmt: skip
    return Comparison(panel, loss, lines, evaluations), failures


def default_loss(forecasters: Iterable[Forecaster | Baseline]) -> str:
    """Return the loss by which forecasters are compared: the CRPS, which is the absolute error of a point."""
    return "absolute" if any(each.is_point for each in forecasters) else "crps"


def with_baselines(contest: Contest, series: Floats, season: int | None) -> Contest:
    """Return the forecasters with baselines after them, where none is among them and the series is long enough."""
    has_one = any(isinstance(each, Baseline) for each in contest.values())
    n_seen = int(np.count_nonzero(~np.isnan(series)))
    if has_one or n_seen < MIN_LENGTH_FOR_BASELINES:
        return contest
    added: dict[str, Baseline] = {"Naive": Naive(), "Drift": Drift()}
    if season is not None and n_seen >= MIN_PERIODS * season:
        added["SeasonalNaive"] = SeasonalNaive(season)
    return {**contest, **{name: each for name, each in added.items() if name not in contest}}


def _lines(found: dict[str, SeriesForecasts], loss: str, n: int, progress: Callable[[int], None] | None) -> list[Line]:
    """Return the scores of one series' forecasts, and test their differences."""
    base: Floats | None = None
    lines: list[Line] = []
    for name, each in found.items():
        step = each.horizon
        is_defined = not each.traces[step].is_point or loss in ("squared", "absolute")
        losses = each.losses(step, loss) if is_defined else None
        against = None if losses is None or base is None else _difference(losses, base, ceil(step / each.every))
        base = losses if not lines else base
        counts = each.counts(step)
        lines.append(Line(name, each.scores(step), against, counts.n_scored, counts.n_skipped, counts.n_left_out))
        if progress is not None:
            progress(n)
    return lines


def _with_settings(contest: Contest, settings: Mapping[str, Any], baselines: bool) -> Contest:
    """Return forecasters with these settings, where they have a use for them and were not given any.

    Parameters
    ----------
    contest : forecasters by name
    settings : mapping
        What is None is left open.
    baselines : bool
        Whether a baseline is added that has a use for a period.
    """
    chosen = {name: value for name, value in settings.items() if value is not None}
    for name, value in chosen.items():
        if not any(each._takes(name) for each in contest.values()) and not (baselines and name == "period"):
            raise ParameterError(
                f"{name} is {shown(value)}, but none of the forecasters has a use for it; leave it out."
            )
    return {
        key: each._with_settings({name: value for name, value in chosen.items() if each._takes(name)})
        for key, each in contest.items()
    }


def _aligned(found: dict[str, SeriesForecasts], skip: int) -> dict[str, SeriesForecasts]:
    """Return the forecasts that are made from as many observations as all of them need, and from `skip` at least."""
    start = max(skip, *(int(each.origins[0]) for each in found.values()))
    return {name: each.skipping(start) for name, each in found.items()}


def _named(forecasters: Mapping[str, Given] | Sequence[Given]) -> Mapping[str, Given]:
    """Return the forecasters by name."""
    if not isinstance(forecasters, Mapping | Sequence) or isinstance(forecasters, str):
        raise ParameterError(
            f"forecasters is {shown(forecasters)}, but must be a list of forecasters or models, or a dict of them by "
            "name."
        )
    if not forecasters:
        raise ParameterError("there is nothing to compare; give at least one forecaster or model.")
    if isinstance(forecasters, Mapping):
        return forecasters
    named: dict[str, Given] = {}
    for each in forecasters:
        kind = each.label if isinstance(each, Forecaster) else type(each).__name__
        again = sum(name == kind or name.startswith(f"{kind} ") for name in named)
        named[f"{kind} {again + 1}" if again else kind] = each
    return named


def _difference(losses: Floats, base: Floats, overlap: int) -> Difference | None:
    """Test a difference of losses; None if there are too few.

    Parameters
    ----------
    losses, base : arrays (n,)
    overlap : int
        How many forecasts are made before the target of one is seen: so far their errors are correlated.
    """
    n = int(np.count_nonzero(~np.isnan(losses - base)))
    return difference(losses, base, min(overlap, n // 2)) if n >= MIN_PAIRS else None
