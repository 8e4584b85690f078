"""Missing exogenous values, filled from what a forecaster's row remembers of the values before."""

import numpy as np

from adabypass.state.series import LAYOUT, Missing, SeriesSpec
from adabypass.state.structure_row import StructureSpec
from adabypass.validation import Floats


def fill_missing(exog: Floats, spec: StructureSpec, row: Floats, missing: Missing) -> Floats:
    """Return exogenous values, (n, n_exog), the missing ones filled; the row learns those that are there."""
    if spec.n_exog == 0 or missing == "raise":
        return exog
    mean, last, count = (spec.view(row, name) for name in ("exog_mean", "exog_last", "exog_count"))
    filled = exog.copy()
    for at, values in enumerate(filled):
        absent = np.isnan(values)
        filled[at, absent] = (mean if missing == "mean" else last)[absent]
        there = ~absent
        count[there] += 1.0
        mean[there] += values[there] / count[there] - mean[there] / count[there]
        last[there] = values[there]
    return filled


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
