"""Forecasts are scored when their targets arrive, and models are compared on the same ones."""

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from adabypass import AutoBypass, Forecaster, PassiveAggressive, SequentialKalman, compare, evaluate, load_dataset
from adabypass.errors import NotEnoughDataError, ParameterError
from adabypass.evaluation import difference, prequential


def test_one_step_ahead_is_what_run_gives() -> None:
    y = load_dataset("nile").y
    result, trace = evaluate(y, AutoBypass()), Forecaster(lags=1).run(y)
    assert result.origins[result.n_skipped] == 20
    assert dict(result.scores()) == dict(trace.scores(skip=20)), "of evaluate and of a trace"
    assert result.losses(loss="log") == approx(-trace.log_score[19:])
    assert result.losses(loss="squared") == approx((trace.y - trace.mean)[19:] ** 2)


def test_forecasts_many_steps_ahead_are_scored_at_their_targets() -> None:
    """Each forecast is made again, by hand, from the observations before its origin."""
    y = load_dataset("nile").y[:60]
    result = evaluate(y, Forecaster(lags=2), horizon=3, every=5, skip=0)
    assert result.horizon == 3
    origins = range(5, 58, 5)
    for step in (1, 3):
        trace = result.trace(step)
        assert trace.y.tolist() == [y[origin + step - 1] for origin in origins]
        for number, origin in enumerate(origins):
            alone = Forecaster(lags=2)
            alone.run(y[:origin])
            assert trace.mean[number] == approx(alone.forecast(3).mean[step - 1], rel=1e-9)


def test_the_forecaster_stays_as_it_was() -> None:
    forecaster = Forecaster(lags=1)
    evaluate(load_dataset("nile").y[:50], forecaster)
    assert forecaster.n_seen == 0


def test_exogenous_values_are_known_at_the_target() -> None:
    rng = np.random.default_rng(0)
    rain = rng.normal(size=300)
    y = 2 * rain + rng.normal(0, 0.1, 300)
    assert evaluate(y, Forecaster(lags=1), exog=rain, horizon=4).scores(4)["rmse"] < 0.2


def test_a_frame_holds_a_series() -> None:
    nile = load_dataset("nile")
    frame = pd.DataFrame({"level": nile.y[:100], "year": nile.time[:100]})
    assert evaluate(frame, None, target="level", time="year").scores()["rmse"] == approx(
        evaluate(nile.y[:100], None).scores()["rmse"]
    )


def test_comparison_is_paired_and_of_the_same_observations() -> None:
    y = load_dataset("nile").y
    table = compare(y, {"short": Forecaster(lags=1), "long": Forecaster(lags=9)}, loss="squared")
    short, long = (Forecaster(lags=lags).run(y) for lags in (1, 9))
    a, b = (short.y - short.mean)[20 - 1 :] ** 2, (long.y - long.mean)[20 - 9 :] ** 2
    difference = table.lines[1].difference
    assert difference is not None
    assert difference.n == 663 - 20
    assert difference.mean == approx((b - a).mean())
    assert table.lines[0].difference is None


def test_points_are_compared_by_their_errors_only() -> None:
    y = load_dataset("nile").y[:200]
    models = {"auto": AutoBypass(), "pa": PassiveAggressive()}
    assert compare(y, models, loss="log").lines[1].difference is None
    assert compare(y, models, loss="absolute").lines[1].difference is not None
    assert "pa" in repr(compare(y, models))


def test_more_skill_is_found_significant_and_equal_skill_is_not() -> None:
    rng = np.random.default_rng(1)
    y = np.zeros(1500)
    for t in range(1, 1500):
        y[t] = 0.7 * y[t - 1] + rng.normal()
    table = compare(
        y,
        {"AR(1)": Forecaster(lags=1), "AR(2)": Forecaster(lags=2), "stale": Forecaster(SequentialKalman(), lags=[5])},
        loss="squared",
        baselines=False,
    )
    equal, worse = (line.difference for line in table.lines[1:])
    assert equal is not None
    assert worse is not None
    assert equal.p_value > 0.01
    assert worse.p_value < 1e-6
    assert worse.mean > 0


