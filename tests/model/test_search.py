"""Quantiles of any mixture: they rise, and have their probability, also between modes and far from all of them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass.model.component import Target
from adabypass.model.mixtures import Mixture
from adabypass.model.noise import Family
from adabypass.model.student_mixture import StudentMixture

LEVELS = np.array([1e-9, 1e-4, 0.05, 0.25, 0.499999, 0.5, 0.500001, 0.75, 0.88, 0.89, 0.95, 1 - 1e-4, 1 - 1e-9])
NEAR = 1e-7  # of a probability: the last step of a search all but cubes a miss of 1e-4
CENTERS = st.sampled_from([0.0, 1.0, -3.0, 40.0, 1e3, -1e9])
CENTERS_OF = {
    Target.IDENTITY: CENTERS,
    Target.LOG: st.sampled_from([0.0, 5.0, -30.0]),
    Target.ROOT: st.sampled_from([1.0, -3.0, 40.0]),  # at 0 its density is infinite
}
SIZES = st.sampled_from([1e-9, 1e-2, 1.0, 7.0, 1e4])


def check_quantiles(forecast: Any) -> None:
    quantiles = np.asarray(forecast.quantile(LEVELS))
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles) >= -NEAR * (quantiles[9] - quantiles[3])).all()
    step = 1e-12 * np.abs(quantiles) + 1e-300  # a component may be narrower than the distance of two numbers
    below, above = np.asarray(forecast.cdf(quantiles - step)), np.asarray(forecast.cdf(quantiles + step))
    assert (below <= LEVELS + NEAR).all()
    assert (above >= LEVELS - NEAR).all()


def weights(draw: st.DrawFn, n: int) -> Any:
    found = np.array([draw(st.sampled_from([1.0, 0.3, 1e-3, 1e-8])) for _ in range(n)])
    return found / found.sum()


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    n = draw(st.integers(1, 5))
    targets = [draw(st.sampled_from(list(Target))) for _ in range(n)]
    centers = [draw(CENTERS_OF[each]) for each in targets]
    sizes = [draw(SIZES) if each is not Target.LOG else draw(st.sampled_from([1e-9, 0.1, 3.0])) for each in targets]
    return Mixture.of(
        weight=weights(draw, n),
        mean=centers,
        signal_var=np.square(sizes),
        noise_scale=[draw(st.sampled_from([1.0, 1e-3])) * size for size in sizes],
        epsilon=[draw(st.sampled_from([0.0, 1.25])) for _ in range(n)],
        family=[draw(st.sampled_from([Family.GAUSSIAN, Family.INSENSITIVE])) for _ in range(n)],
        target=targets,
    )


@st.composite
def student_mixtures(draw: st.DrawFn) -> StudentMixture:
    n = draw(st.integers(1, 5))
    is_log = [draw(st.booleans()) for _ in range(n)]
    centers = [draw(st.sampled_from([0.0, 5.0, -30.0])) if each else draw(CENTERS) for each in is_log]
    sizes = [draw(st.sampled_from([1e-9, 0.1, 3.0])) if each else draw(SIZES) for each in is_log]
    dof = [draw(st.sampled_from([2.5, 5.0, 30.0])) for _ in range(n)]
    return StudentMixture(weights(draw, n), centers, sizes, dof, is_log)


@settings(max_examples=300, deadline=None)
@given(mixtures())
def test_quantiles_of_mixtures_rise_and_have_their_probability(forecast: Mixture) -> None:
    check_quantiles(forecast)


@settings(max_examples=150, deadline=None)
@given(student_mixtures())
def test_quantiles_of_student_mixtures_rise_and_have_their_probability(forecast: StudentMixture) -> None:
    quantiles = np.asarray(forecast.quantile(LEVELS))
    if np.abs(quantiles).max() < 1e290:  # beyond it the log of a t distribution has quantiles that no number holds
        check_quantiles(forecast)


@pytest.mark.parametrize("gap", [10.0, 40.0, 1e3, 1e9])
@pytest.mark.parametrize("weight", [0.5, 0.1, 1e-6])
def test_a_quantile_in_a_gap_between_two_modes_lies_between_them(gap: float, weight: float) -> None:
    forecast = Mixture.of(weight=[1 - weight, weight], mean=[0.0, gap], signal_var=[1.0, 1.0])
    for level in (1 - weight - 1e-9, 1 - weight, 1 - weight + 1e-9):
        assert -9.0 < forecast.quantile(level) < gap + 9.0
    check_quantiles(forecast)
