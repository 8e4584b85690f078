"""What carries a forecast: the series with its level, its exogenous columns and its seasons, and the structures."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from adabypass.errors import ParameterError, ShapeError
from adabypass.plots import canvas
from adabypass.plots.canvas import MARK, PREDICTED, Axes, Figure
from adabypass.plots.learned import LINES, STYLES
from adabypass.results.explanation import Contributions, Effect, Explanation, Season, a_step, season_in_words
from adabypass.validation import shown

MAX_BARS = 8
MAX_NAMES = 31
"""Positions of a season up to which each has its name at the axis."""
REST = ("zeros", "other")
MIN_REST = 0.01
"""Size from which on the rest is drawn, over that of the mean."""
Draw = Callable[[Axes], None]


def components(explanation: Explanation, ax: Any = None) -> "np.ndarray[Any, np.dtype[Any]]":
    """Draw what carries a forecast, each part in a panel of its own, one above the other.

    Over time, where a horizon or the past was explained: the series with the mean that the parts add up to; the level;
    what exogenous columns add; zeros and the rest, if they add more than a hundredth. Then what each season adds, by
    weekday or month where dates are known; effects of exogenous columns, where nothing is drawn over time; and the
    structures with the largest shares.

    Parameters
    ----------
    explanation
        What `explain` gave.
    ax : array of Axes, optional
        Where to draw, one for each panel; new axes if not given.

    Returns
    -------
    array of Axes
        One for each panel.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset, plots
    >>> forecaster = Forecaster(period=12)
    >>> forecaster.learn(load_dataset("air_passengers").y)
    >>> axes = plots.components(forecaster.explain(horizon=12))
    """
    if not isinstance(explanation, Explanation):
        raise ParameterError(f"explanation is {shown(explanation)}, but must be what explain() gives.")
    over_time, others = _over_time(explanation), _others(explanation)
    panels = over_time | others
    axes = _new_axes(len(over_time), len(others)) if ax is None else np.ravel(np.asarray(ax, dtype=object))
    if len(axes) != len(panels):
        raise ShapeError(
            f"there are {len(axes)} axes for {len(panels)} panels, {', '.join(panels)}; pass one for each."
        )
    for panel, (name, draw) in zip(axes, panels.items(), strict=True):
        draw(panel)
        if not panel.get_title(loc="left"):
            canvas.label(panel, panel.get_xlabel(), panel.get_ylabel(), name)
    return axes


def _over_time(explanation: Explanation) -> dict[str, Draw]:
    """Return what draws each panel over time, by its title."""
    it = explanation.contributions
    if it is None:
        return {}
    level, slope = explanation.level, explanation.slope
    title = (
        f"level: now {level.median:.4g} ({level.lower:.4g} to {level.upper:.4g}), slope {slope.median:+.3g} "
        f"({slope.lower:+.3g} to {slope.upper:+.3g}) {a_step(explanation.step)}"
    )
    panels: dict[str, Draw] = {"the series": partial(_draw_series, it=it)}
    panels[title] = partial(
        _draw_lines, it=it, lines={"level": it.parts["level"] + it.parts["slope"]}, what=it.target_name
    )
    columns = {name: values for name, values in it.parts.items() if _is_exog(name)}
    if columns:
        lines = {_with_effect(name, explanation.effects.get(name)): values for name, values in columns.items()}
        panels["exogenous columns"] = partial(_draw_lines, it=it, lines=lines)
    rest = {name: it.parts[name] for name in REST if name in it.parts}
    if any(np.abs(values).max(initial=0.0) > MIN_REST * np.abs(it.mean).max() for values in rest.values()):
        panels["zeros, and the rest of the forecast" if "zeros" in rest else "the rest of the forecast"] = partial(
            _draw_lines, it=it, lines=rest
        )
    return panels


def _is_exog(name: str) -> bool:
    return name not in ("level", "slope", *REST) and not name.startswith("season_")


def _with_effect(name: str, effect: Effect | None) -> str:
    if effect is None:
        return name
    return f"{name} ({effect.per_unit.median:+.3g} {'when 1' if effect.is_switch else 'a unit'})"


def _others(explanation: Explanation) -> dict[str, Draw]:
    panels: dict[str, Draw] = {
        season_in_words(name, explanation.step): partial(
            _draw_season, season=season, step=explanation.step, target=explanation.target_name
        )
        for name, season in explanation.seasons.items()
        if np.any(season.effect)
    }
    if explanation.contributions is None and explanation.effects:
        panels["exogenous columns"] = partial(
            _draw_effects, effects=explanation.effects, target=explanation.target_name
        )
    panels["structures with the largest shares"] = partial(_draw_shares, shares=explanation.shares)
    return panels


def _new_axes(n_over_time: int, n_others: int) -> "np.ndarray[Any, np.dtype[Any]]":
    n = n_over_time + n_others
    figure = Figure(figsize=(10, 0.6 + 2.2 * n), layout="constrained")
    axes = canvas.shown_panels(figure.subplots(n, 1, squeeze=False)[:, 0])
    for ax in axes[1:n_over_time]:
        ax.sharex(axes[0])
    return axes


def _draw_series(ax: Axes, it: Contributions) -> None:
    past = len(it.y) - it.n_ahead
    if past:
        canvas.observations(ax, it.time[:past], it.y[:past], joined=False)
        ax.plot(it.time[:past], it.mean[:past], color=PREDICTED, linewidth=0.7, label="mean, the sum of all parts")
    if it.n_ahead:
        dot = "o" if it.n_ahead == 1 else ""
        ax.plot(it.time[past:], it.mean[past:], color=PREDICTED, linewidth=1.6, marker=dot, label="forecast")
    _mark_now(ax, it)
    canvas.label(ax, y=it.target_name)
    canvas.tidy(ax, it.time)
    canvas.legend(ax)


def _draw_lines(ax: Axes, it: Contributions, lines: dict[str, Any], what: str = "") -> None:
    for i, (name, values) in enumerate(lines.items()):
        color, style = LINES[i % len(LINES)], STYLES[i // len(LINES) % len(STYLES)]
        ax.plot(it.time, values, color=color, linestyle=style, linewidth=1.3, label=canvas.plain(name))
    canvas.label(ax, y=what or _added_to(it.target_name))
    _mark_now(ax, it)
    canvas.tidy(ax, it.time)
    if list(lines) != ["level"]:
        canvas.legend(ax, columns=4)


def _added_to(target: str) -> str:
    return f"added to {target}"


def _mark_now(ax: Axes, it: Contributions) -> None:
    if 0 < it.n_ahead < len(it.y):
        ax.axvline(it.time[-it.n_ahead - 1], color="0.6", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0.5)


def _draw_season(ax: Axes, season: Season, step: str, target: str) -> None:
    at = np.arange(1.0, len(season.positions) + 1)
    median, lower, upper = season.effect
    canvas.band(ax, at, lower, upper, canvas.tint(0.3, MARK))
    ax.plot(at, median, color=MARK, linewidth=1.3, marker="o" if len(at) <= MAX_NAMES else "", markersize=3)
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    is_named = not all(position.isdigit() for position in season.positions)
    if is_named and len(at) <= MAX_NAMES:
        ax.set_xticks(at, [_short(position) for position in season.positions])
    elif is_named:
        ticks = np.linspace(0, len(at) - 1, 9).round().astype(int)
        ax.set_xticks(at[ticks], [season.positions[i] for i in ticks])
    canvas.label(ax, x="" if is_named else f"{step}s ahead", y=_added_to(target))
    canvas.tidy(ax)


def _short(position: str) -> str:
    return position[:3] if position.isalpha() else position


def _draw_effects(ax: Axes, effects: dict[str, Effect], target: str) -> None:
    places = np.arange(len(effects))[::-1]
    median, lower, upper = np.array([effect.per_unit for effect in effects.values()]).T
    ax.hlines(places, lower, upper, color=canvas.tint(0.45, MARK), linewidth=6)
    ax.plot(median, places, "o", color=MARK, markersize=4)
    ax.axvline(0.0, color="0.6", linewidth=0.8)
    ax.set_yticks(places, [canvas.plain(name) for name in effects])
    ax.set_ylim(-0.7, len(effects) - 0.3)
    canvas.label(ax, x=f"{_added_to(target)} by a unit")
    canvas.tidy(ax)


def _draw_shares(ax: Axes, shares: dict[str, float]) -> None:
    names = list(shares)[:MAX_BARS]
    places = np.arange(len(names))[::-1]
    ax.barh(places, [shares[name] for name in names], color=canvas.tint(0.35, MARK), height=0.8)
    for place, name in zip(places, names, strict=True):
        ax.text(0.004, place, name, va="center", fontsize=8, transform=ax.get_yaxis_transform())
    ax.set_yticks([])
    canvas.label(ax, x="share in the forecast")
    canvas.tidy(ax)
