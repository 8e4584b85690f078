"""A comparison tells a better model from a lucky one."""

import numpy as np
import pytest
from pytest import approx
from scipy.signal import lfilter
from scipy.stats import ttest_rel

from adabypass.errors import NotANumberError, NotEnoughDataError, NotFiniteError, ParameterError, ShapeError
from adabypass.evaluation import difference
from adabypass.numerics.long_run import bandwidth, mean_var
from adabypass.validation import Floats

ZIGZAG = np.array([1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
"""Mean 0; its products at lag 0 sum to 8, at lag 1 to 1 (four of +1, three of -1), at lag 2 to -6."""


def test_a_difference_is_that_computed_by_hand() -> None:
    """With horizon 3 there are two lags, of weights 2/3 and 1/3; the rule alone asks for none here (r = 1/8)."""
    result = difference(ZIGZAG + 0.5, np.zeros(8), horizon=3)
    var = (8 + 2 * (2 / 3) * 1 + 2 * (1 / 3) * -6) / 8 / 8  # of the mean: Bartlett's sum over n, over n again
    correction = (8 + 1 - 2 * 3 + 3 * 2 / 8) / 8  # Harvey, Leybourne and Newbold's, as they write it
    assert result.mean == approx(0.5)
    assert result.statistic == approx(0.5 / np.sqrt(var) * np.sqrt(correction))
    assert result.standard_error == approx(0.5 / result.statistic)
    assert result.n == 8


def test_the_autocovariances_are_weighted_as_bartlett_does() -> None:
    assert bandwidth(ZIGZAG) == 0
    assert mean_var(ZIGZAG) == approx(8 / 64)
    assert mean_var(ZIGZAG, min_lags=1) == approx((8 + 2 * 0.5 * 1) / 64)
    assert mean_var(ZIGZAG, min_lags=2) == approx((8 + 2 * (2 / 3) * 1 + 2 * (1 / 3) * -6) / 64)


def test_the_bandwidth_grows_with_the_autocorrelation_and_stays_below_a_third() -> None:
    rng = np.random.default_rng(0)
    rough, smooth = rng.normal(size=3000), autoregression(rng, 3000, 0.5)
    assert bandwidth(rough) <= 3
    assert bandwidth(smooth) == approx(1.1447 * (4 * 0.25 * 3000 / 0.75**2) ** (1 / 3), abs=2)
    assert bandwidth(np.arange(30.0)) == 10
    assert bandwidth(np.ones(9), minimum=2) == 2


def test_without_autocorrelation_it_is_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.2, 1.0, 10), rng.normal(size=10)
    d = a - b
    shuffles = (rng.permutation(d) for _ in range(1000))
    plain = next(s for s in shuffles if bandwidth(s) == 0)  # an order without autocorrelation
    expected = ttest_rel(plain, np.zeros(10))
    result = difference(plain, np.zeros(10))
    assert (result.statistic, result.p_value) == approx((expected.statistic, expected.pvalue))


def test_the_better_model_has_the_negative_mean_and_swapping_changes_the_sign() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=500)
    better, worse = noise**2, (noise + rng.normal(size=500)) ** 2
    one, other = difference(better, worse), difference(worse, better)
    assert one.mean < 0
    assert one.p_value < 1e-6
    assert (other.mean, other.statistic, other.p_value) == approx((-one.mean, -one.statistic, one.p_value))


def test_units_do_not_matter_even_huge_ones() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.exponential(size=50), rng.exponential(size=50)
    plain, huge = difference(a, b), difference(1e290 * a, 1e290 * b)
    assert (huge.statistic, huge.p_value) == approx((plain.statistic, plain.p_value))
    assert huge.standard_error == approx(1e290 * plain.standard_error)


def test_identical_losses_do_not_differ() -> None:
    losses = np.arange(20.0)
    assert difference(losses, losses) == (0.0, 0.0, 0.0, 1.0, 20)


def test_a_constant_difference_is_certain() -> None:
    result = difference(np.ones(20), np.full(20, 3.0))
    assert result == (-2.0, 0.0, -np.inf, 0.0, 20)


def test_pairs_with_a_gap_are_left_out() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=30), rng.normal(size=30)
    gappy_a, gappy_b = np.insert(a, 5, np.nan), np.insert(b, 5, 1.0)
    gappy_a, gappy_b = np.append(gappy_a, 7.0), np.append(gappy_b, np.nan)
    assert difference(gappy_a, gappy_b) == difference(a, b)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(NotEnoughDataError, match=r"there are 7 pairs of losses without a nan, but .* at least 8"):
        difference(np.ones(8), np.append(np.ones(7), np.nan))
    with pytest.raises(ShapeError, match="loss_a has 9 values and loss_b has 8"):
        difference(np.ones(9), np.ones(8))
    with pytest.raises(ShapeError, match=r"loss_b has shape \(4, 2\)"):
        difference(np.ones(8), np.ones((4, 2)))
    with pytest.raises(NotFiniteError, match=r"loss_a\[2\] is inf"):
        difference([1.0, 2.0, np.inf, *range(8)], np.ones(11))
    with pytest.raises(NotANumberError, match="loss_a"):
        difference("abc", np.ones(8))
    with pytest.raises(ParameterError, match="horizon is 5, but must be a whole number from 1 to 4"):
        difference(np.arange(8), np.ones(8), horizon=5)


def autoregression(rng: np.random.Generator, n: int, r: float) -> Floats:
    series: Floats = lfilter([1.0], [1.0, -r], rng.normal(size=n + 100))[100:]
    return series


@pytest.mark.parametrize(
    ("r", "least", "most"),
    [
        (0.0, 0.03, 0.075),  # 5 % are asked for; three standard errors of 1,000 draws are 2 %
        (0.5, 0.03, 0.11),  # a little more in a sample of 300, where a test blind to autocorrelation rejects 26 %
    ],
)
def test_models_that_are_equally_good_are_seldom_told_apart(r: float, least: float, most: float) -> None:
    rng = np.random.default_rng(5)
    rejected = [difference(autoregression(rng, 300, r), np.zeros(300)).p_value < 0.05 for _ in range(1000)]
    assert least < np.mean(rejected) < most


def test_forecasts_of_several_steps_that_are_equally_good_are_seldom_told_apart() -> None:
    """Errors of forecasts 4 steps ahead are a moving average of 4 shocks."""
    rng = np.random.default_rng(6)
    series = [np.convolve(rng.normal(size=303), np.ones(4), "valid") for _ in range(1000)]
    assert 0.03 < np.mean([difference(d, np.zeros(300), horizon=4).p_value < 0.05 for d in series]) < 0.10
