"""Missing exogenous values, filled from what a forecaster's row remembers of the values before."""

import numpy as np

from adabypass.state.series import LAYOUT, Missing, SeriesSpec
from adabypass.validation import Floats


def fill_series_ahead(exog: Floats, spec: SeriesSpec, row: Floats) -> Floats:
    """Return the exogenous values of steps to come, as `fill_ahead` does, from the row of a forecaster with lags."""
    mean, last = (LAYOUT.view(row, name, **spec.dims(exog.shape[1])) for name in ("exog_mean", "exog_last"))
    return fill_ahead(exog, mean, last, spec.missing)


def fill_ahead(exog: Floats, mean: Floats, last: Floats, missing: Missing) -> Floats:
    """Return the exogenous values of steps to come, (n_steps, n_exog), the missing ones filled; nothing learns them.

    Parameters
    ----------
    exog
    mean, last : array (n_exog,)
        Of the values so far. "last" takes a value to come as the last one of the steps after it.
    missing
    """
    if missing == "raise" or not np.isnan(exog).any():
        return exog
    filled = exog.copy()
    for values in filled:
        absent = np.isnan(values)
        values[absent] = (mean if missing == "mean" else last)[absent]
        last = values
    return filled
