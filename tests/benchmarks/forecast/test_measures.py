"""The scores of the forecasting benchmark are what their definitions say."""

import numpy as np
from benchmarks.forecast.measures import PROBABILITIES, Outlook, score
from benchmarks.forecast.problems import Problem
from pytest import approx
from scipy.special import ndtri

from adabypass import Normal

TRAIN = np.array([1.0, 5.0, 2.0, 7.0, 4.0, 8.0])


def problem(test: list[float], frequency: str = "quarterly", period: int = 2) -> Problem:
    return Problem("a", "somewhere", frequency, period, TRAIN, np.array(test))


def test_the_scale_is_the_mean_seasonal_difference_but_for_weekly_series() -> None:
    assert problem([1.0]).scale == approx(np.mean([1, 2, 2, 1]))
    assert problem([1.0], "weekly").scale == approx(np.mean([4, 3, 5, 3, 4]))
    assert problem([1.0], period=6).scale == approx(np.mean([4, 3, 5, 3, 4])), "no whole period has a difference"


def test_a_perfect_forecast_scores_nothing() -> None:
    y = np.array([3.0, 4.0])
    found = score(problem([3.0, 4.0]), Outlook(y, np.tile(y, (19, 1)), 0.5))
    assert found == {
        "MASE": 0, "sMAPE": 0, "CRPS": 0, "held by 90 %": 1, "interval score": 0, "seconds": 0.5
    }  # fmt: skip


def test_pinball_losses_come_close_to_the_crps() -> None:
    """Nineteen quantiles leave out the tails beyond 5 %, where pinball losses are small: 5 % more for a normal."""
    forecast = Normal(np.full(40, 2.0), np.full(40, 4.0))
    y = forecast.quantile((np.arange(40) + 0.5) / 40)[:, 0]
    given = problem(y.tolist())
    found = score(given, Outlook(np.full(40, 2.0), np.asarray(forecast.quantile(PROBABILITIES)), 0.0))
    assert found["CRPS"] * given.scale == approx(1.05 * float(np.mean(forecast.crps(y))), rel=0.01)
    assert found["held by 90 %"] == approx(0.9)


def test_the_interval_score_charges_width_and_twenty_times_what_lies_outside() -> None:
    quantiles = np.linspace(-1.0, 1.0, 19)[:, None]
    given = problem([1.5])
    found = score(given, Outlook(np.zeros(1), quantiles, 0.0))
    assert found["interval score"] * given.scale == approx(2.0 + 20 * 0.5)
    assert found["sMAPE"] == approx(200.0)
    assert found["MASE"] * given.scale == approx(1.5)


def test_the_probabilities_end_at_the_ninety_percent_interval() -> None:
    assert PROBABILITIES[[0, 9, -1]] == approx([0.05, 0.5, 0.95])
    assert ndtri(PROBABILITIES[-1]) == approx(1.6449, abs=1e-4)
