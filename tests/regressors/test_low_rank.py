"""A covariance that is diagonal less one of low rank equals its reference, and the full one while nothing is lost."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pytest import approx
from scipy import sparse

from adabypass import Bypass, EvidenceBypass, Forecaster, Panel, Regressor, SequentialKalman, from_bytes
from adabypass.errors import ParameterError, StateError
from adabypass.inference.reference import evidence, govi, kalman, low_rank
from adabypass.model import noise
from adabypass.model.covariance import MOST_FULL
from adabypass.validation import Floats
from tests.checks.regressors import hostile_streams
from tests.regressors.test_diagonal import MODELS, every_model, stream

ROUNDING = 1e-7  # of some hundred steps, with eigenvectors in between
HOSTILE = hostile_streams()
every_model_without_gradients = pytest.mark.parametrize(
    "make",
    [make for name, make in MODELS.items() if name != "AdaBypass"],
    ids=[name for name in MODELS if name != "AdaBypass"],
)


def low(make: Callable[..., Regressor], rank: int = 2, **options: Any) -> Regressor:
    return make(covariance="low-rank", rank=rank, **options)


def expected_moments(model: Any, X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Forecasts of the reference, whose covariance is made short now and then; and the variances at the end."""
    spec, moments = model._spec, []
    rules: Any = {"SequentialKalman": kalman, "EvidenceBypass": evidence}.get(type(model).__name__, govi)
    belief = rules.start(spec, X.shape[1])
    is_evidence = isinstance(model, EvidenceBypass)
    buffer = low_rank.start((belief if is_evidence else belief.weights).cov)
    for x, each in zip(X, y, strict=True):
        if is_evidence:
            mean, signal_var = evidence.predict(belief, x, spec)
            moments.append((mean, signal_var + spec.noise_scale**2 * noise.var(spec.epsilon)))
            drift_var = spec.drift * spec.noise_scale**2
        else:
            moments.append(rules.predict(belief, x))
        before = belief
        belief = rules.update(belief, x, each, spec)
        if not is_evidence:
            is_learned = not np.isnan(each)
            newest = belief if is_learned else before
            drift_var = newest.drift_var if rules is kalman else 1 / newest.theta.drift_prec
        if np.isnan(each) or not x.any():
            buffer = low_rank.pass_time(buffer, drift_var)
            continue
        cov, buffer = low_rank.absorb((belief if is_evidence else belief.weights).cov, buffer, x, drift_var, spec.rank)
        short = {"cov": cov} if is_evidence else {"weights": belief.weights._replace(cov=cov)}
        belief = belief._replace(**short)
    return np.array(moments), (belief if is_evidence else belief.weights).cov.diagonal()


@every_model
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), density=st.sampled_from([0.0, 0.3, 1.0]), rank=st.integers(1, 4),
    n_features=st.integers(1, 9),
)  # fmt: skip
def test_it_equals_the_reference(
    make: Callable[..., Regressor], seed: int, density: float, rank: int, n_features: int
) -> None:
    X, y = stream(seed, n=90, n_features=n_features, density=density)
    model = low(make, rank)
    trace = model.run(X, y)
    expected, var = expected_moments(model, X, y)
    assert trace.mean == approx(expected[:, 0], rel=ROUNDING, abs=ROUNDING)
    assert trace.var == approx(expected[:, 1], rel=ROUNDING)
    assert model.weights_var == approx(var, rel=ROUNDING, abs=ROUNDING)


@every_model_without_gradients
def test_it_equals_the_full_covariance_until_it_is_made_short(make: Callable[..., Regressor]) -> None:
    X, y = stream(0, n=40, n_features=12)
    full, short = make(), low(make, rank=10)
    assert short.run(X[:39], y[:39]).var == approx(full.run(X[:39], y[:39]).var, rel=ROUNDING)
    assert short.weights.mean == approx(full.weights.mean, rel=ROUNDING, abs=ROUNDING)
    assert short.weights_var == approx(full.weights_var, rel=ROUNDING)


@every_model_without_gradients
def test_a_rank_of_as_many_as_features_loses_nothing(make: Callable[..., Regressor]) -> None:
    X, y = stream(1, n=300, n_features=5)
    full, short = make(), low(make, rank=5)
    assert short.run(X, y).var == approx(full.run(X, y).var, rel=1e-5)
    assert short.weights.mean == approx(full.weights.mean, rel=1e-5, abs=1e-6)


