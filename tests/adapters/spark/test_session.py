"""Without Java, or with one that is too old, the error says what to install."""

from pathlib import Path

import pytest

from adabypass.adapters.spark import local_session
from adabypass.errors import MissingExtraError, ParameterError


def java(folder: Path, version: str) -> Path:
    """Make a program that answers as a Java of a version does."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2018-09-25' >&2\n")
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def _no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_no_java_is_an_error_that_says_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match="there is no java on the PATH; install Java 17 or newer"):
        local_session()


def test_a_wrong_folder_of_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(MissingExtraError, match=r"there is no java in JAVA_HOME, .*nowhere; install"):
        local_session()


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_an_old_java_is_refused(tmp_path: Path, version: str) -> None:
    java(tmp_path, version)
    with pytest.raises(MissingExtraError, match=f'needs Java 17 or newer, but .*java is openjdk version "{version}"'):
        local_session()


def test_the_number_of_cores_is_checked() -> None:
    with pytest.raises(ParameterError, match="cores"):
        local_session(cores=0)
