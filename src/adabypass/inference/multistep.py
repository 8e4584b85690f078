"""Many steps ahead: the one-step forecast, iterated, with the uncertainty of what it is made from.

An observation hangs on the `levels` before it: y = base'b + w'r + noise, where b are those levels, newest first, and
some of the features that r is made of are lags, A b. What is not known of b, whether it lies ahead or was missing, is a
Gaussian that goes on from step to step.
"""

from typing import NamedTuple

import numpy as np

from adabypass.model import noise
from adabypass.model.component import COMPONENT, Components
from adabypass.model.limits import LARGEST
from adabypass.model.linear_mixture import LinearMixture
from adabypass.validation import Floats


class Design(NamedTuple):
    """How an observation hangs on the levels before it."""

    base: Floats
    """Shape (n_levels,): what is added to the model's forecast; of a differenced series the level before."""
    lags: Floats
    """Shape (n_lags, n_levels): which levels make which feature."""
    first: int
    """Number of the first feature that is a lag."""


class Past(NamedTuple):
    """The levels before the next observation, newest first."""

    levels: Floats
    unknown: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    """Which of them stand in for observations that are missing,"""
    cov: Floats
    """and their covariance."""


class StabilisedWeights(NamedTuple):
    """Weights that do not let the series explode: w becomes mean + shrink (w - old mean)."""

    mean: Floats
    shrink: Floats

    def of(self, belief: LinearMixture) -> LinearMixture:
        """Apply it."""
        both = self.shrink[:, :, None] * self.shrink[:, None, :]
        return belief._replace(mean=self.mean, cov=both * belief.cov, drift=both * belief.drift)


def extra_var(belief: LinearMixture, design: Design, past: Past, x: Floats) -> Floats:
    """Variance that each component's forecast gains because lags are not known: equation (62) for a single step."""
    belief = stabilise(belief, design, past, len(past.unknown) + 1).of(belief)
    belief = belief._replace(cov=belief.cov + belief.drift)
    r = belief.regressors(x)
    A, d = _uncertain(belief, design, past.unknown)
    return _gain(belief, past.cov, np.zeros((*belief.mean.shape, len(past.unknown))), A, d, r)


def stabilise(belief: LinearMixture, design: Design, past: Past, horizon: int) -> StabilisedWeights:
    """Take it that the series does not explode: equations (64) and (65).

    A filter whose weights drift fast may forecast one step as well as any, while its lags' weights, left to themselves,
    would leave all bounds within a few steps. Its forecast of the series as it is now stays what it was, however far
    that is from the centre of the features: the weight of the level makes up for what the lags' lose.
    """
    n_lags = len(design.lags)
    n_steps = max(horizon, 2 * len(design.base), 30)
    at = design.first + belief.intercept + np.arange(n_lags)
    orders = 1 + np.array([int(np.flatnonzero(row)[0]) for row in design.lags], dtype=np.int64)
    mean, shrink = belief.mean.copy(), np.ones_like(belief.mean)
    if n_lags == 0:
        return StabilisedWeights(mean, shrink)
    typical = np.asarray(belief.share @ belief.mean)[at]
    apart = np.sum((belief.mean[:, at] - typical) ** 2, axis=1)
    doubt = belief.share @ (apart + np.trace(belief.cov[:, at[:, None], at], axis1=1, axis2=2))
    # Growth is taken for real where two standard deviations less of it would still be growth.
    bound = max(float(_growth(typical[None], orders, n_steps)[0]) - 2.0 * float(doubt) ** 0.5, 1.0)
    growth = _growth(mean[:, at], orders, n_steps)
    mean[:, at] *= np.minimum(bound / growth, 1.0)[:, None] ** orders  # (64)
    if belief.intercept or design.first:
        here = _lately(design, past, orders) - belief.x_center[at - belief.intercept]
        with np.errstate(over="ignore", invalid="ignore"):
            mean[:, 0] = finite(mean[:, 0] + (belief.mean - mean)[:, at] @ here)  # (70)
    spread = np.trace((belief.cov + horizon * belief.drift)[:, at[:, None], at], axis1=1, axis2=2)
    room = np.maximum((1.0 - growth) / 3.0, 0.7 / horizon)
    shrink[:, at] = np.minimum(room / np.sqrt(np.maximum(spread, 1e-300)), 1.0)[:, None]  # (65)
    return StabilisedWeights(mean, shrink)


