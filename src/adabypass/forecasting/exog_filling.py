"""Missing exogenous values of the automatic forecaster, filled from what its row remembers."""

import numpy as np

from adabypass.model.series_spec import Missing
from adabypass.model.structure_spec import StructureSpec
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
