"""What is in a file is shown to people, and to programs as JSON; a damaged file is said to be that."""

import json
from pathlib import Path

import pytest

from adabypass import AdaBypass, Forecaster, load_dataset
from adabypass.errors import StateError
from tests.cli.in_process import run
from tests.cli.test_stream_state import done


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    forecaster = Forecaster(AdaBypass(b=2.0), lags=[1, 3])
    forecaster.run(load_dataset("nile").y[:50])
    forecaster.save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def test_people_see_kind_counts_and_settings(saved: Path) -> None:
    shown = dict(line.split("  ", 1) for line in done(run("inspect", saved)).splitlines())
    shown = {label: value.strip() for label, value in shown.items()}
    assert shown["kind"] == "Forecaster"
    assert shown["model"] == "AdaBypass"
    assert shown["observations learned"] == "47"
    assert shown["names of features"] == "bias, lag 1, lag 3"
    assert shown["b"] == "2.0"
    assert shown["checksum"] == "fits"


def test_programs_see_all_of_it(saved: Path) -> None:
    found = json.loads(done(run("inspect", saved, "--json")))
    assert found["bytes"] == saved.stat().st_size
    assert found["engine"]["model"]["hyperparameters"]["b"] == 2.0
    assert found["engine"]["lags"] == [1, 3]
    assert sum(len(shape) == 0 for shape in found["fields"].values()) > 5
    assert found["numbers_not_finite"] == 0


@pytest.mark.parametrize("content", [b"", b"y\n1\n", b"PK\3\4"])
def test_what_is_no_saved_model_is_said_to_be_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    refused = run("inspect", tmp_path / "file")
    assert isinstance(refused.error, StateError)
    assert "is not a saved model of adabypass" in str(refused.error)


def test_a_damaged_file_and_an_empty_folder_are_refused(saved: Path, tmp_path: Path) -> None:
    saved.write_bytes(saved.read_bytes()[:-1] + b"\1")
    assert "its checksum does not match its content" in str(run("inspect", saved).error)
    (tmp_path / "empty").mkdir()
    assert "holds no state" in str(run("inspect", tmp_path / "empty").error)
