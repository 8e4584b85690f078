"""Futures that are drawn: the one-step forecast, iterated, with the uncertainty of what it is made from.

An observation depends on the values before it: y = d'b + w'r + noise, where b are those values, newest first, and some
of the regressors r are lags, A b. Moments many steps ahead come from compiled code: kernels/multistep.pyx.
"""

from typing import NamedTuple

import numpy as np

from adabypass.numerics import noise
from adabypass.numerics.limits import MAX_RESPONSE, MAX_VALUE
from adabypass.state.linear_mixture import LinearMixture
from adabypass.state.past import Design, Past
from adabypass.validation import Floats, Integers


class StabilisedWeights(NamedTuple):
    """Weights that do not let the series explode: w becomes mean + shrink (w - old mean)."""

    mean: Floats
    shrink: Floats

    def of(self, mixture: LinearMixture) -> LinearMixture:
        """Apply it."""
        both = self.shrink[:, :, None] * self.shrink[:, None, :]
        return mixture._replace(mean=self.mean, cov=both * mixture.cov, drift=both * mixture.drift)


def stabilise(mixture: LinearMixture, design: Design, past: Past, horizon: int) -> StabilisedWeights:
    """Assume that the series does not explode: equations (K.9) and (K.11).

    A filter whose weights drift fast may forecast one step as well as any, while its lags' weights, left to themselves,
    would leave all bounds within a few steps. Its forecast of the series as it is now stays what it was, however far
    that is from the centre of the features: the intercept makes up for what the lags' lose.
    """
    n_steps = max(horizon, 2 * design.n_values, 30)
    orders = np.array(design.lags, dtype=np.int64)
    at = _lag_weights(mixture, design)
    mean, shrink = mixture.mean.copy(), np.ones_like(mixture.mean)
    if len(at) == 0:
        return StabilisedWeights(mean, shrink)
    typical = np.asarray(mixture.share @ mixture.mean)[at]
    apart = np.sum((mixture.mean[:, at] - typical) ** 2, axis=1)
    doubt = mixture.share @ (apart + np.trace(mixture.cov[:, at[:, None], at], axis1=1, axis2=2))
    # Growth is taken for real where two standard deviations less of it would still be growth.
    bound = max(float(growth_factor(typical[None], orders, n_steps)[0]) - 2.0 * float(doubt) ** 0.5, 1.0)
    growth = growth_factor(mean[:, at], orders, n_steps)
    mean[:, at] *= np.minimum(bound / growth, 1.0)[:, None] ** orders  # (K.9)
    if mixture.intercept or design.bias:
        here = _recent_mean(design, past) - mixture.x_center[at - mixture.intercept]
        with np.errstate(over="ignore", invalid="ignore"):
            mean[:, 0] = finite(mean[:, 0] + (mixture.mean - mean)[:, at] @ here)  # (K.10)
    spread = np.trace((mixture.cov + horizon * mixture.drift)[:, at[:, None], at], axis1=1, axis2=2)
    room = np.maximum((1.0 - growth) / 3.0, 0.7 / horizon)
    shrink[:, at] = np.minimum(room / np.sqrt(np.maximum(spread, 1e-300)), 1.0)[:, None]  # (K.11)
    return StabilisedWeights(mean, shrink)


def _lag_weights(mixture: LinearMixture, design: Design) -> Integers:
    """Return where the weights of the lags stand among a component's weights."""
    first = design.lag_columns.start + int(mixture.intercept)
    return np.arange(first, first + len(design.lags))


def _recent_mean(design: Design, past: Past) -> float:
    """Return the mean of the series, differenced if it is, as far back as the longest lag."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(finite(np.asarray(np.mean(np.convolve(past.values, design.taps[::-1], "valid")))))


def _response(weights: Floats, orders: Integers, n_steps: int) -> Floats:
    """Compute the response to an impulse: (n_components, n_steps)."""
    longest = int(orders.max())
    answer = np.zeros((len(weights), longest + n_steps))
    answer[:, longest] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(longest + 1, longest + n_steps):
            answer[:, step] = finite(np.sum(weights * answer[:, step - orders], axis=1), MAX_RESPONSE)
    return answer[:, longest:]


def growth_factor(weights: Floats, orders: Integers, n_steps: int) -> Floats:
    """Factor by which an impulse grows in a step, in the long run; below 1 it dies away."""
    if len(orders) == 1:
        return np.asarray(np.maximum(np.abs(weights[:, 0]), 1e-300) ** (1.0 / orders[0]))
    answer = _response(weights, orders, n_steps)
    half = answer.shape[1] // 2
    early, late = (np.abs(part).max(axis=1) for part in (answer[:, :half], answer[:, half:]))
    return np.asarray((np.maximum(late, 1e-300) / early) ** (1.0 / half))


def paths(
    mixture: LinearMixture, design: Design, past: Past, features: Floats, n_paths: int, rng: np.random.Generator
) -> Floats:
    """Draw what may come, shape (n_paths, n_steps): each path one component, its weights drifting as it goes."""
    horizon, n_values = len(features), len(past.values)
    if not mixture.is_known:
        return np.full((n_paths, horizon), np.nan)
    chosen = rng.choice(len(mixture.share), size=n_paths, p=mixture.share / mixture.share.sum())
    stabilised = stabilise(mixture, design, past, horizon)
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
            w = stabilised.mean[chosen] + stabilised.shrink[chosen] * (w - mixture.mean[chosen])
            drift_root = stabilised.shrink[chosen][:, :, None] * drift_root
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
