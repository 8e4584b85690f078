"""The forecaster that needs no choices."""

import pickle
from typing import Any

import numpy as np
import pytest

import adabypass
from adabypass import AdaBypass, Forecaster, Mixture, load_dataset
from adabypass.errors import NotEnoughDataError, NotFiniteError, NotReadyError, ParameterError, ShapeError, StateError

RNG = np.random.default_rng(0)
T = np.arange(144)
SEASONAL = 50.0 + 0.1 * T + 5.0 * np.sin(2 * np.pi * T / 12) + RNG.normal(size=144)


def test_a_forecaster_without_model_and_lags_is_automatic() -> None:
    assert type(Forecaster()) is Forecaster
    assert type(Forecaster(period=12)) is Forecaster
    assert type(Forecaster(exog=["x"])) is Forecaster
    for chosen in (Forecaster(lags=1), Forecaster(AdaBypass()), Forecaster(difference=1), Forecaster(bias=True)):
        assert type(chosen) is Forecaster
        assert type(chosen.copy()) is Forecaster
        assert type(pickle.loads(pickle.dumps(chosen))) is Forecaster


def test_period_and_support_are_refused_beside_lags() -> None:
    with pytest.raises(ParameterError, match="period and support"):
        Forecaster(lags=1, period=12)


def test_run_equals_predict_and_update() -> None:
    y = SEASONAL.copy()
    y[[3, 40, 41]] = np.nan
    whole, single = Forecaster(period=12), Forecaster(period=12)
    trace = whole.run(y)
    for t, value in enumerate(y):
        forecast = single.step(value)
        assert (forecast is None) == (t < trace.first)
        if forecast is not None:
            assert forecast.mean == trace.mean[t - trace.first]
            assert forecast.sd == trace.sd[t - trace.first]
    assert whole.to_bytes() == single.to_bytes()
    pieces = Forecaster(period=12)
    pieces.run(y[:50])
    pieces.learn(y[50:])
    assert pieces.to_bytes() == whole.to_bytes()


def test_a_season_and_a_trend_go_on() -> None:
    forecaster = Forecaster()
    forecaster.run(SEASONAL[:132])
    assert forecaster.period == (12,)
    ahead = forecaster.forecast(12)
    truth = 50.0 + 0.1 * T[132:] + 5.0 * np.sin(2 * np.pi * T[132:] / 12)
    assert np.abs(ahead.median - truth).max() < 2.0
    assert (np.diff(ahead.sd) > -0.2).all()
    found = forecaster.explain()
    assert found.kinds["season"] > 0.9
    assert found.level.lower < 50.0 + 0.1 * 132 < found.level.upper
    assert np.corrcoef(found.seasons["season_12"].effect.median, 5.0 * np.sin(2 * np.pi * T[132:] / 12))[0, 1] > 0.95
    assert "season" in repr(found)
    assert abs(sum(found.shares.values()) - 1) < 1e-9
    assert found.to_frame().shape == (2 + 12, 5)


def test_exogenous_effects_are_learned_and_used_ahead() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(210, 2))
    y = 100.0 + x @ [8.0, -3.0] + rng.normal(size=210)
    forecaster = Forecaster(exog=["a", "b"])
    forecaster.run(y[:200], x[:200])
    ahead = forecaster.forecast(10, x[200:])
    assert np.abs(ahead.mean - 100.0 - x[200:] @ [8.0, -3.0]).max() < 1.5
    with pytest.raises(ShapeError, match="a, b"):
        forecaster.forecast(3)


@pytest.mark.parametrize("missing", ["mean", "last"])
def test_missing_exogenous_values_are_filled(missing: str) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 1))
    y = x[:, 0] + rng.normal(size=40)
    x[[5, 20]] = np.nan
    whole, single = Forecaster(missing=missing), Forecaster(missing=missing)  # type: ignore[arg-type]
    whole.run(y, x)
    for each, known in zip(y, x, strict=True):
        single.step(each, known)
    assert whole.to_bytes() == single.to_bytes()
    with pytest.raises(NotFiniteError, match="missing"):
        Forecaster().run(y, x)


