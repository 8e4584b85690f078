"""Checks of a series and of the exogenous values that go with it."""

import numpy as np

from adabypass.errors import NotEnoughDataError, NotFiniteError, ShapeError
from adabypass.state.series import Missing
from adabypass.validation import Floats, check_array


def check_exog(
    exog: object, n: int, n_columns: int | None, names: tuple[str, ...] | None, missing: Missing, first_row: int = 0
) -> Floats:
    """Return a checked copy of `n` rows of exogenous values, shape (n, n_exog); nan where one is to be filled.

    Parameters
    ----------
    n_columns
        How many columns there must be; None if that is not known yet.
    first_row
        Number of the first row, for messages.
    """
    if exog is None:
        if n_columns:
            named = f" ({', '.join(names)})" if names else ""
            raise ShapeError(f"exog is missing, but this forecaster has {n_columns} exogenous columns{named}.")
        return np.empty((n, 0))
    table = check_array(exog, "exog", copy=True)
    table = table.reshape(-1, 1) if table.ndim == 1 and n_columns in (None, 1) else table
    if table.ndim != 2 or len(table) != n or n_columns not in (None, table.shape[1]):
        expected = "n_exog" if n_columns is None else str(n_columns)
        raise ShapeError(f"exog has shape {table.shape}, but must be ({n}, {expected}): a row for each step.")
    for is_bad, what in ((np.isinf(table), "is infinite"), (np.isnan(table), "is missing")):
        if is_bad.any() and (what == "is infinite" or missing == "raise"):
            row, column = (int(i) for i in np.argwhere(is_bad)[0])
            name = repr(names[column]) if names else str(column)
            raise NotFiniteError(
                f"exog {what} in row {first_row + row}, column {name}; fill it, or choose missing='mean' or "
                "missing='last'."
            )
    return table


def check_exog_row(exog: object, n_columns: int | None, names: tuple[str, ...] | None, missing: Missing) -> Floats:
    """Return a checked copy of the exogenous values of one observation, shape (n_exog,)."""
    rows = None if exog is None else [np.atleast_1d(check_array(exog, "exog"))]
    row: Floats = check_exog(rows, 1, n_columns, names, missing)[0]
    return row


def check_series(y: object, name: str = "y") -> Floats:
    """Return a checked copy of a series, which errors call `name`."""
    series = check_array(y, name, copy=True)
    if series.ndim != 1:
        raise ShapeError(f"{name} has shape {series.shape}, but a series has shape (n,).")
    infinite = np.flatnonzero(np.isinf(series))
    if len(infinite):
        at = int(infinite[0])
        raise NotFiniteError(f"{name}[{at}] is {series[at]}, but must be finite, or nan if the observation is missing.")
    return series


def too_short(series: Floats, n_needed: int) -> NotEnoughDataError:
    """Return the error about a series that fills no lags; `n_needed` more observations would have."""
    if len(series) and np.isnan(series).all():
        return NotEnoughDataError(
            f"y has {len(series)} observations, but all are missing: there is nothing to learn from."
        )
    return NotEnoughDataError(
        f"y has {len(series)} observations, but forecasts begin after {n_needed}: "
        f"give a longer series{', or shorter lags' if n_needed > 1 else ''}."
    )
