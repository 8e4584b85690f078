"""Pairs are checked, fitted without a look ahead, and traded as the guide says."""

import re
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from pytest import approx

from adabypass import AdaBypass, Bypass, EvidenceBypass, PassiveAggressive, Regressor, SequentialKalman
from adabypass.errors import AdabypassError, NotANumberError, PriceError, UnknownNameError
from adabypass.experiments import pairs
from adabypass.experiments.pairs import ModelName, Prices, Rules

GLD_GDX = Path(__file__).parents[2].parent / "shared/data/gld_gdx.csv"
GUIDE = Path(__file__).parents[2] / "docs/guides/pairs.md"
MODELS = get_args(ModelName)
DAYS = np.datetime64("2020-01-01") + np.arange(4)


def simulated(n: int = 120, seed: int = 0) -> Prices:
    rng = np.random.default_rng(seed)
    x = 50 * np.exp(np.cumsum(rng.normal(0, 0.01, n)))
    return pairs.prices(2.0 * x + rng.normal(0, 2, n), x)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("day", [3, 19, 25, 80])
def test_what_comes_after_a_day_changes_nothing_up_to_it(model: ModelName, intercept: bool, day: int) -> None:
    """Prices after `day` are replaced; what was decided and earned up to its close must not move by a bit."""
    pair, rules = simulated(), Rules(entry=0.7, exit=0.2, costs_bp=3, warm_up_days=1)
    other = simulated(seed=9)
    past = np.arange(len(pair.y)) <= day
    changed = pair._replace(y=np.where(past, pair.y, 3 * other.y), x=np.where(past, pair.x, other.x))
    known, rewritten = (pairs.trade(pairs.fit(p, model, intercept=intercept), rules) for p in (pair, changed))
    assert np.array_equal(known.sides[past], rewritten.sides[past])
    assert np.array_equal(known.holdings[past], rewritten.holdings[past])
    assert np.array_equal(known.returns[past], rewritten.returns[past])
    assert not np.array_equal(known.holdings, rewritten.holdings) or not known.sides.any()


def test_a_day_s_holdings_earn_the_next_day_s_returns() -> None:
    pair = simulated()
    tested = pairs.trade(pairs.fit(pair, "skf"), Rules(entry=0.5, costs_bp=0, warm_up_days=1))
    moves = np.column_stack([pair.y[1:] / pair.y[:-1], pair.x[1:] / pair.x[:-1]]) - 1
    assert len(tested.trades) > 5
    assert tested.returns[1:] == approx((tested.holdings[:-1] * moves).sum(axis=1))


def test_trades_add_up_to_the_returns() -> None:
    tested = pairs.trade(pairs.fit(simulated(), "skf"), Rules(entry=0.5, costs_bp=20, warm_up_days=1))
    assert sum(trade.result for trade in tested.trades) == approx(tested.returns.sum())


@pytest.mark.parametrize("model", MODELS)
def test_the_hedge_ratio_is_found(model: ModelName) -> None:
    fitted = pairs.fit(simulated(400), model)
    assert fitted.hedge_ratio[-1] == approx(2.0, rel=0.05)
    assert fitted.spread == approx(fitted.prices.y - fitted.trace.mean, nan_ok=True)


