"""What every picture shares: colours, axes, times, bands, legends, text and files."""

import io
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adabypass.data.text import printable
from adabypass.errors import MissingExtraError, ParameterError, ShapeError
from adabypass.files import replace_file
from adabypass.numerics.limits import MAX_VALUE
from adabypass.validation import Floats

try:
    from matplotlib.axes import Axes
    from matplotlib.colors import to_rgb
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator
except ImportError as missing:
    raise MissingExtraError(
        "adabypass.plots needs matplotlib; install it with: pip install 'adabypass[plot]'"
    ) from missing

__all__ = [
    "Axes",
    "Figure",
    "Line2D",
    "LogLocator",
    "Observed",
    "Times",
    "band",
    "chosen_moments",
    "dates",
    "frame",
    "grid_of_axes",
    "known",
    "label",
    "legend",
    "mark_span",
    "new_axes",
    "observations",
    "observed",
    "plain",
    "save",
    "shared_legend",
    "shown_panels",
    "tidy",
    "times",
    "tint",
]

Times: TypeAlias = np.ndarray[Any, np.dtype[Any]]

OBSERVED, PREDICTED, BAND, MARK = "black", "#c8102e", "#f7b6c2", "#3b6ea5"
CHANCE = "0.88"
"""What chance alone would give: a light grey behind the data."""
MAX_POINTS = 1_500
"""As many moments as a figure can show; a mixture's quantiles at more of them would take long and show nothing."""
UNKNOWN_SD = MAX_VALUE**0.5 / 1e10
"""A forecast with a standard deviation above this, or an infinite one, says that nothing is known yet."""
FORMATS = (".png", ".pdf", ".svg")
NO_GLYPH = "Glyph .* missing from"
DPI_SHOWN = 80
"""Dots per inch of a picture in a notebook."""


class ShownAxes(Axes):
    """Axes on a figure of their own, which a notebook shows where they are the value of a cell.

    pyplot knows nothing of such a figure, so that no notebook would draw it by itself.
    """

    def _repr_png_(self) -> bytes | None:
        return _png(self)


class ShownPanels(np.ndarray[Any, np.dtype[Any]]):
    """An array of Axes on one figure of their own, which a notebook shows where it is the value of a cell."""

    def _repr_png_(self) -> bytes | None:
        return _png(self)


def new_axes(figsize: tuple[float, float] = (10, 4.5)) -> Axes:
    """Return axes on a figure of their own rather than pyplot's: nothing global is touched, and no window opens."""
    return Figure(figsize=figsize, layout="constrained").add_subplot(axes_class=ShownAxes)


def shown_panels(axes: "Sequence[Axes] | np.ndarray[Any, np.dtype[Any]]") -> ShownPanels:
    """Return Axes of one figure as an array that a notebook shows."""
    return np.array(axes, dtype=object).view(ShownPanels)


def grid_of_axes(n: int) -> ShownPanels:
    """Return Axes for small multiples, on a figure of their own: one, or up to three in a row."""
    n_columns = 1 if n == 1 else 2 if n <= 4 else 3
    n_rows = -(-n // n_columns)
    figure = Figure(figsize=(10, 4.5 if n == 1 else 0.5 + 2.4 * n_rows), layout="constrained")
    return shown_panels([figure.add_subplot(n_rows, n_columns, 1 + i, axes_class=ShownAxes) for i in range(n)])


def shared_legend(axes: "np.ndarray[Any, np.dtype[Any]]") -> None:
    """Replace the legends of Axes that show the same by one above all of them."""
    for ax in axes:
        ax.get_legend().remove()
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].figure.legend(handles, labels, frameon=False, loc="outside upper right", ncols=6, fontsize=9)


class Observed(NamedTuple):
    """What was observed, with all that a picture says of it."""

    y: Any
    time: Any
    label: str