CLOSURE = 0.08
"""By how many standard deviations a quantile of moments may be off: they take each component for a Student's t, and
paths have the structures' shares of the last step."""


def test_paths_agree_with_moments() -> None:
    forecaster = Forecaster(period=12)
    forecaster.run(SEASONAL)
    moments = forecaster.forecast(12)
    paths = forecaster.forecast(12, method="paths", n_paths=40_000, rng=3)
    assert paths.paths is not None
    np.testing.assert_array_less(np.abs(paths.mean - moments.mean), CLOSURE * moments.sd)
    for q in (0.1, 0.5, 0.9):
        np.testing.assert_array_less(np.abs(paths.quantile(q) - moments.quantile(q)), CLOSURE * moments.sd)
    np.testing.assert_allclose(paths.sd, moments.sd, rtol=0.05)


@pytest.mark.parametrize("support", ["positive", (0.0, 3.0)])
def test_no_forecast_or_path_leaves_the_support(support: object) -> None:
    rng = np.random.default_rng(4)
    forecaster = Forecaster(support=support)  # type: ignore[arg-type]
    forecaster.run(np.abs(rng.normal(size=80)))
    high = np.inf if support == "positive" else 3.0
    ahead = forecaster.forecast(20)
    low_end, high_end = ahead.interval(0.999)
    assert low_end.min() >= 0.0
    assert high_end.max() <= high
    assert ((ahead.mean >= 0.0) & (ahead.mean <= high)).all()
    drawn = forecaster.forecast(20, method="paths", rng=0)
    assert drawn.paths is not None
    assert drawn.paths.min() >= 0.0
    assert drawn.paths.max() <= high


def test_counts_that_are_mostly_zero_have_sensible_quantiles() -> None:
    rng = np.random.default_rng(5)
    y = np.where(rng.uniform(size=300) < 0.9, 0.0, 1.0 + rng.poisson(3.0, size=300))
    forecaster = Forecaster(support="positive")
    forecaster.run(y)
    ahead = forecaster.forecast(10)
    assert (ahead.quantile(0.5) == 0.0).all()
    assert (ahead.quantile(0.05) == 0.0).all()
    assert ((ahead.quantile(0.98) > 1.0) & (ahead.quantile(0.98) < 12.0)).all()
    np.testing.assert_allclose(ahead.mean, y.mean(), atol=0.4)


def test_a_series_that_has_not_moved_is_expected_to_stay() -> None:
    constant, zeros = Forecaster(), Forecaster()
    constant.run(np.full(30, 7.0))
    zeros.run(np.zeros(30))
    np.testing.assert_allclose(constant.forecast(5).median, 7.0, rtol=1e-6)
    assert (zeros.forecast(5).median == 0.0).all()
    assert (zeros.forecast(5).interval(0.9)[1] == 0.0).all()
    constant.run(np.array([7.0, 9.0, 8.0, 9.0]))
    assert 6.0 < constant.predict().median < 11.0


def test_forecasts_begin_after_one_observation() -> None:
    forecaster = Forecaster()
    assert not forecaster.is_ready
    with pytest.raises(NotReadyError, match="update"):
        forecaster.predict()
    with pytest.raises(NotReadyError, match="update"):
        forecaster.forecast(2)
    with pytest.raises(NotEnoughDataError, match="all are missing"):
        forecaster.run([np.nan, np.nan])
    forecaster.update(3.0)
    assert forecaster.n_seen == 1
    assert forecaster.predict().median == pytest.approx(3.0)
    with pytest.raises(NotReadyError, match="has not moved"):
        forecaster.explain()


