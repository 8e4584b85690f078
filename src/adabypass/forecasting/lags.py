"""Checks of the settings that say which past values a forecast is made from."""

from collections.abc import Iterable, Sequence

import numpy as np

from adabypass.errors import ParameterError
from adabypass.validation import check_int

MOST_LAGS = 100_000


def check_lags(lags: object, seasonal_lags: object) -> tuple[int, ...]:
    """Return which values before the next one are features, the newest first."""
    chosen: list[int] = []
    if isinstance(lags, int | np.integer) and not isinstance(lags, bool):
        chosen += range(1, check_int(lags, "lags", minimum=0, maximum=MOST_LAGS) + 1)
    else:
        chosen += _integers(lags, "lags")
    chosen += [] if seasonal_lags is None else _integers(seasonal_lags, "seasonal_lags")
    return tuple(sorted(set(chosen)))


def check_names(exog: object) -> tuple[str, ...]:
    """Return names of columns; a single one may come by itself."""
    names = (exog,) if isinstance(exog, str) else tuple(exog) if isinstance(exog, Iterable) else ()
    if not isinstance(exog, Iterable) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f"exog is {exog!r}, but must be a list of names of columns; values go to run.")
    return names


def _integers(value: object, name: str) -> list[int]:
    values = value if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else [value]
    return [check_int(each, name, minimum=1, maximum=MOST_LAGS) for each in values]
