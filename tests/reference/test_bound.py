"""The variational bound lies below the evidence, and exact updates of one factor at a time never lower it."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx
from scipy import integrate, stats
from scipy.special import kv, ndtr

from adabypass import load_dataset
from adabypass.reference import bypass
from adabypass.reference.bound import DriftPrec, Factors, NoisePrec, factors, lower_bound
from adabypass.reference.bypass import Omega, SweepInputs, Theta
from adabypass.reference.special import noise_mean
from adabypass.state.paper import BypassSpec
from tests.strategies import corrections, powers

EXACT = ("E1", "E2", "E3", "E4")
ROUNDING = 1e-9  # of a sum of a dozen terms of size 1 to 1000


@st.composite
def observations(draw: st.DrawFn) -> tuple[SweepInputs, Omega]:
    """One observation of weights that are known more or less well; |Sx|² is what a matrix can make of it."""
    n_features, n = draw(st.integers(1, 4)), draw(powers(-1, 1))
    s = draw(powers(-3, 1)) * n
    seen = SweepInputs(s, n, s**2 / n, draw(st.floats(-6, 6)), n_features)
    return seen, Omega(draw(powers(0.3, 3)) + n_features, draw(powers(-1, 1)), draw(powers(-1, 0.7)))


def start(omega: Omega) -> Theta:
    return bypass.start(BypassSpec(*omega), 1).theta._replace(noise_prec=1.0)


@given(observations(), st.one_of(st.just(()), corrections))
def test_the_means_of_renewed_factors_are_those_of_a_sweep(
    case: tuple[SweepInputs, Omega], named: tuple[str, ...]
) -> None:
    seen, omega = case
    theta = start(omega)
    for _ in range(3):
        swept = bypass.sweep(theta, omega, seen, named)
        assert factors(theta, omega, seen, named).theta == approx(swept, rel=1e-9, abs=1e-12)
        theta = swept


def evidence(seen: SweepInputs, omega: Omega) -> float:
    """Return log p(y), by the closed form (G.2) for each α, and quadrature over α."""
    alpha = stats.gamma(omega.a, scale=1 / omega.b).ppf((np.arange(2000) + 0.5) / 2000)
    h, d, epsilon = seen.s + seen.n / alpha, seen.e, omega.epsilon
    sd = np.sqrt(h)
    top = ndtr((epsilon - d) / sd) - ndtr((-epsilon - d) / sd)
    right = np.exp(epsilon - d + h / 2) * ndtr((d - h - epsilon) / sd)
    left = np.exp(epsilon + d + h / 2) * ndtr((-d - h - epsilon) / sd)
    return float(np.log(np.mean(top + right + left) / (2 * (1 + epsilon))))


@settings(max_examples=60, deadline=None)
@given(observations(), st.one_of(st.just(()), corrections), st.integers(1, 8))
def test_no_factors_have_a_bound_above_the_evidence(
    case: tuple[SweepInputs, Omega], named: tuple[str, ...], sweeps: int
) -> None:
    """Whatever the factors are: of the paper's updates or of exact ones, converged or not."""
    seen, omega = case
    theta = start(omega)
    for _ in range(sweeps):
        q = factors(theta, omega, seen, named)
        theta = q.theta
    assert lower_bound(q, omega, seen) <= evidence(seen, omega) + 1e-6


def one_at_a_time(q: Factors, omega: Omega, seen: SweepInputs, named: tuple[str, ...]) -> list[Factors]:
    """Renew one factor after the other, each from the newest means."""
    states = []
    for names in (("drift_prec",), ("noise_prec",), ("location", "prec", "noise_mean")):
        renewed = factors(q.theta, omega, seen, named)
        q = q._replace(**{name: getattr(renewed, name) for name in names})
        states.append(q)
    return states


@given(observations())
def test_exact_updates_of_one_factor_at_a_time_never_lower_the_bound(case: tuple[SweepInputs, Omega]) -> None:
    seen, omega = case
    q = factors(start(omega), omega, seen, EXACT)
    bound = lower_bound(q, omega, seen)
    for _ in range(6):
        states = one_at_a_time(q, omega, seen, EXACT)
        for q in states:
            before, bound = bound, lower_bound(q, omega, seen)
            assert bound >= before - ROUNDING * max(1.0, abs(before))


