"""Each figure of a strategy is the one that a person finds with pencil and paper."""

from math import isnan, sqrt

import numpy as np
import pytest
from pytest import approx

from adabypass.errors import NotFiniteError, ParameterError, ShapeError
from adabypass.experiments import performance


def test_sharpe_is_mean_over_sample_deviation_times_the_root_of_252() -> None:
    # mean 0.01; deviations 0, -0.02, 0.02, so the sample variance is 0.0008 / 2
    assert performance.sharpe([0.01, -0.01, 0.03]) == approx(sqrt(252) * 0.5)
    assert performance.volatility([0.01, -0.01, 0.03]) == approx(sqrt(252) * 0.02)


@pytest.mark.parametrize("returns", [[0.0, 0.0, 0.0], [0.1, 0.1, 0.1], [0.01]])
def test_where_nothing_varies_there_is_no_sharpe_ratio(returns: list[float]) -> None:
    assert isnan(performance.sharpe(returns))


def test_growth_is_compounded_over_252_days_a_year() -> None:
    two_years = np.zeros(504)
    two_years[100] = 0.21
    assert performance.cagr(two_years) == approx(0.10)


def test_drawdown_is_measured_from_the_peak_and_counted_until_it_is_reached_again() -> None:
    # capital 1.25, 1.0, 0.5, 1.25, 1.375, 1.1: 60 % lost, two days below 1.25, then one below 1.375
    assert performance.drawdown([0.25, -0.2, -0.5, 1.5, 0.1, -0.2]) == approx((0.6, 2))


def test_the_longest_time_below_a_peak_need_not_be_that_of_the_deepest_loss() -> None:
    # capital 0.5, 1.0, 0.75, 0.75, 0.75
    assert performance.drawdown([-0.5, 1.0, -0.25, 0.0, 0.0]) == approx((0.5, 3))


def test_a_loss_on_the_first_day_is_a_loss_from_the_start() -> None:
    assert performance.underwater([-0.1, 0.0]) == approx([0.1, 0.1])


def test_gains_alone_make_no_drawdown() -> None:
    assert performance.drawdown([0.1, 0.0, 0.2]) == (0.0, 0)


def test_the_interval_has_the_width_that_theory_gives_independent_returns() -> None:
    n = 4000
    daily = np.random.default_rng(1).normal(0.0005, 0.01, n)
    low, high = performance.sharpe_interval(daily, np.random.default_rng(2), mean_block=1.0)
    assert low < performance.sharpe(daily) < high
    assert high - low == approx(2 * 1.645 * sqrt(252 / n), rel=0.1)


def test_blocks_keep_what_single_days_would_lose() -> None:
    # Returns that go on for ten days each: their mean is less sure than that of independent ones.
    daily = np.repeat(np.random.default_rng(3).normal(size=200), 10)
    widths = [
        np.diff(performance.sharpe_interval(daily, np.random.default_rng(4), mean_block=length, draws=500))[0]
        for length in (1.0, 50.0)
    ]
    assert widths[1] > 2.0 * widths[0]


def test_one_endless_block_only_turns_the_circle() -> None:
    daily = np.random.default_rng(5).normal(size=50)
    low, high = performance.sharpe_interval(daily, np.random.default_rng(6), mean_block=1e12, draws=20)
    assert (low, high) == approx((performance.sharpe(daily),) * 2)


def test_the_same_seed_gives_the_same_interval() -> None:
    daily = np.random.default_rng(7).normal(size=100)
    first, second = (performance.sharpe_interval(daily, np.random.default_rng(8), draws=50) for _ in range(2))
    assert first == second


def test_bad_input_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ShapeError, match="at least one"):
        performance.sharpe([])
    with pytest.raises(NotFiniteError, match=r"returns\[1\] is nan"):
        performance.cagr([0.1, np.nan])
    with pytest.raises(ParameterError, match="level is 2"):
        performance.sharpe_interval([0.1, 0.2], rng, level=2)
    with pytest.raises(ParameterError, match="at least one day"):
        performance.sharpe_interval([0.1, 0.2], rng, mean_block=0.5)
