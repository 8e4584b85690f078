"""What is missing for a build is said in one sentence, before anything else fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import check_prerequisites as check

ROOT = Path(__file__).parents[2]


def test_this_machine_lacks_nothing() -> None:
    assert check.first_problem() is None


@pytest.mark.parametrize(("version", "is_enough"), [((3, 8), False), ((3, 10), False), ((3, 11), True), ((4, 0), True)])
def test_a_python_that_is_too_old_is_told_what_is_needed(version: tuple[int, int], is_enough: bool) -> None:
    said = check.missing_version(version)
    assert (said is None) == is_enough
    if said is not None:
        assert "needs Python 3.11 or newer" in said
        assert f"Python {version[0]}.{version[1]}" in said


def test_a_python_without_ensurepip_is_told_which_package_has_it() -> None:
    said = check.missing_venv(lambda name: None if name == "ensurepip" else name)
    assert said is not None
    assert f"apt-get install python{sys.version_info[0]}.{sys.version_info[1]}-venv" in said


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"PATH": ""}, "there is no C compiler (cc or gcc"),
        ({"PATH": os.environ["PATH"], "CC": "no-such-compiler -O2"}, "there is no C compiler (no-such-compiler -O2)"),
        ({"PATH": os.environ["PATH"], "CC": "false"}, "the C compiler false cannot compile"),
    ],
)
def test_a_missing_compiler_is_named(environ: dict[str, str], words: str) -> None:
    said = check.missing_compiler(environ)
    assert said is not None
    assert words in said


def test_missing_headers_are_named(tmp_path: Path) -> None:
    said = check.missing_headers(str(tmp_path))
    assert said is not None
    assert str(tmp_path / "Python.h") in said
    (tmp_path / "Python.h").touch()
    assert check.missing_headers(str(tmp_path)) is None


@pytest.fixture
def bare_clone(tmp_path: Path) -> Path:
    """Hold what Make needs to begin, in a folder whose name holds a space."""
    clone = tmp_path / "some dir"
    clone.mkdir()
    for name in ("Makefile", "pyproject.toml", "meson.build", "meson.options", "tools", "src"):
        (clone / name).symlink_to(ROOT / name)
    return clone


def make(folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    program = shutil.which("make")
    assert program is not None
    # These tests may themselves be run by make, which would have the inner one say where it enters and leaves.
    outer = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return subprocess.run(
        [program, *arguments], cwd=folder, capture_output=True, text=True, check=False, env=outer | environment
    )


def test_make_says_what_is_missing_before_it_does_anything(bare_clone: Path) -> None:
    done = make(bare_clone, f"PYTHON={sys.executable}", "setup", CC="no-such-compiler")
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.splitlines()[0].startswith(
        "adabypass cannot be built: there is no C compiler (no-such-compiler)"
    )
    assert not (bare_clone / ".venv").exists()


def test_make_says_that_there_is_no_python(bare_clone: Path) -> None:
    done = make(bare_clone, "PYTHON=no such python", "setup")
    assert done.stderr.splitlines()[0].startswith("adabypass cannot be built: there is no no such python; install")


def test_make_uses_only_options_that_the_oldest_pip_knows() -> None:
    """Debian 12's Python 3.11 brings pip 23.0, which has no -C and keeps one value for each key of its long form."""
    for line in (ROOT / "Makefile").read_text().replace("\\\n", " ").splitlines():
        if not line.startswith("#"):
            assert " -C" not in line
            assert line.count("--config-settings=setup-args") <= 1


@pytest.mark.slow
def test_a_fresh_clone_in_a_folder_with_a_space_shows_the_demo(tmp_path: Path) -> None:
    clone = tmp_path / "some dir" / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    done = make(clone, f"PYTHON={sys.executable}", "demo")
    assert done.returncode == 0, done.stderr
    assert "ADA-BYPASS" in done.stdout
    assert (clone / "build" / "nile.png").exists()
