"""ADA-BYPASS's gradients where the covariance is diagonal: those of the reference, and of the full one where exact."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pytest import approx

from adabypass import AdaBypass, Bypass
from adabypass.reference import bypass
from adabypass.state.paper import AdaBypassSpec
from adabypass.state.spec import Covariance
from adabypass.validation import Floats
from tests.checks.regressors import hostile_streams
from tests.regressors.test_diagonal import stream, uncorrelated
from tests.strategies import powers

ROUNDING = 1e-6  # of some hundred steps, which the adapted hyperparameters amplify
FORMS: tuple[Covariance, ...] = ("full", "diagonal")
HOSTILE = hostile_streams()


class Learned(NamedTuple):
    """What a model knows at the end of a stream."""

    omega: Floats
    mean: Floats
    mean_gradient: Floats
    var_gradient: Floats


def learned(model: AdaBypass) -> Learned:
    """Read a model's row."""
    runner: Any = model._runner
    layout, row, n = model._spec.layout, runner.row, runner.n_features
    psi, zeta = (layout.view(row, name, n_features=n).copy() for name in ("mean_gradient", "var_gradient"))
    omega = np.array([model.parameters[name] for name in ("a", "b", "epsilon")])
    return Learned(omega, model.weights.mean, psi, zeta)


def expected(spec: AdaBypassSpec, X: Floats, y: Floats) -> Learned:
    """Run the reference, whose covariance becomes diagonal after each step."""
    belief = bypass.start(spec, X.shape[1])
    for x, each in zip(X, y, strict=True):
        belief = bypass.update(belief, x, each, spec)
        belief = belief._replace(weights=uncorrelated(belief.weights))
    psi, G = belief.gradient
    return Learned(np.array(belief.omega), belief.weights.mean, psi, G.diagonal())


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), density=st.sampled_from([0.2, 0.6, 1.0]), n_features=st.integers(1, 9),
    a=powers(1.5, 4), b=powers(-2, 2), epsilon=powers(-1, 1), aggressiveness=powers(-4, -1),
)  # fmt: skip
def test_they_equal_the_reference(seed: int, density: float, n_features: int, **settings: Any) -> None:
    X, y = stream(seed, n=70, n_features=n_features, density=density)
    model = AdaBypass(covariance="diagonal", max_sweeps=2, **settings)
    model.run(X, y)
    spec: Any = model._spec
    truth, found = expected(spec, X, y), learned(model)
    assert found.omega == approx(truth.omega, rel=ROUNDING)
    assert found.mean == approx(truth.mean, rel=ROUNDING, abs=ROUNDING)
    assert found.mean_gradient == approx(truth.mean_gradient, rel=ROUNDING, abs=ROUNDING)
    assert found.var_gradient == approx(truth.var_gradient, rel=ROUNDING, abs=ROUNDING)


