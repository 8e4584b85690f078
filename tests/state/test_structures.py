"""What the structures of an automatic forecaster assume of a season."""

import numpy as np
import pytest

from adabypass import Forecaster
from adabypass.state.structure_row import StructureSpec
from adabypass.state.structures import SMOOTH_HARMONICS, harmonics, season_waves, structures

PERIODS = [(), (2,), (4,), (12,), (24,), (4, 20), (7, 365.25), (24, 168), (5, 11.5), (7, 30.4, 365.25)]


@pytest.mark.parametrize("periods", PERIODS)
def test_a_season_has_all_waves_the_slow_ones_or_those_of_the_shortest_period(periods: tuple[float, ...]) -> None:
    waves = harmonics(periods)
    kinds = {kind: {waves[i] for i in season_waves(kind, periods)} for kind in ("none", "full", "smooth", "short")}
    assert kinds["none"] == set()
    assert kinds["full"] == set(waves)
    assert kinds["smooth"] == {wave for wave in waves if wave.order <= SMOOTH_HARMONICS}
    assert kinds["short"] == ({wave for wave in waves if wave.period == min(periods)} if len(periods) > 1 else set())
    of_levels = {each.season for each in structures(periods) if each.slope == "none" and each.gain > 0.0}
    assert {frozenset(kinds[kind]) for kind in of_levels} == {frozenset(each) for each in kinds.values()}
    assert len(of_levels) == len({frozenset(each) for each in kinds.values()})


@pytest.mark.parametrize("periods", PERIODS)
def test_the_weights_of_a_season_are_those_of_its_waves(periods: tuple[float, ...]) -> None:
    spec = StructureSpec(periods)
    owner = np.array([i for i, wave in enumerate(spec.harmonics) for _ in range(1 + wave.has_sine)], dtype=int)
    for structure in spec.structures:
        assert set(owner[spec.season(structure)]) == set(season_waves(structure.season, periods))


def test_a_year_that_is_not_there_costs_little_beside_a_week_that_is() -> None:
    rng = np.random.default_rng(0)
    week = np.array([0.9, 0.85, 0.9, 1.0, 1.2, 1.5, 0.7])
    errors: dict[int | tuple[float, ...], list[float]] = {7: [], (7, 365.25): []}
    for _ in range(20):
        level = 50 * np.exp(rng.normal(0, 0.01, 228).cumsum())
        y = rng.poisson(level * np.resize(week, 228)).astype(float)
        for period, found in errors.items():
            model = Forecaster(period=period)
            model.run(y[:200])
            found.append(np.abs(model.forecast(28).median - y[200:]).mean())
    assert np.mean(errors[7, 365.25]) < 1.06 * np.mean(errors[7])
