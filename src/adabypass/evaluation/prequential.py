"""Forecast first, then look: how good a forecaster is on a series, one step ahead or many."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adabypass import tables
from adabypass.errors import ShapeError
from adabypass.evaluation.compare import FEWEST_PAIRS, Difference, difference
from adabypass.forecasting import Forecaster
from adabypass.model.predictive import concatenate
from adabypass.model.trace import Scores, Trace
from adabypass.panel.columns import TARGET, Columns, as_names
from adabypass.panel.pipeline import as_forecaster
from adabypass.panel.series import Panel
from adabypass.regressors import Regressor
from adabypass.validation import Floats, check_array, check_int

SKIP = 20
"""How many forecasts do not count: those from which every model learns what the series is like at all."""


class Evaluation(NamedTuple):
    """Forecasts of a series, each made before its target was seen."""

    traces: dict[int, Trace]
    """The forecasts so many steps ahead, and what then came."""
    skip: int
    """How many forecasts, from the first, do not count."""

    def scores(self, step: int = 1) -> Scores:
        """Score the forecasts `step` steps ahead."""
        return self.traces[step].scores(skip=self.skip)

    def losses(self, step: int = 1, loss: str = "log") -> Floats:
        """Give the loss of each forecast: "log" (negative log score), "crps", "squared" or "absolute" error."""
        trace = self.traces[step]
        error = trace.y - trace.mean
        kinds: dict[str, Callable[[], Any]] = {
            "log": lambda: -trace.log_score,
            "crps": lambda: trace.crps,
            "squared": lambda: error**2,
            "absolute": lambda: np.abs(error),
        }
        if loss not in kinds:
            raise ShapeError(f"loss is {loss!r}, but must be one of {', '.join(map(repr, kinds))}.")
        return np.asarray(kinds[loss]())[self.skip :]

    def __repr__(self) -> str:
        lines = [f"{'step':>4} " + " ".join(f"{name:>14}" for name in self.scores(min(self.traces)))]
        for step in self.traces:
            lines.append(f"{step:>4} " + " ".join(f"{value:>14.6g}" for value in self.scores(step).values()))
        return "\n".join(lines)


class Line(NamedTuple):
    """One model beside the first."""

    name: str
    scores: Scores
    difference: Difference | None
    """Of its loss less the first model's: below 0 where it is better. None for the first, where a loss is not
    defined, and where there are too few forecasts to tell."""


class Comparison(NamedTuple):
    """Models on the same observations."""

    lines: list[Line]
    loss: str
    evaluations: dict[str, Evaluation]

    def __repr__(self) -> str:
        names = ("rmse", "mae", "crps", "log_likelihood", "coverage_90", "width_90")
        against = f"{self.loss} loss less that of {self.lines[0].name}"
        rows = [f"{'':<22}" + "".join(f"{name:>15}" for name in names) + f"   {against}"]
        for line in self.lines:
            row = f"{line.name:<22}" + "".join(f"{line.scores.get(name, np.nan):>15.5g}" for name in names)
            if line.difference is not None:
                d = line.difference
                row += f"   {d.mean:+.4g} ± {d.standard_error:.2g} (p = {d.p_value:.2g})"
            rows.append(row)
        return "\n".join(rows)


def evaluate(
    forecaster: Forecaster | Regressor | None,
    data: object,
    exog: object = None,
    *,
    target: str = TARGET,
    time: str | None = None,
    horizon: int = 1,
    every: int | None = None,
    skip: int = SKIP,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Score a forecaster prequentially: each forecast is made before its target arrives, and scored when it does.

    The forecaster itself stays as it is; a copy learns.

    Parameters
    ----------
    forecaster : Forecaster, or a model to be put in one
        A new `Forecaster()` if None.
    data : array (n,), or a data frame that holds one series
        nan where the observation is missing.
    exog : array (n, n_exog), or names of columns, optional
        Their values at the targets are taken as known when the forecast is made.
    target, time : str
        Columns of a frame: `y`, and `ds` if it is there.
    horizon : whole number from 1
        Forecasts 1 to `horizon` steps ahead are scored.
    every : whole number from 1, optional
        From every so many observations a forecast is made; by default from every one if the horizon is 1, and
        otherwise from one in `horizon`.
    skip : whole number from 0
        How many forecasts do not count in the scores.
    progress : function, optional
        Called now and then with the number of observations done since the last call.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset
    >>> result = evaluate(Forecaster(lags=1), load_dataset("nile").y)
    >>> round(result.scores()["coverage_90"], 3)
    0.924
    """
    copy = as_forecaster(forecaster).copy()
    series, known = _observations(data, exog, target, time)
    steps = check_int(horizon, "horizon", minimum=1, maximum=100_000)
    if steps == 1 and every is None:
        trace = copy.run(series, known)
        if progress is not None:
            progress(len(series))
        return Evaluation({1: trace}, _skippable(trace, skip))
    stride = check_int(steps if every is None else every, "every", minimum=1, maximum=10_000_000)
    forecasts, at = [], 0
    while at < len(series):
        stop = min(at + stride, len(series))
        _advance(copy, series[at:stop], None if known is None else known[at:stop])
        at = stop
        if progress is not None:
            progress(stride)
        if at + steps <= len(series) and copy.is_ready and copy.n_seen:
            ahead = copy.forecast(steps, None if known is None else known[at : at + steps])
            forecasts.append((at, ahead.predictive))
    if not forecasts:
        raise ShapeError(f"y has {len(series)} observations: too few to forecast {steps} steps ahead.")
    traces = {
        step: Trace(
            y=np.array([series[origin + step - 1] for origin, _ in forecasts]),
            predictive=concatenate([each[step - 1] for _, each in forecasts]),
            history={},
            first=forecasts[0][0] + step - 1,
        )
        for step in range(1, steps + 1)
    }
    return Evaluation(traces, _skippable(traces[1], skip))


