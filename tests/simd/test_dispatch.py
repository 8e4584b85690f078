"""The instruction set is chosen at import, and every one gives the same bits."""

import os
import subprocess
import sys

import pytest

from adabypass import show_config
from adabypass.simd import dispatch


def in_python(code: str, instruction_set: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, dispatch.VARIABLE: instruction_set}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)


@pytest.mark.parametrize("name", dispatch.available())
def test_the_variable_forces_an_instruction_set(name: str) -> None:
    done = in_python("from adabypass.simd import dispatch; print(dispatch.in_use())", name)
    assert done.stdout.strip() == name


def test_an_unknown_instruction_set_is_refused_with_those_there_are() -> None:
    done = in_python("import adabypass", "mmx")
    assert "ADABYPASS_SIMD is 'mmx', but this machine can run plain, baseline" in done.stderr


def test_the_fastest_is_in_use_unless_another_is_asked_for() -> None:
    if dispatch.VARIABLE not in os.environ:
        assert dispatch.in_use() == dispatch.available()[-1]


def test_show_config_names_the_instruction_set(capsys: pytest.CaptureFixture[str]) -> None:
    show_config()
    assert f"instruction set  {dispatch.in_use()}" in capsys.readouterr().out
