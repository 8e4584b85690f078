"""Futures that are drawn: the one-step forecast, iterated, with the uncertainty of what it is made from.

An observation depends on the values before it: y = d'b + w'r + noise, where b are those values, newest first, and some
of the regressors r are lags, A b. Moments many steps ahead come from compiled code: kernels/multistep.pyx.
"""

import numpy as np

from adabypass.numerics import noise
from adabypass.numerics.limits import MAX_VALUE
from adabypass.state.linear_mixture import LinearMixture
from adabypass.state.past import Design, Past
from adabypass.validation import Floats


def paths(
    mixture: LinearMixture, stable: tuple[Floats, Floats], design: Design, past: Past, features: Floats, n_paths: int,
    rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Draw what may come, shape (n_paths, n_steps): each path one component, its weights drifting as it goes.

    Parameters
    ----------
    stable
        Means of the weights from the second step on, and by what deviations from those of the first are multiplied:
        equations (K.9)-(K.11).
    """
    horizon, n_values = len(features), len(past.values)
    if not mixture.is_known:
        return np.full((n_paths, horizon), np.nan)
    chosen = rng.choice(len(mixture.share), size=n_paths, p=mixture.share / mixture.share.sum())
    stable_mean, shrink = (each[chosen] for each in stable)
    root, drift_root = _root(mixture.cov)[chosen], _root(mixture.drift)[chosen]
    size = mixture.mean.shape[1]
    w = mixture.mean[chosen] + np.einsum("pij,pj->pi", root, rng.normal(size=(n_paths, size)))
    sequence = np.broadcast_to(np.concatenate([past.values[::-1], np.zeros(horizon)]), (n_paths, n_values + horizon))
    sequence = sequence.copy()
    if len(past.unknown):
        sequence[:, n_values - 1 - past.unknown] += rng.normal(size=(n_paths, len(past.unknown))) @ _root(past.cov).T
    columns = design.positions
    lags, base = design.lag_matrix(columns), design.base_weights(columns)
    for step in range(horizon):
        if step == 1:
            w = stable_mean + shrink * (w - mixture.mean[chosen])
            drift_root = shrink[:, :, None] * drift_root
        mixture = mixture.advance() if step else mixture
        w = w + np.einsum("pij,pj->pi", drift_root, rng.normal(size=(n_paths, size)))
        places = n_values + step - 1 - columns
        x = np.broadcast_to(features[step], (n_paths, features.shape[1])).copy()
        x[:, design.lag_columns] = sequence[:, places] @ lags.T
        eta = noise.sample(mixture.family[chosen], mixture.epsilon[chosen], rng, mixture.normal_shares)
        with np.errstate(over="ignore", invalid="ignore"):
            r = mixture.regressors(x)
            own = finite(mixture.y_center + np.sum(w * r, axis=1))
            error = mixture.scale_at(own, chosen) * eta
            y = sequence[:, places] @ base + own + error
            if np.any(mixture.differenced):
                w = w + (mixture.differenced[chosen] * error)[:, None] * mixture.direction(r)  # (H.20)
        sequence[:, n_values + step] = finite(y)
    return sequence[:, n_values:].copy()


def finite(values: Floats, largest: float = MAX_VALUE) -> Floats:
    """Return the values within plus or minus the largest; nan becomes the largest."""
    return np.clip(np.nan_to_num(values, nan=largest), -largest, largest)


def _root(cov: Floats) -> Floats:
    """Return a matrix R with R R' = cov, which may be singular."""
    values, vectors = np.linalg.eigh(cov)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])