def test_the_scores_of_a_trace_are_those_of_its_quantiles() -> None:
    """The CRPS is twice the mean pinball loss over all quantiles: here over 400 of them."""
    y = load_dataset("nile").y[:200]
    trace, skip = Forecaster().run(y), 150
    scores = trace.scores(skip=trace.first + skip)
    observed, levels = y[trace.first + skip :], (np.arange(400) + 0.5) / 400
    forecasts = trace.predictive[skip:]
    quantiles = forecasts.quantile(levels)
    above = observed - quantiles
    pinball = np.maximum(levels[:, None] * above, (levels[:, None] - 1) * above)
    assert scores["crps"] == pytest.approx(2 * pinball.mean(), rel=0.005)
    assert scores["mae"] == pytest.approx(np.abs(observed - quantiles[199:201].mean(axis=0)).mean(), rel=0.005)
    assert scores["coverage_90"] == np.mean(np.abs(forecasts.cdf(observed) - 0.5) <= 0.45)
    assert scores["rmse"] == pytest.approx(np.sqrt(np.mean((observed - trace.mean[skip:]) ** 2)))
    assert scores["n"] == len(observed)


def test_a_trace_without_distributions_has_the_same_moments() -> None:
    y = load_dataset("nile").y[:200]
    trace, moments = Forecaster().run(y), Forecaster().run(y, keep_predictive=False)
    np.testing.assert_allclose(moments.mean, trace.mean, rtol=1e-12)
    np.testing.assert_allclose(moments.sd, trace.sd, rtol=1e-9)


def test_what_was_saved_goes_on_bit_for_bit(tmp_path: object) -> None:
    forecaster = Forecaster(period=[7, 365.25], support=(0, 1000), exog=["x"], missing="last")
    rng = np.random.default_rng(6)
    forecaster.run(20.0 + rng.normal(size=30), rng.normal(size=(30, 1)))
    path = f"{tmp_path}/saved.safetensors"
    forecaster.save(path)
    for again in (adabypass.load(path), pickle.loads(pickle.dumps(forecaster)), forecaster.copy()):
        assert isinstance(again, Forecaster)
        assert repr(again) == repr(forecaster)
        again.update(21.0, [0.3])
        other = forecaster.copy()
        other.update(21.0, [0.3])
        assert again.to_bytes() == other.to_bytes()
        assert again.support == (0.0, 1000.0)


def test_a_damaged_header_is_refused() -> None:
    forecaster = Forecaster(period=12)
    forecaster.run(SEASONAL[:20])
    header, arrays = forecaster._snapshot()
    from adabypass.snapshots.container import Snapshot  # noqa: PLC0415  (what the damage is done to)

    wrong: list[dict[str, Any]] = [{"design": "0"}, {"n_exog": 3}, {"kind": "AutoBypass"}, {"layout": []}]
    engine: list[dict[str, Any]] = [
        {"period": [13]}, {"period": "x"}, {"period": None}, {"support": [1]}, {"missing": "often"}, {"kind": "lags"},
    ]  # fmt: skip
    wrong += [{"engine": header["engine"] | changes} for changes in engine]
    for changes in wrong:
        with pytest.raises(StateError):
            Forecaster._from_snapshot(Snapshot(header | changes, arrays, "it"))
    row = arrays["row"].copy()
    row[2] = 1e9  # counts observations at the start
    with pytest.raises(StateError, match="n_start"):
        Forecaster._from_snapshot(Snapshot(header, {"row": row}, "it"))


@pytest.mark.parametrize("wrong", ["often", 0, [12, -1], np.nan, np.inf, 10**400, True])
def test_wrong_periods_are_refused(wrong: object) -> None:
    with pytest.raises(ParameterError, match="period"):
        Forecaster(period=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["negative", 3, (1, 0), (0, 1, 2), ("a", "b"), (0, 10**400)])
def test_wrong_supports_are_refused(wrong: object) -> None:
    with pytest.raises(ParameterError, match="support"):
        Forecaster(support=wrong)  # type: ignore[arg-type]


def test_reset_forgets() -> None:
    forecaster = Forecaster(period=4)
    new = forecaster.to_bytes()
    forecaster.run(SEASONAL[:20])
    forecaster.reset()
    assert forecaster.to_bytes() == new


def test_units_do_not_matter() -> None:
    first, second = Forecaster(period=12), Forecaster(period=12)
    first.run(SEASONAL)
    second.run(SEASONAL * 2.0**40)
    np.testing.assert_allclose(
        second.forecast(5).quantile([0.1, 0.9]), first.forecast(5).quantile([0.1, 0.9]) * 2.0**40, rtol=1e-6
    )


