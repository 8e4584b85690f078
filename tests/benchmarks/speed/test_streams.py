"""A forecaster that learns is told from one that does nothing."""

import numpy as np
import pytest
from benchmarks.speed.streams import accuracy, drifting

from adabypass import AutoBypass


@pytest.mark.parametrize("n_features", [1, 5, 20])
def test_a_model_that_learns_is_seen_to_learn(n_features: int) -> None:
    stream = drifting(500, n_features)
    found = accuracy(AutoBypass().run(*stream).mean, stream)
    assert found.learned is True
    assert found.mae < 0.6 * found.mae_of_mean


@pytest.mark.parametrize("n_features", [1, 5, 200])
def test_one_that_does_nothing_is_seen_not_to_learn(n_features: int) -> None:
    stream = drifting(500, n_features)
    assert accuracy(np.zeros(500), stream).learned is False


def test_forecasts_that_are_not_finite_are_not_learning() -> None:
    stream = drifting(100, 1)
    assert accuracy(np.full(100, np.nan), stream).learned is False


def test_a_stream_too_short_to_learn_from_is_not_judged() -> None:
    stream = drifting(100, 200)
    assert accuracy(np.zeros(100), stream).learned is None


def test_the_number_of_forecasts_must_be_that_of_the_observations() -> None:
    with pytest.raises(ValueError, match="99 forecasts came for 100 observations"):
        accuracy(np.zeros(99), drifting(100, 1))


def test_streams_of_any_width_are_equally_hard() -> None:
    spreads = [drifting(3000, d).y.std() for d in (1, 5, 50, 200)]
    assert max(spreads) / min(spreads) < 1.25