def compare(
    forecasters: Mapping[str, Forecaster | Regressor] | Sequence[Forecaster | Regressor],
    data: object,
    exog: object = None,
    *,
    target: str = TARGET,
    time: str | None = None,
    horizon: int = 1,
    skip: int = SKIP,
    loss: str = "log",
    progress: Callable[[str, int], None] | None = None,
) -> Comparison:
    """Score several forecasters on the same observations, and test their differences against the first.

    Parameters
    ----------
    forecasters : mapping of names to forecasters or models, or a list of them
        In a list each goes by the name of its model's class, numbered where it comes again. The first is what the
        others are compared with.
    data, exog, target, time, horizon, skip
        As in `evaluate`. Scores are those of the farthest step. Only observations that all have forecast count.
    loss : "log", "crps", "squared" or "absolute"
        What the differences are of.
    progress : function, optional
        Called with a forecaster's name and the number of observations done: of each twice, forecast and scored.

    Examples
    --------
    >>> from adabypass import AutoBypass, SequentialKalman, load_dataset
    >>> table = compare({"auto": AutoBypass(), "SKF": SequentialKalman()}, load_dataset("nile").y)
    >>> table.lines[1].difference.mean > 0      # the log loss of the SKF is larger
    True
    """
    series, known = _observations(data, exog, target, time)
    evaluations = {}
    for name, each in _named(forecasters).items():
        report = None if progress is None else (lambda n, name=name: progress(name, n))
        evaluations[name] = evaluate(each, series, known, horizon=horizon, skip=0, progress=report)
    traces = {name: each.traces[horizon] for name, each in evaluations.items()}
    first = max(trace.first for trace in traces.values())
    stride = 1 if horizon == 1 else horizon
    aligned = {}
    for name, trace in traces.items():
        start = (first - trace.first) // stride + skip
        aligned[name] = Evaluation({horizon: trace}, min(start, max(len(trace) - 1, 0)))
    base: Floats | None = None
    lines: list[Line] = []
    for name, result in aligned.items():
        is_point = result.traces[horizon].is_point and loss in ("log", "crps")
        losses = None if is_point else result.losses(horizon, loss)
        against = None if not lines or base is None or losses is None else _difference(losses, base)
        base = losses if not lines else base
        lines.append(Line(name, result.scores(horizon), against))
        if progress is not None:
            progress(name, len(series))
    # With what each skips, so that scoring them again gives the same numbers.
    scored = {name: each._replace(skip=aligned[name].skip) for name, each in evaluations.items()}
    return Comparison(lines, loss, scored)


def _named(
    forecasters: Mapping[str, Forecaster | Regressor] | Sequence[Forecaster | Regressor],
) -> Mapping[str, Forecaster | Regressor]:
    """Give each a name."""
    if not forecasters:
        raise ShapeError("there is nothing to compare; give at least one forecaster or model.")
    if isinstance(forecasters, Mapping):
        return forecasters
    named: dict[str, Forecaster | Regressor] = {}
    for each in forecasters:
        kind = type(each.model if isinstance(each, Forecaster) else each).__name__
        again = sum(name.split(" ")[0] == kind for name in named)
        named[f"{kind} {again + 1}" if again else kind] = each
    return named


def _difference(losses: Floats, base: Floats) -> Difference | None:
    enough = np.count_nonzero(~np.isnan(losses - base)) >= FEWEST_PAIRS
    return difference(losses, base) if enough else None


def _observations(data: Any, exog: Any, target: str, time: str | None) -> tuple[Floats, Floats | None]:
    """Take the observations and exogenous values out of arrays, or of a frame's columns."""
    if not (isinstance(data, Mapping) or hasattr(data, "columns")):
        series = check_array(data, "data")
        known = None if exog is None else check_array(exog, "exog")
        return series, known[:, None] if known is not None and known.ndim == 1 else known
    panel = Panel(tables.from_frame(data), Columns(target, time, None, () if exog is None else as_names(exog, "exog")))
    if len(panel) > 1:
        raise ShapeError(f"the frame holds {len(panel)} series, but they are evaluated one by one; choose one.")
    found = panel.series(panel.names[0])
    return found.y, found.exog


def _skippable(trace: Trace, skip: int) -> int:
    """Leave a short series its last forecast to score."""
    return min(check_int(skip, "skip", minimum=0, maximum=1_000_000_000), len(trace) - 1)


def _advance(forecaster: Forecaster, y: Floats, exog: Floats | None) -> None:
    """Let the forecaster see some more, be it ready to forecast or not."""
    if forecaster.is_ready:
        forecaster.run(y, exog)
        return
    for i, value in enumerate(y):
        forecaster.update(value, None if exog is None else exog[i])
