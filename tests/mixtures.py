"""Forecasts for tests: components as the references have them, and mixtures of one component."""

import numpy as np

from adabypass import Mixture
from adabypass.distributions.component import COMPONENT, Components
from adabypass.numerics.noise import FLEXIBLE_NORMALS, Family
from adabypass.reference import multistep
from adabypass.state.linear_mixture import LinearMixture
from adabypass.state.past import Design, Past
from adabypass.validation import Floats


def insensitive(mean: float | Floats, signal_var: float | Floats, noise_scale: float, epsilon: float) -> Mixture:
    """Return one forecast, or many, by a Gaussian plus insensitive noise."""
    return Mixture.of(
        weight=np.ones((*np.shape(mean), 1)),
        mean=np.asarray(mean)[..., None],
        signal_var=np.asarray(signal_var)[..., None],
        noise_scale=noise_scale,
        epsilon=epsilon,
        family=Family.INSENSITIVE,
    )


def split_flexible(components: Components, shares: Floats) -> Components:
    """Return the components with each one of flexible noise replaced by its normals, of these shares: equation (H.31).

    Along the last axis every forecast has the same families.
    """
    family = components["family"][(0,) * (components.ndim - 1)]
    is_flexible = family == Family.FLEXIBLE
    n = len(shares)
    origin = np.repeat(np.arange(len(family)), np.where(is_flexible, n, 1))
    split, chosen = components[..., origin], is_flexible[origin]
    normal = np.tile(np.arange(n), int(is_flexible.sum()))
    scale = split["noise_scale"][..., chosen]
    split["weight"][..., chosen] *= shares[normal]
    split["mean"][..., chosen] += scale * (FLEXIBLE_NORMALS.centers - FLEXIBLE_NORMALS.mean(shares))[normal]
    split["noise_scale"][..., chosen] = scale * FLEXIBLE_NORMALS.sds[normal]
    split["family"][..., chosen] = Family.GAUSSIAN
    return split


def steps_ahead(mixture: LinearMixture, design: Design, past: Past, features: Floats) -> Components:
    """Return the components of the forecasts at every step ahead, shape (n_steps, n_components).

    Parameters
    ----------
    features : array (n_steps, n_features)
        What is known of the features at each step; what stands at the lags is not read.
    """
    parts = np.zeros((len(features), len(mixture.share)), COMPONENT)
    parts["weight"] = mixture.share
    if not mixture.is_known:
        parts["mean"], parts["noise_scale"], parts["family"] = np.nan, np.inf, Family.GAUSSIAN
        return parts
    parts["epsilon"], parts["family"] = mixture.epsilon, mixture.family
    is_point = np.isnan(mixture.noise_scale)
    steps = multistep.moments(
        mixture._replace(noise_scale=np.where(is_point, 0.0, mixture.noise_scale)), design, past, features
    )
    for k, each in enumerate(steps):
        parts["mean"][:, k], parts["signal_var"][:, k] = each.mean, each.signal_var
        parts["noise_scale"][:, k] = np.nan if is_point[k] else each.noise_scale
    return split_flexible(parts, mixture.normal_shares)
