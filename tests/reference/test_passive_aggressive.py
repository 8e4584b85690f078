"""Passive-aggressive regression is held to the optimisation problem that it solves."""

import numpy as np
from hypothesis import given
from pytest import approx
from scipy.optimize import minimize_scalar

from adabypass.reference.passive_aggressive import update
from adabypass.state.paper import PassiveAggressiveSpec
from tests.strategies import Stream, powers, streams


@given(streams(max_length=1), powers(-3, 3), powers(-3, 1))
def test_pa_i_minimises_its_objective(stream: Stream, C: float, epsilon: float) -> None:
    """Equation (B.6), by a numerical minimiser along x: the minimum lies there, since other moves only cost."""
    x, y = stream.X[0], float(np.nan_to_num(stream.y[0]))
    before = np.linspace(-1, 1, len(x))
    after = update(before, x, y, PassiveAggressiveSpec("PA-I", C, epsilon))

    def objective(tau: float) -> float:
        w = before + tau * x
        return float(0.5 * tau**2 * (x @ x) + C * max(abs(y - x @ w) - epsilon, 0.0))

    reach = min(C, abs(y - x @ before) / (x @ x)) + 1e-9
    best = minimize_scalar(objective, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-14 * reach})
    tau = float(x @ (after - before) / (x @ x))
    assert objective(tau) <= best.fun * (1 + 1e-9) + 1e-15
    assert after - before == approx(tau * x, rel=1e-9, abs=1e-12)


@given(streams(max_length=1), powers(-3, 3))
def test_pa_moves_to_the_edge_of_the_band_and_no_further(stream: Stream, epsilon: float) -> None:
    x, y = stream.X[0], float(np.nan_to_num(stream.y[0]))
    after = update(np.zeros(len(x)), x, y, PassiveAggressiveSpec("PA", 1.0, epsilon))
    assert abs(y - x @ after) == approx(min(abs(y), epsilon), rel=1e-9, abs=1e-12)


@given(streams(max_length=1), powers(-3, 3), powers(-3, 1))
def test_pa_ii_zeroes_the_gradient_of_its_objective(stream: Stream, C: float, epsilon: float) -> None:
    """PA-II minimises |w - w0|²/2 + C loss²: at its optimum the two forces balance."""
    x, y = stream.X[0], float(np.nan_to_num(stream.y[0]))
    after = update(np.zeros(len(x)), x, y, PassiveAggressiveSpec("PA-II", C, epsilon))
    loss = max(abs(y - x @ after) - epsilon, 0.0)
    assert after == approx(2 * C * loss * np.sign(y) * x, rel=1e-6, abs=1e-9)


def test_nothing_moves_without_features_or_without_y() -> None:
    weights = np.array([1.0, 2.0])
    spec = PassiveAggressiveSpec("PA")
    assert update(weights, np.zeros(2), 5.0, spec) is weights
    assert update(weights, np.ones(2), np.nan, spec) is weights
