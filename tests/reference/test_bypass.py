"""BYPASS is held to its textbook form with matrices, and ADA-BYPASS's gradients to their definition."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass.reference.bypass import (
    Belief,
    Omega,
    SweepInputs,
    Theta,
    change,
    predict,
    solve,
    start,
    sweep,
    update,
)
from adabypass.reference.special import bessel_ratio, truncated_moments
from adabypass.state.paper import AdaBypassSpec, BypassSpec
from adabypass.validation import Floats
from tests.strategies import Stream, bypass_cases, powers, streams

CANCELLED = 1e-7  # the matrix form subtracts covariances: it is the less accurate of the two


def matrix_sweep(belief: Belief, x: Floats, y: float) -> Theta:
    """Do a sweep as the paper writes it: a whole Kalman step, then expectations of quadratic forms in matrices."""
    (m, S), (alpha, beta, mu, V), (a, b, epsilon), _ = belief
    identity = np.eye(len(x))
    P = S + identity / alpha
    gain = P @ x / (x @ P @ x + 1 / beta)
    new_m = m + gain * (y - x @ m - mu)
    new_S = (identity - np.outer(gain, x)) @ P
    rho = (y - x @ new_m - mu) ** 2 + x @ new_S @ x + V
    spread = 2 * b + (new_m - m) @ (new_m - m) + np.trace(new_S - S)
    return Theta(
        2 * a / spread if spread > 0 else 1e100,
        bessel_ratio(float(rho)),
        *truncated_moments(float(y - x @ new_m), beta, epsilon),
    )


def sweep_inputs(belief: Belief, x: Floats, y: float) -> SweepInputs:
    m, S = belief.weights
    u = S @ x
    return SweepInputs(float(x @ u), float(x @ x), float(u @ u), float(y - x @ m), len(x))


@given(bypass_cases(adaptive=False))
def test_scalar_sweep_equals_the_form_with_matrices(case: tuple[Stream, BypassSpec]) -> None:
    stream, spec = case
    belief = start(spec, stream.X.shape[1])
    for x, y in zip(stream.X, np.nan_to_num(stream.y), strict=True):
        scalar = sweep(belief.theta, belief.omega, sweep_inputs(belief, x, y))
        if 1e-6 < scalar.drift_prec < 1e6:  # beyond, the matrices of the textbook form have lost their digits
            assert scalar == approx(matrix_sweep(belief, x, y), rel=CANCELLED, abs=1e-9)
        belief = update(belief, x, y, spec)


@given(streams(max_features=4))
def test_converged_parameters_are_a_fixed_point(stream: Stream) -> None:
    spec = BypassSpec(tol=1e-12)
    belief = start(spec, stream.X.shape[1])
    for x, y in zip(stream.X, np.nan_to_num(stream.y), strict=True):
        seen = sweep_inputs(belief, x, y)
        theta = solve(belief.theta, belief.omega, seen, None, spec.tol)
        assert change(theta, sweep(theta, belief.omega, seen), spec.epsilon) < 1e-11
        belief = update(belief, x, y, spec)


@given(streams(max_features=5))
def test_predictive_variance_counts_weights_drift_and_noise(stream: Stream) -> None:
    belief = start(BypassSpec(), stream.X.shape[1])
    for x, y in zip(stream.X, stream.y, strict=True):
        mean, var = predict(belief, x)
        P = belief.weights.cov + np.eye(len(x)) / belief.theta.drift_prec
        assert var == approx(x @ P @ x + 1 / belief.theta.noise_prec, rel=1e-9)
        assert mean == approx(x @ belief.weights.mean + belief.theta.noise_mean, rel=1e-9)
        belief = update(belief, x, y, BypassSpec())


@settings(max_examples=25)
@given(streams(max_features=4, max_length=12))
def test_ada_bypass_without_aggressiveness_is_bypass(stream: Stream) -> None:
    plain, ada = BypassSpec(), AdaBypassSpec(aggressiveness=0.0)
    belief, ada_belief = start(plain, stream.X.shape[1]), start(ada, stream.X.shape[1])
    for x, y in zip(stream.X, stream.y, strict=True):
        belief, ada_belief = update(belief, x, y, plain), update(ada_belief, x, y, ada)
        assert ada_belief.omega == Omega(plain.a, plain.b, plain.epsilon)
        assert ada_belief.theta == belief.theta
        assert np.array_equal(ada_belief.weights.mean, belief.weights.mean)


def learned(spec: AdaBypassSpec, steps: int = 5) -> tuple[Belief, Floats, float]:
    """Return a belief after a few steps, and the observation that comes next."""
    rng = np.random.default_rng(1)
    belief = start(spec, 3)
    for x in rng.normal(size=(steps, 3)):
        belief = update(belief, x, float(rng.normal()), spec)
    return belief, rng.normal(size=3), 2.0


def test_covariance_gradient_is_the_derivative_of_the_covariance() -> None:
    """Equation (D.5): if S moves by t G before the step, at the step's own α and β, it moves by t G' after it."""
    spec, t = AdaBypassSpec(), 1e-6
    belief, x, y = learned(spec)
    after = update(belief, x, y, spec)
    alpha, beta = after.theta.drift_prec, after.theta.noise_prec

    def posterior_cov(S: Floats) -> Floats:
        P = S + np.eye(3) / alpha
        return P - np.outer(P @ x, P @ x) / (x @ P @ x + 1 / beta)

    S, G = belief.weights.cov, belief.gradient.cov
    numerical = (posterior_cov(S + t * G) - posterior_cov(S - t * G)) / (2 * t)
    assert after.gradient.cov == approx(numerical, rel=1e-6, abs=1e-9)


def test_mean_gradient_is_the_derivative_of_the_mean() -> None:
    """Equation (D.6): m_t = m + β Σ_t x (y - x'm - μ), with m moving by t ψ and Σ_t by t G_t."""
    spec, t = AdaBypassSpec(), 1e-6
    belief, x, y = learned(spec)
    after = update(belief, x, y, spec)
    beta, mu = after.theta.noise_prec, after.theta.noise_mean

    def posterior_mean(t: float) -> Floats:
        m, S = belief.weights.mean + t * belief.gradient.mean, after.weights.cov + t * after.gradient.cov
        return m + beta * S @ x * (y - x @ m - mu)

    assert posterior_mean(0.0) == approx(after.weights.mean)
    numerical = (posterior_mean(t) - posterior_mean(-t)) / (2 * t)
    assert after.gradient.mean == approx(numerical, rel=1e-6, abs=1e-9)


def test_hyperparameters_move_against_the_gradient_of_the_squared_error() -> None:
    """Equations (D.3) and (D.4): all by C_ω β x'ψ (e - μ), with the step before's parameters, not below the least."""
    spec = AdaBypassSpec(aggressiveness=0.01, omega_min=1.0)
    belief, x, y = learned(spec)
    after = update(belief, x, y, spec)
    omega, theta = np.array(belief.omega), belief.theta

    def loss(t: float) -> float:
        m = belief.weights.mean + t * belief.gradient.mean
        return float(theta.noise_prec / 2 * (y - x @ m - theta.noise_mean) ** 2)

    slope = (loss(1e-6) - loss(-1e-6)) / 2e-6
    assert abs(slope) > 1e-3
    assert np.array(after.omega) == approx(np.maximum(omega - 0.01 * slope, 1.0), rel=1e-6)


def moved_posterior(belief: Belief, theta: Theta, x: Floats, y: float, t: float) -> tuple[Floats, Floats]:
    """Mean and variances after a step at α, β and μ of `theta`, if m and S moved by t times their gradients before."""
    m, S = belief.weights.mean + t * belief.gradient.mean, belief.weights.cov + t * belief.gradient.cov
    P = S + np.eye(len(x)) / theta.drift_prec
    cov = P - np.outer(P @ x, P @ x) / (x @ P @ x + 1 / theta.noise_prec)
    return m + theta.noise_prec * cov @ x * (y - x @ m - theta.noise_mean), cov.diagonal()


def test_a_diagonal_gradient_is_the_derivative_along_a_diagonal() -> None:
    """Equations (M.14)-(M.16): if S moves by t diag(ζ), and m by t ψ, the mean moves by t ψ' and the variances by t ζ'.

    A variance that would move by more than t ζ is taken to move by t ζ.
    """
    spec, t = AdaBypassSpec(covariance="diagonal"), 1e-6
    rng = np.random.default_rng(2)
    belief = start(spec, 5)
    narrowed = widened = 0
    for _ in range(12):
        x, y = rng.normal(size=5) * (rng.random(5) < 0.5), float(rng.normal())
        after = update(belief, x, y, spec)
        up, down = (moved_posterior(belief, after.theta, x, y, sign * t) for sign in (1, -1))
        mean_slope, var_slope = (up[0] - down[0]) / (2 * t), (up[1] - down[1]) / (2 * t)
        before, found = belief.gradient.cov.diagonal(), after.gradient.cov
        assert after.gradient.mean == approx(mean_slope, rel=1e-6, abs=1e-9)
        assert np.array_equal(found, np.diag(found.diagonal()))
        assert found.diagonal() == approx(np.minimum(before, var_slope), rel=1e-6, abs=1e-9)
        narrowed += int((var_slope < before - 1e-9).sum())
        widened += int((var_slope > before + 1e-9).sum())
        belief = after
    assert narrowed > 0  # both cases of the least have come
    assert widened > 0


@settings(max_examples=25)
@given(streams(max_features=3, max_length=8))
def test_the_weights_are_passed_on_by_a_kalman_filter_at_the_mean_parameters(stream: Stream) -> None:
    """Equation (C.40), A_w of streaming variational Bayes.

    The joint Gaussian of all weights at the mean parameters of each step, by one dense solve, has the last belief as
    its marginal.
    """
    spec, n = BypassSpec(), stream.X.shape[1]
    y = np.nan_to_num(stream.y)
    belief, thetas = start(spec, n), []
    for x, each in zip(stream.X, y, strict=True):
        belief = update(belief, x, each, spec)
        thetas.append(belief.theta)
    size = n * len(y)
    precision, pull = np.zeros((size, size)), np.zeros(size)
    for t, (x, each, theta) in enumerate(zip(stream.X, y, thetas, strict=True)):
        here, before = slice(n * t, n * t + n), slice(n * t - n, n * t)
        precision[here, here] += theta.drift_prec * np.eye(n) + theta.noise_prec * np.outer(x, x)
        pull[here] += theta.noise_prec * x * (each - theta.noise_mean)
        if t:
            precision[before, before] += theta.drift_prec * np.eye(n)
            precision[here, before] -= theta.drift_prec * np.eye(n)
            precision[before, here] -= theta.drift_prec * np.eye(n)
    cov = np.linalg.inv(precision)
    assert belief.weights.mean == approx((cov @ pull)[-n:], rel=1e-6, abs=1e-7)
    assert belief.weights.cov == approx(cov[-n:, -n:], rel=1e-6, abs=1e-9)


@settings(max_examples=50)
@given(streams(max_features=3, max_length=6), powers(-0.5, 0.5), powers(-1, 1), st.floats(-1, 1))
def test_what_a_step_makes_of_theta_does_not_depend_on_the_theta_before(
    stream: Stream, alpha_factor: float, noise_prec: float, noise_mean: float
) -> None:
    """Equation (C.41), A_theta: it starts from the prior each time. Theta before only says where the sweeps begin."""
    spec = BypassSpec(tol=1e-13)
    belief = start(spec, stream.X.shape[1])
    for x, y in zip(stream.X, np.clip(np.nan_to_num(stream.y), -5, 5), strict=True):
        seen = sweep_inputs(belief, x, y)
        other = Theta(alpha_factor * belief.theta.drift_prec, noise_prec, noise_mean, 0.3)
        ends = [solve(theta, belief.omega, seen, None, spec.tol) for theta in (belief.theta, other)]
        assume(all(change(end, sweep(end, belief.omega, seen), spec.epsilon) < 1e-10 for end in ends))
        assert ends[0] == approx(ends[1], rel=1e-7, abs=1e-8)
        belief = update(belief, x, y, spec)
