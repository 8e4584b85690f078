"""Forecasts many steps ahead, from a forecaster's row."""

import numpy as np

from adabypass.inference import multistep
from adabypass.model.forecast import Forecast
from adabypass.model.predictive import from_components
from adabypass.model.series_spec import SeriesSpec
from adabypass.regressors import Regressor
from adabypass.validation import Floats


def forecast_horizon(
    model: Regressor, spec: SeriesSpec, row: Floats, exog: Floats, n_paths: int | None, rng: np.random.Generator
) -> Forecast:
    """Forecast as many steps as `exog` has rows: by moments, or by `n_paths` draws.

    Parameters
    ----------
    model
        As `row` holds it.
    exog : array (horizon, n_exog)
        The exogenous values to come.
    """
    horizon, n_exog = exog.shape
    design, past = spec.design, spec.past(row, n_exog)
    features = np.zeros((horizon, spec.n_features(n_exog)))
    features[:, : int(design.bias)] = 1.0
    features[:, design.lag_columns.stop :] = exog
    mixture = model.linear_mixture()
    if n_paths is not None:
        return Forecast.from_paths(multistep.paths(mixture, design, past, features, n_paths, rng))
    components = multistep.moments(mixture, design, past, features)
    return Forecast(from_components(components, type(model).__name__))
