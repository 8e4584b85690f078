"""Explanations: parts that add up to forecasts, planted effects that are found, and a model that stays as it is."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass import Forecaster, Mixture, explain
from adabypass.errors import NotFiniteError, NotReadyError, ParameterError, ShapeError
from adabypass.results.explanation import Explanation
from adabypass.validation import Floats

WEEK = np.array([-4.0, -2.0, 0.0, 1.0, 3.0, 6.0, -4.0])
DAYS = np.datetime64("2024-01-01") + np.arange(400)  # from a Monday


def without_lags(forecaster: Forecaster, horizon: int, exog: Floats | None) -> Floats:
    """Return the mean of the structures without lags alone, from the distributions that `forecast` gave."""
    found = forecaster.forecast(horizon, exog).predictive
    assert isinstance(found, Mixture)
    assert found.extras is not None
    runner = forecaster._runner
    structures = (runner.spec.current(runner.row)[0] if hasattr(runner.spec, "current") else runner.spec).structures
    kept = np.array([not each.lags for each in structures.structures])
    parts = found.components[:, : len(kept)][:, kept]
    parts["weight"] /= parts["weight"].sum(axis=1, keepdims=True)
    return np.asarray(Mixture.bounded(parts, np.asarray(found.extras.zero_share), found.extras.support).mean)


def explained_mean(found: Explanation) -> Floats:
    it = found.contributions
    assert it is not None
    explained: Floats = np.sum([values for name, values in it.parts.items() if name != "other"], axis=0)
    return explained[len(it.y) - it.n_ahead :]


@given(st.integers(0, 2**32 - 1), st.sampled_from(["any", "positive", "rare"]), st.integers(0, 2), st.booleans())
def test_parts_add_up_to_the_mean_of_the_structures_and_to_the_forecast(
    seed: int, kind: str, n_exog: int, is_found: bool
) -> None:
    rng = np.random.default_rng(seed)
    n, horizon = int(rng.integers(30, 120)), 9
    exog = rng.normal(size=(n + horizon, n_exog)) * 10.0 ** rng.uniform(-2, 3)
    y = 3.0 * np.cos(2 * np.pi * np.arange(n) / 6) + rng.normal(size=n) + 0.1 * rng.normal(size=n).cumsum()
    if kind != "any":
        y = np.exp(y / 10.0 + 1.0)
    if kind == "rare":
        y[rng.uniform(size=n) < 0.5] = 0.0
    y[rng.uniform(size=n) < 0.1] = np.nan
    y[:2] = 1.0, 2.0
    forecaster = Forecaster(period=None if is_found else 6)
    known = (exog[:n], exog[n:]) if n_exog else (None, None)
    forecaster.learn(y, known[0])
    found = forecaster.explain(horizon, known[1], y=y, past_exog=known[0])
    it = found.contributions
    assert it is not None
    size = np.abs(it.mean).max() + np.abs(np.nan_to_num(y)).max()
    np.testing.assert_allclose(sum(it.parts.values()), it.mean, rtol=1e-12, atol=1e-12 * size)
    np.testing.assert_array_equal(it.mean[n:], forecaster.forecast(horizon, known[1]).mean)
    np.testing.assert_allclose(
        explained_mean(found), without_lags(forecaster, horizon, known[1]), rtol=1e-5, atol=1e-5 * size
    )


def shop(rng: np.random.Generator, is_log: bool) -> tuple[Floats, Floats, Floats]:
    """Return sales, a promotion and a price, and what is to be found: effects of both, and of each weekday."""
    n = 300
    promotion = np.repeat(rng.uniform(size=n // 3) < 0.1, 3).astype(float)
    price = 5.0 + rng.normal(0.0, 0.5, size=n)
    level = 50.0 + rng.normal(0.0, 0.05, size=n).cumsum()
    y = level + WEEK[np.arange(n) % 7] + 9.0 * promotion - 4.0 * (price - 5.0) + rng.normal(0.0, 2.0, size=n)
    if is_log:
        y = np.exp(y / 50.0)
    return y, np.column_stack([promotion, price]), level


@pytest.mark.parametrize("is_log", [False, True])
def test_planted_effects_lie_in_their_intervals_as_often_as_these_say(is_log: bool) -> None:
    rng = np.random.default_rng(5)
    inside: dict[str, list[bool]] = {"promotion": [], "price": [], "level": [], "week": []}
    for _ in range(40):
        y, exog, level = shop(rng, is_log)
        forecaster = Forecaster(period=7, exog=["promotion", "price"])
        forecaster.learn(y, exog)
        found = forecaster.explain(y=y, past_exog=exog, time=DAYS[: len(y)])
        now = np.exp(level[-1] / 50.0) if is_log else level[-1]

        def planted(effect: Any, now: float = now) -> Any:
            return now * np.expm1(np.asarray(effect) / 50.0) if is_log else np.asarray(effect)

        at_mean = planted(-4.0 * (exog[:, 1].mean() - 5.0))
        truth = {"promotion": planted(9.0), "price": planted(-4.0)}
        for name, effect in truth.items():
            estimate = found.effects[name].per_unit
            inside[name].append(bool(estimate.lower <= effect <= estimate.upper))
        assert found.effects["promotion"].per_unit.lower > 0.0 > found.effects["price"].per_unit.upper
        inside["level"].append(bool(found.level.lower <= now + at_mean <= found.level.upper))
        week = found.seasons["season_week"]
        assert week.positions[0] == "Monday"
        inside["week"] += ((week.effect.lower <= planted(WEEK)) & (planted(WEEK) <= week.effect.upper)).tolist()
    for name, each in inside.items():
        assert np.mean(each) >= 0.75, name  # 0.9 less three standard errors of 40 trials


def test_the_past_is_explained_better_than_the_forecasts_of_the_time_were() -> None:
    """In the light of all data, early promotions have the effect that was learned later."""
    y, exog, _ = shop(np.random.default_rng(1), False)
    forecaster = Forecaster(period=7)
    forecaster.learn(y, exog)
    it = forecaster.explain(y=y, past_exog=exog).contributions
    assert it is not None
    assert it.n_ahead == 0
    on = exog[:, 0] == 1.0
    np.testing.assert_allclose(it.parts["exog_0"][on], 9.0, atol=1.5)
    assert (it.parts["exog_0"][~on] == 0.0).all()
    assert np.sqrt(np.mean((y - it.mean) ** 2)) < 2.1
    assert abs(np.mean(it.parts["exog_1"])) < 0.01 * np.std(it.parts["exog_1"])  # about its mean, but for its drift


def test_the_newest_part_of_a_long_past_is_explained_as_all_of_it_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(12)
    y = (0.5 + rng.normal(size=900)).cumsum() + 2.0 * WEEK[np.arange(900) % 7]  # far from where it began
    forecaster = Forecaster(period=7)
    forecaster.learn(y)
    whole = forecaster.explain(y=y).contributions
    monkeypatch.setattr("adabypass.forecasting.explaining.MAX_PAST", 300)
    part = forecaster.explain(3, y=y).contributions
    assert whole is not None
    assert part is not None
    assert len(part.y) == 303
    assert part.time[0] == -299
    assert np.abs(part.mean[:300] - whole.mean[-300:]).max() < 1.5  # of a noise of 1, near the cut
    np.testing.assert_allclose(part.mean[100:300], whole.mean[-200:], atol=0.01)


def test_values_missing_at_the_start_are_left_out_as_the_forecaster_leaves_them_out() -> None:
    y, _, _ = shop(np.random.default_rng(13), False)
    first, later = Forecaster(period=7), Forecaster(period=7)
    first.learn(y)
    later.learn(np.append([np.nan] * 3, y))
    found, same = first.explain(y=y).contributions, later.explain(y=np.append([np.nan] * 3, y)).contributions
    assert found is not None
    assert same is not None
    np.testing.assert_array_equal(found.mean, same.mean)


@pytest.mark.parametrize(
    "time",
    [
        pd.date_range("2024-01-01", periods=70, tz="Europe/Berlin"),
        pd.Series(pd.date_range("2024-01-01", periods=70)),
        pd.period_range("2024-01-01", periods=70),
        [str(day) for day in DAYS[:70]],
    ],
)
def test_times_may_come_as_users_have_them(time: Any) -> None:
    y, _, _ = shop(np.random.default_rng(14), False)
    forecaster = Forecaster(period=7)
    forecaster.learn(y[:70])
    found = forecaster.explain(2, y=y[:70], time=time)
    assert found.now == "2024-03-10"
    assert found.contributions is not None
    assert str(found.contributions.time[-1]) == "2024-03-12"
    assert found.seasons["season_week"].positions[0] == "Monday"


def test_explaining_changes_nothing() -> None:
    y, exog, _ = shop(np.random.default_rng(2), True)
    for forecaster in (Forecaster(period=7), Forecaster()):
        forecaster.learn(y[:200], exog[:200])
        twin, saved = forecaster.copy(), forecaster.to_bytes()
        given = y.copy(), exog.copy()
        forecaster.explain(5, exog[200:205], y=y[:200], past_exog=exog[:200])
        assert forecaster.to_bytes() == saved
        np.testing.assert_array_equal(np.column_stack([y, exog]), np.column_stack(given))
        trace, other = (each.run(y[200:], exog[200:]) for each in (forecaster, twin))
        np.testing.assert_array_equal(trace.mean, other.mean)


def test_steps_are_dated_and_numbered() -> None:
    y, exog, _ = shop(np.random.default_rng(3), False)
    n = len(y) - 14
    forecaster = Forecaster(period=7, exog=["promotion", "price"])
    forecaster.learn(y[:n], exog[:n])
    dated = forecaster.explain(14, exog[n:], y=y[:n], past_exog=exog[:n], time=DAYS[:n])
    assert dated.contributions is not None
    assert (dated.contributions.time == DAYS[: n + 14]).all()
    assert (dated.effects["promotion"].on == DAYS[: n + 14][exog[:, 0] == 1.0]).all()
    assert dated.now == str(DAYS[n - 1])
    frame = dated.contributions.to_frame()
    assert list(frame.columns) == ["ds", "y", "mean", "level", "slope", "season_week", "promotion", "price", "other"]
    numbered = forecaster.explain(14, exog[n:], y=y[:n], past_exog=exog[:n])
    assert numbered.contributions is not None
    assert numbered.contributions.time.tolist() == list(range(1 - n, 15))
    assert numbered.now == ""
    assert numbered.seasons["season_7"].positions == list("1234567")
    first = DAYS[n].astype(object).strftime("%A")
    np.testing.assert_allclose(
        numbered.seasons["season_7"].effect.median[0],
        dict(zip(dated.seasons["season_week"].positions, dated.seasons["season_week"].effect.median, strict=True))[
            first
        ],
        rtol=1e-9,
    )


def test_periods_of_one_length_are_told_apart() -> None:
    y, _, _ = shop(np.random.default_rng(11), False)
    forecaster = Forecaster(period=[7, 364, 365.25])
    forecaster.learn(y)
    it = forecaster.explain(10, y=y, time=DAYS[: len(y)]).contributions
    assert it is not None
    assert [name for name in it.parts if name.startswith("season")] == ["season_week", "season_year", "season_365.25"]
    np.testing.assert_allclose(sum(it.parts.values()), it.mean)


def test_words_and_table_say_the_same() -> None:
    y, exog, _ = shop(np.random.default_rng(4), True)
    forecaster = Forecaster(period=7, exog=["promotion", "price"])
    forecaster.learn(y, exog)
    found = forecaster.explain(y=y, past_exog=exog, time=DAYS[: len(y)], level=0.5)
    table = found.to_frame("polars")
    assert table.columns == ["part", "position", "median", "lower_50", "upper_50"]
    assert table["part"].to_list() == ["level", "slope", *["season_week"] * 7, "promotion", "price"]
    words = str(found)
    for part, position, median in zip(table["part"], table["position"], table["median"], strict=True):
        assert f"{median:.4g}" in words, (part, position)
    assert found.kinds["log"] > 0.5
    assert f"({100 * found.effects['promotion'].per_unit.median / found.level.median:+.3g} %)" in words
    assert "when 1; " in words
    assert "hardly known" not in words
    assert f"a unit, counted from {exog[:, 1].mean():.4g}" in words


@pytest.mark.parametrize("is_log", [False, True])
def test_the_unit_of_a_column_does_not_matter(is_log: bool) -> None:
    y, exog, _ = shop(np.random.default_rng(9), is_log)
    y = y if is_log else y - 200.0  # of which no log is taken
    found = []
    for size in (1.0, 2.0**40):
        forecaster = Forecaster(period=7)
        forecaster.learn(y, exog * [1.0, size])
        explanation = forecaster.explain(y=y, past_exog=exog * [1.0, size])
        assert explanation.contributions is not None
        per_unit = np.array(explanation.effects["exog_1"].per_unit)
        found.append((size * per_unit, explanation.contributions.parts["exog_1"]))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-6 if not is_log else 0.05)  # of a larger change
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-6, atol=1e-6)


def test_values_beyond_the_forecaster_s_bounds_add_what_they_add_to_its_forecast() -> None:
    """A column that is 0 at first has a unit of 1, and its values are kept within a million of them."""
    y, exog, _ = shop(np.random.default_rng(10), False)
    exog[:20, 0] = 0.0
    exog[:, 0] *= 1e9
    forecaster = Forecaster(period=7)
    forecaster.learn(y[:250], exog[:250])
    found = forecaster.explain(20, exog[250:270], y=y[:250], past_exog=exog[:250])
    assert (exog[250:270, 0] > 0.0).any()
    np.testing.assert_allclose(explained_mean(found), without_lags(forecaster, 20, exog[250:270]), rtol=1e-6)


def test_what_does_not_belong_together_is_refused() -> None:
    y, exog, _ = shop(np.random.default_rng(6), False)
    forecaster = Forecaster(period=7)
    with pytest.raises(NotReadyError, match="update with one first"):
        forecaster.explain()
    forecaster.learn(y, exog)
    with pytest.raises(ParameterError, match=r"y has 299 observations, but this forecaster has learned 300"):
        forecaster.explain(y=y[1:], past_exog=exog[1:])
    with pytest.raises(ParameterError, match="past_exog is given without y"):
        forecaster.explain(past_exog=exog)
    with pytest.raises(ParameterError, match="exog is given without horizon"):
        forecaster.explain(exog=exog)
    with pytest.raises(ShapeError, match="exog"):
        forecaster.explain(3)
    with pytest.raises(NotFiniteError, match="missing"):
        forecaster.explain(1, [[np.nan, 1.0]])
    with pytest.raises(ShapeError, match="time has 299 regular steps"):
        forecaster.explain(y=y, past_exog=exog, time=DAYS[:299])
    with pytest.raises(ShapeError, match="time has one value"):
        forecaster.explain(time=DAYS[:1])
    light = Forecaster(lags=1)
    light.learn(y)
    with pytest.raises(ParameterError, match="without a model and lags"):
        light.explain(3)


def test_missing_exogenous_values_are_filled() -> None:
    y, exog, _ = shop(np.random.default_rng(7), False)
    exog[[0, 5, 50], 1] = np.nan
    for forecaster in (Forecaster(period=7, missing="mean"), Forecaster(period=7, missing="last")):
        forecaster.learn(y, exog)
        it = forecaster.explain(2, [[0.0, np.nan], [1.0, np.nan]], y=y, past_exog=exog).contributions
        assert it is not None
        assert np.isfinite(sum(it.parts.values())).all()
        assert abs(it.parts["exog_1"][5]) < 10.0


def test_a_series_of_which_structures_without_lags_say_nothing_is_explained() -> None:
    """Evidence may leave them no share that can be told from 0."""
    rng = np.random.default_rng(8)
    y = np.empty(3000)
    y[:2] = 0.0, 1.0
    for t in range(2, len(y)):
        y[t] = 1.9 * y[t - 1] - 0.999 * y[t - 2] + 0.01 * rng.normal()
    forecaster = Forecaster(period=[])
    forecaster.learn(y)
    found = forecaster.explain(5)
    assert found.kinds["lags"] > 0.999
    assert np.isfinite(found.level).all()
    assert found.contributions is not None
    np.testing.assert_allclose(sum(found.contributions.parts.values()), forecaster.forecast(5).mean, rtol=1e-9)


def test_words_are_those_of_the_series() -> None:
    """Steps have their unit, dates no needless digits, contributions the name of the target, structures no jargon."""
    hours = np.datetime64("2024-01-01T00:00:00.000000") + 3600 * 10**6 * np.arange(600)
    load = 50.0 + 9.0 * np.sin(2 * np.pi * np.arange(600) / 24) + np.random.default_rng(0).normal(size=600)
    found = explain({"when": hours, "load": load}, horizon=2, target="load", time="when")
    words = str(found).splitlines()
    assert words[0].endswith("(2024-01-25 23:00)")
    assert words[1].endswith(" an hour")
    assert words[2] == "by time of day"
    assert "the season comes again after 24 and 168 hours: as given, or as the times tell" in words
    assert found.contributions is not None
    assert list(found.contributions.columns())[:3] == ["when", "load", "mean"]
    assert found.step == "hour"
    assert not any("gain" in name or " of the log" in name for name in found.shares)
    assert len(found.shares) > 50
    assert words[-1].endswith(f"{len(found.shares) - 4} others")


def test_a_target_that_is_named_as_a_part_is_called_y() -> None:
    found = explain({"level": np.arange(30.0) % 7}, horizon=2, target="level").contributions
    assert found is not None
    assert list(found.columns())[:3] == ["step", "y", "mean"]
