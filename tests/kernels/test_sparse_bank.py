"""AutoBypass with sparse features: the kernel equals the reference, in which all slopes move at every step."""

import numpy as np
import pytest
from pytest import approx
from scipy import sparse

from adabypass import AutoBypass
from adabypass.errors import NotANumberError, NotReadyError, ParameterError, ShapeError
from adabypass.reference import bank as reference
from adabypass.reference import sparse_bank
from adabypass.state.bank import AutoBypassSpec
from adabypass.validation import Floats
from tests.checks.regressors import assert_sound, hostile_streams

RELATIVE = 1e-6


def stream(n_rows: int, n_features: int, seed: int, share: float = 0.4) -> tuple[Floats, Floats]:
    """Features of very different sizes and frequencies, some of which come late; a jump, an outlier, missing values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(1.0, 1.0, size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < share)
    X *= 10.0 ** rng.integers(-3, 4, size=n_features)
    X[: n_rows // 2, -1] = 0.0
    y = 100.0 + X @ (rng.normal(size=n_features) / np.maximum(np.abs(X).max(axis=0), 1.0)) + rng.normal(size=n_rows)
    y[2 * n_rows // 3 :] += 4.0
    y[n_rows // 3] += 30.0
    y[[5, n_rows // 2]] = np.nan
    return X, y


def assert_equals_reference(model: AutoBypass, X: Floats, y: Floats) -> sparse_bank.SparseState:
    spec, state = model._spec, sparse_bank.nothing_seen(X.shape[1])
    for x, target in zip(X, y, strict=True):
        parts = model.predict(x).components
        if state.bank is not None:
            ahead = reference.forecast(sparse_bank.opened(state, x, spec), x, spec)
            mean = np.array([each.mean for each in ahead])
            units, shares = state.bank.units, state.bank.shares
            expected = units.y_center + units.y_scale * float(shares @ mean)
            assert float(parts["weight"] @ parts["mean"]) == approx(
                expected, rel=RELATIVE, abs=RELATIVE * units.y_scale
            )
        score = model.run(x[None], [target]).log_score[0]
        state, log_density = sparse_bank.update(state, x, float(target), spec)
        assert score == approx(log_density, rel=RELATIVE, abs=RELATIVE, nan_ok=True)
    return state


def assert_has_weights(model: AutoBypass, bank: reference.Bank | None, relative: float) -> None:
    """Means and variances of the slopes are those of the reference; of features that never came, nothing is known."""
    assert bank is not None
    first, shares = int(model.has_intercept), bank.walk_shares
    means = np.array([walk.weights.mean[first:] for walk in bank.walks])
    known = bank.units.x_scale > 0
    unit = bank.units.y_scale / bank.units.x_scale[known]
    assert model.weights.mean[known] == approx((shares @ means)[known] * unit, rel=relative, abs=1e-9)
    apart = np.array([walk.weights.cov.diagonal()[first:] for walk in bank.walks]) + (means - shares @ means) ** 2
    assert model.weights_var is not None
    assert model.weights_var[known] == approx((shares @ apart)[known] * unit**2, rel=relative)
    assert np.all(model.weights.mean[~known] == 0.0)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n_features", "seed"), [(1, 0), (3, 1), (8, 2)])
def test_kernel_equals_reference(n_features: int, seed: int, intercept: bool) -> None:
    X, y = stream(90, n_features, seed)
    model = AutoBypass(sparse=True, intercept=intercept)
    bank = assert_equals_reference(model, X, y).bank
    assert_has_weights(model, bank, relative=1e-5)


@pytest.mark.parametrize("period", [2, 7])
def test_noise_with_a_season_equals_reference(period: int) -> None:
    X, y = stream(80, 3, seed=period)
    bank = assert_equals_reference(AutoBypass(sparse=True, period=period), X, y).bank
    assert bank is not None
    assert bank.season is not None
    assert bank.season.step == 80 % period


@pytest.mark.parametrize("constant", [0.0, 5.0])
def test_a_constant_start_equals_reference(constant: float) -> None:
    X, y = stream(60, 3, seed=5)
    y[:30] = constant
    assert_equals_reference(AutoBypass(sparse=True), X, y)


def test_walks_that_give_up_take_over_all_slopes() -> None:
    """Also of features that are 0 at that moment; and sums of drift that are settled on the way lose nothing."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 6)) * (rng.random((400, 6)) < 0.3)
    y = np.where(np.arange(400) < 200, X @ [1.0, 2.0, 0.0, -1.0, 3.0, 1.0], X @ [-4.0, 5.0, 1.0, 3.0, -3.0, 0.0])
    model, state = AutoBypass(sparse=True), sparse_bank.nothing_seen(6)
    y = y + 0.05 * rng.normal(size=400)
    restarts = 0
    for x, target in zip(X, y, strict=True):
        before = None if state.bank is None else [walk.underperformance_count for walk in state.bank.walks]
        model.update(x, target)
        state, _ = sparse_bank.update(state, x, float(target), model._spec)
        if state.bank is not None and before is not None:
            after = [walk.underperformance_count for walk in state.bank.walks]
            restarts += sum(
                a == 0 and b == AutoBypassSpec.max_underperformance_count - 1
                for a, b in zip(after, before, strict=True)
            )
    assert restarts > 3
    assert state.bank is not None
    means = np.array([walk.weights.mean[1:] for walk in state.bank.walks])
    row, spec = model.__getstate__()["row"], model._spec
    assert approx(means, rel=1e-4, abs=1e-6) == spec.view(row, "slope_mean", 6).T