@every_model
def test_every_form_of_the_features_gives_the_same_bits(make: Callable[..., Regressor]) -> None:
    X, y = stream(1)
    models = [low(make, n_features=6) for _ in range(4)]
    models[0].run(X, y)
    rows: Any = sparse.csr_array(X)
    models[1].run(rows, y)
    for x, each in zip(X, y, strict=True):
        models[2].update(x, each)
        models[3].predict({i: float(x[i]) for i in np.flatnonzero(x)[::-1]})
        models[3].step({i: float(x[i]) for i in np.flatnonzero(x)[::-1]}, each)
    for model in models[1:]:
        assert model.to_bytes() == models[0].to_bytes()


@every_model
def test_it_is_saved_and_goes_on(make: Callable[..., Regressor]) -> None:
    X, y = stream(2)
    model = low(make)
    model.run(X[:33], y[:33])
    again, twin = from_bytes(model.to_bytes()), model.copy()
    assert isinstance(again, Regressor)
    assert_array_equal(again.run(X[33:], y[33:]).mean, model.run(X[33:], y[33:]).mean)
    before = twin.weights_var
    twin.add_features(2)
    assert twin.weights_var is not None
    assert twin.weights_var[:6] == approx(before, rel=1e-12)
    assert twin.weights_var[7] == approx(make(covariance="diagonal", n_features=8).weights_var[7])  # type: ignore[index]


@pytest.mark.parametrize("name", HOSTILE)
@every_model
def test_any_finite_input_gives_finite_numbers(make: Callable[..., Regressor], name: str) -> None:
    model = low(make)
    trace = model.run(HOSTILE[name].X, HOSTILE[name].y)
    assert np.isfinite(trace.mean).all()
    assert np.isfinite(trace.var).all()
    assert (trace.var >= 0).all()
    assert np.isfinite(model._cell.row).all()  # type: ignore[union-attr]
    assert model.weights_var is not None
    assert (model.weights_var >= 0).all()


def test_correlated_features_are_forecast_better_than_with_a_diagonal() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3)) @ rng.normal(size=(3, 40)) + 0.3 * rng.normal(size=(800, 40))
    y = X @ rng.normal(size=40) + rng.normal(size=800)
    scores = {form: EvidenceBypass(covariance=form).run(X, y).scores() for form in ("full", "low-rank", "diagonal")}
    gap = {form: scores["full"]["log_likelihood"] - scores[form]["log_likelihood"] for form in ("low-rank", "diagonal")}
    assert gap["low-rank"] < gap["diagonal"] / 2


def test_memory_is_linear_in_the_features() -> None:
    sizes = [len(SequentialKalman(covariance="low-rank", n_features=n).to_bytes()) for n in (10_000, 20_000, 40_000)]
    assert sizes[2] - sizes[1] == approx(2 * (sizes[1] - sizes[0]), rel=0.01)
    assert sizes[2] < 8 * 40_000 * 15


@pytest.mark.parametrize("field", ["n_columns", "begin", "indices"])
def test_a_row_that_points_outside_is_refused(field: str) -> None:
    model = low(MODELS["Bypass"])
    model.run(*stream(3, n=5))
    spec, cell = model._spec, model._cell
    assert cell is not None
    for wrong in (1e9, -1.0, 0.5, np.nan):
        row = cell.row.copy()
        spec.layout.view(row, field, n_features=6)[0] = wrong
        with pytest.raises(StateError, match="row"):
            spec.check_row(row, 6)


def test_wrong_settings_are_refused() -> None:
    for make in (
        lambda: SequentialKalman(covariance="low-rank", rank=0),
        lambda: SequentialKalman(covariance="low-rank", rank=2.5),  # type: ignore[arg-type]
        lambda: Bypass(rank=65),
        lambda: Forecaster(SequentialKalman(covariance="low-rank"), lags=1),
        lambda: Panel(SequentialKalman(covariance="low-rank")),
    ):
        with pytest.raises((ParameterError, ValueError, TypeError), match=r"rank|covariance"):
            make()
    assert SequentialKalman(covariance="low-rank", rank=3).hyperparameters["rank"] == 3
    assert "rank" not in SequentialKalman().hyperparameters


@every_model
def test_the_number_of_features_chooses_the_form(make: Callable[..., Regressor]) -> None:
    assert not make(n_features=MOST_FULL)._spec.is_sparse
    assert make(n_features=MOST_FULL + 1)._spec.is_low_rank
    assert not make(n_features=MOST_FULL + 1, covariance="full")._spec.is_sparse
    many = np.zeros(MOST_FULL + 1)
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
        assert model._spec.is_low_rank
        again = from_bytes(model.to_bytes())
        assert isinstance(again, Regressor)
        assert again._spec.is_low_rank
    few = make()
    few.run(np.ones((2, 3)), [1.0, 2.0])
    assert few.weights.cov is not None
    explicit = from_bytes(make(covariance="full").to_bytes())
    assert isinstance(explicit, Regressor)
    explicit.predict(many)
    assert not explicit._spec.is_sparse
