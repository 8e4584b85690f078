"""What a page shows of a trace or a forecast, as the live page has it of a series."""

from typing import Any

import numpy as np

from adabypass.data import cells
from adabypass.distributions.predictive import Predictive
from adabypass.errors import ShapeError
from adabypass.results.changes import Alarms
from adabypass.validation import Floats

MAX_SHOWN = 5_000
"""Rows of a page, the newest ones."""
QUANTILES = {"lower_90": 0.05, "quantile_25": 0.25, "quantile_75": 0.75, "upper_90": 0.95}
AHEAD = {"lower_90": 0.05, "lower_50": 0.25, "upper_50": 0.75, "upper_90": 0.95}


def past_of(y: Floats, predictive: Any, time: object, alarms: Alarms | None) -> list[dict[str, Any]]:
    """Return the newest rows of a trace, with what was forecast of each.

    Parameters
    ----------
    y : array (n,)
    predictive
        The forecast of each.
    time : array (n,) of dates or numbers, optional
    alarms : Alarms, optional
        None of point forecasts.
    """
    when, at = _times(time, len(y))
    rows = range(max(0, len(y) - MAX_SHOWN), len(y))
    shown = predictive[rows.start :]
    columns: dict[str, Any] = {"y": y[rows.start :], "mean": shown.mean}
    changes: dict[int, str] = {}
    anomalies: set[int] = set()
    if alarms is not None:
        changes = {each.found_at: each.kind for each in alarms.changes}
        anomalies = set(alarms.anomalies.tolist())
        columns["surprise"] = shown.surprise(y[rows.start :])
        columns |= dict(zip(QUANTILES, shown.quantile([*QUANTILES.values()]), strict=True))
    values = {name: _numbers(each) for name, each in columns.items()}
    return [
        {
            "number": i + 1, "time": when[i], "at": at[i], "anomaly": i in anomalies, "change": changes.get(i),
            **{name: column[i - rows.start] for name, column in values.items()},
        }
        for i in rows
    ]  # fmt: skip


def ahead_of(predictive: Predictive, after: int) -> dict[str, Any]:
    """Return a forecast, whose steps come after so many rows."""
    n = len(np.atleast_1d(predictive.mean))
    steps = list(range(1, n + 1))
    found: dict[str, Any] = {"step": steps, "time": None, "at": [float(after + step) for step in steps],
                             "mean": _numbers(predictive.mean)}  # fmt: skip
    if not predictive.is_point:
        quantiles = predictive.quantile([*AHEAD.values()])
        found |= {name: _numbers(each) for name, each in zip(AHEAD, quantiles, strict=True)}
    return found


def observed(y: Floats) -> list[dict[str, Any]]:
    """Return rows of which nothing was forecast."""
    return [{"number": i + 1, "time": i + 1, "at": float(i + 1), "y": value} for i, value in enumerate(_numbers(y))]


def _times(time: object, n: int) -> tuple[list[Any], list[float]]:
    """Return times as JSON has them, and as numbers to draw them at."""
    if time is None:
        return list(range(1, n + 1)), [float(i) for i in range(1, n + 1)]
    values = np.asarray(time)
    if values.shape != (n,):
        raise ShapeError(f"time has shape {values.shape}, but there are {n} rows to show; pass shape ({n},).")
    if values.dtype.kind == "M":
        micro = values.astype("M8[us]")
        return np.datetime_as_string(values).tolist(), (micro.astype(np.int64) / 1e6).tolist()
    return cells.as_list(values), values.astype(np.float64).tolist()


def _numbers(values: Any) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in np.asarray(values, np.float64).tolist()]
