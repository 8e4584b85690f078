"""Exact derivatives of the belief of BYPASS by a, b and ε, in forward mode: the correction of erratum E5.

Each step is differentiated: the fixed point by the implicit function theorem, then the update of the weights.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from adabypass.numerics.limits import MAX_HYPERPARAMETER, MAX_PREC, MIN_PREC, MIN_RHO
from adabypass.reference import bypass
from adabypass.reference.bypass import Belief, Omega, SweepInputs, Theta
from adabypass.reference.linear_gaussian import Weights, drift, inner
from adabypass.reference.special import NoiseMean, bessel_ratio_slope, noise_mean
from adabypass.state.paper import AdaBypassSpec
from adabypass.validation import Floats


class Slopes(NamedTuple):
    """Derivatives by a, b and ε, which are in this order along the first axis."""

    theta: Floats
    """Derivatives of α, β, μ and V, shape (3, 4)."""
    mean: Floats
    """Derivatives of m, shape (3, I)."""
    cov: Floats
    """Derivatives of S, shape (3, I, I)."""


def start(omega: Omega, n_features: int) -> Slopes:
    """Return the derivatives of the prior belief: α = a/b, and V of (A.8)."""
    a, b, epsilon = omega
    theta = np.zeros((3, 4))
    theta[0, 0], theta[1, 0] = 1 / b, -a / b**2
    theta[2, 3] = 2 * epsilon * (1 + epsilon + epsilon**2 / 3) / (1 + epsilon) ** 2
    return Slopes(theta, np.zeros((3, n_features)), np.zeros((3, n_features, n_features)))


def update(belief: Belief, slopes: Slopes, x: Floats, y: float, spec: AdaBypassSpec) -> tuple[Belief, Slopes]:
    """Update belief and derivatives with `y` at `x`: ADA-BYPASS with E5 corrected, and E8 if the spec includes it."""
    if np.isnan(y):
        drift_var, d_alpha = 1 / belief.theta.drift_prec, slopes.theta[:, 0]
        widened = slopes.cov - (d_alpha * drift_var**2)[:, None, None] * np.eye(len(x))
        return belief._replace(weights=drift(belief.weights, drift_var)), slopes._replace(cov=widened)
    seen = bypass.sweep_inputs(belief.weights, x, y)
    omega = adapt(belief, slopes, x, seen.e, spec)
    weights, theta, _, _ = bypass.learn(belief, omega, x, seen, spec)
    slopes = follow(slopes, belief.weights, x, y, theta, omega, spec.corrections)
    return Belief(weights, theta, omega, belief.gradient), slopes


def adapt(belief: Belief, slopes: Slopes, x: Floats, e: float, spec: AdaBypassSpec) -> Omega:
    """Move a, b and ε, each along its own derivative of the loss."""
    error, var = e - belief.theta.noise_mean, bypass.predict(belief, x)[1]
    d = belief.theta.noise_prec * (slopes.mean @ x) * error  # (D.17)
    if "E8" in spec.corrections:
        mean_slope, var_slope = forecast_slopes(slopes, belief, x)
        d = mean_slope * error / var + var_slope * (error**2 / var - 1) / (2 * var)  # (D.18)
    moved = np.array(belief.omega) + spec.aggressiveness * d
    return Omega(*(float(v) for v in np.clip(moved, spec.omega_min, MAX_HYPERPARAMETER)))  # (D.4)


def sweep_slopes(
    theta: Theta, omega: Omega, seen: SweepInputs, inputs: Floats, corrections: Collection[str] = ()
) -> Floats:
    """Return the directional derivatives of α, β, μ and V of a sweep.

    Parameters
    ----------
    inputs : array (10, n)
        Derivatives of α, β, μ, V, s, k, e, a, b and ε in each of n directions.

    Returns
    -------
    array (4, n)
    """
    alpha, beta, mu, V = theta
    s, n, k, e, n_features = seen
    d_alpha, d_beta, d_mu, d_V, d_s, d_k, d_e, d_a, d_b, d_epsilon = inputs
    q, d_q = 1 / alpha, -d_alpha / alpha**2
    h, d_h = s + n * q, d_s + n * d_q  # (C.11)
    D, d_D = h + 1 / beta, d_h - d_beta / beta**2  # (C.12)
    c, d_c = e - mu, d_e - d_mu  # (C.13)
    if "E1" in corrections:
        p2, d_p2 = n * q**2, 2 * n * q * d_q  # (D.8)
    else:
        p2, d_p2 = k + 2 * s * q + n * q**2, d_k + 2 * q * d_s + 2 * h * d_q  # (C.14)
    part, d_part = h / D, (d_h - h / D * d_D) / D
    r, d_r = e - c * part, d_e - d_c * part - c * d_part  # (C.15)
    spread = 2 * omega.b + p2 * c**2 / D**2 + n_features * q - p2 / D
    d_spread = 2 * d_b + (c**2 / D**2 - 1 / D) * d_p2 + 2 * p2 * c / D**2 * d_c + n_features * d_q
    d_spread += (p2 / D**2 - 2 * p2 * c**2 / D**3) * d_D
    shape = 2 * omega.a + (n_features if "E2" in corrections else 0)
    is_free = spread > 0 and MIN_PREC < shape / spread < MAX_PREC
    new_alpha = (2 * d_a - shape / spread * d_spread) / spread if is_free else 0 * d_a  # of (C.16)
    rho = max((r - mu) ** 2 + part / beta + V, MIN_RHO)
    d_rho = 2 * (r - mu) * (d_r - d_mu) + d_part / beta - part * d_beta / beta**2 + d_V
    new_beta = (-0.5 * rho**-1.5 if "E3" in corrections else bessel_ratio_slope(rho)) * d_rho  # of (C.18)
    q_mu = noise_mean(r, beta, omega.epsilon, atoms="E4" in corrections)
    by_r, by_beta, by_epsilon = noise_mean_slopes(q_mu, r, beta, omega.epsilon, "E4" in corrections)
    new_mu, new_V = (by_r[i] * d_r + by_beta[i] * d_beta + by_epsilon[i] * d_epsilon for i in (0, 1))
    return np.stack([new_alpha, new_beta, new_mu, new_V])


def noise_mean_slopes(
    q: NoiseMean, r: float, beta: float, epsilon: float, atoms: bool
) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float]]:
    """Return the derivatives of the mean and variance of q(μ) by r, β and ε."""
    mean, var, third, fourth = q.mean, q.central(2), q.central(3), q.central(4)
    by_r = beta * var, beta * third  # (D.11)
    by_beta = (r - mean) * var - third / 2, (r - mean) * third - (fourth - var**2) / 2  # (D.12)
    by_mean = by_var = 0.0
    for end, share in zip((-epsilon, epsilon), q.ends, strict=True):
        off = end - mean
        weight = 1 + (np.sign(end) * beta * (r - end) if atoms else 0.0)
        by_mean += share * (weight * off + (np.sign(end) if atoms else 0.0))  # (D.13)
        by_var += share * (weight * (off**2 - var) + (2 * np.sign(end) * off if atoms else 0.0))
    return by_r, by_beta, (by_mean, by_var)


def follow(
    slopes: Slopes, weights: Weights, x: Floats, y: float, theta: Theta, omega: Omega, corrections: Collection[str]
) -> Slopes:
    """Propagate the derivatives through a step from `weights` whose sweeps ended at `theta`."""
    seen, u = bypass.sweep_inputs(weights, x, y), weights.cov @ x
    d_u = slopes.cov @ x  # (3, I)
    d_s, d_k, d_e = d_u @ x, 2 * d_u @ u, -slopes.mean @ x
    here = np.concatenate([np.eye(4), np.zeros((6, 4))])
    J = sweep_slopes(theta, omega, seen, here, corrections)
    inputs = np.concatenate([np.zeros((4, 3)), [d_s, d_k, d_e], np.eye(3)])
    right = sweep_slopes(theta, omega, seen, inputs, corrections)
    d_theta = np.asarray(np.linalg.solve(np.eye(4) - J, right).T, dtype=np.float64)  # (D.14)
    d_alpha, d_beta, d_mu, _ = d_theta.T
    q, d_q = 1 / theta.drift_prec, -d_alpha / theta.drift_prec**2
    p, d_p = u + q * x, d_u + np.outer(d_q, x)
    D = seen.s + q * seen.n + 1 / theta.noise_prec
    d_D = d_s + seen.n * d_q - d_beta / theta.noise_prec**2
    c, d_c = seen.e - theta.noise_mean, d_e - d_mu
    mean = slopes.mean + d_p * c / D + np.outer(d_c / D - c * d_D / D**2, p)  # (D.15)
    both = d_p[:, :, None] * p
    cov = slopes.cov + d_q[:, None, None] * np.eye(len(x)) - (both + both.transpose(0, 2, 1)) / D
    cov += d_D[:, None, None] / D**2 * np.outer(p, p)  # (D.16)
    return Slopes(d_theta, mean, cov)


def forecast_slopes(slopes: Slopes, belief: Belief, x: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives of the predictive mean (C.8) and variance (C.9)."""
    d_alpha, d_beta, d_mu, _ = slopes.theta.T
    mean = slopes.mean @ x + d_mu
    var = (slopes.cov @ x) @ x - inner(x, x) * d_alpha / belief.theta.drift_prec**2
    return mean, var - d_beta / belief.theta.noise_prec**2
