"""Forecasts and observations read off data frames, to be drawn."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from adabypass.data import Array, Table, from_frame
from adabypass.distributions.base import interval_names
from adabypass.errors import ParameterError, TableError, UnknownNameError
from adabypass.panel.columns import Columns
from adabypass.panel.series import SeriesTable
from adabypass.results.columns import levels_of
from adabypass.validation import Floats

MAX_SERIES = 12
"""Number of series of a data frame that are drawn beside each other, at most."""


@dataclass(frozen=True)
class FrameForecast:
    """The forecast of one series of a data frame, as `plots.fan` asks for one, and what was observed before."""

    name: str
    mean: Floats
    bounds: dict[float, tuple[Floats, Floats]]
    future_time: Array
    y: Floats | None
    time: Array | None
    paths: None = None

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels of the intervals in the data frame."""
        return tuple(self.bounds)

    @property
    def is_point(self) -> bool:
        """Whether it has no intervals."""
        return not self.bounds

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Return the bounds of the central interval of each step."""
        if level not in self.bounds:
            known = ", ".join(f"{each:g}" for each in self.bounds)
            raise ParameterError(
                f"there is no interval of level {level:g} in the data frame, which has {known}; leave levels out, or "
                f"ask for it: forecast(..., levels=[{level:g}])."
            )
        return self.bounds[level]


def forecasts_in(frame: Any, history: Any, target: str) -> list[FrameForecast]:
    """Return the forecast of every series of a data frame that `forecast` returned, in the order of the frame.

    Parameters
    ----------
    frame : data frame
    history : data frame or None
        The data that it was made from.
    target : str
        Its column of observations.
    """
    table = from_frame(frame)
    key, time = _key_and_time(table)
    rows = _rows(table, key)
    if len(rows) > MAX_SERIES:
        raise ParameterError(
            f"there are {len(rows)} series in the data frame, but at most {MAX_SERIES} are drawn; choose some, for "
            f'example those whose "{key}" is {next(iter(rows))!r}.'
        )
    times = table.zoned_times(time)
    local = times.values if times.zone is None else times.zone.to_local(times.values)
    columns = {name: table.numbers(name) for name in ("mean", *_bounds(table))}
    past = None if history is None else _history(history, target, key, time)
    return [_one(table, name, at, columns, local, past) for name, at in rows.items()]


def _key_and_time(table: Table) -> tuple[str | None, str]:
    """Return the columns of ids, if there is one, and of times."""
    if "mean" not in table or not 1 <= table.names.index("mean") <= 2:
        raise TableError(
            f"the columns are {', '.join(table.names)}, but those of a forecast begin with an id (where there are "
            "several series), a time and the mean; pass what forecast() returned."
        )
    first = table.names[: table.names.index("mean")]
    return (first[0] if len(first) == 2 else None), first[-1]


def _rows(table: Table, key: str | None) -> dict[str, Any]:
    if key is None:
        return {"": np.arange(len(table))}
    ids = np.array(table.text(key))
    return {name: np.flatnonzero(ids == name) for name in dict.fromkeys(ids.tolist())}


def _bounds(table: Table) -> list[str]:
    return [name for level in levels_of(table.names) for name in interval_names(level)]


def _history(history: Any, target: str, key: str | None, time: str) -> SeriesTable:
    table = from_frame(history)
    if target not in table:
        others = [each for each in table.names if each not in (key, time)]
        raise UnknownNameError(
            f'there is no column "{target}" in the data; name that of the observations, one of {", ".join(others)}: '
            f'pass target="{others[0] if others else "sold"}", say.'
        )
    return SeriesTable(table, Columns(target, time if time in table else None, key))


def _one(
    table: Table, name: str, at: Any, columns: dict[str, Floats], local: Array, past: SeriesTable | None
) -> FrameForecast:
    bounds: dict[float, tuple[Floats, Floats]] = {}
    for level in levels_of(table.names):
        low, high = (columns[end][at] for end in interval_names(level))
        bounds[level] = low, high
    y = time = None
    if past is not None:
        if name not in past.names:
            raise UnknownNameError(
                f'y has no series "{name}", which the forecasts have; pass the frame they were made from.'
            )
        series = past.series(name)
        time = 1 + np.arange(len(series.y)) if series.time is None else series.local(series.time)
        before = time < local[at[0]]  # rows whose observation is yet to come may end the frame
        y, time = series.y[before], time[before]
    return FrameForecast(name, columns["mean"][at], bounds, local[at], y, time)