def test_dicts_sparse_rows_and_arrays_are_the_same() -> None:
    X, y = stream(100, 5, seed=1)
    whole, rows = AutoBypass(), AutoBypass()
    dicts = AutoBypass(sparse=True, n_features=5)
    trace = whole.run(sparse.csr_array(X), y)
    for t in range(len(y)):
        rows.step(sparse.csr_array(X[[t]]), y[t])
        forecast = dicts.step({int(i): X[t, i] for i in np.flatnonzero(X[t])}, y[t])
        assert forecast.mean == approx(trace.mean[t], rel=1e-15, nan_ok=True)
    assert np.array_equal(whole.__getstate__()["row"], rows.__getstate__()["row"])
    assert np.array_equal(whole.__getstate__()["row"], dicts.__getstate__()["row"])
    assert whole.hyperparameters["sparse"]
    again = AutoBypass.from_bytes(whole.to_bytes())
    assert again.predict({1: 2.0}).mean == whole.predict({1: 2.0}).mean


def test_units_of_features_and_of_y_make_no_difference() -> None:
    X, y = stream(150, 4, seed=2)
    sizes = np.array([1e-8, 3.0, 1e5, 20.0])
    plain = AutoBypass(sparse=True).run(X, y)
    other = AutoBypass(sparse=True).run(X * sizes, 1000.0 * y)
    assert other.mean[3:] == approx(1000.0 * plain.mean[3:], rel=1e-9)
    assert other.log_score[3:] + np.log(1000.0) == approx(plain.log_score[3:], rel=1e-7, abs=1e-7, nan_ok=True)


def test_new_features_may_come_later() -> None:
    X, y = stream(120, 4, seed=4)
    wide = AutoBypass(sparse=True, n_features=4)
    grown = AutoBypass(sparse=True, n_features=3)
    wide.run(np.column_stack([X[:60, :3], np.zeros(60)]), y[:60])
    grown.run(X[:60, :3], y[:60])
    grown.add_features(1)
    assert np.array_equal(wide.run(X[60:], y[60:]).mean, grown.run(X[60:], y[60:]).mean)


def test_a_model_that_knows_the_number_of_features_alone_takes_sparse_ones() -> None:
    X, y = stream(60, 3, seed=6)
    expected = AutoBypass(sparse=True).run(X, y).mean
    assert np.array_equal(AutoBypass(n_features=3).run(sparse.csr_array(X), y).mean, expected, equal_nan=True)
    model = AutoBypass(n_features=3)
    model.step({0: 1.0}, 2.0)
    assert model.hyperparameters["sparse"]
    dense = AutoBypass(n_features=3)
    dense.run(X, y)
    with pytest.raises(NotANumberError, match=r"and for AutoBypass\(sparse=True\)"):
        dense.step({0: 1.0}, 2.0)


def test_hundred_thousand_features_take_memory_for_each_and_time_for_those_given() -> None:
    rng = np.random.default_rng(0)
    model = AutoBypass(sparse=True, n_features=100_000)
    weights = {
        int(i): float(w) for i, w in zip(rng.choice(100_000, 50, replace=False), rng.normal(size=50), strict=True)
    }
    errors = []
    for _ in range(600):
        x = {int(i): float(rng.normal()) for i in rng.choice(list(weights), 5, replace=False)}
        y = 7.0 + sum(weights[i] * value for i, value in x.items()) + 0.1 * rng.normal()
        errors.append(abs(model.step(x, y).mean - y))
    assert np.mean(errors[-100:]) < 0.2
    assert len(model.to_bytes()) < 100_000 * 8 * 20
    assert model.intercept == approx(7.0, abs=0.1)


@pytest.mark.parametrize("value", [1e-300, 1e300, -1e300])
def test_any_finite_features_give_finite_forecasts(value: float) -> None:
    model, rng = AutoBypass(sparse=True, n_features=3), np.random.default_rng(0)
    for t in range(60):
        forecast = model.step({t % 3: value if t % 7 == 0 else rng.normal()}, rng.normal())
        assert t < 2 or np.isfinite([forecast.mean, forecast.var]).all()
    assert np.isfinite(model.weights.mean).all()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", hostile_streams())
def test_hostile_streams_stay_finite(name: str, intercept: bool) -> None:
    X, y = hostile_streams()[name]
    model = AutoBypass(sparse=True, intercept=intercept)
    trace = model.run(X, y)
    assert_sound(model)
    known = ~np.isnan(trace.mean)
    assert np.isfinite(trace.mean[known]).all()
    assert (trace.predictive.var[known] >= 0).all()
    assert np.isfinite(model.intercept)
    assert model.weights_var is not None
    assert (model.weights_var >= 0).all()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ParameterError, match="sparse is 3, but must be True or False"):
        AutoBypass(sparse=3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="sparse=True needs a diagonal one"):
        AutoBypass(sparse=True, covariance="full")
    with pytest.raises(NotReadyError, match="give the model n_features"):
        AutoBypass(sparse=True).step({1: 1.0}, 1.0)
    with pytest.raises(ShapeError, match="x has a feature 7, but this model has 2"):
        AutoBypass(sparse=True, n_features=2).step({7: 1.0}, 1.0)
