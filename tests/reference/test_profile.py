"""Profiles against what is known of them in closed form."""

import numpy as np
import pytest

from adabypass.reference import profile as reference
from adabypass.state.structures import Profile

SINGLE, DOUBLE = Profile((4,), (0.1,)), Profile((3, 6), (0.2, 0.3))


def learned(profile: Profile, values: np.ndarray) -> reference.Shape:
    shape = reference.flat(profile)
    for t, z in enumerate(values):
        shape = reference.update(profile, shape, t, z)
    return shape


@pytest.mark.parametrize("profile", [SINGLE, DOUBLE])
def test_a_cycle_that_repeats_is_learned(profile: Profile) -> None:
    cycle = np.random.default_rng(0).normal(size=profile.length)
    shape = learned(profile, np.tile(cycle, 80))
    found = [reference.value(shape, 80 * profile.length + h) for h in range(profile.length)]
    np.testing.assert_allclose(found, cycle, atol=1e-6)


def test_the_first_periods_are_averaged_position_by_position() -> None:
    values = np.random.default_rng(1).normal(size=(1, 4))
    shape = learned(SINGLE, values.ravel())
    np.testing.assert_array_equal(shape.tables[0], values[0])


def test_a_position_follows_its_own_values_by_the_rate_and_all_of_them_the_level() -> None:
    cycle = np.random.default_rng(2).normal(size=4)
    before = learned(SINGLE, np.tile(cycle, 50))
    error = 0.5  # of a scale that has shrunk to nothing: learned as no more than five of them
    scale = np.sqrt(before.square_sum / before.dof)
    after = reference.update(SINGLE, before, 200, cycle[0] + error)
    moved = min(error, 5.0 * scale)
    assert after.level - before.level == pytest.approx(moved / 4)
    assert after.tables[0][0] - before.tables[0][0] == pytest.approx(0.1 * moved * 3 / 4)
    np.testing.assert_array_equal(after.tables[0][1:], before.tables[0][1:])


def test_one_gross_error_hardly_moves_a_profile() -> None:
    rng = np.random.default_rng(3)
    before = learned(SINGLE, np.tile([1.0, 2.0, 3.0, 4.0], 50) + rng.normal(size=200))
    after = reference.update(SINGLE, before, 200, 1e9)
    assert abs(reference.value(after, 204) - reference.value(before, 204)) < 5.0


def test_a_level_that_moves_on_is_followed() -> None:
    rng = np.random.default_rng(4)
    values = np.tile([1.0, 2.0, 3.0, 4.0], 60) + 0.1 * rng.normal(size=240)
    values[120:] += 30.0
    shape = learned(SINGLE, values)
    found = np.array([reference.value(shape, 240 + h) for h in range(4)])
    np.testing.assert_allclose(found, [31.0, 32.0, 33.0, 34.0], atol=0.3)
