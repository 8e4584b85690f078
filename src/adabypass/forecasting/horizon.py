"""Futures of a series, drawn from a forecaster's row."""

import numpy as np

from adabypass.forecasting import multistep
from adabypass.kernels.series import SeriesRunner
from adabypass.regressors import Regressor
from adabypass.results.forecast import Forecast
from adabypass.state.series import SeriesSpec
from adabypass.validation import Floats


def draw_paths(
    model: Regressor, runner: SeriesRunner, spec: SeriesSpec, exog: Floats, n_paths: int, rng: np.random.Generator
) -> Forecast:  # fmt: skip
    """Forecast as many steps as `exog` has rows by `n_paths` draws.

    Parameters
    ----------
    model
        As the runner's row holds it.
    exog : array (horizon, n_exog)
        The exogenous values to come.
    """
    horizon, n_exog = exog.shape
    design, past = spec.design, spec.past(runner.row, n_exog)
    features = np.zeros((horizon, spec.n_features(n_exog)))
    features[:, : int(design.bias)] = 1.0
    features[:, design.lag_columns.stop :] = exog
    mixture = model.linear_mixture()._replace(share=runner.step_shares(horizon))
    stable = runner.stable_weights(horizon)
    return Forecast.from_paths(multistep.paths(mixture, stable, design, past, features, n_paths, rng))
