"""A season whose share is learned: the kernel obeys the reference, and its parts are models like any other."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass import AutoBypass, Mixture, from_bytes
from adabypass.errors import StateError
from adabypass.reference import shared_season as reference
from adabypass.regressors.base import Regressor
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.shared_season import Part, SharedSeasonSpec, bank_spec, share_season
from adabypass.validation import Floats

N_SHARES = len(Part)


def seasonal_stream(n: int, period: int, seed: int, size: float = 3.0) -> tuple[Floats, Floats]:
    """Return a stream with a season, missing values, an outlier and features of either sign."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1e-3, 50.0]
    season = size * np.sin(2 * np.pi * np.arange(n) / period) + size * (np.arange(n) % period == 1)
    y = 40.0 + 1e3 * X[:, 0] - X[:, 1] / 50 + season + rng.standard_t(4, n)
    y[rng.random(n) < 0.1] = np.nan
    y[n // 2] += 30
    return X, y


def spec_of(model: AutoBypass) -> SharedSeasonSpec:
    spec = model._spec
    assert isinstance(spec, SharedSeasonSpec)
    return spec


def spec_of_new(period: int, transform: Any = "auto") -> SharedSeasonSpec:
    spec = share_season(AutoBypassSpec(period=period, transform=transform))
    assert isinstance(spec, SharedSeasonSpec)
    return spec


def row_of(model: Regressor) -> Floats:
    row: Floats = model.__getstate__()["row"]
    return row


def shares_of(forecast: Any) -> Floats:
    """Return the shares of the parts in one forecast."""
    share: Floats = forecast.extras.share[0, 1:]
    return share


@settings(max_examples=6)
@given(
    period=st.sampled_from([2, 3, 4, 6, 7, 12, 50]),
    seed=st.integers(0, 100),
    size=st.sampled_from([0.0, 0.5, 5.0]),
    n_zeros=st.sampled_from([0, 0, 3]),
)
def test_the_kernel_obeys_the_reference(period: int, seed: int, size: float, n_zeros: int) -> None:
    X, y = seasonal_stream(60, period, seed, size)
    y[:n_zeros] = 0.0
    model = AutoBypass(period=period)
    spec = spec_of_new(period)
    state = reference.nothing_seen(2, spec)
    for x, target in zip(X, y, strict=True):
        forecast = model.predict(x)
        if forecast.is_known:
            assert shares_of(forecast) == approx(reference.shares(state), rel=1e-5, abs=1e-9)
        score = model.run(x[None], [target]).log_score[0]
        state, log_density = reference.update(state, x, float(target), spec)
        assert score == approx(log_density, rel=1e-6, abs=1e-6, nan_ok=True)
    evidence = spec.view(row_of(model), "season_evidence", 2)
    assert evidence == approx(state.evidence, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("transform", ["auto", "none"])
def test_every_part_is_the_model_alone(transform: Any) -> None:
    """Bit for bit; and the forecast is the mixture of theirs, in all that is asked of it."""
    X, y = seasonal_stream(150, 7, seed=3)
    model = AutoBypass(period=7, transform=transform)
    spec = spec_of_new(7, transform)
    n_waves = spec.n_waves
    angles = 2 * np.pi * np.arange(len(y))[:, None] * (1 + np.arange(n_waves) // 2) / 7
    waving = np.hstack([np.where(np.arange(n_waves) % 2 == 0, np.cos(angles), np.sin(angles)), X])
    alone = [AutoBypass._of_spec(each) for each in spec.parts]
    traces = [each.run(Z, y) for each, Z in zip(alone, (X, X, waving), strict=True)]
    found = model.run(X, y)
    assert isinstance(found.predictive, Mixture)
    extras = found.predictive.extras
    assert extras is not None
    assert extras.share is not None
    for trace, part in zip(traces, extras.parts, strict=True):
        assert part.logpdf(y)[1:] == approx(trace.predictive.logpdf(y)[1:], rel=1e-9, nan_ok=True)
    share = extras.share[:, 1:].T
    assert found.predictive.cdf(y)[1:] == approx(
        sum(v * each.predictive.cdf(y) for v, each in zip(share, traces, strict=True))[1:], abs=1e-12, nan_ok=True
    )
    assert found.mean[1:] == approx(sum(v * each.mean for v, each in zip(share, traces, strict=True))[1:], rel=1e-9)
    assert found.log_score == approx(found.predictive.logpdf(y), abs=1e-9, nan_ok=True)
    rows = spec_of(model).part_rows(row_of(model), 2)
    score = alone[1]._spec.layout.position("log_score")
    for row, each in list(zip(rows, alone, strict=True))[:2]:
        assert np.array_equal(np.delete(row, score), np.delete(row_of(each), score))


def test_one_by_one_is_what_a_run_is() -> None:
    X, y = seasonal_stream(120, 12, seed=1)
    ran, stepped = AutoBypass(period=12), AutoBypass(period=12)
    trace = ran.run(X, y)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        forecast = stepped.predict(x)
        assert (forecast.mean, forecast.var) == approx((trace.mean[t], trace.var[t]), rel=0, abs=0, nan_ok=True)
        stepped.update(x, target)
    assert np.array_equal(row_of(ran), row_of(stepped))


def test_a_blank_forecast_is_blank_in_a_trace_too() -> None:
    X, y = seasonal_stream(60, 12, seed=1)
    y[:3] = 0.0
    first = AutoBypass(period=12).run(X, y).predictive[0]
    assert np.isnan(first.mean)
    assert np.isinf(first.var)
    assert not first.is_known


def test_where_there_is_no_season_little_is_lost() -> None:
    """At most what it takes to find out which part is best; the steps of a season of 24 alone cost 36 nats."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 1))
    y = X[:, 0] + rng.normal(size=3000)
    none, shared = AutoBypass().run(X, y), AutoBypass(period=24).run(X, y)
    assert np.nansum(shared.log_score[20:]) > np.nansum(none.log_score[20:]) - 6


def test_a_season_of_few_values_costs_nothing() -> None:
    """A shift of half a unit makes values that repeat themselves unlikely: without a season they are foreseen."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(2000) < 0.9, 10.0, 10.0 - rng.integers(1, 8, 2000) * 0.5)
    X = np.roll(y, 1)[:, None]
    none, shared = AutoBypass().run(X, y), AutoBypass(period=24).run(X, y)
    alone = AutoBypass._of_spec(AutoBypassSpec(period=24)).run(X, y)
    total = [float(np.nansum(each.log_score[20:])) for each in (none, shared, alone)]
    assert total[1] > total[0] - 0.003 * abs(total[0])
    assert total[2] < total[1]


@pytest.mark.parametrize("part", [Part.STEPS, Part.WAVES])
def test_the_shares_follow_the_evidence(part: Part) -> None:
    """A smooth season is that of the waves, one of any shape that of the steps."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1500, 1))
    shape = 8 * (np.sin(np.arange(24) * np.pi / 12) if part is Part.WAVES else rng.normal(size=24))
    model = AutoBypass(period=24)
    model.run(X, X[:, 0] + np.resize(shape, 1500) + rng.normal(size=1500))
    assert shares_of(model.predict(X[0])).argmax() == part


def test_what_was_saved_before_goes_on_as_it_was() -> None:
    """Models saved without shares keep the season that they have."""
    X, y = seasonal_stream(80, 7, seed=2)
    old = AutoBypass._of_spec(AutoBypassSpec(period=7))
    old.run(X, y)
    restored = from_bytes(old.to_bytes())
    assert type(restored._spec) is AutoBypassSpec
    assert restored.predict(X[0]).mean == old.predict(X[0]).mean


def test_saved_and_restored_it_is_the_same() -> None:
    X, y = seasonal_stream(80, 7, seed=2)
    model = AutoBypass(period=7)
    model.run(X, y)
    restored = AutoBypass.from_bytes(model.to_bytes())
    assert isinstance(restored._spec, SharedSeasonSpec)
    assert np.array_equal(row_of(restored), row_of(model))
    assert np.array_equal(restored.run(X, y).log_score, model.run(X, y).log_score, equal_nan=True)


def test_wrong_evidence_and_unknown_seasons_are_refused() -> None:
    model = AutoBypass(period=7, n_features=2)
    spec, row = spec_of(model), row_of(model).copy()
    row[-1] = 1.0
    with pytest.raises(StateError, match="evidence that is above 0"):
        spec.check_row(row, 2)
    with pytest.raises(ValueError, match="season is 'both', but must be 'shared'"):
        bank_spec(season="both")


@pytest.mark.parametrize("settings", [{"period": 1}, {"intercept": False}, {"sparse": True}])
def test_no_season_no_intercept_and_sparse_features_have_no_shares(settings: dict[str, Any]) -> None:
    assert type(AutoBypass(**({"period": 7} | settings))._given_spec) is AutoBypassSpec


def test_a_first_dict_makes_it_sparse() -> None:
    model = AutoBypass(period=7, n_features=1000)
    model.update({3: 1.0}, 2.0)
    assert model._spec.is_sparse
    assert type(model._spec) is AutoBypassSpec


def test_lags_take_the_noise_season_alone() -> None:
    """Forecasts many steps ahead know no waves."""
    assert type(AutoBypass(period=7)._given_spec.for_lags()) is AutoBypassSpec


def test_weights_are_those_of_the_steps_of_the_season() -> None:
    X, y = seasonal_stream(90, 7, seed=4)
    model, alone = AutoBypass(period=7), AutoBypass._of_spec(AutoBypassSpec(period=7))
    trace, expected = (each.run(X, y, keep_weights=True) for each in (model, alone))
    assert trace.weights_mean is not None
    assert expected.weights_mean is not None
    assert np.array_equal(trace.weights_mean, expected.weights_mean)
    assert np.array_equal(model.weights.mean, alone.weights.mean)
    assert model.intercept == alone.intercept
    assert np.array_equal(model.linear_mixture().mean, alone.linear_mixture().mean)


def test_shares_stay_when_features_are_added() -> None:
    X, y = seasonal_stream(150, 7, seed=6)
    model = AutoBypass(period=7)
    model.run(X[:, :1], y)
    before = shares_of(model.predict(X[0, :1]))
    model.add_features(1)
    assert np.array_equal(shares_of(model.predict(X[0])), before)
    model.run(X, y)
    assert np.isfinite(model.predict(X[0]).mean)
