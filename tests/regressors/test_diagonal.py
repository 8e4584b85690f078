"""A diagonal covariance is the full one, less what is off its diagonal after each step, for features of any form."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pytest import approx
from scipy import sparse

from adabypass import (
    AdaBypass,
    AutoBypass,
    Bypass,
    EvidenceBypass,
    Forecaster,
    Panel,
    Regressor,
    SequentialKalman,
    from_bytes,
)
from adabypass.errors import NotANumberError, NotFiniteError, NotReadyError, ParameterError, ShapeError
from adabypass.numerics import noise
from adabypass.reference import bypass, evidence, kalman
from adabypass.reference.linear_gaussian import Weights
from adabypass.state.spec import MAX_FULL_FEATURES
from adabypass.validation import Floats
from tests.checks.regressors import hostile_streams

ROUNDING = 1e-9  # a few hundred steps
HOSTILE = hostile_streams()
MODELS: dict[str, Callable[..., Regressor]] = {
    "SequentialKalman": SequentialKalman,
    "adapted": lambda **options: SequentialKalman(adapt_noise=True, **options),
    "Bypass": lambda **options: Bypass(max_sweeps=2, **options),
    "EvidenceBypass": EvidenceBypass,
    "AdaBypass": lambda **options: AdaBypass(max_sweeps=2, aggressiveness=0.1, **options),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def uncorrelated(weights: Weights) -> Weights:
    return Weights(weights.mean, np.diag(weights.cov.diagonal()))


def expected_moments(model: Any, X: Floats, y: Floats) -> Floats:
    """Forecasts of the reference, which forgets what is off the diagonal after each step."""
    spec, moments = model._spec, []
    if isinstance(model, EvidenceBypass):
        weights = evidence.start(spec, X.shape[1])
        for x, each in zip(X, y, strict=True):
            mean, signal_var = evidence.predict(weights, x, spec)
            moments.append((mean, signal_var + spec.noise_scale**2 * noise.var(spec.epsilon)))
            weights = uncorrelated(evidence.update(weights, x, each, spec))
        return np.array(moments)
    rules: Any = kalman if isinstance(model, SequentialKalman) else bypass
    belief = rules.start(spec, X.shape[1])
    for x, each in zip(X, y, strict=True):
        moments.append(rules.predict(belief, x))
        belief = rules.update(belief, x, each, spec)
        belief = belief._replace(weights=uncorrelated(belief.weights))
    return np.array(moments)


def stream(seed: int, n: int = 60, n_features: int = 6, density: float = 0.5) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < density)
    y = X @ np.arange(1.0, n_features + 1.0) + rng.normal(size=n)
    y[rng.random(n) < 0.1] = np.nan
    return X, y


@every_model
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), density=st.sampled_from([0.0, 0.2, 0.6, 1.0]))
def test_it_equals_the_reference(make: Callable[..., Regressor], seed: int, density: float) -> None:
    X, y = stream(seed, density=density)
    model = make(covariance="diagonal")
    trace = model.run(X, y)
    expected = expected_moments(model, X, y)
    assert trace.mean == approx(expected[:, 0], rel=ROUNDING, abs=ROUNDING)
    assert trace.var == approx(expected[:, 1], rel=ROUNDING)


@every_model
def test_it_is_exact_where_features_are_never_together(make: Callable[..., Regressor]) -> None:
    rng = np.random.default_rng(0)
    X = np.eye(4)[rng.integers(0, 4, 200)] * rng.uniform(0.5, 2.0, (200, 1))
    y = X @ [1.0, -2.0, 3.0, 0.0] + rng.normal(size=200)
    full, diagonal = make(), make(covariance="diagonal")
    assert diagonal.run(X, y).var == approx(full.run(X, y).var, rel=ROUNDING)
    assert diagonal.weights.mean == approx(full.weights.mean, rel=ROUNDING)
    assert diagonal.weights_var == approx(full.weights_var, rel=ROUNDING)


@every_model
def test_every_form_of_the_features_gives_the_same_bits(make: Callable[..., Regressor]) -> None:
    X, y = stream(1)
    models = [make(covariance="diagonal", n_features=6) for _ in range(5)]
    models[0].run(X, y)
    models[1].run(sparse.csr_array(X), y)
    rows: Any = sparse.csr_array(X)
    for t, (x, each) in enumerate(zip(X, y, strict=True)):
        models[2].update(x, each)
        models[3].step(rows[[t]], each)
        models[4].predict({i: float(x[i]) for i in np.flatnonzero(x)[::-1]})
        models[4].update({i: float(x[i]) for i in np.flatnonzero(x)[::-1]}, each)
    for model in models[1:]:
        assert model.to_bytes() == models[0].to_bytes()


@every_model
def test_it_is_saved_and_goes_on(make: Callable[..., Regressor]) -> None:
    X, y = stream(2)
    model = make(covariance="diagonal")
    model.run(X[:30], y[:30])
    again, twin = from_bytes(model.to_bytes()), model.copy()
    assert isinstance(again, Regressor)
    assert_array_equal(again.run(X[30:], y[30:]).mean, model.run(X[30:], y[30:]).mean)
    before = twin.weights_var
    twin.add_features(2)
    assert twin.n_features == 8
    assert before is not None
    assert twin.weights_var is not None
    assert_array_equal(twin.weights_var[:6], before)
    assert twin.weights_var[7] == approx(make(covariance="diagonal", n_features=8).weights_var[7])


@pytest.mark.parametrize("name", HOSTILE)
@every_model
def test_any_finite_input_gives_finite_numbers(make: Callable[..., Regressor], name: str) -> None:
    model = make(covariance="diagonal")
    trace = model.run(HOSTILE[name].X, HOSTILE[name].y)
    assert np.isfinite(trace.mean).all()
    assert np.isfinite(trace.var).all()
    assert (trace.var >= 0).all()
    assert np.isfinite(model._runner.row).all()  # type: ignore[union-attr]
    assert model.weights_var is not None
    assert (model.weights_var >= 0).all()


def test_a_large_common_variance_loses_no_digits() -> None:
    X, y = stream(3, n=300)
    y[40:60] *= 1e3  # the drift of the Kalman filter is large here, and all but 0 afterwards
    model = SequentialKalman(covariance="diagonal")
    expected = expected_moments(model, X, y)
    assert model.run(X, y).var == approx(expected[:, 1], rel=1e-6)


def test_a_hundred_thousand_features_take_memory_for_two_numbers_each() -> None:
    model = Bypass(covariance="diagonal", n_features=100_000)
    rng = np.random.default_rng(4)
    for _ in range(50):
        indices = rng.choice(100_000, 100, replace=False)
        model.update(dict(zip(indices.tolist(), rng.normal(size=100).tolist(), strict=True)), 1.0)
    assert len(model.to_bytes()) < 2 * 8 * 100_000 + 4000
    assert model.weights.cov is None


def test_wrong_features_are_refused() -> None:
    model = SequentialKalman(covariance="diagonal", n_features=3)
    for x, error, words in [
        ({3: 1.0}, ShapeError, "has a feature 3"),
        ({-1: 1.0}, NotANumberError, "index is -1"),
        ({0: np.nan}, NotFiniteError, "feature 0 is nan"),
        ({"a": 1.0}, NotANumberError, "index is 'a'"),
        (sparse.csr_array(np.ones((1, 4))), ShapeError, "4 features"),
        (sparse.csr_array(np.ones((2, 3))), ShapeError, "one row"),
        ([1.0, 2.0], ShapeError, "2 features"),
    ]:
        with pytest.raises(error, match=words):
            model.predict(x)
    with pytest.raises(ShapeError, match="each row of X needs its y"):
        model.run(sparse.csr_array(np.ones((2, 3))), [1.0])
    with pytest.raises(NotReadyError, match="n_features"):
        SequentialKalman(covariance="diagonal").predict({0: 1.0})
    for make in (
        lambda: SequentialKalman(covariance="low"),  # type: ignore[arg-type]
        lambda: Forecaster(SequentialKalman(covariance="diagonal"), lags=1),
        lambda: Panel(SequentialKalman(covariance="diagonal")),
    ):
        with pytest.raises(ParameterError, match="covariance"):
            make()


@pytest.mark.parametrize("make", [SequentialKalman, Bypass, AdaBypass, EvidenceBypass, AutoBypass])
@pytest.mark.parametrize("is_trained", [False, True])
def test_a_covariance_that_is_not_full_is_not_carried_many_steps_ahead(make: Any, is_trained: bool) -> None:
    model = make(covariance="diagonal", n_features=3)
    if is_trained:
        model.run(np.eye(3), [1.0, 2.0, 3.0])
    before = model.to_bytes()
    with pytest.raises(ParameterError, match="covariance='full'"):
        model.linear_mixture()
    assert model.to_bytes() == before


@every_model
def test_the_number_of_features_chooses_the_form(make: Callable[..., Regressor]) -> None:
    assert not make(n_features=MAX_FULL_FEATURES)._spec.is_sparse
    assert make(n_features=MAX_FULL_FEATURES + 1)._spec.is_sparse
    assert not make(n_features=MAX_FULL_FEATURES + 1, covariance="full")._spec.is_sparse
    many = np.zeros(MAX_FULL_FEATURES + 1)
    uses: list[Callable[[Regressor], object]] = [
        lambda model: model.predict(many),
        lambda model: model.update(many, 1.0),
        lambda model: model.step(many.tolist(), 1.0),
        lambda model: model.run(np.zeros((2, len(many))), [1.0, 2.0]),
        lambda model: model.run(sparse.csr_array(np.zeros((2, len(many)))), [1.0, 2.0]),
    ]
    for use in uses:
        model = make()
        use(model)
        assert model._spec.is_sparse
        again = from_bytes(model.to_bytes())
        assert isinstance(again, Regressor)
        assert again._spec.is_sparse
    few = make()
    few.run(np.ones((2, 3)), [1.0, 2.0])
    assert few.weights.cov is not None
    explicit = from_bytes(make(covariance="full").to_bytes())
    assert isinstance(explicit, Regressor)
    explicit.predict(many)
    assert not explicit._spec.is_sparse
