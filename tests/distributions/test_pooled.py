"""Forecasts that mix those of structures with those of regressions."""

import numpy as np
import pytest
from scipy import integrate

from adabypass import Forecaster, load_dataset
from adabypass.distributions.component import MixtureExtras
from adabypass.distributions.mixture import Mixture
from adabypass.distributions.predictive import concatenate
from tests.distributions.test_students import students


def pool(forecasts: Mixture, at: list[int], share: np.ndarray, others: list[Mixture]) -> Mixture:
    """Mix some of many forecasts with others."""
    row = np.full(len(forecasts), -1)
    row[at] = np.arange(len(at))
    return Mixture.with_extras(
        forecasts.components, MixtureExtras(np.zeros(len(forecasts)), share=share, pooled_at=row, parts=tuple(others))
    )


STRUCTURES = students(
    np.array([[0.5, 0.5]] * 3), [[0.0, 2.0], [1.0, 3.0], [5.0, 6.0]], [[1.0, 0.5]] * 3, [[8.0, 5.0]] * 3, [False] * 2
)
FIRST = Mixture.of(weight=[[0.3, 0.7]] * 2, mean=[[-1.0, 1.0], [2.0, 4.0]], signal_var=[[1.0, 2.0]] * 2)
SECOND = Mixture.of(weight=[[1.0], [1.0]], mean=[[9.0], [8.0]], signal_var=[[0.04], [0.04]])
SHARE = np.array([[0.6, 0.3, 0.1], [0.5, 0.5, 0.0]])
MANY = pool(STRUCTURES, [0, 2], SHARE, [FIRST, SECOND])
"""The second of three forecasts is the structures' alone."""
SINGLE = MANY[0]


@pytest.mark.parametrize("y", [-2.0, 0.7, 9.1])
def test_distribution_and_density_are_weighted_means(y: float) -> None:
    for name in ("cdf", "sf", "pdf"):
        parts = [getattr(STRUCTURES, name)(np.full(3, y))[0], getattr(FIRST, name)(np.full(2, y))[0]]
        parts.append(getattr(SECOND, name)(np.full(2, y))[0])
        assert abs(getattr(SINGLE, name)(y) - SHARE[0] @ parts) < 1e-14
    assert abs(SINGLE.cdf(y) + SINGLE.sf(y) - 1.0) < 1e-12


def test_densities_integrate_to_one() -> None:
    for each in (SINGLE, MANY[1], MANY[2]):
        total = integrate.quad(each.pdf, -300.0, 300.0, points=[0.0, 2.0, 6.0, 9.0], limit=400)[0]
        assert abs(total - 1.0) < 1e-5  # of what is beyond, Student's tails hold some


def test_quantiles_invert_the_distribution() -> None:
    levels = np.array([1e-6, 0.01, 0.05, 0.3, 0.5, 0.9, 0.95, 0.999])
    found = MANY.quantile(levels)
    assert found.shape == (8, 3)
    for level, values in zip(levels, found, strict=True):
        np.testing.assert_allclose(MANY.cdf(values), level, rtol=0.0, atol=2e-9)
    np.testing.assert_allclose(found[:, 1], STRUCTURES.quantile(levels)[:, 1], rtol=1e-9)
    assert (SINGLE.quantile(0.0), SINGLE.quantile(1.0)) == (-np.inf, np.inf)


def test_crps_is_the_integral_of_its_definition() -> None:
    for y in (-1.0, 3.0, 12.0):
        lower = integrate.quad(lambda x: SINGLE.cdf(x) ** 2, -200.0, y, points=[-1.0, 0.0], limit=400)[0]
        upper = integrate.quad(lambda x: SINGLE.sf(x) ** 2, y, 200.0, points=[9.0, 10.0], limit=400)[0]
        assert abs(SINGLE.crps(y) - lower - upper) < 1e-4
    np.testing.assert_allclose(
        MANY.crps(np.ones(3))[1], STRUCTURES.crps(np.ones(3))[1], rtol=1e-12
    )  # sums of another order


def test_moments_are_those_of_draws() -> None:
    draws = MANY.sample(np.random.default_rng(0), 40_000)
    assert draws.shape == (40_000, 3)
    np.testing.assert_allclose(draws.mean(axis=0), MANY.mean, atol=5 * MANY.sd.max() / 200)
    np.testing.assert_allclose(draws.std(axis=0), MANY.sd, rtol=0.05)
    assert abs(SINGLE.entropy() + np.mean(SINGLE.logpdf(draws[:2000, 0]))) < 0.1


def test_many_forecasts_answer_as_each_alone() -> None:
    for name in ("mean", "var", "sd", "median"):
        np.testing.assert_allclose(getattr(MANY, name), [getattr(MANY[i], name) for i in range(3)], rtol=1e-9)
    y = np.array([0.5, 2.0, np.nan])
    for name in ("cdf", "sf", "logpdf", "crps"):
        np.testing.assert_allclose(getattr(MANY, name)(y), [getattr(MANY[i], name)(y[i]) for i in range(3)], rtol=1e-9)
    assert repr(MANY) == "Mixture(3 forecasts)"
    assert repr(SINGLE).startswith("Mixture(mean=")
    assert MANY.is_known.all()
    assert SINGLE.is_known is True
    low, high = MANY[[2, 0]].interval(0.8)
    np.testing.assert_allclose([low[1], high[1]], SINGLE.interval(0.8), rtol=1e-9)


def test_forecasts_of_one_forecaster_are_joined() -> None:
    y = load_dataset("nile").y[:60]
    whole, single = Forecaster(period=[]), Forecaster(period=[])
    trace = whole.run(y)
    steps = [single.step(each) for each in y]
    joined = concatenate([each for each in steps if each is not None])
    assert isinstance(joined, Mixture)
    np.testing.assert_array_equal(joined.mean, trace.mean)
    np.testing.assert_allclose(joined.logpdf(y[1:]), trace.log_score, rtol=1e-12)
    known = [(each, float(value)) for each, value in zip(steps, y, strict=True) if each is not None]
    for whole_run in (joined, trace.predictive):  # at first some regressions have nothing to say
        np.testing.assert_allclose(whole_run.crps(y[1:]), [each.crps(value) for each, value in known], rtol=1e-6)
        np.testing.assert_allclose(whole_run.quantile(0.9), [each.quantile(0.9) for each, _ in known], rtol=1e-6)


def test_forecasts_that_pool_different_numbers_of_models_are_joined() -> None:
    """As before and after a season is found."""
    y = load_dataset("nile").y[:60]
    plain, seasonal = Forecaster(period=[]), Forecaster(period=12)
    plain.learn(y)
    seasonal.learn(y)
    each = [plain.predict(), seasonal.predict()]
    for order in (each, each[::-1]):
        joined = concatenate(order)
        np.testing.assert_allclose(joined.mean, [one.mean for one in order], rtol=1e-12)
        np.testing.assert_allclose(joined.quantile(0.9), [one.quantile(0.9) for one in order], rtol=1e-9)
        np.testing.assert_allclose(joined.logpdf(np.full(2, 11.0)), [one.logpdf(11.0) for one in order], rtol=1e-9)
