"""The exact-evidence filter: the noise of BYPASS with a scale, integrated in closed form instead of approximated.

Everything is computed for η = (y - x'w)/σ, which is N(d, v) before y is seen: d = (y - x'm)/σ, v = x'Px/σ². Its
posterior is three pieces of normal distributions, on the left tail, the flat top and the right tail of the noise.
"""

from math import inf, log, pi, sqrt
from typing import NamedTuple

import numpy as np

from adabypass.numerics.limits import MIN_SIGNAL
from adabypass.numerics.noise import FLEXIBLE_NORMALS, NORMALS, Family, Normals
from adabypass.reference.linear_gaussian import Weights, drift, guard, inner
from adabypass.reference.special import NEGLIGIBLE_LOG, NODES, WEIGHTS
from adabypass.state.paper import EvidenceBypassSpec
from adabypass.validation import Floats


class Evidence(NamedTuple):
    """Evidence of one observation, in units of σ."""

    log_density: float  # log of the density of y times σ
    shift: float  # posterior minus prior mean of η
    var: float  # posterior variance of η
    tail: float  # posterior probability that |η| > ε
    scale_slope: float  # d log density / d log σ, of the density of y itself
    epsilon_slope: float  # d log density / d ε
    responsibilities: Floats | None = None  # responsibilities of the normals of flexible noise


class Piece(NamedTuple):
    """A normal distribution restricted to an interval."""

    log_mass: float  # relative to the density, in standard units, at `nearest`
    nearest: float  # point of the interval nearest to the normal's mean
    offset: float  # mean of the piece minus `nearest`
    var: float


def piece(center: float, var: float, low: float, high: float) -> Piece:
    """Compute mass and moments of N(center, var) on [low, high], by quadrature over the distance from `nearest`."""
    sd = sqrt(var)
    nearest = min(max(center, low), high)
    tilt = (nearest - center) / sd  # log density falls as tilt d + d²/2, d in standard deviations
    size = abs(tilt)
    reach = 2 * NEGLIGIBLE_LOG / (size + sqrt(size**2 + 2 * NEGLIGIBLE_LOG))
    below, above = max(-reach, (low - nearest) / sd), min(reach, (high - nearest) / sd)
    d = below + (above - below) / 2 * (1 + NODES)
    density = WEIGHTS * np.exp(-(tilt + d / 2) * d)
    mass = float(density.sum())
    mean = float(density @ d) / mass
    spread = float(density @ (d - mean) ** 2) / mass
    return Piece(log(mass * (above - below) / 2), nearest, sd * mean, var * spread)


def insensitive(d: float, v: float, epsilon: float) -> Evidence:
    """Return the evidence of an observation under noise with a flat top and Laplace tails."""
    left, flat, right = piece(d + v, v, -inf, -epsilon), piece(d, v, -epsilon, epsilon), piece(d - v, v, epsilon, inf)
    logs = np.array(
        [
            p.log_mass - (p.nearest - d) ** 2 / (2 * v) - max(abs(p.nearest) - epsilon, 0.0) - log(2 * pi) / 2
            for p in (left, flat, right)
        ]
    )  # (G.2)
    shares = np.exp(logs - logs.max())
    log_total = float(logs.max()) + log(shares.sum())
    shares /= shares.sum()
    base = flat.nearest  # means are measured from here, to keep the precision of small differences
    means = np.array([p.nearest - base + p.offset for p in (left, flat, right)])
    mean = inner(shares, means)
    var = inner(shares, np.array([left.var, flat.var, right.var]) + (means - mean) ** 2)  # (G.4)
    # Either form of the shift cancels where the other does not.
    apart = float(shares[0] - shares[2])
    shift = v * apart if v <= 1.0 or abs(apart) > 0.5 else base - d + mean  # (G.3)
    tail = float(shares[0] + shares[2])
    beyond = inner(shares, np.array([-(left.nearest + left.offset), 0.0, right.nearest + right.offset]))
    return Evidence(
        log_density=log_total - log(2 * (1 + epsilon)),  # (G.1)
        shift=shift,
        var=var,
        tail=tail,
        scale_slope=beyond - 1.0,  # (G.5)
        epsilon_slope=tail - 1 / (1 + epsilon),  # (G.6)
    )


