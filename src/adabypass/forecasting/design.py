"""Which values before the next one a forecast is made from."""

from collections.abc import Iterable, Sequence

import numpy as np

from adabypass.errors import ParameterError, ShapeError
from adabypass.inference.multistep import Design
from adabypass.validation import check_int

MOST_LAGS = 100_000
LARGEST_DESIGN = 20_000_000
"""Number of lags times how far they reach back: 160 MB."""


def chosen_lags(lags: object, seasonal_lags: object) -> tuple[int, ...]:
    """Choose which values before the next one are features, the newest first."""
    chosen: list[int] = []
    if isinstance(lags, int | np.integer) and not isinstance(lags, bool):
        chosen += range(1, check_int(lags, "lags", minimum=0, maximum=MOST_LAGS) + 1)
    else:
        chosen += listed(lags, "lags")
    chosen += [] if seasonal_lags is None else listed(seasonal_lags, "seasonal_lags")
    return tuple(sorted(set(chosen)))


def names(exog: object) -> tuple[str, ...]:
    """Take names of columns, or a single one."""
    names = (exog,) if isinstance(exog, str) else tuple(exog) if isinstance(exog, Iterable) else ()
    if not isinstance(exog, Iterable) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f"exog is {exog!r}, but must be a list of names of columns; values go to run.")
    return names


def listed(value: object, name: str) -> list[int]:
    """Take whole numbers, or a single one."""
    values = value if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else [value]
    return [check_int(each, name, minimum=1, maximum=MOST_LAGS) for each in values]


def design(lags: tuple[int, ...], difference: int, first: int) -> Design:
    """Say how the forecast hangs on the levels: lags of the differences, and the levels that differencing took away."""
    taps = np.array([1.0])
    for _ in range(difference):
        taps = np.convolve(taps, [1.0, -1.0])  # of the difference, on the newest levels
    n_levels = max(lags, default=0) + difference
    if len(lags) * n_levels > LARGEST_DESIGN:
        raise ShapeError(f"{len(lags)} lags that reach back {n_levels} observations are too many; choose fewer lags.")
    rows = np.zeros((len(lags), n_levels))
    for row, lag in zip(rows, lags, strict=True):
        row[lag - 1 : lag + difference] = taps
    base = np.zeros(n_levels)
    base[:difference] = -taps[1:]
    return Design(base, rows, first)
