"""Mixtures of smoothed noise are held to quadrature, and to each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx
from scipy import stats
from scipy.integrate import quad

from adabypass import Mixture, Normal
from adabypass.distributions.component import COMPONENT
from adabypass.errors import ParameterError, ShapeError
from adabypass.numerics import noise
from adabypass.numerics.noise import Family
from adabypass.validation import Floats
from tests import oracles
from tests.mixtures import insensitive
from tests.strategies import powers

CRPS_ERROR = 1e-5  # of the score, where nothing has a kink,
MAX_CRPS_ERROR = 1e-4  # and what its quadrature promises anywhere


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    """A few components of different places, widths and families."""
    n = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    family = np.where(rng.random(n) < 0.4, rng.choice(list(noise.NORMALS), n), Family.INSENSITIVE)
    return Mixture.of(
        weight=rng.dirichlet(np.ones(n)),
        mean=rng.normal(0, 2, n),
        signal_var=10.0 ** rng.uniform(-3, 1, n),
        noise_scale=10.0 ** rng.uniform(-1, 0.5, n),
        epsilon=np.where(family == Family.INSENSITIVE, 10.0 ** rng.uniform(-1.5, 1, n), 0.0),
        family=family,
    )


@settings(max_examples=30)
@given(st.floats(-30, 30), powers(-4, 4), powers(-2, 1))
def test_density_of_smoothed_noise_equals_mpmath(d: float, v: float, epsilon: float) -> None:
    forecast = insensitive(mean=1.0, signal_var=v * 4.0, noise_scale=2.0, epsilon=epsilon)
    exact = oracles.insensitive_evidence(d, v, epsilon).log_density - np.log(2.0)
    assert forecast.logpdf(1.0 + 2.0 * d) == approx(exact, rel=1e-9, abs=1e-9)


@settings(max_examples=40)
@given(mixtures(), st.floats(-6, 6))
def test_distribution_function_is_the_integral_of_the_density(forecast: Mixture, z: float) -> None:
    y = forecast.mean + z * forecast.sd
    t, weights = oracles.mixture_nodes(forecast.components, y)
    mass = weights @ np.where(t < y, forecast.pdf(t), 0.0)
    assert forecast.cdf(y) == approx(mass, abs=1e-9)
    assert forecast.sf(y) == approx(1 - mass, abs=1e-9)
    assert forecast.pit(y) == forecast.cdf(y)


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_normals_of_all_sizes_add_up(n: int, seed: int) -> None:
    """Some lie far out, some near, whichever lanes they share."""
    rng = np.random.default_rng(seed)
    weight, mean, sd = rng.dirichlet(np.ones(n)), rng.normal(size=n), 10.0 ** rng.uniform(-6, 6, n)
    forecast = Mixture.of(weight=weight, mean=mean, signal_var=sd**2)
    y = np.concatenate([mean + k * sd for k in (-2.0, 0.3, 1.0, 4.0)])
    exact = np.array([weight @ stats.norm.cdf(at, mean, sd) for at in y])
    assert forecast.cdf(y) == approx(exact, rel=1e-12, abs=1e-14)


@given(powers(-2, 1), powers(-3, 2), powers(1, 2.5))
def test_far_tails_keep_their_digits(epsilon: float, v: float, d: float) -> None:
    """Far out, the survival function of Laplace tails falls as its density: their ratio is the noise's scale."""
    forecast = insensitive(0.0, v, 1.0, epsilon)
    y = epsilon + v + 10 * v**0.5 + d
    assert forecast.sf(y) == approx(forecast.pdf(y), rel=1e-9)
    assert forecast.cdf(-y) == approx(forecast.sf(y), rel=1e-12)


@given(mixtures(), powers(-12, -0.01))
def test_quantiles_invert_the_distribution_function(forecast: Mixture, q: float) -> None:
    assert forecast.cdf(forecast.quantile(q)) == approx(q, rel=1e-7, abs=1e-15)
    assert forecast.sf(forecast.quantile(1 - q)) == approx(1 - (1 - q), rel=1e-4, abs=1e-15)  # 1 - q has rounded q


