"""The structures' filters against batch Gaussian conditioning and quadrature."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import invgamma, norm

from adabypass.reference import structure as reference
from adabypass.state import structures as design
from adabypass.state.structures import Structure, harmonics, structures

ROUNDING: dict[str, Any] = dict(rtol=1e-8, atol=1e-9)  # some hundred double-precision operations
PERIODS = (4,)
LINEAR = [each for each in structures(PERIODS) if not (each.is_log or each.lags or each.shock != "follows")]
WAVES = harmonics(PERIODS)


def batch(structure: Structure, x: np.ndarray, n_season: int, n_exog: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the joint covariance of all values, and that of the last state with them, step after step in full."""
    transition, steps, noise_var = reference.dynamics(structure, n_season, n_exog)
    start = reference.prior(structure, n_season, n_exog)
    n, size = len(x), len(start.mean)
    states = np.zeros((n * size, n * size))  # covariance of the states at all times
    cov = start.cov
    for t in range(n):
        cov = transition @ cov @ transition.T + steps
        here = cov
        for later in range(t, n):
            block = slice(later * size, (later + 1) * size), slice(t * size, (t + 1) * size)
            states[block] = here
            states[block[::-1]] = here.T
            here = transition @ here
    rows = np.zeros((n, n * size))
    for t in range(n):
        rows[t, t * size : (t + 1) * size] = x[t]
    return rows @ states @ rows.T + noise_var * np.eye(n), states[-size:] @ rows.T


@pytest.mark.parametrize("structure", LINEAR, ids=lambda each: f"{each.kind} {each.gain}")
def test_the_filter_equals_batch_conditioning(structure: Structure) -> None:
    rng = np.random.default_rng(1)
    exog, n_season = rng.normal(size=(12, 1)), 3
    season = np.array([reference.waves(WAVES, t) for t in range(12)])
    x = np.array([reference.regressors(structure, season[t], exog[t], np.empty(0)) for t in range(12)])
    z = rng.normal(size=12).cumsum()
    transition, steps, noise_var = reference.dynamics(structure, n_season, 1)
    belief = reference.prior(structure, n_season, 1)
    for t in range(12):
        belief = reference.advance(belief, transition, steps)
        belief = reference.update(belief, x[t], reference.forecast(belief, x[t], 0.0, noise_var), z[t])
    joint, crossed = batch(structure, x, n_season, 1)
    np.testing.assert_allclose(belief.mean, crossed @ np.linalg.solve(joint, z), **ROUNDING)


@pytest.mark.parametrize("structure", LINEAR, ids=lambda each: f"{each.kind} {each.gain}")
def test_many_steps_ahead_equal_batch_conditioning(structure: Structure) -> None:
    rng = np.random.default_rng(2)
    n, horizon = 9, 6
    season = np.array([reference.waves(WAVES, t) for t in range(n + horizon)])
    exog = np.zeros((n + horizon, 0))
    x = np.array([reference.regressors(structure, each, exog[0], np.empty(0)) for each in season])
    z = rng.normal(size=n).cumsum()
    transition, steps, noise_var = reference.dynamics(structure, 3, 0)
    belief = reference.prior(structure, 3, 0)
    for t in range(n):
        belief = reference.advance(belief, transition, steps)
        belief = reference.update(belief, x[t], reference.forecast(belief, x[t], 0.0, noise_var), z[t])
    mean, var = reference.ahead(structure, belief, season[n:], exog[n:], np.empty(0))
    joint, _ = batch(structure, x, 3, 0)
    gain = np.linalg.solve(joint[:n, :n], joint[:n, n:]).T
    np.testing.assert_allclose(mean, gain @ z, **ROUNDING)
    np.testing.assert_allclose(var, np.diag(joint[n:, n:] - gain @ joint[:n, n:]), **ROUNDING)


def test_the_density_is_a_normal_s_mixed_over_the_unknown_scale() -> None:
    belief = reference.Belief(np.zeros(1), np.eye(1), square_sum=3.7, dof=5.2)
    expected = reference.Expected(0.4, 1.8)
    scale = invgamma(belief.dof / 2, scale=belief.square_sum / 2)
    for z in (-3.0, 0.4, 2.5):
        mixed, _ = quad(lambda v, z=z: norm.pdf(z, 0.4, np.sqrt(v * 1.8)) * scale.pdf(v), 0, np.inf)
        assert np.exp(reference.log_density(belief, expected, z)) == pytest.approx(mixed, rel=1e-7)


