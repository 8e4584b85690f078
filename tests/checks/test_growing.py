"""Every regressor learns, and can be given more features later."""

import numpy as np
import pytest
from pytest import approx

from adabypass import AutoBypass, Bypass, EvidenceBypass, PassiveAggressive
from adabypass.errors import NotReadyError, ParameterError, ShapeError
from tests.checks.regressors import Make, every_regressor, every_sensible_regressor, row_of, trained


@every_sensible_regressor
def test_it_learns(make: Make) -> None:
    """A linear truth without drift: the forecasts end up far better than the mean of y."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = X @ [3.0, -2.0, 1.0] + 0.1 * rng.normal(size=2000)
    scores = make().run(X, y).scores(skip=1000)
    assert scores["rmse"] < 0.5 < y.std()


@every_regressor
def test_a_grown_model_keeps_what_it_learned(make: Make) -> None:
    model = trained(make)
    mean, cov = model.weights
    parameters, forecast = dict(model.parameters), model.predict([1.0, 2.0, 3.0])
    model.add_features(2)
    assert model.n_features == 5
    assert model.parameters == parameters
    assert model.weights.mean == approx([*mean, 0.0, 0.0])
    assert model.predict([1.0, 2.0, 3.0, 0.0, 0.0]).mean == approx(forecast.mean)
    if cov is not None:
        assert model.weights.cov is not None
        assert model.weights.cov[:3, :3] == approx(cov)
        assert not model.weights.cov[3:, :3].any()


@every_sensible_regressor
def test_a_grown_model_learns_its_new_weights(make: Make) -> None:
    model = trained(make)
    model.add_features(2)
    X = np.random.default_rng(0).normal(size=(1000, 5))
    model.run(X, X @ [1.0, 2.0, 3.0, 4.0, 5.0])
    assert model.weights.mean == approx([1.0, 2.0, 3.0, 4.0, 5.0], abs=1.0)  # BYPASS ignores errors up to 1.25


@every_regressor
def test_growing_a_fresh_model_equals_one_built_with_as_many_features(make: Make) -> None:
    grown, wide = make(), make()
    grown.predict([0.0, 0.0])
    grown.add_features(3)
    wide.predict(np.zeros(5))
    assert row_of(grown) == row_of(wide)


@every_regressor
def test_growing_needs_features_to_add_to_and_a_count(make: Make) -> None:
    with pytest.raises(NotReadyError):
        make().add_features(1)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ParameterError):
            trained(make).add_features(wrong)  # type: ignore[arg-type]


def test_a_model_given_its_features_is_ready_at_once() -> None:
    model = Bypass(n_features=2)
    assert model.weights.mean == approx([0.0, 0.0])
    model.update([1.0, 1.0], 1.0)
    model.reset()
    assert model.n_features == 2
    with pytest.raises(ShapeError):
        model.predict([1.0])


def test_a_feature_that_was_0_has_its_first_value_for_a_unit_and_an_unknown_one_for_a_centre() -> None:
    """One that was 0 moves with its first value; one of which nothing is known has not moved yet."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = 5.0 + X @ [1.0, 2.0] + rng.normal(size=100)
    models = [AutoBypass(), AutoBypass()]
    for model, were_zero in zip(models, (True, False), strict=True):
        model.run(X, y)
        model.add_features(1, were_zero=were_zero)
    narrow, wide = (model.predict([0.0, 0.0, 0.0]).sd for model in models)
    assert narrow == approx(wide)
    assert models[0].predict([0.0, 0.0, 300.0]).sd > 2 * narrow
    assert models[1].predict([0.0, 0.0, 300.0]).sd == approx(wide)


@pytest.mark.parametrize("make", [PassiveAggressive, lambda: EvidenceBypass(drift=0.0)])
def test_without_drift_a_grown_model_equals_one_that_saw_zeros(make: Make) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=60)
    X[:30, 2] = 0.0
    fixed, grown = make(), make()
    fixed.run(X, y)
    grown.run(X[:30, :2], y[:30])
    grown.add_features(1, were_zero=True)
    grown.run(X[30:], y[30:])
    assert grown.weights.mean == approx(fixed.weights.mean, rel=1e-9)


@every_regressor
def test_whether_features_were_0_is_yes_or_no(make: Make) -> None:
    with pytest.raises(ParameterError, match="were_zero"):
        trained(make).add_features(1, were_zero="yes")  # type: ignore[arg-type]
