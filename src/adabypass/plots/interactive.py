"""The fan chart, the history and the components once more with plotly: to zoom, and to read values off with the mouse.

Every function returns a plotly Figure: a new one, or the one it is given, on which it draws as well. Needs the extra
`plotly`. Of a long series, some 1,500 moments are drawn, as by matplotlib.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from adabypass.data.text import printable
from adabypass.errors import MissingExtraError, ParameterError
from adabypass.plots import canvas
from adabypass.plots.canvas import MARK, OBSERVED, PREDICTED, Times
from adabypass.plots.forecasts import check_levels, future_times
from adabypass.plots.learned import LINES
from adabypass.results.explanation import Explanation, season_in_words
from adabypass.results.trace import Trace
from adabypass.validation import Floats, check_array, shown

try:
    from plotly.graph_objects import Figure, Scatter
    from plotly.subplots import make_subplots
except ImportError as missing:
    raise MissingExtraError(
        "adabypass.plots.interactive needs plotly; install it with: pip install 'adabypass[plotly]'"
    ) from missing

HEIGHT = 220
"""Pixels of a panel of components."""


def fan(
    forecast: Any,
    y: Any = None,
    time: object = None,
    future_time: object = None,
    *,
    levels: Sequence[float] = (0.5, 0.9),
    history: int | None = None,
    fig: Figure | None = None,
) -> Figure:
    """Draw the end of a series, and the intervals in which it is expected to go on, to zoom into.

    Parameters
    ----------
    forecast : Forecast
        Of several steps ahead.
    y, time, future_time, levels, history
        As in `adabypass.plots.fan`.
    fig : plotly Figure, optional
        On which to draw; a new one if not given.

    Examples
    --------
    >>> from adabypass import Naive
    >>> from adabypass.plots import interactive
    >>> model = Naive()
    >>> trace = model.run([3.0, 4.0, 2.0, 3.0, 5.0, 4.0])
    >>> [each.name for each in interactive.fan(model.forecast(3), trace.y).data]
    ['90 % interval', '50 % interval', 'forecast', 'observed']
    """
    y, time, name = canvas.observed(y, time)
    past = np.empty(0) if y is None else check_array(y, "y")
    at = canvas.times(time, len(past))
    ahead = future_times(at, time, future_time, len(forecast))
    shown_past = slice(-(max(4 * len(forecast), 50) if history is None else history), None)
    fig = _new(name or None) if fig is None else fig
    for level, strength in _strengths([] if forecast.is_point else levels):
        low, high = forecast.interval(level)
        _band(fig, ahead, low, high, f"{100 * level:g} % interval", strength)
    _line(fig, ahead, forecast.mean, "forecast", PREDICTED)
    if len(past):
        _dots(fig, at[shown_past], past[shown_past])
    return fig


def history(
    trace: Trace, time: object = None, *, levels: Sequence[float] = (0.5, 0.9), fig: Figure | None = None
) -> Figure:
    """Draw the observations over the intervals in which each was expected, to zoom into.

    Parameters
    ----------
    trace
        What `run` gave.
    time, levels
        As in `adabypass.plots.history`.
    fig : plotly Figure, optional
        On which to draw; a new one if not given.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset
    >>> from adabypass.plots import interactive
    >>> nile = load_dataset("nile")
    >>> fig = interactive.history(Forecaster().run(nile.y), nile.time)
    >>> fig.data[-1].name
    'observed'
    """
    chosen = canvas.chosen_moments(len(trace))
    at = canvas.times(time, len(trace), first=trace.first)[chosen]
    predictive = trace.predictive[chosen]
    sd = np.zeros(len(chosen)) if trace.is_point else trace.sd[chosen]
    fig = _new(None) if fig is None else fig
    for level, strength in _strengths([] if trace.is_point else levels):
        low, high = (canvas.known(end, sd) for end in predictive.interval(level))
        _band(fig, at, low, high, f"{100 * level:g} % interval", strength)
    _line(fig, at, canvas.known(predictive.mean, sd), "forecast", PREDICTED)
    _dots(fig, at, trace.y[chosen])
    return fig


def components(explanation: Explanation) -> Figure:
    """Draw what carries a forecast, each part in a panel of its own, to zoom into.

    Parameters
    ----------
    explanation
        What `explain` gave.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset
    >>> from adabypass.plots import interactive
    >>> nile = load_dataset("nile")
    >>> forecaster = Forecaster()
    >>> forecaster.learn(nile.y)
    >>> fig = interactive.components(forecaster.explain(5, y=nile.y))
    """
    if not isinstance(explanation, Explanation):
        raise ParameterError(f"explanation is {shown(explanation)}, but must be what explain() gives.")
    it = explanation.contributions
    lines: dict[str, Floats] = {}
    if it is not None:
        lines["level"] = it.parts["level"] + it.parts["slope"]
        lines |= {
            name: part
            for name, part in it.parts.items()
            if name not in ("level", "slope", "other", "zeros") and not name.startswith("season_")
        }
    seasons = {name: season for name, season in explanation.seasons.items() if np.any(season.effect)}
    titles = (["the series"] if it is not None else []) + list(lines)
    titles += [season_in_words(name, explanation.step) for name in seasons]
    if not titles:
        raise ParameterError("there is nothing to draw over time; pass explain() a horizon, or the past as y.")
    fig = make_subplots(rows=len(titles), cols=1, subplot_titles=[printable(each) for each in titles])
    fig.update_layout(template="plotly_white", height=HEIGHT * len(titles), showlegend=False)
    row = 0
    if it is not None:
        row = 1
        _dots(fig, it.time, it.y, row=1)
        _line(fig, it.time, it.mean, "mean", PREDICTED, row=1)
        for number, (name, values) in enumerate(lines.items()):
            row += 1
            _line(fig, it.time, values, name, LINES[number % len(LINES)], row=row)
    for name, season in seasons.items():
        row += 1
        at = np.array(season.positions)
        _band(fig, at, season.effect.lower, season.effect.upper, "90 %", 0.3, MARK, row=row)
        _line(fig, at, season.effect.median, name, MARK, row=row)
    return fig


def _new(y_label: str | None) -> Figure:
    fig = Figure()
    fig.update_layout(
        template="plotly_white", yaxis_title=y_label, hovermode="x unified",
        legend={"orientation": "h", "y": 1.08, "x": 1, "xanchor": "right"}, margin={"t": 40, "r": 20},
    )  # fmt: skip
    return fig


def _strengths(levels: Sequence[float]) -> list[tuple[float, float]]:
    """Return each level, the widest first, with how strongly its interval is coloured."""
    ordered = check_levels(levels) if len(levels) else []
    return list(zip(ordered, np.linspace(0.17, 0.38, len(ordered)).tolist(), strict=True))


def _band(
    fig: Figure, at: Times, low: Floats, high: Floats, name: str, strength: float, color: str = PREDICTED, **place: Any
) -> None:
    """Fill between two lines, each stretch without gaps by itself."""
    known = np.isfinite(low) & np.isfinite(high)
    red, green, blue = (round(255 * part) for part in canvas.tint(strength, color))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]])))
    for number, (start, stop) in enumerate(zip(edges[::2], edges[1::2], strict=True)):
        part = slice(int(start), int(stop))
        x = np.concatenate([at[part], at[part][::-1]])
        outline = np.concatenate([high[part], low[part][::-1]])
        fig.add_trace(
            Scatter(
                x=x, y=outline, fill="toself", fillcolor=f"rgb({red},{green},{blue})", line={"width": 0}, mode="lines",
                name=name, legendgroup=name, showlegend=number == 0, hoverinfo="skip",
            ),
            **_where(place),
        )  # fmt: skip


def _line(fig: Figure, at: Times, values: Floats, name: str, color: str, **place: Any) -> None:
    mode = "lines" if len(at) > 1 else "markers"
    fig.add_trace(Scatter(x=at, y=values, name=name, mode=mode, line={"color": color, "width": 1.6}), **_where(place))


def _dots(fig: Figure, at: Times, y: Floats, **place: Any) -> None:
    marker = {"color": OBSERVED, "size": 3 if len(y) > 200 else 5}
    fig.add_trace(Scatter(x=at, y=y, name="observed", mode="markers", marker=marker), **_where(place))


def _where(place: dict[str, Any]) -> dict[str, Any]:
    return {"row": place["row"], "col": 1} if place else {}
