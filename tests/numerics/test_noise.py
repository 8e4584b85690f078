"""The insensitive noise's moments are those of its density."""

import numpy as np
import pytest
from pytest import approx
from scipy import stats
from scipy.integrate import quad

from adabypass.errors import ParameterError
from adabypass.numerics import noise
from adabypass.reference.evidence import evidence
from adabypass.state.bank import LANES
from adabypass.state.bank_design import NOISE_MODELS, filters


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.25, 20.0])
def test_density_and_variance_agree_by_quadrature(epsilon: float) -> None:
    points = [epsilon, epsilon + 60]
    total = 2 * sum(quad(noise.pdf, a, b, args=(epsilon,))[0] for a, b in zip([0, *points], points, strict=False))
    second = 2 * sum(
        quad(lambda eta: eta**2 * noise.pdf(eta, epsilon), a, b)[0] for a, b in zip([0, *points], points, strict=False)
    )
    assert total == approx(1.0, rel=1e-9)
    assert noise.var(epsilon) == approx(second, rel=1e-7)


@pytest.mark.parametrize("epsilon", [0.1, 1.25, 20.0])
def test_variance_is_that_of_the_mixture(epsilon: float) -> None:
    """Equation (A.4): Var η = Var μ + E[1/β], and 1/β has mean 2 under InvGamma(1, 1/2) for β."""
    atoms, flat = 2 * epsilon**2, 2 * epsilon**3 / 3
    assert noise.mean_var(epsilon) == approx((atoms + flat) / (2 * (1 + epsilon)))
    assert noise.var(epsilon) == approx(noise.mean_var(epsilon) + 2.0)


def test_prior_variance_of_the_mean_is_finite_for_the_widest_flat_top() -> None:
    assert np.isfinite(noise.mean_var(1e100))


@pytest.mark.parametrize(
    ("family", "degrees", "nats"), [(noise.Family.MODERATE, 6, 2.1e-5), (noise.Family.HEAVY, 3, 3.6e-4)]
)
def test_normals_are_nearly_students_t(family: noise.Family, degrees: int, nats: float) -> None:
    normals = noise.NORMALS[family]
    parts = list(zip(normals.shares, normals.sds, strict=True))
    truth = stats.t(degrees)

    def gap(x: float) -> float:
        return float(truth.pdf(x) * (truth.logpdf(x) - np.log(sum(w * stats.norm.pdf(x, 0, sd) for w, sd in parts))))

    assert 2 * (quad(gap, 0, 10)[0] + quad(gap, 10, 100)[0]) < nats
    assert sum(normals.shares) == approx(1.0, abs=1e-12)
    glitches = sum(share * sd**2 for share, sd in parts if sd >= 100)
    assert normals.var - glitches == approx(truth.var(), rel=0.02)


def test_flexible_noise_starts_near_students_t_and_can_be_sampled() -> None:
    centers, sds, start = noise.FLEXIBLE_NORMALS
    truth, x = stats.t(4), np.linspace(-20, 20, 4001)
    density = stats.norm.pdf(x[:, None], centers, sds) @ start
    assert np.sum(truth.pdf(x) * (truth.logpdf(x) - np.log(density))) * (x[1] - x[0]) < 2e-3
    assert start.sum() == approx(1.0, abs=1e-12)
    shares = np.random.default_rng(0).dirichlet(np.ones(len(start)))
    family = np.full(400_000, noise.Family.FLEXIBLE)
    drawn = noise.sample(family, np.zeros(len(family)), np.random.default_rng(1), shares)
    var = float(noise.family_var(family[:1], np.zeros(1), shares)[0])
    assert drawn.mean() == approx(0.0, abs=4 * (var / len(drawn)) ** 0.5)
    assert drawn.var() == approx(var, rel=0.02)


def test_a_family_without_operations_is_not_taken_for_another() -> None:
    family, epsilon = np.array([noise.Family.GAUSSIAN, noise.Family.STUDENT]), np.ones(2)
    with pytest.raises(ParameterError, match="noise of family STUDENT has no variance"):
        noise.family_var(family, epsilon)
    with pytest.raises(ParameterError, match="no value can be drawn"):
        noise.sample(family, epsilon, np.random.default_rng(0))
    with pytest.raises(KeyError):
        evidence(noise.Family.STUDENT, 0.0, 1.0, 1.0)
    with pytest.raises(ParameterError, match="noise of family STUDENT has no variance"):
        filters(True, noise_models=(NOISE_MODELS[0]._replace(family=noise.Family.STUDENT),))


def test_every_noise_model_has_an_initial_scale_and_stands_with_its_family() -> None:
    families = [each.family for each in NOISE_MODELS]
    assert len(NOISE_MODELS) <= LANES  # for which a row has room
    assert set(families) <= set(noise.START_SCALE)
    assert families[0] is noise.Family.FLEXIBLE
    assert [each for family in dict.fromkeys(families) for each in families if each is family] == families


def test_the_widest_normal_of_flexible_noise_is_the_last_and_nowhere_far_below_another() -> None:
    """What compiled code relies on: no exponent relative to the widest is above 0.1."""
    centers, sds, _ = noise.FLEXIBLE_NORMALS
    assert centers[-1] == 0.0
    assert np.all(centers[:-1] ** 2 / (2 * (sds[-1] ** 2 - sds[:-1] ** 2)) < 0.1)
