"""Several forecasters on the same observations, and whether their differences are more than chance."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adabypass.data import frames
from adabypass.data.freq import Freq
from adabypass.data.periods import season_of
from adabypass.errors import ParameterError
from adabypass.evaluation.diebold_mariano import MIN_PAIRS, Difference, difference
from adabypass.evaluation.observations import observations
from adabypass.evaluation.prequential import MAX_SKIP, SKIP, Evaluation, check_loss, evaluate
from adabypass.forecasting import Baseline, Drift, Forecaster, Naive, SeasonalNaive
from adabypass.panel.batch import copy_for
from adabypass.panel.columns import TARGET
from adabypass.panel.pipeline import as_forecaster
from adabypass.regressors import Regressor
from adabypass.results.trace import Scores
from adabypass.validation import Floats, check_flag, check_function, check_int, shown

MIN_LENGTH_FOR_BASELINES = 20
"""Observations that a series needs for baselines to be added: they forecast from the fifth on."""
MIN_PERIODS = 4
"""Periods that a series needs for the seasonal baseline: it forecasts from the second on, and so all others do."""
Contest: TypeAlias = Mapping[str, Forecaster | Baseline | Regressor]
SHOWN = ("rmse", "mae", "crps", "log_likelihood", "coverage_90", "width_90")


class Line(NamedTuple):
    """One model beside the first."""

    name: str
    scores: Scores
    difference: Difference | None
    """Of its loss less the first model's: below 0 where it is better. None for the first, where a loss is not
    defined, and where there are too few forecasts to test it."""
    n_scored: int
    """How many forecasts the scores are of."""
    n_skipped: int
    """How many, from the first, are not scored: `skip`, and those that another model could not make yet."""
    n_left_out: int
    """How many more are not scored: their target is missing, or they knew nothing of it."""


class Comparison(NamedTuple):
    """Models on the same observations."""

    lines: list[Line]
    loss: str
    evaluations: dict[str, Evaluation]
    """By the models' names; each skips what another model had not forecast yet."""

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
        first = self.evaluations[self.lines[0].name]
        return "\n".join([first.counts(max(first.traces)), *rows])

    def columns(self) -> dict[str, Any]:
        """Return what a table shows: of each model counts, scores, and the difference of its loss from the first's."""
        lines, missing = self.lines, float("nan")
        columns: dict[str, Any] = {"model": np.array([line.name for line in lines])}
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
        """Return the table as a data frame, one row for each model.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
        """
        return frames.make({name: frames.portable(column) for name, column in self.columns().items()}, backend)


def compare(
    data: object,
    forecasters: Contest | Sequence[Forecaster | Baseline | Regressor],
    exog: object = None,
    *,
    target: str = TARGET,
    time: str | None = None,
    calendar: str | Sequence[str] = (),
    freq: Freq | None = None,
    horizon: int = 1,
    every: int | None = None,
    skip: int = SKIP,
    loss: str = "log",
    baselines: bool = True,
    progress: Callable[[str, int], None] | None = None,
) -> Comparison:
    """Score several forecasters on the same observations, and test their differences against the first.

    Parameters
    ----------
    data : array (n,), or a data frame that holds one series
    forecasters : mapping of names to forecasters or models, or a list of them
        In a list each goes by what makes it, as in "Forecaster(lags=2)", or by the name of its class, numbered where it
        comes again. The others are compared with the first.
    exog, target, time, calendar, freq, horizon, every, skip
        As in `evaluate`. Scores are those of the farthest step. Only observations that all have forecast are scored.
    loss : "log", "crps", "squared" or "absolute"
        What the differences are of.
    baselines : bool
        Whether `Naive`, `Drift` and, where the times of a frame tell a period, `SeasonalNaive` are added at the end:
        what a forecaster should beat. None is added if one is among the forecasters, nor to a series of fewer than 20
        observations.
    progress : function, optional
        Called with a forecaster's name and the number of observations done: of each twice, forecast and scored.

    Examples
    --------
    >>> from adabypass import AutoBypass, SequentialKalman, load_dataset
    >>> table = compare(load_dataset("nile").y, {"auto": AutoBypass(), "SKF": SequentialKalman()})
    >>> table.lines[1].difference.mean > 0      # the log loss of the SKF is larger
    True
    """
    check_loss(loss)
    check_function(progress, "progress")
    check_flag(baselines, "baselines")
    skip = check_int(skip, "skip", minimum=0, maximum=MAX_SKIP)
    series, known, frequency = observations(data, exog, target, time, calendar, freq)
    contest = _named(forecasters)
    found = {}
    for name, each in (_with_baselines(contest, series, season_of(frequency)) if baselines else contest).items():
        report = None if progress is None else (lambda n, name=name: progress(name, n))
        twin = copy_for(frequency, as_forecaster(each))
        found[name] = evaluate(series, twin, known, horizon=horizon, every=every, skip=0, progress=report)
    evaluations = _aligned(found, skip)
    base: Floats | None = None
    lines: list[Line] = []
    for name, result in evaluations.items():
        is_defined = not result.trace(horizon).is_point or loss in ("squared", "absolute")
        losses = result.losses(horizon, loss) if is_defined else None
        against = None if losses is None or base is None else _difference(losses, base, ceil(horizon / result.every))
        base = losses if not lines else base
        lines.append(Line(name, result.scores(horizon), against, *_counts(result, horizon)))
        if progress is not None:
            progress(name, len(series))
    return Comparison(lines, loss, evaluations)


def _counts(result: Evaluation, step: int) -> tuple[int, int, int]:
    """Return how many forecasts are scored, skipped and left out."""
    return result.n_scored(step), result.n_skipped, result.n_left_out(step)


def _with_baselines(contest: Contest, series: Floats, period: int | None) -> Contest:
    """Return the forecasters with baselines after them."""
    has_one = any(isinstance(each, Baseline) for each in contest.values())
    n_seen = int(np.count_nonzero(~np.isnan(series)))
    if has_one or n_seen < MIN_LENGTH_FOR_BASELINES:
        return contest
    added: dict[str, Baseline] = {"Naive": Naive(), "Drift": Drift()}
    if period is not None and n_seen >= MIN_PERIODS * period:
        added["SeasonalNaive"] = SeasonalNaive(period)
    return {**contest, **{name: each for name, each in added.items() if name not in contest}}


def _aligned(evaluations: dict[str, Evaluation], skip: int) -> dict[str, Evaluation]:
    """Return evaluations that skip what any of them had not forecast yet, and `skip` forecasts more."""
    first = max(int(each.origins[0]) for each in evaluations.values())
    starts = {name: int(np.searchsorted(each.origins, first)) + skip for name, each in evaluations.items()}
    return {name: each._replace(skip=min(starts[name], len(each.origins) - 1)) for name, each in evaluations.items()}


def _named(forecasters: Contest | Sequence[Forecaster | Baseline | Regressor]) -> Contest:
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
    named: dict[str, Forecaster | Baseline | Regressor] = {}
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
