"""Means and variances that stay where a forecast is, whatever a part of hardly any share says."""

from typing import Any

import numpy as np

from adabypass.numerics.limits import MAX_SPREAD
from adabypass.validation import Floats

CENTRAL = 0.999
"""Level of the interval that holds the mean of every forecast of a model."""


def keep_near(forecasts: Any, mean: Floats, var: Floats, likeliest_var: Floats) -> tuple[Floats, Floats]:
    """Return means within the central interval of each forecast, and variances of no more than its width says.

    Parameters
    ----------
    forecasts
        Many forecasts.
    mean, var : arrays (n,)
        Theirs; mean nan where nothing is known.
    likeliest_var : array (n,)
        Variance of the component of the largest share: only a forecast that is far wider is looked at.
    """
    with np.errstate(over="ignore"):
        is_far = np.flatnonzero(~np.isnan(mean) & (var > MAX_SPREAD**2 * likeliest_var))
    if not len(is_far):
        return mean, var
    low, high = forecasts[is_far].interval(CENTRAL)
    mean, var = mean.copy(), var.copy()
    mean[is_far] = np.clip(mean[is_far], low, high)
    with np.errstate(over="ignore"):
        var[is_far] = np.minimum(var[is_far], (0.5 * (high - low)) ** 2)  # (249)
    return mean, var
