"""What a notebook shows of many series: some of them, each with its next steps."""

from typing import Any

import numpy as np

from adabypass import notebook

MAX_SERIES = 5
"""Number of series that are shown."""
STEPS = 24
"""Number of steps ahead that are drawn."""


def series_card(title: str, panel: Any, n_series: int) -> str:
    """Return a table with a line for each series of a small panel.

    Parameters
    ----------
    panel : Panel
        Of the series to show.
    n_series : int
        How many there are in all.
    """
    if n_series == 0:
        return notebook.card(title, {"series": "none yet"})
    records: list[tuple[object, ...]] = [
        (each, int(n_seen), picture)
        for each, n_seen, picture in zip(panel.ids, panel.n_seen, _pictures(panel), strict=True)
    ]
    if n_series > len(records):
        records.append((f"and {n_series - len(records)} more", "", ""))
    return notebook.table(title, ("series", "observations seen", f"next {STEPS} steps"), records)


def _pictures(panel: Any) -> list[str]:
    if not panel.can_forecast_alone:
        return [""] * len(panel)
    ahead = panel.forecast(STEPS)
    bounds = ahead.intervals.get(0.9)
    return [
        notebook.sparkline(np.empty(0), ahead.mean[at], *(() if bounds is None else (bounds[0][at], bounds[1][at])))
        for at in range(len(panel))
    ]
