"""The wind study gives the figures known of it, and says what it did."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest import approx

from adabypass.datasets import load_dataset
from adabypass.distributions.predictive import Mixture, Normal
from adabypass.errors import ParameterError
from adabypass.evaluation.prequential import SKIP
from adabypass.experiments import wind
from adabypass.forecasting import Forecaster
from adabypass.regressors import AdaBypass, AutoBypass, Bypass, Regressor, SequentialKalman
from adabypass.results.trace import Trace

GUIDE = Path(__file__).parents[2] / "docs/guides/wind.md"
PIECE = slice(4_700, 5_500)
"""A piece of the series with a gap of four values in it."""


@pytest.fixture(scope="module")
def study() -> wind.Study:
    whole = load_dataset("wind")
    piece = whole._replace(time=whole.time[PIECE], y=whole.y[PIECE])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wind, "load_dataset", lambda _: piece)
        return wind.run()


@pytest.fixture(scope="module")
def far() -> wind.Study:
    return wind.run(lags=2, horizon=3, length=400)


def nothing(_: int) -> None:
    """Ignore progress."""


def test_bypass_has_the_error_known_of_a_correct_implementation() -> None:
    speed = load_dataset("wind").y
    filled = wind.fill(speed)
    trace = Forecaster(Bypass(), lags=1).run(filled - filled.mean())
    assert len(trace) == 40_173
    score = wind.score(trace, SKIP, nothing)
    assert score.rmse == approx(0.646, abs=0.002)
    assert score.coverage_90 == approx(0.988, abs=0.001)


@pytest.mark.parametrize(
    ("name", "how", "model"),
    [
        ("ADA-BYPASS", "2 sweeps a step", AdaBypass(max_sweeps=2)),
        ("ADA-BYPASS", "to convergence", AdaBypass()),
        ("BYPASS", "2 sweeps a step", Bypass(max_sweeps=2)),
        ("BYPASS", "to convergence", Bypass()),
        ("SKF", "noise variance 1", SequentialKalman()),
        ("SKF", "noise variance adapted", SequentialKalman(adapt_noise=True)),
    ],
)
def test_the_guide_has_the_figures_of_the_paper_s_models(name: str, how: str, model: Regressor) -> None:
    speed = load_dataset("wind").y
    filled = wind.fill(speed)
    trace = Forecaster(model, lags=1).run(filled - filled.mean())
    trace.y = (speed - filled.mean())[1:]
    got = wind.score(trace, SKIP, nothing)
    errors = " | ".join(f"{value:.3f}" for value in (got.rmse, got.mad, got.mae))
    figures = f"{errors} | {got.log_likelihood:,.0f} | {got.crps:.3f} | {got.coverage_90:.1%} |".replace("% |", " % |")
    assert f"| {name} | {how} | {figures}" in GUIDE.read_text()


def test_the_table_has_every_model_and_the_paper_beside_it(study: wind.Study) -> None:
    assert [(line.model, line.how) for line in study.results] == [
        ("ADA-BYPASS", "paper"),
        ("ADA-BYPASS", "2 sweeps a step"),
        ("ADA-BYPASS", "to convergence"),
        ("BYPASS", "2 sweeps a step"),
        ("BYPASS", "to convergence"),
        ("SKF", "paper"),
        ("SKF", "noise variance 1"),
        ("SKF", "noise variance adapted"),
        ("AutoBypass", "gaps filled"),
        ("AutoBypass", "gaps left open"),
    ]
    paper = [line.score[1:5] for line in study.results if line.trace is None]
    assert paper == [(0.6, 0.3, 0.42, -24971.75), (0.64, 0.31, 0.44, -30140.04)]


def test_every_line_is_scored_on_the_same_measured_values(study: wind.Study) -> None:
    scores = [line.score for line in study.results if line.trace is not None]
    assert {score.n for score in scores} == {800 - 1 - SKIP - 4}
    assert study.repeated.n == scores[0].n
    assert len(study.time) == 799


def test_gaps_left_open_are_scored_in_all_but_crps(study: wind.Study) -> None:
    filled, left_open = (line.score for line in study.results[-2:])
    assert np.isnan(left_open.crps)
    assert left_open._replace(crps=filled.crps) == approx(filled, rel=0.01)
    assert left_open.log_likelihood != filled.log_likelihood


def test_autobypass_is_ahead_of_bypass_in_every_score(study: wind.Study) -> None:
    assert study.against_bypass() == (["RMSE", "MAD", "MAE", "LL", "CRPS", "coverage"], [])
    assert "ahead of BYPASS in RMSE, MAD, MAE, LL, CRPS and coverage." in study.remark


def test_a_score_in_which_autobypass_is_behind_is_named(study: wind.Study) -> None:
    lines = [
        line._replace(score=line.score._replace(rmse=9.0, crps=9.0)) if line.model == "AutoBypass" else line
        for line in study.results
    ]
    assert "in MAD, MAE, LL and coverage, and not in RMSE and CRPS." in study._replace(results=lines).remark


def test_scores_are_those_of_the_trace() -> None:
    trace = Forecaster(AutoBypass(), lags=1).run(load_dataset("wind").y[5_300:5_450])  # a gap is among them
    ours, expected = wind.score(trace, SKIP, nothing), trace.scores(skip=trace.first + SKIP)
    for name in ("rmse", "mad", "mae", "log_likelihood", "crps", "coverage_90"):
        assert getattr(ours, name) == approx(expected[name], rel=1e-12), name
    assert ours.n == 150 - 1 - SKIP - 4


def test_a_score_can_be_worked_out_by_hand() -> None:
    trace = Trace(y=np.array([9.0, 1.0, np.nan, -2.0, 4.0]), predictive=Normal(np.zeros(5), np.ones(5)), history={})
    score = wind.score(trace, 1, nothing)
    assert score[:4] == approx((3, 7**0.5, 2.0, 7 / 3))
    assert score.log_likelihood == approx(-(1 + 4 + 16) / 2 - 1.5 * np.log(2 * np.pi))
    assert score.coverage_90 == approx(1 / 3)  # the interval ends at 1.645


def test_gaps_are_filled_by_straight_lines() -> None:
    assert wind.fill(np.array([1.0, np.nan, np.nan, 4.0, 2.0])).tolist() == [1.0, 2.0, 3.0, 4.0, 2.0]


def test_repeating_the_last_value_errs_by_the_steps_of_the_series(far: wind.Study) -> None:
    steps = np.diff(load_dataset("wind").y[:400])[1 + SKIP :]
    assert far.repeated.n == len(steps)
    assert far.repeated.rmse == approx(np.sqrt(np.mean(steps**2)))


def test_many_steps_are_scored_one_by_one_and_get_harder(far: wind.Study) -> None:
    assert [each.model for each in far.ahead] == ["AutoBypass", "BYPASS", "SKF"]
    for each in far.ahead:
        assert len(each.scores) == 3
        assert each.n_origins == 10  # 37, 74, ..., 370
        assert {score.n for score in each.scores} == {10}
        assert each.scores[2].crps > each.scores[0].crps


def test_lags_are_used_and_named(far: wind.Study) -> None:
    trace = far.headline
    assert isinstance(trace.predictive, Mixture)
    assert (len(trace), trace.first) == (398, 2)
    assert "AR(2)" in far.setting


def test_progress_goes_up_to_its_end() -> None:
    reported: list[tuple[int, int]] = []
    wind.run(horizon=2, progress=lambda done, total: reported.append((done, total)), length=300)
    done = [each for each, _ in reported]
    assert done == sorted(done)
    assert done[-1] == reported[-1][1]
    assert len(reported) > 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lags": 0}, "lags is 0, but must be a whole number from 1 to 36"),
        ({"horizon": 37}, "horizon is 37, but must be a whole number from 1 to 36"),
        ({"length": 58}, "length is 58, but must be a whole number from 59 to 40174"),
    ],
)
def test_what_cannot_be_run_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        wind.run(**options)
