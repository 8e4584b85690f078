"""The period of a series that comes without times."""

import numpy as np
import pytest

from adabypass.forecasting.periods import find_period


@pytest.mark.parametrize("period", [4, 7, 12, 24])
def test_a_period_is_found_beside_a_trend(period: int) -> None:
    rng = np.random.default_rng(period)
    t = np.arange(10 * period)
    pattern = rng.normal(size=period)
    assert find_period(0.5 * t + 3.0 * pattern[t % period] + 0.3 * rng.normal(size=len(t))) == period


@pytest.mark.parametrize("seed", range(10))
def test_noise_and_random_walks_have_none(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(size=200)
    assert find_period(noise) is None
    assert find_period(noise.cumsum()) is None


def test_what_is_too_short_or_constant_has_none() -> None:
    assert find_period(np.array([1.0, 2.0, 1.0, 2.0])) is None
    assert find_period(np.full(50, 3.0)) is None
    assert find_period(np.full(50, np.nan)) is None
    assert find_period(np.tile([1e300, -1e300, 0.0], 20)) == 3
