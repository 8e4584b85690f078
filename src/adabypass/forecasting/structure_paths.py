"""Futures drawn under the automatic forecaster's structures."""

import numpy as np

from adabypass.forecasting.path_draws import draw
from adabypass.forecasting.structure_mixtures import mixture_of
from adabypass.kernels.structure import StructureCell
from adabypass.validation import Floats


def draw_paths(
    bank: StructureCell, exog: Floats, n_paths: int, rng: np.random.Generator, support: tuple[float, float]
) -> Floats:
    """Draw what may come, shape (n_paths, horizon).

    Each path follows one structure, drawn by its share at the last step: its state and the scale of its noise are
    drawn, then the state drifts as it goes, and a regression's own values are among its lags. Its distance from the
    structure's forecast is then stretched as the scale so many steps ahead is. With a probability of its own, a value
    is 0.
    """
    horizon = len(exog)
    if not bank.is_scaled:
        share, dof, means, scales = bank.ahead(exog)
        return np.asarray(mixture_of(bank, share, means, scales, dof, support).sample(rng, n_paths))
    share = bank.shares_ahead(horizon)
    counts = rng.multinomial(n_paths, share / share.sum())
    waves, columns = bank.regressors_ahead(exog)
    season, known = waves[:, : bank.spec.n_season], columns[:, : bank.spec.n_exog]
    center, var = bank.moments_ahead(exog)
    scale_var = bank.scales_ahead(horizon)[0]
    sd = np.sqrt(var * scale_var[0][:, None])
    stretch = np.sqrt(scale_var / scale_var[0])
    drawn = [
        draw(bank.spec, bank.row, k, season, known, int(n), rng, center[k], sd[k], stretch[:, k])
        for k, n in enumerate(counts)
        if n > 0
    ]
    paths = np.concatenate(drawn)
    paths[rng.uniform(size=paths.shape) < bank.zero_share] = 0.0
    rng.shuffle(paths, axis=0)
    return np.clip(paths.reshape(n_paths, horizon), *support)
