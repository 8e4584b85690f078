"""The bank's kernel obeys the reference, and finds everything where the spec says it is."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from adabypass import AutoBypass
from adabypass.distributions.component import COMPONENT, Components
from adabypass.kernels.bank import places
from adabypass.numerics.noise import Family
from adabypass.reference import bank as reference
from adabypass.reference import warm_up
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.layout import pack
from adabypass.state.spec import Covariance
from adabypass.validation import Floats
from tests.mixtures import split_flexible

RELATIVE = 1e-7  # the noise's scale feeds back: rounding grows a little with every step
EXPLAINED = 1e-9  # what weights explain exactly has a variance of 0 but for rounding, for which the kernel makes room
NARROW = 1e-10  # noise of this scale, in units of y's, is narrower than that room


def stream(n: int, n_features: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)).cumsum(axis=0) * 10.0 ** rng.uniform(-2, 2, n_features) + 5
    y = X @ rng.normal(size=n_features) + rng.standard_t(3, n) * 10.0 ** rng.uniform(-1, 1)
    y[25:] = np.where(rng.random(n - 25) < 0.2, np.nan, y[25:])
    y[40] *= 30
    return X, y


def field(model: AutoBypass, name: str) -> Floats:
    assert model.n_features is not None
    return model._spec.walks_of(model.__getstate__()["row"], name, model.n_features)


def expected_parts(bank: reference.Bank, x: Floats, spec: AutoBypassSpec) -> Components:
    """Return the components of the reference's forecast, in the user's units."""
    forecasts, units = np.array(reference.forecast(bank, x, spec)), bank.units
    parts = np.zeros(spec.n_filters, COMPONENT)
    parts["weight"] = bank.shares
    parts["mean"] = units.y_center + units.y_scale * forecasts[:, 0]
    parts["signal_var"] = units.y_scale**2 * forecasts[:, 1]
    parts["noise_scale"] = units.y_scale * forecasts[:, 2]
    parts["family"] = [setting.family for setting in spec.filters()]
    return split_flexible(parts, bank.normal_shares)


def assert_follows_reference(model: AutoBypass, X: Floats, y: Floats, relative: float = RELATIVE) -> warm_up.State:
    """Forecast and learn with both, from the first observation on."""
    spec, state = model._spec, warm_up.nothing_seen(X.shape[1])
    for x, target in zip(X, y, strict=True):
        parts = model.predict(x).components
        if state.bank is not None:
            expected, units = expected_parts(state.bank, x, spec), state.bank.units
            expected["mean"] += warm_up.shift(state._replace(n_steps=state.n_steps + 1), spec)
            assert parts["weight"] == approx(expected["weight"], rel=10 * relative, abs=1e-9)
            assert parts["mean"] == approx(expected["mean"], rel=relative, abs=relative * units.y_scale)
            assert parts["signal_var"] == approx(expected["signal_var"], rel=relative, abs=EXPLAINED * units.y_scale**2)
            assert parts["noise_scale"] == approx(expected["noise_scale"], rel=relative, abs=NARROW * units.y_scale)
            assert np.array_equal(parts["family"], expected["family"])
        elif (start := warm_up.start_forecast(state, spec)) is not None:
            parts = parts[parts["weight"] > 0]
            assert parts["weight"] == approx(start.shares, rel=1e-13)
            assert parts["mean"] == approx(start.mean)
            assert parts["noise_scale"] == approx(start.noise_scales)
            assert np.all(parts["family"] == Family.MODERATE)
        else:
            assert np.isnan(parts["mean"]).all()
            assert np.isinf(parts["noise_scale"]).all()
        score = model.run(x[None], [target]).log_score[0]
        state, log_density = warm_up.update(state, x, float(target), spec)
        assert score == approx(log_density, rel=relative, abs=relative, nan_ok=True)
    return state


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n_features", "seed"), [(1, 0), (2, 1), (5, 2)])
def test_bank_kernel_equals_reference(n_features: int, seed: int, intercept: bool) -> None:
    X, y = stream(70, n_features, seed)
    model = AutoBypass(intercept=intercept, transform="none")
    bank = assert_follows_reference(model, X, y).bank
    assert bank is not None
    for mean, cov, each in zip(field(model, "walk_mean"), field(model, "walk_cov"), bank.walks, strict=True):
        assert mean == approx(each.weights.mean, rel=1e-6, abs=1e-7)
        assert cov == approx(pack(each.weights.cov), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n_features", "seed"), [(1, 3), (4, 4)])
def test_diagonal_covariances_equal_reference(n_features: int, seed: int, intercept: bool) -> None:
    X, y = stream(70, n_features, seed)
    X[50] = X[0]
    model = AutoBypass(intercept=intercept, covariance="diagonal")
    bank = assert_follows_reference(model, X, y).bank
    assert bank is not None
    for mean, var, each in zip(field(model, "walk_mean"), field(model, "walk_cov"), bank.walks, strict=True):
        assert mean == approx(each.weights.mean, rel=1e-6, abs=1e-7)
        assert var == approx(each.weights.cov.diagonal(), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("period", "seed"), [(2, 0), (5, 1), (300, 2)])
def test_noise_with_a_season_equals_reference(period: int, seed: int) -> None:
    """Missing values before and after the warm-up: the season goes on."""
    X, y = stream(90, 2, seed)
    y[[0, 3, 4]] = np.nan
    y += np.where(np.arange(90) % period == 0, 5.0, 0.1) * np.random.default_rng(seed).normal(size=90)
    model = AutoBypass._of_spec(AutoBypassSpec(period=period, transform="none"))
    bank = assert_follows_reference(model, X, y).bank
    assert bank is not None
    assert bank.season is not None
    row, spec = model.__getstate__()["row"], model._spec
    assert spec.layout.view(row, "season_log", **spec.dims(2)) == approx(bank.season.logs, rel=1e-6, abs=1e-9)
    waves = [wave.value for wave in bank.season.waves]
    assert spec.layout.view(row, "season_wave", **spec.dims(2)) == approx(waves, rel=1e-6, abs=1e-9)
    assert spec.layout.scalar(row, "season_step") == bank.season.step == 90 % period
    assert spec.layout.view(row, "normal_share", **spec.dims(2)) == approx(bank.normal_shares, rel=1e-6)


@pytest.mark.parametrize(("period", "seed"), [(3, 0), (12, 1)])
def test_a_season_of_the_mean_equals_reference(period: int, seed: int) -> None:
    X, y = stream(120, 2, seed)
    y += 30.0 * np.sin(2 * np.pi * np.arange(120) / period)
    model = AutoBypass._of_spec(AutoBypassSpec(period=period, transform="none"))
    state = assert_follows_reference(model, X, y)
    assert state.shifts is not None
    assert state.shifts.share > 0.1
    row, spec = model.__getstate__()["row"], model._spec
    assert spec.view(row, "season_shift", 2) == approx(state.shifts.values, rel=1e-6, abs=1e-9)
    assert spec.view(row, "season_shift_var", 2) == approx(state.shifts.variances, rel=1e-9)
    sums = [state.shifts.values.sum(), np.sum(state.shifts.values**2), state.shifts.variances.sum()]
    expected = [state.shifts.share, state.shifts.noise, *sums]
    assert spec.view(row, "season_sums", 2) == approx(expected, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("constant", [0.0, 7.0, -1e-6])
def test_a_constant_start_equals_reference(constant: float, intercept: bool) -> None:
    rng = np.random.default_rng(0)
    y = np.concatenate([np.full(30, constant), constant + 1e-3 * rng.normal(size=30)])
    y[[3, 40]] = np.nan
    X = np.column_stack([rng.normal(size=60), np.where(np.arange(60) < 50, 3.0, rng.normal(size=60))])
    assert_follows_reference(
        AutoBypass(intercept=intercept, transform="none"), X, y, relative=1e-4
    )  # log densities of -1e9 have few digits left


def test_values_that_repeat_for_long_equal_reference() -> None:
    """Equations (H.42) and (H.43)."""
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(size=30), np.full(AutoBypassSpec.max_repeats + 20, 0.25), rng.normal(size=20)])
    assert_follows_reference(
        AutoBypass(transform="none"), np.ones((len(y), 1)), y, relative=1e-5
    )  # its noise is that of rounding
    line = np.arange(1000.0, 1100.0)
    assert_follows_reference(AutoBypass(transform="none"), line[:-1, None], line[1:], relative=1e-5)


def test_after_a_jump_failing_walks_go_on_from_the_best() -> None:
    """Equation (H.46): the same walks give up at the same moments, in kernel and reference."""
    spec = AutoBypassSpec(transform="none")
    rng = np.random.default_rng(5)
    X = rng.normal(size=(160, 2))
    y = np.where(np.arange(160) < 100, X @ [1.0, 2.0], X @ [-4.0, 5.0]) + 0.3 * rng.normal(size=160)
    model, state = AutoBypass(transform="none"), warm_up.nothing_seen(2)
    most_underperformance = most_outliers = 0
    for x, target in zip(X, y, strict=True):
        model.update(x, target)
        state, _ = warm_up.update(state, x, float(target), spec)
        if state.bank is not None:
            underperformance_count = [each.underperformance_count for each in state.bank.walks]
            assert field(model, "walk_underperformance_count") == approx(underperformance_count)
            most_underperformance = max(most_underperformance, *underperformance_count)
            consecutive_outliers = [each.consecutive_outliers for each in state.bank.walks]
            assert field(model, "walk_consecutive_outliers") == approx(consecutive_outliers)
            most_outliers = max(most_outliers, *consecutive_outliers)
    assert most_underperformance == spec.max_underperformance_count - 1  # so that some have given up
    assert most_outliers >= spec.max_consecutive_outliers  # and some have taken a jump for granted
    assert state.bank is not None
    assert field(model, "walk_mean")[0] == approx(state.bank.walks[0].weights.mean, rel=1e-5, abs=1e-6)


@given(
    intercept=st.booleans(),
    covariance=st.sampled_from(["full", "diagonal"]),
    seasonal_mean=st.booleans(),
    period=st.integers(1, 50),
    n_features=st.integers(1, 30),
)
def test_compiled_code_finds_what_the_layout_says(
    intercept: bool, covariance: Covariance, seasonal_mean: bool, period: int, n_features: int
) -> None:
    """Both read one table, but compute the dimensions and add up the sizes on their own."""
    spec = AutoBypassSpec(intercept, period, covariance=covariance, seasonal_mean=seasonal_mean, transform="none")
    row, constants = spec.new_row(n_features), np.array(spec.constants())
    found, sizes = places(constants, row, n_features, spec.is_full)
    expected = spec.layout.places(**spec.dims(n_features))
    fields = ["drift_share_0", *(each.name for each in spec.layout.fields if each.shape is not None)]
    assert dict(zip(fields, found, strict=True)) == {name: expected[name][0].start for name in fields}
    assert sizes == (len(row), spec.n_scratch(n_features), len(constants))


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_covariances_begin_at_a_cache_line_whatever_the_row_came_from(n_features: int) -> None:
    model, (X, y) = AutoBypass(transform="none"), stream(60, n_features, seed=n_features)
    model.run(X, y)
    place, _ = model._spec.layout.places(**model._spec.dims(n_features))["walk_cov"]
    for each in (model, model.copy(), pickle.loads(pickle.dumps(model))):
        assert each._runner is not None
        assert each._runner.row[place.start :].ctypes.data % 64 == 0
        assert np.array_equal(each._runner.row, model.__getstate__()["row"])
