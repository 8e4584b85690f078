"""A trace scores what it recorded."""

from typing import Any

import numpy as np
import pytest
from pytest import approx

from adabypass import AutoBypass, Bypass, Forecaster, Mixture, Normal, PassiveAggressive, Scores, Trace, evaluate
from adabypass.errors import (
    MissingExtraError,
    NotANumberError,
    NotEnoughDataError,
    ParameterError,
    PointForecastError,
    ShapeError,
    UnknownNameError,
)
from adabypass.evaluation import pit_histogram


def small_trace() -> Trace:
    y = np.array([1.0, 2.0, np.nan, 4.0, -3.0])
    return Trace(y, Normal(np.array([0.0, 2.5, 1.0, 3.0, 0.0]), np.ones(5)), {"epsilon": np.arange(5.0)})


def test_scores_are_those_of_the_observed_points() -> None:
    scores = small_trace().scores()
    errors = np.array([1.0, 0.5, 1.0, 3.0])
    assert scores["rmse"] == approx(np.sqrt(np.mean(errors**2)))
    assert scores["mae"] == approx(errors.mean())
    assert scores["mad"] == approx(np.median(errors))
    assert scores["log_likelihood"] == approx(-0.5 * (errors**2).sum() - 2 * np.log(2 * np.pi))
    assert scores["coverage_50"] == approx(1 / 4)  # 0.674 standard deviations: only the error of 0.5
    assert scores["coverage_90"] == approx(3 / 4)
    assert scores["width_95"] == approx(2 * 1.959964, rel=1e-6)


def test_skipped_points_do_not_count() -> None:
    assert small_trace().scores(skip=3)["mae"] == approx(2.0)
    says = "nothing to score: of 5 observations, the first 5 are skipped, 0 are missing, and 0 came before anything"
    with pytest.raises(NotEnoughDataError, match=says):
        small_trace().scores(skip=5)
    with pytest.raises(ParameterError, match="skip is 9, but must be a whole number from 0 to 5"):
        small_trace().scores(skip=9)


def test_scores_tell_how_far_they_have_come() -> None:
    y = np.random.default_rng(0).normal(size=1201)
    calls: list[int] = []
    mean, weight = np.zeros((1201, 2)), np.full((1201, 2), 0.5)
    told, silent = (Trace(y, Mixture.of(weight=weight, mean=mean, signal_var=[1.0, 4.0]), {}) for _ in range(2))
    assert dict(told.scores(progress=calls.append)) == dict(silent.scores())
    assert sum(calls) == 1201
    assert len(calls) > 2
    told.scores(progress=calls.append)  # known by now
    assert calls[-1] == 1201


def test_coverage_of_a_true_model_is_nominal() -> None:
    rng = np.random.default_rng(0)
    mean, sd = rng.normal(size=50_000), rng.uniform(0.5, 2.0, 50_000)
    scores = Trace(rng.normal(mean, sd), Normal(mean, sd**2), {}).scores()
    for level in (50, 90, 95):
        assert scores[f"coverage_{level}"] == approx(level / 100, abs=0.01)  # over four standard errors


def test_surprisal_is_what_the_log_score_lacks_of_its_expectation() -> None:
    y, sd = np.array([0.5, 3.0, np.nan]), np.array([1.0, 2.0, 1.0])
    surprisal = Trace(y, Normal(np.zeros(3), sd**2), {}).surprisal()
    assert surprisal[:2] == approx([0.5 * 0.5**2 - 0.5, 0.5 * 1.5**2 - 0.5])  # by hand: the constants cancel
    assert np.isnan(surprisal[2])


def test_surprisal_is_zero_on_average_and_rises_where_the_world_changes() -> None:
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(size=600), rng.normal(scale=8.0, size=20)])
    surprisal = AutoBypass().run(rng.normal(size=(len(y), 1)), y).surprisal()
    assert abs(surprisal[100:600].mean()) < 0.1  # its standard error is 0.03
    assert surprisal[600:605].mean() > 3


def test_the_median_has_the_least_mean_absolute_error() -> None:
    rng = np.random.default_rng(0)
    one = Mixture.of(weight=[0.8, 0.2], mean=[0.0, 10.0], signal_var=1.0)
    y = np.atleast_1d(one.sample(rng, 4000))
    many = Mixture.of(weight=[[0.8, 0.2]] * 4000, mean=[[0.0, 10.0]] * 4000, signal_var=1.0)
    scores = Trace(y, many, {}).scores()
    assert one.cdf(one.median) == approx(0.5)
    assert many.median == approx(one.median)
    assert scores["mae"] == approx(np.abs(y - one.median).mean())
    assert scores["mae"] < 0.9 * np.abs(y - one.mean).mean()
    assert scores["rmse"] < np.sqrt(np.mean((y - one.median) ** 2))
    assert Normal(3.0, 2.0).median == 3.0