def observed(y: Any, time: object) -> Observed:
    """Return observations with the times and the name that come with them.

    Parameters
    ----------
    y : array, pandas Series or data set
        The index of a Series is its times, unless that is no more than the numbers 0, 1, ...
    time : array, optional
        Taken instead of those that come with `y`.
    """
    own, name = getattr(y, "index", None), getattr(y, "name", None)
    if hasattr(y, "units") and hasattr(y, "time"):  # a data set
        own, name, y = y.time, y.units, y.y
    elif own is None or callable(own) or type(own).__name__ == "RangeIndex":
        own = None
    elif hasattr(own, "to_timestamp"):
        own = own.to_timestamp()  # periods, as "2024-01", which have no place on an axis
    return Observed(y, own if time is None else time, "" if name is None else str(name))


def times(time: object, n: int, name: str = "time", first: int = 0) -> Times:
    """Return the moments of `n` observations: those given, or their numbers.

    Parameters
    ----------
    first : int
        How many observations there were before; their times may be given, too.
    """
    if time is None:
        return np.arange(n)
    at = np.asarray(time)
    if first and at.shape == (first + n,):
        at = at[first:]
    if at.shape != (n,):
        raise ShapeError(f"{name} has shape {at.shape}, but there are {n} values to draw; pass shape ({n},).")
    return at


def chosen_moments(n: int) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Choose the moments to draw: all, or of a long trace evenly spread ones, the first and the last among them."""
    if n <= MAX_POINTS:
        return np.arange(n)
    return np.linspace(0, n - 1, MAX_POINTS).round().astype(np.int64)


def known(values: Floats, sd: Floats) -> Floats:
    """Return values with nan where nothing is known yet: such a forecast has no place in a picture."""
    return np.where(np.isfinite(values) & (sd < UNKNOWN_SD), values, np.nan)


def plain(text: object) -> str:
    """Return text that is drawn as it is: no mathematics between dollar signs, no control characters."""
    return printable(text).replace("$", r"\$")


def label(ax: Axes, x: object = "", y: object = "", title: object = "") -> None:
    """Set the labels of the axes and the title, with text that is drawn as it is.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset, plots
    >>> axes = Forecaster().run(load_dataset("nile").y[:50]).plot()
    >>> plots.label(axes, y="price in $", title="a_b")
    """
    ax.set(xlabel=plain(x), ylabel=plain(y))
    if title:
        ax.set_title(plain(title), loc="left", fontsize=11)


def tint(strength: float, color: str = PREDICTED) -> tuple[float, ...]:
    """Mix a colour with white: opaque, so that grids do not shine through and nested bands do not add up."""
    return tuple(1 - strength * (1 - part) for part in to_rgb(color))


def band(ax: Axes, at: Times, low: Floats, high: Floats, color: Any, label: str = "", **style: Any) -> None:
    """Fill between two lines; at a single moment, where there is nothing between, draw a bar."""
    if len(at) == 1:
        ax.vlines(at, low, high, color=color, linewidth=8, label=label, **style)
    else:
        ax.fill_between(at, low, high, color=color, linewidth=0, label=label, **style)


def observations(ax: Axes, at: Times, y: Floats, *, joined: bool) -> None:
    """Draw the data: dots, the smaller the more there are, joined by a thin line where nothing lies beneath it.

    Missing observations break the line, and one that stands alone is still a dot.
    """
    size = float(np.clip(70 / np.sqrt(max(len(y), 1)), 0.9, 3.5))
    ax.plot(
        at, y, color="0.55", linestyle="-" if joined else "", linewidth=0.6, marker="o", markersize=size,
        markerfacecolor=OBSERVED, markeredgewidth=0, label="observed", zorder=3,
    )  # fmt: skip


def frame(ax: Axes, y: Floats, low: Floats, high: Floats) -> None:
    """Set the limits of y to show the data and most of a band; the first, wide forecasts may exceed them.

    The data keep at least a quarter of the height.
    """
    seen, low, high = (values[np.isfinite(values)] for values in (y, low, high))
    band_low, band_high = (np.quantile(low, 0.005), np.quantile(high, 0.995)) if len(low) and len(high) else (0.0, 0.0)
    if len(seen):
        reach = 1.5 * (seen.max() - seen.min()) or np.inf
        bottom = max(min(seen.min(), band_low if len(low) else seen.min()), seen.min() - reach)
        top = min(max(seen.max(), band_high if len(high) else seen.max()), seen.max() + reach)
    else:
        bottom, top = band_low, band_high
    margin = 0.06 * (top - bottom) or 0.06 * abs(top) or 1.0
    ax.set_ylim(float(bottom - margin), float(top + margin))


def tidy(ax: Axes, at: Times | None = None) -> None:
    """Remove the lines around the axes that carry no information, and shorten dates."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)
    if at is not None:
        ax.margins(x=0.01)
        dates(ax, at)