@given(st.floats(-5, 5), powers(-3, 1), powers(-1, 0.5))
def test_crps_of_a_single_forecast_is_its_integral(z: float, signal_var: float, epsilon: float) -> None:
    forecast = insensitive(0.0, signal_var, 1.0, epsilon)
    y, reach = z * forecast.sd, 60 * forecast.sd
    below = quad(lambda t: forecast.cdf(t) ** 2, y - reach, y, points=[0.0], limit=400)[0]
    above = quad(lambda t: forecast.sf(t) ** 2, y, y + reach, points=[0.0], limit=400)[0]
    assert forecast.crps(y) == approx(below + above, rel=MAX_CRPS_ERROR)


@given(mixtures())
def test_moments_are_those_of_the_density(forecast: Mixture) -> None:
    parts = forecast.components
    weight, mean, scale = parts["weight"], parts["mean"], parts["noise_scale"]
    others = {family: np.dot(each.shares, np.square(each.sds)) for family, each in noise.NORMALS.items()}
    inner = [others.get(part["family"], noise.var(float(part["epsilon"]))) for part in parts]
    var = weight @ (parts["signal_var"] + scale**2 * inner + (mean - weight @ mean) ** 2)
    assert forecast.mean == approx(weight @ mean)
    assert forecast.var == approx(var)


def test_mixtures_of_very_different_widths_are_scored_exactly() -> None:
    """Worked out by hand: a narrow spike in a wide bell, and two far peaks."""
    spike = Mixture.of(weight=[0.99, 0.01], mean=0.0, signal_var=[1e-6, 1.0])
    sds = np.sqrt([[2e-6, 1.000001], [1.000001, 2.0]])
    weights, scale = np.array([0.99, 0.01]), np.sqrt(2 / np.pi)
    exact = scale * (weights @ [1e-3, 1.0] - 0.5 * weights @ sds @ weights)
    assert spike.crps(0.0) == approx(exact, rel=CRPS_ERROR)
    peaks = Mixture.of(weight=[0.5, 0.5], mean=[-1e6, 1e6], signal_var=1.0)
    assert peaks.crps(0.0) == approx(5e5, rel=1e-5)
    assert peaks.cdf(peaks.quantile(0.25)) == approx(0.25)


def test_a_forecast_from_a_huge_feature_has_an_interval() -> None:
    low, high = insensitive(0.0, 1e240, 1.0, 1.25).interval(0.9)
    assert (low, high) == approx((-1.6448536e120, 1.6448536e120), rel=1e-6)


def test_components_of_another_shape_or_kind_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"float64, but must be an array of COMPONENT; make one with Mixture\.of"):
        Mixture(np.ones((3, 5)))  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"shape \(1, 1, 1\), but must have shape"):
        Mixture.of(weight=[[[1.0]]], mean=0.0)
    with pytest.raises(ShapeError, match=r"shape \(0,\), but must have shape"):
        Mixture(np.empty(0, COMPONENT))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("mean", np.nan, "mean is nan, but must be finite"),
        ("signal_var", np.inf, "signal_var is inf, but must be finite"),
        ("signal_var", -1.0, r"signal_var is -1\.0, but must not be below 0"),
        ("noise_scale", -0.5, r"noise_scale is -0\.5, but must not be below 0"),
        ("epsilon", -2.0, r"epsilon is -2\.0, but must not be below 0"),
        ("weight", [1.5, -0.5], r"weight is -0\.5, but must not be below 0"),
        ("weight", [0.5, 0.4], r"sum of weight is 0\.9, but must be 1"),
        ("family", 99, "family is 99, but must be one of INSENSITIVE = 0, GAUSSIAN = 1, MODERATE = 2, HEAVY = 3"),
    ],
)
def test_components_outside_their_domain_are_refused(field: str, value: object, message: str) -> None:
    fields = {"weight": [0.5, 0.5], "mean": 0.0, "signal_var": 1.0} | {field: value}
    with pytest.raises(ParameterError, match=message):
        Mixture.of(**fields)  # type: ignore[arg-type]


def test_weights_may_miss_1_by_rounding() -> None:
    assert Mixture.of(weight=np.full(3, 1 / 3) + 1e-9, mean=0.0, signal_var=1.0).var == approx(1.0)


