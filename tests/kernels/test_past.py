"""The compiled past of a series obeys the reference, gaps, differences and exogenous columns included."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass import AdaBypass, AutoBypass, EvidenceBypass, Forecaster, PassiveAggressive, Regressor, SequentialKalman
from adabypass.forecasting.lag_engine import LagEngine
from adabypass.numerics import limits
from adabypass.reference import past as reference
from adabypass.state.past import Past
from adabypass.state.series import LAYOUT, SeriesSpec
from adabypass.validation import Floats
from tests.engines import lag_engine

MODELS: list[Callable[[], Regressor]] = [AutoBypass, EvidenceBypass, AdaBypass, SequentialKalman, PassiveAggressive]
ROUNDING = 1e-8  # of sums over components and lags whose terms may cancel


def past_of(forecaster: Forecaster) -> Past:
    state = forecaster.__getstate__()
    return spec_of(forecaster).past(state["row"], state["header"]["n_exog"])


def spec_of(forecaster: Forecaster) -> SeriesSpec:
    return lag_engine(forecaster).spec


def same(ours: Past, theirs: Past, cancelled: float = 1e-300) -> None:
    """Compare two pasts; `cancelled` is the size of variances that may have cancelled in them."""
    size = np.abs(theirs.values).max(initial=1e-300)
    assert ours.values == approx(theirs.values, rel=ROUNDING, abs=ROUNDING * size)
    assert ours.unknown.tolist() == theirs.unknown.tolist()
    assert ours.cov == approx(theirs.cov, rel=ROUNDING, abs=ROUNDING * np.abs(theirs.cov).max(initial=cancelled))
    assert ours.largest == theirs.largest


def center(forecast: Any) -> float:
    """Return the mean of a forecast's components: how near (J.6) keeps its own depends on what unknown lags add."""
    if not hasattr(forecast, "components"):
        return float(forecast.mean)
    return float(forecast.components["weight"] @ forecast.components["mean"])


@st.composite
def series(draw: st.DrawFn) -> Floats:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, gaps = draw(st.integers(12, 45)), draw(st.sampled_from([0.0, 0.2, 0.6]))
    y = np.cumsum(rng.normal(size=n)) * draw(st.sampled_from([0.1, 1.0, 30.0])) + draw(st.sampled_from([0.0, 100.0]))
    y[rng.random(n) < gaps] = np.nan
    y[0] = 1.0
    return y


lags = st.sampled_from([[1], [1, 2], [3], [1, 4], [2, 3, 5], []])


@pytest.mark.parametrize("make", MODELS)
@settings(max_examples=25, deadline=None)
@given(y=series(), lags=lags, difference=st.integers(0, 2), n_exog=st.integers(0, 1))
def test_every_step_equals_the_reference(
    make: Callable[[], Regressor], y: Floats, lags: list[int], difference: int, n_exog: int
) -> None:
    forecaster = Forecaster(make(), lags=lags, difference=difference, exog=["x"] * n_exog if n_exog else None)
    design = spec_of(forecaster).design
    if spec_of(forecaster).n_features(n_exog) == 0:
        return
    known = np.arange(len(y))[:, None] % 3.0 if n_exog else np.empty((len(y), 0))
    for t, value in enumerate(y):
        exog = known[t] if n_exog else None
        if not forecaster.is_ready:
            forecaster.update(value, exog)
            if forecaster.is_ready:
                same(past_of(forecaster), reference.start(y[t + 1 - design.n_values : t + 1], design))
            continue
        if t == design.n_values and design.n_values == 0:
            forecaster.update(value, exog)
            continue
        before, model = past_of(forecaster), forecaster.model
        x, base = reference.features(before, design, known[t])
        forecast, plain = forecaster.predict(exog), model.predict(x)
        assert center(forecast) == approx(base + center(plain), rel=1e-12, nan_ok=True)
        lag_weights = np.empty(0)
        if len(before.unknown):
            mixture = model.linear_mixture()
            extra = reference.extra_var(before, design, mixture)
            at = design.lag_columns.start + int(mixture.intercept) + np.arange(len(lags))
            lag_weights = np.asarray(mixture.share @ mixture.mean[:, at])
            if hasattr(plain, "components") and len(extra) == len(plain.components):
                expected = plain.components["signal_var"] + extra
                assert forecast.components["signal_var"] == approx(expected, rel=ROUNDING)  # type: ignore[attr-defined]
            elif not forecaster.is_point and not hasattr(plain, "components"):
                assert forecast.var == approx(plain.var + extra[0], rel=ROUNDING)
        lag_weights = lag_weights if len(lag_weights) else np.zeros(len(lags))
        var = 0.0 if forecaster.is_point else forecast.var
        expected_past = reference.observe(before, design, value, forecast.mean, var, lag_weights)
        forecaster.update(value, exog)
        same(past_of(forecaster), expected_past, cancelled=np.abs(before.cov).max(initial=1e-300))