def test_a_point_forecast_has_only_errors() -> None:
    trace = PassiveAggressive().run([[1.0], [1.0]], [1.0, 2.0])
    assert list(trace.scores()) == ["rmse", "mad", "mae", "n", "n_left_out"]
    with pytest.raises(PointForecastError):
        _ = trace.log_score
    assert list(trace.to_frame().columns) == ["y", "mean"]


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_frame_holds_forecasts_and_parameters(backend: Any) -> None:
    trace = Bypass().run([[1.0], [1.0]], [1.0, np.nan])
    frame = trace.to_frame(backend)
    assert type(frame).__module__.startswith(backend)
    assert list(frame.columns)[:5] == ["y", "mean", "sd", "log_score", "drift_prec"]
    assert list(frame["sd"]) == approx(list(trace.sd))


def test_an_unknown_or_absent_data_frame_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = small_trace()
    with pytest.raises(UnknownNameError, match="'pandas', 'polars', 'pyarrow'"):
        trace.to_frame("excel")  # type: ignore[arg-type]
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="pip install pyarrow"):
        trace.to_frame("pyarrow")


def test_traces_and_scores_read_well() -> None:
    assert repr(small_trace()) == "Trace(5 observations, 1 missing; history of epsilon)"
    assert repr(small_trace().scores()).splitlines()[0].split() == ["rmse", "1.67705"]


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"y": "high"}, NotANumberError, "y is 'high', but must be made of numbers"),
        ({"y": np.zeros((3, 1))}, ShapeError, r"y has shape \(3, 1\), but must have shape \(n,\)"),
        ({"predictive": None}, ParameterError, "predictive is None, but must be forecasts: a Normal"),
        ({"predictive": Normal(0.0, 1.0)}, ShapeError, r"which is one forecast; pass many"),
        (
            {"y": np.zeros(4)},
            ShapeError,
            "predictive holds 3 forecasts, but y has 4 values; pass one forecast for each",
        ),
        ({"history": 5.0}, ParameterError, "history is 5.0, but must be a dict of names and arrays; {} for none"),
        (
            {"history": {"drift": np.ones(2)}},
            ShapeError,
            r"history\['drift'\] has shape \(2,\), but must have shape \(3,",
        ),
        ({"weights_mean": np.ones(3)}, ShapeError, r"weights_mean has shape \(3,\), but must have shape \(3, n_featur"),
        ({"log_score": np.ones((3, 1))}, ShapeError, r"log_score has shape \(3, 1\), but must have shape \(3,\)"),
        ({"first": -1}, ParameterError, "first is -1, but must be a whole number"),
    ],
)
def test_a_trace_of_parts_that_do_not_fit_is_refused(changed: dict[str, Any], error: Any, words: str) -> None:
    parts: dict[str, Any] = {"y": np.zeros(3), "predictive": Normal(np.zeros(3), np.ones(3)), "history": {}}
    with pytest.raises(error, match=words):
        Trace(**(parts | changed))


def test_scores_are_numbers() -> None:
    with pytest.raises(NotANumberError, match=r"the score 'rmse' is \[1.0\], but must be a number"):
        Scores({"rmse": [1.0]})  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match="values is 3, but must be a dict with names as keys"):
        Scores(3)  # type: ignore[arg-type]


def test_skipped_observations_are_those_of_the_series() -> None:
    """The first forecast of a trace is made from `first` observations: so many need no skipping."""
    y, mean = np.arange(6.0), np.array([0.0, 1.0, 2.0, 3.0, 4.0, 9.0])
    for first, skip in ((0, 5), (3, 8)):
        trace = Trace(y, Normal(mean, np.ones(6)), {}, first=first)
        assert trace.scores(skip=skip)["n"] == 1
        assert trace.scores(skip=first)["n"] == 6
        assert pit_histogram(trace, bins=1, skip=skip).density.tolist() == [1.0]
        assert trace.scores(skip=skip)["mae"] == 4.0


@pytest.mark.parametrize("options", [{}, {"horizon": 3}, {"horizon": 2, "every": 7}])
@pytest.mark.parametrize("lags", [1, 5])
def test_evaluate_and_its_trace_skip_the_same(options: dict[str, Any], lags: int) -> None:
    y = np.random.default_rng(0).normal(size=120)
    every = evaluate(y, Forecaster(lags=lags), skip=0, **options)
    some = evaluate(y, Forecaster(lags=lags), skip=31, **options)
    step = options.get("horizon", 1)
    assert dict(every.trace(step).scores(skip=31)) == dict(some.scores(step))