def test_too_short_a_series_is_refused() -> None:
    with pytest.raises(NotEnoughDataError, match="too few to forecast 20 steps ahead"):
        evaluate(np.arange(10.0), None, horizon=20)


def test_every_observation_is_an_origin_by_default() -> None:
    y = load_dataset("nile").y[:60]
    result = evaluate(y, SequentialKalman(), horizon=7)
    assert result.origins.tolist() == list(range(2, 54))
    assert [result.n_scored(step) for step in (1, 7)] == [34, 34]
    assert " 34 " in repr(result).splitlines()[2]
    y[55] = np.nan
    gappy = evaluate(y, SequentialKalman(), horizon=7)
    assert [gappy.n_scored(step) for step in (1, 7)] == [34, 33]


def test_long_series_are_forecast_from_as_many_origins_as_are_affordable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prequential, "AFFORDABLE", 1000)
    y = np.random.default_rng(0).normal(size=801)
    result = evaluate(y, PassiveAggressive(), horizon=5)
    assert result.origins[:3].tolist() == [5, 10, 15], "801 * 5 / 1000, rounded up"
    assert result.n_scored(5) == len(result.origins) - 3
    far = evaluate(y[:300], PassiveAggressive(), horizon=20)
    assert far.n_origins == 280 // 5, "from 50 origins at least"


def test_forecasts_of_any_age_are_scored_by_their_own_distribution() -> None:
    """A young forecaster's forecasts may be of another type; the later ones must not be changed by it."""
    y = load_dataset("nile").y[:80]
    result = evaluate(y, Forecaster(lags=1), horizon=2, skip=0)
    alone = Forecaster(lags=1)
    alone.run(y[:70])
    number = result.origins.tolist().index(70)
    low, high = result.trace(2).predictive[number].interval(0.9)
    expected = alone.forecast(2).interval(0.9)
    assert (float(low), float(high)) == approx((expected[0][1], expected[1][1]), rel=1e-6)


def test_a_step_that_was_not_evaluated_is_named() -> None:
    result = evaluate(load_dataset("nile").y[:60], SequentialKalman(), horizon=14)
    for wrong in (15, 0, "1"):
        with pytest.raises(ParameterError, match=r"step is .*, but forecasts from 1 to 14 steps ahead were evaluated"):
            result.scores(wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="step is 15"):
        result.losses(15)
    with pytest.raises(ParameterError, match="loss is 'lgo', but must be one of 'log', 'crps', 'squared', 'absolute'"):
        result.losses(1, "lgo")
    with pytest.raises(ParameterError, match="loss is 'lgo'"):
        compare(load_dataset("nile").y[:60], [SequentialKalman()], loss="lgo")
    with pytest.raises(ParameterError, match="forecaster is 'auto', but must be a forecaster"):
        evaluate(load_dataset("nile").y, "auto")  # type: ignore[arg-type]


def test_a_comparison_far_ahead_is_of_the_same_targets_and_allows_for_overlap() -> None:
    y = load_dataset("nile").y[:150]
    table = compare(
        y,
        {"short": Forecaster(SequentialKalman()), "long": Forecaster(SequentialKalman(), lags=9)},
        horizon=4,
        loss="squared",
        baselines=False,
    )
    short, long = table.evaluations.values()
    assert short.origins[short.n_skipped] == long.origins[long.n_skipped] == 20
    assert [line.n_scored for line in table.lines] == [127, 127]
    expected = difference(long.losses(4, "squared"), short.losses(4, "squared"), horizon=4)
    assert table.lines[1].difference == expected
    assert "forecasts" in repr(table).splitlines()[0]
    assert " 127 " in repr(table).splitlines()[2]
