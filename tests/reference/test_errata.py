"""Each erratum of docs/equations.md is one: shown by quadrature, simulation or finite differences."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx
from scipy import integrate
from scipy.stats import beta, betaprime

from adabypass import AdaBypass, Bypass, load_dataset
from adabypass.numerics import noise
from adabypass.reference import bypass, exact_gradient
from adabypass.reference.bound import factors, lower_bound
from adabypass.reference.bypass import Omega, SweepInputs, Theta
from adabypass.reference.linear_gaussian import Weights, condition, drift
from adabypass.state.paper import AdaBypassSpec, BypassSpec
from adabypass.validation import Floats
from tests.strategies import powers


def nile() -> tuple[Floats, Floats]:
    """Levels in metres, less their mean, from a year before the first at the mean."""
    level = load_dataset("nile").y
    level = level - level.mean()
    return np.column_stack([np.ones(len(level)), np.append(0.0, level[:-1])]), level


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 4), alpha=powers(-1, 2), noise_prec=powers(-1, 1))
def test_e1_the_step_depends_on_the_weight_before_it(seed: int, n: int, alpha: float, noise_prec: float) -> None:
    """The joint Gaussian of (w_{t-1}, w_t) given y says what the step is; neither S_t - S_{t-1} nor S_t + S_{t-1}."""
    rng = np.random.default_rng(seed)
    root, x, y = rng.normal(size=(n, n)), rng.normal(size=n), float(rng.normal())
    m, S = rng.normal(size=n), root @ root.T
    P = S + np.eye(n) / alpha
    joint_cov, both = np.block([[S, S], [S, P]]), np.concatenate([np.zeros(n), x])
    D = x @ P @ x + 1 / noise_prec
    gain = joint_cov @ both / D
    mean, cov = np.tile(m, 2) + gain * (y - x @ m), joint_cov - np.outer(gain, both @ joint_cov)
    difference = np.hstack([-np.eye(n), np.eye(n)])
    step_mean, step_cov = difference @ mean, difference @ cov @ difference.T
    c = y - x @ m
    assert step_mean == approx(x * c / (alpha * D), rel=1e-7, abs=1e-9)
    assert step_cov == approx(np.eye(n) / alpha - np.outer(x, x) / (alpha**2 * D), rel=1e-6, abs=1e-8)
    posterior = cov[n:, n:]
    for wrong in (posterior - S, posterior + S):
        assert abs(np.trace(step_cov) - np.trace(wrong)) > 1e-9 * np.trace(S)
    seen = SweepInputs(float(x @ S @ x), float(x @ x), float(x @ S @ S @ x), float(c), n)
    omega = Omega(50.0, 1.0, 1.25)
    found = bypass.sweep(Theta(alpha, noise_prec, 0.0, 0.5), omega, seen, ["E1"]).drift_prec
    assert found == approx(100.0 / (2.0 + step_mean @ step_mean + np.trace(step_cov)), rel=1e-7)


def mean_by_quadrature(log_density: Callable[[Floats], Floats], low: float, high: float) -> float:
    at = np.linspace(np.log(low), np.log(high), 200_001)
    values = log_density(np.exp(at)) + at
    weight = np.exp(values - values.max())
    return float(np.trapezoid(weight * np.exp(at), at) / np.trapezoid(weight, at))


@given(powers(0, 2), powers(-1, 1), powers(-2, 1), st.integers(1, 20))
def test_e2_the_optimal_factor_of_alpha_has_half_a_degree_more_for_each_feature(
    a: float, b: float, moved: float, n_features: int
) -> None:
    """Gamma(a, b) times α^{I/2} exp(-α E|step|²/2): the normaliser of the Gaussian belongs to it."""
    exact = mean_by_quadrature(
        lambda alpha: (a - 1 + n_features / 2) * np.log(alpha) - (b + moved / 2) * alpha, 1e-6, 1e4
    )
    assert (a + n_features / 2) / (b + moved / 2) == approx(exact, rel=1e-3)
    assert a / (b + moved / 2) < exact * (1 - 1e-3)


@given(powers(-2, 2))
def test_e3_the_optimal_factor_of_beta_has_the_mean_one_over_root_rho(rho: float) -> None:
    """InvGamma(1, 1/2) times β^{1/2} exp(-βρ/2)."""
    exact = mean_by_quadrature(lambda prec: -1.5 * np.log(prec) - 1 / (2 * prec) - rho * prec / 2, 1e-4, 1e6)
    theta = bypass.sweep(
        Theta(1e100, 1.0, 0.0, 0.0), Omega(1.0, 1.0, 1.0), SweepInputs(0.0, 0.0, 0.0, rho**0.5, 1), ["E3"]
    )
    assert theta.noise_prec == approx(exact, rel=1e-4)
    paper = bypass.sweep(Theta(1e100, 1.0, 0.0, 0.0), Omega(1.0, 1.0, 1.0), SweepInputs(0.0, 0.0, 0.0, rho**0.5, 1))
    assert abs(paper.noise_prec - exact) > 1e-3 * exact


@given(st.floats(-3, 3), powers(-1, 1), powers(-0.5, 0.5))
def test_e4_with_its_atoms_the_factor_of_mu_is_the_best(location: float, noise_prec: float, epsilon: float) -> None:
    """The bound (C.34) of one observation is higher with the atoms than without, all else equal."""
    seen, omega = SweepInputs(0.0, 0.0, 0.0, location, 1), Omega(10.0, 1.0, epsilon)
    theta = Theta(10.0, noise_prec, 0.0, 0.1)
    with_atoms, without = (factors(theta, omega, seen, ("E1", "E2", "E3", *more)) for more in (("E4",), ()))
    fixed = with_atoms.noise_prec._replace(rho=1 / noise_prec**2)  # whose mean is β, from which q(μ) was made
    bounds = [lower_bound(q._replace(noise_prec=fixed), omega, seen) for q in (with_atoms, without)]
    assert bounds[0] > bounds[1]


def test_e5_psi_is_not_the_gradient_of_the_mean() -> None:
    """On the Nile after 50 years, by finite differences of whole runs."""
    X, y = (part[:50] for part in nile())

    def mean(**changed: float) -> Floats:
        model = Bypass(**changed, tol=1e-13)  # type: ignore[arg-type]
        model.run(X, y)
        return model.weights.mean

    spec = AdaBypassSpec(tol=1e-13)
    belief = bypass.start(spec, 2)
    for x, each in zip(X, y, strict=True):
        belief = bypass.update(belief, x, each, spec)
    by_a = (mean(a=1001.0) - mean(a=999.0)) / 2
    by_b = (mean(b=1.001) - mean(b=0.999)) / 0.002
    by_epsilon = (mean(epsilon=1.251) - mean(epsilon=1.249)) / 0.002
    assert by_a == approx([3e-6, -4e-5], rel=0.15)
    assert by_b == approx([-0.003, 0.039], rel=0.1)
    assert by_epsilon == approx([0.025, -0.036], rel=0.02)
    assert belief.gradient.mean == approx([0.79, 0.30], abs=0.005)


def test_e5_without_the_gradient_that_it_starts_with_ada_bypass_is_bypass() -> None:
    X, y = (part[:200] for part in nile())
    spec, plain = AdaBypassSpec(aggressiveness=0.1), BypassSpec()
    belief = bypass.start(spec, 2)
    belief = belief._replace(gradient=bypass.Gradient(np.zeros(2), np.zeros((2, 2))))
    other = bypass.start(plain, 2)
    for x, each in zip(X, y, strict=True):
        belief, other = bypass.update(belief, x, each, spec), bypass.update(other, x, each, plain)
    assert belief.omega == Omega(1000.0, 1.0, 1.25)
    assert belief.theta == other.theta


def test_e5_the_gradient_fades_so_that_hyperparameters_move_early_only() -> None:
    X, y = nile()
    model = AdaBypass()
    trace = model.run(X, y)
    b = trace.history["b"]
    assert abs(b[99] - 1.0) > 20 * abs(b[-1] - b[99])
    early = AdaBypass()
    early.run(X[:300], y[:300])
    layout, row = early._spec.layout, early.__getstate__()["row"]
    assert np.abs(layout.matrix(row, "cov_gradient", n_features=2)).max() < 1e-5


@given(unit=powers(-1, 1))
def test_e6_results_depend_on_the_unit(unit: float) -> None:
    """In another unit even the errors differ; were there a scale, they would not."""
    X, y = (part[:60] for part in nile())
    here, there = Bypass().run(X, y), Bypass().run(np.column_stack([X[:, 0], X[:, 1] * unit]), y * unit)
    if abs(unit - 1.0) > 0.05:
        assert np.abs(here.mean[5:] - there.mean[5:] / unit).max() > 1e-4


def test_e7_noise_is_forecast_as_that_of_the_observation_before() -> None:
    """An outlier widens the next forecast alone, though by (A.4) its mixture variables are its own."""
    model = Bypass(n_features=1)
    rng = np.random.default_rng(0)
    for y in rng.normal(size=50):
        model.update([1.0], float(y))
    calm = model.predict([1.0]).var
    model.update([1.0], 30.0)
    after = model.predict([1.0]).var
    model.update([1.0], 0.0)
    assert after > 3 * calm
    assert model.predict([1.0]).var < 1.5 * calm
    assert noise.var(1.25) == approx(2.98, abs=0.01)  # what (A.1) says of it every time


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_e8_the_paper_s_loss_is_not_the_negative_log_likelihood(seed: int) -> None:
    """Their slopes by epsilon, both right ones, differ by more than a constant factor can explain."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 2)), 3 * rng.normal(size=12)
    ratios = []
    for named in (["E5"], ["E5", "E8"]):
        spec = AdaBypassSpec(aggressiveness=1.0, omega_min=1e-8, corrections=named)
        still = AdaBypassSpec(aggressiveness=0.0, corrections=named)
        belief = bypass.start(spec, 2)
        slopes = exact_gradient.start(belief.omega, 2)
        moves = []
        for x, each in zip(X, y, strict=True):
            moved = exact_gradient.adapt(belief, slopes, x, float(each - x @ belief.weights.mean), spec)
            moves.append(moved.epsilon - belief.omega.epsilon)
            belief, slopes = exact_gradient.update(belief, slopes, x, float(each), still)
        ratios.append(np.array(moves[2:]))
    paper, whole = ratios
    assert abs(np.corrcoef(paper, whole)[0, 1]) < 0.999


