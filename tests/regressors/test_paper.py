"""The paper's models say what their variational bound is."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass import AdaBypass, Bypass
from adabypass.errors import ParameterError, ShapeError
from adabypass.inference.reference import bound, govi
from adabypass.model.paper_spec import BypassSpec
from tests.strategies import bypass_cases

every_model = pytest.mark.parametrize("make", [Bypass, AdaBypass])


@settings(max_examples=30, deadline=None)
@given(bypass_cases(adaptive=False, max_features=4, max_length=12), st.booleans())
def test_the_bound_is_that_of_the_reference(case: Any, corrected: bool) -> None:
    stream, given_spec = case
    named = ("E1", "E2", "E3", "E4") if corrected else ()
    settings = {"a": given_spec.a + 10 * stream.X.shape[1], "b": given_spec.b, "epsilon": given_spec.epsilon}
    spec = BypassSpec(**settings, corrections=named)
    belief = govi.start(spec, stream.X.shape[1])
    y = np.nan_to_num(stream.y)
    model = Bypass(**settings, corrections=named, max_sweeps=5, n_features=stream.X.shape[1])
    seen = govi.surprise(belief.weights, stream.X[0], float(y[0]))
    theta = govi.solve(belief.theta, belief.omega, seen, 5, 1e-8, named)
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