def normals(d: float, v: float, noise: Normals) -> Evidence:
    """Return the evidence of an observation under noise that is a scale mixture of normals with variances τ²."""
    share, tau_sq = np.array(noise.shares), np.array(noise.sds) ** 2
    D = tau_sq + v
    logs = np.log(share) - 0.5 * (np.log(2 * pi * D) + d * d / D)
    posterior = np.exp(logs - logs.max())
    posterior /= posterior.sum()
    centers = tau_sq * d / D  # of η, under each normal
    mean = inner(posterior, centers)
    return Evidence(
        log_density=float(logs.max()) + log(np.exp(logs - logs.max()).sum()),  # (G.7), (G.9)
        shift=-v * inner(posterior, d / D),
        var=inner(posterior, tau_sq * v / D + (centers - mean) ** 2),
        tail=0.0,
        scale_slope=inner(posterior, centers**2 / tau_sq + v / D) - 1.0,  # (G.10)
        epsilon_slope=0.0,
    )


def flexible(d: float, v: float, shares: Floats) -> Evidence:
    """Return the evidence of an observation under a mixture of normals with different means, centred."""
    centers, tau_sq = FLEXIBLE_NORMALS.centers - FLEXIBLE_NORMALS.mean(shares), FLEXIBLE_NORMALS.sds**2  # (H.31)
    D, error = tau_sq + v, d - centers
    logs = np.log(shares) - 0.5 * (np.log(2 * pi * D) + error**2 / D)
    responsibilities = np.exp(logs - logs.max())
    total = float(responsibilities.sum())
    responsibilities /= total
    means = centers + tau_sq * error / D  # of η, under each normal
    mean = inner(responsibilities, means)
    return Evidence(
        log_density=float(logs.max()) + log(total),  # (H.32)
        shift=-v * inner(responsibilities, error / D),  # (H.33)
        var=inner(responsibilities, tau_sq * v / D + (means - mean) ** 2),  # (H.34)
        tail=0.0,
        scale_slope=inner(responsibilities, means * error / D + v / D) - 1.0,  # (H.35)
        epsilon_slope=0.0,
        responsibilities=responsibilities,
    )


def evidence(family: Family, d: float, v: float, epsilon: float, shares: Floats = FLEXIBLE_NORMALS.start) -> Evidence:
    """Return the evidence of an observation under noise of any family; `shares` are those of flexible noise."""
    if family is Family.FLEXIBLE:
        return flexible(d, v, shares)
    if family is Family.INSENSITIVE:
        return insensitive(d, v, epsilon)
    return normals(d, v, NORMALS[family])


def start(spec: EvidenceBypassSpec, n_features: int) -> Weights:
    """Return the prior belief."""
    return Weights(np.zeros(n_features), spec.prior_var * np.eye(n_features))


def predict(weights: Weights, x: Floats, spec: EvidenceBypassSpec) -> tuple[float, float]:
    """Return the mean and variance of x'w at the next observation, without the noise."""
    prior = drift(weights, spec.drift * spec.noise_scale**2)
    return inner(x, prior.mean), inner(x, prior.cov @ x)


def update(weights: Weights, x: Floats, y: float, spec: EvidenceBypassSpec) -> Weights:
    """Update the belief with `y` at `x`; if `y` is missing (nan), only the drift is added."""
    prior = drift(weights, spec.drift * spec.noise_scale**2)
    h = inner(x, prior.cov @ x)
    if np.isnan(y) or h <= 0.0:
        return prior
    seen = insensitive((y - inner(x, prior.mean)) / spec.noise_scale, h / spec.noise_scale**2, spec.epsilon)
    return move_weights(prior, x, -seen.shift * spec.noise_scale, seen.var * spec.noise_scale**2)


def move_weights(prior: Weights, x: Floats, move: float, left: float) -> Weights:
    """Update the weights so that the mean of x'w moves by `move`, and its variance falls to `left` if it is larger."""
    Px = prior.cov @ x
    h = inner(x, Px)
    if h <= MIN_SIGNAL:  # x'w is known exactly: there is nothing to learn
        return prior
    guarded, floor = guard(prior.cov, x, h)  # (C.31)
    shrink = max(1.0 - left / h, 0.0) / max(h, floor)
    mean = prior.mean + Px * (move / h)  # (G.11)
    return Weights(mean, guarded - shrink * np.outer(Px, Px))  # (G.12)
