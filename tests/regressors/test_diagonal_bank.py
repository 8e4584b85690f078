"""AutoBypass with diagonal covariances: chosen by the number of features, saved, in panels, and sound after shocks."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pytest import approx

from adabypass import AutoBypass, Forecaster, Panel, from_bytes
from adabypass.errors import ParameterError
from adabypass.state import bank, bank_design
from adabypass.state.bank import MAX_FULL_FEATURES
from adabypass.validation import Floats


def stream(n: int = 80, n_features: int = 5, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    y = 3.0 + X @ rng.normal(size=n_features) + rng.standard_t(4, n)
    y[rng.random(n) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize(("n_features", "is_full"), [(MAX_FULL_FEATURES, True), (MAX_FULL_FEATURES + 1, False)])
def test_the_number_of_features_chooses(n_features: int, is_full: bool) -> None:
    X, y = stream(3, n_features)
    by_run, by_step, by_number = AutoBypass(), AutoBypass(), AutoBypass(n_features=n_features)
    by_run.run(X, y)
    by_step.step(X[0], y[0])
    for model in (by_run, by_step, by_number):
        assert model._spec.is_full is is_full
        assert (model.weights.cov is None) is not is_full
        assert model.weights_var is not None
        assert model.weights_var.shape == (n_features,)


def test_a_model_of_many_features_that_was_saved_goes_on_the_same() -> None:
    X, y = stream(60, MAX_FULL_FEATURES + 10)
    model = AutoBypass()
    model.run(X[:40], y[:40])
    again = from_bytes(model.to_bytes())
    assert isinstance(again, AutoBypass)
    assert again.hyperparameters["covariance"] == "diagonal"
    assert_array_equal(again.run(X[40:], y[40:]).mean, model.run(X[40:], y[40:]).mean)


def test_a_model_that_was_saved_with_a_full_covariance_keeps_it() -> None:
    X, y = stream(30, MAX_FULL_FEATURES + 1)
    model = AutoBypass(covariance="full")
    model.run(X, y)
    again = from_bytes(model.to_bytes())
    assert isinstance(again, AutoBypass)
    assert again._spec.is_full
    assert again.predict(X[0]).mean == model.predict(X[0]).mean


def test_run_equals_the_loop() -> None:
    X, y = stream()
    one, other = AutoBypass(covariance="diagonal"), AutoBypass(covariance="diagonal")
    trace = one.run(X, y)
    means = []
    for x, each in zip(X, y, strict=True):
        means.append(other.predict(x).mean)
        other.update(x, each)
    assert_array_equal(trace.mean, means)
    assert_array_equal(one.__getstate__()["row"], other.__getstate__()["row"])


@pytest.mark.parametrize("n_features", [3, MAX_FULL_FEATURES + 1])
def test_a_panel_equals_single_models(n_features: int) -> None:
    X, y = stream(30, n_features)
    template = AutoBypass(covariance="diagonal") if n_features < MAX_FULL_FEATURES else AutoBypass()
    panel, single = Panel(template), template.copy()
    trace = panel.run(np.stack([y, y]), np.stack([X, X[::-1]]), ids=["a", "b"])
    assert trace is not None
    assert_array_equal(trace.mean[0], single.run(X, y).mean)
    again = from_bytes(panel.to_bytes())
    assert isinstance(again, Panel)
    assert_array_equal(again.predict(["a"], X[:1]).mean, [single.predict(X[0]).mean])


def test_features_that_come_later_start_at_the_prior() -> None:
    X, y = stream(60, 4)
    model = AutoBypass(covariance="diagonal")
    model.run(X[:, :3], y)
    before = model.weights.mean
    model.add_features(1)
    assert model.weights.mean == approx(np.append(before, 0.0))
    model.run(X, y)
    assert model.predict(X[0]).is_known


def test_one_feature_without_an_intercept_has_nothing_off_its_diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same drifts, that is: a diagonal bank has none in differences."""
    monkeypatch.setattr(bank, "filters", lambda intercept, *_: bank_design.filters(intercept, False))
    monkeypatch.setattr(bank, "_constants", bank._constants.__wrapped__)  # what was made of other filters
    X, y = stream(200, 1)
    full, diagonal = (AutoBypass(intercept=False, covariance=each) for each in ("full", "diagonal"))
    assert diagonal.run(X, y).mean == approx(full.run(X, y).mean, rel=1e-6, abs=1e-9, nan_ok=True)


def test_forecasts_are_about_as_wide_as_they_are_wrong() -> None:
    X, y = stream(1500, 120, seed=1)
    trace = AutoBypass(covariance="diagonal").run(X, y)
    low, high = trace.predictive[750:].interval(0.9)
    known = ~np.isnan(y[750:])
    held = np.mean((low <= y[750:])[known] & (y[750:] <= high)[known])
    assert 0.85 < held < 0.95


def test_huge_and_tiny_values_leave_finite_answers() -> None:
    rng = np.random.default_rng(0)
    X, y = stream(400, 6)
    X *= 10.0 ** rng.integers(-300, 300, (400, 6)).astype(float)
    y *= 10.0 ** rng.integers(-300, 300, 400).astype(float)
    model = AutoBypass(covariance="diagonal")
    trace = model.run(np.clip(X, -1e300, 1e300), np.clip(y, -1e300, 1e300))
    assert np.isfinite(trace.mean[2:]).all()
    assert (trace.var[2:] >= 0).all()
    assert model.weights_var is not None
    assert (model.weights_var >= 0).all()
    assert np.isfinite(model.__getstate__()["row"]).all()


def test_what_is_not_possible_is_refused() -> None:
    with pytest.raises(ParameterError, match="'auto', 'full' or 'diagonal'"):
        AutoBypass(covariance="none")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="use covariance='full'"):
        Forecaster(AutoBypass(covariance="diagonal"), lags=1)
    model = AutoBypass(covariance="diagonal")
    model.run(*stream())
    with pytest.raises(ParameterError, match="use covariance='full'"):
        model.linear_mixture()