def nile(named: tuple[str, ...]) -> tuple[float, float]:
    """Mean distance of the converged bound from the evidence on the Nile, and the share of years whose sweeps fall."""
    level = load_dataset("nile").y[:200]
    z = (level - level.mean()) / level.std()
    spec = BypassSpec(corrections=named)
    belief, gaps, falls = bypass.start(spec, 2), [], []
    for before, y in zip(np.append(0.0, z[:-1]), z, strict=True):
        x = np.array([1.0, before])
        seen = bypass.sweep_inputs(belief.weights, x, float(y))
        theta, bounds = belief.theta, []
        for _ in range(40):
            q = factors(theta, belief.omega, seen, named)
            bounds.append(lower_bound(q, belief.omega, seen))
            theta = q.theta
        gaps.append(evidence(seen, belief.omega) - bounds[-1])
        falls.append(min(np.diff(bounds)) < -1e-6)
        belief = bypass.update(belief, x, float(y), spec)
    return float(np.mean(gaps)), float(np.mean(falls))


def test_the_paper_s_updates_end_further_below_the_evidence_and_fall_on_the_way() -> None:
    """What docs/equations.md says of the Nile, here of its first 200 years."""
    paper, exact, without_atoms = nile(()), nile(EXACT), nile(("E1", "E2", "E3"))
    assert paper[0] == approx(0.74, abs=0.03)
    assert exact[0] == approx(0.19, abs=0.03)
    assert exact[0] < without_atoms[0] < paper[0]
    assert paper[1] > 0.5
    assert exact[1] < 0.02


@pytest.mark.parametrize("order", [-1.0, -0.5])
@pytest.mark.parametrize("rho", [0.05, 1.0, 30.0])
def test_q_of_beta_has_the_moments_of_a_generalised_inverse_gaussian(order: float, rho: float) -> None:
    """Its mean (C.18), and what the bound needs of E log β, by quadrature over the density of the supplement."""
    z = np.sqrt(rho)

    def log_density(beta: float) -> float:
        kernel = (order - 1) * np.log(beta) - (1 / beta + rho * beta) / 2
        return float(order / 2 * np.log(rho) - np.log(2 * kv(order, z)) + kernel)

    def log_prior(beta: float) -> float:
        return float(np.log(0.5) - 2 * np.log(beta) - 1 / (2 * beta))

    def expected(f: Callable[[float], float]) -> float:
        return float(integrate.quad(lambda t: f(np.exp(t)) * np.exp(log_density(np.exp(t)) + t), -5, 12, limit=400)[0])

    q = NoisePrec(order, rho)
    assert expected(lambda _: 1.0) == approx(1.0, rel=1e-9)
    assert q.mean == approx(expected(lambda beta: beta), rel=1e-8)
    divergence = expected(lambda beta: log_density(beta) - log_prior(beta))
    assert q.divergence_less_half_log() == approx(divergence - expected(np.log) / 2, rel=1e-7)


@given(powers(0, 3), powers(-2, 2), powers(0, 3), powers(-2, 2))
def test_q_of_alpha_diverges_from_its_prior_as_gammas_do(shape: float, rate: float, a: float, b: float) -> None:
    q, prior = stats.gamma(shape, scale=1 / rate), stats.gamma(a, scale=1 / b)
    at = q.ppf((np.arange(4000) + 0.5) / 4000)
    sampled = float(np.mean(q.logpdf(at) - prior.logpdf(at)))
    assert DriftPrec(shape, rate).divergence(Omega(a, b, 1.0)) == approx(sampled, rel=0.02, abs=0.02 * a)


@pytest.mark.parametrize("atoms", [False, True])
def test_the_mass_of_q_of_mu_is_its_integral(atoms: bool) -> None:
    location, prec, epsilon = 0.7, 3.0, 1.25
    inside = integrate.quad(lambda mu: np.exp(-prec / 2 * (mu - location) ** 2), -epsilon, epsilon)[0]
    ends = sum(np.exp(-prec / 2 * (end - location) ** 2) for end in (-epsilon, epsilon)) if atoms else 0.0
    assert noise_mean(location, prec, epsilon, atoms).log_mass == approx(np.log(inside + ends), rel=1e-10)