def test_with_an_intercept_the_constant_is_not_taken_for_hedge() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(40, 60, 400)
    pair = pairs.prices(100 + 0.5 * x + rng.normal(0, 0.1, 400), x)
    assert pairs.fit(pair, "auto", intercept=True).hedge_ratio[-1] == approx(0.5, abs=0.02)
    assert pairs.fit(pair, "auto").hedge_ratio[-1] > 1.5


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x": [4.0, 5.0, 6.0]}, "gold has 4 prices and mine has 3"),
        ({"x": [4.0, np.nan, 6.0, 7.0]}, "the price of mine on 2020-01-02 is missing"),
        ({"x": [4.0, 5.0, 0.0, 7.0]}, "the price of mine on 2020-01-03 is 0.0, but must be above 0"),
        ({"y": [4.0, 5.0, 6.0, -7.0]}, "the price of gold on 2020-01-04 is -7.0"),
        ({"y": [4.0, 5.0, np.inf, 7.0]}, "above 0 and finite"),
        ({"y": [[1.0], [2.0], [3.0], [4.0]]}, "gold has shape"),
        ({"time": DAYS[::-1]}, "the day 2020-01-03 follows 2020-01-04"),
        ({"time": DAYS[[0, 1, 1, 2]]}, "the day 2020-01-02 comes twice"),
        ({"time": DAYS[:3]}, r"time has shape \(3,\)"),
        ({"time": np.array(["2020-01-01", "NaT", "2020-01-03", "2020-01-04"], "M8[D]")}, r"time\[1\] is no date"),
        ({"x_time": DAYS + np.array([0, 0, 1, 1])}, "row 2 is the day 2020-01-03 of gold, but 2020-01-04 of mine"),
        ({"x_time": DAYS[:2]}, "have shapes"),
        ({"y": [1.0, 2.0], "x": [1.0, 2.0], "time": DAYS[:2]}, "at least 3"),
    ],
)
def test_prices_that_cannot_be_traded_are_refused(given: dict[str, Any], words: str) -> None:
    good = {"y": [1.0, 2.0, 3.0, 4.0], "x": [4.0, 5.0, 6.0, 7.0], "time": DAYS}
    with pytest.raises(PriceError, match=words):
        pairs.prices(**(good | given), names=("gold", "mine"))


def test_words_are_no_prices() -> None:
    with pytest.raises(NotANumberError, match="gold is"):
        pairs.prices(["a", "b", "c"], [1, 2, 3], names=("gold", "mine"))


def test_an_unknown_model_and_a_point_forecast_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="'auto', 'ada', 'bypass', 'skf'"):
        pairs.fit(simulated(), "arima")  # type: ignore[arg-type]
    with pytest.raises(AdabypassError, match="a band needs a distribution"):
        pairs.fit(simulated(), PassiveAggressive())


def test_the_study_runs_every_model_at_every_cost_and_reports_progress() -> None:
    reported: list[tuple[int, int]] = []
    study = pairs.run(simulated(), draws=20, progress=lambda done, total: reported.append((done, total)))
    assert {(r.model, r.costs_bp) for r in study.results} == {
        (label, costs) for label in pairs.LABELS.values() for costs in (0.0, 5.0)
    }
    assert reported == [(k, 10) for k in range(1, 11)]
    assert len(study.sensitivities) == 24
    assert {s.y for s in study.sensitivities} == {"y", "x"}


def test_the_paper_s_figures_stand_beside_its_own_pair_only() -> None:
    assert [r.sharpe for r in pairs.run(simulated(), draws=2, beside_paper=True).results if r.how == "paper"] == [
        1.12,
        0.7,
    ]
    assert not [r for r in pairs.run(simulated(), draws=2).results if r.how == "paper"]


def test_a_sensitivity_at_the_study_s_own_choices_is_the_study_s_result() -> None:
    study = pairs.run(simulated(), draws=2)
    own = next(s for s in study.sensitivities if (s.y, s.intercept, s.exit, s.entry) == ("y", False, 1.0, 1.0))
    free = {r.model: r.sharpe for r in study.results if r.costs_bp == 0.0 and r.how != "2 sweeps a step"}
    assert own.sharpe == approx(free, nan_ok=True)


@pytest.fixture(scope="module")
def gld_gdx() -> pairs.Study:
    if not GLD_GDX.exists():
        pytest.skip(f"vendor prices, which may not be embedded, are not at {GLD_GDX}")
    table = np.genfromtxt(GLD_GDX, delimiter=",", names=True, dtype=None, encoding="utf-8")
    days = table["date"].astype("datetime64[D]")
    pair = pairs.prices(table["gld_adj_close"], table["gdx_adj_asof_20150422"], days, names=("GLD", "GDX"))
    return pairs.run(pair, draws=2)


@pytest.mark.xdist_group("gld_gdx")
def test_gld_and_gdx_give_what_the_guide_says(gld_gdx: pairs.Study) -> None:
    got = {(r.model, r.how, r.costs_bp): (r.sharpe, 100 * r.max_drawdown, r.drawdown_days) for r in gld_gdx.results}
    assert got["BYPASS", "to convergence", 0.0] == approx((0.958, 11.89, 281), abs=0.01)
    assert got["SKF", "noise variance 1", 0.0] == approx((0.704, 18.17, 573), abs=0.01)
    assert got["ADA-BYPASS", "to convergence", 0.0] == approx((0.507, 11.46, 1021), abs=0.01)
    assert got["BYPASS", "to convergence", 5.0][0] == approx(0.555, abs=0.01)
    assert got["AutoBypass", "as it comes", 0.0][0] == approx(0.696, abs=0.02)


