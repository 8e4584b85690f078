"""Futures of a series, drawn from a forecaster's row."""

import numpy as np

from adabypass.forecasting import multistep
from adabypass.regressors import Regressor
from adabypass.results.forecast import Forecast
from adabypass.state.series import SeriesSpec
from adabypass.validation import Floats


def draw_paths(
    model: Regressor, spec: SeriesSpec, row: Floats, share: Floats, exog: Floats, n_paths: int,
    rng: np.random.Generator,
) -> Forecast:  # fmt: skip
    """Forecast as many steps as `exog` has rows by `n_paths` draws.

    Parameters
    ----------
    model
        As `row` holds it.
    share : array (n_linears,)
        Of the model's linear models, at the last step.
    exog : array (horizon, n_exog)
        The exogenous values to come.
    """
    horizon, n_exog = exog.shape
    design, past = spec.design, spec.past(row, n_exog)
    features = np.zeros((horizon, spec.n_features(n_exog)))
    features[:, : int(design.bias)] = 1.0
    features[:, design.lag_columns.stop :] = exog
    mixture = model.linear_mixture()._replace(share=share)
    return Forecast.from_paths(multistep.paths(mixture, design, past, features, n_paths, rng))
