"""What was learned over time: weights, parameters, changes of regime."""

from collections.abc import Sequence
from math import exp
from typing import Any

import numpy as np

from adabypass.errors import NotReadyError, ShapeError, UnknownNameError
from adabypass.plots import canvas
from adabypass.plots.canvas import MARK, Axes, Figure, Line2D, Times
from adabypass.results.changes import FALSE_ALARMS
from adabypass.results.trace import Trace
from adabypass.state.bank import AutoBypassSpec
from adabypass.validation import Floats

LINES = ("#3b6ea5", "#d55e00", "#009e73", "#cc79a7", "#8c6d1f", "#56b4e9", "#555555")
"""After Okabe and Ito: colour-blind readers can distinguish them, too."""
STYLES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
"""Line styles, so that nothing depends on colour alone."""
SHARES = "drift_shares"
"""Name of the panel that stacks all drift_share_0, drift_share_1, ... of a trace."""
PASSING = ("noise_mean", "noise_mean_var")
"""Parts of a history that belong to one observation, and were not learned."""
CHANGE_STYLES: dict[str, tuple[str, Any, float]] = {
    "level": (MARK, "-", 0.975),
    "noise": ("#d55e00", (0, (2, 2)), 0.93),
    "slope": ("#009e73", (0, (5, 1, 1, 1)), 0.885),
}
"""Colour, line style, and height of the triangles, by what changed."""
CHANGE_NAMES = {
    ("level", True): "higher level",
    ("level", False): "lower level",
    ("noise", True): "larger noise",
    ("noise", False): "smaller noise",
    ("slope", True): "other slopes",
    ("slope", False): "other slopes",
}
"""What the legend says, by what changed and whether its size is above 0."""


def weights(trace: Trace, names: Sequence[str] | None = None, time: object = None, ax: Axes | None = None) -> Axes:
    """Draw the weights after each observation, with bands of one and two standard deviations.

    Parameters
    ----------
    trace
        What `run` gave, with keep_weights=True.
    names : n_features words, optional
        What the weights are called.
    time : array (n,), optional
        When each observation was made; their number if not given.
    ax
        Where to draw; new axes if not given.

    Examples
    --------
    >>> from adabypass import AutoBypass, plots
    >>> x = np.random.default_rng(0).normal(size=(50, 1))
    >>> axes = plots.weights(AutoBypass().run(x, 2.0 * x[:, 0], keep_weights=True), ["slope"])
    """
    if trace.weights_mean is None:
        raise NotReadyError("this trace holds no weights; run the model with keep_weights=True.")
    n_features = trace.weights_mean.shape[1]
    names = [f"weight {i}" for i in range(n_features)] if names is None else list(names)
    if len(names) != n_features:
        raise ShapeError(f"there are {len(names)} names for {n_features} weights; pass one for each.")
    at, chosen = canvas.times(time, len(trace), first=trace.first), canvas.chosen_moments(len(trace))
    mean = trace.weights_mean[chosen]
    sd = np.zeros_like(mean) if trace.weights_var is None else np.sqrt(trace.weights_var[chosen])
    mean = canvas.known(mean, sd)
    ax = canvas.new_axes() if ax is None else ax
    for i, name in enumerate(names):
        color, style = LINES[i % len(LINES)], STYLES[i // len(LINES) % len(STYLES)]
        if trace.weights_var is not None:
            for reach, alpha in ((2, 0.16), (1, 0.22)):  # translucent: bands of several weights may cross
                low, high = (mean[:, i] + side * reach * sd[:, i] for side in (-1, 1))
                canvas.band(ax, at[chosen], low, high, color, alpha=alpha)
        ax.plot(at[chosen], mean[:, i], color=color, linestyle=style, linewidth=1.3, label=canvas.plain(name))
    canvas.frame(ax, np.empty(0), mean - 2 * sd, mean + 2 * sd)
    ax.set_ylabel("weights, ± 1 and 2 sd" if trace.weights_var is not None else "weights")
    canvas.tidy(ax, at)
    canvas.legend(ax)
    return ax


def parameters(
    trace: Trace, names: Sequence[str] | None = None, time: object = None, ax: Any = None
) -> "np.ndarray[Any, np.dtype[Any]]":
    """Draw what was learned besides the weights, each parameter in a panel of its own, one above the other.

    Parameters that stay above 0 and move over more than a factor of 20 are drawn on a logarithmic scale. AutoBypass's
    shares of drift rates are stacked in one panel, from the slowest rate at the bottom to the fastest at the top.
    Nothing is drawn while a parameter is still 0, at the start.

    Parameters
    ----------
    trace
        What `run` gave.
    names : words, optional
        Which parts of the trace's history to draw, and "drift_shares" for the stacked ones; all that was learned if not
        given.
    time : array (n,), optional
        When each observation was made; their number if not given.
    ax : Axes or array of Axes, optional
        Where to draw, one for each panel; new axes if not given.

    Returns
    -------
    array of Axes
        One for each panel.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset, plots
    >>> nile = load_dataset("nile")
    >>> trace = Forecaster(lags=1).run(nile.y[:100])
    >>> axes = plots.parameters(trace, time=nile.time[:100])
    """
    panels = _panels(trace, names)
    at, chosen = canvas.times(time, len(trace), first=trace.first), canvas.chosen_moments(len(trace))
    axes = _stacked_axes(len(panels)) if ax is None else np.ravel(np.asarray(ax, dtype=object))
    if len(axes) != len(panels):
        raise ShapeError(f"there are {len(axes)} axes for the panels {', '.join(panels)}; pass one for each.")
    for panel, name in zip(axes, panels, strict=True):
        if name == SHARES:
            _draw_shares(panel, at[chosen], trace, chosen)
        else:
            _draw_parameter(panel, at[chosen], trace.history[name][chosen])
        panel.set_title(_in_words(name), loc="left", fontsize=10)
        canvas.tidy(panel, at)
    return axes


def changes(trace: Trace, time: object = None, ax: Axes | None = None, *, false_alarms: float = FALSE_ALARMS) -> Axes:
    """Draw the observations, and mark when the regime changed.

    A full line says that the level moved, a broken one that the noise is larger or smaller, one of dashes and dots that
    slopes changed; triangles point up where the level rose or values are spread more widely, down otherwise.

    Parameters
    ----------
    trace
        What `run` gave.
    time : array (n,), optional
        When each observation was made; their number if not given.
    ax
        Where to draw; new axes if not given.
    false_alarms
        As in `Trace.changes`.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset, plots
    >>> nile = load_dataset("nile")
    >>> trace = Forecaster(lags=1).run(nile.y[:100])
    >>> axes = plots.changes(trace, nile.time[:100])
    """
    found = trace.changes(false_alarms)
    at = canvas.times(time, len(trace), first=trace.first)
    ax = canvas.new_axes() if ax is None else ax
    canvas.observations(ax, at, trace.y, joined=True)
    canvas.frame(ax, trace.y, np.empty(0), np.empty(0))
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.06 * (high - low))  # room for the triangles
    named = ax.get_legend_handles_labels()[0]
    for kind, (color, style, height) in CHANGE_STYLES.items():
        for grew, marker in ((True, "^"), (False, "v")):
            moments = [change.at for change in found if change.kind == kind and (change.size > 0) == grew]
            for moment in moments:
                ax.axvline(at[moment], color=color, linestyle=style, linewidth=1.0, zorder=1)
            ax.plot(at[moments], [height] * len(moments), marker, color=color, transform=ax.get_xaxis_transform())
            if moments:
                name = CHANGE_NAMES[kind, grew]
                named.append(Line2D([], [], color=color, linestyle=style, linewidth=1.0, marker=marker, label=name))
    canvas.tidy(ax, at)
    canvas.legend(ax, handles=named)
    return ax


