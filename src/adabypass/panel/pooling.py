"""What the series of a panel have learned in common, for series of which little was seen."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from adabypass.errors import NotReadyError, ParameterError
from adabypass.forecasting import Forecaster
from adabypass.forecasting.engine import Engine
from adabypass.forecasting.lag_engine import LagEngine
from adabypass.panel.engines import ModelEngine
from adabypass.regressors import AutoBypass, Regressor
from adabypass.state.bank import AutoBypassSpec
from adabypass.validation import Floats

LEARNED_SHARE = 0.9
"""How much of the shares is what was learned; the rest is the design's, so that no filter is excluded."""


def pooled(engine: Engine, rows: Iterable[Floats], n_inputs: int) -> Forecaster | Regressor:
    """Return the forecaster, or the model, of an engine, whose bank starts from the average mixture weights of rows."""
    series = engine.spec if isinstance(engine, LagEngine) else None
    spec = series.model if series is not None else engine.template._spec if isinstance(engine, ModelEngine) else None
    if not isinstance(spec, AutoBypassSpec):
        raise ParameterError(f"the series are of {engine.name}, but only AutoBypass has mixture weights to start from.")
    n_features = n_inputs if series is None else series.n_features(n_inputs)
    model_rows = rows if series is None else (series.model_row(row, n_inputs) for row in rows)
    learned = replace(spec, prior_shares=_average_shares(spec, model_rows, n_features))
    model = AutoBypass._of_spec(learned)
    if series is None:
        return model
    assert isinstance(engine, LagEngine)
    return Forecaster._of(LagEngine(model, replace(series, model=learned), engine.exog))


def _average_shares(spec: AutoBypassSpec, rows: Iterable[Floats], n_features: int) -> tuple[float, ...]:
    """Return the average shares of the filters of all models that are past their warm-up."""
    total, design = np.zeros(spec.n_filters), replace(spec, prior_shares=None)
    for row in rows:
        if spec.is_scaled(row) and spec.layout.scalar(row, "n_seen") >= spec.n_warm_up:
            total += spec.view(row, "filter_share", n_features)
    if not total.any():
        raise NotReadyError(f"no series has {spec.n_warm_up} observations yet, from which to learn for others.")
    prior = np.array([each.prior_share for each in design.filters()])
    return tuple((LEARNED_SHARE * total / total.sum() + (1.0 - LEARNED_SHARE) * prior).tolist())
