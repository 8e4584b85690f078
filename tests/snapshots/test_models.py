"""Saved, loaded and continued, every model equals one that was never interrupted, bit for bit."""

import copy
import multiprocessing
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adabypass
from adabypass import (
    AdaBypass,
    AutoBypass,
    Baseline,
    Forecaster,
    Regressor,
    SequentialKalman,
    from_bytes,
    load,
    load_dataset,
)
from adabypass.errors import AdabypassError, StateError
from adabypass.saved import SAVED
from adabypass.snapshots import container
from tests.snapshots.cases import EVERY, learn, stream

every_kind = pytest.mark.parametrize("name", EVERY)


@every_kind
@settings(max_examples=8, deadline=None)
@given(cut=st.integers(0, 60), seed=st.integers(0, 2**32 - 1))
def test_saved_loaded_and_continued_equals_an_uninterrupted_run(name: str, cut: int, seed: int) -> None:
    X, y = stream(60, seed)
    whole, first = EVERY[name](), EVERY[name]()
    expected = learn(name, whole, X, y)
    found = learn(name, first, X[:cut], y[:cut])
    second = from_bytes(first.to_bytes())
    found += learn(name, second, X[cut:], y[cut:])
    assert type(second) is type(first)
    assert found == expected
    assert second.to_bytes() == whole.to_bytes()


@every_kind
def test_a_file_holds_the_same(name: str, tmp_path: Path) -> None:
    model = EVERY[name]()
    learn(name, model, *stream(40))
    path = tmp_path / "folder" / "model.safetensors"
    model.save(path)
    again = load(str(path))
    assert path.read_bytes() == model.to_bytes() == again.to_bytes()
    assert repr(again) == repr(model)
    assert [each.name for each in path.parent.iterdir()] == ["model.safetensors"]


@every_kind
def test_pickle_copy_and_deepcopy_go_through_the_same_state(name: str) -> None:
    model = EVERY[name]()
    learn(name, model, *stream(40))
    for twin in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model), model.copy()):
        assert twin.to_bytes() == model.to_bytes()
        learn(name, twin, *stream(1, seed=5))
        assert twin.to_bytes() != model.to_bytes()


def _trained_elsewhere(model: Regressor) -> Regressor:
    model.update([1.0, 2.0], 3.0)
    return model


def test_other_processes_get_and_return_the_same_state() -> None:
    model = AutoBypass()
    model.run(*stream(30))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.map(_trained_elsewhere, [model])[0]
    assert there.to_bytes() == _trained_elsewhere(model.copy()).to_bytes()


def test_every_public_model_can_be_saved() -> None:
    public = {name for name in adabypass.__all__ if isinstance(getattr(adabypass, name), type)}
    kinds = (Regressor, Forecaster, Baseline)
    models = {name for name in public if issubclass(getattr(adabypass, name), kinds)} - {"Regressor", "Baseline"}
    assert models == set(SAVED) - {"Panel"}
    assert {type(make()).__name__ for make in EVERY.values()} == models


@every_kind
def test_untrained_models_are_saved_with_their_settings(name: str) -> None:
    again = from_bytes(EVERY[name]().to_bytes())
    assert repr(again) == repr(EVERY[name]())
    assert learn(name, again, *stream(30)) == learn(name, EVERY[name](), *stream(30))
    assert again.to_bytes() != EVERY[name]().to_bytes(), "it has learned"


def test_a_header_says_what_is_in_the_file() -> None:
    forecaster = EVERY["Forecaster, exog"]()
    learn("Forecaster, exog", forecaster, *stream(40))
    header = container.from_bytes(forecaster.to_bytes()).header
    assert header["version"] == adabypass.__version__
    assert header["kind"] == "Forecaster"
    assert header["engine"]["model"]["hyperparameters"] == {
        "intercept": True, "period": 1, "seasonal_mean": False, "transform": "none"
    }  # fmt: skip
    assert header["feature_names"] == ["lag 1", "rain", "wind"]
    assert header["n_seen"] == forecaster.n_seen
    assert ["model.n_seen", []] in header["layout"]


def test_a_class_refuses_what_another_one_saved() -> None:
    data = AdaBypass(n_features=2).to_bytes()
    assert repr(AdaBypass.from_bytes(data)) == "AdaBypass(n_features=2, n_seen=0)"
    with pytest.raises(StateError, match="it holds 'AdaBypass', not SequentialKalman; use"):
        SequentialKalman.from_bytes(data)
    with pytest.raises(StateError, match="it holds 'AdaBypass', not a Forecaster"):
        Forecaster.from_bytes(data)
    with pytest.raises(StateError, match="none in particular"):
        Regressor.from_bytes(data)


