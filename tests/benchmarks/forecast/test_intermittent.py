"""What is measured of counts is what its definitions say, and quantiles stand in their order."""

import numpy as np
from benchmarks.forecast.demand import simulated
from benchmarks.forecast.intermittent import MEASURES, QUANTILES, all_past_values, our_forecast, score
from benchmarks.forecast.measures import ABSURD, Outlook
from benchmarks.forecast.problems import Problem
from pytest import approx

PROBLEM = Problem("a", "somewhere", "daily", 1, np.array([0.0, 2.0, 0.0, 6.0]), np.array([0.0, 4.0]))


def test_scores_are_in_units_of_the_mean_demand() -> None:
    found = score(PROBLEM, Outlook(np.full(2, 3.0), np.full((20, 2), 3.0), 0.5))
    assert found["RMSE"] == approx(np.sqrt((9 + 1) / 2) / 2)
    assert found["loss at 99 %"] == approx((0.01 * 3 + 0.99 * 1) / 2 / 2)
    assert (found["suffices, of 95 %"], found["held by 90 %"], found["seconds"]) == (0.5, 0.0, 0.5)
    assert found[ABSURD] == 0
    assert set(MEASURES) < set(found)


def test_a_quantile_that_was_rounded_still_reaches_a_whole_number() -> None:
    found = score(PROBLEM, Outlook(np.full(2, 3.0), np.full((20, 2), 4.0 - 1e-8), 0.0))
    assert found["suffices, of 99 %"] == 1.0


def test_means_far_beyond_what_was_learned_are_counted() -> None:
    assert score(PROBLEM, Outlook(np.array([13.0, 11.0]), np.zeros((20, 2)), 0.0))[ABSURD] == 1


def test_forecasts_of_demand_have_a_mean_and_all_quantiles() -> None:
    problem = next(simulated())
    for forecast in (our_forecast, all_past_values):
        mean, quantiles = forecast(problem)
        assert mean.shape == (problem.horizon,)
        assert quantiles.shape == (len(QUANTILES), problem.horizon)
        assert (np.diff(quantiles, axis=0) >= 0).all()
