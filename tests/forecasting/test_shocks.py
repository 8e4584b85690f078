"""After a gross error or a change: the automatic forecaster keeps both in mind until later values decide."""

import numpy as np
import pytest

from adabypass import Forecaster

N = 60
SIZE = 12.0
"""Of a shock, in standard deviations of the noise."""


def series(seed: int, season: float) -> np.ndarray:
    """Return a level with noise, and with a season of this amplitude."""
    noise = np.random.default_rng(seed).normal(size=N + 12)
    return 100.0 + season * np.sin(2 * np.pi * np.arange(N + 12) / 12) + noise


def held(y: np.ndarray, n: int) -> tuple[float, float]:
    """Return how many of the values after the first n the 90 % interval holds, and the mean error of the median."""
    forecaster = Forecaster(period=12)
    forecaster.learn(y[:n])
    ahead = forecaster.forecast(12)
    low, high = ahead.interval(0.9)
    after = y[n : n + 12]
    return float(np.mean((low <= after) & (after <= high))), float(np.abs(ahead.median - after).mean())


@pytest.mark.parametrize("season", [0.0, 5.0])
@pytest.mark.parametrize("kind", ["error", "change"])
def test_both_are_possible_after_the_first_value_of_a_shock(kind: str, season: float) -> None:
    found = []
    for seed in range(12):
        y = series(seed, season)
        y[N - 1 : N if kind == "error" else None] += SIZE
        found.append(held(y, N)[0])
    assert np.mean(found) > 0.75


@pytest.mark.parametrize("kind", ["error", "change"])
def test_later_values_decide(kind: str) -> None:
    found = []
    for seed in range(12):
        y = series(seed, 0.0)
        y[N - 3 : N - 2 if kind == "error" else None] += SIZE
        found.append(held(y, N))
    coverage, errors = np.mean(found, axis=0)
    assert coverage > 0.85
    assert errors < 0.2 * SIZE  # nearer to what is true than to what is not


def test_a_series_with_gross_errors_learns_to_expect_them() -> None:
    """The median after a gross error is nearer to the level where the past has had such errors than changes."""
    errors, changes = [], []
    for seed in range(8):
        y = series(seed, 0.0)[:N]
        for at in (20, 32, 44):
            y[at] += SIZE
        y[-1] += SIZE
        errors.append(after_a_shock(y) - 100.0)
        y = series(seed, 0.0)[:N]
        for i, at in enumerate((20, 32, 44)):
            y[at:] += SIZE * (-1) ** i
        level = y[-2]
        y[-1] += SIZE * -1
        changes.append(level - after_a_shock(y))
    assert np.mean(errors) < 0.25 * SIZE
    assert np.mean(changes) > 0.4 * SIZE


def after_a_shock(y: np.ndarray) -> float:
    forecaster = Forecaster(period=12)
    forecaster.learn(y)
    return float(forecaster.forecast(4).median.mean())
