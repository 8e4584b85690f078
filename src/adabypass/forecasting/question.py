"""What `explain` is asked: how far ahead, about which past, and when that was."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from adabypass.data import from_frame, regular_grid
from adabypass.data.cells import Array
from adabypass.errors import ParameterError, ShapeError
from adabypass.validation import Floats

TAKEN = ("y", "mean", "level", "slope", "zeros", "other")
"""Names of columns of contributions, besides those of seasons."""
Timeline = Callable[[Array], Array]
"""Returns the time, local, at numbers of steps after the next one, 0; they are negative in the past."""


class Question(NamedTuple):
    """What is to be explained."""

    level: float
    """Probability of the intervals."""
    horizon: int
    """Steps ahead to explain; 0 for the state now alone."""
    exog_ahead: Floats
    """(horizon, n_exog)."""
    y: Floats
    """The past; empty where it is not given."""
    exog: Floats
    """That goes with it, (n, n_exog)."""
    columns: Sequence[str]
    """Names of the exogenous columns."""
    time: Timeline
    time_name: str
    target_name: str = "y"


def exog_names(names: Sequence[str] | None, n_exog: int) -> list[str]:
    """Return a name for each exogenous column.

    They are `exog_0`, ... where they have no names; one named as another part is gets `_exog` behind its name.
    """
    given = names or [f"exog_{i}" for i in range(n_exog)]
    taken = [name in TAKEN or name.startswith("season_") for name in given]
    return [name + "_exog" * is_taken for name, is_taken in zip(given, taken, strict=True)]


def check_past(y: Floats, n_seen: int) -> Floats:
    """Check that a series can be all that a forecaster has learned."""
    n = int(np.count_nonzero(~np.isnan(y)))
    if n != n_seen:
        raise ParameterError(
            f"y has {n} observations, but this forecaster has learned {n_seen}; pass everything it has learned, or "
            "leave y out."
        )
    return y


def timeline(time: object, n: int | None) -> tuple[Timeline, str]:
    """Return when each step is, and what to call the column of times.

    Parameters
    ----------
    time : array (n,) or None
        When the observations were made, on a regular grid; None: their steps are numbered, from 1 for the next one.
    n : int or None
        Number of observations, if they are given.
    """
    if time is None:
        return lambda offset: offset + 1, "step"
    values, zone, _ = from_frame({"time": time}).zoned_times("time")
    if len(values) == 1:
        raise ShapeError("time has one value, which does not say how far apart steps are; pass those before it too.")
    grid = regular_grid(values, zone=zone)
    if n is not None and len(grid.time) != n:
        raise ShapeError(
            f"time has {len(grid.time)} regular steps from its first to its last, but y has {n} values; pass one time "
            "for each, and nan in y where an observation is missing."
        )
    n_steps, name = len(grid.time), "ds" if grid.time.dtype.kind == "M" else "step"

    def at(offset: Array) -> Array:
        times = grid.frequency.times(n_steps + offset)
        return times if zone is None else zone.to_local(times)

    return at, name