def never_together(n_features: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X = np.eye(n_features)[rng.integers(0, n_features, 400)] * rng.uniform(0.5, 2.0, (400, 1))
    return X, X @ np.arange(n_features, dtype=float) + rng.normal(size=400)


@pytest.mark.parametrize("n_features", [1, 7])
@pytest.mark.parametrize("aggressiveness", [1e-3, 0.1])
def test_they_are_exact_where_features_are_never_together(n_features: int, aggressiveness: float) -> None:
    X, y = never_together(n_features)
    full, model = (AdaBypass(aggressiveness=aggressiveness, covariance=each) for each in FORMS)
    truth, trace = full.run(X, y), model.run(X, y)
    assert trace.mean == approx(truth.mean, rel=1e-9, abs=1e-9)
    assert trace.var == approx(truth.var, rel=1e-9)
    row: Any = full._runner.row  # type: ignore[union-attr]
    G = full._spec.layout.matrix(row, "cov_gradient", n_features=n_features)
    found = learned(model)
    assert found.var_gradient == approx(G.diagonal(), rel=1e-9, abs=1e-150)
    psi = full._spec.layout.view(row, "mean_gradient", n_features=n_features)
    assert found.mean_gradient == approx(psi, rel=1e-9, abs=1e-12)
    assert abs(full.parameters["b"] - 1.0) > 0.01 * aggressiveness  # the hyperparameters have moved at all


def test_the_first_two_observations_are_exact() -> None:
    """The covariance is diagonal before the first, and its gradient the identity: both move the mean exactly."""
    X = np.random.default_rng(5).normal(size=(2, 4))
    full, model = (AdaBypass(aggressiveness=0.1, covariance=each) for each in FORMS)
    full.run(X[:1], [2.0])
    model.run(X[:1], [2.0])
    psi = full._spec.layout.view(full._runner.row, "mean_gradient", n_features=4)  # type: ignore[union-attr]
    assert learned(model).mean_gradient == approx(psi, rel=1e-12)
    full.update(X[1], -1.0)
    model.update(X[1], -1.0)
    assert learned(model).omega == approx([full.parameters[name] for name in ("a", "b", "epsilon")], rel=1e-12)


def test_without_aggressiveness_it_is_bypass() -> None:
    X, y = stream(6, n=200)
    plain, model = Bypass(covariance="diagonal"), AdaBypass(covariance="diagonal", aggressiveness=0.0)
    assert model.run(X, y).mean == approx(plain.run(X, y).mean, rel=1e-9, abs=1e-9)
    assert model.weights_var == approx(plain.weights_var, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), correlation=st.sampled_from([0.0, 0.9, 0.999]))
def test_the_diagonal_falls_from_one_and_stays_non_negative(seed: int, correlation: float) -> None:
    rng = np.random.default_rng(seed)
    X = correlation * rng.normal(size=(60, 1)) + rng.normal(size=(60, 5)) * (1.0 - correlation)
    model, before = AdaBypass(covariance="diagonal"), np.ones(5)
    for x in X:
        model.update(x, x.sum() + rng.normal())
        after = learned(model).var_gradient.copy()
        assert (after >= 0.0).all()
        assert (after <= before).all()
        before = after


@pytest.mark.parametrize("name", HOSTILE)
def test_any_finite_input_gives_finite_numbers(name: str) -> None:
    for aggressiveness in (1e-3, 10.0):
        model = AdaBypass(covariance="diagonal", aggressiveness=aggressiveness)
        trace = model.run(HOSTILE[name].X, HOSTILE[name].y)
        assert np.isfinite(trace.mean).all()
        assert np.isfinite(trace.var).all()
        assert (trace.var >= 0).all()
        assert np.isfinite(model._runner.row).all()  # type: ignore[union-attr]
        assert model.weights_var is not None
        assert (model.weights_var >= 0).all()


def test_new_features_begin_as_in_a_new_model() -> None:
    model = AdaBypass(covariance="diagonal")
    model.run(*stream(7))
    before = learned(model)
    model.add_features(2)
    after = learned(model)
    assert after.mean_gradient[:6] == approx(before.mean_gradient, rel=1e-12)
    assert_array_equal(after.mean_gradient[6:], [0.0, 0.0])
    assert_array_equal(after.var_gradient, [*before.var_gradient, 1.0, 1.0])


def test_a_full_covariance_keeps_its_row() -> None:
    """A row that was saved before there was a choice is read as it was."""
    for options in ({}, {"covariance": "full"}):
        spec = AdaBypassSpec(**options)  # type: ignore[arg-type]
        assert [field.name for field in spec.layout.fields][-4:] == ["mean", "mean_gradient", "cov", "cov_gradient"]
    assert "covariance" not in AdaBypassSpec().hyperparameters()


def test_a_hundred_thousand_features_take_memory_for_a_few_numbers_each() -> None:
    rng = np.random.default_rng(4)
    model = AdaBypass(covariance="diagonal", n_features=100_000)
    for _ in range(50):
        indices = rng.choice(100_000, 100, replace=False)
        model.update(dict(zip(indices.tolist(), rng.normal(size=100).tolist(), strict=True)), 1.0)
    assert len(model.to_bytes()) < 4 * 8 * 100_000 + 100_000
    assert model.weights.cov is None