def test_e9_the_objective_of_the_hyperparameters_is_not_convex() -> None:
    """Along epsilon, the squared error of the next forecast has chords below the curve."""
    rng = np.random.default_rng(3)
    found = False
    for _ in range(20):
        X, y = rng.normal(size=(6, 1)), 4 * rng.normal(size=6)

        def loss(epsilon: float, X: Floats = X, y: Floats = y) -> float:
            model = Bypass(epsilon=epsilon, b=100.0)
            model.run(X[:-1], y[:-1])
            return float((y[-1] - X[-1] @ model.weights.mean) ** 2)

        grid = np.array([loss(epsilon) for epsilon in np.linspace(0.2, 6.0, 30)])
        found = found or bool((np.diff(grid, 2) < -1e-4 * np.ptp(grid)).any())
    assert found


def test_e10_a_forecast_cannot_use_the_drift_that_its_observation_leaves() -> None:
    """⟨α⟩_t depends on y: with it the variance of step 5 would know what it forecasts."""
    x = np.array([1.0, 2.0])
    weights = Weights(np.zeros(2), np.eye(2))
    omega = Omega(20.0, 1.0, 1.25)
    start = Theta(20.0, 500.0, 0.0, noise.mean_var(1.25))
    found = []
    for y in (0.0, 8.0):
        theta = bypass.solve(start, omega, bypass.sweep_inputs(weights, x, y), None, 1e-10)
        found.append(float(x @ drift(weights, 1 / theta.drift_prec).cov @ x))
        condition(drift(weights, 1 / theta.drift_prec), x, y, 1 / theta.noise_prec)
    assert abs(found[1] - found[0]) > 1e-3