def test_samples_follow_the_distribution() -> None:
    forecast = Mixture.of(
        weight=[0.3, 0.4, 0.3],
        mean=[-1.0, 2.0, 3.0],
        signal_var=[0.1, 0.5, 0.2],
        noise_scale=[0.5, 1.0, 0.7],
        epsilon=[1.0, 0.0, 0.0],
        family=[Family.INSENSITIVE, Family.GAUSSIAN, Family.HEAVY],
    )
    draws = forecast.sample(np.random.default_rng(0), 20_000)
    assert stats.kstest(draws, forecast.cdf).pvalue > 1e-3
    assert isinstance(forecast.sample(np.random.default_rng(0)), float)


def many() -> tuple[Mixture, Floats]:
    rng = np.random.default_rng(1)
    factor = np.array([[1.0], [2.0], [1.0]])
    forecasts = Mixture.of(
        weight=[0.4, 0.6],
        mean=[-1.0, 2.0],
        signal_var=factor**2 * [0.1, 0.5],
        noise_scale=factor * [0.5, 1.0],
        epsilon=[1.0, 0.0],
        family=[Family.INSENSITIVE, Family.GAUSSIAN],
    )
    return forecasts, rng.normal(size=3)


@pytest.mark.parametrize("name", ["pdf", "logpdf", "cdf", "sf", "crps", "pit"])
def test_many_forecasts_give_what_each_gives(name: str) -> None:
    forecasts, y = many()
    single = [getattr(Mixture(c), name)(float(at)) for c, at in zip(forecasts.components, y, strict=True)]
    assert all(type(value) is float for value in single)
    assert getattr(forecasts, name)(y) == approx(single)


def test_one_forecast_takes_many_values() -> None:
    forecast = Mixture(many()[0].components[0])
    levels = np.array([[0.1, 0.5], [0.9, 0.99]])
    assert forecast.quantile(levels).shape == (2, 2)
    assert forecast.cdf(forecast.quantile(levels)) == approx(levels)


def test_many_forecasts_can_be_chosen_from_and_sampled() -> None:
    forecasts, y = many()
    assert forecasts[1:].logpdf(y[1:]) == approx(forecasts.logpdf(y)[1:])
    assert forecasts.sample(np.random.default_rng(0), 7).shape == (7, 3)
    assert forecasts.interval(0.5)[0].shape == (3,)
    assert np.isnan(forecasts.logpdf(np.array([0.0, np.nan, 0.0]))).tolist() == [False, True, False]


def test_every_part_of_a_huge_forecast_is_finite() -> None:
    """The search for a quantile begins where the one before it ended, however far off that is."""
    forecasts = Mixture.of(
        weight=[0.5, 0.5],
        mean=[[1e301, 1e301], [1e300, 1e300]],
        signal_var=[[1e300], [1.0]],
        noise_scale=[[0.0], [1e300]],
    )
    assert np.isfinite(forecasts.quantile(0.5)).all()
    assert np.isfinite(forecasts.entropy()).all()


def test_probabilities_stay_within_0_and_1() -> None:
    """The weights add up to 1 but for rounding, which must not show."""
    weight = np.full(7, 1 / 7) * (1 + 1e-9)
    forecast = Mixture.of(weight=weight, mean=np.arange(7.0), signal_var=1.0)
    assert forecast.cdf(100.0) == forecast.sf(-100.0) == 1.0
    assert forecast.cdf(-1e9) == 0.0


def test_gaussian_components_are_normal() -> None:
    gaussian = Mixture.of(weight=[1.0], mean=2.0, signal_var=0.75, noise_scale=0.5)
    normal = Normal(2.0, 1.0)
    for y in (-3.0, 2.0, 4.5):
        assert gaussian.logpdf(y) == approx(normal.logpdf(y))
        assert gaussian.cdf(y) == approx(normal.cdf(y))
        assert gaussian.crps(y) == approx(normal.crps(y), rel=CRPS_ERROR)
    assert gaussian.interval(0.9) == approx(normal.interval(0.9))
    assert gaussian.entropy() == approx(normal.entropy(), abs=1e-6)
