"""A forecaster as plain values, for pickles: its settings, its row, and the number of the format."""

from typing import Any

import numpy as np

from adabypass.errors import StateError
from adabypass.model.past import Design
from adabypass.model.series_spec import SeriesSpec
from adabypass.regressors import Regressor
from adabypass.regressors.base import STATE_FORMAT
from adabypass.validation import Floats

Names = tuple[str, ...] | None


def state_of(
    untrained: Regressor, spec: SeriesSpec, names: Names, row: Floats | None, n_exog: int | None
) -> dict[str, Any]:
    """Return all that a forecaster consists of."""
    return {
        "format": STATE_FORMAT,
        "model": untrained,
        "lags": spec.design.lags,
        "difference": spec.design.difference,
        "bias": spec.design.bias,
        "missing": spec.missing,
        "exog": names,
        "n_exog": n_exog,
        "row": row,
    }


def check_state(state: object) -> tuple[Regressor, SeriesSpec, Names, Floats | None, int | None]:
    """Return what `state_of` was given, with a copy of the row; refuse a state of another format."""
    if not isinstance(state, dict) or state.get("format") != STATE_FORMAT:
        raise StateError(
            f"this Forecaster was saved in another format than this version reads, which is number {STATE_FORMAT}; "
            "train it anew."
        )
    untrained = state["model"]
    design = Design(state["lags"], state["difference"], state["bias"])
    spec, row, n_exog = SeriesSpec(untrained._spec, design, state["missing"]), state["row"], state["n_exog"]
    if row is not None:
        row = np.array(row, dtype=np.float64)
        if row.shape != (spec.row_size(n_exog),):
            raise StateError(f"the row of this Forecaster has shape {row.shape}, which does not fit its settings.")
    return untrained, spec, state["exog"], row, n_exog