@pytest.mark.xdist_group("gld_gdx")
def test_both_readings_of_the_band_give_what_the_guide_says(gld_gdx: pairs.Study) -> None:
    text = GUIDE.read_text()
    assert len(gld_gdx.readings) == 20
    for each in gld_gdx.readings:
        if (each.model, each.how) == ("BYPASS", "2 sweeps a step"):
            continue  # as good as those to convergence: the guide leaves them out
        got, waits = each.metrics, " | ".join(f"{each.sharpe_by_wait[days]:.2f}" for days in pairs.WAITS)
        assert (
            f"| {each.model} | {each.how} | {each.band} | {each.exit:g} | {got.sharpe:.2f} | "
            f"{100 * got.max_drawdown:.2f} % | {got.drawdown_days} | {each.sharpe_after_costs:.2f} | {waits} |"
        ) in text


@pytest.mark.parametrize("model", MODELS)
def test_the_noise_s_band_is_what_the_model_knew_before_the_day(model: ModelName) -> None:
    fitted = pairs.fit(simulated(), model)
    band, learned = fitted.band_sd("noise"), fitted.trace.history
    after = learned["noise_prec"] ** -0.5 if "noise_prec" in learned else None
    if after is None:
        after = np.sqrt(learned["noise_var"]) if "noise_var" in learned else learned["noise_scale"]
    known = after[:-1] > 0
    assert band[1:][known] == approx(after[:-1][known])
    assert np.isinf(band[0])
    if model != "auto":  # whose parameters are those of a mixture
        assert (band[25:] <= fitted.trace.sd[25:] * (1 + 1e-9)).all()  # the forecast's holds the weights' besides


def test_both_bands_are_traded_and_an_unknown_one_is_refused() -> None:
    fitted = pairs.fit(simulated(), "bypass")
    wide, narrow = (
        pairs.trade(fitted, Rules(entry=0.5, exit=0.5, band=band, costs_bp=0)).metrics for band in get_args(pairs.Band)
    )
    assert narrow.exposure > wide.exposure > 0
    with pytest.raises(UnknownNameError, match="'predictive', 'noise'"):
        pairs.trade(fitted, Rules(band="wide"))  # type: ignore[arg-type]
    with pytest.raises(PriceError, match="how wide its noise is"):
        pairs.trade(pairs.fit(simulated(), EvidenceBypass()), Rules(band="noise"))


def test_a_study_by_the_noise_s_band_shows_it_in_results_and_readings_alike() -> None:
    study = pairs.run(simulated(), band="noise", draws=2)
    own = {(r.model, r.how): r.metrics.sharpe for r in study.readings if (r.band, r.exit) == ("noise", 1.0)}
    free = {(r.model, r.how): r.sharpe for r in study.results if r.costs_bp == 0.0 and r.model != "AutoBypass"}
    assert own == approx(free, nan_ok=True)
    assert study.headline[1].rules.band == "noise"


@pytest.mark.parametrize(
    ("label", "how", "model"),
    [
        ("ADA-BYPASS", "to convergence", AdaBypass()),
        ("ADA-BYPASS", "2 sweeps a step", AdaBypass(max_sweeps=2)),
        ("BYPASS", "to convergence", Bypass()),
        ("SKF", "noise variance 1", SequentialKalman()),
    ],
)
def test_gold_and_silver_give_what_the_guide_says(label: str, how: str, model: Regressor) -> None:
    fitted, said = pairs.fit(pairs.gold_silver(), model), GUIDE.read_text().split("## Gold explained by silver")[1]
    for costs in (0.0, 5.0):
        got = pairs.trade(fitted, pairs.RULES._replace(costs_bp=costs)).metrics
        sharpe = "-" if np.isnan(got.sharpe) else f"{got.sharpe:.2f}"
        drawdown = rf"{100 * got.max_drawdown:.2f} % \| {got.drawdown_days} \|"
        assert re.search(rf"\| {label} \| {how} \| {costs:g} bp \| {sharpe} \| [^|]* \| {drawdown}", said)