def simulated(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a series of a known kind."""
    noise, moves = rng.normal(size=n), rng.normal(size=n)
    level = np.cumsum(0.3 * moves)
    t = np.arange(n)
    y = np.empty(n)
    if kind == "ar":
        y[0] = noise[0]
        for i in range(1, n):
            y[i] = 0.7 * y[i - 1] + noise[i]
        return y
    return {"level": level, "trend": level + 0.2 * t, "season": level + 3.0 * np.sin(2 * np.pi * t / 12)}[kind] + noise


@pytest.mark.parametrize("kind", ["level", "trend", "season", "ar"])
def test_intervals_hold_as_many_as_they_say(kind: str) -> None:
    rng = np.random.default_rng(7)
    inside: dict[int, list[bool]] = {1: [], 5: [], 20: []}
    for _ in range(120):
        y = simulated(kind, 220, rng)
        forecaster = Forecaster(period=12 if kind == "season" else 1)
        forecaster.learn(y[:200])
        low, high = forecaster.forecast(20).interval(0.9)
        for step, found in inside.items():
            found.append(bool(low[step - 1] <= y[199 + step] <= high[step - 1]))
    for found in inside.values():
        assert 0.8 <= np.mean(found) <= 0.98  # 0.9, give or take three standard errors of 120 trials


def test_the_next_value_is_forecast_by_regressions_too() -> None:
    """Where volatility moves fast, AutoBypass knows more of the noise than structures do."""
    rng = np.random.default_rng(9)
    scale = np.repeat(rng.choice([0.2, 5.0], size=40), 25)
    y = 100.0 + (scale * rng.normal(size=1000)).cumsum()
    forecaster = Forecaster(period=[])
    trace = forecaster.run(y)
    found = trace.predictive
    assert isinstance(found, Mixture)
    assert found.extras is not None
    structures = Mixture.bounded(found.components, found.extras.zero_share, found.extras.support)
    assert trace.log_score[100:].mean() > structures.logpdf(y[1:])[100:].mean() + 0.1
    shares = forecaster.explain().shares
    assert sum(share for name, share in shares.items() if name.startswith("AutoBypass")) > 0.5
    assert abs(sum(shares.values()) - 1) < 1e-9
    assert not any(name.startswith("AutoBypass") for name in forecaster.explain(2).shares)


def test_the_first_step_of_a_forecast_is_that_of_predict() -> None:
    forecaster = Forecaster(period=12)
    forecaster.run(SEASONAL)
    next_value, ahead = forecaster.predict(), forecaster.forecast(3)
    assert isinstance(next_value, Mixture)
    assert next_value.extras is not None
    assert next_value.extras.is_pool
    np.testing.assert_allclose(ahead.mean[0], next_value.mean, rtol=1e-12)
    np.testing.assert_allclose([each[0] for each in ahead.interval(0.9)], next_value.interval(0.9), rtol=1e-7)
    drawn = forecaster.forecast(1, method="paths", n_paths=20_000, rng=0)
    np.testing.assert_allclose(drawn.median, ahead.median[:1], atol=0.05 * ahead.sd[0])


def test_evidence_above_zero_is_refused() -> None:
    forecaster = Forecaster(period=4)
    forecaster.run(SEASONAL)
    bank = forecaster._runner
    assert bank is not None
    row = bank.row.copy()
    bank.spec.check_row(row)
    row[bank.spec.evidence] = 1.0
    with pytest.raises(StateError, match="evidence"):
        bank.spec.check_row(row)


def test_the_period_is_explained() -> None:
    t = np.arange(100)
    y = 5.0 * np.sin(2 * np.pi * t / 12) + np.random.default_rng(0).normal(size=100)
    found, given, none = Forecaster(), Forecaster(period=[4, 12]), Forecaster()
    found.learn(y)
    given.learn(y)
    none.learn(y[:10])
    assert found.explain().period.startswith("12: found after 48 observations, log evidence ")
    assert given.explain().period == "4, 12: as given, or as the times tell"
    assert none.explain().period == "none: no season was found so far"
    assert "the season comes again after 12 steps: found after" in repr(found.explain())
