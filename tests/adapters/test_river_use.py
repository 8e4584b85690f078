"""AutoBypass within River: pipelines, evaluation, selection of models, series, anomalies and drift."""

import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("river", reason="River is not installed; pip install 'adabypass[river]'")

from river import anomaly, compose, datasets, drift, evaluate, linear_model, metrics, model_selection, preprocessing

from adabypass import AutoBypass, Forecaster
from adabypass.adapters.river import (
    AutoBypassAnomalyDetector,
    AutoBypassDriftDetector,
    AutoBypassForecaster,
    AutoBypassRegressor,
)
from adabypass.errors import NotANumberError, NotReadyError, ParameterError

PASSENGERS = [y for _, y in datasets.AirlinePassengers()]


def test_it_is_the_last_step_of_a_pipeline() -> None:
    categories = compose.SelectType(str) | preprocessing.OneHotEncoder()
    model = (categories + compose.SelectType(int, float)) | AutoBypassRegressor()
    rng = random.Random(0)
    effect = {"a": 1.0, "b": 5.0, "c": -3.0}
    metric = metrics.MAE()
    for _ in range(400):
        x: dict[str, Any] = {"kind": rng.choice("abc"), "size": rng.gauss(0, 1)}
        y = effect[x["kind"]] + 2 * x["size"] + rng.gauss(0, 0.1)
        metric.update(y, model.predict_one(x))
        model.learn_one(x, y)
    assert metric.get() < 0.3


def test_progressive_validation_beats_river_s_own_bayesian_regression() -> None:
    scores = [
        evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE()).get()
        for model in (AutoBypassRegressor(), linear_model.BayesianLinearRegression())
    ]
    assert scores[0] < 0.5 * scores[1]


def test_models_are_selected_among() -> None:
    models = [AutoBypassRegressor(learn_intercept=False), AutoBypassRegressor()]
    selector = model_selection.GreedyRegressor(models, metric=metrics.MAE())
    rng = random.Random(0)
    for _ in range(300):
        x = {"size": rng.gauss(0, 1)}
        selector.learn_one(x, 10 + x["size"])
    assert selector.best_model is models[1]


def test_forecasts_equal_those_of_the_forecaster() -> None:
    model, forecaster = AutoBypassForecaster(lags=2, seasonal_lags=12), Forecaster(lags=2, seasonal_lags=12)
    for y in PASSENGERS:
        model.learn_one(y)
        forecaster.update(y)
    expected = forecaster.forecast(5)
    assert model.forecast(5) == expected.mean.tolist()
    assert model.forecast(5, with_dist=True).sd.tolist() == expected.sd.tolist()


def test_features_of_a_series_come_in_any_order_and_are_0_where_absent() -> None:
    model, forecaster = AutoBypassForecaster(), Forecaster()
    rng = np.random.default_rng(0)
    for i, y in enumerate(PASSENGERS):
        a, b = rng.normal(size=2).tolist()
        model.learn_one(y, [{"a": a, "b": b}, {"b": b, "a": a}, {"a": a}][i % 3])
        forecaster.update(y, [a, b if i % 3 != 2 else 0.0])
    assert model.forecast(2, [{"b": 1.0}, {"a": 2.0}]) == forecaster.forecast(2, [[0.0, 1.0], [2.0, 0.0]]).mean.tolist()
    with pytest.raises(ParameterError, match="the feature 'c' is new"):
        model.learn_one(1.0, {"c": 1.0})
    too_few: list[Any] = [None, [{}]]
    for wrong in too_few:
        with pytest.raises(ParameterError, match="xs must hold 2 rows, with the features a, b"):
            model.forecast(2, wrong)


def test_before_its_lags_are_there_it_forecasts_0() -> None:
    model = AutoBypassForecaster(lags=3)
    assert model.forecast(2) == [0.0, 0.0]
    model.learn_one(1.0)
    assert model.forecast(2) == [0.0, 0.0]
    with pytest.raises(NotReadyError):
        model.forecast(2, with_dist=True)


def test_a_series_is_evaluated_at_every_horizon_within_a_pipeline() -> None:
    months = compose.FuncTransformer(lambda x: {"summer": float(6 <= x["month"].month <= 8)})
    model = months | AutoBypassForecaster(lags=2, seasonal_lags=12)
    metric = evaluate.evaluate(datasets.AirlinePassengers(), model, metrics.MAE(), horizon=3)
    assert all(score < 40 for score in metric.get())


def test_a_time_among_the_features_is_refused_with_the_remedy() -> None:
    x, y = next(iter(datasets.AirlinePassengers()))
    with pytest.raises(NotANumberError, match=r"the feature 'month' is datetime.*compose.FuncTransformer"):
        AutoBypassForecaster().learn_one(y, x)


def test_scores_are_the_size_of_the_surprise() -> None:
    model, detector = AutoBypass(), AutoBypassAnomalyDetector()
    rng = np.random.default_rng(0)
    for x in rng.normal(size=(100, 2)):
        row, y = dict(enumerate(x.tolist())), float(x.sum() + rng.standard_t(3))
        forecast = model.predict(x)
        assert detector.score_one(row, y) == (abs(forecast.surprise(y)) if forecast.is_known else 0.0)
        model.update(x, y)
        detector.learn_one(row, y)


def test_anomalies_are_filtered_and_normal_rows_are_not() -> None:
    rng = random.Random(0)
    detector = anomaly.ThresholdFilter(AutoBypassAnomalyDetector(), threshold=4.0)
    found = []
    for i in range(600):
        y = rng.gauss(5, 1) + (30.0 if i in {300, 500} else 0.0)
        if detector.classify(detector.score_one(None, y)):
            found.append(i)
        detector.learn_one(None, y)
    assert set(found) >= {300, 500}
    assert len([i for i in found if i > 20]) <= 3


def test_no_anomaly_is_announced_before_the_rate_can_be_known() -> None:
    rng = np.random.default_rng(0)
    n_early = n_found = 0
    for _ in range(20):
        detector = AutoBypassAnomalyDetector()
        for i in range(200):
            detector.learn_one(None, float(rng.standard_t(3)) + (60.0 if i == 199 else 0.0))
            n_early += detector.is_anomaly and i < 100
        n_found += detector.is_anomaly
    assert n_early <= 4  # two of 2,000 are expected
    assert n_found >= 15


def alarms(stream: Any) -> list[int]:
    detector, found = AutoBypassDriftDetector(), []
    for i, x in enumerate(stream):
        detector.update(x)
        if detector.drift_detected:
            assert detector.change in {"level", "noise"}
            found.append(i)
    return found


@pytest.mark.parametrize(("before", "after"), [((0, 1), (3, 1)), ((0, 1), (0, 3))])
def test_a_change_of_level_or_noise_is_detected_soon(before: Any, after: Any) -> None:
    for seed in range(5):
        rng = random.Random(seed)
        found = alarms([rng.gauss(*(before if i < 500 else after)) for i in range(700)])
        assert any(500 <= i < 550 for i in found)


def test_false_alarms_of_drift_are_rare() -> None:
    rng = np.random.default_rng(0)
    assert len(alarms(rng.normal(size=10_000).tolist())) <= 10  # what is promised, of normal numbers far more than come


def test_drift_detectors_are_copied_and_used_by_river() -> None:
    model = drift.DriftRetrainingClassifier(
        linear_model.LogisticRegression(),
        drift_detector=AutoBypassDriftDetector(),
        train_in_background=False,
    )
    for x, y in datasets.Phishing().take(200):
        model.learn_one(x, y)
    assert AutoBypassDriftDetector().clone().drift_detected is False