def test_e11_mean_absolute_deviation_and_mean_absolute_error_are_one() -> None:
    """Only as a median does MAD differ from MAE, as it does in the paper's tables: 0.42 beside 0.54."""
    X, y = nile()
    trace = AdaBypass(max_sweeps=2).run(X, y)
    error = np.abs(trace.y - trace.mean)
    assert round(float(np.median(error)), 2) == pytest.approx(0.42)
    assert round(float(error.mean()), 2) == pytest.approx(0.54)


@given(powers(-1, 1), st.floats(-8, 8))
def test_the_noise_is_a_uniform_and_an_exponential_beyond_it(epsilon: float, eta: float) -> None:
    """Equation (A.13)."""
    share = epsilon / (1 + epsilon)
    inside = (abs(eta) <= epsilon) / (2 * epsilon)
    outside = 0.5 * np.exp(epsilon - abs(eta)) * (abs(eta) > epsilon)
    density = np.exp(-max(abs(eta) - epsilon, 0.0)) / (2 * (1 + epsilon))
    assert share * inside + (1 - share) * outside == approx(density, rel=1e-12)


@given(st.floats(1.5, 20))
def test_a_symmetric_beta_of_the_share_is_a_beta_prime_of_epsilon(shape: float) -> None:
    """Equation (A.15), by a change of variables and by quadrature: at shape 5 the mean is the paper's 1.25."""
    of_share, of_epsilon = beta(shape, shape), betaprime(shape, shape)
    for epsilon in (0.3, 1.25, 4.0):
        density = of_share.pdf(epsilon / (1 + epsilon)) / (1 + epsilon) ** 2
        assert density == approx(of_epsilon.pdf(epsilon), rel=1e-9)
    mean = integrate.quad(lambda e: e * of_epsilon.pdf(e), 0, np.inf, limit=400)[0]
    assert mean == approx(shape / (shape - 1), rel=1e-4)
    assert betaprime(5, 5).mean() == approx(BypassSpec().epsilon)
