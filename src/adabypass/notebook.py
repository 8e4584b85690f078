"""How objects show themselves in a notebook: a small HTML table, with sparklines drawn as inline SVG.

Text and lines take the colour of the notebook, so that light and dark themes both work. Nothing is loaded from
elsewhere, and whatever comes from the data is escaped.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any

import numpy as np

from adabypass.data.text import printable
from adabypass.validation import Floats

WIDTH, HEIGHT, MARGIN = 180.0, 36.0, 2.0
MAX_POINTS = 150
"""Number of values that a sparkline shows: more cannot be seen at its size."""
FORECAST = "#d6455d"
"""Red that is readable on white and on black."""
MAX_ROWS = 12
"""Number of rows of a table; of longer ones the first and the last are shown."""
TAIL = 3
_CELL = 'style="text-align:{align};padding:2px 10px 2px 0;border:0;background:none;white-space:nowrap"'


class Markup(str):
    """HTML of our own, which is not escaped again."""

    __slots__ = ()


def plots() -> Any:
    """Return `adabypass.plots`, which imports matplotlib, where something is to be drawn."""
    return import_module("adabypass.plots")


def card(title: object, facts: Mapping[str, object], picture: str = "") -> str:
    """Return the HTML of one object: its title, facts by name, and a picture beside them."""
    rows = "".join(f"<tr>{_cell(name, 'left', 0.7)}{_cell(value, 'left')}</tr>" for name, value in facts.items())
    drawn = f'<div style="margin-left:1em">{picture}</div>' if picture else ""
    return _framed(title, f'<div style="display:flex;flex-wrap:wrap;align-items:center">{_table(rows)}{drawn}</div>')


def table(title: object, names: Sequence[str], records: Sequence[Sequence[object]], picture: str = "") -> str:
    """Return the HTML of a table with a title; of a long one, the first and the last records."""
    head = "".join(_cell(name, "left" if not at else "right", 0.7) for at, name in enumerate(names))
    shown = list(records) if len(records) <= MAX_ROWS else [*records[: MAX_ROWS - TAIL - 1], None, *records[-TAIL:]]
    rows = [_gap(len(names)) if record is None else _record(record) for record in shown]
    return _framed(title, f"{_table(f'<tr>{head}</tr>' + ''.join(rows))}{picture}")


def sparkline(y: Floats, mean: Floats, low: Floats | None = None, high: Floats | None = None) -> Markup:
    """Draw observations in the colour of the text, and forecasts in red over their interval.

    Parameters
    ----------
    y : array (n,)
        The observations.
    mean : array (m,)
        The forecasts: of the observations if m is n, otherwise of the steps after them.
    low, high : arrays (m,), optional
        Bounds of their intervals.
    """
    start = 0 if len(y) == len(mean) else len(y)
    ends = [end for end in (low, high) if end is not None]
    values = np.concatenate([y, mean, *ends])
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return Markup("")
    place = _Scale(start + len(mean), float(values.min()), float(values.max()))
    parts = []
    if low is not None and high is not None:
        parts.append(place.band(low, high, start))
    if len(y):
        parts.append(place.line(y, 0, "currentColor", 1.0))
    parts.append(place.line(mean, start, FORECAST, 1.5))
    return _svg("".join(parts), "observations and forecasts" if len(y) else "forecasts")


def bars(mean: Floats, sd: Floats | None = None) -> Markup:
    """Draw a bar for each value, and a thin line of two standard deviations to either side."""
    mean = mean[:MAX_POINTS]
    spread = np.zeros_like(mean) if sd is None else 2 * sd[: len(mean)]
    ends = np.concatenate([[0.0], mean - spread, mean + spread])
    if len(mean) == 0 or not np.isfinite(ends).all():
        return Markup("")
    place, wide = _Scale(len(mean) + 1, float(ends.min()), float(ends.max())), 0.6 * WIDTH / (len(mean) + 1)
    drawn = []
    for at, (value, reach) in enumerate(zip(mean, spread, strict=True)):
        x, (top, base) = place.x(at + 0.5), sorted((place.y(value), place.y(0.0)))
        drawn.append(
            f'<rect x="{x - wide / 2:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{max(base - top, 0.5):.1f}" '
            f'fill="{FORECAST}"/><path d="M{x:.1f} {place.y(value - reach):.1f}V{place.y(value + reach):.1f}" '
            'stroke="currentColor"/>'
        )
    return _svg("".join(drawn), "weights")


def number(value: Any) -> str:
    """Format a number with four significant digits; a dash where nothing is known."""
    return f"{value:.4g}" if np.isfinite(value) else "–"


class _Scale:
    """Where values are drawn: from left to right, and upwards."""

    def __init__(self, n: int, low: float, high: float) -> None:
        self.n, self.low = n, low
        self.range = high - low

    def x(self, at: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * at / max(self.n - 1, 1)

    def y(self, value: float) -> float:
        share = 0.5 if not 0.0 < self.range < np.inf else (value - self.low) / self.range
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share

    def line(self, values: Floats, start: int, color: str, width: float) -> str:
        """Draw a line, which gaps interrupt; a value that stands alone is a dot."""
        return "".join(
            f'<path d="M{" ".join(points if len(points) > 1 else points * 2)}" fill="none" stroke="{color}" '
            f'stroke-width="{width if len(points) > 1 else 2 * width}" stroke-linejoin="round" '
            'stroke-linecap="round"/>'
            for points in self._pieces(values, start)
        )

    def band(self, low: Floats, high: Floats, start: int) -> str:
        known = np.isfinite(low) & np.isfinite(high)
        there = [at for at in _chosen(len(low)) if known[at]]
        if not there:
            return ""
        edge = [self._point(start + at, low[at]) for at in there] + [
            self._point(start + at, high[at]) for at in there[::-1]
        ]
        return f'<path d="M{" ".join(edge)}Z" fill="{FORECAST}" fill-opacity="0.25"/>'

    def _point(self, at: float, value: float) -> str:
        return f"{self.x(at):.1f} {self.y(value):.1f}"

    def _pieces(self, values: Floats, start: int) -> Iterable[list[str]]:
        piece: list[str] = []
        for at in _chosen(len(values)):
            if np.isfinite(values[at]):
                piece.append(self._point(start + at, values[at]))
            elif piece:
                yield piece
                piece = []
        if piece:
            yield piece


def _chosen(n: int) -> list[int]:
    return np.unique(np.linspace(0, n - 1, min(n, MAX_POINTS)).round().astype(int)).tolist() if n else []


def _svg(content: str, what: str) -> Markup:
    return Markup(
        f'<svg width="{WIDTH:g}" height="{HEIGHT:g}" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" '
        f'aria-label="{what}" style="vertical-align:middle">{content}</svg>'
    )


def _framed(title: object, content: str) -> str:
    return (
        f'<div style="font-size:0.9em;max-width:100%;overflow-x:auto"><div><b>{_text(title)}</b></div>{content}</div>'
    )


def _table(rows: str) -> str:
    return f'<table style="border-collapse:collapse;border:0;margin:2px 0;background:none">{rows}</table>'


def _record(record: Sequence[object]) -> str:
    return f"<tr>{''.join(_cell(value, 'left' if not at else 'right') for at, value in enumerate(record))}</tr>"


def _gap(n: int) -> str:
    return f"<tr>{_cell('…', 'left', 0.7) * n}</tr>"


def _cell(value: object, align: str, opacity: float = 1.0) -> str:
    faint = f'<span style="opacity:{opacity:g}">{_text(value)}</span>' if opacity < 1.0 else _text(value)
    return f"<td {_CELL.format(align=align)}>{faint}</td>"


def _text(value: object) -> str:
    return value if isinstance(value, Markup) else escape(printable(value))
