"""Observations beside their forecasts, and forecasts of the steps to come."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from adabypass.errors import NotReadyError, ParameterError, ShapeError
from adabypass.plots import canvas
from adabypass.plots.canvas import BAND, OBSERVED, PREDICTED, Axes, Times
from adabypass.plots.frames import FrameForecast, forecasts_in
from adabypass.results.trace import Trace
from adabypass.validation import Floats, check_array, check_int

MAX_HISTORY = 1_000_000_000
CROWDED = 1_000
"""Number of observations from which on lines are thinner."""


class Ahead(Protocol):
    """A forecast of several steps ahead."""

    @property
    def mean(self) -> Any:
        """Expected values, shape (n_steps,)."""

    @property
    def paths(self) -> Any:
        """Simulated futures, shape (n_paths, n_steps), or None."""

    def interval(self, level: float) -> tuple[Any, Any]:
        """Return the bounds of the central interval of each step, arrays (n_steps,)."""

    def __len__(self) -> int:
        """Return the number of steps."""


def predictions(trace: Trace, time: object = None, *, offset: float = 0.0, ax: Axes | None = None) -> Axes:
    """Draw the observations, the forecast of each before it was seen, and a band of one standard deviation.

    Parameters
    ----------
    trace
        What `run` gave.
    time : array (n,), optional
        When each observation was made; their number if not given.
    offset
        Added to observations and forecasts: the mean, say, of a series that was centred.
    ax
        Where to draw; new axes if not given.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset, plots
    >>> nile = load_dataset("nile")
    >>> trace = Forecaster(lags=1).run(nile.y[:100])
    >>> axes = plots.predictions(trace, nile.time[:100])
    """
    ax = canvas.new_axes() if ax is None else ax
    at = canvas.times(time, len(trace), first=trace.first)
    mean, sd = canvas.known(trace.mean + offset, trace.sd), trace.sd
    canvas.band(ax, at, mean - sd, mean + sd, BAND, "± 1 sd")
    ax.plot(at, mean, color=PREDICTED, linewidth=1.1, label="forecast, one step ahead")
    ax.plot(at, trace.y + offset, "D", color=OBSERVED, markersize=1.8, label="observed")
    if len(trace) > 1:
        canvas.frame(ax, trace.y + offset, (mean - sd)[1:], (mean + sd)[1:])
    canvas.tidy(ax, at)
    canvas.legend(ax, columns=3)
    return ax


def history(trace: Trace, time: object = None, levels: Sequence[float] = (0.5, 0.9), ax: Axes | None = None) -> Axes:
    """Draw the observations over the central intervals in which each was expected before it was seen.

    The first forecasts, made when nothing is known yet, have no bounds and are left blank. Point forecasts are a line.

    Parameters
    ----------
    trace
        What `run` gave.
    time : array (n,), optional
        When each observation was made; their number if not given.
    levels : numbers between 0 and 1
        Of the intervals.
    ax
        Where to draw; new axes if not given.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset, plots
    >>> nile = load_dataset("nile")
    >>> trace = Forecaster(lags=1).run(nile.y[:100])
    >>> axes = plots.history(trace, nile.time[:100])
    """
    at, chosen = canvas.times(time, len(trace), first=trace.first), canvas.chosen_moments(len(trace))
    predictive = trace.predictive[chosen]
    sd = np.zeros(len(chosen)) if trace.is_point else trace.sd[chosen]
    ordered = [] if trace.is_point else check_levels(levels)
    bands = [tuple(canvas.known(end, sd) for end in predictive.interval(level)) for level in ordered]
    ax = canvas.new_axes() if ax is None else ax
    _nested(ax, at[chosen], bands, ordered)
    thin = 1.0 if len(trace) < CROWDED else 0.7
    ax.plot(at[chosen], canvas.known(predictive.mean, sd), color=PREDICTED, linewidth=thin, label="forecast")
    canvas.observations(ax, at, trace.y, joined=False)
    canvas.frame(ax, trace.y, *(bands[0] if bands else (predictive.mean, predictive.mean)))
    canvas.tidy(ax, at)
    canvas.legend(ax)
    return ax


def fan(
    forecast: Any,
    y: Any = None,
    time: object = None,
    future_time: object = None,
    levels: Sequence[float] | None = None,
    paths: int = 0,
    ax: Any = None,
    *,
    history: int | None = None,
    target: str = "y",
) -> Any:
    """Draw the end of a series, and the intervals in which it is expected to go on.

    Parameters
    ----------
    forecast
        Of several steps ahead: it has a `mean`, `interval(level)`, a length, and `paths` or None. Or the data frame
        that `forecast(frame)` returned, of up to 12 series, each in a panel of its own.
    y : array (n,), pandas Series, data set or data frame, optional
        What was observed before; nan where nothing was. A Series or what `load_dataset` returns bring their times and
        their name. For a data frame of forecasts, the one they were made from.
    time : array (n,), optional
        When each observation was made; their number if not given.
    future_time : array (n_steps,), optional
        When each step ahead will be; if not given, the middle one of the steps of `time` is repeated.
    levels : numbers between 0 and 1, optional
        Of the intervals: 0.5 and 0.9 if not given, or those of the data frame.
    paths : whole number
        How many of the forecast's simulated futures to draw as well.
    ax
        Where to draw: Axes, or one for each series of a data frame; new axes if not given.
    history : whole number, optional
        How many of the last observations to draw; four times as many as there are steps, at least 50, if not given.
    target : str
        Name of the column of observations in a data frame `y`.

    Returns
    -------
    Axes
        An array of them for a data frame with several series.

    Examples
    --------
    >>> from adabypass import forecast, load_dataset, plots
    >>> air = load_dataset("air_passengers").to_frame()
    >>> axes = plots.fan(forecast(air, horizon=24), air)
    """
    if not hasattr(forecast, "interval"):
        if time is not None or future_time is not None or paths:
            raise ParameterError("a data frame of forecasts has its times, and no paths; leave time and paths out.")
        return _fans(forecasts_in(forecast, y, target), levels, ax, history, target)
    return _fan(forecast, y, time, future_time, (0.5, 0.9) if levels is None else levels, paths, ax, history)


def _fans(found: list[FrameForecast], levels: Sequence[float] | None, ax: Any, history: int | None, target: str) -> Any:
    """Draw the forecasts of a data frame, each on axes of its own."""
    axes = canvas.grid_of_axes(len(found)) if ax is None else np.ravel(np.asarray(ax, dtype=object))
    if len(axes) != len(found):
        raise ShapeError(f"there are {len(axes)} axes for {len(found)} series; pass one for each.")
    for panel, each in zip(axes, found, strict=True):
        own = each.levels if levels is None else levels
        _fan(each, each.y, each.time, each.future_time, own, 0, panel, history)
        canvas.label(panel, y="" if target == "y" else target, title=each.name)
    if len(found) == 1:
        return axes[0] if ax is None else ax
    canvas.shared_legend(axes)
    return axes


def _fan(
    forecast: Ahead, y: object, time: object, future_time: object, levels: Sequence[float], paths: int,
    ax: Axes | None, history: int | None,
) -> Axes:  # fmt: skip
    drawn_paths = _paths(forecast, paths)
    y, time, name = canvas.observed(y, time)
    past = np.empty(0) if y is None else check_array(y, "y")
    at = canvas.times(time, len(past))
    ahead = future_times(at, time, future_time, len(forecast))
    shown = (
        max(4 * len(forecast), 50) if history is None else check_int(history, "history", minimum=1, maximum=MAX_HISTORY)
    )
    past, at = past[-shown:], at[-shown:]
    ordered = [] if getattr(forecast, "is_point", False) else check_levels(levels)
    mean, *bounds = _finite(forecast.mean, *(end for level in ordered for end in forecast.interval(level)))
    bands = list(zip(bounds[::2], bounds[1::2], strict=True))
    widest = bands[0] if bands else (mean, mean)
    ax = canvas.new_axes() if ax is None else ax
    _nested(ax, ahead, bands, ordered)
    for number, path in enumerate(drawn_paths):
        ax.plot(ahead, path, color="0.45", linewidth=0.6, alpha=0.8, label=None if number else "simulated")
    dot: dict[str, Any] = {"marker": "o", "markersize": 3} if len(forecast) == 1 else {}
    ax.plot(ahead, mean, color=PREDICTED, linewidth=1.4, label="forecast", **dot)
    if len(past):
        canvas.observations(ax, at, past, joined=True)
        ax.axvline(at[-1], color="0.6", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0.5)
    canvas.frame(ax, np.concatenate([past, *drawn_paths, *widest]), *widest)  # what is to come is all in view
    if len(past) == 0 and future_time is None:
        ax.set_xlabel("steps ahead")
    if name and not ax.get_ylabel():
        ax.set_ylabel(canvas.plain(name))
    canvas.tidy(ax, ahead)
    canvas.legend(ax)
    return ax


def _finite(*arrays: Floats) -> list[Floats]:
    """Return arrays with nan where one of them is not finite: nothing is known of such a step."""
    is_known = np.all([np.isfinite(array) for array in arrays], axis=0)
    return [np.where(is_known, array, np.nan) for array in arrays]


def check_levels(levels: Sequence[float]) -> list[float]:
    """Return levels of intervals, the widest first; there must be one."""
    ordered = sorted(levels, reverse=True)
    if not ordered:
        raise ParameterError("levels is empty, but a fan needs at least one; pass (0.5, 0.9), say.")
    return ordered


def _nested(ax: Axes, at: Times, bands: Sequence[tuple[Floats, ...]], levels: Sequence[float]) -> None:
    """Fill each interval, the widest first and lightest."""
    for (low, high), level, strength in zip(bands, levels, np.linspace(0.17, 0.38, len(levels)), strict=True):
        canvas.band(ax, at, low, high, canvas.tint(float(strength)), f"{100 * level:g} % interval")


def _paths(forecast: Ahead, paths: int) -> Any:
    if check_int(paths, "paths", minimum=0, maximum=MAX_HISTORY) == 0:
        return []
    if forecast.paths is None:
        raise NotReadyError(f"paths is {paths}, but this forecast holds no simulated paths; let paths be 0.")
    return forecast.paths[:paths]


def future_times(at: Times, time: object, future_time: object, n_steps: int) -> Times:
    """Return the moments of the steps ahead: those given, or the past's steps repeated."""
    if future_time is not None:
        if time is None and len(at):
            raise ShapeError("future_time is given but time is not; pass the moments of y as `time` too.")
        return canvas.times(future_time, n_steps, "future_time")
    if len(at) == 0:
        return np.arange(1, n_steps + 1)
    if len(at) == 1 and time is not None:
        raise ShapeError("the time step cannot be inferred from a single time; pass future_time.")
    step = np.sort(np.diff(at))[(len(at) - 1) // 2] if len(at) > 1 else 1
    future: Times = at[-1] + step * np.arange(1, n_steps + 1)
    return future
