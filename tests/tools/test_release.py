"""What a release must hold is checked, so that a mistake stops it with a sentence."""

import json
import zipfile
from pathlib import Path

import pytest
from tools.release import contents, finish, licences, sbom, wheel

ROOT = Path(__file__).parents[2]
INFO = "adabypass-1.0.dist-info"
METADATA = b"""Metadata-Version: 2.4
Name: adabypass
Version: 1.0
License-Expression: BSD-3-Clause
Requires-Dist: numpy>=2.0
Requires-Dist: river>=0.26; extra == "river"
"""
LICENCE_FILES = ("LICENSE", "REUSE.toml", "LICENSES/BSD-3-Clause.txt")


def small_wheel(folder: Path, **more: bytes) -> Path:
    """Write a wheel with a module and a data set, of which everything is known."""
    path = folder / "adabypass-1.0-py3-none-manylinux_2_17_x86_64.whl"
    files = {
        "adabypass/__init__.py": b"",
        "adabypass/datasets/nile.csv": b"622,1157\n",
        f"{INFO}/METADATA": METADATA,
        f"{INFO}/WHEEL": b"Wheel-Version: 1.0\n",
        **{f"{INFO}/licenses/{name}": (ROOT / name).read_bytes() for name in LICENCE_FILES},
        **more,
    }
    wheel.write(path, {name: (content, 0o644) for name, content in files.items()})
    return path


def problems(path: Path) -> list[str]:
    return contents.problems_of_wheel(finish.finish(path, path.parent / "finished"))


def test_nothing_is_wrong_with_a_whole_wheel(tmp_path: Path) -> None:
    assert problems(small_wheel(tmp_path)) == []


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("adabypass/kernels/bank.pyx", b"", "kernels/bank.pyx does not belong in a wheel"),
        ("adabypass/golden/model.py", b"", "golden/model.py does not belong in a wheel"),
        ("adabypass/tests/test_x.py", b"", "tests/test_x.py does not belong in a wheel"),
        ("adabypass/x.so", b"\x7fELF...\0.symtab\0", "x.so has its symbols still"),
        ("adabypass/datasets/new.csv", b"1", "datasets/new.csv has no entry in REUSE.toml"),
        ("adabypass/datasets/wind.csv.gz", b"1", "wind.csv.gz is under etalab-2.0, whose text LICENSES/etalab-2.0.txt"),
        ("adabypass/datasets/wind.csv.gz", b"1", "etalab-2.0 is not in its License-Expression, BSD-3-Clause"),
    ],
)
def test_what_does_not_belong_or_has_no_licence_is_named(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    assert any(words in each for each in problems(small_wheel(tmp_path, **{name: content})))


def test_a_wheel_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_WHEEL", 1000)
    assert any("bytes are more than 1,000" in each for each in problems(small_wheel(tmp_path)))


def test_every_file_of_the_package_that_is_not_code_has_a_licence_with_its_text() -> None:
    package = ROOT / "src" / "adabypass"
    paths = [f"src/{path.relative_to(package.parent).as_posix()}" for path in package.rglob("*") if path.is_file()]
    texts = [path.name for path in (ROOT / "LICENSES").iterdir()]
    paths = [path for path in paths if "__pycache__" not in path]
    assert licences.problems(paths, texts, licences.annotations()) == []
    assert len(licences.not_code(paths)) >= 3


def test_every_entry_of_the_licences_names_a_file_that_is_there_and_every_text_is_needed() -> None:
    known = licences.annotations()
    assert [each.path for each in known if not list(ROOT.glob(each.path))] == []
    needed = {f"{name}.txt" for each in known for name in each.identifiers}
    assert needed == {path.name for path in (ROOT / "LICENSES").iterdir()}


def test_the_same_files_give_the_same_bytes_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    files = wheel.read(small_wheel(tmp_path))
    for name, order in (("one.whl", 1), ("two.whl", -1)):
        wheel.write(tmp_path / name, dict(list(files.items())[::order]))
    assert (tmp_path / "one.whl").read_bytes() == (tmp_path / "two.whl").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.whl") as archive:
        assert archive.testzip() is None
        assert archive.namelist()[-1] == f"{INFO}/RECORD"
        assert {each.date_time[0] for each in archive.infolist()} == {2026}


def test_the_bill_of_materials_has_data_cython_and_what_is_needed(tmp_path: Path) -> None:
    module = {"adabypass/x.so": b"...\0_cython_3_3_1\0..."}
    bill = json.loads(sbom.of_wheel(wheel.read(small_wheel(tmp_path, **module))))
    inside = {each["name"]: each for each in bill["metadata"]["component"]["components"]}
    assert set(inside) == {"adabypass/datasets/nile.csv", "Cython"}
    assert inside["Cython"]["version"] == "3.3.1"
    assert inside["adabypass/datasets/nile.csv"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert [each["purl"] for each in bill["components"]] == ["pkg:pypi/numpy"]