@pytest.mark.parametrize("difference", [False, True])
def test_a_regression_with_known_weights_has_the_variance_of_its_impulse_response(difference: bool) -> None:
    structure = Structure(False, lags=(1, 2), lag_prior=(0.5, 0.2), difference=difference)
    belief = reference.prior(structure, 0, 0)._replace(cov=np.zeros((3, 3)))
    transition, _, _ = reference.dynamics(structure, 0, 0)
    assert (transition == np.eye(3)).all()
    response, total, variances = [1.0], [], []
    for _ in range(5):
        response.append(0.5 * response[-1] + 0.2 * (response[-2] if len(response) > 1 else 0.0))
    for step in range(6):
        total.append(sum(response[: step + 1]) if difference else response[step])
        variances.append(float(np.sum(np.square(total))))
    steps = dict(LAG_LEVEL_VAR=0.0, LAG_WEIGHT_VAR=0.0)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in steps.items():
            patch.setattr(f"adabypass.reference.structure.design.{name}", value)
        _, var = reference.ahead(structure, belief, np.empty((6, 0)), np.empty((6, 0)), np.array([1.0, 0.5, 2.0]))
    np.testing.assert_allclose(var, variances, rtol=1e-12)


def moved(errors: list[float], shock: str, gain: float = 1.0, dof: float = 20.0) -> tuple[list[float], list[int]]:
    """Return the levels of a structure after each value, from a level of 0, and its counts of gross errors."""
    structure = Structure(False, gain=gain, shock=shock)
    transition, steps, noise_var = reference.dynamics(structure, 0, 0)
    belief = following = reference.Belief(np.zeros(1), np.ones((1, 1)), dof, dof)
    levels, counts, n_shocks = [], [], 0
    for value in errors:
        belief, following = (reference.advance(each, transition, steps) for each in (belief, following))
        expected = [reference.forecast(each, np.ones(1), 0.0, noise_var) for each in (belief, following)]
        following = reference.update(following, np.ones(1), expected[1], value)
        if shock == "follows":
            belief = following
        else:
            belief, n_shocks = reference.update_with_shocks(
                structure, belief, following, n_shocks, np.ones(1), expected[0], value
            )
        levels.append(float(belief.mean[0]))
        counts.append(n_shocks)
    return levels, counts


def test_one_gross_error_moves_no_robust_structure() -> None:
    levels, counts = moved([0.1, -0.2, 50.0, 0.1], "ignores")
    assert levels[2] == levels[1]
    assert abs(levels[3]) < 0.5
    assert counts == [0, 0, 1, 0]


def test_a_jumping_structure_moves_by_all_of_a_gross_error() -> None:
    levels, counts = moved([0.1, -0.2, 50.0, 50.2], "jumps", gain=0.05)
    assert levels[2] == pytest.approx(50.0)
    assert levels[3] == pytest.approx(50.0, abs=0.5)
    assert counts == [0, 0, 1, 0]


@pytest.mark.parametrize(("shock", "values", "level"), [("ignores", [50.0, 51.0], 51.0), ("jumps", [50.0, 0.2], 0.1)])
def test_after_a_second_gross_error_it_believes_what_its_following_twin_does(
    shock: str, values: list[float], level: float
) -> None:
    before = [0.1] * 30
    gain = {"ignores": 1.0, "jumps": 0.01}[shock]
    levels, counts = moved([*before, *values], shock, gain)
    assert levels[-1] == pytest.approx(level, abs=3.0)
    assert levels[-1] == moved([*before, *values], "follows", gain)[0][-1]
    assert counts[-2:] == [1, 0]


@pytest.mark.parametrize("shock", ["ignores", "jumps"])
def test_no_error_is_gross_while_the_scale_is_hardly_known(shock: str) -> None:
    assert moved([50.0], shock, dof=design.MIN_SHOCK_DOF - 0.1)[1] == [0]
    assert moved([50.0], shock, dof=design.MIN_SHOCK_DOF)[1] == [1]


def test_the_likeliest_structure_that_doubts_says_whether_a_value_is_doubted() -> None:
    all_three = [Structure(False, gain=0.2, shock=shock) for shock in ("follows", "ignores", "jumps")]
    assert reference.is_doubted(all_three, np.array([0.0, -1.0, -2.0]), np.array([0, 1, 0]))
    assert not reference.is_doubted(all_three, np.array([0.0, -2.0, -1.0]), np.array([0, 1, 0]))
    assert reference.is_doubted(all_three, np.array([0.0, -2.0, np.nan]), np.array([0, 1, 0]))
    assert not reference.is_doubted(all_three[:1], np.zeros(1), np.zeros(1, int))
