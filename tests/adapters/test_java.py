"""Without Java, or with one that is too old, the error says what to install."""

import re
from pathlib import Path

import pytest

from adabypass.adapters.java import check_java
from adabypass.errors import MissingExtraError
from tools import test_spark


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
        check_java()


def test_a_wrong_folder_of_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(MissingExtraError, match=r"there is no java in JAVA_HOME, .*nowhere; install"):
        check_java()


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_an_old_java_is_refused(tmp_path: Path, version: str) -> None:
    java(tmp_path, version)
    with pytest.raises(MissingExtraError, match=f'needs Java 17 or newer, but .*java is openjdk version "{version}"'):
        check_java()


def test_a_newer_java_will_do(tmp_path: Path) -> None:
    java(tmp_path, "21.0.4")
    check_java()


@pytest.mark.parametrize("version", ["", "11.0.2"])
def test_the_tests_of_spark_say_that_they_are_skipped_and_why(
    tmp_path: Path, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if version:
        java(tmp_path, version)
    test_spark.main()
    assert re.match(r"Spark: NOT TESTED\. Spark needs Java.*; install Java 17 or newer", capsys.readouterr().out)