def test_a_class_made_of_a_model_is_loaded_as_that_model() -> None:
    class Mine(AdaBypass):
        pass

    data = Mine(n_features=2).to_bytes()
    assert type(from_bytes(data)) is AdaBypass
    assert type(Mine.from_bytes(data)) is Mine


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "Oracle"}, "it holds 'Oracle', which this version of adabypass does not know"),
        ({"kind": 5}, 'its "kind" is 5, but must be text'),
        ({"hyperparameters": {"a": -1.0}}, "its hyperparameters are not those of AdaBypass: a is -1.0"),
        ({"hyperparameters": {"zeta": 1.0}}, "its hyperparameters are not those of AdaBypass"),
        ({"design": "00000000"}, "saved by a version of adabypass with other constants"),
        ({"n_features": 3}, r"its row has the shape \(18,\), but the header needs 26 numbers"),
        ({"n_features": 10**9}, "must be a whole number from 1 to 30000"),
        ({"n_features": 2.0}, "must be a whole number from 1 to 30000"),
        ({"given_features": -1}, '"given_features" is -1'),
        ({"layout": [["n_seen", []]]}, "its row has other fields than this version"),
        ({"layout": None}, "its row has other fields than this version"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict[str, object], says: str) -> None:
    model = AdaBypass()
    model.update([1.0, 2.0], 3.0)
    header, arrays = model._snapshot()
    with pytest.raises(StateError, match=says):
        from_bytes(b"".join(container.encode(header | changes, arrays)))


@pytest.mark.parametrize(
    ("kind", "field", "value", "says"),
    [
        ("AutoBypass", "n_warm", 21.0, "n_warm of the row is 21.0, but must be a whole number from 0 to 20"),
        ("AutoBypass", "n_warm", -1.0, "n_warm of the row is"),
        ("AutoBypass", "n_seen", np.nan, "n_seen of the row is nan"),
        ("Forecaster", "n_filled", 1e9, "n_filled of the row is"),
        ("Forecaster", "n_unknown", 1e9, "n_unknown of the row is"),
        ("Forecaster", "n_unknown", 0.5, "n_unknown of the row is"),
        ("Forecaster", "unknown_positions", 7.0, "a position in the past of the row is"),
        ("Forecaster", "unknown_positions", 0.0, "not in order of time"),
        ("Forecaster", "model.n_warm", 21.0, "n_warm of the row is"),
    ],
)
def test_counts_outside_their_range_are_refused(kind: str, field: str, value: float, says: str) -> None:
    """A checksum that fits does not make a row harmless: these numbers are indices in compiled code."""
    X, y = stream(40)
    y[-2:] = np.nan
    model: Regressor | Forecaster = AutoBypass() if kind == "AutoBypass" else Forecaster(lags=5)
    learn(kind, model, X, y)
    header, arrays = model._snapshot()
    place = 0
    for name, shape in header["layout"]:
        if name == field:
            arrays["row"][place] = value
        place += int(np.prod(shape))
    assert place == len(arrays["row"])
    with pytest.raises(StateError, match=says):
        from_bytes(b"".join(container.encode(header, arrays)))


def test_a_refused_state_leaves_the_object_as_it_was() -> None:
    model = AutoBypass()
    model.run(*stream(30))
    before, state = model.to_bytes(), model.__getstate__()
    refused: list[dict[str, object]] = [{"header": {}}, {"header": None}, {"row": state["row"][:-1]}, {"row": "text"}]
    for changes in refused:
        with pytest.raises(StateError):
            model.__setstate__(state | changes)
        assert model.to_bytes() == before


def test_pickles_of_before_the_first_release_are_refused() -> None:
    with pytest.raises(StateError, match="this pickled AdaBypass is in format 3, older than the first release"):
        AdaBypass().__setstate__({"format": 3, "row": None})


def test_a_file_that_is_not_there_is_the_system_s_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


@pytest.mark.parametrize("path", [None, 5, b"model", object()])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(AdabypassError, match="but must be the name of a file"):
        load(path)  # type: ignore[arg-type]
    with pytest.raises(AdabypassError, match="but must be the name of a file"):
        AdaBypass().save(path)  # type: ignore[arg-type]


def test_forecasts_many_steps_ahead_are_the_same_after_loading() -> None:
    forecaster = Forecaster(lags=3)
    forecaster.run(load_dataset("nile").y)
    again = from_bytes(forecaster.to_bytes())
    assert isinstance(again, Forecaster)
    assert again.forecast(5).mean.tobytes() == forecaster.forecast(5).mean.tobytes()
