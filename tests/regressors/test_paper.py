"""The paper's models say what their variational bound is."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass import AdaBypass, Bypass
from adabypass.errors import ParameterError, ShapeError
from adabypass.reference import bound, bypass
from adabypass.state.paper import BypassSpec
from tests.strategies import bypass_cases

every_model = pytest.mark.parametrize("make", [Bypass, AdaBypass])


@settings(max_examples=30, deadline=None)
@given(bypass_cases(adaptive=False, max_features=4, max_length=12), st.booleans())
def test_the_bound_is_that_of_the_reference(case: Any, corrected: bool) -> None:
    stream, given_spec = case
    named = ("E1", "E2", "E3", "E4") if corrected else ()
    settings = {"a": given_spec.a + 10 * stream.X.shape[1], "b": given_spec.b, "epsilon": given_spec.epsilon}
    spec = BypassSpec(**settings, corrections=named)
    belief = bypass.start(spec, stream.X.shape[1])
    y = np.nan_to_num(stream.y)
    model = Bypass(**settings, corrections=named, max_sweeps=5, n_features=stream.X.shape[1])
    seen = bypass.sweep_inputs(belief.weights, stream.X[0], float(y[0]))
    theta = bypass.solve(belief.theta, belief.omega, seen, 5, 1e-8, named)
    expected = bound.lower_bound(bound.factors(theta, belief.omega, seen, named), belief.omega, seen)
    assert model.lower_bound(stream.X[0], y[0]) == approx(expected, rel=1e-9, abs=1e-9)


@every_model
def test_the_bound_learns_nothing(make: Any) -> None:
    model = make()
    model.run([[1.0, 0.5], [1.0, 2.0]], [1.0, 3.0])
    before = model.to_bytes()
    assert model.lower_bound([1.0, 1.0], 2.0) < 0.0
    assert model.to_bytes() == before


def test_exact_updates_have_a_higher_bound() -> None:
    rng = np.random.default_rng(0)
    paper, exact = (Bypass(a=1e6, b=1e3, corrections=named) for named in ((), ("E1", "E2", "E3", "E4")))
    closer = []
    for _ in range(40):
        x, y = rng.normal(size=2), 2.0 * float(rng.normal())
        for model in (paper, exact):
            model.update(x, y)
        x, y = rng.normal(size=2), 2.0 * float(rng.normal())
        closer.append(exact.lower_bound(x, y) - paper.lower_bound(x, y))
    assert np.mean(closer) > 0.2


@every_model
def test_what_has_no_bound_is_refused(make: Any) -> None:
    model = make(n_features=2)
    with pytest.raises(ParameterError, match="y is nan"):
        model.lower_bound([1.0, 2.0], np.nan)
    with pytest.raises(ShapeError, match="2 features"):
        model.lower_bound([1.0], 1.0)
    with pytest.raises(ParameterError, match="needs a full covariance"):
        make(n_features=2, covariance="diagonal").lower_bound([1.0, 2.0], 1.0)


@pytest.mark.parametrize("corrections", [["E1"], ["E2"], ["E3"], ["E4"], ["E1", "E2", "E3", "E4"]])
@every_model
def test_corrections_of_a_diagonal_covariance_are_exact_where_features_are_never_together(
    make: Any, corrections: list[str]
) -> None:
    rng = np.random.default_rng(0)
    X = np.eye(5)[rng.integers(0, 5, 300)] * rng.uniform(0.5, 2.0, (300, 1))
    y = X @ np.arange(5.0) + rng.normal(size=300)
    full, diagonal = (make(corrections=corrections, covariance=form).run(X, y) for form in ("full", "diagonal"))
    assert diagonal.mean == approx(full.mean, rel=1e-9, abs=1e-9)
    assert diagonal.var == approx(full.var, rel=1e-9)
    assert not np.allclose(full.mean, make().run(X, y).mean, rtol=1e-7)


@pytest.mark.parametrize("n_features", [1, 7, 80])
@pytest.mark.parametrize("corrections", [["E3"], ["E5"], ["E1", "E2", "E3", "E4", "E5", "E8"]])
def test_a_run_of_a_corrected_model_is_its_loop(n_features: int, corrections: list[str]) -> None:
    """Also where updates of a large covariance wait for the next product with it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, n_features))
    y = X.sum(axis=1) + rng.normal(size=30)
    y[::7] = np.nan
    whole, steps = (AdaBypass(corrections=corrections, aggressiveness=0.01) for _ in range(2))
    whole.run(X, y)
    for x, each in zip(X, y, strict=True):
        steps.update(x, each)
    assert whole.to_bytes() == steps.to_bytes()
