"""What is in a file is shown to people, and to programs as JSON; a damaged file is said to be that."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass import AdaBypass, Forecaster, Stream, load_dataset
from adabypass.errors import StateError
from tests.cli.in_process import run, stream
from tests.cli.test_stream_state import MANY, done, killed_after, text


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


def test_a_folder_of_a_stream_is_shown_with_its_newest_rows(tmp_path: Path) -> None:
    killed_after(tmp_path / "s", ["--id", "k", "--time", "t"], text(MANY, 0, 25), 10)
    shown = done(run("inspect", tmp_path / "s"))
    for label, value in (
        ("series", "2"), ("ids", "a, b"), ("rows learned", "25"), ("last row of the input", "25"),
        ("of these since the last checkpoint", "5"),
    ):  # fmt: skip
        assert re.search(f"^{label} +{value}$", shown, re.M), label
    before = sorted((each.name, each.read_bytes()) for each in (tmp_path / "s").iterdir())
    run("inspect", tmp_path / "s")
    assert sorted((each.name, each.read_bytes()) for each in (tmp_path / "s").iterdir()) == before


def test_a_running_stream_can_be_looked_at(tmp_path: Path) -> None:
    with Stream(tmp_path / "s") as running:
        running.learn([{"y": 1.0}, {"y": 2.0}])
        assert re.search("^rows learned +2$", done(run("inspect", tmp_path / "s")), re.M)


def test_one_series_of_several_columns_is_shown(tmp_path: Path) -> None:
    given = "dc,host,y\n" + "eu,a,1\neu,b,5\n" * 30
    done(stream("--id", "dc,host", "--lags", "1", "--state", tmp_path / "s", given=given))
    shown = done(run("inspect", tmp_path / "s", "--id", "eu/b"))
    assert re.search("^rows learned +30$", shown, re.M)
    assert json.loads(done(run("inspect", tmp_path / "s", "--id", "eu/b", "--json")))["id"] == ["eu", "b"]


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


@settings(max_examples=15, deadline=None)
@given(n=st.integers(0, 60), every=st.sampled_from([1, 7, 1000]))
def test_rows_learned_are_those_of_checkpoint_and_later(
    n: int, every: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("state") / "s"
    killed_after(place, ["--id", "k", "--time", "t"], text(MANY, 0, n), every)
    found = json.loads(done(run("inspect", place, "--json")))
    assert (found["n_learned"], found["row"]) == (n, n)
    assert (found["n_series"], found["ids"]) == (min(n, 2), ["a", "b"][:n])
