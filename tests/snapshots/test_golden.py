"""Files that earlier versions saved still load, and the models in them go on as they did."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
from pytest import approx

from adabypass import from_bytes, load
from adabypass.snapshots import container, versions
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.versions import FORMAT, OLDEST_FORMAT
from tests.snapshots.cases import EVERY
from tests.snapshots.golden import FOLDER, FROZEN, continued, file_name, resumed

NAMES = {file_name(name): name for name in EVERY}
FILES = sorted(FOLDER.glob("format-*/*.safetensors"))
ANOTHER_MACHINE = 1e-9  # exponentials and logarithms differ in their last bit; twenty steps add that up


def test_there_are_golden_files_of_every_format_and_kind() -> None:
    assert {path.parent.name for path in FILES} == {f"format-{number}" for number in range(OLDEST_FORMAT, FORMAT + 1)}
    newest = {path.stem for path in FILES if path.parent.name == f"format-{FORMAT}"}
    assert newest == set(NAMES), "run tools/make_golden.py"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_golden_file_loads_and_goes_on_as_it_did(path: Path) -> None:
    expected = json.loads((path.parent / "answers.json").read_text())[path.stem]
    found = continued(NAMES[path.stem], load(path))
    assert [each is None for each in found] == [each is None for each in expected]
    assert numbers(found) == approx(numbers(expected), rel=ANOTHER_MACHINE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_golden_file_saved_again_and_continued_equals_an_uninterrupted_run(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(path)
    saved_by = container.read(path).header["version"]
    monkeypatch.setattr(versions, "library_version", lambda: saved_by)  # a later version writes its own
    again = from_bytes(model.to_bytes())
    if path.parent.name == f"format-{FORMAT}":
        assert again.to_bytes() == path.read_bytes()
    name = NAMES[path.stem]
    assert continued(name, again) == continued(name, model)
    assert again.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("format-*/stream")), ids=lambda path: path.parent.name)
def test_the_folder_of_a_stream_is_resumed_as_it_was(path: Path, tmp_path: Path) -> None:
    """A checkpoint and a log of an earlier version: the rows of both are known, and the answers go on."""
    expected = json.loads((path.parent / "answers.json").read_text())["stream"]
    found = resumed(Path(shutil.copytree(path, tmp_path / "stream")))
    assert len(found) == len(expected) == 20
    for each, answer in zip(found, expected, strict=True):
        assert list(each) == list(answer)
        for name, value in answer.items():
            assert each[name] == (approx(value, rel=ANOTHER_MACHINE) if isinstance(value, float) else value)


def test_files_of_frozen_formats_are_as_they_were_released() -> None:
    """They were written by a released version: whoever changes one changes what that version had saved."""
    lines = [line.split("  ") for line in FROZEN.read_text().splitlines()]
    assert [name for digest, name in lines if digest != hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()] == []
    frozen = {int(re.match(r"format-(\d+)/", name)[1]) for _, name in lines}  # type: ignore[index]
    assert not frozen or min(frozen) >= OLDEST_FORMAT, "a format of a released version must load for ever"
    found = {str(path.relative_to(FOLDER)) for path in FOLDER.glob("format-*/**/*") if path.is_file()}
    added = {name for name in found if int(name.split("/")[0].split("-")[1]) in frozen} - {name for _, name in lines}
    assert added == set(), "a frozen format stays as it is"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_next_format_upgrades_a_golden_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format that is not there yet, in which the header calls the version otherwise: all else goes on."""

    def to_next(snapshot: Snapshot) -> Snapshot:
        header = {"saved_by" if key == "version" else key: value for key, value in snapshot.header.items()}
        return snapshot._replace(header=header | {"format": FORMAT + 1})

    expected = continued(NAMES[path.stem], load(path))
    monkeypatch.setattr(versions, "FORMAT", FORMAT + 1)
    monkeypatch.setattr(versions, "UPGRADES", {**versions.UPGRADES, FORMAT: to_next})
    assert continued(NAMES[path.stem], load(path)) == expected


def numbers(forecasts: list[list[str] | None] | list[object]) -> list[float]:
    """Return the means and variances of forecasts, which were kept as hexadecimal text."""
    pairs = [each for each in forecasts if each is not None]
    return [float.fromhex(text) for pair in pairs for text in pair if text]  # type: ignore[attr-defined]
