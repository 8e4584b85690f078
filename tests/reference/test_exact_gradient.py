"""The right derivatives of erratum E5 are those of finite differences, over hyperparameters and streams."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pytest import approx

from adabypass.reference import bypass, exact_gradient
from adabypass.reference.exact_gradient import Slopes, noise_mean_slopes
from adabypass.reference.special import bessel_ratio, bessel_ratio_slope, noise_mean, truncated_moments
from adabypass.state.paper import AdaBypassSpec, BypassSpec
from adabypass.validation import Floats
from tests.strategies import examples, powers

subsets = st.sets(st.sampled_from(["E1", "E2", "E3", "E4"])).map(lambda names: tuple(sorted(names)))
every_atom = pytest.mark.parametrize("atoms", [False, True])


def numerical(f: Any, at: float, step: float) -> Floats:
    """Differentiate by central differences of the fourth order."""
    near, far = (np.array(f(at + k * step)) - np.array(f(at - k * step)) for k in (1, 2))
    slope: Floats = (8 * near - far) / (12 * step)
    return slope


@given(powers(-4, 4))
def test_the_slope_of_the_bessel_ratio_is_its_derivative(rho: float) -> None:
    assert bessel_ratio_slope(rho) == approx(float(numerical(bessel_ratio, rho, 1e-3 * rho)), rel=1e-7)


@every_atom
@given(location=st.floats(-5, 5), prec=powers(-2, 2), epsilon=powers(-1, 0.7))
def test_slopes_of_the_noise_s_mean_are_derivatives(atoms: bool, location: float, prec: float, epsilon: float) -> None:
    q = noise_mean(location, prec, epsilon, atoms)
    by_r, by_beta, by_epsilon = noise_mean_slopes(q, location, prec, epsilon, atoms)
    scale: Any = {"rel": 1e-5, "abs": 1e-7 * max(1.0, epsilon) ** 3}
    assert by_r == approx(numerical(lambda r: truncated_moments(r, prec, epsilon, atoms), location, 1e-3), **scale)
    assert by_beta == approx(
        numerical(lambda beta: truncated_moments(location, beta, epsilon, atoms), prec, 1e-3 * prec), **scale
    )
    assert by_epsilon == approx(
        numerical(lambda width: truncated_moments(location, prec, width, atoms), epsilon, 1e-3 * epsilon), **scale
    )


def stream(seed: int, n_features: int, length: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(length, n_features))
    y = X.sum(axis=1) + 2 * rng.normal(size=length)
    y[rng.random(length) < 0.15] = np.nan
    return X, y


def run(spec: BypassSpec, X: Floats, y: Floats) -> bypass.Belief:
    belief = bypass.start(spec, X.shape[1])
    for x, each in zip(X, y, strict=True):
        belief = bypass.update(belief, x, each, spec)
    return belief


def flat(belief: bypass.Belief) -> Floats:
    return np.concatenate([belief.theta, belief.weights.mean, belief.weights.cov.ravel()])


@examples(9)
@given(
    seed=st.integers(0, 2**32 - 1), n_features=st.integers(1, 3), a=powers(1.5, 3), b=powers(-1, 1),
    epsilon=powers(-0.5, 0.5), corrections=subsets,
)  # fmt: skip
def test_slopes_are_the_derivatives_of_the_whole_belief(
    seed: int, n_features: int, a: float, b: float, epsilon: float, corrections: tuple[str, ...]
) -> None:
    """Hyperparameters that stay, a stream with gaps: α to V, m and S against runs at neighbouring hyperparameters."""
    X, y = stream(seed, n_features, 12)
    y[-1] = 1.0  # the parameters of a missing observation are those of the one before
    omega: dict[str, Any] = {"a": a, "b": b, "epsilon": epsilon}
    spec = AdaBypassSpec(**omega, tol=1e-14, aggressiveness=0.0, corrections=(*corrections, "E5"))
    belief = bypass.start(spec, n_features)
    slopes = exact_gradient.start(belief.omega, n_features)
    for x, each in zip(X, y, strict=True):
        belief, slopes = exact_gradient.update(belief, slopes, x, each, spec)
    for j, name in enumerate(omega):

        def shifted(value: float, name: str = name) -> Floats:
            return flat(run(BypassSpec(**(omega | {name: value}), tol=1e-14, corrections=corrections), X, y))

        step = 1e-3 * omega[name]
        shifted = cache(shifted)  # both differences need those at two steps
        fine, coarse = (numerical(shifted, omega[name], width) for width in (step, 2 * step))
        assume(np.allclose(fine, coarse, rtol=1e-4, atol=1e-6))  # no jump between two fixed points within reach
        found = np.concatenate([slopes.theta[j], slopes.mean[j], slopes.cov[j].ravel()])
        assert found == approx(fine, rel=1e-4, abs=1e-6 * np.abs(fine).max() + 1e-9)


@examples(10)
@given(seed=st.integers(0, 2**32 - 1), likelihood=st.booleans(), corrections=subsets)
def test_hyperparameters_move_down_the_slope_of_the_loss(
    seed: int, likelihood: bool, corrections: tuple[str, ...]
) -> None:
    """(D.17) is the slope of β (y - x'm - μ)²/2 by m alone, (D.18) that of the negative log score by everything."""
    X, y = np.nan_to_num(stream(seed, 2, 8)[0]), np.nan_to_num(stream(seed, 2, 8)[1])
    named = (*corrections, "E5", *(["E8"] if likelihood else []))
    spec = AdaBypassSpec(tol=1e-14, aggressiveness=0.0, corrections=named)
    belief = bypass.start(spec, 2)
    slopes = exact_gradient.start(belief.omega, 2)
    for x, each in zip(X[:-1], y[:-1], strict=True):
        belief, slopes = exact_gradient.update(belief, slopes, x, each, spec)
    x, newest = X[-1], float(y[-1])
    rate = 1e-3
    moving = AdaBypassSpec(tol=1e-14, aggressiveness=rate, corrections=named)
    moved = exact_gradient.adapt(belief, slopes, x, newest - float(x @ belief.weights.mean), moving)
    for j, (name, width) in enumerate((("a", 1.0), ("b", 1e-3), ("epsilon", 1e-3))):

        def loss(value: float, name: str = name) -> float:
            settings: dict[str, Any] = {name: value, "tol": 1e-14, "corrections": corrections}
            there = run(BypassSpec(**settings), X[:-1], y[:-1])
            if likelihood:
                mean, var = bypass.predict(there, x)
                return float(np.log(var) + (newest - mean) ** 2 / var) / 2
            beta, mu = belief.theta.noise_prec, belief.theta.noise_mean
            return float(beta / 2 * (newest - x @ there.weights.mean - mu) ** 2)

        slope = float(numerical(loss, belief.omega[j], width))
        assert (belief.omega[j] - moved[j]) / rate == approx(slope, rel=1e-4, abs=1e-9)


def test_at_the_start_they_are_the_derivatives_of_the_start() -> None:
    omega = bypass.Omega(700.0, 3.0, 0.8)
    found = exact_gradient.start(omega, 2)
    for j, name in enumerate(omega._fields):

        def theta(value: float, name: str = name) -> bypass.Theta:
            return bypass.start(BypassSpec(**(omega._asdict() | {name: value})), 2).theta

        assert found.theta[j] == approx(numerical(theta, omega[j], 1e-3 * omega[j]), rel=1e-9, abs=1e-12)
    assert isinstance(found, Slopes)
    assert not found.mean.any()
    assert not found.cov.any()
