"""Calibration is read off the PIT: what was observed beside what was promised, and what chance explains."""

from typing import Any

import numpy as np
import pytest
from pytest import approx
from scipy.special import ndtri
from scipy.stats import binom

from adabypass import AutoBypass, Normal, PassiveAggressive, Trace
from adabypass.errors import NotEnoughDataError, ParameterError, PointForecastError
from adabypass.evaluation import coverage_over_time, pit_histogram, reliability
from adabypass.results.calibration import chance_range
from adabypass.validation import Floats


def with_pit(*pit: float) -> Trace:
    """Return a trace of standard normal forecasts whose observations have this PIT; nan where it is missing."""
    return Trace(ndtri(np.array(pit)), Normal(np.zeros(len(pit)), np.ones(len(pit))), {})


def true_model(n: int) -> Trace:
    rng = np.random.default_rng(0)
    mean, sd = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    return Trace(rng.normal(mean, sd), Normal(mean, sd**2), {})


def test_every_observation_is_counted_however_far_above_its_forecast() -> None:
    """The weights of a mixture add up to 1 but for rounding: a PIT above 1 would fall out of the histogram."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=600)
    y[100::20] += 1e4
    trace = AutoBypass().run(rng.normal(size=(600, 1)), y)
    assert np.nanmax(trace.predictive.pit(trace.y)) <= 1.0
    assert pit_histogram(trace, 10).density.mean() == approx(1.0)


def test_a_histogram_counts_the_pit_of_what_was_seen() -> None:
    histogram = pit_histogram(with_pit(0.1, 0.15, np.nan, 0.3, 0.9), bins=4)
    assert histogram.edges == approx([0.0, 0.25, 0.5, 0.75, 1.0])
    assert histogram.density == approx([2.0, 1.0, 0.0, 1.0])  # shares of 2, 1, 0 and 1 in 4, over a width of 1/4


def test_extreme_observations_fall_in_the_outer_bins() -> None:
    trace = Trace(np.array([-1e300, 1e300]), Normal(np.zeros(2), np.ones(2)), {})
    assert pit_histogram(trace, bins=5).density == approx([2.5, 0, 0, 0, 2.5])


def test_the_first_observations_can_be_skipped() -> None:
    trace = with_pit(0.1, 0.1, 0.9)
    assert pit_histogram(trace, bins=2, skip=2).density == approx([0.0, 2.0])
    assert reliability(trace, [0.5], skip=1).observed == approx([0.0])


@pytest.mark.parametrize(("n", "share"), [(1, 0.05), (7, 0.5), (100, 0.9), (662, 0.05), (50_000, 0.05), (10, 1.0)])
def test_the_range_of_chance_is_the_binomial_s(n: int, share: float) -> None:
    assert chance_range(n, share) == approx((binom.ppf(0.025, n, share), binom.ppf(0.975, n, share)))


def test_the_band_holds_most_bins_of_a_true_model() -> None:
    histogram = pit_histogram(true_model(20_000), bins=100)
    low, high = histogram.band
    assert (low, high) == approx((1 - 1.96 * 14.07 / 200, 1 + 1.96 * 14.07 / 200), abs=0.005)  # 200 a bin, sd 14.07
    within = np.mean((low <= histogram.density) & (histogram.density <= high))
    assert 0.88 < within <= 1.0


def test_coverage_is_counted_by_hand() -> None:
    result = reliability(with_pit(0.5, 0.3, np.nan, 0.04, 0.97, 0.999), levels=[0.1, 0.5, 0.92, 0.95])
    assert result.nominal == approx([0.1, 0.5, 0.92, 0.95])
    assert result.observed == approx([1 / 5, 2 / 5, 3 / 5, 4 / 5])


def test_coverage_is_that_of_the_intervals() -> None:
    rng = np.random.default_rng(1)
    y = rng.standard_t(3, 300)
    y[50:60] = np.nan
    trace = AutoBypass().run(rng.normal(size=(300, 1)), y)
    scores = trace.scores()
    expected = [scores["coverage_50"], scores["coverage_90"], scores["coverage_95"]]
    assert reliability(trace, [0.5, 0.9, 0.95]).observed == approx(expected)


def test_the_error_of_independent_hits_is_binomial() -> None:
    result = reliability(true_model(20_000))
    assert result.standard_error == approx(np.sqrt(result.nominal * (1 - result.nominal) / 20_000), rel=0.1)
    assert (np.abs(result.observed - result.nominal) < 4 * result.standard_error).all()


def test_the_error_is_larger_where_hits_come_in_runs() -> None:
    pit = np.repeat(np.random.default_rng(2).random(500), 10)
    expected = np.sqrt(0.25 / 500)  # ten equal neighbours count as one
    assert reliability(with_pit(*pit), [0.5]).standard_error == approx([expected], rel=0.25)


def test_the_error_is_not_nothing_where_every_observation_is_within() -> None:
    assert reliability(with_pit(*[0.5] * 25), [0.9]).standard_error == approx([np.sqrt(0.9 * 0.1 / 25)])


def rolling(trace: Trace, level: float, window: int) -> Floats:
    """Count again at every moment."""
    low, high = trace.predictive.interval(level)
    shares = []
    for end in range(1, len(trace) + 1):
        seen = [low[i] <= trace.y[i] <= high[i] for i in range(end) if not np.isnan(trace.y[i])]
        shares.append(np.mean(seen[-window:]) if len(seen) >= window else np.nan)
    return np.array(shares)


def test_coverage_over_time_is_counted_by_hand() -> None:
    share = coverage_over_time(with_pit(0.5, 0.99, 0.5, np.nan, 0.5, 0.01), level=0.9, window=2)
    assert share == approx([np.nan, 1 / 2, 1 / 2, 1 / 2, 1.0, 1 / 2], nan_ok=True)


def test_coverage_over_time_equals_a_count_at_every_moment() -> None:
    trace = true_model(300)
    trace.y[np.random.default_rng(3).random(300) < 0.3] = np.nan
    assert coverage_over_time(trace, 0.8, 25) == approx(rolling(trace, 0.8, 25), nan_ok=True)


def test_coverage_over_time_waits_for_a_whole_window() -> None:
    assert np.isnan(coverage_over_time(with_pit(0.5, 0.5), window=3)).all()


def test_what_cannot_be_judged_is_refused() -> None:
    with pytest.raises(NotEnoughDataError, match="no forecasts to check"):
        pit_histogram(with_pit(np.nan, np.nan))
    point = PassiveAggressive().run([[1.0], [1.0]], [1.0, 2.0])
    judges: list[Any] = [pit_histogram, reliability, coverage_over_time]
    for judge in judges:
        with pytest.raises(PointForecastError, match="forecasts a point, so it has no pit"):
            judge(point)
    with pytest.raises(ParameterError, match="bins is 0"):
        pit_histogram(with_pit(0.5), bins=0)
    with pytest.raises(ParameterError, match="window is 0"):
        coverage_over_time(with_pit(0.5), window=0)
    with pytest.raises(ParameterError, match="skip is 2, but must be a whole number from 0 to 1"):
        reliability(with_pit(0.5), skip=2)
    with pytest.raises(ParameterError, match="level is 90, but must lie between 0 and 1"):
        reliability(with_pit(0.5), levels=[90])


@pytest.mark.parametrize("function", [pit_histogram, reliability, coverage_over_time])
@pytest.mark.parametrize("wrong", [None, 5, np.zeros(3), Normal(np.zeros(3), np.ones(3)), AutoBypass()])
def test_what_is_not_a_trace_is_refused(function: Any, wrong: Any) -> None:
    with pytest.raises(ParameterError, match=r"trace is .*, but must be a Trace; pass what model.run\(X, y\) returned"):
        function(wrong)


@pytest.mark.parametrize("levels", [0.9, None, np.array(0.9)])
def test_levels_that_are_no_list_are_refused(levels: Any) -> None:
    with pytest.raises(ParameterError, match="but must be a list of numbers between 0 and 1, as in"):
        reliability(with_pit(0.5, 0.6), levels)


@pytest.mark.parametrize(
    ("n", "share", "words"),
    [(0, 0.5, "n is 0"), (2.5, 0.5, "n is 2.5"), (5, 1.5, "share is 1.5"), (5, "half", "share is 'half'")],
)
def test_a_range_of_chance_needs_trials_and_a_probability(n: Any, share: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        chance_range(n, share)
