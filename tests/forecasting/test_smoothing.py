"""The smoother beside the joint Gaussian of all states and values, and its last state beside the forecaster's."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass import Forecaster
from adabypass.forecasting.components import WAVES, States, waves_at
from adabypass.forecasting.smoothing import in_structure_units, smooth, zero_shares
from adabypass.kernels.pool import PoolRunner
from adabypass.reference import structure as reference
from adabypass.state.structures import Structure
from adabypass.validation import Floats

ROUNDING: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-7}
"""A recursion of some dozen steps beside the solution of one system of equations, with priors of variance 100."""


def learned(y: Floats, exog: Floats, period: int) -> tuple[Forecaster, States]:
    forecaster = Forecaster(period=period)
    forecaster.learn(y, exog)
    runner = forecaster._runner
    assert isinstance(runner, PoolRunner)
    return forecaster, States.of(runner.structures, 1)


def batch(structure: Structure, z: Floats, season: Floats, exog: Floats) -> Floats:
    """Return the expected states given all values, (n, n_states), from the joint distribution of all of them."""
    transition, step_cov, noise_var = reference.dynamics(structure, season.shape[1], exog.shape[1])
    prior = reference.prior(structure, season.shape[1], exog.shape[1])
    n, size = len(z), len(prior.mean)
    cov, covs = prior.cov, np.zeros((n, size, n, size))
    for t in range(n):
        cov = transition @ cov @ transition.T + step_cov
        ahead = cov
        for later in range(t, n):
            covs[later, :, t], covs[t, :, later] = ahead, ahead.T
            ahead = transition @ ahead
    x = np.array([reference.regressors(structure, season[t], exog[t], np.empty(0)) for t in range(n)])
    seen = ~np.isnan(z)
    cross = np.einsum("tiuj,uj->tiu", covs, x)[:, :, seen]
    of_values = np.einsum("tiu,ti->tu", cross, x)[seen] + noise_var * np.eye(seen.sum())
    found: Floats = cross @ np.linalg.solve(of_values, z[seen])
    return found


@given(st.integers(0, 2**32 - 1), st.integers(14, 30))
def test_states_are_those_of_the_joint_gaussian(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    y, exog = rng.normal(size=n).cumsum(), rng.normal(size=(n, 1))
    y[rng.uniform(size=n) < 0.2] = np.nan
    y[0], y[1] = 0.3, -0.4
    _, states = learned(y, exog, 4)
    spec = states.spec
    season = waves_at(spec, np.arange(float(n)))
    known = (exog - spec.view(_row(y, exog), "exog_center")) / spec.view(_row(y, exog), "exog_unit")
    x = np.zeros((n, WAVES + spec.n_season + 1))
    x[:, 0], x[:, WAVES:-1], x[:, -1:] = 1.0, season, known
    z = in_structure_units(states, y)
    found = smooth(states, z, x)
    for i in rng.choice(np.flatnonzero(~states.is_log), size=3, replace=False).tolist():
        structure = spec.structures[states.at[i]]
        width = spec.n_waves(structure)
        expected = batch(structure, z[i], season[:, :width], known)
        has_slope = structure.slope != "none"
        places = [0, *([1] if has_slope else []), *range(WAVES, WAVES + width), x.shape[1] - 1]
        np.testing.assert_allclose(found[i][:, places], expected, **ROUNDING)


def _row(y: Floats, exog: Floats) -> Floats:
    forecaster = Forecaster(period=4)
    forecaster.learn(y, exog)
    row: Floats = forecaster._runner.structures.row
    return row


@pytest.mark.parametrize("is_positive", [False, True])
def test_the_last_state_is_what_the_forecaster_has_learned(is_positive: bool) -> None:
    rng = np.random.default_rng(3)
    n = 150
    exog = rng.normal(size=(n, 2))
    y = 3.0 * np.sin(np.arange(n)) + exog @ [1.0, 2.0] + rng.normal(size=n)
    y = np.exp(y / 10.0 + 3.0) if is_positive else y
    y[[20, 21, 90]] = np.nan
    forecaster, states = learned(y, exog, 7)
    spec, row = states.spec, forecaster._runner.structures.row
    x = np.zeros((n, states.mean.shape[1]))
    x[:, 0], x[:, WAVES:-2] = 1.0, waves_at(spec, np.arange(float(n)))
    x[:, -2:] = (exog - spec.view(row, "exog_center")) / spec.view(row, "exog_unit")
    awake = is_positive | ~states.is_log
    last = smooth(states, in_structure_units(states, y), x)[:, -1]
    last[:, 1] *= states.damping  # a state of the forecaster has the slope of the next step
    np.testing.assert_allclose(last[awake], states.mean[awake], **ROUNDING)


def test_zeros_are_counted_as_the_forecaster_counts_them() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.uniform(size=90) < 0.6, 0.0, rng.poisson(3.0, size=90))
    y[40:44] = np.nan
    found = zero_shares(y)
    forecaster = Forecaster(period=[])
    for t, value in enumerate(y):
        forecaster.update(value)
        assert found[t] == pytest.approx(forecaster._runner.structures.zero_share, rel=1e-12)