def _panels(trace: Trace, names: Sequence[str] | None) -> list[str]:
    """Return the names of the panels: those asked for, or all that was learned."""
    if not trace.history:
        raise NotReadyError("this trace has no history of parameters; its model learns nothing but weights.")
    shares = _shares(trace)
    known = [name for name in trace.history if name not in shares] + [SHARES] * bool(shares)
    if names is None:
        return [name for name in known if name not in PASSING]
    for name in names:
        if name not in known and name not in shares:
            raise UnknownNameError(f"there is no parameter {name!r} in this trace; it has {', '.join(known)}.")
    return list(names)


def _shares(trace: Trace) -> list[str]:
    return [name for name in trace.history if name.startswith("drift_share_")]


def _stacked_axes(n: int) -> "np.ndarray[Any, np.dtype[Any]]":
    figure = Figure(figsize=(10, 0.9 + 1.35 * n), layout="constrained")
    axes: np.ndarray[Any, np.dtype[Any]] = figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0]
    return canvas.shown_panels(axes)


def _in_words(name: str) -> str:
    return name.replace("_prec", " precision").replace("_var", " variance").replace("_", " ")


def _draw_parameter(ax: Axes, at: Times, values: Floats) -> None:
    learned = values[np.cumsum(values != 0) > 0]  # a parameter is 0 until it is known
    values = np.concatenate([np.full(len(values) - len(learned), np.nan), learned])
    ax.plot(at, values, color=MARK, linewidth=1.2, marker="o" if len(at) == 1 else "")
    if len(learned) and learned.min() > 0 and learned.max() > 20 * learned.min():
        ax.set_yscale("log")
        ax.minorticks_off()
    else:
        ax.ticklabel_format(axis="y", useOffset=False)


def _draw_shares(ax: Axes, at: Times, trace: Trace, chosen: Any) -> None:
    names = _shares(trace)
    total, strengths = np.zeros(len(at)), np.linspace(0.12, 1.0, len(names))
    for name, strength, drift_log in zip(names, strengths, AutoBypassSpec.drift_logs, strict=True):
        share = trace.history[name][chosen]
        label = f"{exp(drift_log):.2g}"
        canvas.band(ax, at, total, total + share, canvas.tint(float(strength), MARK), label)
        total = total + share
    ax.set_ylim(0, 1)
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(
        handles[::-1], labels[::-1], title="drift rate", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5),
        fontsize=8, title_fontsize=8, handlelength=1.2, borderaxespad=0.2,
    )  # fmt: skip
