"""A model that learns from the forecast it has just made equals one that makes the forecast again, bit for bit."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass import AdaBypass, AutoBypass, EvidenceBypass, Forecaster, Regressor, SequentialKalman
from adabypass.errors import NotFiniteError
from tests.checks.regressors import Make, bits, every_regressor, row_of, trained

FEATURES = [[0.5, -1.0, 2.0], [0.5, -1.0, 2.5], [0.0, 1.0, 1e200], [-0.0, 1.0, 1e200], [0.0, 0.0, 0.0]]
TARGETS = [1.0, -2.5, np.nan, 1e100]
OPERATIONS = ["predict", "update", "step", "predict and update", "run", "pickle", "copy", "bad x", "bad y"]

operations = st.lists(
    st.tuples(st.sampled_from(OPERATIONS), st.sampled_from(FEATURES), st.sampled_from(TARGETS)), max_size=12
)


def numbers_of(forecast: Any) -> bytes:
    """Return all that a forecast says, bit for bit."""
    if forecast is None or forecast.is_point:
        return b"" if forecast is None else bits(forecast.mean)
    components = getattr(forecast, "components", None)
    return bits([forecast.mean, forecast.var]) + (b"" if components is None else components.tobytes())


def apply(model: Regressor, operation: str, x: Any, y: float) -> tuple[Regressor, list[bytes]]:
    """Return the model after an operation, and the forecasts that it made."""
    match operation:
        case "predict":
            return model, [numbers_of(model.predict(x))]
        case "update":
            model.update(x, y)
        case "step":
            return model, [numbers_of(model.step(x, y))]
        case "predict and update":
            seen = [numbers_of(model.predict(x)), numbers_of(model.predict(x))]
            model.update(x, y)
            return model, seen
        case "run":
            model.run([x, FEATURES[0]], [y, 1.0])
        case "pickle":
            return pickle.loads(pickle.dumps(model)), []
        case "copy":
            return model.copy(), []
        case "bad x":
            with pytest.raises(NotFiniteError):
                model.predict([x[0], np.nan, x[2]])
        case "bad y":
            with pytest.raises(NotFiniteError):
                model.update(x, np.inf)
    return model, []


@every_regressor
@given(chosen=operations)
@settings(max_examples=60)
def test_remembering_the_newest_forecast_changes_nothing(make: Make, chosen: list[tuple[str, Any, float]]) -> None:
    model, forgetful = make(), make()
    same_array = np.empty(3)  # which array holds the features does not matter, only what they are
    for operation, x, y in chosen:
        same_array[:] = x
        model, seen = apply(model, operation, same_array, y)
        forgetful, expected = apply(forgetful.copy(), operation, x, y)  # a copy has made no forecast yet
        assert seen == expected
        assert row_of(model) == row_of(forgetful)


SERIES: dict[str, Callable[[], Forecaster]] = {
    "a lag": Forecaster,
    "differences": lambda: Forecaster(AdaBypass(), lags=2, difference=1),
    "the last exogenous value": lambda: Forecaster(lags=[1, 3], exog=["a", "b"], missing="last"),
    "the mean exogenous value": lambda: Forecaster(EvidenceBypass(), lags=0, exog=["a", "b"], missing="mean"),
}
EXOG = [[1.0, 2.0], [1.0, np.nan], [0.5, 2.0]]
series_operations = st.lists(
    st.tuples(
        st.sampled_from(["predict", "update", "step", "run", "pickle", "copy", "bad y"]),
        st.sampled_from(EXOG),
        st.sampled_from([1.0, 1.5, -2.0, np.nan]),
    ),
    max_size=20,
)


def apply_to_series(forecaster: Forecaster, operation: str, y: float, *exog: Any) -> tuple[Forecaster, bytes]:
    match operation:
        case "predict":
            return forecaster, numbers_of(forecaster.predict(*exog)) if forecaster.is_ready else b""
        case "update":
            forecaster.update(y, *exog)
        case "step":
            return forecaster, numbers_of(forecaster.step(y, *exog))
        case "run":
            forecaster.run([1.0, 2.0, 0.5, 1.0, y], *([row] * 5 for row in exog))
        case "pickle":
            return pickle.loads(pickle.dumps(forecaster)), b""
        case "copy":
            return forecaster.copy(), b""
        case "bad y":
            with pytest.raises(NotFiniteError):
                forecaster.update(np.inf, *exog)
    return forecaster, b""


@pytest.mark.parametrize("make", SERIES.values(), ids=SERIES.keys())
@given(chosen=series_operations)
@settings(max_examples=60)
def test_a_forecaster_that_remembers_its_newest_forecast_forecasts_the_same(
    make: Callable[[], Forecaster], chosen: list[tuple[str, Any, float]]
) -> None:
    forecaster, forgetful = make(), make()
    with_exog = forecaster.exog is not None
    for operation, exog, y in chosen:
        args = ([exog], [np.array(exog)]) if with_exog else ([], [])
        forecaster, seen = apply_to_series(forecaster, operation, y, *args[0])
        forgetful, expected = apply_to_series(forgetful.copy(), operation, y, *args[1])
        assert seen == expected
        assert pickle.dumps(forecaster.__getstate__()["row"]) == pickle.dumps(forgetful.__getstate__()["row"])


@pytest.mark.parametrize("make", [AutoBypass, AdaBypass, EvidenceBypass])
def test_an_update_that_takes_over_the_forecast_of_predict_is_its_own_step(make: Make) -> None:
    """Between `predict` and `update` another model of the same kind learns: no memory is shared."""
    model, other, expected = trained(make), trained(make), trained(make)
    x = np.array([1.0, 2.0, 3.0])
    model.predict(x)
    other.update(x, 50.0)
    model.update(x, 4.0)
    expected.update(x, 4.0)
    assert row_of(model) == row_of(expected)


@every_regressor
@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda x: np.array(x, dtype=np.float32), np.asfortranarray])
def test_features_of_any_kind_are_the_same_numbers(make: Make, kind: Callable[[list[float]], Any]) -> None:
    model, expected = trained(make), trained(make)
    for x, y in (([1, 2.0, -3.0], 4.0), ([0.5, 1.5, np.float64(2.5)], 1), ([2**40, 1.0, True], np.float64(-2.0))):
        assert numbers_of(model.predict(kind(x))) == numbers_of(expected.copy().predict(np.array(x, dtype=float)))
        model.update(kind(x), y)
        expected.update(np.array(x, dtype=float), float(y))
        assert row_of(model) == row_of(expected)


def test_the_forecast_of_predict_is_indeed_not_made_again() -> None:
    """Weights that are changed behind the model's back are seen only by a forecast that is made anew."""
    x = np.array([1.0, 2.0, 3.0])
    errors = []
    for ask_first in (True, False):
        model = trained(SequentialKalman)
        if ask_first:
            model.predict(x)
        runner = model._runner
        assert runner is not None
        model._spec.layout.view(runner.row, "mean", n_features=3)[:] += 10.0
        model.update(x, 4.0)
        errors.append(model.parameters["drift_var"])  # grows with the square of the forecast's error
    assert errors[0] < errors[1]