def dates(ax: Axes, at: Times) -> None:
    """Format dates so that each part is written once, where it changes."""
    if at.dtype.kind == "M":
        figure = ax.get_figure(root=True)
        width = ax.get_position().width * figure.get_figwidth() if figure is not None else 0.0
        most = max(4, int(width))  # so that labels of small Axes do not touch
        locator = AutoDateLocator(minticks=3, maxticks=most)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def legend(ax: Axes, columns: int = 6, handles: Sequence[Any] | None = None) -> None:
    """Draw the legend, above the data."""
    given = {} if handles is None else {"handles": handles}
    drawn = ax.legend(
        frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=columns, fontsize=9, borderaxespad=0.2, **given
    )
    for handle in drawn.legend_handles:
        if isinstance(handle, Line2D):
            handle.set_markersize(max(handle.get_markersize(), 1.8))  # the dots of a long series are hardly seen


def mark_span(ax: Axes, first: float, last: float, text: str) -> None:
    """Draw a band over a span of time, with a text above the data.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset, plots
    >>> nile = load_dataset("nile")
    >>> axes = Forecaster().run(nile.y[:100]).plot(nile.time[:100])
    >>> plots.mark_span(axes, 640, 642, "two years")
    """
    ax.axvspan(first, last, color=MARK, alpha=0.25, linewidth=0)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.07 * (high - low))  # room for the word
    ax.annotate(
        text, xy=(last, 1.0), xytext=(6, -2), xycoords=("data", "axes fraction"), textcoords="offset points",
        va="top", color=MARK, fontsize=9,
    )  # fmt: skip


def save(picture: "Axes | Figure | np.ndarray[Any, np.dtype[Any]]", path: str | PathLike[str]) -> None:
    """Write a picture to a file: .png, .pdf or .svg. The file appears when it is complete.

    Parameters
    ----------
    picture : Axes, array of Axes, or Figure
        What a function of this package returned.
    path : str or Path
        Folders are made as needed.

    Examples
    --------
    >>> import tempfile
    >>> from adabypass import AutoBypass, plots
    >>> trace = AutoBypass().run([[1.0], [2.0], [3.0]], [1.1, 2.3, 2.9])
    >>> plots.save(plots.history(trace), tempfile.mkdtemp() + "/history.png")
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in FORMATS:
        raise ParameterError(f"path is {str(path)!r}, but must end in one of {', '.join(FORMATS)}.")
    figure = picture if isinstance(picture, Figure) else _figure_of(picture)
    content = io.BytesIO()
    with warnings.catch_warnings():
        # A letter that the font lacks is drawn as a box; the user can do nothing about it.
        warnings.filterwarnings("ignore", message=NO_GLYPH)
        figure.savefig(content, format=kind[1:], dpi=160)
    replace_file(content.getvalue(), file)


def _png(picture: Any) -> bytes | None:
    """Return a picture as PNG; None if there is nothing to show."""
    try:
        figure = _figure_of(picture)
    except ParameterError:
        return None
    content = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=NO_GLYPH)
        figure.savefig(content, format="png", dpi=DPI_SHOWN)
    return content.getvalue()


def _figure_of(picture: Any) -> Figure:
    axes = np.ravel(np.asarray(picture, dtype=object))
    figure = getattr(axes[0], "figure", None) if len(axes) else None
    if not isinstance(figure, Figure):
        raise ParameterError(
            f"picture is {picture!r}, but must be Axes, an array of Axes or a Figure; pass what a function of "
            "adabypass.plots returned."
        )
    return figure