def _lately(design: Design, past: Past, orders: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> float:
    """Mean of what the lags have seen of the series, as far back as the longest of them."""
    longest = int(orders.max())
    taps = design.lags[0, orders[0] - 1 :][: len(past.levels) - longest + 1]
    with np.errstate(over="ignore", invalid="ignore"):
        seen = np.convolve(past.levels, taps[::-1], "valid")
        return float(finite(np.asarray(np.mean(seen))))


def _response(weights: Floats, orders: "np.ndarray[tuple[int], np.dtype[np.int64]]", n_steps: int) -> Floats:
    """Follow an impulse for so many steps: (n_components, n_steps)."""
    longest = int(orders.max())
    answer = np.zeros((len(weights), longest + n_steps))
    answer[:, longest] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(longest + 1, longest + n_steps):
            answer[:, step] = finite(np.sum(weights * answer[:, step - orders], axis=1), 1e100)
    return answer[:, longest:]


def _growth(weights: Floats, orders: "np.ndarray[tuple[int], np.dtype[np.int64]]", n_steps: int) -> Floats:
    """Factor by which an impulse grows in a step, in the long run; below 1 it dies away."""
    if len(orders) == 1:
        return np.asarray(np.maximum(np.abs(weights[:, 0]), 1e-300) ** (1.0 / orders[0]))
    answer = _response(weights, orders, n_steps)
    half = answer.shape[1] // 2
    early, late = (np.abs(part).max(axis=1) for part in (answer[:, :half], answer[:, half:]))
    return np.asarray((np.maximum(late, 1e-300) / early) ** (1.0 / half))


def moments(belief: LinearMixture, design: Design, past: Past, features: Floats) -> Components:
    """Components of the forecasts at every step ahead, shape (n_steps, n_components).

    Parameters
    ----------
    features : array (n_steps, n_features)
        What is known of the features at each step; what stands at the lags is overwritten.
    """
    horizon, n_levels = len(features), len(past.levels)
    n_parts, n_weights = belief.mean.shape
    n_unknown = len(past.unknown)
    # The sequence of levels, oldest first; `slot` says where one that is not known stands among those. A level that no
    # lag reaches any more leaves its slot to a new one, so that a far horizon takes no more memory than a near one.
    sequence = np.broadcast_to(np.concatenate([past.levels[::-1], np.zeros(horizon)]), (n_parts, n_levels + horizon))
    sequence = sequence.copy()
    n_slots = max(min(n_unknown + horizon, n_levels), 1)
    oldest_first = np.argsort(-past.unknown)
    slot = np.full(n_levels + horizon, -1)
    slot[n_levels - 1 - past.unknown[oldest_first]] = np.arange(n_unknown)
    slot[n_levels:] = (n_unknown + np.arange(horizon)) % n_slots
    cov = np.zeros((n_parts, n_slots, n_slots))
    cov[:, :n_unknown, :n_unknown] = past.cov[np.ix_(oldest_first, oldest_first)]
    cross = np.zeros((n_parts, n_weights, n_slots))  # of the weights with what is not known
    components = np.empty((horizon, n_parts), COMPONENT)
    columns = _used(design)
    for step in range(horizon):
        if step == 0:
            stabilised = stabilise(belief, design, past, horizon)
            belief = belief._replace(cov=belief.cov + belief.drift)
        else:
            belief = stabilised.of(belief) if step == 1 else belief
            belief = belief.advance()
        here = n_levels + step
        places = here - 1 - columns
        unknown = slot[places]
        A, d = _uncertain(belief, design, columns[unknown >= 0])
        u = unknown[unknown >= 0]
        x = np.broadcast_to(features[step], (n_parts, features.shape[1])).copy()
        x[:, design.first : design.first + len(design.lags)] = sequence[:, places] @ design.lags[:, columns].T
        r = belief.regressors(x)
        with np.errstate(over="ignore", invalid="ignore"):
            W, C = cross[:, :, u], cov[:, u][:, :, u]
            slope = belief.mean @ A + d  # of y by each unknown level
            mean = belief.y_center + sequence[:, places] @ design.base[columns] + np.sum(belief.mean * r, axis=1)
            mean = mean + np.einsum("kju,ju->k", W, A)  # (62)
            signal = _gain(belief, C, W, A, d, r) + np.einsum("ki,kij,kj->k", r, belief.cov, r)
            signal = np.maximum(finite(signal), 0.0)
            sequence[:, here] = finite(mean)
            at = slot[here]
            along = np.einsum("kjv,kj->kv", cross, r) + np.einsum("kvu,ku->kv", cov[:, :, u], slope)
            cross[:, :, at] = np.einsum("kij,kj->ki", belief.cov, r) + np.einsum("kju,ku->kj", W, slope)  # (63)
            cross[:, :, at] = finite(cross[:, :, at] * (stabilised.shrink if step == 0 else 1.0))
            cov[:, at, :] = cov[:, :, at] = finite(along)
            cov[:, at, at] = finite(signal + np.nan_to_num(belief.noise_var))
        components["mean"][step], components["signal_var"][step] = sequence[:, here], signal
        components["noise_scale"][step] = belief.noise_scale
    components["weight"], components["epsilon"], components["family"] = belief.share, belief.epsilon, belief.family
    return components


def paths(
    belief: LinearMixture, design: Design, past: Past, features: Floats, n_paths: int, rng: np.random.Generator
) -> Floats:
    """Draw what may come, shape (n_paths, n_steps): each path one component, its weights drifting as it goes."""
    horizon, n_levels = len(features), len(past.levels)
    chosen = rng.choice(len(belief.share), size=n_paths, p=belief.share / belief.share.sum())
    stabilised = stabilise(belief, design, past, horizon)
    root, drift_root = _root(belief.cov)[chosen], _root(belief.drift)[chosen]
    size = belief.mean.shape[1]
    w = belief.mean[chosen] + np.einsum("pij,pj->pi", root, rng.normal(size=(n_paths, size)))
    sequence = np.broadcast_to(np.concatenate([past.levels[::-1], np.zeros(horizon)]), (n_paths, n_levels + horizon))
    sequence = sequence.copy()
    if len(past.unknown):
        sequence[:, n_levels - 1 - past.unknown] += rng.normal(size=(n_paths, len(past.unknown))) @ _root(past.cov).T
    columns = _used(design)
    for step in range(horizon):
        if step == 1:
            w = stabilised.mean[chosen] + stabilised.shrink[chosen] * (w - belief.mean[chosen])
            drift_root = stabilised.shrink[chosen][:, :, None] * drift_root
        belief = belief.advance() if step else belief
        w = w + np.einsum("pij,pj->pi", drift_root, rng.normal(size=(n_paths, size)))
        places = n_levels + step - 1 - columns
        x = np.broadcast_to(features[step], (n_paths, features.shape[1])).copy()
        x[:, design.first : design.first + len(design.lags)] = sequence[:, places] @ design.lags[:, columns].T
        eta = belief.noise_scale[chosen] * noise.sample(belief.family[chosen], belief.epsilon[chosen], rng)
        with np.errstate(over="ignore", invalid="ignore"):
            y = belief.y_center + sequence[:, places] @ design.base[columns]
            y = y + np.sum(w * belief.regressors(x), axis=1) + eta
        sequence[:, n_levels + step] = finite(y)
    return sequence[:, n_levels:].copy()


def _used(design: Design) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Which levels matter at all."""
    return np.flatnonzero((design.base != 0) | (design.lags != 0).any(axis=0))


def _uncertain(
    belief: LinearMixture, design: Design, unknown: "np.ndarray[tuple[int], np.dtype[np.int64]]"
) -> tuple[Floats, Floats]:
    """How the regressors and the base hang on the unknown levels: (n_weights, n_unknown) and (n_unknown,)."""
    A = np.zeros((belief.mean.shape[1], len(unknown)))
    first = design.first + belief.intercept
    A[first : first + len(design.lags)] = design.lags[:, unknown]
    return A, design.base[unknown]


def _gain(belief: LinearMixture, C: Floats, W: Floats, A: Floats, d: Floats, r: Floats) -> Floats:
    """Variance of base'b + w'r beyond r'Pr: equation (62), exact if weights and levels are jointly Gaussian."""
    C = np.broadcast_to(C, (len(belief.mean), *C.shape[-2:]))
    slope = belief.mean @ A + d
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.einsum("iu,kuv,jv->kij", A, C, A)
        crossed = np.einsum("kiu,ju->kij", W, A)
        gain = np.einsum("ku,kuv,kv->k", slope, C, slope) + np.einsum("kij,kij->k", belief.cov, spread)
        gain = gain + np.einsum("kij,kji->k", crossed, crossed)
        r = np.broadcast_to(r, belief.mean.shape)
        return np.asarray(gain + 2 * np.einsum("ki,kiu,ku->k", r, W, slope))


def finite(values: Floats, largest: float = LARGEST) -> Floats:
    """Keep what explodes at the largest number."""
    return np.clip(np.nan_to_num(values, nan=largest), -largest, largest)


def _root(cov: Floats) -> Floats:
    """Find a matrix R with R R' = cov, which may be singular."""
    values, vectors = np.linalg.eigh(cov)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])