def test_many_gaps_leave_a_covariance_and_values_of_the_size_of_what_was_seen() -> None:
    """Equation (K.4): a forecast's variance is at least what the values that it is made of bring with them."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        y = rng.normal(size=120).cumsum()
        y[5:] = np.where(rng.random(115) < 0.55, np.nan, y[5:])
        forecaster = Forecaster(AutoBypass(), lags=[2, 3, 5], difference=1)
        for value in y:
            forecaster.update(value)
            if forecaster.is_ready:
                past = past_of(forecaster)
                roots = np.linalg.eigvalsh(past.cov) if len(past.cov) else np.zeros(1)
                assert roots.min() >= -ROUNDING * np.abs(roots).max()
                assert np.abs(past.values).max() <= 100 * np.nanmax(np.abs(y))


def test_the_compiled_offsets_are_those_of_the_layout() -> None:
    """A row written by name is read by the kernel: values, unknown positions, covariance, model."""
    forecaster = Forecaster(SequentialKalman(noise_var=2.0), lags=[1, 3], missing="mean")
    forecaster.run([1.0, 2.0, 3.0, 4.0, 5.0], [[1.0], [2.0], [3.0], [4.0], [5.0]])
    state = forecaster.__getstate__()
    row, dims = state["row"], spec_of(forecaster).dims(1)
    assert LAYOUT.view(row, "values", **dims).tolist() == [5.0, 4.0, 3.0]
    assert [LAYOUT.scalar(row, name) for name in ("n_filled", "max_abs", "n_unknown")] == [3.0, 5.0, 0.0]
    exog = [LAYOUT.view(row, name, **dims)[0] for name in ("exog_mean", "exog_last", "exog_count")]
    assert exog == [3.0, 5.0, 5.0]
    forecaster.update(np.nan, [1.0])
    row = forecaster.__getstate__()["row"]
    assert LAYOUT.view(row, "unknown_positions", **dims)[0] == 0.0
    assert LAYOUT.view(row, "unknown_cov", **dims)[0] > 2.0
    assert LAYOUT.view(row, "model", **dims)[0] == forecaster.n_seen == 2
    assert LAYOUT.size(**dims) == len(row)


def test_more_gaps_than_are_kept_leave_the_oldest_as_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit, lowered for the test, holds in the kernel as in the reference."""
    monkeypatch.setattr("adabypass.reference.past.MAX_UNKNOWN", 3)
    engine = lag_engine(Forecaster(SequentialKalman(), lags=[1, 8]))
    forecaster = Forecaster._of(LagEngine(engine.untrained, replace(engine.spec, max_unknown=3), None))
    forecaster.run(np.sin(np.arange(40.0)))
    design = spec_of(forecaster).design
    for _ in range(6):
        before, forecast = past_of(forecaster), forecaster.predict()
        mixture = forecaster.model.linear_mixture()
        weights = np.asarray(mixture.share @ mixture.mean[:, 1:3])
        expected = reference.observe(before, design, np.nan, forecast.mean, forecast.var, weights)
        forecaster.update(np.nan)
        same(past_of(forecaster), expected)
    assert past_of(forecaster).unknown.tolist() == [2, 1, 0]
    assert limits.MAX_UNKNOWN > 3
