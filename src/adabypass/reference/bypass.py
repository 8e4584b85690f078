"""BYPASS and ADA-BYPASS: online variational inference, in the paper's form (its Algorithms 1 and 2).

The variational fixed point is the scalar one of docs/equations.md: u = Sx and four products are computed once, so a
sweep needs no matrix.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from adabypass.numerics.limits import (
    CONVERGENCE_CAP,
    MAX_HYPERPARAMETER,
    MAX_PREC,
    MIN_PREC,
    MIN_RHO,
)
from adabypass.reference.linear_gaussian import Weights, condition, drift, inner
from adabypass.reference.special import bessel_ratio, truncated_moments
from adabypass.state.paper import AdaBypassSpec, BypassSpec
from adabypass.validation import Floats


class Theta(NamedTuple):
    """The variational means: <α>, <β>, <μ>, and V, the variance of μ."""

    drift_prec: float
    noise_prec: float
    noise_mean: float
    noise_mean_var: float


class Omega(NamedTuple):
    """The hyperparameters: a and b of α ~ Gamma(a, b), and ε, the half-width of the flat top of the noise."""

    a: float
    b: float
    epsilon: float


class Gradient(NamedTuple):
    """ψ and G: derivatives of the mean and covariance of the weights by a hyperparameter."""

    mean: Floats
    cov: Floats


class Belief(NamedTuple):
    """Belief of the model. BYPASS does not use the gradient, and leaves it unchanged."""

    weights: Weights
    theta: Theta
    omega: Omega
    gradient: Gradient


class SweepInputs(NamedTuple):
    """Scalars of one observation that the sweeps need, computed once from the matrices."""

    s: float  # x'Sx
    n: float  # x'x
    k: float  # |Sx|²
    e: float  # y - x'm
    n_features: int


def start(spec: BypassSpec, n_features: int) -> Belief:
    """Return the prior belief."""
    scalars = spec.start()
    return Belief(
        weights=Weights(np.zeros(n_features), np.zeros((n_features, n_features))),
        theta=Theta(*(scalars[name] for name in Theta._fields)),
        omega=Omega(spec.a, spec.b, spec.epsilon),
        gradient=Gradient(np.zeros(n_features), np.eye(n_features)),
    )


def sweep_inputs(weights: Weights, x: Floats, y: float) -> SweepInputs:
    """Compute the scalars that the sweeps need for an observation."""
    m, S = weights
    u = S @ x
    return SweepInputs(
        s=max(inner(x, u), 0.0), n=inner(x, x), k=inner(u, u), e=y - inner(x, m), n_features=len(x)
    )  # (C.10)


def predict(belief: Belief, x: Floats) -> tuple[float, float]:
    """Return the predictive mean and variance of the observation at `x`."""
    (m, S), theta = belief.weights, belief.theta
    mean = inner(x, m) + theta.noise_mean  # (C.8)
    var = inner(x, S @ x) + inner(x, x) / theta.drift_prec + 1 / theta.noise_prec  # (C.9)
    return mean, var


def sweep(theta: Theta, omega: Omega, seen: SweepInputs, corrections: Collection[str] = ()) -> Theta:
    """Update every variational mean from the old ones, as in the paper except for the `corrections`."""
    alpha, beta, mu, V = theta
    s, n, k, e, n_features = seen
    h = s + n / alpha  # (C.11)
    D = h + 1 / beta  # (C.12)
    c = e - mu  # (C.13)
    p2 = n / alpha**2 if "E1" in corrections else k + 2 * s / alpha + n / alpha**2  # (C.14); E1: (D.8)
    r = e - c * h / D  # (C.15)
    spread = 2 * omega.b + p2 * c**2 / D**2 + n_features / alpha - p2 / D
    shape = 2 * omega.a + (n_features if "E2" in corrections else 0)
    rho = max((r - mu) ** 2 + h / (D * beta) + V, MIN_RHO)  # (C.17)
    return Theta(
        min(max(shape / spread, MIN_PREC), MAX_PREC) if spread > 0 else MAX_PREC,  # (C.16)
        rho**-0.5 if "E3" in corrections else bessel_ratio(rho),  # (C.18)
        *truncated_moments(r, beta, omega.epsilon, atoms="E4" in corrections),  # (C.19); E4: (D.9)
    )


def change(old: Theta, new: Theta, epsilon: float) -> float:
    """Return the largest change of a sweep, relative to the size of each quantity."""
    return max(
        abs(new.drift_prec - old.drift_prec) / old.drift_prec,
        abs(new.noise_prec - old.noise_prec) / old.noise_prec,
        abs(new.noise_mean - old.noise_mean) / epsilon,
        abs(new.noise_mean_var - old.noise_mean_var) / epsilon**2,
    )


def solve(
    theta: Theta,
    omega: Omega,
    seen: SweepInputs,
    max_sweeps: int | None,
    tol: float,
    corrections: Collection[str] = (),
) -> Theta:
    """Sweep until no mean changes by more than `tol`, at most `max_sweeps` times."""
    for _ in range(max_sweeps or CONVERGENCE_CAP):
        old, theta = theta, sweep(theta, omega, seen, corrections)
        if change(old, theta, omega.epsilon) <= tol:
            break
    return theta


def update(belief: Belief, x: Floats, y: float, spec: BypassSpec) -> Belief:
    """Update the belief with `y` at `x`; if `y` is missing (nan), only the drift is added."""
    if np.isnan(y):
        return belief._replace(weights=drift(belief.weights, 1 / belief.theta.drift_prec))
    seen = sweep_inputs(belief.weights, x, y)
    omega = _adapt(belief, x, seen.e, spec) if isinstance(spec, AdaBypassSpec) else belief.omega
    weights, theta, gain, D = learn(belief, omega, x, seen, spec)
    if not isinstance(spec, AdaBypassSpec):
        return Belief(weights, theta, omega, belief.gradient)
    error = seen.e - theta.noise_mean
    gradient = _follow(belief.gradient, x, gain, 1 / (theta.noise_prec * D), theta.noise_prec * error)
    return Belief(weights, theta, omega, _narrow(belief.gradient, gradient) if spec.is_sparse else gradient)


def learn(
    belief: Belief, omega: Omega, x: Floats, seen: SweepInputs, spec: BypassSpec
) -> tuple[Weights, Theta, Floats, float]:
    """Solve the fixed point and update the weights; return the weights, α to V, the gain and D."""
    theta = solve(belief.theta, omega, seen, spec.max_sweeps, spec.tol, spec.corrections)
    prior = drift(belief.weights, 1 / theta.drift_prec)
    weights, gain, D = condition(prior, x, seen.e - theta.noise_mean, 1 / theta.noise_prec)
    return weights, theta, gain, D


def _adapt(belief: Belief, x: Floats, e: float, spec: AdaBypassSpec) -> Omega:
    """Move a, b and ε by the same amount along the gradient of the squared error."""
    theta = belief.theta
    d = spec.aggressiveness * theta.noise_prec * inner(x, belief.gradient.mean) * (e - theta.noise_mean)  # (D.3)
    return Omega(*(min(max(value + d, spec.omega_min), MAX_HYPERPARAMETER) for value in belief.omega))  # (D.4)


def _follow(gradient: Gradient, x: Floats, gain: Floats, left: float, pull: float) -> Gradient:
    """Propagate the gradients through the update of the weights; `left` is 1 - x'g, computed without cancellation."""
    psi, G = gradient
    A = np.eye(len(x)) - np.outer(gain, x)
    Gx = left * A @ (G @ x)  # the new G times x, since A'x = (1 - x'g) x
    return Gradient(A @ psi + pull * Gx, A @ G @ A.T)  # (D.5), (D.6)


def _narrow(before: Gradient, after: Gradient) -> Gradient:
    """Keep only the diagonal of the gradient of the covariance, at most as large as before the step."""
    return after._replace(cov=np.diag(np.minimum(before.cov.diagonal(), after.cov.diagonal())))  # (M.14)
