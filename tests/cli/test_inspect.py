"""What is in a file is shown to people, and to programs as JSON; a damaged file is said to be that."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass import AdaBypass, Forecaster, load_dataset
from adabypass.errors import StateError
from adabypass.storage import folder, journal
from tests.cli.in_process import run, stream
from tests.cli.test_stream_state import MANY, PLAIN, done, killed_after, text


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


def test_a_folder_of_a_stream_is_shown_with_its_journal(tmp_path: Path) -> None:
    killed_after(tmp_path / "s", ["--id", "k", "--time", "t"], text(MANY, 0, 25), 10)
    shown = done(run("inspect", tmp_path / "s"))
    assert re.search("^series +2$", shown, re.M)
    assert re.search('^ids +"a", "b"$', shown, re.M)
    assert "5 rows after the snapshot, up to row 25" in shown
    assert re.search("^rows learned +25$", shown, re.M)
    assert re.search("^last row of the input +25$", shown, re.M)
    found = json.loads(done(run("inspect", tmp_path / "s", "--json")))
    assert found["journal"] == {
        "n_records": 5, "last_row": 25, "last_position": None, "last_time": '"24"', "torn_bytes": 0,
    }  # fmt: skip
    before = sorted((each.name, each.read_bytes()) for each in (tmp_path / "s").iterdir())
    run("inspect", tmp_path / "s")
    assert sorted((each.name, each.read_bytes()) for each in (tmp_path / "s").iterdir()) == before


def test_a_running_stream_can_be_looked_at(tmp_path: Path) -> None:
    from adabypass.storage.folder import StateFolder  # noqa: PLC0415

    done(stream("--state", tmp_path / "s", given="y\n1\n2\n"))
    running = StateFolder(tmp_path / "s", always=False)
    assert "rows learned" in done(run("inspect", tmp_path / "s"))
    running.close()


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
def test_rows_learned_are_those_of_snapshot_and_journal(
    n: int, every: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("state") / "s"
    killed_after(place, ["--id", "k", "--time", "t"], text(MANY, 0, n), every)
    found = json.loads(done(run("inspect", place, "--json")))
    assert (found["n_learned"], found["row"]) == (n, n)
    assert (found["n_series"], found["ids"]) == (min(n, 2), ['"a"', '"b"'][:n])


def test_a_snapshot_that_comes_in_between_is_not_taken_for_an_empty_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A running stream takes a snapshot, and deletes the journal before it, after the snapshot before was read."""
    killed_after(tmp_path / "s", [], text(PLAIN, 0, 20), 1000)
    real, n_calls = journal.read, 0

    def read(*arguments: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1:
            done(stream("--state", tmp_path / "s", given=text(PLAIN, 0, 30)))
        return real(*arguments)

    monkeypatch.setattr(folder, "journal", SimpleNamespace(read=read, Journal=journal.Journal))
    assert json.loads(done(run("inspect", tmp_path / "s", "--json")))["n_learned"] == 30
    assert n_calls > 2
